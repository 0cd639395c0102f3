"""Typed calls and casts, built by hand: implicit casts are inserted, messages carry codes and places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl import sqltypes as T
from flinkddl.diagnostics import About, FlinkDdlError
from flinkddl.diagnostics.kinds import MISSPELLED
from flinkddl.diagnostics.report import suggest
from flinkddl.functions.aggregate import Aggregate
from flinkddl.functions.catalogue import AGGREGATES, FUNCTIONS, lookup
from flinkddl.functions.core import NO_VALUE, Operand, SignatureError, Unavailable
from flinkddl.functions.typing import can_cast_implicitly
from flinkddl.functions.user import UndeclaredTypes, declared, untouchable
from flinkddl.plan.rex import Call, Literal, Rex
from flinkddl.typecasts import CastRefused, check_cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from flinkddl.catalog.model import Function as UserFunction
    from flinkddl.diagnostics import Span
    from flinkddl.functions.core import Function
    from flinkddl.sqltypes import DataType

_SHOWN = 60


def call(
    name: str, args: Sequence[Rex], options: Mapping[str, Any] | None = None, span: Span | None = None, shown: str = ""
) -> Rex:
    """Build a typed call of a catalogue function, with the implicit casts of its arguments.

    ``shown`` is the name as the user wrote it, for messages. Raises FlinkDdlError: FD400 unknown function, FD401
    arguments do not fit, FD402 known to Flink but not available here.
    """
    function = lookup(name)
    if function is None:
        raise unknown(shown or name, span)
    opts = dict(options or {})
    typed, result = fitted(function, args, opts, shown or name, span)
    return Call(result, function.name, typed, tuple(opts.items()), span)


def fitted(
    function: Function, args: Sequence[Rex], options: Mapping[str, Any], shown: str, span: Span | None
) -> tuple[tuple[Rex, ...], DataType]:
    """Return the arguments of a function or aggregate with their implicit casts, and its result type."""
    what, got = ("aggregate", "") if isinstance(function, Aggregate) else ("function", "arguments of type ")
    try:
        types = function.operands([_operand(a) for a in args], options)
    except SignatureError as e:
        got += f"({', '.join(str(a.type) for a in args)})"
        raise FlinkDdlError.of("FD401", f"cannot apply '{shown}' to {got}: {e}", span) from None
    except Unavailable as e:
        raise FlinkDdlError.of("FD402", f"{what} '{shown}' is not available on Spark: {e}", span) from None
    typed = tuple(cast(a, t, span) for a, t in zip(args, types, strict=True))
    return typed, function.result_type([_operand(a) for a in typed], options)


def cast(rex: Rex, target: DataType, span: Span | None = None) -> Rex:
    """Return the value as ``target``: itself when the types agree but for nullability and time attribute."""
    if rex.type.not_null() == target.not_null() or (
        rex.type.as_attribute(None).not_null() == target.as_attribute(None).not_null()
    ):
        return rex
    if isinstance(rex, Literal) and rex.value is None:
        return Literal(target.with_nullable(True), None)
    nullable = rex.type.nullable or target.root is T.Root.NULL
    return Call(target.with_nullable(nullable), "CAST", (rex,), (), span)


def _operand(rex: Rex) -> Operand:
    """Return what the catalogue may know of an argument."""
    return Operand(rex.type, rex.value if isinstance(rex, Literal) else NO_VALUE)


def is_known(name: str) -> bool:
    """Whether the catalogue has a function or an aggregate of that name, in any case."""
    return lookup(name) is not None or name.upper() in AGGREGATES


def quoted(node: exp.Expression, span: Span | None) -> str:
    """Return an expression as messages quote it: as it is written, in one line and not too long."""
    text = " ".join((span.text if span is not None else node.sql()).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def as_written(name: str, span: Span | None) -> str:
    """Return a function's name in the case that the call at this place has it in: a tree has capitals."""
    written = span.text[: len(name)] if span is not None else ""
    return written if written.upper() == name.upper() else name


def unknown(name: str, span: Span | None) -> FlinkDdlError:
    """Return the error for a name that is no function: the nearest one that is, or how to give one's own.

    ``TO_TIMESTAMP_UDF`` is no slip of the pen: a known name with more words around it is one of the user's own.
    """
    name = as_written(name, span)
    near = suggest(name, [n for n in (*FUNCTIONS, *AGGREGATES) if n.isidentifier()])
    own = near is None or name.upper().startswith(f"{near}_") or name.upper().endswith(f"_{near}")
    given = f"give a Python function for it with '--udf {name}=module:function', or " if name.isidentifier() else ""
    help = f"{given}declare it with CREATE FUNCTION" if own else f"did you mean '{near}'?"
    about = About(name, "" if own else MISSPELLED)
    return FlinkDdlError.of("FD400", f"unknown function '{name}'", span, help, about=about)


def explicit_cast(value: Rex, target: DataType, try_: bool = False, span: Span | None = None) -> Rex:
    """Build CAST or TRY_CAST. Raises FlinkDdlError FD405 where Flink knows no such cast."""
    try:
        check_cast(value.type, target)
    except CastRefused as e:
        raise FlinkDdlError.of("FD405", str(e), span) from None
    if target.root in T.INTERVAL:
        months = target.root is T.Root.INTERVAL_YEAR_MONTH
        target = T.INTERVAL_YM("MONTH") if months else T.INTERVAL_DT("SECOND", None, 3)
    nullable = value.type.nullable or try_ or value.type.root is T.Root.NULL
    result = target.with_nullable(nullable)
    if isinstance(value, Literal) and value.value is None:
        return Literal(result, None)
    if value.type.as_attribute(None).not_null() == target.not_null():
        return value if not try_ else Call(result, "REINTERPRET", (value,), (), span)
    return Call(result, "TRY_CAST" if try_ else "CAST", (value,), (), span)


def user_call(name: str, function: UserFunction, args: Sequence[Rex], span: Span | None) -> Rex:
    """Build the call of a user's Python function: its declared types decide.

    Raises FlinkDdlError: FD401 arguments that do not fit, FD402 one without declared types, FD671 what no script calls.
    """
    module = function.identifier.replace(":", ".").rpartition(".")[0]
    if (why := untouchable(module)) is not None:
        message = f"'{name}' is '{function.identifier}', {why}, which no script may call"
        raise FlinkDdlError.of(
            "FD671", message, span, "write a function in a module of your own that does what you need"
        )
    try:
        user = declared(function.identifier, function.named)
    except UndeclaredTypes as e:
        help = 'annotate it, or declare its types with \'@flinkddl.functions.user.udf("INT", ["STRING"])\''
        if not function.named:
            help += f"; or have it imported with --allow-python {module}"
        raise FlinkDdlError.of("FD402", str(e), span, help) from None
    if user.arguments is not None and len(user.arguments) != len(args):
        raise FlinkDdlError.of("FD401", f"'{name}' takes {len(user.arguments)} arguments, not {len(args)}", span)
    for arg, wanted in zip(args, user.arguments or (), strict=False):
        if not can_cast_implicitly(arg.type, wanted):
            raise FlinkDdlError.of("FD401", f"'{name}' takes {wanted.summary}, not {arg.type.summary}", span)
    types = user.arguments or tuple(a.type for a in args)
    typed = tuple(cast(a, t.with_nullable(a.type.nullable), span) for a, t in zip(args, types, strict=True))
    options = (("name", f"udf_{name}"), ("target", user.target))
    return Call(user.result, "USER", typed, options, span)
