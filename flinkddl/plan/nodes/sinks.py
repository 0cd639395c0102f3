"""The end of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkddl.plan.nodes.base import Keyless, Stateless, Unary, Untimed

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.plan.nodes.base import Kinds, Needed


@dataclass(frozen=True, kw_only=True)
class Sink(Keyless, Stateless, Untimed, Unary):
    """Writes the input, whose fields are the table's persisted columns in order.

    ``table`` is None for a SELECT whose result is collected. ``conflict``: NOTHING, ERROR, DEDUPLICATE or None.
    """

    table: Table | None
    options: Any = None
    conflict: str | None = None
    overwrite: bool = False
    target: str = ""

    keeps_time = False

    @property
    def detail(self) -> str:
        """The table."""
        return self.target or "collect"

    def mode_words(self, kinds: Kinds, before: bool) -> str:
        """Return Flink's word for what gives nothing."""
        return "NONE"

    def reads(self, needed: Needed) -> tuple[Needed, ...]:
        """Return every field: all are written."""
        return (frozenset(range(len(self.input.fields))),)
