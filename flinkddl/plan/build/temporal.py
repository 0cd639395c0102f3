"""``FOR SYSTEM_TIME AS OF``: temporal joins and lookup joins as they are written.

Which of them it is shows on the finished tree, when the time attribute is known to have survived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl.plan.expressions import resolve as expressions
from flinkddl.plan.build import joins
from flinkddl.plan.build.names import NameScope, Relation
from flinkddl.plan.nodes import Field, TemporalJoin
from flinkddl.plan.rex import InputRef

if TYPE_CHECKING:
    from sqlglot import exp

    from flinkddl.dialect import nodes as tree_nodes
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import JoinKind


def temporal_join(
    left: Relation,
    target: tree_nodes.TemporalTable,
    kind: JoinKind,
    node: exp.Join,
    context: Context,
    outer: NameScope | None,
    ctes: dict[str, Any],
) -> Relation:
    """Build ``left JOIN t FOR SYSTEM_TIME AS OF left.time``."""
    from flinkddl.plan.build.from_ import table_entry

    if kind not in ("inner", "left"):
        raise context.error("FD509", f"a temporal join is INNER or LEFT, not {kind.upper()}", target)
    time = expressions.resolve_expression(
        target.expression, NameScope(context, left, clause="FOR SYSTEM_TIME AS OF", outer=outer, ctes=ctes)
    )
    if not isinstance(time, InputRef) or time.type.time_attribute is None:
        raise context.error(
            "FD509",
            "FOR SYSTEM_TIME AS OF takes a time attribute of the left table",
            target.expression,
            "declare a WATERMARK on the column, or a computed column AS PROCTIME()",
        )
    inner = target.this.copy()
    if target.args.get("alias") is not None:
        inner.set("alias", target.args["alias"])
    right = table_entry(inner, context, outer, ctes)
    both = joins.beside(left, right, target, context)
    condition, both = joins.condition_of(node, left, right, both, context, outer, ctes)
    rights = [Field(f.name, f.type.with_nullable(f.type.nullable or kind == "left")) for f in right.fields]
    out = TemporalJoin(
        left=left.node,
        right=right.node,
        kind=kind,
        condition=condition,
        keys=(),
        left_time=time.index,
        right_time=None,
        right_key=(),
        fields=(*left.fields, *rights),
        span=context.span(target),
    )
    return Relation(out, both.entries, both.merged)
