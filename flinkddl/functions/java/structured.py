"""POJOs, records and case classes as structured types. Source: ExtractionUtils and extractStructuredType."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from flinkddl.functions.java import classfile as C
from flinkddl.functions.java import typed
from flinkddl.functions.java.hints import DATA_TYPE_HINT, NoType, Template, hint_of
from flinkddl.functions.java.jtypes import OBJECT, JType, Named, class_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.functions.java.classfile import Annotation, ClassFile, Field, Method
    from flinkddl.functions.java.classpath import ClassPath
    from flinkddl.functions.java.typed import Typed


_TUPLE = re.compile(r"org\.apache\.flink\.api\.java\.tuple\.Tuple(\d+)")
"""Flink's own tuples, which no jar of a user brings: a constructor assigns ``f0`` and so on."""


class Extractor(Protocol):
    """What types the fields of a class: the whole extraction, of which structured types are one rule."""

    @property
    def path(self) -> ClassPath:
        """The classes that can be read."""

    def type_of(self, t: JType, outer: Template = ..., hierarchy: Sequence[JType] = ()) -> Typed:
        """Return the type of values of a Java type. Raises NoType."""

    def hinted(self, hint: Annotation) -> Template:
        """Return what a DataTypeHint says."""


def extract(extractor: Extractor, t: JType, outer: Template, hierarchy: Sequence[JType]) -> Typed:
    """Return the structured type of a class. Raises NoType."""
    name = class_of(t)
    if name is None:
        raise NoType(f"Could not extract a data type from '{t}'. Not a class type.")
    if (tuple_ := _TUPLE.fullmatch(name)) is not None and isinstance(t, Named) and len(t.args) == int(tuple_[1]):
        parts = [extractor.type_of(a, outer.without_type(), hierarchy) for a in t.args]
        return typed.structured(name, [(f"f{i}", part) for i, part in enumerate(parts)])
    chain = extractor.path.chain(name)
    if not chain:
        raise NoType(f"Could not extract a data type from '{t}': the class is in none of the jars")
    if chain[-1].superclass not in (OBJECT, "java.lang.Record"):
        raise NoType(f"Could not extract a data type from '{t}': its superclass '{chain[-1].superclass}' is in no jar")
    _check_class(chain[0])
    if t in hierarchy:
        raise NoType(
            f"Cyclic reference detected for class '{name}'. Attributes of structured types must not "
            "(transitively) reference the structured type itself."
        )
    fields = [f for c in chain for f in c.fields if not f.access & (C.STATIC | C.TRANSIENT)]
    if not fields:
        raise NoType(f"Class '{name}' has no fields.")
    order = _order(chain, fields)
    inner = [*hierarchy, *extractor.path.hierarchy(t)]
    types = {f.name: _field_type(extractor, f, outer, inner, name) for f in fields}
    return typed.structured(name, [(n, types[n]) for n in order])


def _check_class(found: ClassFile) -> None:
    if found.access & C.ABSTRACT:
        raise NoType(f"Class '{found.name}' must not be abstract.")
    if not found.access & C.PUBLIC:
        raise NoType(f"Class '{found.name}' is not public.")
    if found.enclosing and (found.local or not found.access & C.STATIC):
        raise NoType(f"Class '{found.name}' is a not a static, globally accessible class.")


def _field_type(extractor: Extractor, field: Field, outer: Template, hierarchy: Sequence[JType], name: str) -> Typed:
    hint = hint_of(field.annotations, DATA_TYPE_HINT)
    try:
        said = outer.without_type() if hint is None else outer.over(extractor.hinted(hint))
        return extractor.type_of(field.type, said, hierarchy)
    except NoType as error:
        raise NoType(f"Error in field '{field.name}' of class '{name}': {error}") from None


def _order(chain: Sequence[ClassFile], fields: Sequence[Field]) -> list[str]:
    """Return the fields in the order of the constructor that assigns them, else by name."""
    found = chain[0]
    methods = [m for c in chain for m in c.methods if m.access & C.PUBLIC and not m.access & (C.NATIVE | C.ABSTRACT)]
    mutable = all(_is_mutable(found.name, f, methods) for f in fields)
    assigning = [names for c in found.constructors if (names := _assigned(found, c, fields)) is not None]
    if len(assigning) > 1:
        raise NoType(f"Multiple constructors found that assign all fields for class '{found.name}'.")
    if assigning:
        return assigning[0]
    if not mutable:
        listed = ", ".join(f.name for f in fields)
        raise NoType(
            f"Class '{found.name}' has immutable fields and thus requires a constructor that is publicly accessible "
            f"and assigns all fields: {listed}"
        )
    if not any(c.access & C.PUBLIC and not c.erased.parameters for c in found.constructors):
        raise NoType(
            f"Class '{found.name}' has neither a constructor that assigns all fields nor a default constructor."
        )
    return sorted(f.name for f in fields)


def _plain(name: str) -> str:
    return name.upper().replace("_", "")


def _is_mutable(name: str, field: Field, methods: Sequence[Method]) -> bool:
    own = _plain(field.name)
    read = (f"GET{own}", f"IS{own}", own)
    if not field.access & C.PUBLIC and not any(
        _plain(m.name) in read and m.type.result == field.type and not m.erased.parameters for m in methods
    ):
        raise NoType(
            f"Field '{field.name}' of class '{name}' is neither publicly accessible nor does it have "
            "a corresponding getter method."
        )
    if field.access & C.FINAL:
        return False
    if field.access & C.PUBLIC or any(_sets(m, own, field, name) for m in methods):
        return True
    raise NoType(
        f"Field '{field.name}' of class '{name}' is mutable but is neither publicly accessible nor does it have "
        "a corresponding setter method."
    )


def _sets(method: Method, own: str, field: Field, name: str) -> bool:
    if _plain(method.name) not in (f"SET{own}", own, f"{own}$EQ") or len(method.erased.parameters) != 1:
        return False
    if method.erased.result not in (Named("void"), Named(name)):
        return False
    given = method.type.parameters[0]
    return field.type in (given, _boxed(given))


def _boxed(t: JType) -> JType:
    return Named(typed.boxed(t.name)) if isinstance(t, Named) and not t.args else t


def _assigned(found: ClassFile, constructor: Method, fields: Sequence[Field]) -> list[str] | None:
    """Return the fields that a constructor assigns in its order, None where it is not one that assigns all."""
    if not constructor.access & C.PUBLIC or len(constructor.erased.parameters) != len(fields):
        return None
    names = found.components or constructor.names
    if names is None or len(names) != len(fields):
        return None
    by_name = {_plain(f.name): f for f in fields}
    order = []
    for name, given in zip(names, constructor.type.parameters, strict=True):
        field = by_name.get(_plain(name))
        if field is None or _boxed(given) != _boxed(field.type):
            return None
        order.append(field.name)
    return order
