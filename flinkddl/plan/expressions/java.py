"""Calls of Java functions of Flink: read from their jars, typed as Flink types them, as rows of an array where a table.

A call is a ``Call`` (or ``AggCall``) named ``JAVA`` with the options ``name``, ``call`` (a ``JavaCall``, the contract
with Spark's side) and ``script_jars``: those of its jars that nobody but the script names, of which nothing is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flinkddl import sqltypes as T
from flinkddl.diagnostics import NOTHING, About, FlinkDdlError
from flinkddl.diagnostics.kinds import OF_USER
from flinkddl.dialect.nodes import NamedArgument
from flinkddl.functions.java import typed
from flinkddl.functions.java.call import Fitted, fit, signature_text
from flinkddl.functions.java.classpath import ClassPath
from flinkddl.functions.java.fits import needs_no_cast
from flinkddl.functions.java.load import JavaFunction, Refused, load
from flinkddl.functions.user import UndeclaredTypes, parse_type
from flinkddl.plan.expressions.build import as_written, cast
from flinkddl.plan.rex import Call, Literal
from flinkddl.plan.scope import AggregateUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flinkddl.catalog.model import Function
    from flinkddl.diagnostics import Span
    from flinkddl.functions.java.spec import Kind
    from flinkddl.plan.rex import Rex
    from flinkddl.plan.scope import Scope
    from flinkddl.sqltypes import DataType

JAVA = "JAVA"
"""The name of such a call in a plan."""

_KINDS: dict[Kind, tuple[str, str]] = {
    "scalar": ("a scalar function", "call it where an expression stands"),
    "async": ("a scalar function", "call it where an expression stands"),
    "table": ("a table function", "call it in FROM: LATERAL TABLE({}(..)) AS t (..)"),
    "aggregate": ("an aggregate function", "call it in the SELECT or HAVING of a query that may have a GROUP BY"),
    "table_aggregate": ("a table aggregate function", "Flink calls those in its Table API alone"),
}


def loaded(name: str, function: Function, span: Span | None) -> JavaFunction:
    """Return a user's Java function as its class file has it.

    Raises FlinkDdlError: FD402 (no jar is named), FD519 (a jar), FD520 (no such class), FD521 (no function), FD522 and
    FD523 (its types), FD527 (what the user says it returns is no type).
    """
    try:
        returns = typed.default(parse_type(function.returns)) if function.returns else None
        return load(function.identifier, ClassPath(function.class_path), returns)
    except UndeclaredTypes as e:
        message = f"'{name}' is said to return '{function.returns}': {e}"
        raise FlinkDdlError.of("FD527", message, span, "write a type of Flink SQL behind RETURNS") from None
    except Refused as e:
        raise _error(e, name, span) from None


def _error(refused: Refused, name: str, span: Span | None) -> FlinkDdlError:
    help, message, about = refused.help, str(refused), NOTHING
    if refused.code in ("FD402", "FD520"):
        help = f"{help}; or give a Python function in its place: '--udf {name}=module:function'"
        message, about = f"'{name}' is a Java function, and {message}", About(name, OF_USER)
    return FlinkDdlError.of(refused.code, message, span, help, about=about)


Arguments = Sequence[tuple[str | None, "Rex"]]
"""The arguments of a call as it is written: their names (``name => x``), None for those without, and their values."""


def named_arguments(nodes: Iterable[Any], value: Callable[[Any], Rex]) -> Arguments:
    """Return the arguments of a call; ``value`` resolves one."""
    return [(n.this.name, value(n.expression)) if isinstance(n, NamedArgument) else (None, value(n)) for n in nodes]


def java_call(name: str, function: Function, args: Arguments, span: Span | None) -> Rex:
    """Build the call of a scalar function. Raises FlinkDdlError: those of ``loaded``, FD401 and FD526."""
    name = as_written(name, span)
    java = loaded(name, function, span)
    if java.kind not in ("scalar", "async"):
        raise misplaced(name, java, span)
    values = placed(name, java, args, span)
    fitted = fitted_call(name, java, [a.type for a in values], span)
    return Call(fitted.result, JAVA, passed(values, fitted, span), options(name, function, fitted), span)


def table_call(name: str, function: Function, args: Arguments, span: Span | None) -> Rex:
    """Build the call of a table function: its rows as an array of ROWs. Raises as ``java_call``."""
    java = loaded(name, function, span)
    if java.kind != "table":
        raise misplaced(name, java, span)
    values = placed(name, java, args, span)
    fitted = fitted_call(name, java, [a.type for a in values], span)
    row = fitted.result if fitted.result.root is T.Root.ROW else T.ROW(("EXPR$0", fitted.result))
    made = T.ARRAY(row.not_null()).not_null()
    return Call(made, JAVA, passed(values, fitted, span), options(name, function, fitted), span)


def java_aggregate(name: str, scope: Scope, span: Span | None) -> tuple[Function, JavaFunction] | None:
    """Return the user's aggregate function of a name, or None for any other. Raises those of ``loaded``."""
    function, name = scope.function(name), as_written(name, span)
    if function is None or function.language == "PYTHON":
        return None
    java = loaded(name, function, span)
    return (function, java) if java.kind == "aggregate" else None


def java_use(name: str, found: tuple[Function, JavaFunction], args: Arguments, span: Span | None) -> AggregateUse:
    """Return the call of an aggregate function. Raises FlinkDdlError: FD401 or FD522."""
    (function, java), name = found, as_written(name, span)
    values = placed(name, java, args, span)
    fitted = fitted_call(name, java, [a.type for a in values], span)
    given = (*options(name, function, fitted), ("retracts", java.retracts))
    return AggregateUse(JAVA, passed(values, fitted, span), fitted.result, options=given, span=span)


def placed(name: str, java: JavaFunction, args: Arguments, span: Span | None) -> list[Rex]:
    """Return the arguments in the order of the function's only signature, NULL for optional ones that are left out.

    Of a function with several, or with any number of arguments, none can be named or left out. Raises FlinkDdlError
    FD401.
    """
    if len({n is None for n, _ in args}) > 1:  # Flink fails at both orders
        message = f"some arguments of '{name}' have names, others have none"
        raise FlinkDdlError.of("FD401", message, span, "name all, or none")
    signature = java.overloads[0].signature if len(java.overloads) == 1 else None
    if signature is None or signature.varargs or len(signature.names) != len(signature.arguments):
        if any(n is not None for n, _ in args):
            raise FlinkDdlError.of("FD401", f"the arguments of '{name}' have no names", span, "leave the names out")
        return [value for _, value in args]
    given = {
        n if n is not None else signature.names[i]: value for i, (n, value) in enumerate(args[: len(signature.names)])
    }
    unknown = next((n for n, _ in args if n is not None and n not in signature.names), None)
    if unknown is not None or len(given) < len(args):
        message = (
            f"'{name}' has no argument '{unknown}'" if unknown else f"'{name}' does not take {len(args)} arguments"
        )
        raise FlinkDdlError.of("FD401", message, span, f"it is {signature_text(name, signature)}")
    values = []
    for wanted, argument, optional in zip(signature.names, signature.arguments, signature.optional, strict=True):
        if wanted in given:
            values.append(given[wanted])
        elif optional and argument is not None:
            values.append(Literal(argument.type.with_nullable(True), None))
    return values


def misplaced(name: str, java: JavaFunction, span: Span | None) -> FlinkDdlError:
    """Return the error for a function that stands where one of another kind may."""
    what, help = _KINDS[java.kind]
    return FlinkDdlError.of("FD526", f"'{name}' is {what} and cannot be called here", span, help.format(name))


def fitted_call(name: str, java: JavaFunction, types: Sequence[DataType], span: Span | None) -> Fitted:
    """Return the call with arguments of these types. Raises FlinkDdlError FD401 or FD522."""
    try:
        return fit(name, java, types)
    except Refused as e:
        raise _error(e, name, span) from None


def passed(args: Sequence[Rex], fitted: Fitted, span: Span | None) -> tuple[Rex, ...]:
    """Return the arguments as the function takes them: cast where Flink casts them."""
    return tuple(_passed(a, t, span) for a, t in zip(args, fitted.arguments, strict=True))


def _passed(arg: Rex, target: DataType, span: Span | None) -> Rex:
    as_it_is = not (target.fields or target.children) and needs_no_cast(arg.type, target)
    return arg if as_it_is else cast(arg, target.with_nullable(arg.type.nullable), span)


def options(name: str, function: Function, fitted: Fitted) -> tuple[tuple[str, Any], ...]:
    """Return the options of the planned call."""
    call = replace(fitted.call, parameters=function.parameters)
    return (("name", name), ("call", call), ("script_jars", function.script_jars))
