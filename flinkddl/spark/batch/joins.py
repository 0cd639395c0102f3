"""Batch lowering of regular, interval and window joins: Spark's own joins over finished tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.nodes import IntervalJoin, Join, WindowJoin
from flinkddl.plan.nodes.forms import Traits
from flinkddl.plan.rex import all_of, conjuncts, references
from flinkddl.spark.base import same, select
from flinkddl.spark.batch.base import lower_node, lowers
from flinkddl.spark.context import SEQUENCE, Rel, unique_names
from flinkddl.spark.expressions import condition_to_spark
from flinkddl.spark.job import HOW, JoinStep
from flinkddl.spark.lateness import drop_late_windows
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from flinkddl.plan.rex import Rex
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named

    Joined = Join | IntervalJoin | WindowJoin
    Ends = tuple[int | None, int | None]

LEFT_SEQUENCE, RIGHT_SEQUENCE = "__seq_l", "__seq_r"


@lowers(Join)
def lower_join(node: Join, ctx: Lowering, asked: Traits) -> Rel:
    """Join on the whole condition; NOT IN keeps a row only where no comparison is TRUE or unknown."""
    sides = Sides(node, ctx, asked)
    on = _null_aware(node, sides.columns, ctx) if node.null_aware else sides.on(node.condition, ctx)
    return sides.join(node, on, ctx)


@lowers(IntervalJoin)
def lower_interval_join(node: IntervalJoin, ctx: Lowering, asked: Traits) -> Rel:
    """Join on the whole condition, bounds included: over finished tables that is all there is to it."""
    sides = Sides(node, ctx, asked)
    # rows of a bounded run are all read at one moment, so a bound on processing time holds
    condition = _without_times(node) if node.proctime else node.condition
    return sides.join(node, sides.on(condition, ctx), ctx)


@lowers(WindowJoin)
def lower_window_join(node: WindowJoin, ctx: Lowering, asked: Traits) -> Rel:
    """Join inside each window; rows that came after their window was closed are dropped first."""
    windows = (node.left_window, node.right_window)
    sides = Sides(node, ctx, asked, (node.left_window[1], node.right_window[1]))
    width = len(node.left.fields)
    same = [
        f"{quote(sides.columns[left])} = {quote(sides.columns[width + right])}"
        for left, right in zip(*windows, strict=True)
    ]
    return sides.join(node, " AND ".join([*same, f"({sides.on(node.condition, ctx)})"]), ctx)


class Sides:
    """Both inputs, lowered, with columns made distinct; ``ends`` are fields by which rows of closed windows go."""

    def __init__(self, node: Joined, ctx: Lowering, asked: Traits, ends: Ends = (None, None)) -> None:
        rels = []
        for input, end in zip((node.left, node.right), ends, strict=True):
            late = end is not None and input.late
            rel = lower_node(input, ctx, Traits(sequence=asked.sequence, watermark=late))
            rels.append(drop_late_windows(rel, rel.sql(end), ctx) if end is not None and late else rel)
        self.sequence = asked.sequence
        left, right = rels
        names = unique_names([*left.columns, *right.columns])
        width = len(left.columns)
        self.left = _renamed(left, names[:width], LEFT_SEQUENCE, ctx)
        self.right = _renamed(right, names[width:], RIGHT_SEQUENCE, ctx)

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names of left, then right."""
        return self.left.columns + self.right.columns

    def on(self, condition: Rex, ctx: Lowering) -> str:
        """Return a condition over both."""
        return condition_to_spark(condition, self.columns, ctx.zone)

    def join(self, node: Joined, on: str, ctx: Lowering) -> Rel:
        """Add the join and select its fields; a result arrives when the later of its two rows does."""
        how, note = HOW[node.kind], f"{node.name} ({node.kind})"
        name, left, right = ctx.fresh("join"), self.left.step, self.right.step
        step = ctx.add(JoinStep(name=name, left=left, right=right, on=on, how=how, note=note)).name
        left_only = node.kind in ("semi", "anti")
        fields = self.left.fields if left_only else self.left.fields + self.right.fields
        columns = self.left.columns if left_only else self.columns
        joined = Rel(step, columns, fields)
        if not self.sequence:
            return joined
        latest = LEFT_SEQUENCE if left_only else f"greatest({LEFT_SEQUENCE}, {RIGHT_SEQUENCE})"
        out = select(step, [*same(columns), (SEQUENCE, latest)], ctx, "joined")
        return joined.with_(step=out, sequence=True)


def _renamed(rel: Rel, names: tuple[str, ...], sequence: str, ctx: Lowering) -> Rel:
    columns: list[Named] = [(new, quote(old)) for new, old in zip(names, rel.columns, strict=True)]
    if rel.sequence:
        columns.append((sequence, SEQUENCE))
    return rel.with_(step=select(rel.step, columns, ctx, "side"), columns=names, sequence=False)


def _null_aware(node: Join, columns: tuple[str, ...], ctx: Lowering) -> str:
    """Return the condition of NOT IN: its first comparisons count as a match when unknown, other parts must hold."""
    parts = [condition_to_spark(part, columns, ctx.zone) for part in conjuncts(node.condition)]
    compared, others = parts[: node.null_tests], parts[node.null_tests :]
    return " AND ".join([f"coalesce({c}, TRUE)" for c in compared] + [f"({o})" for o in others])


def _without_times(node: IntervalJoin) -> Rex:
    """Return the condition without the parts that read the time attributes."""
    width = len(node.left.fields)
    times = {node.left_time, width + node.right_time}
    return all_of(p for p in conjuncts(node.condition) if not references(p) & times)
