"""How the other dialects of sqlglot print nodes that only Flink has.

Where another system has the same thing, its spelling; where it has not, Flink's text and sqlglot's warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot.generator as sqlglot_generator
from sqlglot import exp
from sqlglot.generator import Generator

from flinkddl.dialect import nodes as n
from flinkddl.dialect.generator import QUERY_NODES
from flinkddl.dialect.generator_ddl import STATEMENT_NODES
from flinkddl.dialect.generator_text import comma

if TYPE_CHECKING:
    from collections.abc import Callable

# ---- calls -------------------------------------------------------------------------------------------------------


def _truncated(node: n.Call) -> exp.Expression:
    value, unit = node.expressions
    return exp.TimestampTrunc(this=value.copy(), unit=exp.Var(this=unit.name))


def _floor(node: n.Call) -> exp.Expression | None:
    if len(node.expressions) == 2 and isinstance(node.expressions[1], exp.Var):
        return _truncated(node)
    return exp.Floor(this=node.expressions[0].copy()) if len(node.expressions) == 1 else None


def _ceil(node: n.Call) -> exp.Expression | None:
    if len(node.expressions) == 2 and isinstance(node.expressions[1], exp.Var):
        below, value = _truncated(node), node.expressions[0]
        above = exp.Add(this=below.copy(), expression=_interval(exp.Literal.string("1"), node.expressions[1].name))
        return exp.Case(
            ifs=[exp.If(this=exp.EQ(this=below, expression=value.copy()), true=value.copy())], default=above
        )
    return exp.Ceil(this=node.expressions[0].copy()) if len(node.expressions) == 1 else None


def _interval(amount: exp.Expression, unit: str) -> exp.Interval:
    return exp.Interval(this=amount, unit=exp.Var(this=unit))


def _timestamp_add(node: n.Call) -> exp.Expression:
    unit, amount, value = node.expressions
    step = exp.Mul(this=exp.Paren(this=amount.copy()), expression=_interval(exp.Literal.string("1"), unit.name))
    return exp.Add(this=value.copy(), expression=step)


def _timestamp_diff(node: n.Call) -> exp.Expression:
    unit, start, end = node.expressions
    return exp.TimestampDiff(this=end.copy(), expression=start.copy(), unit=exp.Var(this=unit.name))


def _trim(node: n.Call) -> exp.Expression | None:
    if not isinstance(node.expressions[0], exp.Var):
        return exp.Trim(this=node.expressions[0].copy()) if len(node.expressions) == 1 else None
    side, what, text = node.expressions
    return exp.Trim(this=text.copy(), expression=what.copy(), position=side.name)


def _copies(node: n.Call) -> list[exp.Expression]:
    return [e.copy() for e in node.expressions]


def _map(node: n.Call) -> exp.Expression:
    items = _copies(node)
    return exp.Map(keys=exp.Array(expressions=items[::2]), values=exp.Array(expressions=items[1::2]))


def _positional(kind: type[exp.Expression], *keys: str) -> Callable[[n.Call], exp.Expression | None]:
    def build(node: n.Call) -> exp.Expression | None:
        if len(node.expressions) > len(keys) or any(isinstance(e, exp.Distinct | exp.Star) for e in node.expressions):
            return None
        return kind(**dict(zip(keys, _copies(node), strict=False)))

    return build


_CALLS: dict[str, Callable[[n.Call], exp.Expression | None]] = {
    "EXTRACT": lambda c: exp.Extract(this=exp.Var(this=c.expressions[0].name), expression=c.expressions[1].copy()),
    "FLOOR": _floor,
    "CEIL": _ceil,
    "CEILING": _ceil,
    "TIMESTAMPADD": _timestamp_add,
    "TIMESTAMPDIFF": _timestamp_diff,
    "TRIM": _trim,
    "OVERLAY": _positional(exp.Overlay, "this", "expression", "from_", "for_"),
    "MAP": _map,
    "POSITION": _positional(exp.StrPosition, "substr", "this"),
    "SUBSTRING": _positional(exp.Substring, "this", "start", "length"),
    "MULTISET": lambda c: exp.Array(expressions=_copies(c)),
    "ROW": lambda c: exp.Tuple(expressions=_copies(c)),
    "MINUS_DATE": lambda c: exp.Paren(this=exp.Sub(this=c.expressions[0].copy(), expression=c.expressions[1].copy())),
    "CURRENT_DATE": lambda c: exp.CurrentDate(),
    "CURRENT_TIME": lambda c: exp.CurrentTime(),
    "CURRENT_TIMESTAMP": lambda c: exp.CurrentTimestamp(),
    "LOCALTIMESTAMP": lambda c: exp.CurrentTimestamp(),
    "LOCALTIME": lambda c: exp.CurrentTime(),
    "CURRENT_USER": lambda c: exp.CurrentUser(),
    "SESSION": lambda c: exp.Anonymous(this="SESSION_WINDOW", expressions=_copies(c)),
    "LISTAGG": _positional(exp.GroupConcat, "this", "separator"),
    "CHAR_LENGTH": _positional(exp.Length, "this"),
    "CHARACTER_LENGTH": _positional(exp.Length, "this"),
    "CARDINALITY": _positional(exp.ArraySize, "this"),
}


def _call(g: Generator, node: n.Call) -> str:
    build = _CALLS.get(node.this)
    other = build(node) if build is not None and not node.args.get("path") else None
    if other is None:
        path = [g.sql(part) for part in node.args.get("path") or []]
        return ".".join([*path, f"{node.this}({comma(g, node.expressions)})"])
    other.parent = node.parent
    return g.sql(other)


def _json(g: Generator, node: n.JsonCall) -> str:
    args = node.expressions
    path = args[1].this if len(args) > 1 and isinstance(args[1], exp.Literal) else None
    text = exp.Literal.string(str(path).removeprefix("lax ").removeprefix("strict ").strip())
    steps = g.dialect.to_json_path(text) if node.this in _PATH_CALLS and path is not None else None
    if isinstance(steps, exp.JSONPath) and all(isinstance(s, _STEPS) for s in steps.expressions):
        found = _PATH_CALLS[node.this](this=args[0].copy(), expression=steps)
        return g.sql(exp.Not(this=exp.Is(this=found, expression=exp.Null()))) if "EXISTS" in node.this else g.sql(found)
    if node.this == "JSON_OBJECT":
        return g.sql(exp.JSONObject(expressions=[a.copy() for a in args]))
    flat = [p for a in args for p in ((a.this, a.expression) if isinstance(a, exp.JSONKeyValue) else (a,))]
    return f"{node.this}({comma(g, flat)})"


_STEPS = (exp.JSONPathRoot, exp.JSONPathKey, exp.JSONPathSubscript)
_PATH_CALLS: dict[str, type[exp.Expression]] = {
    "JSON_VALUE": exp.JSONExtractScalar,
    "JSON_QUERY": exp.JSONExtract,
    "JSON_EXISTS": exp.JSONExtract,
}


def _index(g: Generator, node: n.Index) -> str:
    index = node.expressions[0]
    if isinstance(index, exp.Literal) and index.is_int:
        # sqlglot's trees count from 0; the generator of the target counts as the target does.
        index = exp.Literal.number(int(index.this) - 1)
    return g.sql(exp.Bracket(this=node.this.copy(), expressions=[index.copy()]))


# ---- literals and types ------------------------------------------------------------------------------------------

_LITERALS = {"DATE": exp.DType.DATE, "TIME": exp.DType.TIME, "TIMESTAMP": exp.DType.TIMESTAMPNTZ}


def _typed_literal(g: Generator, node: n.TypedLiteral) -> str:
    return g.sql(exp.Cast(this=node.this.copy(), to=exp.DataType(this=_LITERALS[node.args["kind"]])))


def plain_type(node: exp.DataType) -> exp.DataType:
    """Return a type as sqlglot has it: no nullability, no precision of times."""
    if not isinstance(node, n.Type):
        return node
    kind, name = node.this, node.args["name"]
    children = [plain_type(c) for c in node.args.get("children") or []]
    match name:
        case "MULTISET":
            return exp.DataType(this=exp.DType.MAP, expressions=[*children, exp.DataType.build("int")], nested=True)
        case "ARRAY" | "MAP":
            return exp.DataType(this=kind, expressions=children, nested=True)
        case "ROW":
            fields = [
                exp.ColumnDef(this=f.this.copy(), kind=plain_type(f.args["kind"]))
                for f in node.args.get("fields") or []
            ]
            return exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True)
        case "INTERVAL":
            first, _, last = node.args["unit"].partition(" TO ")
            unit: exp.Expression = exp.Var(this=first)
            if last:
                unit = exp.IntervalSpan(this=unit, expression=exp.Var(this=last))
            return exp.DataType(this=exp.DType.INTERVAL, expressions=[unit])
        case "RAW" | "BITMAP" | "STRUCTURED":
            return exp.DataType(this=exp.DType.VARBINARY)
    sized = name in ("CHAR", "VARCHAR", "DECIMAL")
    sizes = [exp.DataTypeParam(this=exp.Literal.number(p)) for p in node.args.get("params") or []] if sized else []
    return exp.DataType(this=kind, expressions=sizes)


# ---- tables ------------------------------------------------------------------------------------------------------


def _table_function(g: Generator, node: n.TableFunction) -> str:
    args = [a.expression if isinstance(a, n.NamedArgument) else a for a in node.expressions]
    window = _WINDOWS.get((type(g.dialect).__name__, node.this))
    text = window(g, args) if window is not None and len(args) >= 3 else None
    alias = g.sql(node, "alias")
    tail = f" AS {alias}" if alias else ""
    if text is not None:
        return text + tail
    lateral = "LATERAL " if node.args.get("lateral") else ""
    return f"{lateral}{node.this}({comma(g, args)}){tail}"


def _data(g: Generator, node: exp.Expression) -> str:
    this = node.this if isinstance(node, n.TableArgument) else node
    return f"{g.sql(this)} AS _data" if isinstance(this, exp.Subquery) else g.sql(this)


def _windowed(data: str, start: str, end: str) -> str:
    time = f"{end} - INTERVAL '0.001' SECOND"
    return f"(SELECT *, {start} AS window_start, {end} AS window_end, {time} AS window_time FROM {data})"


def _length(node: exp.Expression) -> str | None:
    if not isinstance(node, exp.Interval) or not isinstance(node.args.get("unit"), exp.Var):
        return None
    return f"{node.name} {node.args['unit'].name.lower()}"


def _spark_hop(g: Generator, args: list[exp.Expression]) -> str | None:
    slide, size = _length(args[2]), _length(args[3]) if len(args) == 4 else None
    if slide is None or size is None:
        return None
    window = f"WINDOW({comma(g, args[1].expressions)}, '{size}', '{slide}')"
    return _windowed(_data(g, args[0]), f"{window}.start", f"{window}.end")


def _tumble(start: str, end: str) -> Callable[[Generator, list[exp.Expression]], str | None]:
    """Print TUMBLE by what begins and ends a window, over ``{time}`` and ``{length}``; the end over ``{start}`` too."""

    def tumble(g: Generator, args: list[exp.Expression]) -> str | None:
        length = _length(args[2])
        if length is None or len(args) > 3:
            return None
        given = {"time": comma(g, args[1].expressions), "length": length}
        begin = start.format(**given)
        return _windowed(_data(g, args[0]), begin, end.format(**given, start=begin))

    return tumble


_WINDOWS: dict[tuple[str, str], Callable[[Generator, list[exp.Expression]], str | None]] = {
    ("Spark", "TUMBLE"): _tumble("WINDOW({time}, '{length}').start", "WINDOW({time}, '{length}').end"),
    ("Spark", "HOP"): _spark_hop,
    ("DuckDB", "TUMBLE"): _tumble("TIME_BUCKET(INTERVAL '{length}', {time})", "{start} + INTERVAL '{length}'"),
    ("Postgres", "TUMBLE"): _tumble(
        "DATE_BIN(INTERVAL '{length}', {time}, CAST('1970-01-01' AS TIMESTAMP))", "{start} + INTERVAL '{length}'"
    ),
}


def _table_argument(g: Generator, node: n.TableArgument) -> str:
    this = g.sql(node, "this")
    return this if isinstance(node.this, exp.Subquery) else f"(SELECT * FROM {this})"


def _temporal(g: Generator, node: n.TemporalTable) -> str:
    g.unsupported("FOR SYSTEM_TIME AS OF has no counterpart: the table is joined as it is now")
    alias = g.sql(node, "alias")
    return g.sql(node, "this") + (f" AS {alias}" if alias else "")


_SPARK_HINTS = frozenset({"BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE"})


def _select_hint(g: Generator, node: n.SelectHint) -> str:
    kept = [h for h in node.expressions if h.this in _SPARK_HINTS] if type(g.dialect).__name__ == "Spark" else []
    return f" /*+ {comma(g, kept)} */" if kept else ""


PORTABLE: dict[type[exp.Expr], Callable[..., str]] = {
    **QUERY_NODES,
    **STATEMENT_NODES,
    n.Call: _call,
    n.JsonCall: _json,
    n.TypedLiteral: _typed_literal,
    n.Type: lambda g, e: g.sql(plain_type(e)),
    n.TableFunction: _table_function,
    n.TableArgument: _table_argument,
    n.TemporalTable: _temporal,
    n.OptionsHint: lambda g, e: "",
    n.SelectHint: _select_hint,
    n.Index: _index,
}


def install(flink: type[Generator]) -> None:
    """Put the printers into the tables of all generators but Flink's own; those loaded later copy the base table."""
    pending: list[type[Generator]] = [Generator]
    while pending:
        generator = pending.pop()
        pending.extend(generator.__subclasses__())
        if generator is not flink:
            for node, printer in PORTABLE.items():
                generator.TRANSFORMS.setdefault(node, printer)
    # Tables built before this module was imported do not know the nodes yet.
    sqlglot_generator._DISPATCH_CACHE.clear()
