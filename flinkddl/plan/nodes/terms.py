"""Expressions, keys, orders and calls as EXPLAIN writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, OuterRef, Rex, SortKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.nodes.base import Node
    from flinkddl.plan.nodes.values import Window

_WORDS = "= <> < <= > >= + - * / % || AND OR LIKE"
_INFIX = frozenset((*_WORDS.split(), "IS DISTINCT FROM", "IS NOT DISTINCT FROM"))
_POSTFIX = frozenset({"IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"})


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
            return f"{_called(rex)}({', '.join(rex_text(a, names) for a in rex.args)})"
        case _:
            return type(rex).__name__


def _called(call: Call | AggCall) -> str:
    """Return the name of a call as the script has it: a Java function's is an option."""
    return str(call.option("name")) if call.function == "JAVA" else call.function


def names_of(*inputs: Node) -> list[str]:
    """Return the names of the input columns, a number added where one repeats."""
    seen: dict[str, int] = {}
    out = []
    for f in (f for i in inputs for f in i.fields):
        count = seen.get(f.name, 0)
        out.append(f.name if not count else f"{f.name}#{count}")
        seen[f.name] = count + 1
    return out


def pick(names: Sequence[str], indices: Sequence[int]) -> str:
    """Return columns by their indices."""
    return ", ".join(names[i] for i in indices)


def order_text(names: Sequence[str], keys: Sequence[SortKey]) -> str:
    """Return an ORDER BY; what is Flink's default is left out."""

    def one(k: SortKey) -> str:
        default = k.nulls_first is not k.descending
        nulls = "" if default else f" NULLS {'FIRST' if k.nulls_first else 'LAST'}"
        return f"{names[k.index]}{' DESC' if k.descending else ''}{nulls}"

    return ", ".join(one(k) for k in keys)


def call_text(names: Sequence[str], call: AggCall) -> str:
    """Return an aggregate call."""
    args = pick(names, call.args) or ("*" if call.function == "COUNT" else "")
    text = f"{_called(call)}({'DISTINCT ' if call.distinct else ''}{args})"
    return text if call.filter is None else f"{text} FILTER {names[call.filter]}"


def window_text(names: Sequence[str], w: Window) -> str:
    """Return a window definition."""
    slide = f", slide={w.slide_ms}ms" if w.slide_ms is not None else ""
    offset = f", offset={w.offset_ms}ms" if w.offset_ms else ""
    keys = f", partition=[{pick(names, w.partition_keys)}]" if w.partition_keys else ""
    time = names[w.time] if 0 <= w.time < len(names) else "window"
    return f"{w.kind}({time}, size={w.size_ms}ms{slide}{offset}{keys}{', proctime' if w.proctime else ''})"
