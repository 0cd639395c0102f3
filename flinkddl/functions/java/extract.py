"""Flink types out of Java types. Source: DataTypeExtractor, of which the messages are too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.java import structured, typed
from flinkddl.functions.java.hints import ARGUMENT_HINT, DATA_TYPE_HINT, NOTHING, NoType, Template, hint_of, template
from flinkddl.functions.java.jtypes import OBJECT, ArrayOf, JType, Named, Variable, class_of, raw
from flinkddl.functions.java.typed import LIST_VIEW, MAP_VIEW, ROW, Typed
from flinkddl.functions.user import UndeclaredTypes, parse_type
from flinkddl.sqltypes import DataType, Root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.functions.java.classfile import Annotation
    from flinkddl.functions.java.classpath import ClassPath

_ZONED = "a TIMESTAMP WITH TIME ZONE, which no table has"


@dataclass(frozen=True)
class Extractor:
    """Derives types with the classes of some jars."""

    path: ClassPath

    def hinted(self, hint: Annotation) -> Template:
        """Return what a ``@DataTypeHint`` says, its type made. Raises NoType."""
        return template(hint, self._hinted_type)

    def type_of(self, t: JType, outer: Template = NOTHING, hierarchy: Sequence[JType] = ()) -> Typed:
        """Return the Flink type of a Java type; ``hierarchy`` says what its type variables stand for. Raises NoType."""
        if isinstance(t, Variable):
            t = self.resolved(t, hierarchy)
        name = class_of(t)
        found = self.path.find(name) if name is not None else None
        hints = () if found is None else found.annotations
        if (hint := hint_of(hints, DATA_TYPE_HINT)) is not None:
            outer = outer.over(self.hinted(hint))
        elif (argument := hint_of(hints, ARGUMENT_HINT)) is not None and "type" in argument.values:
            outer = outer.over(self.hinted(argument.values["type"]))
        return self.closest(_as_view(self._or_raw(t, outer, hierarchy), name), name)

    def resolved(self, variable: Variable, hierarchy: Sequence[JType]) -> JType:
        """Return what a type variable stands for, itself where nothing says it. Source: resolveVariable."""
        current = variable
        for t in reversed(hierarchy):
            if not isinstance(t, Named) or not t.args or (declared := self.path.generic(t.name)) is None:
                continue
            if current.owner == t.name and current.name in declared.parameters:
                found = t.args[declared.parameters.index(current.name)]
                if not isinstance(found, Variable):
                    return found
                current = found
        return current

    def with_resolved(self, t: JType, hierarchy: Sequence[JType]) -> JType:
        """Return a type with the type variables in it resolved. Source: resolveVariableWithClassContext."""
        match t:
            case Variable():
                return self.resolved(t, hierarchy)
            case Named(name=name, args=args) if args:
                return Named(name, tuple(self.with_resolved(a, hierarchy) for a in args))
            case ArrayOf(of=of):
                return ArrayOf(self.with_resolved(of, hierarchy))
        return t

    def parameter(self, class_name: str, base: str, position: int) -> JType:
        """Return what a class has for a type parameter of a class that it extends; the variable where it says none."""
        declared = self.path.generic(base)
        assert declared is not None  # one of Flink's own
        variable = Variable(declared.parameters[position], base)
        return self.resolved(variable, self.path.hierarchy(Named(class_name)))

    # ---- the order of DataTypeExtractor ----------------------------------------------------------------------------

    def _or_raw(self, t: JType, outer: Template, hierarchy: Sequence[JType]) -> Typed:
        if outer.typed is not None:
            return outer.typed
        try:
            return self._or_error(t, outer, hierarchy)
        except NoType:
            name = class_of(t)
            if outer.allows_raw(name):
                return raw_type(name)
            raise

    def _or_error(self, t: JType, outer: Template, hierarchy: Sequence[JType]) -> Typed:
        if isinstance(t, Variable):
            raise NoType(
                f"Unresolved type variable '{t}'. A data type cannot be extracted from a type variable. "
                "The original content might have been erased due to Java type erasure."
            )
        if (found := self._array(t, outer, hierarchy)) is not None:
            return found
        name = class_of(t)
        if outer.forces_raw(name):
            return raw_type(name)
        _common_mistakes(name)
        found = _with_precision(name, outer) or (typed.of_class(name) if name else None)
        return found or self._map(t, outer, hierarchy) or structured.extract(self, t, outer, hierarchy)

    def _array(self, t: JType, outer: Template, hierarchy: Sequence[JType]) -> Typed | None:
        match t:
            case ArrayOf(of=Named(name="byte")):
                return typed.of_class("byte[]")
            case ArrayOf(of=of):
                return typed.array(self.type_of(of, outer, hierarchy))
            case Named(name="java.util.List", args=(element,)):
                return typed.array(self.type_of(element, outer, hierarchy), "java.util.List")
            case Named(name="java.util.List"):
                raise NoType("The class 'java.util.List' needs generic parameters for an array type.")
            case Named(name=name, args=(element,)) if name == LIST_VIEW:
                return typed.array(self.type_of(element, outer, hierarchy), LIST_VIEW)
        return None

    def _map(self, t: JType, outer: Template, hierarchy: Sequence[JType]) -> Typed | None:
        match t:
            case Named(name=("java.util.Map" | "org.apache.flink.table.api.dataview.MapView") as name, args=(k, v)):
                parts = self.type_of(k, outer, hierarchy), self.type_of(v, outer, hierarchy)
                return typed.mapping(*parts, bridge=name)
            case Named(name="java.util.Map"):
                raise NoType("The class 'java.util.Map' needs generic parameters for a map type.")
        return None

    def closest(self, found: Typed, name: str | None) -> Typed:
        """Take the class at hand where Flink converts to it. Source: closestBridging."""
        if name is None or found.bridge in (LIST_VIEW, MAP_VIEW) or self.path.is_assignable(found.bridge, name):
            return found
        return found.bridged(name) if found.converts(name) else found

    def _hinted_type(self, text: str | None, bridge: JType | None, said: Template) -> Typed:
        if text is None:
            assert bridge is not None  # a hint has one of the two
            return self.type_of(bridge, said)
        if text == "RAW":
            return raw_type(None if bridge is None else raw(bridge))
        try:
            made = typed.default(parse_type(text))
        except UndeclaredTypes as error:
            raise NoType(f"Error in data type hint annotation: {error}") from None
        return made if bridge is None else made.bridged(raw(bridge))


def raw_type(name: str | None) -> Typed:
    """Return the RAW type of a class."""
    name = name or OBJECT
    return Typed(DataType(Root.RAW, qualifier=f"'{name}', '...'"), name)


def _as_view(found: Typed, name: str | None) -> Typed:
    """A hint on a data view is of its collection. Source: handleDataViewHints."""
    for view, root in ((LIST_VIEW, Root.ARRAY), (MAP_VIEW, Root.MAP)):
        if name == view and found.bridge != view:
            if found.type.root is not root:
                what = "list" if root is Root.ARRAY else "map"
                raise NoType(f"Annotated {what} views should have a logical type of {root.value}.")
            return replace(found, bridge=view)
    return found


def _common_mistakes(name: str | None) -> None:
    if name is None:
        return
    if name == ROW:
        raise NoType(
            f"Cannot extract a data type from a pure '{ROW}' class. "
            "Please use annotations to define field names and field types."
        )
    if name == OBJECT:
        raise NoType(
            f"Cannot extract a data type from a pure '{OBJECT}' class. Usually, this indicates that class information "
            "is missing or got lost. Please specify a more concrete class or treat it as a RAW type."
        )
    if name in typed.INTERNAL:
        raise NoType(
            f"Cannot extract a data type from an internal '{name}' class without further information. "
            "Please use annotations to define the full logical type."
        )
    if name.startswith("scala.Tuple"):
        raise NoType(f"Scala tuples are not supported. Use case classes or '{ROW}' instead.")
    if name.startswith("scala.collection"):
        raise NoType(
            "Scala collections are not supported. "
            "See the documentation for supported classes or treat them as RAW types."
        )
    if name in ("java.time.OffsetDateTime", "java.time.ZonedDateTime"):
        raise NoType(f"'{name}' is {_ZONED}")


def _with_precision(name: str | None, said: Template) -> Typed | None:
    """Return the type of a class whose digits a hint around it may say. Source: extractPredefinedOrDescriptorType."""
    seconds, years = said.second_precision, said.year_precision
    match name:
        case "java.math.BigDecimal":
            if said.decimal_precision is None:
                raise NoType("Values of 'java.math.BigDecimal' need fixed precision and scale.")
            return typed.default(T.DECIMAL(said.decimal_precision, said.decimal_scale or 0))
        case "java.sql.Time" | "java.time.LocalTime" if seconds is not None:
            return Typed(T.TIME(seconds), name)
        case "java.sql.Timestamp" | "java.time.LocalDateTime" if seconds is not None:
            return Typed(T.TIMESTAMP(seconds), name)
        case "java.time.Instant" if seconds is not None:
            return Typed(T.TIMESTAMP_LTZ(seconds), name)
        case "java.time.Duration" if seconds is not None:
            return Typed(T.INTERVAL_DT("SECOND", None, seconds), name)
        case "java.time.Period" if years is not None:
            return Typed(T.INTERVAL_YM("MONTH") if years == 0 else T.INTERVAL_YM("YEAR TO MONTH", years), name)
    return None
