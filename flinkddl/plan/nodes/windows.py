"""Windows as table functions and the aggregate over one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from flinkddl.plan.nodes.base import I, Keyless, Node, Stateless, Unary, always, dropped
from flinkddl.plan.nodes.forms import APPEND, COMPARES, ONCE, ORDERED, Form, needs_order
from flinkddl.plan.nodes.terms import call_text, names_of, pick, window_text
from flinkddl.plan.nodes.values import WindowFields, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flinkddl.plan.nodes.base import Keys, Needed, Places
    from flinkddl.plan.nodes.forms import How, Traits
    from flinkddl.plan.nodes.values import Window
    from flinkddl.plan.rex import AggCall, Rex


@dataclass(frozen=True, kw_only=True)
class WindowTableFunction(Keyless, Stateless, Unary):
    """Input fields, then window_start, window_end, window_time."""

    window: Window

    sql = "TUMBLE, HOP, CUMULATE, SESSION as table functions"
    passes = 1
    first = ("window",)
    needs_before = None
    on_time = False

    @property
    def detail(self) -> str:
        """The window."""
        return window_text(names_of(self.input), self.window)

    def through(self) -> tuple[Mapping[int, Rex], ...]:
        """Return the input's fields; a row that is gone may have joined two sessions, so theirs are the partition's."""
        session = self.window.kind == "SESSION"
        return (self._same(self.window.partition_keys if session else range(self.passed)),)

    @property
    def windowed(self) -> WindowFields:
        """The window of its last fields."""
        start, end, time = (frozenset({self.passed + i}) for i in range(3))
        return WindowFields(start, end, time, self.window)

    @property
    def requires_watermark(self) -> bool:
        """Whether it is over event time."""
        return not self.window.proctime

    @property
    def waits(self) -> bool:
        """Whether its windows are others than those of single rows."""
        return self.window.kind == "SESSION"

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return what is asked; sessions are made in order of arrival."""
        if self.window.kind == "SESSION":
            return (replace(ORDERED, watermark=self.input.late),)
        return super().requires(asked)

    def holds_back(self, form: Form) -> str:
        """Return that sessions come out whole."""
        return ONCE if self.window.kind == "SESSION" else ""

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append while the input is; sessions come out whole."""
        return APPEND if self.window.kind == "SESSION" else super().form(inputs, asked, how)


@dataclass(frozen=True, kw_only=True)
class WindowAggregate(Unary):
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

    by = ("window", "keys")
    sql = "GROUP BY a window"
    first = ("window", "keys", "aggs", "windowed_input")
    on_time = True
    changes = always(I)
    state = always("one row of totals a group and window, until the window is over")

    @property
    def detail(self) -> str:
        """The window, the keys and the aggregates."""
        names = names_of(self.input)
        parts = [window_text(names, self.window), f"by=[{pick(names, self.keys)}]"]
        parts += [call_text(names, c) for c in self.aggs]
        parts += [f"properties=[{', '.join(self.properties)}]"] if self.properties else []
        parts += [f"windowed=[{pick(names, self.windowed_input)}]"] if self.windowed_input else []
        return ", ".join([*parts, *(["legacy"] if self.legacy else [])])

    def narrowed(self, needed: Needed) -> tuple[Node, Places]:
        """Leave out aggregates."""
        aggs, places, fields = dropped(self, needed, len(self.keys), self.aggs)
        return replace(self, aggs=tuple(aggs), **fields), places

    def over(self, inputs: Sequence[Node]) -> Self:
        """Return the aggregate; what it computes is no time attribute."""
        own = len(self.keys) + len(self.aggs)
        return replace(super().over(inputs), fields=(*plain(self.fields[:own]), *self.fields[own:]))

    def timeless(self) -> tuple[Iterable[int], ...]:
        """Return all fields but the time of the window."""
        return ([i for i in range(len(self.input.fields)) if i != self.window.time],)

    @property
    def windowed(self) -> WindowFields | None:
        """Its window, where start and end are asked for."""
        first = len(self.keys) + len(self.aggs)
        places = {p: frozenset({first + i}) for i, p in enumerate(self.properties)}
        start, end, time = (places.get(p, frozenset[int]()) for p in ("start", "end", "time"))
        return WindowFields(start, end, time, self.window) if start and end and not self.legacy else None

    def upsert_keys(self, inputs: tuple[Keys, ...]) -> Keys:
        """Return keys and a bound of the window; a window TVF aggregate has none (observed on Flink 2.3)."""
        if not self.legacy:
            return ()
        first = len(self.keys) + len(self.aggs)
        bounds = [first + i for i, p in enumerate(self.properties) if p in ("start", "end")]
        return tuple(frozenset((*range(len(self.keys)), b)) for b in bounds)

    @property
    def requires_watermark(self) -> bool:
        """Whether it is over event time."""
        return not self.window.proctime

    @property
    def waits(self) -> bool:
        """Whether it makes sessions of another partition than its groups."""
        return self.sessions and not {*self.window.partition_keys} <= {*self.keys}

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return order where an aggregate needs it, the watermark where rows can be late."""
        late = not self.window.proctime and self.input.late
        sequence = asked.sequence or any(map(needs_order, self.aggs)) or (late and self.sessions)
        return (replace(asked, sequence=sequence, latest=False, watermark=late, versions=False),)

    def requires_in_a_chain(self, asked: Traits) -> tuple[Traits, ...]:
        """Return the order for sessions too: a row can be saved by one that came before it in the same batch."""
        (below,) = self.requires(asked)
        return (replace(below, sequence=below.sequence or self.sessions),)

    def withholds(self, form: Form) -> bool:
        """Return that windows come out once; of sessions whose rows can be late the state is kept twice."""
        return form.kind == "append" and not (self.sessions and self.input.late)

    @property
    def sessions(self) -> bool:
        """Whether it makes sessions, which are made in order of arrival where rows can be late."""
        return self.window.kind == "SESSION" and self.windowed_input is None

    @property
    def by_changes(self) -> bool:
        """Whether a change can be late, or it makes sessions, which rows that are taken back kept open or joined."""
        return self.sessions or self.input.late

    def holds_back(self, form: Form) -> str:
        """Return that a window comes out once."""
        return ONCE if form.kind == "append" else COMPARES

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append where a window comes out once; in update mode it comes early and is corrected.

        In a chain an operator's own timers give it out.
        """
        if how.mode == "append" or how.chain:
            return APPEND
        first, count = len(self.keys) + len(self.aggs), len(self.keys)
        return Form("images", (*range(count), *range(first, len(self.fields))))
