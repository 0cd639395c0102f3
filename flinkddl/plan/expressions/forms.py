"""How the parser spells a call: every node that is a function or operator becomes name, arguments and options.

Operators are sqlglot's nodes, functions are ``nodes.Call`` and ``nodes.JsonCall``; arguments that are no values (units,
JSON clauses, DISTINCT) become options. ``FORMS`` and ``CALLS`` are the tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl.dialect.nodes import Call, JsonCall

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Form:
    """A call as the catalogue knows it. Options may still hold nodes (the type of RETURNING, defaults)."""

    name: str
    args: tuple[exp.Expression, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


def form_of(node: exp.Expression) -> Form | None:
    """Return the call that a node stands for, or None when it is none."""
    if isinstance(node, Call):
        return _call(node)
    make = FORMS.get(type(node))
    if make is not None:
        return make(node)
    if isinstance(node, exp.Anonymous):
        return Form(node.name, tuple(node.expressions))
    return None


def _call(node: Call) -> Form:
    name, args = str(node.this), list(node.expressions)
    options: dict[str, Any] = {}
    if args and isinstance(args[-1], exp.IgnoreNulls | exp.RespectNulls):
        options["ignore_nulls"] = isinstance(args[-1], exp.IgnoreNulls)
        args[-1] = args[-1].this
    special = CALLS.get(name)
    if special is not None:
        return special(name, args, options)
    return Form(name, tuple(args), options)


def _unit_first(name: str, args: list[Any], options: dict[str, Any]) -> Form:
    return Form(name, tuple(args[1:]), {**options, "unit": args[0].name.upper()})


def _unit_last(name: str, args: list[Any], options: dict[str, Any]) -> Form:
    return Form(name, tuple(args[:-1]), {**options, "unit": args[-1].name.upper()})


def _rounding(name: str, args: list[Any], options: dict[str, Any]) -> Form:
    if len(args) == 2 and isinstance(args[1], exp.Var):
        base = "FLOOR" if name == "FLOOR" else "CEIL"
        return Form(f"{base}_TO", (args[0],), {**options, "unit": args[1].name.upper()})
    return Form(name, tuple(args), options)


def _trim(name: str, args: list[Any], options: dict[str, Any]) -> Form:
    if args and isinstance(args[0], exp.Var):
        return Form(name, tuple(args[1:]), {**options, "where": args[0].name.upper()})
    return Form(name, tuple(args), options)


CALLS: dict[str, Callable[[str, list[Any], dict[str, Any]], Form]] = {
    "EXTRACT": _unit_first,
    "TIMESTAMPADD": _unit_first,
    "TIMESTAMPDIFF": _unit_first,
    "MINUS_DATE": _unit_last,
    "FLOOR": _rounding,
    "CEIL": _rounding,
    "CEILING": _rounding,
    "TRIM": _trim,
}


def _json(node: JsonCall) -> Form:
    args: list[exp.Expression] = []
    for e in node.expressions:
        args.extend((e.this, e.expression) if isinstance(e, exp.JSONKeyValue) else (e,))
    keys = ("returning", "wrapper", "on_empty", "on_error", "nulls")
    options = {k: node.args[k] for k in keys if node.args.get(k) is not None}
    return Form(str(node.this), tuple(args), options)


def _binary(name: str) -> Callable[[Any], Form]:
    return lambda node: Form(name, (node.this, node.expression))


def _escape(node: Any) -> Form:
    inner = form_of(node.this)
    assert inner is not None
    return Form(inner.name, (*inner.args, node.expression), inner.options)


def _is(node: Any) -> Form | None:
    what = node.expression
    if isinstance(what, exp.JSON):
        return Form("IS JSON", (node.this,), {"kind": str(what.this or "VALUE")})
    return None


FORMS: dict[type, Callable[[Any], Form | None]] = {
    JsonCall: _json,
    exp.Add: _binary("+"),
    exp.Sub: _binary("-"),
    exp.Mul: _binary("*"),
    exp.Div: _binary("/"),
    exp.Mod: _binary("%"),
    exp.EQ: _binary("="),
    exp.NEQ: _binary("<>"),
    exp.LT: _binary("<"),
    exp.LTE: _binary("<="),
    exp.GT: _binary(">"),
    exp.GTE: _binary(">="),
    exp.NullSafeEQ: _binary("IS NOT DISTINCT FROM"),
    exp.NullSafeNEQ: _binary("IS DISTINCT FROM"),
    exp.DPipe: _binary("||"),
    exp.Like: _binary("LIKE"),
    exp.SimilarTo: _binary("SIMILAR TO"),
    exp.Escape: _escape,
    exp.Is: _is,
    exp.Array: lambda node: Form("ARRAY", tuple(node.expressions)),
}
