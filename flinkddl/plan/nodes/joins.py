"""Joins: regular, by interval, by window, by version, by lookup."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.plan.nodes.base import ALL, Binary, I, Keyless, Stateless, Unary, Untimed
from flinkddl.plan.nodes.forms import APPEND, DELTA, JOINS, ORDERED, PLAIN, Form, weighted
from flinkddl.plan.nodes.terms import names_of, rex_text

if TYPE_CHECKING:
    from flinkddl.plan.nodes.base import Key, Keys, Kinds, Mode
    from flinkddl.plan.nodes.forms import How, Traits
    from flinkddl.plan.nodes.leaves import Scan
    from flinkddl.plan.nodes.values import JoinKind
    from flinkddl.plan.rex import Rex


@dataclass(frozen=True, kw_only=True)
class _Join(Binary):
    """Two sides, a condition over left fields, then right fields, and its equalities (left, right) as ``keys``."""

    kind: JoinKind
    condition: Rex
    keys: tuple[tuple[int, int], ...]

    pairs = ("keys",)
    joined = ("condition",)

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

    def holds_back(self, form: Form) -> str:
        """Return that real-time mode joins nothing."""
        return JOINS

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return nothing of either side."""
        return (PLAIN, PLAIN)

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

    @property
    def flags(self) -> list[str]:
        """Whether it is that of NOT IN."""
        return ["null-aware"] if self.null_aware else []

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

    def carries_before(self, inputs: tuple[Mode, ...]) -> bool:
        """Return whether one side's come through."""
        return any(i.before and not i.append for i in inputs)

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

    def state(self, mode: Mode) -> str:
        """Return both sides."""
        return "all rows of both sides"

    def updates(self, asked: Traits) -> bool:
        """Return whether it is none that Spark's own join of append rows gives once and for all."""
        return self.kind != "inner" or not self.keys


@dataclass(frozen=True, kw_only=True)
class IntervalJoin(Keyless, _Join):
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
    append_only = (0, 1)
    on_time = True

    @property
    def flags(self) -> list[str]:
        """The bounds."""
        names = names_of(self.left, self.right)
        times = f"{names[self.left_time]} - {names[len(self.left.fields) + self.right_time]}"
        return [f"{self.lower_ms}ms <= {times} <= {self.upper_ms}ms"]

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return inserts."""
        return I

    @property
    def requires_watermark(self) -> bool:
        """Whether it is over event time."""
        return not self.proctime

    def state(self, mode: Mode) -> str:
        """Return what may still be met."""
        return "the rows of both sides that are within the interval"

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append of Spark's own; in update mode padded rows may be taken back."""
        own = weighted(*inputs).kind == "append" and (how.mode == "append" or self.kind == "inner")
        return APPEND if own else super().form(inputs, asked, how)


@dataclass(frozen=True, kw_only=True)
class WindowJoin(Keyless, _Join):
    """A join of two windowed inputs on equal window_start and window_end: (start, end) indices of each side."""

    left_window: tuple[int, int]
    right_window: tuple[int, int]

    by = ("kind", "keys", "left_window", "right_window")
    sql = "window joins"
    title = "a window join"
    first = ("left_window",)
    second = ("right_window",)
    append_only = (0, 1)
    requires_watermark = True
    on_time = True

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return inserts."""
        return I

    def state(self, mode: Mode) -> str:
        """Return the rows of open windows."""
        return "the rows of both sides, until the window is over"

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return the watermark where rows can be late."""
        return tuple(replace(PLAIN, watermark=i.late) for i in self.inputs)

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append where a window comes out once."""
        return APPEND if how.mode == "append" else super().form(inputs, asked, how)


@dataclass(frozen=True, kw_only=True)
class TemporalJoin(_Join):
    """``FOR SYSTEM_TIME AS OF``: event time on a versioned right side, or processing time.

    ``right_time`` is None for processing time; ``right_key`` are the right side's key fields.
    """

    left_time: int
    right_time: int | None
    right_key: tuple[int, ...]

    by = ("kind", "keys")
    sql = "FOR SYSTEM_TIME AS OF a versioned table"
    first = ("left_time",)
    second = ("right_time", "right_key")
    needs_before = False
    on_time = True

    @property
    def flags(self) -> list[str]:
        """The time."""
        return [f"as of {names_of(self.left, self.right)[self.left_time]}"]

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return those of the left side."""
        return inputs[0]

    def upsert_keys(self, inputs: tuple[Keys, ...]) -> Keys:
        """Return the left side's."""
        return inputs[0]

    @property
    def requires_watermark(self) -> bool:
        """Whether it is over event time."""
        return self.right_time is not None

    def state(self, mode: Mode) -> str:
        """Return versions and rows that wait."""
        return "the versions of the right side that the watermark has not passed, left rows that wait for it"

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return order of arrival of rows, and the right side's versions."""
        return (ORDERED, replace(ORDERED, versions=True))

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append where a row comes out once; in update mode a late version corrects it."""
        return APPEND if how.mode == "append" else DELTA


@dataclass(frozen=True, kw_only=True)
class LookupJoin(Keyless, Stateless, Untimed, Unary):
    """A processing-time join with an external table that is asked per key: input fields, then the table's."""

    kind: JoinKind
    table: Scan
    condition: Rex
    keys: tuple[tuple[int, int], ...]

    sql = "FOR SYSTEM_TIME AS OF a lookup table (jdbc)"
    passes = 1
    pairs = ("keys",)
    joined = ("condition",)
    needs_before = None

    @property
    def detail(self) -> str:
        """The kind, the table and the condition."""
        return f"{self.kind}, {self.table.table.path}, {rex_text(self.condition, names_of(self.input, self.table))}"

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return those of the input."""
        return inputs[0]

    def holds_back(self, form: Form) -> str:
        """Return that real-time mode joins nothing."""
        return JOINS

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return what is asked."""
        return (asked,)


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
