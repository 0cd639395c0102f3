"""Options as written, and after validation: typed, with defaults, ready for the planner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics.secrets import masked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.diagnostics import Span
    from flinkddl.options.registry import Role


@dataclass(frozen=True)
class OptionText:
    """An option's value as written, with the places of key and value."""

    value: str = field(repr=False)
    key_span: Span | None = field(default=None, compare=False, repr=False)
    value_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class FormatOptions:
    """A chosen format with its typed options (keys without prefix).

    ``space`` is the prefix of its options in the WITH clause, such as ``value.json.``; ``key`` the option that chose
    it; ``changelog`` is "insert-only" or "changelog".
    """

    name: str
    key: str
    space: str
    options: Mapping[str, Any] = field(repr=False)
    given: frozenset[str] = frozenset()
    changelog: str = "insert-only"

    def __getitem__(self, key: str) -> Any:
        return self.options.get(key)

    @property
    def insert_only(self) -> bool:
        """Whether the format knows inserts only."""
        return self.changelog == "insert-only"


@dataclass(frozen=True)
class ResolvedOptions:
    """What a WITH clause means in one role.

    ``values`` holds every declared option of the connector, typed, with defaults (None where there is none), and the
    keys of option families that were set; ``given`` the keys that were written; ``properties`` what goes to the
    client under its own name, after Flink's rules; ``texts`` the options as written; ``of_topics``: the rows are
    records of Kafka topics.
    """

    connector: str
    role: Role
    values: Mapping[str, Any] = field(repr=False)
    given: frozenset[str] = frozenset()
    key_format: FormatOptions | None = None
    value_format: FormatOptions | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    texts: Mapping[str, OptionText] = field(default_factory=dict, repr=False, compare=False)
    of_topics: bool = False

    def __getitem__(self, key: str) -> Any:
        return self.values.get(key)

    def span(self, *keys: str) -> Span | None:
        """Return the place of the first of these options that is written: its value, else its key."""
        for key in keys:
            if key in self.texts:
                return self.texts[key].value_span or self.texts[key].key_span
        return None

    def key_span(self, *keys: str) -> Span | None:
        """Return the place of the key of the first of these options that is written."""
        return next((self.texts[k].key_span for k in keys if k in self.texts), None)

    def masked(self) -> dict[str, str]:
        """Return the options as written, sorted, secrets hidden."""
        return masked({k: t.value for k, t in self.texts.items()})

    def __str__(self) -> str:
        return "\n".join(f"'{k}'='{v}'" for k, v in self.masked().items())
