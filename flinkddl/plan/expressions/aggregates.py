"""Aggregate and window function calls: what they take and give, before their arguments become input columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.dialect import nodes
from flinkddl.functions.catalogue import AGGREGATES, lookup
from flinkddl.plan.expressions.build import fitted
from flinkddl.plan.expressions.forms import form_of
from flinkddl.plan.expressions.resolve import no_aggregate, resolve_expression
from flinkddl.plan.rex import Call, Literal, uncast
from flinkddl.plan.scope import AggregateUse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.catalog.model import Function
    from flinkddl.diagnostics import Span
    from flinkddl.functions.java.load import JavaFunction
    from flinkddl.plan.rex import Rex
    from flinkddl.plan.scope import Scope


def is_aggregate(node: exp.Expression, scope: Scope | None = None) -> bool:
    """Whether the node itself is the call of an aggregate function (FILTER and IGNORE NULLS around it included).

    With a scope, of a user's in Java too: raises FlinkDdlError for a Java function that cannot be had.
    """
    if isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        return is_aggregate(node.this, scope)
    if isinstance(node, exp.Column | exp.Literal | exp.Query | exp.Identifier | nodes.Statement):
        return False
    form = form_of(node)
    if form is None or lookup(form.name.upper()) is not None:
        return False
    if form.name.upper() in AGGREGATES:
        return True
    return scope is not None and _of_user(form.name, scope, scope.span(node)) is not None


def resolve_aggregate(node: exp.Expression, scope: Scope, grouped: bool = True) -> AggregateUse:
    """Resolve and type an aggregate or window function call. Raises FlinkDdlError (FD401, FD402, FD408).

    Without ``grouped`` the result may be NULL, because a global aggregate over no rows is.
    """
    node, condition, ignore_nulls = _clauses(node, scope)
    form, span = form_of(node), scope.span(node)
    function = AGGREGATES.get(form.name.upper()) if form is not None else None
    if form is None or function is None:
        java = _of_user(form.name, scope, span) if form is not None else None
        if form is None or java is None:
            raise no_aggregate(node, scope)
        from flinkddl.plan.expressions.java import java_use, named_arguments

        distinct, plain = _plain_args(form.args)
        use = java_use(form.name, java, named_arguments(plain, lambda a: resolve_expression(a, scope)), span)
        return replace(use, distinct=distinct, filter=condition)
    if function.batch_only and scope.session.streaming:
        raise FlinkDdlError.of("FD402", f"aggregate '{form.name}' is for batch mode only", span)
    distinct, plain = _plain_args(form.args)
    args = tuple(resolve_expression(a, scope) for a in plain)
    options = {**form.options, **_constants(function.name, args, span)}
    ignore_nulls = options.pop("ignore_nulls", ignore_nulls)
    typed, result = fitted(function, args, {**options, "distinct": distinct}, form.name, span)
    if function.empty_is_null and (not grouped or condition is not None):
        result = result.with_nullable(True)
    return AggregateUse(function.name, typed, result, distinct, condition, ignore_nulls, tuple(options.items()), span)


def _of_user(name: str, scope: Scope, span: Span | None) -> tuple[Function, JavaFunction] | None:
    """Return the user's aggregate function in Java, or None. What reads jars is imported for those who have one."""
    if scope.function(name) is None:
        return None
    from flinkddl.plan.expressions.java import java_aggregate

    return java_aggregate(name, scope, span)


def _clauses(node: exp.Expression, scope: Scope) -> tuple[exp.Expression, Rex | None, bool | None]:
    """Return a call without what stands around it, the condition of FILTER, and whether it ignores NULLs."""
    condition: Rex | None = None
    ignore_nulls: bool | None = None
    while isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        if isinstance(node, exp.Filter):
            where = node.expression
            condition = resolve_expression(where.this if isinstance(where, exp.Where) else where, scope)
        else:
            ignore_nulls = isinstance(node, exp.IgnoreNulls)
        node = node.this
    return node, condition, ignore_nulls


def _constants(name: str, args: tuple[Rex, ...], span: Span | None) -> dict[str, Any]:
    """Return what of the arguments must be known before there are rows; Spark would not take it as a column."""
    if name == "PERCENTILE" and len(args) > 1 and isinstance(args[1], Call) and args[1].function == "ARRAY":
        shares = [uncast(a) for a in args[1].args]  # the elements of an array are cast to one type
        if not all(isinstance(s, Literal) and s.value is not None for s in shares):
            raise FlinkDdlError.of("FD401", "the shares of PERCENTILE must be literals", span)
        return {"shares": tuple(s.value for s in shares if isinstance(s, Literal))}
    if name == "NTILE" and args and not _counts(args[0]):
        raise FlinkDdlError.of("FD401", "the number of groups of NTILE must be a literal of 1 or more", span)
    raw = tuple(i for i, a in enumerate(args) if isinstance(a, Call) and a.function in ("JSON_OBJECT", "JSON_ARRAY"))
    return {"raw": raw} if raw and name.startswith("JSON") else {}


def _counts(rex: Rex) -> bool:
    return isinstance(rex, Literal) and isinstance(rex.value, int) and rex.value > 0


def _plain_args(args: Sequence[Any]) -> tuple[bool, list[Any]]:
    """Take DISTINCT and ``*`` off the arguments of an aggregate."""
    if args and isinstance(args[0], exp.Distinct):
        return True, [*args[0].expressions, *args[1:]]
    # ARRAY_AGG(v ORDER BY v): Flink reads the order and does nothing with it
    return False, [a.this if isinstance(a, exp.Order) else a for a in args if not isinstance(a, exp.Star)]
