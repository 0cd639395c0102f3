"""What the streaming and the batch lowering share: what a parent asks of its inputs, and builders of small steps."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING

from flinkddl.spark.context import Rel, unique_names
from flinkddl.spark.expressions import to_spark
from flinkddl.spark.job import GroupBy, Select, Where
from flinkddl.spark.rowtime import is_rowtime
from flinkddl.spark.stages import staged
from flinkddl.spark.ttl import timed
from flinkddl.sqltypes import DataType, Root, quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.plan.nodes import Field, Values
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Agg, Named


def conform(rel: Rel, fields: tuple[Field, ...], ctx: Lowering) -> Rel:
    """Bring a relation to the node's fields: a TIMESTAMP changes its Spark type when it becomes or ends as rowtime."""
    types = list(zip(rel.fields, fields, strict=True))
    columns = list(map(quote, (*rel.columns, *rel.before_columns)))
    exprs = [carry(c, have.type, need.type) for c, (have, need) in zip(columns, cycle(types), strict=False)]
    return rel.with_(fields=fields) if exprs == columns else project(rel, fields, exprs, ctx, "time_attributes")


def carry(sql: str, have: DataType, need: DataType) -> str:
    """Return ``sql``, cast where a TIMESTAMP changes between rowtime attribute (an instant) and plain (no zone)."""
    if have.root is not Root.TIMESTAMP or is_rowtime(have) == is_rowtime(need):
        return sql
    return f"CAST({sql} AS {'TIMESTAMP' if is_rowtime(need) else 'TIMESTAMP_NTZ'})"


def names_of(fields: Iterable[Field], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return distinct Spark column names for fields."""
    return unique_names((f.name for f in fields), taken)


def carried(fields: tuple[Field, ...], rel: Rel) -> tuple[Field, ...]:
    """Return a node's fields, those that it passes on with the types that they have in its lowered input."""
    return (*(replace(f, type=h.type) for f, h in zip(fields, rel.fields, strict=False)), *fields[len(rel.fields) :])


def same(names: Iterable[str]) -> tuple[Named, ...]:
    """Return columns passed on unchanged."""
    return tuple((n, quote(n)) for n in names)


def project(
    rel: Rel, fields: tuple[Field, ...], exprs: Sequence[str], ctx: Lowering, prefix: str, note: str = ""
) -> Rel:
    """Add a Select: one expression per field, then one per field of a before image; reserved columns ride along."""
    out = rel.with_(columns=names_of(fields), fields=fields)
    named = (*zip((*out.columns, *out.before_columns), exprs, strict=True), *same(rel.reserved))
    return out.with_(step=select(rel.step, named, ctx, prefix, note))


def constants(node: Values, columns: Sequence[str], ctx: Lowering) -> list[list[str]]:
    """Return the rows of a VALUES as columns of its types; where there are none one of NULLs."""
    rows = [[to_spark(rex, (), ctx.zone) for rex in row] for row in node.rows] or [["NULL"] * len(columns)]
    cells = [zip(row, columns, node.fields, strict=True) for row in rows]
    return [[f"CAST({sql} AS {spark_type(f.type)}) AS {quote(c)}" for sql, c, f in row] for row in cells]


def extend(rel: Rel, extra: Sequence[Named], ctx: Lowering, prefix: str, note: str = "") -> str:
    """Add a Select that keeps every column and adds or replaces some; returns the step's name."""
    replaced = {name for name, _ in extra}
    kept = tuple(n for n in same((*rel.columns, *rel.before_columns, *rel.reserved)) if n[0] not in replaced)
    return select(rel.step, (*kept, *extra), ctx, prefix, note)


def select(step: str, columns: Sequence[Named], ctx: Lowering, prefix: str, note: str = "") -> str:
    """Add a Select; returns the step's name."""
    return ctx.add(Select(name=ctx.fresh(prefix), input=step, columns=tuple(columns), note=note)).name


def generate(
    step: str, keep: Sequence[Named], rows: tuple[str, Sequence[str]], ctx: Lowering, prefix: str, note: str = ""
) -> str:
    """Add a Select with a generator, whose columns get these names; returns the step's name."""
    call = (rows[0], tuple(rows[1]))
    return ctx.add(Select(name=ctx.fresh(prefix), input=step, columns=tuple(keep), generator=call, note=note)).name


def group(step: str, keys: Sequence[Named], aggs: Sequence[Agg], ctx: Lowering, prefix: str, note: str = "") -> str:
    """Add a GroupBy, with the state TTL and the form of state of the session; returns the step's name."""
    calls = staged(timed(aggs, keys, ctx), keys, ctx)
    return ctx.add(GroupBy(name=ctx.fresh(prefix), input=step, keys=tuple(keys), aggs=calls, note=note)).name


def where(step: str, condition: str, ctx: Lowering, prefix: str, note: str = "") -> str:
    """Add a Where; returns the step's name."""
    return ctx.add(Where(name=ctx.fresh(prefix), input=step, condition=condition, note=note)).name
