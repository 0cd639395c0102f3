"""A call of a Java function: the signature that takes its arguments, the casts, and the method that Java calls.

Source: TypeInferenceUtil, OrInputTypeStrategy, SequenceInputTypeStrategy, VaryingSequenceInputTypeStrategy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.functions.java import typed
from flinkddl.functions.java.extract import Extractor
from flinkddl.functions.java.fits import casts_implicitly, needs_no_cast
from flinkddl.functions.java.hints import NoType
from flinkddl.functions.java.invoke import chosen, methods_of, parameters
from flinkddl.functions.java.jtypes import class_of
from flinkddl.functions.java.load import Refused
from flinkddl.functions.java.spec import Accumulator, JavaCall
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.functions.java.classfile import Method
    from flinkddl.functions.java.load import JavaFunction
    from flinkddl.functions.java.mapping import Overload, Signature
    from flinkddl.functions.java.typed import Typed
    from flinkddl.sqltypes import DataType

_FUTURE = "java.util.concurrent.CompletableFuture"
_FINEST_TIME = 3


@dataclass(frozen=True)
class Fitted:
    """A call as it is planned: the type each argument is cast to, the result's type, and what Spark's side gets."""

    arguments: tuple[DataType, ...]
    result: DataType
    call: JavaCall


def fit(name: str, function: JavaFunction, given: Sequence[DataType]) -> Fitted:
    """Return the call of a function with arguments of these types. Raises Refused (FD401, FD522)."""
    given = [t.as_attribute(None) for t in given]
    if function.returns is not None:
        return _declared(name, function, function.returns, given)
    found = _overload(function, given)
    if found is None:
        shown = ", ".join(str(t) for t in given)
        expected = " or ".join(signature_text(name, o.signature) for o in function.overloads)
        raise Refused("FD401", f"cannot apply '{name}' to arguments of type ({shown}): expected {expected}")
    overload, types = found
    return _fitted(name, function, overload, types)


def signature_text(name: str, signature: Signature) -> str:
    """Return a signature as messages show it: ``f(a INT, b STRING...)``."""
    texts = []
    for i, a in enumerate(signature.arguments):
        text = "<ANY>" if a is None else str(a.type)
        texts.append(f"{signature.names[i]} {text}" if i < len(signature.names) else text)
    return f"{name}({', '.join(texts)}{'...' if signature.varargs else ''})"


def _overload(function: JavaFunction, given: Sequence[DataType]) -> tuple[Overload, tuple[Typed, ...]] | None:
    """Return the first signature that takes the arguments as they are, else the first that takes them cast."""
    closest: tuple[Overload, tuple[Typed, ...]] | None = None
    for overload in function.overloads:
        types = _taken(overload.signature, given)
        if types is None:
            continue
        if all(needs_no_cast(g, t.type) for g, t in zip(given, types, strict=True)):
            return overload, types
        closest = closest or (overload, types)
    return closest


def _taken(signature: Signature, given: Sequence[DataType]) -> tuple[Typed, ...] | None:
    wanted = list(signature.arguments)
    if signature.varargs:
        if len(given) < len(wanted) - 1:
            return None
        wanted = [*wanted[:-1], *[wanted[-1]] * (len(given) - len(wanted) + 1)]
    if len(wanted) != len(given):
        return None
    types = tuple(typed.default(g) if w is None else w for g, w in zip(given, wanted, strict=True))
    return types if all(casts_implicitly(g, t.type) for g, t in zip(given, types, strict=True)) else None


def _fitted(name: str, function: JavaFunction, overload: Overload, types: Sequence[Typed]) -> Fitted:
    first = [overload.state.bridge] if overload.state else [_FUTURE] * function.rule.offset
    found = _method(function, [*first, *(t.bridge for t in types)])
    if found is None:
        shown = f"{function.rule.method}({', '.join(t.bridge for t in types)})"
        message = f"'{name}': no method of '{function.class_name}' takes what its hints say: {shown}"
        raise Refused("FD522", message, "correct its hints, or the method's parameters")
    _refuse_fine_times(name, types)
    return _planned(function, found, types, overload.output, overload.state)


def _method(function: JavaFunction, classes: Sequence[str]) -> tuple[Method, bool] | None:
    methods = methods_of(function.path, function.path.chain(function.class_name), function.rule.method)
    return chosen(function.path, methods, classes)


def _planned(
    function: JavaFunction, found: tuple[Method, bool], types: Sequence[Typed], output: Typed, state: Typed | None
) -> Fitted:
    method, varargs = found
    _refuse_unknown(function, [*types, output])
    call = JavaCall(
        class_name=function.class_name,
        jars=function.path.jars,
        kind=function.kind,
        method=method.name,
        descriptor=method.descriptor,
        arguments=tuple(str(typed.as_row(t.type)) for t in types),
        result=str(typed.as_row(output.type)),
        bridges=tuple(t.text for t in types),
        result_bridge=output.text,
        varargs=varargs,
        accumulator=Accumulator(str(typed.as_row(state.type)), state.text) if state else None,
        deterministic=function.deterministic,
    )
    return Fitted(tuple(t.type for t in types), output.type, call)


def _refuse_unknown(function: JavaFunction, types: Sequence[Typed]) -> None:
    for t in types:
        if _has_raw(t):
            message = f"'{function.class_name}' takes or returns a RAW value ({t.type}), which no column of Spark holds"
            raise Refused("FD522", message, "give it a type with @DataTypeHint, or return text or bytes")


def _refuse_fine_times(name: str, types: Sequence[Typed]) -> None:
    """A LocalTime is TIME(9), and Flink's planner has no such values: it refuses each call with one."""
    for t in types:
        if t.type.root is Root.TIME and (t.type.precision or 0) > _FINEST_TIME:
            message = f"'{name}' takes {t.type.summary}, and Flink's SQL has no TIME of more than {_FINEST_TIME} digits"
            raise Refused("FD522", message, 'annotate the parameter with @DataTypeHint("TIME(0)")')


def _has_raw(t: Typed) -> bool:
    return t.type.root is Root.RAW or any(map(_has_raw, t.parts))


# ---- functions whose result the user declares ----------------------------------------------------------------------


def _declared(name: str, function: JavaFunction, returns: Typed, given: Sequence[DataType]) -> Fitted:
    """Take the arguments as they are, by the method that Java takes for their classes, as Flink's compiled call does.

    Where there is none, by the first that has classes of its own for them, such as Flink's ``StringData``.
    """
    path, rule = function.path, function.rule
    extractor = Extractor(path)
    state = None
    if rule.stateful:
        try:
            state = extractor.type_of(extractor.parameter(function.class_name, rule.base, 1))
        except NoType as error:
            raise Refused("FD522", f"the accumulator of '{function.class_name}': {error}") from None
    first = [state.bridge] if state else [_FUTURE] * rule.offset
    method, varargs, types = _reached(name, function, first, given)
    result = method.type.result
    if rule.generic is not None:
        result = extractor.parameter(function.class_name, rule.base, rule.generic)
    return _planned(function, (method, varargs), types, extractor.closest(returns, class_of(result)), state)


def _reached(
    name: str, function: JavaFunction, first: Sequence[str], given: Sequence[DataType]
) -> tuple[Method, bool, tuple[Typed, ...]]:
    path, offset = function.path, function.rule.offset
    methods = methods_of(path, path.chain(function.class_name), function.rule.method)
    plain = tuple(typed.default(g) for g in given)
    if (found := chosen(path, methods, [*first, *(t.bridge for t in plain)])) is not None:
        return *found, _bridged(found[0], offset, given, found[1]) or plain
    for method in methods:
        if (types := _bridged(method, offset, given, method.varargs)) is not None:
            return method, method.varargs, types
    shown = ", ".join(str(t) for t in given)
    expected = " or ".join(f"{m.name}({', '.join(parameters(m)[offset:])})" for m in methods)
    raise Refused("FD401", f"cannot apply '{name}' to arguments of type ({shown}): it has {expected}")


def _bridged(method: Method, offset: int, given: Sequence[DataType], varargs: bool) -> tuple[Typed, ...] | None:
    wanted = parameters(method)[offset:]
    if varargs and len(given) >= len(wanted) - 1:
        wanted = [*wanted[:-1], *[wanted[-1][:-2]] * (len(given) - len(wanted) + 1)]
    if len(wanted) != len(given):
        return None
    types = [typed.default(g) for g in given]
    if not all(w == "java.lang.Object" or t.converts(w) for t, w in zip(types, wanted, strict=True)):
        return None
    return tuple(t if w == "java.lang.Object" else t.bridged(w) for t, w in zip(types, wanted, strict=True))
