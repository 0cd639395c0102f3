"""From a function's methods and hints to its signatures and their results.

Source: TypeInferenceExtractor, BaseMappingExtractor and FunctionTemplate, of which the messages are too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from flinkddl.functions.java import hints as H
from flinkddl.functions.java.extract import Extractor
from flinkddl.functions.java.hints import NOTHING, NoType, hint_of, hints_of, type_hint
from flinkddl.functions.java.invoke import assignable, invokable, methods_of
from flinkddl.functions.java.jtypes import Named, raw
from flinkddl.functions.java.typed import Typed, of_class
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from flinkddl.functions.java.classfile import Annotation, ClassFile, Method
    from flinkddl.functions.java.classpath import ClassPath
    from flinkddl.functions.java.spec import Kind

Which = Literal["output", "state"]


@dataclass(frozen=True)
class Signature:
    """What a call may be given: the type of each argument, None for any; names and optional ones stand beside."""

    arguments: tuple[Typed | None, ...]
    varargs: bool = False
    names: tuple[str, ...] = field(default=(), compare=False)
    optional: tuple[bool, ...] = field(default=(), compare=False)

    @property
    def classes(self) -> list[str]:
        """The classes that carry the arguments, the last as an array where it takes any number."""
        found = ["java.lang.Object" if a is None else a.bridge for a in self.arguments]
        return [*found[:-1], f"{found[-1]}[]"] if self.varargs else found


@dataclass(frozen=True)
class Overload:
    """One signature of a function, with its result and for aggregates the accumulator."""

    signature: Signature
    output: Typed
    state: Typed | None = None


@dataclass(frozen=True)
class Rule:
    """How types are derived for a kind of function. ``base``: Flink's class; ``offset``: parameters that are no
    arguments; ``generic``: which type parameter of ``base`` is the result.
    """

    kind: Kind
    base: str
    method: str
    offset: int = 0
    generic: int | None = None
    stateful: bool = False


@dataclass(frozen=True)
class _Hint:
    signature: Signature | None
    output: Typed | None
    state: Typed | None

    def result(self, which: Which) -> Typed | None:
        return self.output if which == "output" else self.state


def overloads(path: ClassPath, chain: Sequence[ClassFile], rule: Rule) -> tuple[Overload, ...]:
    """Return the signatures of a function class in Flink's order. Raises NoType."""
    function = _Function(path, chain, rule)
    outputs = function.mappings("output", function.output_of)
    if not rule.stateful:
        return tuple(Overload(s, o) for s, o in outputs.items())
    states = function.mappings("state", function.state_of)
    if states.keys() != outputs.keys():
        raise NoType(
            "Mismatch between state signature and output signature. "
            "Both intermediate and output results must be derived from the same input strategy."
        )
    return tuple(Overload(s, o, states[s]) for s, o in outputs.items())


class _Function:
    def __init__(self, path: ClassPath, chain: Sequence[ClassFile], rule: Rule) -> None:
        self._path, self._chain, self._rule = path, chain, rule
        self._extractor = Extractor(path)
        self._hierarchy = path.hierarchy(Named(chain[0].name))
        self._global = self._hints(a for c in reversed(chain) for a in hints_of(c.annotations, H.FUNCTION_HINT))

    # ---- mappings from signature to result -------------------------------------------------------------------------

    def mappings(self, which: Which, extracted: Callable[[Method], Typed]) -> dict[Signature, Typed]:
        collected: dict[Signature, Typed] = {}
        methods = methods_of(self._path, self._chain, self._rule.method)
        if not methods:
            raise NoType(f"Could not find a publicly accessible method named '{self._rule.method}'.")
        for method in methods:
            try:
                found = self._of_method(method, which, extracted)
                for signature, result in found.items():
                    self._verify(method, which, signature, result)
                    _put(collected, signature, result)
            except NoType as error:
                shown = f"{method.name}({', '.join(map(str, method.type.parameters))})"
                raise NoType(f"Unable to extract a type inference from method '{shown}': {error}") from None
        return collected

    def _of_method(self, method: Method, which: Which, extracted: Callable[[Method], Typed]) -> dict[Signature, Typed]:
        local = self._hints(hints_of(method.annotations, H.FUNCTION_HINT))
        every = [*self._global, *local]
        only = _unique(h.result(which) for h in every if h.signature is None)
        explicit = [h for h in every if h.signature is not None and h.result(which) is not None]
        inputs = _unique(h.signature for h in every if h.result(which) is None)
        found: dict[Signature, Typed] = {}
        for h in explicit:
            for signature in (*inputs, h.signature):
                _put(found, signature, h.result(which))
        unique = _only_result(only, [h.result(which) for h in explicit])
        if unique is not None:
            for signature in inputs or [self._signature(method)]:
                _put(found, signature, unique)
        if not found:
            result = extracted(method)
            for signature in inputs or [self._signature(method)]:
                _put(found, signature, result)
        return found

    def _verify(self, method: Method, which: Which, signature: Signature, result: Typed) -> None:
        """Check that a method can be called so. Source: FunctionMappingExtractor's verifications."""
        rule = self._rule
        if rule.stateful and which == "output":
            return
        first = [result.bridge] if which == "state" else ["java.util.concurrent.CompletableFuture"] * rule.offset
        classes = [*first, *signature.classes]
        fits = invokable(self._path, "strict", method, classes)
        if rule.kind == "scalar":
            fits = fits and assignable(self._path, result.bridge, raw(method.erased.result), "jvm")
        if not fits:
            returned = f"{result.bridge} " if rule.kind == "scalar" else ""
            shown = f"{returned}{method.name}({', '.join(classes)})"
            raise NoType(f"Considering all hints, the method should comply with the signature: {shown}")

    # ---- hints -----------------------------------------------------------------------------------------------------

    def _hints(self, annotations: Iterable[Annotation]) -> list[_Hint]:
        return _unique(self._hint(a) for a in annotations)

    def _hint(self, hint: Annotation) -> _Hint:
        output, state = type_hint(hint, "output"), type_hint(hint, "accumulator")
        states: list[Annotation] = hint.values.get("state") or []
        if state is None and states:
            state = type_hint(states[0], "type")
        return _Hint(
            self._hinted_signature(hint),
            None if output is None else self._result(output, "function result"),
            None if state is None else self._result(state, "accumulator"),
        )

    def _result(self, hint: Annotation, what: str) -> Typed:
        made = self._extractor.hinted(hint).typed
        if made is None:
            raise NoType(f"Data type hint does not specify a data type for use as {what}.")
        return made

    def _hinted_signature(self, hint: Annotation) -> Signature | None:
        values = hint.values
        arguments: list[Annotation] = values.get("argument") or values.get("arguments") or []
        varargs = bool(values.get("isVarArgs"))
        if arguments:
            types = [type_hint(a, "type") for a in arguments]
            names = tuple(str(a.values.get("name", "")) for a in arguments)
            optional = tuple(bool(a.values.get("isOptional")) for a in arguments)
            made = tuple(self._hinted_argument(t, i) for i, t in enumerate(types))
            return Signature(made, varargs, names if all(names) else (), optional)
        inputs: list[Annotation] | None = values.get("input")
        if inputs is None or (len(inputs) == 1 and not inputs[0].values):
            return None
        names = tuple(n for n in values.get("argumentNames", ()) if n)
        return Signature(tuple(self._hinted_argument(t, i) for i, t in enumerate(inputs)), varargs, names)

    def _hinted_argument(self, hint: Annotation | None, position: int) -> Typed | None:
        said = NOTHING if hint is None else self._extractor.hinted(hint)
        if said.typed is None and not said.any:
            raise NoType(f"Data type missing for scalar argument at position {position}.")
        return said.typed

    # ---- methods -----------------------------------------------------------------------------------------------------

    def _signature(self, method: Method) -> Signature:
        positions = [
            i
            for i in range(self._rule.offset, len(method.type.parameters))
            if hint_of(method.annotations_of(i), H.STATE_HINT) is None
        ]
        arguments = tuple(self._argument(method, i) for i in positions)
        named = [hint_of(method.annotations_of(i), H.ARGUMENT_HINT) for i in positions]
        names = tuple(
            (h.values.get("name") if h else "") or (method.names[i] if method.names else f"arg{at}")
            for at, (i, h) in enumerate(zip(positions, named, strict=True))
        )
        optional = tuple(bool(h and h.values.get("isOptional")) for h in named)
        for at, (a, o) in enumerate(zip(arguments, optional, strict=True)):
            if o and a is not None and not a.type.nullable:
                raise NoType(f"Argument at position {at} is optional but its type doesn't accept null value.")
        return Signature(arguments, method.varargs, names, optional)

    def _argument(self, method: Method, position: int) -> Typed | None:
        annotations = method.annotations_of(position)
        argument, hint = hint_of(annotations, H.ARGUMENT_HINT), hint_of(annotations, H.DATA_TYPE_HINT)
        if argument is not None:
            if hint is not None:
                raise NoType(
                    f"Argument and data type hints cannot be declared at the same time at position {position}."
                )
            if any(trait != "SCALAR" for trait in argument.values.get("value", ())):
                raise NoType("Only scalar arguments are supported at this location.")
            hint = argument.values.get("type")
        said = NOTHING if hint is None else self._extractor.hinted(hint)
        if said.any:
            return None
        found = self._extractor.type_of(method.type.parameters[position], said, self._hierarchy)
        if method.varargs and position == len(method.type.parameters) - 1:
            if found.type.root is Root.ARRAY:
                return found.parts[0]
            if found.bridge == "byte[]":
                return of_class("byte")
        return found

    def output_of(self, method: Method) -> Typed:
        rule = self._rule
        if rule.kind == "scalar":
            hint = hint_of(method.annotations, H.DATA_TYPE_HINT)
            said = NOTHING if hint is None else self._extractor.hinted(hint)
            return self._extractor.type_of(method.type.result, said, self._hierarchy)
        every = [*method.annotations, *(a for c in self._chain for a in c.annotations)]
        hints = _unique(a for a in every if a.name == H.DATA_TYPE_HINT)
        if len(hints) > 1:
            raise NoType(
                "More than one data type hint found for output of function. Please use a function hint instead."
            )
        if hints:
            return self._result(hints[0], "function result")
        return self._generic(rule.generic) if rule.generic is not None else self._future(method)

    def _future(self, method: Method) -> Typed:
        future = method.type.parameters[0] if method.type.parameters else None
        future = future and self._extractor.with_resolved(future, self._hierarchy)
        if not isinstance(future, Named) or len(future.args) != 1:
            raise NoType(f"The method '{method.name}' needs generic parameters for the 0 arg.")
        hint = hint_of(method.annotations_of(0), H.DATA_TYPE_HINT)
        said = NOTHING if hint is None else self._extractor.hinted(hint)
        return self._extractor.type_of(future.args[0], said, self._hierarchy)

    def state_of(self, method: Method) -> Typed:
        for i, found in enumerate(method.parameter_annotations):
            if (hint := hint_of(found, H.STATE_HINT)) is not None:
                inner = type_hint(hint, "type")
                said = NOTHING if inner is None else self._extractor.hinted(inner)
                return self._extractor.type_of(method.type.parameters[i], said, self._hierarchy)
        return self._generic(1)

    def _generic(self, position: int) -> Typed:
        found = self._extractor.parameter(self._chain[0].name, self._rule.base, position)
        return self._extractor.type_of(found, NOTHING, self._hierarchy)


def _unique(values: Iterable[object]) -> list:  # type: ignore[type-arg]
    found: list[object] = []
    for value in values:
        if value is not None and value not in found:
            found.append(value)
    return found


def _only_result(only: Sequence[Typed], mapped: Sequence[Typed | None]) -> Typed | None:
    """Return the result that hints without input name. Source: TemplateUtils.findResultOnlyTemplate."""
    if len(only) == 1 and len(_unique((*only, *mapped))) == 1:
        return only[0]
    if len(only) > 1 or (only and mapped):
        raise NoType("Function hints that lead to ambiguous results are not allowed.")
    return None


def _put(found: dict[Signature, Typed], signature: Signature | None, result: Typed | None) -> None:
    assert signature is not None  # explicit mappings have both
    assert result is not None
    if found.setdefault(signature, result) != result:
        raise NoType("Function hints with same input definition but different result types are not allowed.")
