"""Where rows come from, tables and constants, and where they go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.connectors import connector
from flinkddl.plan.nodes.base import ALL, I, Keyless, Node, Stateless, Unary, Untimed, always
from flinkddl.plan.nodes.forms import Form
from flinkddl.plan.nodes.terms import rex_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.catalog.model import Table
    from flinkddl.plan.nodes.base import Keys, Kinds, Mode, Needed
    from flinkddl.plan.nodes.forms import How, Traits
    from flinkddl.plan.nodes.values import WatermarkSpec
    from flinkddl.plan.rex import Rex

_STRATEGY = "scan.watermark.emit.strategy"


@dataclass(frozen=True, kw_only=True)
class Scan(Node):
    """Reads a table. ``fields`` are all columns of the table in declared order.

    ``metadata`` maps the index of each metadata column to its expression over the connector's raw value: an
    ``InputRef`` of the same index typed as the raw value, cast to the declared type where they differ. ``computed``
    maps a field index to its expression over the physical and (cast) metadata fields, same indices as ``fields``;
    ``options`` are the validated options after hints (``flinkddl.options.ResolvedOptions``). ``normalised``: a CDC
    table whose changes may come twice (table.exec.source.cdc-events-duplicate), read as upserts by its primary key, as
    Flink's ChangelogNormalize over it does (DynamicSourceUtils.isSourceChangeEventsDuplicate).
    """

    table: Table
    options: Any
    metadata: tuple[tuple[int, Rex], ...] = ()
    computed: tuple[tuple[int, Rex], ...] = ()
    watermark: WatermarkSpec | None = None
    normalised: bool = False

    sql = "tables"
    title = "a table"
    one_each = True
    requires_watermark = False
    holds_back = always("")  # what is read is looked at where it is read

    def mode_words(self, kinds: Kinds, before: bool) -> str:
        """Return the mode; an upsert table's rows are never called inserts."""
        return "UA,D" if self.carries == "upsert" and not before else super().mode_words(kinds, before)

    @property
    def carries(self) -> Literal["append", "upsert", "delta"]:
        """The kind of the table's rows, from its connector and format."""
        mode = connector(self.options.connector).source_mode
        kinds = mode(self.options) if mode is not None else I
        if kinds == I:
            return "append"
        return "delta" if "UB" in kinds and not self.normalised else "upsert"

    @property
    def bounded(self) -> bool:
        """Whether the table ends by itself."""
        return connector(self.options.connector).bounded(self.table, self.options)

    @property
    def detail(self) -> str:
        """The table and its watermark."""
        text = str(self.table.path)
        if self.watermark is None:
            return text
        return f"{text}, watermark={rex_text(self.watermark.expression, [f.name for f in self.fields])}"

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return what the format carries."""
        return I if self.carries == "append" else ALL

    def carries_before(self, inputs: tuple[Mode, ...]) -> bool:
        """Return whether the format has rows before updates."""
        return self.carries == "delta"

    def upsert_keys(self, inputs: tuple[Keys, ...]) -> Keys:
        """Return the primary key."""
        if self.table.primary_key is None:
            return ()
        names = [c.name for c in self.table.columns]
        return (frozenset(names.index(c) for c in self.table.primary_key.columns),)

    def unique_key(self, declared: bool = True) -> tuple[int, ...] | None:
        """Return the primary key."""
        keys = self.upsert_keys(()) if declared or self.carries == "upsert" else ()
        return tuple(keys[0]) if keys else None

    @property
    def on_time(self) -> bool:
        """Whether the first watermark comes after all rows: with ``on-event`` it moves with each record."""
        option = self.table.options.get(_STRATEGY)
        return self.watermark is None or option is None or option.value.strip().lower() != "on-event"

    def state(self, mode: Mode) -> str:
        """Return the state of ChangelogNormalize, where somebody asks for the row before an update."""
        return "the last row of each key" if mode.before and self.carries == "upsert" else ""

    def updates(self, asked: Traits) -> bool:
        """Return whether the format carries changes; a temporal join reads them version by version."""
        return self.carries != "append" and not asked.versions

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return the format's kind; of upserts the primary key."""
        keys = self.known_keys() if self.carries == "upsert" else ()
        return Form(self.carries, tuple(sorted(keys[0])) if keys else ())


def scans(node: Node) -> Iterator[Scan]:
    """Yield every scan of a plan, lookup tables aside."""
    if isinstance(node, Scan):
        yield node
    for child in node.inputs:
        yield from scans(child)


@dataclass(frozen=True, kw_only=True)
class Values(Keyless, Stateless, Untimed, Node):
    """A list of rows of constant expressions (VALUES, SELECT without FROM)."""

    rows: tuple[tuple[Rex, ...], ...]

    sql = "VALUES"
    on_time = True
    changes = always(I)

    @property
    def detail(self) -> str:
        """The number of rows."""
        return f"{len(self.rows)} rows"


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
    one_each = True

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
