"""Which operators keep their state by key, in a query that does so (``plan/stateforms.py``).

A keyed operator is a GROUP BY over one ``flinkddl.stage_<kind>_<node>``, which a rule of the jar (flinkddl/jvm, package
``flinkddl.state``) turns into Spark's TransformWithState: an entry of state a row, touched by the changes of that row,
where the aggregate ``flinkddl.retract_<kind>`` reads and writes its whole group. Both take the same arguments and give
the same results. A kind that has no keyed form yet stays an aggregate, and EXPLAIN says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.plan.stateforms import OVERS
from flinkddl.spark.context import WINDOW
from flinkddl.spark.job import GroupBy, StageCall, StateCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Agg, Named, Step


def _all(_: StateCall) -> bool:
    return True


def _over(call: StateCall) -> bool:
    """Rows with the watermark that they met are never taken back."""
    return call.args[0] == "1L" or ", 'w', " not in call.args[-1]


_JOINS = ("anti", "antiif", "full", "fullif", "inner", "left", "leftif", "semi", "semiif")
FIRED = frozenset({"session", "sessionlist", "slices", "window", "windowtop", *(f"window{kind}" for kind in _JOINS)})
FIRED |= {f"interval{kind}" for kind in ("full", "fullif", "inner", "left", "leftif")} | {"temporalinner"}
"""Kinds that give results once, when event time comes (``stream/fires.py``): of chains alone."""
KINDS: Mapping[str, Callable[[StateCall], bool]] = {
    "aggregate": _all,
    "anti": _all,
    "antiif": _all,
    "full": _all,
    "fullif": _all,
    "inner": _all,
    "latest": _all,
    "left": _all,
    "leftif": _all,
    "over": _over,
    "semi": _all,
    "semiif": _all,
    "top": _all,
    **dict.fromkeys(FIRED, _all),
}
"""The kinds that have a keyed form (Kinds.java), and which calls of them it takes."""


def staged(aggs: Sequence[Agg], keys: Sequence[Named], ctx: Lowering) -> tuple[Agg, ...]:
    """Return the calls of a GROUP BY in the form that is planned for the query.

    Keyed state is for changes that come out with each batch: what fires with a window stays an aggregate. A node's
    number is its place among the job's operators with state of our own, whatever their form; those of a stage are in
    one operator by then, with the numbers that they had.
    """
    if not ctx.keyed or not any(isinstance(a, StateCall) for _, a in aggs):
        return tuple(aggs)
    before = [s.state_calls for s in ctx.steps if isinstance(s, GroupBy) and s.state_calls]
    node = 1 + max(len(before), max((call.node for calls in before for call in calls), default=0))
    fits = len(aggs) == 1 and ctx.output_mode == "update" and all(name != WINDOW for name, _ in keys)
    over = any(isinstance(agg, StateCall) and agg.kind == "over" for _, agg in aggs)
    out = tuple((name, _formed(agg, node, fits and (OVERS in ctx.newer or not over))) for name, agg in aggs)
    if over and any(isinstance(agg, StateCall) and agg.form == "keyed" for _, agg in out):
        ctx.used.add(OVERS)
    return out


def _formed(agg: str | StateCall | StageCall, node: int, fits: bool) -> str | StateCall | StageCall:
    if not isinstance(agg, StateCall):
        return agg
    takes = KINDS.get(agg.kind)
    if not (fits and agg.family == "retract" and takes is not None and takes(agg)):
        return replace(agg, form="uncovered")
    args = (agg.other_args, agg.args) if agg.other_args else (agg.args, ())
    return replace(agg, form="keyed", node=node, args=args[0], other_args=args[1])


def keyed(steps: Iterable[Step]) -> bool:
    """Whether any of the steps keeps its state by key."""
    return any(call.form == "keyed" for s in steps if isinstance(s, GroupBy) for call in s.state_calls)
