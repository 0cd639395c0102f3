"""What the streaming lowerings share: the dispatch table, what a parent asks of its inputs, and step builders."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.lower.context import Rel, unique_names
from flinkddl.lower.job import GroupBy, Select, Where
from flinkddl.lower.stream.ttl import timed
from flinkddl.plan.nodes.forms import PLAIN as PLAIN
from flinkddl.plan.nodes.forms import Traits
from flinkddl.sqltypes import COLLECTION, DataType, Root, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.lower.context import Lowering
    from flinkddl.lower.job import Agg, Named
    from flinkddl.plan.nodes import Field, Node


Want = Traits
ONE_KEY = "__one"
Handler = Callable[[Any, "Lowering", Want], Rel]
HANDLERS: dict[type[Node], Handler] = {}


def lowers(*types: type[Node]) -> Callable[[Handler], Handler]:
    """Register a function as the streaming lowering of some node types."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(types, handler))
        return handler

    return register


def lower_node(node: Node, ctx: Lowering, want: Want = PLAIN) -> Rel:
    """Lower a node and all below it; the fields are the node's. Raises FD649 for a node type without a lowering."""
    handler = HANDLERS.get(type(node))
    if handler is None:
        raise FlinkDdlError.of("FD649", f"{node.name} is not available in a streaming run", node.span)
    first = len(ctx.steps)
    rel = conform(handler(node, ctx, want), node.fields, ctx)
    ctx.obeyed(node, rel, want)
    for step in ctx.steps[first:]:
        ctx.owners.setdefault(step.name, id(node))  # its inputs have noted theirs
    return rel


def conform(rel: Rel, fields: tuple[Field, ...], ctx: Lowering) -> Rel:
    """Bring a relation to the node's fields: a TIMESTAMP changes its Spark type when it becomes or ends as rowtime."""
    exprs = [
        carry(rel.sql(i), have.type, need.type) for i, (have, need) in enumerate(zip(rel.fields, fields, strict=True))
    ]
    if all(e == rel.sql(i) for i, e in enumerate(exprs)):
        return rel.with_(fields=fields)
    types = zip(rel.old_columns, rel.fields, fields, strict=True) if rel.kind == "pair" else ()
    old = [carry(quote(c), have.type, need.type) for c, have, need in types]
    return project(rel, fields, exprs, ctx, "time_attributes", old=old)


def is_rowtime(t: DataType) -> bool:
    """Whether the type is carried as Spark TIMESTAMP because it is an event-time attribute."""
    return t.root is Root.TIMESTAMP and t.time_attribute == "ROWTIME"


def carry(sql: str, have: DataType, need: DataType) -> str:
    """Return ``sql``, cast where a TIMESTAMP changes between rowtime attribute (an instant) and plain (no zone)."""
    if have.root is not Root.TIMESTAMP or is_rowtime(have) == is_rowtime(need):
        return sql
    return f"CAST({sql} AS {'TIMESTAMP' if is_rowtime(need) else 'TIMESTAMP_NTZ'})"


def names_of(fields: Iterable[Field], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return distinct Spark column names for fields."""
    return unique_names((f.name for f in fields), taken)


def same(names: Iterable[str]) -> tuple[Named, ...]:
    """Return columns passed on unchanged."""
    return tuple((n, quote(n)) for n in names)


def project(
    rel: Rel,
    fields: tuple[Field, ...],
    exprs: Sequence[str],
    ctx: Lowering,
    prefix: str,
    note: str = "",
    old: Sequence[str] = (),
) -> Rel:
    """Add a Select with one expression per field; reserved columns ride along; ``old`` are a pair's old fields."""
    columns = names_of(fields)
    out = rel.with_(columns=columns, fields=fields)
    named = (*zip(columns, exprs, strict=True), *zip(out.old_columns, old, strict=True), *same(rel.reserved))
    step = ctx.add(Select(name=ctx.fresh(prefix), input=rel.step, columns=named, note=note))
    return out.with_(step=step.name)


def extend(rel: Rel, extra: Sequence[Named], ctx: Lowering, prefix: str, note: str = "") -> str:
    """Add a Select that keeps every column and adds or replaces some; returns the step's name."""
    replaced = {name for name, _ in extra}
    kept = tuple(n for n in same((*rel.columns, *rel.old_columns, *rel.reserved)) if n[0] not in replaced)
    return select(rel.step, (*kept, *extra), ctx, prefix, note)


def select(step: str, columns: Sequence[Named], ctx: Lowering, prefix: str, note: str = "") -> str:
    """Add a Select; returns the step's name."""
    return ctx.add(Select(name=ctx.fresh(prefix), input=step, columns=tuple(columns), note=note)).name


def where(step: str, condition: str, ctx: Lowering, prefix: str, note: str = "") -> str:
    """Add a Where; returns the step's name."""
    return ctx.add(Where(name=ctx.fresh(prefix), input=step, condition=condition, note=note)).name


def explode(
    step: str, keep: Sequence[Named], array: str, names: Sequence[str], ctx: Lowering, prefix: str, note: str = ""
) -> str:
    """Add a Select that makes a row of each struct in an array; returns the step's name."""
    generator = (f"inline({array})", tuple(names))
    return ctx.add(Select(name=ctx.fresh(prefix), input=step, columns=tuple(keep), generator=generator, note=note)).name


def group(step: str, keys: Sequence[Named], aggs: Sequence[Agg], ctx: Lowering, prefix: str, note: str) -> str:
    """Add a GroupBy, with the state TTL of the session; returns the step's name."""
    calls = timed(aggs, keys, ctx)
    return ctx.add(GroupBy(name=ctx.fresh(prefix), input=step, keys=tuple(keys), aggs=calls, note=note)).name


def with_one_key(rel: Rel, ctx: Lowering, name: str = ONE_KEY) -> Rel:
    """Add a column that is 0 in every row, as the key of what has none: Spark takes a literal out of its keys."""
    return rel.with_(step=extend(rel, [(name, "CAST(rand() < 0 AS INT)")], ctx, "one_key"))


def struct(columns: Iterable[str], prefix: str = "c") -> str:
    """Return a struct of columns under neutral names (names clash across sides, positions do not)."""
    items = ", ".join(f"'{prefix}{i}', {sql}" for i, sql in enumerate(columns))
    return f"named_struct({items})" if items else "named_struct('none', CAST(NULL AS BOOLEAN))"


def members(value: str, count: int, prefix: str = "c") -> list[str]:
    """Return the fields of a struct made by ``struct``."""
    return [f"{value}.`{prefix}{i}`" for i in range(count)]


def comparable(t: DataType) -> bool:
    """Whether Spark can compare two values of the type for equality."""
    if t.root in (Root.MAP, Root.MULTISET, Root.VARIANT, Root.RAW):
        return False
    inner = t.children if t.root in COLLECTION else tuple(f.type for f in t.fields)
    return all(comparable(c) for c in inner)
