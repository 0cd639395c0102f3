"""Logical plan nodes: frozen, each with its inputs and its typed output fields.

Columns are positions; names matter only for results and messages. The nodes say what is computed; how changes travel
between them is ``plan/changelog.py``, and what Spark does for each is ``lower``.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.records import dataclass

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.diagnostics import Span
    from flinkddl.plan.rex import AggCall, Rex, SortKey
    from flinkddl.sqltypes import DataType

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]
WindowKind = Literal["TUMBLE", "HOP", "CUMULATE", "SESSION"]


@dataclass(frozen=True)
class Field:
    """An output column: name and Flink type (nullability and time attribute included)."""

    name: str
    type: DataType


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base of all nodes. ``fields`` is the output; ``span`` where in the script the node comes from."""

    fields: tuple[Field, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Child nodes, left to right."""
        return ()

    @property
    def name(self) -> str:
        """The word that plans and messages use."""
        return type(self).__name__


@dataclass(frozen=True, kw_only=True)
class _Unary(Node):
    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, kw_only=True)
class _Binary(Node):
    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


# ---- leaves ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class WatermarkSpec:
    """The rowtime field and its watermark expression over the scan's fields.

    ``delay_ms`` is set where the expression is ``rowtime - constant`` (0 for the bare column); otherwise Spark needs
    the expression itself as a column.
    """

    index: int
    expression: Rex
    delay_ms: int | None


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


@dataclass(frozen=True, kw_only=True)
class Values(Node):
    """A list of rows of constant expressions (VALUES, SELECT without FROM)."""

    rows: tuple[tuple[Rex, ...], ...]


# ---- row by row --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Project(_Unary):
    """One expression per output field."""

    exprs: tuple[Rex, ...]


@dataclass(frozen=True, kw_only=True)
class Filter(_Unary):
    """Keeps the rows for which the condition is TRUE."""

    condition: Rex


@dataclass(frozen=True, kw_only=True)
class Union(Node):
    """UNION ALL."""

    parts: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The parts."""
        return self.parts


@dataclass(frozen=True, kw_only=True)
class Unnest(_Unary):
    """Input fields, then the fields of one element per row of a collection (ARRAY, MAP, MULTISET).

    ``outer`` keeps a row without elements (NULLs); ``ordinality`` adds a last INT field counted from 1; ``condition``
    (over all output fields) is a join condition that decides which elements count.
    """

    collection: Rex
    outer: bool = False
    ordinality: bool = False
    condition: Rex | None = None


@dataclass(frozen=True, kw_only=True)
class Expand(_Unary):
    """GROUPING SETS: one copy of the row per set, with the other keys NULL; last field ``$e`` BIGINT is the set's mask.

    ``sets`` holds, per set, the indices that stay; ``masks`` the value of ``$e`` per set, one bit a key of the query,
    which may have had more keys than are left here, and above them the set's GROUP_ID, so that no two are equal.
    """

    keys: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    masks: tuple[int, ...]


# ---- windows -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Window:
    """A window definition; all durations in milliseconds. ``slide`` is HOP's slide or CUMULATE's step."""

    kind: WindowKind
    time: int
    size_ms: int
    slide_ms: int | None = None
    offset_ms: int = 0
    partition_keys: tuple[int, ...] = ()
    proctime: bool = False


@dataclass(frozen=True, kw_only=True)
class WindowTableFunction(_Unary):
    """Input fields, then window_start, window_end, window_time."""

    window: Window


@dataclass(frozen=True, kw_only=True)
class WindowAggregate(_Unary):
    """GROUP BY over a window TVF (``input`` is the TVF's input) or over a legacy group window: final, once a window.

    Fields: keys, aggregates, then the window properties asked for (``properties``: "start", "end", "time",
    "proctime"). ``legacy`` is the GROUP BY TUMBLE(..) form. ``windowed_input`` says that the input rows carry their
    window already (a second aggregate over window_start / window_end); ``window`` then only names the kind.
    """

    window: Window
    keys: tuple[int, ...]
    aggs: tuple[AggCall, ...]
    properties: tuple[str, ...]
    legacy: bool = False
    windowed_input: tuple[int, int] | None = None


# ---- grouping and ranking ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Aggregate(_Unary):
    """Unwindowed GROUP BY: keys first, then aggregates. SELECT DISTINCT is one without aggregates.

    ``ttl`` is a STATE_TTL hint in ms.
    """

    keys: tuple[int, ...]
    aggs: tuple[AggCall, ...] = ()
    ttl: int | None = None


@dataclass(frozen=True, kw_only=True)
class Rank(_Unary):
    """Top-N: rows ``start..end`` (from 1) per partition; with ``with_rank`` the rank is a last BIGINT field.

    Flink 2.3 takes most Top-1 over append rows for a keep-first deduplication and never takes a row back that lost its
    place (FLINK-40368, observed.md); here a Top-1 is a Top-N as any other.

    ``function`` is ROW_NUMBER, or RANK / DENSE_RANK in batch mode. ``window`` names the fields (start, end) of a window
    Top-N, which is final. ``end_field`` is the field that holds the last rank where it is no constant (``rn <= col``);
    ``end`` is then the largest BIGINT.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    start: int
    end: int
    with_rank: bool
    function: str = "ROW_NUMBER"
    window: tuple[int, int] | None = None
    end_field: int | None = None


@dataclass(frozen=True, kw_only=True)
class Deduplicate(_Unary):
    """ROW_NUMBER() = 1 ordered by one time attribute: keeps the first or the last row per key."""

    keys: tuple[int, ...]
    order: int
    keep_last: bool
    proctime: bool
    window: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Over(_Unary):
    """Input fields, then one field per window function; all share partition, order and frame.

    ``frame`` is ("ROWS" | "RANGE", preceding): preceding None = UNBOUNDED, rows, or milliseconds; upper bound is the
    current row, except in batch mode (``following``).
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    calls: tuple[AggCall, ...]
    rows: bool
    preceding: Any = None
    following: Any = 0


@dataclass(frozen=True, kw_only=True)
class Sort(_Unary):
    """ORDER BY and LIMIT / OFFSET; ``fetch`` None means all rows; no ``order`` is a bare LIMIT."""

    order: tuple[SortKey, ...]
    offset: int = 0
    fetch: int | None = None


# ---- joins -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Join(_Binary):
    """A regular join. ``condition`` is over left fields, then right fields; ``keys`` are its equalities (left, right).

    Fields are left then right; left only for semi and anti. ``null_aware`` marks the anti join of NOT IN: its first
    ``null_tests`` conjuncts of ``condition`` also hold when they are NULL (three-valued logic), so they are no
    ``keys``. ``null_safe`` says for each of ``keys`` whether NULL equals NULL in it. ``ttl`` holds STATE_TTL hints in
    ms (left, right).
    """

    kind: JoinKind
    condition: Rex
    keys: tuple[tuple[int, int], ...]
    null_aware: bool = False
    null_tests: int = 0
    null_safe: tuple[bool, ...] = ()
    ttl: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, kw_only=True)
class IntervalJoin(_Binary):
    """A join whose condition bounds the two time attributes: left.time between right.time + lower and + upper (ms)."""

    kind: JoinKind
    condition: Rex
    keys: tuple[tuple[int, int], ...]
    left_time: int
    right_time: int
    lower_ms: int
    upper_ms: int
    proctime: bool = False


@dataclass(frozen=True, kw_only=True)
class WindowJoin(_Binary):
    """A join of two windowed inputs on equal window_start and window_end: (start, end) indices of each side."""

    kind: JoinKind
    condition: Rex
    keys: tuple[tuple[int, int], ...]
    left_window: tuple[int, int]
    right_window: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class TemporalJoin(_Binary):
    """``FOR SYSTEM_TIME AS OF``: event time on a versioned right side, or processing time.

    ``right_time`` is None for processing time; ``right_key`` are the right side's key fields.
    """

    kind: JoinKind
    condition: Rex
    keys: tuple[tuple[int, int], ...]
    left_time: int
    right_time: int | None
    right_key: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class LookupJoin(_Unary):
    """A processing-time join with an external table that is asked per key: input fields, then the table's."""

    kind: JoinKind
    table: Scan
    condition: Rex
    keys: tuple[tuple[int, int], ...]


def regular(node: IntervalJoin | TemporalJoin | LookupJoin) -> Join:
    """Return the regular join of the same inputs and condition, blind to time."""
    left, right = (node.input, node.table) if isinstance(node, LookupJoin) else (node.left, node.right)
    return Join(
        fields=node.fields,
        left=left,
        right=right,
        kind=node.kind,
        condition=node.condition,
        keys=node.keys,
        span=node.span,
    )


# ---- the end -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Sink(_Unary):
    """Writes the input, whose fields are the table's persisted columns in order.

    ``table`` is None for a SELECT whose result is collected. ``conflict``: NOTHING, ERROR, DEDUPLICATE or None.
    """

    table: Table | None
    options: Any = None
    conflict: str | None = None
    overwrite: bool = False
    target: str = ""
