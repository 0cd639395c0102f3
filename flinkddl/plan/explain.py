"""A plan as text: one node a line, children indented below, expressions in SQL-like form, types on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl.plan import nodes as N
from flinkddl.plan.placeholders import OuterRef
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, Rex, SortKey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.plan.nodes import Field, Node

_INFIX = frozenset(
    {
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "AND",
        "OR",
        "IS DISTINCT FROM",
        "IS NOT DISTINCT FROM",
        "LIKE",
    }
)
_POSTFIX = frozenset({"IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"})


def explain(node: Node, *, schema: bool = False) -> str:
    """Return the plan, root first; with ``schema`` each line ends in the output columns with their types."""
    lines: list[str] = []
    _write(node, 0, schema, lines)
    return "\n".join(lines)


def _write(node: Node, depth: int, schema: bool, lines: list[str]) -> None:
    text = "  " * depth + describe(node)
    if schema:
        text += " -> " + schema_text(node.fields)
    lines.append(text)
    for child in node.inputs:
        _write(child, depth + 1, schema, lines)


def schema_text(columns: Sequence[Field]) -> str:
    """Return columns as ``(name TYPE, ...)``; a time attribute is marked as Flink marks it."""
    return f"({', '.join(f'{f.name} {type_text(f)}' for f in columns)})"


def type_text(column: Field) -> str:
    """Return a column's type as Flink's schema prints it."""
    mark = f" *{column.type.time_attribute}*" if column.type.time_attribute else ""
    return f"{column.type}{mark}"


def describe(node: Node) -> str:
    """Return the node's name and what it does, on one line."""
    detail = _DETAILS.get(type(node))
    return f"{node.name}({detail(node) if detail else ''})"


def rex_text(rex: Rex, names: Sequence[str]) -> str:
    """Return an expression over columns of these names."""
    spine: list[Call] = []
    while isinstance(rex, Call) and rex.function in _INFIX:
        spine.append(rex)
        rex = rex.args[0]
    text = _operand_text(rex, names)
    for call in reversed(spine):
        text = "(" + f" {call.function} ".join([text, *(rex_text(a, names) for a in call.args[1:])]) + ")"
    return text


def _operand_text(rex: Rex, names: Sequence[str]) -> str:
    match rex:
        case InputRef():
            return names[rex.index] if rex.index < len(names) else f"${rex.index}"
        case OuterRef():
            return f"outer{rex.depth}.${rex.index}"
        case Literal():
            return f"'{rex.value}'" if isinstance(rex.value, str) else str(rex.value)
        case Call(function="FIELD"):
            return f"{rex_text(rex.args[0], names)}.{rex.option('name')}"
        case Call(function="CAST" | "TRY_CAST"):
            return f"{rex.function}({rex_text(rex.args[0], names)} AS {rex.type.summary})"
        case Call(function="NOT"):
            return f"NOT {rex_text(rex.args[0], names)}"
        case Call() if rex.function in _POSTFIX:
            return f"({rex_text(rex.args[0], names)} {rex.function})"
        case Call():
            return f"{rex.function}({', '.join(rex_text(a, names) for a in rex.args)})"
        case _:
            return type(rex).__name__


# ---- one line a node ---------------------------------------------------------------------------------------------


def _names(*inputs: Node) -> list[str]:
    """Names of the input columns, a number added where one repeats."""
    seen: dict[str, int] = {}
    out = []
    for f in (f for i in inputs for f in i.fields):
        count = seen.get(f.name, 0)
        out.append(f.name if not count else f"{f.name}#{count}")
        seen[f.name] = count + 1
    return out


def _pick(names: Sequence[str], indices: Sequence[int]) -> str:
    return ", ".join(names[i] for i in indices)


def _order(names: Sequence[str], keys: Sequence[SortKey]) -> str:
    def one(k: SortKey) -> str:
        default = k.nulls_first is not k.descending
        nulls = "" if default else f" NULLS {'FIRST' if k.nulls_first else 'LAST'}"
        return f"{names[k.index]}{' DESC' if k.descending else ''}{nulls}"

    return ", ".join(one(k) for k in keys)


def _call(names: Sequence[str], call: AggCall) -> str:
    args = _pick(names, call.args) or ("*" if call.function == "COUNT" else "")
    text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{args})"
    return text if call.filter is None else f"{text} FILTER {names[call.filter]}"


def _window(names: Sequence[str], w: N.Window) -> str:
    slide = f", slide={w.slide_ms}ms" if w.slide_ms is not None else ""
    offset = f", offset={w.offset_ms}ms" if w.offset_ms else ""
    keys = f", partition=[{_pick(names, w.partition_keys)}]" if w.partition_keys else ""
    time = names[w.time] if 0 <= w.time < len(names) else "window"
    return f"{w.kind}({time}, size={w.size_ms}ms{slide}{offset}{keys}{', proctime' if w.proctime else ''})"


def _aggregate(n: N.Aggregate) -> str:
    names = _names(n.input)
    parts = [f"by=[{_pick(names, n.keys)}]"]
    return ", ".join([*parts, *(_call(names, c) for c in n.aggs)])


def _window_aggregate(n: N.WindowAggregate) -> str:
    names = _names(n.input)
    parts = [_window(names, n.window), f"by=[{_pick(names, n.keys)}]", *(_call(names, c) for c in n.aggs)]
    parts += [f"properties=[{', '.join(n.properties)}]"] if n.properties else []
    parts += [f"windowed=[{_pick(names, n.windowed_input)}]"] if n.windowed_input else []
    return ", ".join([*parts, *(["legacy"] if n.legacy else [])])


def _join(n: Any) -> str:
    names = _names(n.left, n.right)
    flags = ["null-aware"] if getattr(n, "null_aware", False) else []
    if isinstance(n, N.IntervalJoin):
        times = f"{names[n.left_time]} - {names[len(n.left.fields) + n.right_time]}"
        flags.append(f"{n.lower_ms}ms <= {times} <= {n.upper_ms}ms")
    if isinstance(n, N.TemporalJoin):
        flags.append(f"as of {names[n.left_time]}")
    return ", ".join([n.kind, rex_text(n.condition, names), *flags])


def _rank(n: N.Rank) -> str:
    names = _names(n.input)
    flags = (["with rank"] if n.with_rank else []) + (["window"] if n.window else [])
    parts = [
        f"{n.function} {n.start}..{n.end}",
        f"by=[{_pick(names, n.partition)}]",
        f"order=[{_order(names, n.order)}]",
    ]
    return ", ".join(parts + flags)


def _dedup(n: N.Deduplicate) -> str:
    names = _names(n.input)
    flags = ["last" if n.keep_last else "first", f"by=[{_pick(names, n.keys)}]", f"order={names[n.order]}"]
    return ", ".join(flags + (["proctime"] if n.proctime else []) + (["window"] if n.window else []))


def _over(n: N.Over) -> str:
    names = _names(n.input)
    bound = "UNBOUNDED" if n.preceding is None else str(n.preceding)
    frame = f"{'ROWS' if n.rows else 'RANGE'} {bound}..{'UNBOUNDED' if n.following is None else n.following}"
    calls = ", ".join(_call(names, c) for c in n.calls)
    return f"by=[{_pick(names, n.partition)}], order=[{_order(names, n.order)}], {frame}, {calls}"


def _sort(n: N.Sort) -> str:
    parts = [f"order=[{_order(_names(n.input), n.order)}]"] if n.order else []
    parts += [f"offset={n.offset}"] if n.offset else []
    return ", ".join(parts + ([f"fetch={n.fetch}"] if n.fetch is not None else []))


def _scan(n: N.Scan) -> str:
    names = [f.name for f in n.fields]
    text = str(n.table.path)
    return text if n.watermark is None else f"{text}, watermark={rex_text(n.watermark.expression, names)}"


def _project(n: N.Project) -> str:
    names = _names(n.input)
    texts = [(rex_text(e, names), f.name) for e, f in zip(n.exprs, n.fields, strict=True)]
    return ", ".join(t if t == name else f"{t} AS {name}" for t, name in texts)


def _expand(n: N.Expand) -> str:
    names = _names(n.input)
    return ", ".join(f"({_pick(names, s)})" for s in n.sets)


def _unnest(n: N.Unnest) -> str:
    return rex_text(n.collection, _names(n.input)) + (", outer" if n.outer else "")


_DETAILS: dict[type[Node], Callable[[Any], str]] = {
    N.Scan: _scan,
    N.Values: lambda n: f"{len(n.rows)} rows",
    N.Project: _project,
    N.Filter: lambda n: rex_text(n.condition, _names(n.input)),
    N.Expand: _expand,
    N.Unnest: _unnest,
    N.WindowTableFunction: lambda n: _window(_names(n.input), n.window),
    N.WindowAggregate: _window_aggregate,
    N.Aggregate: _aggregate,
    N.Rank: _rank,
    N.Deduplicate: _dedup,
    N.Over: _over,
    N.Sort: _sort,
    N.Join: _join,
    N.IntervalJoin: _join,
    N.WindowJoin: _join,
    N.TemporalJoin: _join,
    N.LookupJoin: lambda n: f"{n.kind}, {n.table.table.path}, {rex_text(n.condition, _names(n.input, n.table))}",
    N.Sink: lambda n: n.target or "collect",
}
