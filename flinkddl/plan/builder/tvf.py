"""Table functions in FROM: TUMBLE, HOP, CUMULATE, SESSION; UNNEST; a user's own behind LATERAL TABLE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.dialect import nodes as tree_nodes
from flinkddl.plan import expressions, make
from flinkddl.plan.builder.base import FUNCTIONS, JOINED, TABLES, Builder, table_function
from flinkddl.plan.builder.names import Place, Relation
from flinkddl.plan.nodes import Field, Unnest, Window, WindowTableFunction
from flinkddl.plan.nodes.values import padded
from flinkddl.plan.rex import InputRef, Literal

if TYPE_CHECKING:
    from flinkddl.plan.builder.base import NameScope
    from flinkddl.plan.nodes import Node

_OPTIONAL = frozenset({"OFFSET", "EMITONLYONUPDATE"})


@TABLES(tree_nodes.TableFunction)
def _first(build: Builder, tree: tree_nodes.TableFunction) -> Relation:
    if is_built_in(tree):
        return build.named(FUNCTIONS[_name(tree)][1](build, tree), tree)
    return lateral_function(build, tree, Place())


def is_built_in(tree: exp.Expression) -> bool:
    """Whether a table function is one of ours, over a table; others are a user's, over values."""
    return _name(tree) in FUNCTIONS


def _name(tree: exp.Expression) -> str:
    return str(tree.this).upper()


@table_function("TUMBLE", "DATA", "TIMECOL", "SIZE", "OFFSET")
@table_function("HOP", "DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET")
@table_function("CUMULATE", "DATA", "TIMECOL", "STEP", "SIZE", "OFFSET", "EMITONLYONUPDATE")
@table_function("SESSION", "DATA", "TIMECOL", "GAP")
def _window(build: Builder, node: tree_nodes.TableFunction) -> Node:
    kind = _name(node)
    args = arguments(build, node)
    data = table_argument(build, args["DATA"], kind)
    if data.args.get("partition_by") and kind != "SESSION":
        raise build.error("FD500", f"{kind} takes no PARTITION BY", data, "put the keys into GROUP BY")
    if order := data.args.get("order"):
        raise build.error("FD500", f"{kind} takes no ORDER BY", order, "leave it out: rows are ordered by their time")
    relation = build.relation(data.this)
    scope = build.scope(relation, kind)
    keys = tuple(column_of(k, scope, "PARTITION BY") for k in data.args.get("partition_by") or ())
    time = described(args["TIMECOL"], scope, "time_column")
    sizes = {n: _interval(a, n, scope) for n, a in args.items() if n in ("SIZE", "SLIDE", "STEP", "GAP", "OFFSET")}
    window = Window(
        kind=kind,  # type: ignore[arg-type]  # the names of the table above
        time=time,
        size_ms=sizes.get("SIZE", sizes.get("GAP", 0)),
        slide_ms=sizes.get("SLIDE", sizes.get("STEP")),
        offset_ms=sizes.get("OFFSET", 0),
        partition_keys=keys,
        proctime=relation.fields[time].type.time_attribute == "PROCTIME",
        span=build.span(args["TIMECOL"]),
    )
    _check_sizes(build, window, node)
    fields = window_fields(relation.node, window)
    return WindowTableFunction(input=relation.node, window=window, fields=fields, span=build.span(node))


def window_fields(node: Node, window: Window) -> tuple[Field, ...]:
    """Return the input's fields, then window_start, window_end and window_time."""
    time = node.fields[window.time].type
    kind = T.TIMESTAMP_LTZ(3) if time.root is T.Root.TIMESTAMP_LTZ else T.TIMESTAMP(3)
    attribute = time.time_attribute
    bound = T.TIMESTAMP(3).not_null()
    return (
        *node.fields,
        Field("window_start", bound),
        Field("window_end", bound),
        Field("window_time", kind.not_null().as_attribute(attribute)),
    )


def table_argument(build: Builder, data: exp.Expression, kind: str) -> tree_nodes.TableArgument:
    """Return the table that a function reads. Raises FD500 for something else."""
    if isinstance(data, exp.Subquery | exp.Select | exp.SetOperation | exp.Values):
        return tree_nodes.TableArgument(this=data)
    if not isinstance(data, tree_nodes.TableArgument):
        raise build.error("FD500", f"the first argument of {kind} is a table", data, "write TABLE t or a subquery")
    return data


def arguments(build: Builder, node: tree_nodes.TableFunction) -> dict[str, exp.Expression]:
    """Return the arguments of a function by the names of its parameters. Raises FD500 for wrong ones."""
    kind = _name(node)
    names = FUNCTIONS[kind][0]
    found: dict[str, exp.Expression] = {}
    if len(node.expressions) > len(names):
        raise build.error("FD500", f"{kind} takes at most {len(names)} arguments", node, ", ".join(names))
    for i, arg in enumerate(node.expressions):
        if isinstance(arg, tree_nodes.NamedArgument):
            name = arg.this.name.upper()
            if name not in names:
                raise build.error("FD500", f"{kind} has no parameter '{arg.this.name}'", arg, ", ".join(names))
            found[name] = arg.expression
        else:
            found[names[i]] = arg
    missing = [n for n in names if n not in found and n not in _OPTIONAL]
    if missing:
        raise build.error("FD500", f"{kind} misses its argument {missing[0]}", node, f"{kind}({', '.join(names)})")
    return found


def described(argument: exp.Expression, scope: NameScope, what: str) -> int:
    """Return the place of the one column of a DESCRIPTOR. Raises FD500 for another argument, or several columns."""
    if not isinstance(argument, tree_nodes.Descriptor) or len(argument.expressions) != 1:
        raise scope.error("FD500", f"{scope.clause} needs DESCRIPTOR({what})", argument)
    return column_of(argument.expressions[0], scope, "DESCRIPTOR")


def column_of(node: exp.Expression, scope: NameScope, what: str) -> int:
    """Return the place of a column that an argument names. Raises FD500 for another expression."""
    parts = _path(node)
    rex = scope.path(parts, node) if parts else None
    if not isinstance(rex, InputRef):
        help = "give it a name in a subquery or a view, and write that name here"
        raise scope.error("FD500", f"{what} takes a column", node, help)
    return rex.index


def _path(node: exp.Expression) -> tuple[str, ...]:
    """Return the parts of a name; of any other expression none."""
    match node:
        case exp.Column():
            return tuple(part.name for part in node.parts)
        case exp.Dot():
            below = _path(node.this)
            return (*below, node.expression.name) if below else ()
        case exp.Identifier():
            return (node.name,)
    return ()


def _interval(node: exp.Expression, name: str, scope: NameScope) -> int:
    rex = scope.value(node)
    if rex.type.root is T.Root.INTERVAL_YEAR_MONTH:
        raise scope.error(
            "FD502",
            f"{scope.clause} takes days, hours, minutes or seconds, not months or years",
            node,
            "group by FLOOR(ts TO MONTH) for calendar months",
        )
    if not (isinstance(rex, Literal) and rex.type.root is T.Root.INTERVAL_DAY_TIME):
        raise scope.error("FD500", f"{name} of {scope.clause} must be a constant interval", node)
    return int(rex.value)


def _check_sizes(build: Builder, window: Window, node: exp.Expression) -> None:
    step, kind, size = window.slide_ms, window.kind, window.size_ms
    if size <= 0 or (step is not None and step <= 0):
        raise build.error("FD502", f"the intervals of {kind} must be positive", node)
    if step is not None and size % step:
        word = "slide" if kind == "HOP" else "step"
        message = f"the size of {kind} must be a multiple of its {word}: {size} ms and {step} ms"
        raise build.error("FD502", message, node, f"the {word} comes first, then the size")


# ---- UNNEST ------------------------------------------------------------------------------------------------------


@TABLES(exp.Unnest)
def _unnest_alone(build: Builder, tree: exp.Unnest) -> Relation:
    return unnest(build, tree, Place())


@JOINED(exp.Unnest)
def unnest(build: Builder, tree: exp.Unnest, place: Place) -> Relation:
    """Add ``UNNEST(collection) [WITH ORDINALITY] [AS t (c, ...)]``; the collection may name columns to its left."""
    left, kind = place.left, place.kind
    if kind not in ("inner", "left"):
        raise build.error("FD516", f"UNNEST takes INNER, CROSS or LEFT JOIN, not {kind.upper()}", tree)
    if len(tree.expressions) != 1:
        raise build.error("FD516", "UNNEST takes one collection", tree, "join two UNNESTs")
    collection = build.scope(left, "UNNEST").value(tree.expressions[0])
    fields = _elements(build, collection.type, tree)
    ordinality = bool(tree.args.get("offset"))
    if ordinality:
        fields = [*fields, Field("ORDINALITY", T.INT.not_null())]
    fields, alias = _aliases(build, fields, tree)
    if kind == "left":
        fields = list(padded(fields))
    out = Unnest(
        input=left.node,
        collection=collection,
        outer=kind == "left",
        ordinality=ordinality,
        fields=(*left.fields, *fields),
        span=build.span(tree),
    )
    relation = left.beside(out, alias, fields)
    condition = build.on(place.on, relation)
    if isinstance(condition, Literal) and condition.value is True:
        return relation
    return relation.over(make.where(out, condition) if kind == "inner" else replace(out, condition=condition))


def _elements(build: Builder, type_: T.DataType, tree: exp.Expression) -> list[Field]:
    match type_.root:
        case T.Root.MAP:
            return [Field("KEY", type_.key), Field("VALUE", type_.value)]
        case T.Root.ARRAY | T.Root.MULTISET:
            element = type_.element
            if element.root is not T.Root.ROW:
                return [Field("EXPR$0", element)]
            return [Field(f.name, f.type.with_nullable(f.type.nullable or element.nullable)) for f in element.fields]
        case _:
            raise build.error("FD516", f"UNNEST needs an ARRAY, MAP or MULTISET, this is {type_.summary}", tree)


def _aliases(build: Builder, fields: list[Field], tree: exp.Unnest) -> tuple[list[Field], str | None]:
    alias = tree.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        return fields, None
    columns = list(alias.args.get("columns") or ())
    offset = tree.args.get("offset")
    if isinstance(offset, exp.Expression) and not isinstance(offset, exp.Boolean):
        columns.append(offset)
    if not columns:
        if len(fields) == 1 and alias.name:
            fields = [Field(alias.name, fields[0].type)]
        return fields, alias.name or None
    if len(columns) != len(fields):
        message = f"{len(columns)} column aliases for the {len(fields)} columns of UNNEST"
        raise build.error("FD466", message, tree, f"they are {', '.join(f.name for f in fields)}")
    return [Field(c.name, f.type) for c, f in zip(columns, fields, strict=True)], alias.name or None


# ---- user's table functions --------------------------------------------------------------------------------------


def as_table_function(tree: exp.Lateral) -> tree_nodes.TableFunction:
    """Return ``LATERAL f(x) AS t(..)`` as a table function node."""
    inner = tree.this
    name = inner.this if isinstance(inner, exp.Anonymous) else inner.sql_name()
    return tree_nodes.TableFunction(
        this=name, expressions=inner.expressions, alias=tree.args.get("alias"), lateral=True
    )


def lateral_function(build: Builder, tree: tree_nodes.TableFunction, place: Place) -> Relation:
    """Build ``LATERAL TABLE (f(x)) AS t (c, ...)`` over a user's table function with declared result types."""
    name, left, outer = str(tree.this), place.left, place.kind == "left"
    found = build.context.catalog.function(name)
    if found is None:
        help = "declare it with CREATE FUNCTION"
        raise build.error("FD517", f"table function '{name}' is not known here", tree, help)
    if place.on is not None and not (isinstance(place.on, exp.Boolean) and place.on.this):
        raise build.error("FD516", "LATERAL TABLE may only be joined ON TRUE", place.on, "filter in WHERE")
    scope = build.scope(left, "LATERAL")
    from flinkddl.plan.expressions.java import named_arguments, table_call  # here: few scripts have one

    args = named_arguments(tree.expressions, scope.value)
    if found.language == "PYTHON":  # one that returns an array, whose elements are the rows
        rows = expressions.user_call(name, found, [value for _, value in args], build.span(tree))
    else:
        rows = table_call(name, found, args, build.span(tree))
    if rows.type.root is not T.Root.ARRAY:
        help = "declare it as ARRAY<ROW<...>>, a list of tuples in Python"
        raise build.error("FD517", f"table function '{name}' returns {rows.type.summary}, no rows", tree, help)
    element = rows.type.element
    parts = [(f.name, f.type) for f in element.fields] or [("f0", element)]
    alias = tree.args.get("alias")
    columns = [c.name for c in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
    if columns and len(columns) != len(parts):
        raise build.error("FD466", f"{len(columns)} column aliases for {len(parts)} columns", tree)
    names = columns or [n for n, _ in parts]
    fields = padded([Field(n, t) for n, (_, t) in zip(names, parts, strict=True)], outer)
    out = Unnest(input=left.node, collection=rows, outer=outer, fields=(*left.fields, *fields))
    return left.beside(out, tree.alias or name, fields)
