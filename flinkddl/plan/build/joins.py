"""Joins as they are written: kinds, ON, USING, NATURAL, comma; UNNEST and LATERAL on the right side.

What kind of operator a join becomes (interval, window, temporal, regular) is decided later, on the finished tree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.dialect import nodes as tree_nodes
from flinkddl.plan import make
from flinkddl.plan.build import decorrelate
from flinkddl.plan.expressions import resolve as expressions
from flinkddl.plan.build import temporal
from flinkddl.plan.build import tvf
from flinkddl.plan.build.names import Entry, NameScope, Relation
from flinkddl.plan.nodes import Field, Join, Unnest
from flinkddl.plan.build.placeholders import SubqueryRef, has
from flinkddl.plan.rex import InputRef, Literal, OuterRef, Rex, transform
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import JoinKind, Node

_KINDS: dict[str, JoinKind] = {
    "": "inner",
    "INNER": "inner",
    "CROSS": "inner",
    "LEFT": "left",
    "RIGHT": "right",
    "FULL": "full",
    "SEMI": "semi",
    "ANTI": "anti",
}


def join(left: Relation, node: exp.Join, context: Context, outer: NameScope | None, ctes: dict[str, Any]) -> Relation:
    """Add one JOIN (or comma) to a FROM clause."""
    kind = kind_of(node)
    target = node.this
    match target:
        case exp.Unnest():
            return unnest(left, target, kind, node, context, outer, ctes)
        case exp.Lateral() if isinstance(target.this, exp.Unnest):
            return unnest(left, target.this, kind, node, context, outer, ctes)
        case exp.Lateral():
            return _lateral(left, target, kind, node, context, outer, ctes)
        case tree_nodes.TemporalTable():
            return temporal.temporal_join(left, target, kind, node, context, outer, ctes)
        case tree_nodes.TableFunction() if not tvf.is_window(target):
            return tvf.lateral_function(left, target, kind, node, context, outer, ctes)
    from flinkddl.plan.build.from_ import table_entry

    right = table_entry(target, context, outer, ctes)
    relation = beside(left, right, target, context)
    condition, relation = condition_of(node, left, right, relation, context, outer, ctes)
    return replace(relation, node=join_node(left.node, right.node, kind, condition, context, node))


def kind_of(node: exp.Join) -> JoinKind:
    """Return the join's kind."""
    side, kind = (node.side or "").upper(), (node.kind or "").upper()
    return _KINDS.get(side or ("" if kind == "OUTER" else kind), "inner")


def beside(left: Relation, right: Relation, where: exp.Expression, context: Context) -> Relation:
    """Put two FROM parts side by side, both with their own types, for the condition; names must not clash."""
    width = len(left.fields)
    names = {e.alias for e in left.entries if e.alias}
    for e in right.entries:
        if e.alias in names:
            raise context.error("FD453", f"two tables are called '{e.alias}' in FROM", where, "give one an alias")
    entries = (*left.entries, *(e.shifted(width) for e in right.entries))
    merged = (*left.merged, *((n, shift(r, width), frozenset(i + width for i in s)) for n, r, s in right.merged))
    return Relation(join_node(left.node, right.node, "inner", make.TRUE), entries, merged)


def shift(rex: Rex, by: int) -> Rex:
    """Move references; see rex.shift."""
    return transform(rex, lambda r: replace(r, index=r.index + by) if isinstance(r, InputRef) else None)


def join_node(
    left: Node,
    right: Node,
    kind: JoinKind,
    condition: Rex,
    context: Context | None = None,
    node: exp.Expression | None = None,
) -> Join:
    """Return a regular join with the output types of its kind; keys are found later."""
    lefts = [Field(f.name, f.type.with_nullable(f.type.nullable or kind in ("right", "full"))) for f in left.fields]
    rights = [Field(f.name, f.type.with_nullable(f.type.nullable or kind in ("left", "full"))) for f in right.fields]
    fields = tuple(lefts) if kind in ("semi", "anti") else (*lefts, *rights)
    span = context.span(node) if context is not None and node is not None else None
    return Join(left=left, right=right, kind=kind, condition=condition, keys=(), fields=fields, span=span)


def condition_of(
    node: exp.Join,
    left: Relation,
    right: Relation,
    both: Relation,
    context: Context,
    outer: NameScope | None,
    ctes: dict[str, Any],
) -> tuple[Rex, Relation]:
    """Return the join condition over left and right fields, and the names with USING columns merged."""
    using = [i.name for i in node.args.get("using") or ()]
    if (node.method or "").upper() == "NATURAL":
        rights = [n for e in right.entries for n in e.names]
        using = [n for e in left.entries for n in e.names if n in rights]
    if using:
        return _using(using, node, left, right, both, context)
    on = node.args.get("on")
    if on is None:
        return make.TRUE, both
    scope = NameScope(context, both, clause="ON", outer=outer, ctes=ctes)
    condition = expressions.resolve_expression(on, scope)
    if condition.type.root not in (Root.BOOLEAN, Root.NULL):
        raise context.error("FD457", f"ON needs a condition, this is {condition.type.summary}", on)
    if has(condition, SubqueryRef):
        raise context.error(
            "FD515", "a subquery in a join condition is not supported", on, "put it into WHERE or a joined subquery"
        )
    return condition, both


def _using(
    names: list[str], node: exp.Join, left: Relation, right: Relation, both: Relation, context: Context
) -> tuple[Rex, Relation]:
    kind, width = kind_of(node), len(left.fields)
    lefts, rights = NameScope(context, left, clause="USING"), NameScope(context, right, clause="USING")
    tests: list[Rex] = []
    merged = []
    for name in dict.fromkeys(names):
        l_value, r_value = lefts.path((name,), node), shift(rights.path((name,), node), width)
        try:
            tests.append(expressions.call("=", [l_value, r_value]))
        except FlinkDdlError:
            raise context.error(
                "FD467",
                f"column '{name}' is {l_value.type.summary} on the left and {r_value.type.summary} on the right",
                node,
            ) from None
        ids = frozenset(r.index for v in (l_value, r_value) for r in _leaves(v))
        earlier = frozenset(i for n, _, s in left.merged if n == name for i in s)
        merged.append((name, _merged_value(kind, l_value, r_value), ids | earlier))
    kept = tuple(m for m in both.merged if m[0] not in {n for n, _, _ in merged})
    return make.all_of(tests), replace(both, merged=(*kept, *merged))


def _leaves(rex: Rex) -> list[InputRef]:
    from flinkddl.plan.rex import walk

    return [r for r in walk(rex) if isinstance(r, InputRef)]


def _merged_value(kind: JoinKind, left: Rex, right: Rex) -> Rex:
    if kind == "full":
        nullable = [_nullable(v) for v in (left, right)]
        return expressions.call("COALESCE", nullable)
    return right if kind == "right" else left


def _nullable(rex: Rex) -> Rex:
    return transform(rex, lambda r: replace(r, type=r.type.with_nullable(True)) if isinstance(r, InputRef) else None)


# ---- UNNEST ------------------------------------------------------------------------------------------------------


def unnest(
    left: Relation,
    node: exp.Unnest,
    kind: JoinKind,
    join_: exp.Join | None,
    context: Context,
    outer: NameScope | None,
    ctes: dict[str, Any],
) -> Relation:
    """Add ``UNNEST(collection) [WITH ORDINALITY] [AS t (c, ...)]``; the collection may name columns to its left."""
    if kind not in ("inner", "left"):
        raise context.error("FD516", f"UNNEST takes INNER, CROSS or LEFT JOIN, not {kind.upper()}", node)
    if len(node.expressions) != 1:
        raise context.error("FD516", "UNNEST takes one collection", node, "join two UNNESTs")
    scope = NameScope(context, left, clause="UNNEST", outer=outer, ctes=ctes)
    collection = expressions.resolve_expression(node.expressions[0], scope)
    fields = _elements(collection.type, node, context)
    ordinality = bool(node.args.get("offset"))
    if ordinality:
        fields = [*fields, Field("ORDINALITY", T.INT.not_null())]
    fields, alias = _aliases(fields, node, context)
    if kind == "left":
        fields = [Field(f.name, f.type.with_nullable(True)) for f in fields]
    entry = Entry(alias, tuple(f.name for f in fields), len(left.fields))
    out = Unnest(
        input=left.node,
        collection=collection,
        outer=kind == "left",
        ordinality=ordinality,
        fields=(*left.fields, *fields),
        span=context.span(node),
    )
    relation = Relation(out, (*left.entries, entry), left.merged)
    on = join_.args.get("on") if join_ is not None else None
    if on is None:
        return relation
    condition = expressions.resolve_expression(on, NameScope(context, relation, clause="ON", outer=outer))
    if isinstance(condition, Literal) and condition.value is True:
        return relation
    if kind == "inner":
        return relation.on(make.where(out, condition))
    return relation.on(replace(out, condition=condition))


def _elements(type_: T.DataType, node: exp.Expression, context: Context) -> list[Field]:
    match type_.root:
        case Root.MAP:
            return [Field("KEY", type_.key), Field("VALUE", type_.value)]
        case Root.ARRAY | Root.MULTISET:
            element = type_.element
            if element.root is Root.ROW:
                return [
                    Field(f.name, f.type.with_nullable(f.type.nullable or element.nullable)) for f in element.fields
                ]
            return [Field("EXPR$0", element)]
        case _:
            raise context.error("FD516", f"UNNEST needs an ARRAY, MAP or MULTISET, this is {type_.summary}", node)


def _aliases(fields: list[Field], node: exp.Unnest, context: Context) -> tuple[list[Field], str | None]:
    alias = node.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        return fields, None
    columns = list(alias.args.get("columns") or ())
    offset = node.args.get("offset")
    if isinstance(offset, exp.Expression) and not isinstance(offset, exp.Boolean):
        columns.append(offset)
    if not columns:
        if len(fields) == 1 and alias.name:
            fields = [Field(alias.name, fields[0].type)]
        return fields, alias.name or None
    if len(columns) != len(fields):
        raise context.error(
            "FD466",
            f"{len(columns)} column aliases for the {len(fields)} columns of UNNEST",
            node,
            f"they are {', '.join(f.name for f in fields)}",
        )
    return [Field(c.name, f.type) for c, f in zip(columns, fields, strict=True)], alias.name or None


# ---- LATERAL subqueries ------------------------------------------------------------------------------------------


def _lateral(
    left: Relation,
    target: exp.Lateral,
    kind: JoinKind,
    node: exp.Join,
    context: Context,
    outer: NameScope | None,
    ctes: dict[str, Any],
) -> Relation:
    from flinkddl.plan.build.from_ import _with_alias, derived
    from flinkddl.plan.build.query import build_query

    if kind not in ("inner", "left"):
        raise context.error("FD516", f"LATERAL takes INNER, CROSS or LEFT JOIN, not {kind.upper()}", node)
    inner = target.this
    if isinstance(inner, (exp.Anonymous, exp.Func)) and not isinstance(inner, exp.Query):
        return tvf.lateral_function(left, tvf.as_table_function(target), kind, node, context, outer, ctes)
    scope = NameScope(context, left, clause="LATERAL", outer=outer, ctes=ctes)
    plan = build_query(inner.this if isinstance(inner, exp.Subquery) else inner, context, scope, ctes)
    free = decorrelate.pull(plan, context, context.span(target))
    right = derived(plan, _with_alias(target), context)
    condition = decorrelate.over_join(free, left.node)
    on = node.args.get("on")
    width = len(left.fields)
    names = (*left.entries, *(e.shifted(width) for e in right.entries))
    both = Relation(join_node(left.node, free.node, "inner", make.TRUE), names, left.merged)
    if on is not None:
        extra = expressions.resolve_expression(on, NameScope(context, both, clause="ON", outer=outer, ctes=ctes))
        condition = make.all_of((condition, extra))
    if has(condition, OuterRef):
        raise context.error("FD515", "LATERAL may only refer to the tables before it", target)
    return replace(both, node=join_node(left.node, free.node, kind, condition, context, node))
