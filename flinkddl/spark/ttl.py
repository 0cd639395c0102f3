"""State TTL: ``table.exec.state.ttl`` and STATE_TTL hints.

Our own functions note when a group (of a join or Top-N: a row) last changed and take older state for empty, as Flink
does. Spark's own aggregates, joins and ``dropDuplicates`` never forget: with a TTL operators by key stand in their
place (``plan/stateforms.py``). In a query of append rows alone, and over a checkpoint that was begun with them, they
stay: their results stay exact where Flink would start again from zero, and the user is told;
``flinkddl.state.ttl.strict`` uses an operator of ours instead, or refuses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes import Aggregate, Join
from flinkddl.plan.physical import how_of
from flinkddl.spark.context import WINDOW
from flinkddl.spark.job import DropDuplicates, GroupBy, JoinStep, StageCall, StateCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.catalog.settings import Settings
    from flinkddl.diagnostics import Bag, Span
    from flinkddl.plan.nodes import Node, Sink
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Agg, Named, SparkJob, Step

STRICT = "flinkddl.state.ttl.strict"


def must_forget(ctx: Lowering, *hints: int | None, span: Span | None = None) -> bool:
    """Whether an operator that never forgets must not be used here.

    Raises FD661 where only such an operator fits: a query of append rows alone runs in Spark's append mode, which our
    functions do not serve.
    """
    if not how_of(ctx.config).forgets(*hints):
        return False
    if ctx.output_mode != "update":
        message = "this operator keeps its state for ever in a query of append rows alone, and a state TTL is set"
        help = f"leave '{STRICT}' at false, or take the TTL off"
        raise FlinkDdlError.of("FD661", message, span, help)
    return True


def hinted_ttl(ctx: Lowering, *hints: int | None) -> tuple[int, ...]:
    """Return the TTL of a StateCall with a hint per side, else ``table.exec.state.ttl``; () where there is no hint."""
    common = ctx.config.table_exec_state_ttl
    return tuple(common if h is None else h for h in hints) if any(h is not None for h in hints) else ()


def hinted(node: Node) -> bool:
    """Whether a plan has a STATE_TTL hint."""
    own = (isinstance(node, Aggregate) and node.ttl) or (isinstance(node, Join) and any(node.ttl))
    return bool(own) or any(hinted(i) for i in node.inputs)


def timed(aggs: Sequence[Agg], keys: Sequence[Named], ctx: Lowering) -> tuple[Agg, ...]:
    """Return the calls of a GROUP BY with ``table.exec.state.ttl``; a window lives as long as its watermark says."""
    ttl = ctx.config.table_exec_state_ttl
    if not ttl or any(name == WINDOW for name, _ in keys):
        return tuple(aggs)
    return tuple((name, _with_ttl(agg, ttl)) for name, agg in aggs)


def _with_ttl(agg: str | StateCall | StageCall, ttl: int) -> str | StateCall | StageCall:
    if isinstance(agg, StateCall) and agg.family == "retract" and not agg.ttl and not agg.clocks:
        return replace(agg, ttl=(ttl,))
    return agg


def note_kept(steps: Iterable[Step], sinks: Iterable[Sink], config: Settings, bag: Bag) -> None:
    """Note FD660 where a TTL is asked for and an operator keeps its state all the same."""
    asking = [s for s in sinks if config.table_exec_state_ttl or hinted(s)]
    kept = [s for s in steps if keeps_for_ever(s)]
    if asking and kept:
        message = f"{_kept(kept)}: results stay exact"
        bag.note("FD660", message, asking[0].span, f"SET '{STRICT}' = 'true' uses operators that forget, or refuses")


def _kept(steps: Iterable[Step]) -> str:
    what = ", ".join(f"'{s.name}'" for s in steps)
    return f"the state of {what} is kept for ever although a state TTL is set"


def kept_as_begun(job: SparkJob, begun: SparkJob) -> str:
    """Return what a job says that goes on as its checkpoint was begun, with operators that never forget; else ""."""
    asked = any(p.how.ttl or hinted(p.sink) for p in begun.plan)
    kept = [s for s in begun.steps if keeps_for_ever(s)] if asked else []
    if not kept or any(map(keeps_for_ever, job.steps)):  # then it was noted
        return ""
    return f"FD660: {_kept(kept)}: its checkpoint was begun so; --fresh begins anew with operators that forget"


def forgets(step: Step) -> bool:
    """Whether a step's state has a TTL."""
    return isinstance(step, GroupBy) and any(call.ttl for call in step.state_calls)


def keeps_for_ever(step: Step) -> bool:
    """Whether a step is a stateful operator of Spark's own that nothing but a watermark empties, and it has none."""
    match step:
        case GroupBy():
            return not step.state_calls and all(name != WINDOW for name, _ in step.keys)
        case JoinStep():
            return step.keeps == "for ever"
    return isinstance(step, DropDuplicates)
