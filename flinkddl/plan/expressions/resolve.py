"""A sqlglot tree becomes a typed Rex.

What a function takes and gives is a row of ``flinkddl.functions``; how sqlglot spells a call is a row of
``plan/expressions/forms.py``; this module holds the walk and the few nodes with rules of their own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError, chain, did_you_mean, each
from flinkddl.dialect import nodes
from flinkddl.dialect.types import to_type
from flinkddl.functions.catalogue import AGGREGATES, lookup
from flinkddl.plan.expressions import literals
from flinkddl.plan.expressions.build import call, explicit_cast, is_known, quoted, unknown, user_call
from flinkddl.plan.expressions.forms import form_of
from flinkddl.plan.rex import Call, Literal, Rex, field_access, uncast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flinkddl.plan.scope import Scope

_BARE = frozenset({"PI"})
_NULL = Literal(T.NULL, None)
_CONSTRUCTORS = ("JSON_OBJECT", "JSON_ARRAY", "JSON")


def resolve_expression(node: exp.Expression, scope: Scope) -> Rex:
    """Resolve and type an expression. Raises FlinkDdlError (FD4xx) for unknown names and arguments that do not fit."""
    rex = _resolve(node, scope)
    if node._meta and nodes.PLUS in node._meta and not rex.type.is_a(T.NUMERIC, T.INTERVAL):
        raise FlinkDdlError.of("FD401", f"cannot apply '+' to an argument of type ({rex.type})", scope.span(node))
    return rex


def _resolve(node: exp.Expression, scope: Scope) -> Rex:
    if type(node) in _CHAINS and type(node.this) in _CHAINS:
        return _chain(node, scope)
    found = _special(node, scope)
    if found is not None:
        return found
    for kind in type(node).__mro__:
        handler = _HANDLERS.get(kind)
        if handler is not None:
            return handler(node, scope)
    return _by_form(node, scope)


def _all(items: Iterable[exp.Expression], scope: Scope) -> list[Rex]:
    """Resolve several expressions; the mistakes of all of them come at once."""
    return each(partial(resolve_expression, item, scope) for item in items)


def _special(node: exp.Expression, scope: Scope) -> Rex | None:
    """Ask the scope; a name that is no column may be a function that Flink also takes without parentheses."""
    try:
        return scope.special(node)
    except FlinkDdlError:
        if isinstance(node, exp.Column) and node.table == "" and node.name.upper() in _BARE:
            return call(node.name, (), span=scope.span(node))
        raise


_CHAINS: frozenset[type] = frozenset({exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe})


def _chain(node: exp.Expression, scope: Scope) -> Rex:
    """``a + b + c``: the operators of a chain lean to the left, one below the other."""
    spine = [node]
    while type(spine[-1].this) in _CHAINS:
        spine.append(spine[-1].this)
    steps = [(partial(resolve_expression, n.expression, scope), partial(_operator, n, scope)) for n in reversed(spine)]
    return chain(partial(resolve_expression, spine[-1].this, scope), steps)


def _operator(node: exp.Expression, scope: Scope, left: Rex, right: Rex) -> Rex:
    form = form_of(node)
    assert form is not None
    divided, by = uncast(left), uncast(right)
    zero = isinstance(by, Literal) and by.value == 0 and by.type.root in T.NUMERIC
    if form.name == "/" and zero and isinstance(divided, Literal):
        raise FlinkDdlError.of("FD406", "division by zero", scope.span(node))
    return call(form.name, [left, right], dict(form.options), scope.span(node), form.name)


# ---- calls -------------------------------------------------------------------------------------------------------


def _by_form(node: exp.Expression, scope: Scope) -> Rex:
    form, span = form_of(node), scope.span(node)
    if form is None:
        if isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            raise no_aggregate(node.this, scope)
        raise FlinkDdlError.of("FD403", f"'{quoted(node, span)}' cannot be used as an expression", span)
    name = form.name.upper()
    known = lookup(name) is not None
    user = scope.function(form.name) if not known else None
    if not known and user is None and name in AGGREGATES:
        raise FlinkDdlError.of("FD404", f"aggregate function '{form.name}' is not allowed here", span)
    if not known and user is None and any(isinstance(a, exp.Star) for a in form.args):
        raise unknown(form.name, span)  # COUNTT(*): the name is wrong, not the star
    if type(node) in _CHAINS:
        left, right = _all(form.args, scope)
        return _operator(node, scope, left, right)
    if user is not None and user.language != "PYTHON":
        from flinkddl.plan.expressions.java import java_call, named_arguments  # here: few scripts have one

        return java_call(form.name, user, named_arguments(form.args, lambda a: resolve_expression(a, scope)), span)
    args = _all(form.args, scope)
    if user is not None:
        return user_call(form.name, user, args, span)
    options = dict(form.options)
    if name.startswith("JSON"):
        options = json_options(name, args, options, scope)
    return call(name, args, options, span, form.name)


def no_aggregate(node: exp.Expression, scope: Scope) -> FlinkDdlError:
    """Return the error for what stands where only an aggregate or window function may: FD400 for an unknown name."""
    form, span = form_of(node), scope.span(node)
    if form is not None and not is_known(form.name) and scope.function(form.name) is None:
        return unknown(form.name, span)
    name = form.name if form is not None and form.name.isidentifier() else quoted(node, span)
    help = "OVER, FILTER and IGNORE NULLS stand behind one; a function of rows is called without them"
    return FlinkDdlError.of("FD408", f"'{name}' is no aggregate function", span, help)


def json_options(name: str, args: list[Rex], options: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """Turn the clauses of a JSON function into values: the type of RETURNING, defaults, which arguments are JSON."""
    if "returning" in options:
        options["returning"] = to_type(options["returning"])
    for clause in ("on_empty", "on_error"):
        if isinstance(options.get(clause), exp.Expression):
            value = resolve_expression(options[clause], scope)
            if not isinstance(value, Literal):
                raise FlinkDdlError.of("FD401", f"DEFAULT of {name} must be a literal", scope.span(options[clause]))
            options[clause] = ("DEFAULT", "NULL" if value.value is None else value.value)
    raw = tuple(i for i, a in enumerate(args) if isinstance(a, Call) and a.function in _CONSTRUCTORS)
    if raw and name not in ("JSON_VALUE", "JSON_QUERY", "JSON_EXISTS"):
        options["raw"] = raw
    return options


def _logic(node: Any, scope: Scope) -> Rex:
    return call("AND" if isinstance(node, exp.And) else "OR", _all(node.flatten(), scope), span=scope.span(node))


def _negative(node: exp.Expression, scope: Scope) -> Rex:
    value = node.this
    if isinstance(value, exp.Literal) and not value.is_string:
        return _checked(lambda: literals.number("-" + value.this), node, scope)
    if isinstance(value, exp.Neg) and isinstance(value.this, exp.Literal) and not value.this.is_string:
        return _checked(lambda: literals.number(value.this.this), node, scope)
    return call("NEGATE", [resolve_expression(value, scope)], span=scope.span(node), shown="-")


def _between(node: exp.Expression, scope: Scope) -> Rex:
    value, low, high = _all((node.args[k] for k in ("this", "low", "high")), scope)
    span = scope.span(node)

    def inside(a: Rex, b: Rex) -> Rex:
        return call("AND", [call(">=", [value, a], span=span), call("<=", [value, b], span=span)], span=span)

    if node.args.get("symmetric"):
        return call("OR", [inside(low, high), inside(high, low)], span=span)
    return inside(low, high)


def _in(node: exp.Expression, scope: Scope) -> Rex:
    return call("IN", _all((node.this, *node.expressions), scope), span=scope.span(node))


def _is(node: exp.Expression, scope: Scope) -> Rex:
    right = node.expression
    value, span = resolve_expression(node.this, scope), scope.span(node)
    if isinstance(right, exp.Boolean):
        return call("IS TRUE" if right.this else "IS FALSE", [value], span=span)
    if isinstance(right, exp.Null):
        return call("IS NULL", [value], span=span)
    form = form_of(node)
    if form is not None:
        return call(form.name, [value], form.options, span)
    return call("IS UNKNOWN", [value], span=span)


_NEGATED = {f"IS {what}": f"IS NOT {what}" for what in ("NULL", "TRUE", "FALSE", "UNKNOWN", "DISTINCT FROM", "JSON")}


def _not(node: exp.Expression, scope: Scope) -> Rex:
    value = resolve_expression(node.this, scope)
    if not isinstance(node.this, exp.Paren) and isinstance(value, Call) and value.function in _NEGATED:
        return call(_NEGATED[value.function], value.args, dict(value.options), value.span)
    return call("NOT", [value], span=scope.span(node))


def _case(node: exp.Expression, scope: Scope) -> Rex:
    span = scope.span(node)
    subject = node.this and resolve_expression(node.this, scope)
    args: list[Rex] = []
    branches = node.args.get("ifs") or []
    tests = each(partial(_condition, b.this, subject, scope) for b in branches)
    values = _all((b.args["true"] for b in branches), scope)
    for pair in zip(tests, values, strict=True):
        args += pair
    default = node.args.get("default")
    args.append(resolve_expression(default, scope) if default is not None else _NULL)
    return call("CASE", args, span=span)


def _condition(node: exp.Expression, subject: Rex | None, scope: Scope) -> Rex:
    if subject is None:
        return resolve_expression(node, scope)
    choices = node.expressions if isinstance(node, exp.Tuple) else [node]
    span = scope.span(node)
    tests = [call("=", [subject, resolve_expression(c, scope)], span=span) for c in choices]
    return tests[0] if len(tests) == 1 else call("OR", tests, span=span)


# ---- casts and literals ------------------------------------------------------------------------------------------


def _cast(node: exp.Expression, scope: Scope) -> Rex:
    target = to_type(node.args["to"])
    value = resolve_expression(node.this, scope)
    counted = None if isinstance(node, exp.TryCast) else literals.counted(node.this, target)
    if counted is not None:
        return _checked(lambda: literals.amount(counted, target), node, scope)
    return explicit_cast(value, target, isinstance(node, exp.TryCast), scope.span(node))


def _checked(make: Callable[[], Literal], node: exp.Expression, scope: Scope) -> Literal:
    try:
        return make()
    except literals.LiteralError as e:
        raise FlinkDdlError.of("FD406", str(e), scope.span(node)) from None


def _literal(node: exp.Expression, scope: Scope) -> Rex:
    if node.args.get("is_string"):
        return literals.text(node.this)
    return _checked(lambda: literals.number(node.this), node, scope)


_TYPED = {"DATE": literals.date_literal, "TIME": literals.time_literal, "TIMESTAMP": literals.timestamp_literal}


def _typed_literal(node: exp.Expression, scope: Scope) -> Rex:
    return _checked(lambda: _TYPED[node.args["kind"]](node.this.this), node, scope)


def _binary_literal(node: exp.Expression, scope: Scope) -> Rex:
    return _checked(lambda: literals.binary(str(node.this)), node, scope)


def _interval(node: exp.Expression, scope: Scope) -> Rex:
    unit = node.args["unit"]
    first = unit.this.name if isinstance(unit, exp.IntervalSpan) else unit.name
    last = unit.expression.name if isinstance(unit, exp.IntervalSpan) else None
    value = node.this
    if isinstance(value, exp.Literal):
        precision = node.args.get("precision")
        return _checked(lambda: literals.interval(str(value.this), first, last, precision), node, scope)
    one = literals.interval("1", first)
    return call("*", [resolve_expression(value, scope), one], span=scope.span(node))


def _overlaps(node: exp.Expression, scope: Scope) -> Rex:
    """Two periods touch or overlap: the ends of each are put in order first."""
    span = scope.span(node)
    (a_low, a_high), (b_low, b_high) = (_period(p, scope) for p in (node.this, node.expression))
    tests = [call(">=", [a_high, b_low], span=span), call(">=", [b_high, a_low], span=span)]
    return call("AND", tests, span=span)


def _period(node: exp.Expression, scope: Scope) -> tuple[Rex, Rex]:
    span = scope.span(node)
    if not isinstance(node, exp.Tuple) or len(node.expressions) != 2:
        raise FlinkDdlError.of("FD403", "OVERLAPS takes two pairs, (start, end) or (start, interval)", span)
    start, end = (resolve_expression(e, scope) for e in node.expressions)
    if end.type.root in T.INTERVAL:
        end = call("+", [start, end], span=span)
    return call("LEAST", [start, end], span=span), call("GREATEST", [start, end], span=span)


# ---- constructors and access -------------------------------------------------------------------------------------


def _row(node: exp.Expression, scope: Scope) -> Rex:
    return call("ROW", _all(node.expressions, scope), span=scope.span(node))


def _dot(node: exp.Expression, scope: Scope) -> Rex:
    row = resolve_expression(node.this, scope)
    name = node.expression.name
    found = field_access(row, name, scope.span(node))
    if found is None:
        names = [f.name for f in row.type.fields]
        message = f"type {row.type.summary} has no field '{name}'"
        raise FlinkDdlError.of("FD407", message, scope.span(node), did_you_mean(name, names))
    return found


def _item(node: exp.Expression, scope: Scope) -> Rex:
    value = resolve_expression(node.this, scope)
    index = resolve_expression(node.expressions[0], scope)
    span = scope.span(node)
    if value.type.root is T.Root.ROW and isinstance(index, Literal):
        fields = value.type.fields
        if isinstance(index.value, int) and 1 <= index.value <= len(fields):
            found = field_access(value, fields[index.value - 1].name, span)
        else:
            found = field_access(value, str(index.value), span)
        if found is not None:
            return found
    return call("ITEM", [value, index], span=span, shown="[]")


_HANDLERS: dict[type, Callable[[Any, Scope], Rex]] = {
    exp.And: _logic,
    exp.Or: _logic,
    exp.Paren: lambda node, scope: resolve_expression(node.this, scope),
    exp.Neg: _negative,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Not: _not,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Literal: _literal,
    exp.Boolean: lambda node, _: Literal(T.BOOLEAN.not_null(), bool(node.this)),
    exp.Null: lambda node, _: _NULL,
    exp.Interval: _interval,
    exp.HexString: _binary_literal,
    nodes.TypedLiteral: _typed_literal,
    exp.Overlaps: _overlaps,
    exp.Struct: _row,
    exp.Tuple: _row,
    exp.Dot: _dot,
    exp.Bracket: _item,
}
