"""Batch lowering of regular, interval and window joins: Spark's own joins over finished tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.nodes import IntervalJoin, Join, WindowJoin
from flinkddl.plan.nodes.forms import Traits
from flinkddl.plan.rex import all_of, conjuncts, references
from flinkddl.spark.base import same, select
from flinkddl.spark.batch import text
from flinkddl.spark.batch.base import lower_node, lowers
from flinkddl.spark.batch.lateness import drop_late_windows
from flinkddl.spark.context import SEQUENCE, Rel, unique_names
from flinkddl.spark.job import HOW, JoinStep
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from flinkddl.plan.rex import Rex
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named

LEFT_SEQUENCE, RIGHT_SEQUENCE = "__seq_l", "__seq_r"


@lowers(Join)
def lower_join(node: Join, ctx: Lowering, asked: Traits) -> Rel:
    """Join on the whole condition; NOT IN keeps a row only where no comparison is TRUE or unknown."""
    sides = Sides(node, ctx, asked)
    on = text.condition(node.condition, sides.columns, ctx)
    if node.null_aware:
        on = _null_aware(node, sides.columns, ctx)
    return sides.join(node, on, ctx)


@lowers(IntervalJoin)
def lower_interval_join(node: IntervalJoin, ctx: Lowering, asked: Traits) -> Rel:
    """Join on the whole condition, bounds included: over finished tables that is all there is to it."""
    sides = Sides(node, ctx, asked)
    if node.proctime:
        # rows of a bounded run are all read at one moment, so a bound on processing time holds
        on = text.condition(_without_times(node), sides.columns, ctx)
        return sides.join(node, on, ctx)
    return sides.join(node, text.condition(node.condition, sides.columns, ctx), ctx)


@lowers(WindowJoin)
def lower_window_join(node: WindowJoin, ctx: Lowering, asked: Traits) -> Rel:
    """Join inside each window; rows that came after their window was closed are dropped first."""
    windows = (node.left_window, node.right_window)
    sides = Sides(node, ctx, asked, tuple(w[1] for w in windows))
    width = len(node.left.fields)
    same = [
        f"{quote(sides.columns[left])} = {quote(sides.columns[width + right])}"
        for left, right in zip(*windows, strict=True)
    ]
    condition = text.condition(node.condition, sides.columns, ctx)
    return sides.join(node, " AND ".join([*same, f"({condition})"]), ctx)


class Sides:
    """Both inputs, lowered, with columns made distinct; ``ends`` are fields by which rows of closed windows go."""

    def __init__(
        self,
        node: Join | IntervalJoin | WindowJoin,
        ctx: Lowering,
        asked: Traits,
        ends: tuple[int, ...] = (),
    ) -> None:
        inputs = (node.left, node.right)
        late = [bool(ends) and i.late for i in inputs]
        rels = [
            lower_node(i, ctx, Traits(sequence=asked.sequence, watermark=bad))
            for i, bad in zip(inputs, late, strict=True)
        ]
        if ends:
            rels = [
                drop_late_windows(r, r.sql(e), ctx) if bad else r for r, e, bad in zip(rels, ends, late, strict=True)
            ]
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

    def join(self, node: Join | IntervalJoin | WindowJoin, on: str, ctx: Lowering) -> Rel:
        """Add the join and select its fields; a result arrives when the later of its two rows does."""
        step = ctx.add(
            JoinStep(
                name=ctx.fresh("join"),
                left=self.left.step,
                right=self.right.step,
                on=on,
                how=HOW[node.kind],
                note=f"{node.name} ({node.kind})",
            )
        ).name
        left_only = node.kind in ("semi", "anti")
        fields = self.left.fields if left_only else self.left.fields + self.right.fields
        columns = self.left.columns if left_only else self.columns
        joined = Rel(step, columns, fields)
        if not self.sequence:
            return joined
        parts = [LEFT_SEQUENCE] if left_only else [LEFT_SEQUENCE, RIGHT_SEQUENCE]
        latest = LEFT_SEQUENCE if left_only else f"greatest({', '.join(parts)})"
        out = select(step, [*same(columns), (SEQUENCE, latest)], ctx, "joined")
        return joined.with_(step=out, sequence=True)


def _renamed(rel: Rel, names: tuple[str, ...], sequence: str, ctx: Lowering) -> Rel:
    columns: list[Named] = [(new, quote(old)) for new, old in zip(names, rel.columns, strict=True)]
    if rel.sequence:
        columns.append((sequence, SEQUENCE))
    return rel.with_(step=select(rel.step, columns, ctx, "side"), columns=names, sequence=False)


def _null_aware(node: Join, columns: tuple[str, ...], ctx: Lowering) -> str:
    """Return the condition of NOT IN: its first comparisons count as a match when unknown, other parts must hold."""
    parts = [text.condition(part, columns, ctx) for part in conjuncts(node.condition)]
    compared, others = parts[: node.null_tests], parts[node.null_tests :]
    return " AND ".join([f"coalesce({c}, TRUE)" for c in compared] + [f"({o})" for o in others])


def _without_times(node: IntervalJoin) -> Rex:
    """Return the condition without the parts that read the time attributes."""
    width = len(node.left.fields)
    times = {node.left_time, width + node.right_time}
    kept = tuple(p for p in conjuncts(node.condition) if not references(p) & times)
    return all_of(kept)
