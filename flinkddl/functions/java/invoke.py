"""Which method a call reaches: Flink's check by classes, then Java's own choice of an overload (JLS 15.12.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from flinkddl.functions.java import classfile as C
from flinkddl.functions.java.jtypes import BOXES, raw
from flinkddl.functions.java.typed import boxed, unboxed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.functions.java.classfile import ClassFile, Method
    from flinkddl.functions.java.classpath import ClassPath

Boxing = Literal["none", "strict", "jvm"]
"""``strict``: a primitive fits its class; ``jvm``: a class its primitive too. Source: ExtractionUtils.Autoboxing."""


def assignable(path: ClassPath, name: str, to: str, boxing: Boxing) -> bool:
    """Whether a value of one class can be passed as another. Source: ExtractionUtils.isAssignable."""
    if boxing != "none":
        if name in BOXES and to not in BOXES:
            name = boxed(name)
        elif boxing == "jvm" and to in BOXES and name not in BOXES:
            primitive = unboxed(name)
            if primitive is None:
                return False
            name = primitive
    return path.is_assignable(name, to)


def parameters(method: Method) -> list[str]:
    """Return the erased classes of a method's parameters."""
    return [raw(p) for p in method.erased.parameters]


def invokable(path: ClassPath, boxing: Boxing, method: Method, classes: Sequence[str]) -> bool:
    """Whether a method takes values of these classes. Source: ExtractionUtils.isInvokable."""
    wanted = parameters(method)
    if not method.access & C.PUBLIC:
        return False
    if not method.varargs:
        return len(wanted) == len(classes) and all(
            assignable(path, c, w, boxing) for c, w in zip(classes, wanted, strict=True)
        )
    if len(classes) < len(wanted) - 1:
        return False
    first, rest = classes[: len(wanted) - 1], classes[len(wanted) - 1 :]
    if not all(assignable(path, c, w, boxing) for c, w in zip(first, wanted, strict=False)):
        return False
    if len(rest) == 1 and assignable(path, rest[0], wanted[-1], boxing):
        return True
    return all(assignable(path, c, wanted[-1][:-2], boxing) for c in rest)


def chosen(path: ClassPath, methods: Sequence[Method], classes: Sequence[str]) -> tuple[Method, bool] | None:
    """Return the method that Java calls with values of these classes, and whether as one of any number; or None."""
    plain = [m for m in methods if not m.access & C.BRIDGE] or list(methods)
    for boxing in ("none", "jvm"):
        fixed = [m for m in plain if _takes(path, m, classes, boxing)]
        if fixed:
            return _most_specific(path, fixed), False
    variable = [m for m in plain if m.varargs and invokable(path, "jvm", m, classes)]
    return (_most_specific(path, variable), True) if variable else None


def _takes(path: ClassPath, method: Method, classes: Sequence[str], boxing: Boxing) -> bool:
    wanted = parameters(method)
    return len(wanted) == len(classes) and all(
        assignable(path, c, w, boxing) for c, w in zip(classes, wanted, strict=True)
    )


def _most_specific(path: ClassPath, methods: Sequence[Method]) -> Method:
    """Return the method whose parameters all fit those of the others; of equals the first, a subclass's."""
    for m in methods:
        if all(
            _takes(path, other, parameters(m), "none")
            for other in methods
            if len(parameters(other)) == len(parameters(m))
        ):
            return m
    return methods[0]


def methods_of(path: ClassPath, chain: Sequence[ClassFile], name: str) -> list[Method]:
    """Return the public methods of a name, inherited ones too, in Flink's order: ExtractionUtils.collectMethods."""
    found: dict[str, tuple[str, Method]] = {}
    interfaces = [c for declared in chain for i in declared.interfaces for n in path.supers(i) if (c := path.find(n))]
    for declared in (*chain, *interfaces):
        for m in declared.methods:
            if m.name == name and m.access & C.PUBLIC and m.descriptor not in found:
                found[m.descriptor] = (_shown(m, declared.name), m)
    return [m for _, m in sorted(found.values(), key=lambda pair: pair[0])]


_MODIFIERS = (
    (1, "public"),
    (0x400, "abstract"),
    (8, "static"),
    (0x10, "final"),
    (0x20, "synchronized"),
    (0x100, "native"),
)


def _shown(method: Method, owner: str) -> str:
    """Write a method as ``Method.toString`` does, which its order goes by."""
    words = [word for bit, word in _MODIFIERS if method.access & bit]
    return f"{' '.join(words)} {raw(method.erased.result)} {owner}.{method.name}({','.join(parameters(method))})"
