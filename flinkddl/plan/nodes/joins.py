"""Joins: regular, by interval, by window, by version, by lookup."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from flinkddl.plan.conditions import by_side, rejects_null
from flinkddl.plan.nodes.base import ALL, Binary, I, Keyless, Stateless, Unary, Untimed, always, any_before, of_first
from flinkddl.plan.nodes.forms import APPEND, DELTA, JOINS, ORDERED, PLAIN, Form, weighted
from flinkddl.plan.nodes.leaves import scans
from flinkddl.plan.nodes.terms import names_of, rex_text
from flinkddl.plan.nodes.values import WindowFields, retyped
from flinkddl.plan.rex import all_of, conjuncts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.plan.conditions import Conditions
    from flinkddl.plan.nodes.base import Key, Keys, Kinds, Node
    from flinkddl.plan.nodes.forms import How, Traits
    from flinkddl.plan.nodes.leaves import Scan
    from flinkddl.plan.nodes.values import JoinKind
    from flinkddl.plan.rex import Rex


J = TypeVar("J", bound="_Join")


@dataclass(frozen=True, kw_only=True)
class _Join(Binary):
    """Two sides, a condition over left fields, then right fields, and its equalities (left, right) as ``keys``."""

    kind: JoinKind
    condition: Rex
    keys: tuple[tuple[int, int], ...]

    pairs = ("keys",)
    joined = ("condition",)
    holds_back = always(JOINS)
    requires = always((PLAIN, PLAIN))

    @property
    def passes(self) -> int:  # type: ignore[override]
        """How many sides are in the output: the left one alone of a semi or anti join."""
        return 1 if self.kind in ("semi", "anti") else 2

    @property
    def flags(self) -> list[str]:
        """What is told of it beyond kind and condition."""
        return []

    @property
    def detail(self) -> str:
        """The kind and the condition."""
        return ", ".join([self.kind, rex_text(self.condition, names_of(self.left, self.right)), *self.flags])

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append where both sides are and no padded row is taken back."""
        return weighted(*inputs) if self.kind in ("inner", "semi") else DELTA


@dataclass(frozen=True, kw_only=True)
class Join(Untimed, _Join):
    """A regular join. ``condition`` is over left fields, then right fields; ``keys`` are its equalities (left, right).

    Fields are left then right; left only for semi and anti. ``null_aware`` marks the anti join of NOT IN: its first
    ``null_tests`` conjuncts of ``condition`` also hold when they are NULL (three-valued logic), so they are no
    ``keys``. ``null_safe`` says for each of ``keys`` whether NULL equals NULL in it. ``ttl`` holds STATE_TTL hints in
    ms (left, right).
    """

    null_aware: bool = False
    null_tests: int = 0
    null_safe: tuple[bool, ...] = ()
    ttl: tuple[int | None, int | None] = (None, None)

    by = ("kind", "keys")
    sql = "inner, outer, semi, anti and cross joins"
    title = "a join"
    forgets = True
    state = always("all rows of both sides")
    carries_before = any_before

    @property
    def grows(self) -> str:
        """Both sides' rows; an inner join with VALUES alone keeps nothing."""
        known = self.kind == "inner" and not all(any(scans(side)) for side in self.inputs)
        return "" if known else "rows"

    @property
    def flags(self) -> list[str]:
        """Whether it is that of NOT IN."""
        return ["null-aware"] if self.null_aware else []

    def pushed(self, conditions: Conditions) -> tuple[Node, Conditions, tuple[Conditions, ...]]:
        """Return the join, inner where no padded row passes; conditions of one side go to it unless it is padded.

        The same holds of its own: they go to a side whose rows it does not keep without a partner. Those of an inner
        join become its own, all of them.
        """
        kind, width = self._kind_under(conditions), len(self.left.fields)
        own = conjuncts(self.condition)
        if kind == "inner":
            own, conditions = (*own, *conditions), ()
        fixed, own = own[: self.null_tests], own[self.null_tests :]
        on_left, on_right, rest = by_side(own, width)
        above_left, above_right, _ = by_side(conditions, width)
        lefts = above_left if kind in ("left", "semi", "anti") else ()
        rights = above_right if kind == "right" else ()
        stay = tuple(c for c in conditions if c not in lefts and c not in rights)
        if kind in ("inner", "right", "semi"):
            lefts = (*lefts, *on_left)
        else:
            rest = (*rest, *on_left)
        if kind in ("inner", "left", "semi", "anti"):
            rights = (*rights, *on_right)
        else:
            rest = (*rest, *on_right)
        both = (*self.left.fields, *self.right.fields)
        node = replace(self, kind=kind, condition=all_of(retyped(c, both) for c in (*fixed, *rest)))
        below = tuple(retyped(c, self.left.fields) for c in lefts)
        return node, stay, (below, tuple(retyped(c, self.right.fields, -width) for c in rights))

    def _kind_under(self, conditions: Conditions) -> JoinKind:
        """Return its kind under conditions: a side that they require to be there is never padded."""
        needed = frozenset(i for c in conditions for i in rejects_null(c))
        sides = {i >= len(self.left.fields) for i in needed}
        match self.kind:
            case "left" if True in sides:
                return "inner"
            case "right" if False in sides:
                return "inner"
            case "full" if sides:
                return "inner" if len(sides) == 2 else "right" if True in sides else "left"
        return self.kind

    def asks_before(self, number: int, asked: bool) -> bool:
        """Return whether the consumer asks, or a side is updated that is not unique on the join key."""
        return asked or not all(self._after_is_enough(n) for n in (0, 1))

    def _after_is_enough(self, number: int) -> bool:
        side = frozenset(pair[number] for pair in self.keys)
        below = self.inputs[number]
        return "U" not in below.known_changes() or any(k <= side for k in below.known_keys())

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return those of both sides; padded rows are taken back."""
        return frozenset().union(*inputs) if self.kind in ("inner", "semi") else ALL

    def upsert_keys(self, inputs: tuple[Keys, ...]) -> Keys:
        """Return a side's keys where the other is unique on the join key, and those of both together."""
        left, right = inputs
        if self.kind in ("semi", "anti"):
            return left
        shift = len(self.left.fields)
        moved = tuple(frozenset(k + shift for k in key) for key in right)
        on_left, on_right = (frozenset(k[side] for k in self.keys) for side in (0, 1))
        out: list[Key] = []
        if any(k <= on_right for k in right) and self.kind in ("inner", "left"):
            out += left
        if any(k <= on_left for k in left) and self.kind in ("inner", "right"):
            out += moved
        return (*out, *(a | b for a in left for b in moved))

    def updates(self, asked: Traits) -> bool:
        """Return whether it is none that Spark's own join of append rows gives once and for all."""
        return self.kind != "inner" or not self.keys


@dataclass(frozen=True, kw_only=True)
class _TimedJoin(Keyless, _Join):
    """A join of rows that each side gives once, by their times: a row that comes out stays."""

    append_only = (0, 1)
    keeps_time = True
    on_time = True
    changes = always(I)


@dataclass(frozen=True, kw_only=True)
class IntervalJoin(_TimedJoin):
    """A join whose condition bounds the two time attributes: left.time between right.time + lower and + upper (ms)."""

    left_time: int
    right_time: int
    lower_ms: int
    upper_ms: int
    proctime: bool = False

    by = ("kind", "keys", "left_time", "right_time")
    sql = "interval joins"
    title = "an interval join"
    first = ("left_time",)
    second = ("right_time",)
    state = always("the rows of both sides that are within the interval")

    @property
    def flags(self) -> list[str]:
        """The bounds."""
        names = names_of(self.left, self.right)
        times = f"{names[self.left_time]} - {names[len(self.left.fields) + self.right_time]}"
        return [f"{self.lower_ms}ms <= {times} <= {self.upper_ms}ms"]

    @property
    def requires_watermark(self) -> bool:
        """Whether it is over event time."""
        return not self.proctime

    @property
    def waits(self) -> bool:
        """Whether it is over processing time, or gives rows of one side alone."""
        return self.proctime or self.kind in ("semi", "anti")

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append of Spark's own and in a chain; in update mode padded rows may be taken back."""
        own = weighted(*inputs).kind == "append" and (how.mode == "append" or self.kind == "inner" or how.chain)
        return APPEND if own else super().form(inputs, asked, how)


@dataclass(frozen=True, kw_only=True)
class WindowJoin(_TimedJoin):
    """A join of two windowed inputs on equal window_start and window_end: (start, end) indices of each side."""

    left_window: tuple[int, int]
    right_window: tuple[int, int]

    by = ("kind", "keys", "left_window", "right_window")
    sql = "window joins"
    title = "a window join"
    first = ("left_window",)
    second = ("right_window",)
    requires_watermark = True
    waits = False
    state = always("the rows of both sides, until the window is over")

    @property
    def windowed(self) -> WindowFields | None:
        """The window of each side that is never padded."""
        left, right = self.left.windowed, self.right.windowed
        if left is None or right is None or self.kind != "inner":
            return left if self.kind in ("inner", "left", "semi", "anti") else None
        width = len(self.left.fields)

        def both(a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
            return a | {i + width for i in b}

        times = both(left.times, right.times)
        return WindowFields(both(left.starts, right.starts), both(left.ends, right.ends), times, left.window)

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return the watermark where rows can be late."""
        return tuple(replace(PLAIN, watermark=i.late) for i in self.inputs)

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append where a window comes out once."""
        return APPEND if how.mode == "append" or how.chain else super().form(inputs, asked, how)


@dataclass(frozen=True, kw_only=True)
class TemporalJoin(_Join):
    """``FOR SYSTEM_TIME AS OF``: event time on a versioned right side, or processing time.

    ``right_time`` is None for processing time; ``keys`` hold the whole key of the right side.
    """

    left_time: int
    right_time: int | None

    by = ("kind", "keys")
    sql = "FOR SYSTEM_TIME AS OF a versioned table"
    keeps_time = True
    first = ("left_time",)
    second = ("right_time",)
    needs_before = False
    on_time = True
    waits = False
    changes = of_first
    upsert_keys = of_first
    requires = always((ORDERED, replace(ORDERED, versions=True)))
    state = always("the versions of the right side that the watermark has not passed, left rows that wait for it")

    def through(self) -> tuple[Mapping[int, Rex], ...]:
        """Return the left side's fields."""
        return (self._same(range(len(self.left.fields))), {})

    @property
    def flags(self) -> list[str]:
        """The time."""
        return [f"as of {names_of(self.left, self.right)[self.left_time]}"]

    @property
    def requires_watermark(self) -> bool:
        """Whether it is over event time."""
        return self.right_time is not None

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append where a row comes out once, as in a chain; else in update mode a late version corrects it."""
        if how.mode == "append":
            return APPEND
        return weighted(inputs[0]) if how.chain else DELTA


@dataclass(frozen=True, kw_only=True)
class LookupJoin(Keyless, Stateless, Untimed, Unary):
    """A processing-time join with an external table that is asked per key: input fields, then the table's."""

    kind: JoinKind
    table: Scan
    condition: Rex
    keys: tuple[tuple[int, int], ...]

    sql = "FOR SYSTEM_TIME AS OF a lookup table (jdbc, faker)"
    passes = 1
    pairs = ("keys",)
    joined = ("condition",)
    needs_before = None
    holds_back = always(JOINS)

    @property
    def detail(self) -> str:
        """The kind, the table and the condition."""
        return f"{self.kind}, {self.table.table.path}, {rex_text(self.condition, names_of(self.input, self.table))}"

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return what is asked."""
        return (asked,)


def recast(node: _Join | LookupJoin, kind: type[J], **own: Any) -> J:
    """Return a join of the same sides and condition as another kind of operator, with what is its own."""
    names = ("fields", "span", "kind", "condition", "keys")
    left, right = (node.input, node.table) if isinstance(node, LookupJoin) else (node.left, node.right)
    return kind(left=left, right=right, **{name: getattr(node, name) for name in names} | own)


def regular(node: IntervalJoin | TemporalJoin | LookupJoin) -> Join:
    """Return the regular join of the same inputs and condition, blind to time."""
    return recast(node, Join)
