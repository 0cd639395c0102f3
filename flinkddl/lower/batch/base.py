"""What the batch lowerings share: the dispatch table, what a parent asks of its inputs, and small step builders.

In batch mode every relation is a finished table. Two reserved columns may ride along, each only where an operator
above asked for it: ``__seq`` (arrival order, larger is later) and ``__wm`` (event-time milliseconds of the watermark
that the row met when it arrived, NULL before the first one).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.lower.context import SEQUENCE, Rel, unique_names
from flinkddl.lower.job import GroupBy, Select, Where
from flinkddl.sqltypes import Root, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.lower.context import Lowering
    from flinkddl.lower.job import Named
    from flinkddl.plan.nodes import Field, Node
    from flinkddl.sqltypes import DataType

N = TypeVar("N", bound="Node")


@dataclass(frozen=True)
class Want:
    """What the operator above needs beside the fields: arrival order, and the watermark each row met."""

    sequence: bool = False
    watermark: bool = False

    def with_(self, **changes: bool) -> Want:
        """Return a copy with some wishes changed."""
        return replace(self, **changes)


PLAIN = Want()
Handler = Callable[[Any, "Lowering", Want], Rel]
HANDLERS: dict[type[Node], Handler] = {}


def lowers(*types: type[Node]) -> Callable[[Handler], Handler]:
    """Register a function as the batch lowering of some node types."""

    def register(handler: Handler) -> Handler:
        for t in types:
            HANDLERS[t] = handler
        return handler

    return register


def lower_node(node: Node, ctx: Lowering, want: Want = PLAIN) -> Rel:
    """Lower a node and all below it. Raises FD640 for a node type without a lowering."""
    handler = HANDLERS.get(type(node))
    if handler is None:
        raise FlinkDdlError.of("FD640", f"{node.name} is not available in a bounded run", node.span)
    rel = conform(handler(node, ctx, want), node.fields, ctx, want)
    ctx.obeyed(node, rel)
    return rel


def conform(rel: Rel, fields: tuple[Field, ...], ctx: Lowering, want: Want) -> Rel:
    """Bring a relation to the node's fields: physical types of time attributes, and no reserved column unasked for."""
    rel = replace(rel, sequence=rel.sequence and want.sequence, watermark=rel.watermark and want.watermark)
    exprs = [
        carry(rel.sql(i), have.type, need.type) for i, (have, need) in enumerate(zip(rel.fields, fields, strict=True))
    ]
    if all(e == rel.sql(i) for i, e in enumerate(exprs)):
        return rel.with_(fields=fields)
    return project(rel, fields, exprs, ctx, "time_attributes")


def carry(sql: str, have: DataType, need: DataType) -> str:
    """Return ``sql`` cast where a TIMESTAMP changes between rowtime attribute (an instant) and plain (no zone)."""
    if have.root is not Root.TIMESTAMP or need.root is not Root.TIMESTAMP:
        return sql
    was, becomes = have.time_attribute == "ROWTIME", need.time_attribute == "ROWTIME"
    if was == becomes:
        return sql
    return f"CAST({sql} AS {'TIMESTAMP' if becomes else 'TIMESTAMP_NTZ'})"


# Spark does not compare them, so nothing can tell whether such a value changed
_INCOMPARABLE = frozenset({Root.MAP, Root.MULTISET, Root.VARIANT, Root.RAW})


def comparable(t: DataType) -> bool:
    """Whether Spark can compare values of a type."""
    inner = (*t.children, *(f.type for f in t.fields))
    return t.root not in _INCOMPARABLE and all(comparable(c) for c in inner)


def names_of(fields: Iterable[Field], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return distinct Spark column names for fields."""
    return unique_names((f.name for f in fields), taken)


def reserved_of(rel: Rel) -> tuple[Named, ...]:
    """Return the reserved columns of a relation, passed on unchanged."""
    return tuple((r, quote(r)) for r in rel.reserved)


def project(
    rel: Rel, fields: tuple[Field, ...], exprs: Sequence[str], ctx: Lowering, prefix: str, note: str = ""
) -> Rel:
    """Add a Select with one expression per field; reserved columns ride along."""
    columns = names_of(fields)
    step = ctx.add(
        Select(
            name=ctx.fresh(prefix),
            input=rel.step,
            columns=tuple(zip(columns, exprs, strict=True)) + reserved_of(rel),
            note=note,
        )
    )
    return rel.with_(step=step.name, columns=columns, fields=fields)


def extend(rel: Rel, extra: Sequence[Named], ctx: Lowering, prefix: str, note: str = "") -> str:
    """Add a Select that keeps every column of a relation and adds some; returns the step's name."""
    keep = tuple((c, quote(c)) for c in rel.columns) + reserved_of(rel)
    replaced = {name for name, _ in extra}
    kept = tuple(k for k in keep if k[0] not in replaced)
    return ctx.add(Select(name=ctx.fresh(prefix), input=rel.step, columns=kept + tuple(extra), note=note)).name


def where(rel: Rel, condition: str, ctx: Lowering, prefix: str, note: str = "") -> Rel:
    """Add a Where over a relation."""
    step = ctx.add(Where(name=ctx.fresh(prefix), input=rel.step, condition=condition, note=note))
    return rel.with_(step=step.name)


def group(step: str, keys: Sequence[Named], aggs: Sequence[Named], ctx: Lowering, prefix: str, note: str = "") -> str:
    """Add a GroupBy; returns the step's name."""
    return ctx.add(GroupBy(name=ctx.fresh(prefix), input=step, keys=tuple(keys), aggs=tuple(aggs), note=note)).name


def over(partition: Sequence[str], order: Sequence[str], frame: str = "") -> str:
    """Return the text of an OVER clause from SQL texts; no partition means one group."""
    parts = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    if order:
        parts.append(f"ORDER BY {', '.join(order)}")
    if frame:
        parts.append(frame)
    return f"OVER ({' '.join(parts)})"


UP_TO_HERE = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def renumber(rel: Rel, order: Sequence[str], ctx: Lowering, note: str) -> Rel:
    """Give every row its own ``__seq`` again, where one input row became several; ``order`` are SQL texts."""
    step = extend(rel, [(SEQUENCE, f"CAST(row_number() {over((), order)} AS BIGINT)")], ctx, "numbered", note)
    return rel.with_(step=step, sequence=True)
