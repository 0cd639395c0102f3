"""Queries and expressions back to Flink SQL; ``generator_ddl`` has the statements.

One table from node class to printing function (``QUERY_NODES``); sqlglot's generator prints the rest, with the
overrides below where Flink writes differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.generator import Generator

from flinkddl.dialect import nodes as n
from flinkddl.dialect.cursor import PLAIN_NAME
from flinkddl.dialect.generator_ddl import STATEMENT_NODES
from flinkddl.dialect.generator_text import called, comma, quoted_string, type_sql, units_sql
from flinkddl.dialect.parse_expressions import NILADIC
from flinkddl.dialect.words import RESERVED
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Callable


# ---- calls -------------------------------------------------------------------------------------------------------


def _arguments(g: Generator, node: exp.Expression) -> str:
    return comma(g, node.expressions)


def _rounding(g: Generator, node: n.Call) -> str:
    value, *rest = node.expressions
    tail = f" TO {g.sql(rest[0])}" if rest and isinstance(rest[0], exp.Var) else "".join(f", {g.sql(r)}" for r in rest)
    return f"{node.this}({g.sql(value)}{tail})"


def _trim(g: Generator, node: n.Call) -> str:
    if not isinstance(node.expressions[0], exp.Var):
        return f"TRIM({_arguments(g, node)})"
    side, what, text = node.expressions
    return f"TRIM({g.sql(side)} {g.sql(what)} FROM {g.sql(text)})"


def _bracketed(g: Generator, node: n.Call) -> str:
    return f"{node.this}[{_arguments(g, node)}]"


_SYNTAX: dict[str, Callable[[Generator, n.Call], str]] = {
    "FLOOR": _rounding,
    "CEIL": _rounding,
    "CEILING": _rounding,
    "TRIM": _trim,
    "MAP": _bracketed,
    "MULTISET": _bracketed,
}
_TEMPLATES: dict[tuple[str, int], str] = {
    ("EXTRACT", 2): "EXTRACT({} FROM {})",
    ("POSITION", 2): "POSITION({} IN {})",
    ("POSITION", 3): "POSITION({} IN {} FROM {})",
    ("OVERLAY", 3): "OVERLAY({} PLACING {} FROM {})",
    ("OVERLAY", 4): "OVERLAY({} PLACING {} FROM {} FOR {})",
    ("MODEL", 1): "MODEL {}",
    ("MINUS_DATE", 3): "({} - {}) {}",
}
"""By name and number of arguments."""


def call_sql(g: Generator, node: n.Call) -> str:
    """Print a call in Flink's syntax."""
    name = node.this
    if name in _SYNTAX:
        return _SYNTAX[name](g, node)
    if template := _TEMPLATES.get((name, len(node.expressions))):
        return template.format(*map(g.sql, node.expressions))
    if name in NILADIC and not node.expressions:
        return str(name)
    return called(g, node)


def json_call_sql(g: Generator, node: n.JsonCall) -> str:
    """Print a JSON function with its clauses."""
    parts = [comma(g, node.expressions)]
    if nulls := node.args.get("nulls"):
        parts.append(f"{nulls} ON NULL")
    if returning := node.args.get("returning"):
        parts.append(f"RETURNING {g.sql(returning)}")
    if wrapper := node.args.get("wrapper"):
        parts.append(f"{wrapper} WRAPPER")
    for key, where in (("on_empty", "EMPTY"), ("on_error", "ERROR")):
        action = node.args.get(key)
        if action is not None:
            text = action if isinstance(action, str) else f"DEFAULT {g.sql(action)}"
            parts.append(f"{text} ON {where}")
    return f"{node.this}({' '.join(p for p in parts if p)})"


# ---- expressions -------------------------------------------------------------------------------------------------


def interval_sql(g: Generator, node: exp.Interval) -> str:
    """Print an interval with its precisions."""
    unit = node.args.get("unit")
    value = node.this
    text = g.sql(value)
    if isinstance(value, exp.Literal) and not value.is_string:
        text = quoted_string(str(value.this))
    units = f"{unit.this.name} TO {unit.expression.name}" if isinstance(unit, exp.IntervalSpan) else ""
    units = units or (unit.name if unit else "SECOND")
    return f"INTERVAL {text} {units_sql(units, node.args.get('precision'), node.args.get('fraction'))}"


def not_sql(g: Generator, node: exp.Not) -> str:
    """Print ``x IS NOT ..``, ``x NOT LIKE ..`` and the like where the tree is one of them."""
    inner = node.this
    match inner:
        case exp.Is():
            return f"{g.sql(inner, 'this')} IS NOT {_is_what(g, inner)}"
        case exp.Escape() if isinstance(inner.this, exp.Like | exp.SimilarTo):
            return f"{_negated(g, inner.this)} ESCAPE {g.sql(inner, 'expression')}"
        case exp.Between() | exp.In() | exp.Like() | exp.SimilarTo():
            return _negated(g, inner)
        case _:
            return f"NOT {g.sql(inner)}"


def _negated(g: Generator, node: exp.Expression) -> str:
    left = g.sql(node, "this")
    return f"{left} NOT{g.sql(node)[len(left) :]}"


def _is_what(g: Generator, node: exp.Is) -> str:
    what = node.expression
    if isinstance(what, exp.JSON):
        return "JSON" if what.this == "VALUE" else f"JSON {what.this}"
    return g.sql(what)


def bracket_sql(g: Generator, node: exp.Bracket) -> str:
    """Print ``x[i]``."""
    return f"{g.sql(node, 'this')}[{comma(g, node.expressions)}]"


def quantifier_sql(word: str) -> Callable[[Generator, exp.Expression], str]:
    """Return a printer of ``ANY (..)`` or ``ALL (..)``."""
    return lambda g, node: f"{word} {g.sql(node, 'this')}"


def order_sql(g: Generator, node: exp.Order) -> str:
    """Print ORDER BY, also inside the arguments of a call."""
    if node.this is not None:
        return f"{g.sql(node, 'this')} ORDER BY {comma(g, node.expressions)}"
    if isinstance(node.parent, exp.Select | exp.SetOperation | exp.Values | exp.Subquery):
        return str(g.op_expressions("ORDER BY", node))
    return f" ORDER BY {comma(g, node.expressions)}"


# ---- queries -----------------------------------------------------------------------------------------------------


def values_sql(g: Generator, node: exp.Values) -> str:
    """Print VALUES, in parentheses where a table is expected."""
    text = f"VALUES {comma(g, node.expressions)}"
    for key in ("order", "limit", "offset"):
        text += g.sql(node, key)
    if node.args.get("with_"):
        text = g.prepend_ctes(node, text)
    if isinstance(node.parent, exp.From | exp.Join | exp.Lateral) or node.args.get("alias"):
        text = f"({text})"
    return text + _alias(g, node)


def _alias(g: Generator, node: exp.Expression) -> str:
    alias = g.sql(node, "alias")
    return f" AS {alias}" if alias else ""


def _joins(g: Generator, node: exp.Expression) -> str:
    return "".join(g.sql(j) for j in node.args.get("joins") or [])


def table_sql(g: Generator, node: exp.Table) -> str:
    """Print a table with hints before the alias."""
    hints = node.args.get("hints")
    text = f" /*+ {comma(g, hints)} */" if hints else ""
    return f"{g.table_parts(node)}{text}{_alias(g, node)}{_joins(g, node)}"


def join_sql(g: Generator, node: exp.Join) -> str:
    """Print a join; one without kind and condition is a comma."""
    words = [w for w in (node.method, node.side, node.kind) if w]
    on, using = node.args.get("on"), node.args.get("using")
    this = g.sql(node, "this")
    if not words and on is None and not using:
        return f", {this}" if not g.pretty else f",{g.sep()}  {this}"
    tail = f" ON {g.sql(on)}" if on is not None else f" USING ({comma(g, using)})" if using else ""
    return f"{g.seg(' '.join([*words, 'JOIN']))} {this}{tail}"


def unnest_sql(g: Generator, node: exp.Unnest) -> str:
    """Print UNNEST; the ordinality column goes back to the alias columns."""
    offset = node.args.get("offset")
    alias = node.args.get("alias")
    tail = ""
    if alias is not None:
        columns = list(alias.args.get("columns") or [])
        if isinstance(offset, exp.Identifier):
            columns.append(offset)
        tail = f" AS {g.sql(alias, 'this')}" + (f"({comma(g, columns)})" if columns else "")
    ordinality = " WITH ORDINALITY" if offset else ""
    return f"UNNEST({comma(g, node.expressions)}){ordinality}{tail}{_joins(g, node)}"


def table_function_sql(g: Generator, node: n.TableFunction) -> str:
    """Print a table function, always inside ``TABLE (..)``, which every version reads."""
    call = called(g, node)
    if isinstance(node.parent, n.TableArgument):
        return call
    lateral = "LATERAL " if node.args.get("lateral") else ""
    return f"{lateral}TABLE({call}){_alias(g, node)}{_joins(g, node)}"


def table_argument_sql(g: Generator, node: n.TableArgument) -> str:
    """Print ``TABLE t PARTITION BY ..``."""
    this = node.this
    text = g.sql(this)
    text = text if isinstance(this, exp.Subquery) else f"TABLE {text}"
    keys = node.args.get("partition_by")
    if keys is not None:
        text += f" PARTITION BY ({comma(g, keys)})"
    order = node.args.get("order")
    return text + (f" ORDER BY ({comma(g, order.expressions)})" if order is not None else "")


def match_recognize_sql(g: Generator, node: n.MatchRecognize) -> str:
    """Print MATCH_RECOGNIZE."""
    parts = []
    if keys := node.args.get("partition_by"):
        parts.append(f"PARTITION BY {comma(g, keys)}")
    if order := node.args.get("order"):
        parts.append(f"ORDER BY {comma(g, order.expressions)}")
    if measures := node.args.get("measures"):
        parts.append(f"MEASURES {comma(g, measures)}")
    parts += [node.args[key] for key in ("rows", "after") if node.args.get(key)]
    parts.append(f"PATTERN ({node.args['pattern']})")
    if within := node.args.get("within"):
        parts.append(f"WITHIN {g.sql(within)}")
    define = ", ".join(f"{g.sql(d, 'alias')} AS {g.sql(d, 'this')}" for d in node.args.get("define") or [])
    parts.append(f"DEFINE {define}")
    return f"{g.sql(node, 'this')} MATCH_RECOGNIZE ({' '.join(parts)}){_alias(g, node)}{_joins(g, node)}"


def group_sql(g: Generator, node: exp.Group) -> str:
    """Print GROUP BY: plain keys first, then the sets."""
    items = [*node.expressions]
    for key in ("grouping_sets", "cube", "rollup"):
        items += node.args.get(key) or []
    distinct = " DISTINCT" if node.args.get("all") is False else ""
    return f"{g.seg('GROUP BY')}{distinct} {comma(g, items)}"


def sets_sql(word: str) -> Callable[[Generator, exp.Expression], str]:
    """Return a printer of ``CUBE (..)`` and its like."""
    return lambda g, node: f"{word} ({comma(g, node.expressions)})"


def _hint(g: Generator, node: n.QueryHint) -> str:
    return f"{node.this}({comma(g, node.expressions)})" if node.expressions else str(node.this)


def identifier_sql(g: Generator, node: exp.Identifier) -> str:
    """Print a name, in back-ticks when it was or must be."""
    name = str(node.this)
    if node.args.get("quoted") or g.identify is True or name.upper() in RESERVED or not PLAIN_NAME.fullmatch(name):
        return g._replace_line_breaks(quote(name))
    return name


QUERY_NODES: dict[type[exp.Expr], Callable[..., str]] = {
    n.Call: call_sql,
    n.JsonCall: json_call_sql,
    n.TypedLiteral: lambda g, e: f"{e.args['kind']} {g.sql(e, 'this')}",
    n.Type: type_sql,
    n.TableFunction: table_function_sql,
    n.TableArgument: table_argument_sql,
    n.TemporalTable: lambda g, e: (
        f"{g.sql(e, 'this')} FOR SYSTEM_TIME AS OF {g.sql(e, 'expression')}{_alias(g, e)}{_joins(g, e)}"
    ),
    n.MatchRecognize: match_recognize_sql,
    n.Descriptor: lambda g, e: f"DESCRIPTOR({comma(g, e.expressions)})",
    n.NamedArgument: lambda g, e: f"{g.sql(e, 'this')} => {g.sql(e, 'expression')}",
    n.OptionsHint: lambda g, e: f"OPTIONS({comma(g, e.expressions)})",
    n.QueryHint: _hint,
    n.Index: bracket_sql,
    n.SelectHint: lambda g, e: f" /*+ {comma(g, e.expressions)} */",
}

OVERRIDES: dict[type[exp.Expr], Callable[..., str]] = {
    exp.JSONKeyValue: lambda g, e: f"KEY {g.sql(e, 'this')} VALUE {g.sql(e, 'expression')}",
    exp.Interval: interval_sql,
    exp.Not: not_sql,
    exp.Is: lambda g, e: f"{g.sql(e, 'this')} IS {_is_what(g, e)}",
    exp.Bracket: bracket_sql,
    exp.Any: quantifier_sql("ANY"),
    exp.All: quantifier_sql("ALL"),
    exp.Exists: lambda g, e: f"EXISTS {g.sql(e, 'this')}" if isinstance(e.this, exp.Subquery) else g.exists_sql(e),
    exp.Order: order_sql,
    exp.Values: values_sql,
    exp.Table: table_sql,
    exp.Join: join_sql,
    exp.Unnest: unnest_sql,
    exp.Lateral: lambda g, e: f"LATERAL {g.sql(e, 'this')}{_alias(g, e)}{_joins(g, e)}",
    exp.Group: group_sql,
    exp.GroupingSets: sets_sql("GROUPING SETS"),
    exp.Cube: sets_sql("CUBE"),
    exp.Rollup: sets_sql("ROLLUP"),
    exp.Identifier: identifier_sql,
    exp.Array: lambda g, e: f"ARRAY[{comma(g, e.expressions)}]",
    exp.HexString: lambda g, e: f"X'{e.this}'",
    exp.Literal: lambda g, e: g._replace_line_breaks(quoted_string(e.this)) if e.is_string else str(e.this),
    exp.Filter: lambda g, e: f"{g.sql(e, 'this')} FILTER (WHERE {g.sql(e.expression, 'this')})",
    exp.Mod: lambda g, e: g.binary(e, "%"),
    exp.Div: lambda g, e: g.binary(e, "/"),
    exp.DPipe: lambda g, e: g.binary(e, "||"),
    exp.NullSafeEQ: lambda g, e: g.binary(e, "IS NOT DISTINCT FROM"),
    exp.NullSafeNEQ: lambda g, e: g.binary(e, "IS DISTINCT FROM"),
    exp.Cast: lambda g, e: f"CAST({g.sql(e, 'this')} AS {g.sql(e, 'to')})",
    exp.TryCast: lambda g, e: f"TRY_CAST({g.sql(e, 'this')} AS {g.sql(e, 'to')})",
}


class FlinkGenerator(Generator):
    """Prints Flink SQL."""

    SUPPORTS_BETWEEN_FLAGS = True
    MULTI_ARG_DISTINCT = True
    JOIN_HINTS = False

    TRANSFORMS = {**Generator.TRANSFORMS, **OVERRIDES, **QUERY_NODES, **STATEMENT_NODES}
