"""Grouping, ranking and order: aggregates, Top-N, deduplication, OVER, ORDER BY."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from flinkddl.plan.nodes.base import ALL, IU, I, Node, Selecting, Unary, Untimed, always, dropped, of_first
from flinkddl.plan.nodes.forms import (
    APPEND,
    COMPARES,
    DELTA,
    ONCE,
    ORDERED,
    PLAIN,
    Form,
    counts_rows,
    is_native,
    needs_order,
)
from flinkddl.plan.nodes.terms import call_text, names_of, order_text, pick
from flinkddl.plan.nodes.values import Field, plain
from flinkddl.plan.rex import InputRef

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.plan.nodes.base import Keys, Kinds, Mode, Needed, Places
    from flinkddl.plan.nodes.forms import How, Traits
    from flinkddl.plan.nodes.values import WindowFields
    from flinkddl.plan.rex import AggCall, Rex, SortKey


@dataclass(frozen=True, kw_only=True)
class Aggregate(Untimed, Unary):
    """Unwindowed GROUP BY: keys first, then aggregates. SELECT DISTINCT is one without aggregates.

    ``ttl`` is a STATE_TTL hint in ms.
    """

    keys: tuple[int, ...]
    aggs: tuple[AggCall, ...] = ()
    ttl: int | None = None

    by = ("keys",)
    sql = "GROUP BY, DISTINCT, COUNT(DISTINCT), FILTER"
    title = "an aggregate"
    first = ("keys", "aggs")
    forgets = True
    state = always("one row of totals a group")
    updates = always(True)

    @property
    def one_each(self) -> bool:
        """Whether each row changes its group."""
        return self.always_changes

    @property
    def detail(self) -> str:
        """The keys and the aggregates."""
        names = names_of(self.input)
        return ", ".join([f"by=[{pick(names, self.keys)}]", *(call_text(names, c) for c in self.aggs)])

    def narrowed(self, needed: Needed) -> tuple[Node, Places]:
        """Leave out aggregates."""
        aggs, places, fields = dropped(self, needed, len(self.keys), self.aggs)
        return replace(self, aggs=tuple(aggs), **fields), places

    def over(self, inputs: Sequence[Node]) -> Self:
        """Return the aggregate, its keys typed as the input's; what it computes is no time attribute."""
        out, n = super().over(inputs), len(self.keys)
        keys = (Field(f.name, inputs[0].fields[k].type) for f, k in zip(self.fields, self.keys, strict=False))
        return replace(out, fields=(*keys, *plain(self.fields[n:])))

    def through(self) -> tuple[Mapping[int, Rex], ...]:
        """Return the keys: a group is dropped with all its rows."""
        return ({i: InputRef(self.input.fields[k].type, k) for i, k in enumerate(self.keys)},)

    def unique_key(self, declared: bool = True) -> tuple[int, ...]:
        """Return the keys of the groups."""
        return tuple(range(len(self.keys)))

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return deletions only where a group can become empty."""
        return IU if inputs[0] == I else ALL

    def upsert_keys(self, inputs: tuple[Keys, ...]) -> Keys:
        """Return the keys of the groups."""
        return (frozenset(range(len(self.keys))),)

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return order, where it is asked or an aggregate needs it."""
        return (replace(PLAIN, sequence=asked.sequence or any(map(needs_order, self.aggs))),)

    def holds_back(self, form: Form) -> str:
        """Return nothing of Spark's own aggregates."""
        return "" if form.kind == "upsert" else COMPARES

    @property
    def grows(self) -> str:
        """What DISTINCT has seen; totals are one row."""
        return "DISTINCT values" if any(call.distinct for call in self.aggs) else ""

    @property
    def always_changes(self) -> bool:
        """Whether every touched group changes over append rows: it has a COUNT(*), and the rest is native."""
        return any(map(counts_rows, self.aggs)) and all(map(is_native, self.aggs))

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return upserts of Spark's own aggregates where the newest rows are enough, else a group before and after."""
        native = asked.latest and not asked.sequence and self.always_changes and inputs[0].kind == "append"
        native = native and not (how.chain or how.totals or how.forgets(self.ttl))
        return Form("upsert" if native else "images", tuple(range(len(self.keys))))


FEW = 16
"""So many rows in one piece cost less than an entry each: each batch reads and writes all of a group it touches."""


@dataclass(frozen=True, kw_only=True)
class _Best(Unary):
    """Keeps the best rows of a partition; ``window`` names the fields (start, end) of a window's, which are final."""

    window: tuple[int, int] | None = None

    passes = 1
    keeps_time = True
    requires_watermark = False

    @property
    def windowed(self) -> WindowFields | None:
        """The input's, of a window's."""
        return self.input.windowed if self.window is not None else None

    @property
    def append_only(self) -> tuple[int, ...]:
        """The input of a window's."""
        return (0,) if self.window is not None else ()


@dataclass(frozen=True, kw_only=True)
class Rank(_Best):
    """Top-N: rows ``start..end`` (from 1) per partition; with ``with_rank`` the rank is a last BIGINT field.

    Flink 2.3 takes most Top-1 over append rows for a keep-first deduplication and never takes a row back that lost its
    place (FLINK-40368, observed.md); here a Top-1 is a Top-N as any other.

    ``function`` is ROW_NUMBER, or RANK / DENSE_RANK in batch mode. ``end_field`` is the field that holds the last rank
    where it is no constant (``rn <= col``); ``end`` is then the largest BIGINT.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    start: int
    end: int
    with_rank: bool
    function: str = "ROW_NUMBER"
    end_field: int | None = None

    by = ("partition", "order", "window")
    sql = "Top-N, window Top-N"
    title = "a window Top-N"
    first = ("partition", "order", "window", "end_field")
    forgets = True

    @property
    def grows(self) -> str:
        """What a group keeps beyond the few rows that inserts leave in the first places."""
        return "" if self.end_field is None and self.end <= FEW else "rows"

    @property
    def detail(self) -> str:
        """The places, the partition and the order."""
        names = names_of(self.input)
        flags = (["with rank"] if self.with_rank else []) + (["window"] if self.window else [])
        by, order = pick(names, self.partition), order_text(names, self.order)
        return ", ".join([f"{self.function} {self.start}..{self.end}", f"by=[{by}]", f"order=[{order}]", *flags])

    def narrowed(self, needed: Needed) -> tuple[Node, Places]:
        """Leave out the rank: a row number nobody selects makes far fewer updates without it."""
        if not self.with_rank:
            return super().narrowed(needed)
        rank, places, fields = dropped(self, needed, len(self.fields) - 1, (True,))
        return replace(self, with_rank=bool(rank), **fields), places

    def unique_key(self, declared: bool = True) -> tuple[int, ...] | None:
        """Return the partition, where it keeps one row: RANK and DENSE_RANK keep all that are equal."""
        single = self.start == self.end and self.end_field is None
        return self.partition if single and self.function == "ROW_NUMBER" else None

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return inserts of a window, else all."""
        return I if self.window is not None else ALL

    def upsert_keys(self, inputs: tuple[Keys, ...]) -> Keys:
        """Return the input's, and the partition with the rank, or alone where it keeps one row."""
        if self.with_rank:
            return (*inputs[0], frozenset((*self.partition, len(self.fields) - 1)))
        return (*inputs[0], frozenset(self.partition)) if self.start == self.end == 1 else inputs[0]

    @property
    def on_time(self) -> bool:
        """Whether it is a window's."""
        return self.window is not None

    def state(self, mode: Mode) -> str:
        """Return the rows of each partition."""
        if self.window is not None:
            return "the best rows of each partition, until the window is over"
        return f"{'the best' if mode.inputs[0].append else 'all'} rows of each partition"

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return order of arrival: of equal rows the first keeps the better place."""
        return (replace(ORDERED, watermark=self.window is not None and self.input.late),)

    @property
    def versioned(self) -> bool:
        """Whether it keeps the newest row of a key."""
        return self.start == self.end == 1 and self.window is None and not self.with_rank

    def holds_back(self, form: Form) -> str:
        """Return that a window's come out once."""
        return ONCE if form.kind == "append" else COMPARES

    def updates(self, asked: Traits) -> bool:
        """Return whether places change: those of a window do not."""
        return self.window is None and not (asked.versions and self.versioned)

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return the changes of places, by partition and rank where that is unique; of a window its rows."""
        if asked.versions:
            return Form("upsert", self.partition)
        if self.window is not None and (how.mode == "append" or how.chain):
            return APPEND
        rank = (len(self.fields) - 1,) if self.with_rank else ()
        return Form("images", (*self.partition, *rank) if rank or self.start == self.end == 1 else ())


@dataclass(frozen=True, kw_only=True)
class Deduplicate(_Best):
    """ROW_NUMBER() = 1 ordered by one time attribute: keeps the first or the last row per key."""

    keys: tuple[int, ...]
    order: int
    keep_last: bool
    proctime: bool

    by = ("keys", "order", "keep_last", "window")
    sql = "deduplication, first or last row"
    title = "a window deduplication"
    first = ("keys", "order", "window")
    grows = "rows"

    @property
    def detail(self) -> str:
        """Which row of which key."""
        names = names_of(self.input)
        flags = ["last" if self.keep_last else "first", f"by=[{pick(names, self.keys)}]", f"order={names[self.order]}"]
        return ", ".join(flags + (["proctime"] if self.proctime else []) + (["window"] if self.window else []))

    def unique_key(self, declared: bool = True) -> tuple[int, ...]:
        """Return the key."""
        return self.keys

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return inserts of a window, and of first rows of what is never taken back."""
        return I if self.window is not None or (not self.keep_last and inputs[0] == I) else ALL

    def upsert_keys(self, inputs: tuple[Keys, ...]) -> Keys:
        """Return the key."""
        return (frozenset(self.keys),)

    @property
    def on_time(self) -> bool:
        """Whether it is a window's, or waits for the first row by event time."""
        return self.window is not None or not (self.proctime or self.keep_last)

    def state(self, mode: Mode) -> str:
        """Return the row of each key."""
        until = ", until the window is over" if self.window is not None else ""
        return f"the {'last' if self.keep_last else 'first'} row of each key{until}"

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return order of arrival, and the watermark where first rows can be late."""
        timed = self.window is not None or not (self.keep_last or self.proctime)
        return (replace(ORDERED, watermark=timed and not asked.versions and self.input.late),)

    @property
    def versioned(self) -> bool:
        """Whether it keeps the newest row of a key."""
        return self.keep_last and self.window is None

    def holds_back(self, form: Form) -> str:
        """Return nothing of first rows by arrival; a window's come out once."""
        if form.kind != "append":
            return COMPARES
        return "" if self.window is None else ONCE

    def updates(self, asked: Traits) -> bool:
        """Return whether a better row can come: not by arrival for the first one."""
        return self.window is None and (self.keep_last or not self.proctime) and not (asked.versions and self.versioned)

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append for first rows by arrival and for windows, else a key's row before and after."""
        if asked.versions:
            return Form("upsert", self.keys)
        if self.window is not None and (how.mode == "append" or how.chain):
            return APPEND
        arrived = self.window is None and inputs[0].kind == "append" and self.proctime and not self.keep_last
        return APPEND if arrived and not how.forgets() else Form("images", self.keys)


@dataclass(frozen=True, kw_only=True)
class Over(Unary):
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

    by = ("partition", "order")
    sql = "OVER aggregates, LAG, LEAD"
    title = "an OVER aggregate by a time attribute"
    passes = 1
    first = ("partition", "order", "calls")
    keeps_time = True
    requires_watermark = False
    on_time = True
    grows = "rows"
    state = always("the rows of each partition that are still in reach")
    updates = always(True)  # a late row changes those behind it
    upsert_keys = of_first

    @property
    def detail(self) -> str:
        """The partition, the order, the frame and the calls."""
        names = names_of(self.input)
        bound = "UNBOUNDED" if self.preceding is None else str(self.preceding)
        following = "UNBOUNDED" if self.following is None else self.following
        frame = f"{'ROWS' if self.rows else 'RANGE'} {bound}..{following}"
        calls = ", ".join(call_text(names, c) for c in self.calls)
        return f"by=[{pick(names, self.partition)}], order=[{order_text(names, self.order)}], {frame}, {calls}"

    def narrowed(self, needed: Needed) -> tuple[Node, Places]:
        """Leave out calls; without any it is its input."""
        width = len(self.input.fields)
        calls, places, fields = dropped(self, needed, width, self.calls)
        return (replace(self, calls=tuple(calls), **fields) if calls else self.input), places

    def through(self) -> tuple[Mapping[int, Rex], ...]:
        """Return the partition: it is dropped with all its rows."""
        return (self._same(self.partition),)

    @property
    def append_only(self) -> tuple[int, ...]:
        """The input, where the order is a time attribute."""
        return (0,) if self.time is not None else ()

    @property
    def time(self) -> str | None:
        """The time attribute by which the rows are ordered, if any."""
        return self.input.fields[self.order[0].index].type.time_attribute if self.order else None

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return inserts where the order is a time attribute."""
        return I if self.time is not None else ALL

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return order of arrival, and the watermark where rows can be late by event time."""
        return (replace(ORDERED, watermark=self.time == "ROWTIME" and self.input.late),)

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return rows with weights; in order of arrival no later row changes an earlier one."""
        return APPEND if self.time == "PROCTIME" and inputs[0].kind == "append" else DELTA


@dataclass(frozen=True, kw_only=True)
class Sort(Selecting, Unary):
    """ORDER BY and LIMIT / OFFSET; ``fetch`` None means all rows; no ``order`` is a bare LIMIT."""

    order: tuple[SortKey, ...]
    offset: int = 0
    fetch: int | None = None

    by = ("order",)
    sql = "ORDER BY, LIMIT"
    title = "ORDER BY a time attribute"
    passes = 1
    first = ("order",)
    keeps_time = True
    requires_watermark = False
    on_time = True

    @property
    def detail(self) -> str:
        """The order and the limit."""
        parts = [f"order=[{order_text(names_of(self.input), self.order)}]"] if self.order else []
        parts += [f"offset={self.offset}"] if self.offset else []
        return ", ".join(parts + ([f"fetch={self.fetch}"] if self.fetch is not None else []))

    def through(self) -> tuple[Mapping[int, Rex], ...]:
        """Return all fields where no row is cut off."""
        return (self._same(range(self.passed) if self.fetch is None and not self.offset else ()),)

    @property
    def append_only(self) -> tuple[int, ...]:
        """The input of an order by time."""
        return (0,) if self.fetch is None and not self.offset else ()

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return inserts of an order by time; a bare LIMIT keeps what came first."""
        if self.fetch is None:
            return I
        return ALL if self.order else inputs[0]

    def state(self, mode: Mode) -> str:
        """Return what waits, or the best rows."""
        return "rows that wait for the watermark" if mode.append else "the best rows"

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return order of arrival; an order by time passes on what is asked."""
        return (replace(asked, watermark=self.input.late, versions=False) if self.append_only else ORDERED,)

    def holds_back(self, form: Form) -> str:
        """Return nothing of an order by time: the rows pass."""
        return "" if self.append_only else COMPARES

    def updates(self, asked: Traits) -> bool:
        """Return whether a row can lose its place."""
        return not self.append_only

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return the input's of an order by time; a bare LIMIT over append rows is append, else places change."""
        if self.append_only:
            return inputs[0]
        return APPEND if inputs[0].kind == "append" and not self.order else Form("images")
