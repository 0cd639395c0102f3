"""Table functions in FROM: TUMBLE, HOP, CUMULATE, SESSION; a user's own behind LATERAL TABLE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.dialect import nodes as tree_nodes
from flinkddl.plan import make
from flinkddl.plan.expressions import resolve as expressions
from flinkddl.plan.build.names import Entry, NameScope, Relation
from flinkddl.plan.nodes import Field, Unnest, Values, Window, WindowTableFunction
from flinkddl.plan.rex import Literal

if TYPE_CHECKING:
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import JoinKind, Node

_PARAMETERS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET", "EMITONLYONUPDATE"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
_OPTIONAL = frozenset({"OFFSET", "EMITONLYONUPDATE"})


def is_window(node: exp.Expression) -> bool:
    """Whether a table function is one of the window functions."""
    return str(node.this).upper() in _PARAMETERS


def table_function(
    node: tree_nodes.TableFunction, left: Relation, context: Context, outer: NameScope | None, ctes: dict[str, Any]
) -> Relation:
    """Build a window table function, or a user's table function that stands first in FROM."""
    if not is_window(node):
        return lateral_function(left, node, "inner", None, context, outer, ctes)
    from flinkddl.plan.build.from_ import derived

    return derived(_window(node, context, outer, ctes), node, context)


def _window(node: tree_nodes.TableFunction, context: Context, outer: NameScope | None, ctes: dict[str, Any]) -> Node:
    kind = str(node.this).upper()
    args = _arguments(kind, node, context)
    data = args["DATA"]
    if isinstance(data, exp.Subquery | exp.Select | exp.SetOperation | exp.Values):
        data = tree_nodes.TableArgument(this=data)
    if not isinstance(data, tree_nodes.TableArgument):
        raise context.error("FD500", f"the first argument of {kind} is a table", data, "write TABLE t or a subquery")
    if data.args.get("partition_by") and kind != "SESSION":
        raise context.error("FD500", f"{kind} takes no PARTITION BY", data, "put the keys into GROUP BY")
    from flinkddl.plan.build.from_ import table_entry

    relation = table_entry(data.this, context, outer, ctes)
    scope = NameScope(context, relation, clause=kind, outer=outer, ctes=ctes)
    keys = tuple(_column(k, scope, "PARTITION BY") for k in data.args.get("partition_by") or ())
    descriptor = args["TIMECOL"]
    if not isinstance(descriptor, tree_nodes.Descriptor) or len(descriptor.expressions) != 1:
        raise context.error("FD500", f"{kind} needs DESCRIPTOR(time_column)", descriptor)
    time = _column(descriptor.expressions[0], scope, "DESCRIPTOR")
    sizes = {
        n: _interval(a, n, kind, scope) for n, a in args.items() if n in ("SIZE", "SLIDE", "STEP", "GAP", "OFFSET")
    }
    window = Window(
        kind=kind,  # type: ignore[arg-type]  # checked by _PARAMETERS
        time=time,
        size_ms=sizes.get("SIZE", sizes.get("GAP", 0)),
        slide_ms=sizes.get("SLIDE", sizes.get("STEP")),
        offset_ms=sizes.get("OFFSET", 0),
        partition_keys=keys,
        proctime=relation.fields[time].type.time_attribute == "PROCTIME",
    )
    _check_sizes(window, node, context)
    return WindowTableFunction(
        input=relation.node, window=window, fields=window_fields(relation.node, window), span=context.span(node)
    )


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


def _arguments(kind: str, node: tree_nodes.TableFunction, context: Context) -> dict[str, exp.Expression]:
    names = _PARAMETERS[kind]
    found: dict[str, exp.Expression] = {}
    if len(node.expressions) > len(names):
        raise context.error("FD500", f"{kind} takes at most {len(names)} arguments", node, ", ".join(names))
    for i, arg in enumerate(node.expressions):
        if isinstance(arg, tree_nodes.NamedArgument):
            name = arg.this.name.upper()
            if name not in names:
                raise context.error("FD500", f"{kind} has no parameter '{arg.this.name}'", arg, ", ".join(names))
            found[name] = arg.expression
        else:
            found[names[i]] = arg
    missing = [n for n in names if n not in found and n not in _OPTIONAL]
    if missing:
        raise context.error("FD500", f"{kind} misses its argument {missing[0]}", node, f"{kind}({', '.join(names)})")
    return found


def _column(node: exp.Expression, scope: NameScope, what: str) -> int:
    from flinkddl.plan.rex import InputRef

    rex = scope.path((node.name,), node) if not isinstance(node, exp.Column) else scope.column(node)
    if not isinstance(rex, InputRef):
        raise scope.context.error("FD500", f"{what} takes a column", node)
    return rex.index


def _interval(node: exp.Expression, name: str, kind: str, scope: NameScope) -> int:
    rex = expressions.resolve_expression(node, scope)
    if rex.type.root is T.Root.INTERVAL_YEAR_MONTH:
        raise scope.context.error(
            "FD502",
            f"{kind} takes days, hours, minutes or seconds, not months or years",
            node,
            "group by FLOOR(ts TO MONTH) for calendar months",
        )
    if not (isinstance(rex, Literal) and rex.type.root is T.Root.INTERVAL_DAY_TIME):
        raise scope.context.error("FD500", f"{name} of {kind} must be a constant interval", node)
    return int(rex.value)


def _check_sizes(window: Window, node: exp.Expression, context: Context) -> None:
    step = window.slide_ms
    if window.size_ms <= 0 or (step is not None and step <= 0):
        raise context.error("FD502", f"the intervals of {window.kind} must be positive", node)
    if window.kind == "CUMULATE" and step is not None and window.size_ms % step:
        raise context.error(
            "FD502",
            f"the size of CUMULATE must be a multiple of its step: {window.size_ms} ms and {step} ms",
            node,
            "the step comes first, then the size",
        )
    if window.kind == "HOP" and step is not None and window.size_ms % step:
        raise context.error(
            "FD502",
            f"the size of HOP must be a multiple of its slide: {window.size_ms} ms and {step} ms",
            node,
            "the slide comes first, then the size",
        )


# ---- user's table functions --------------------------------------------------------------------------------------


def as_table_function(node: exp.Lateral) -> tree_nodes.TableFunction:
    """Return ``LATERAL f(x) AS t(..)`` as a table function node."""
    inner = node.this
    name = inner.this if isinstance(inner, exp.Anonymous) else inner.sql_name()
    return tree_nodes.TableFunction(
        this=name, expressions=inner.expressions, alias=node.args.get("alias"), lateral=True
    )


def lateral_function(
    left: Relation,
    node: tree_nodes.TableFunction,
    kind: JoinKind,
    join_: exp.Join | None,
    context: Context,
    outer: NameScope | None,
    ctes: dict[str, Any],
) -> Relation:
    """Build ``LATERAL TABLE (f(x)) AS t (c, ...)`` over a user's table function with declared result types."""
    name = str(node.this)
    found = context.catalog.function(name)
    if found is None:
        raise context.error(
            "FD517",
            f"table function '{name}' is not known here",
            node,
            "register it with CREATE FUNCTION ... LANGUAGE PYTHON",
        )
    on = join_.args.get("on") if join_ is not None else None
    if on is not None and not (isinstance(on, exp.Boolean) and on.this):
        raise context.error("FD516", "LATERAL TABLE may only be joined ON TRUE", on, "filter in WHERE")
    scope = NameScope(context, left, clause="LATERAL", outer=outer, ctes=ctes)
    args = tuple(expressions.resolve_expression(a, scope) for a in node.expressions)
    # a table function is one that returns an array, whose elements are the rows
    rows = expressions.user_call(name, found, args, context.span(node))
    if rows.type.root is not T.Root.ARRAY:
        help = "declare it as ARRAY<ROW<...>>, a list of tuples in Python"
        raise context.error("FD517", f"table function '{name}' returns {rows.type.summary}, no rows", node, help)
    element = rows.type.element
    parts = [(f.name, f.type) for f in element.fields] or [("f0", element)]
    fields = [Field(n, t.with_nullable(t.nullable or kind == "left")) for n, t in parts]
    alias = node.args.get("alias")
    columns = [c.name for c in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
    if columns and len(columns) != len(fields):
        raise context.error("FD466", f"{len(columns)} column aliases for {len(fields)} columns", node)
    fields = [Field(c, f.type) for c, f in zip(columns or [f.name for f in fields], fields, strict=True)]
    out = Unnest(input=left.node, collection=rows, outer=kind == "left", fields=(*left.fields, *fields))
    entry = Entry(node.alias or name, tuple(f.name for f in fields), len(left.fields))
    return Relation(out, (*left.entries, entry), left.merged)


__all__ = ["Values", "as_table_function", "is_window", "lateral_function", "make", "table_function", "window_fields"]
