"""The option registry: one JSON Schema document per connector and per format, read on demand.

Those of formats lie under ``registry/``, a connector's in its own package (``installed``). They are plain JSON Schema
(2020-12) about the typed options, with a few keywords of ours:

- on an option: ``kind`` (how its text is parsed), ``unit``, ``roles``, ``since``, ``aliases``, ``instead`` (of a
  deprecated one) and ``spark`` (``use``: mapped, ignored or refused; ``note``: why);
- on a rule, which is an entry of ``allOf``: ``rule`` (its number in the connector reference), ``roles``, ``code``,
  ``message``, ``help`` and ``at`` (the options it points at, first one that is set);
- on a document: ``document`` (connector, format or shared), ``roles``, ``formats``, ``changelog`` and ``connectors``
  (of a format that only some can use); of a connector ``keyed`` (it must have a key format) and ``topics`` (its rows
  are records of topics, its ``properties.*`` are for Kafka's clients).

``{"$ref": "shared.x.json"}`` in ``allOf`` takes over the options and rules of a shared document.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.options import installed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jsonschema.protocols import Validator

Role = Literal["source", "sink"]
Use = Literal["mapped", "ignored", "refused"]


@dataclass(frozen=True)
class OptionSpec:
    """One option: its key (a regular expression for a family such as ``fields.<column>.kind``) and what it may hold.

    ``default`` is typed: durations in milliseconds, sizes in bytes, lists as tuples; None for no default.
    """

    key: str
    kind: str
    doc: str
    roles: frozenset[str]
    default: Any = None
    choices: tuple[str, ...] = ()
    since: str = ""
    aliases: tuple[str, ...] = ()
    instead: str | None = None
    examples: tuple[str, ...] = ()
    use: Use = "mapped"
    note: str | None = None

    @property
    def deprecated(self) -> bool:
        """Whether another option takes its place."""
        return self.instead is not None


@dataclass(frozen=True)
class Rule:
    """A rule across options: a JSON Schema over the set options, and what to say when they do not fit it."""

    id: str
    roles: frozenset[str]
    code: str
    message: str
    help: str | None
    at: tuple[str, ...]
    schema: Mapping[str, Any] = field(repr=False, compare=False)

    def holds(self, instance: Mapping[str, Any]) -> bool:
        """Return whether the set options, by name, satisfy the schema."""
        return bool(self._validator.is_valid(instance))

    @cached_property
    def _validator(self) -> Validator:
        from jsonschema import Draft202012Validator

        return Draft202012Validator(self.schema)


@dataclass(frozen=True)
class Document:
    """A connector or a format with its options; ``families`` are the options whose keys follow a pattern."""

    name: str
    doc: str
    kind: str
    roles: frozenset[str]
    since: str
    options: Mapping[str, OptionSpec]
    families: tuple[OptionSpec, ...]
    required: tuple[str, ...]
    rules: tuple[Rule, ...]
    formats: Mapping[str, str]
    changelog: str
    connectors: tuple[str, ...] = ()
    keyed: bool = False
    of_topics: bool = False

    def spec(self, key: str) -> OptionSpec | None:
        """Return what an option key means here: its own entry, an older name's, or a family's."""
        found = self.options.get(key) or self._by_alias.get(key)
        return found or next((f for f in self.families if re.search(f.key, key)), None)

    @property
    def _by_alias(self) -> dict[str, OptionSpec]:
        return {alias: spec for spec in self.options.values() for alias in spec.aliases}


@dataclass(frozen=True)
class Space:
    """A set of options in a WITH clause: the connector's own (no prefix) or a format's, which ``key`` has chosen."""

    document: Document
    prefix: str
    key: str


_OWN_KEYWORDS = frozenset({"rule", "roles", "code", "message", "help", "at"})


@cache
def _read(name: str) -> dict[str, Any]:
    path = Path(__file__).parent / "registry" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


@cache
def names(kind: str) -> tuple[str, ...]:
    """Return the names of all documents of a kind ("connector", "format"), sorted."""
    if kind == "connector":
        return installed.names()
    folder = Path(__file__).parent / "registry"
    found = [p.name[len(kind) + 1 : -5] for p in folder.iterdir() if p.name.startswith(f"{kind}.")]
    return tuple(sorted(found))


@cache
def connector(name: str) -> Document | None:
    """Return the document of a connector, or None. Raises FD248, FD249 for one that cannot be used."""
    own = installed.document(name)
    if own is None:
        return None
    with installed.usable(name):
        return _document(own)


@cache
def format(name: str) -> Document | None:
    """Return the document of a format, or None."""
    return _document(_read(f"format.{name}")) if name in names("format") else None


def documents(kind: str) -> list[Document]:
    """Return all documents of a kind, by name. Raises FD248, FD249."""
    find = connector if kind == "connector" else format
    return [document for name in names(kind) if (document := find(name)) is not None]


def elsewhere() -> Mapping[str, Any]:
    """Return what to write instead of connectors and formats that do not run here (``elsewhere.py``)."""
    return _read("elsewhere")


def _document(own: Mapping[str, Any]) -> Document:
    parts = [*(_read(ref["$ref"][:-5]) for ref in own.get("allOf", ()) if "$ref" in ref), own]
    options: dict[str, OptionSpec] = {}
    families: list[OptionSpec] = []
    rules: list[Rule] = []
    required: list[str] = []
    for part in parts:
        options |= {key: _spec(key, raw) for key, raw in part["properties"].items()}
        families += [_spec(key, raw) for key, raw in part.get("patternProperties", {}).items()]
        rules += [_rule(raw) for raw in part.get("allOf", ()) if "$ref" not in raw]
        required += part.get("required", ())
    return Document(
        name=own["title"],
        doc=own["description"],
        kind=own["document"],
        roles=frozenset(own["roles"]),
        since=own.get("since", ""),
        options=options,
        families=tuple(families),
        required=tuple(required),
        rules=tuple(rules),
        formats=own.get("formats", {}),
        changelog=own.get("changelog", "insert-only"),
        connectors=tuple(own.get("connectors", ())),
        keyed=own.get("keyed", False),
        of_topics=own.get("topics", False),
    )


def _spec(key: str, raw: Mapping[str, Any]) -> OptionSpec:
    default = raw.get("default")
    return OptionSpec(
        key=key,
        kind=raw["kind"],
        doc=raw["description"],
        roles=frozenset(raw["roles"]),
        default=tuple(default) if isinstance(default, list) else default,
        choices=tuple(raw.get("enum", ())),
        since=raw.get("since", ""),
        aliases=tuple(raw.get("aliases", ())),
        instead=raw.get("instead"),
        examples=tuple(raw.get("examples", ())),
        use=raw["spark"]["use"],
        note=raw["spark"].get("note"),
    )


def _rule(raw: Mapping[str, Any]) -> Rule:
    return Rule(
        id=raw["rule"],
        roles=frozenset(raw["roles"]),
        code=raw["code"],
        message=raw["message"],
        help=raw.get("help"),
        at=tuple(raw["at"]),
        schema={k: v for k, v in raw.items() if k not in _OWN_KEYWORDS},
    )
