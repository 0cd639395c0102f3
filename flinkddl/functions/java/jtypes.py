"""Java types as class files write them: descriptors and generic signatures (JVMS 4.3 and 4.7.9.1), read into values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

PRIMITIVES = {
    "B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "Z": "boolean",
    "V": "void",
}  # fmt: skip
BOXES = {
    "boolean": "java.lang.Boolean",
    "byte": "java.lang.Byte",
    "char": "java.lang.Character",
    "short": "java.lang.Short",
    "int": "java.lang.Integer",
    "long": "java.lang.Long",
    "float": "java.lang.Float",
    "double": "java.lang.Double",
    "void": "java.lang.Void",
}
OBJECT = "java.lang.Object"


@dataclass(frozen=True)
class Named:
    """A class, an interface or a primitive by its binary name, with type arguments where the signature has them."""

    name: str
    args: tuple[JType, ...] = ()

    def __str__(self) -> str:
        return self.name + (f"<{', '.join(map(str, self.args))}>" if self.args else "")


@dataclass(frozen=True)
class ArrayOf:
    """An array."""

    of: JType

    def __str__(self) -> str:
        return f"{self.of}[]"


@dataclass(frozen=True)
class Variable:
    """A type variable; ``owner`` is the class that declares it, or "" for one of a method."""

    name: str
    owner: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Wildcard:
    """``?``, with or without a bound."""

    def __str__(self) -> str:
        return "?"


MOST_DIMENSIONS = 255
"""Of an array. Source: JVM specification, 4.3.2."""

JType: TypeAlias = Named | ArrayOf | Variable | Wildcard


@dataclass(frozen=True)
class MethodType:
    """The types of a method's parameters and of its result."""

    parameters: tuple[JType, ...]
    result: JType


@dataclass(frozen=True)
class ClassType:
    """What a class's generic signature says: names of its type parameters, its superclass and its interfaces."""

    parameters: tuple[str, ...]
    superclass: JType
    interfaces: tuple[JType, ...]


def raw(t: JType) -> str:
    """Return the erased name of a type as ``Class.getCanonicalName`` writes it: ``java.lang.String[]``, ``int``."""
    match t:
        case Named():
            return t.name
        case ArrayOf():
            return f"{raw(t.of)}[]"
    return OBJECT


def class_of(t: JType) -> str | None:
    """Return the erased name of a class or of an array of classes, None for a variable, wildcard or generic array.

    Source: ExtractionUtils.toClass.
    """
    match t:
        case Named():
            return t.name
        case ArrayOf(of=Named(args=())) | ArrayOf(of=ArrayOf()):
            inner = class_of(t.of)
            return None if inner is None else f"{inner}[]"
    return None


def method_type(text: str, owner: str = "") -> MethodType:
    """Read a method's descriptor or signature; ``owner`` is the class whose type variables it may name."""
    reader = _Reader(text, owner)
    reader.local = frozenset(reader.type_parameters())
    reader.expect("(")
    parameters = []
    while not reader.took(")"):
        parameters.append(reader.type())
    return MethodType(tuple(parameters), reader.type())


def field_type(text: str, owner: str = "") -> JType:
    """Read a field's descriptor or signature."""
    return _Reader(text, owner).type()


def class_type(text: str, owner: str) -> ClassType:
    """Read a class's signature."""
    reader = _Reader(text, owner)
    parameters = reader.type_parameters()
    superclass = reader.type()
    interfaces = []
    while not reader.done:
        interfaces.append(reader.type())
    return ClassType(tuple(parameters), superclass, tuple(interfaces))


class _Reader:
    def __init__(self, text: str, owner: str) -> None:
        self._text, self._at, self._owner = text, 0, owner
        self.local: frozenset[str] = frozenset()

    @property
    def done(self) -> bool:
        return self._at >= len(self._text)

    def took(self, char: str) -> bool:
        if not self._text.startswith(char, self._at):
            return False
        self._at += 1
        return True

    def expect(self, char: str) -> None:
        if not self.took(char):
            raise ValueError(f"no {char!r} at {self._at} in the signature {self._text!r}")

    def type_parameters(self) -> list[str]:
        names: list[str] = []
        if not self.took("<"):
            return names
        while not self.took(">"):
            names.append(self._until(":"))
            while self.took(":"):
                if not self._text.startswith(":", self._at):  # a bound of an interface alone: T::Ljava/..;
                    self.type()
        return names

    def type(self) -> JType:
        letter = self._text[self._at]
        self._at += 1
        if letter in PRIMITIVES:
            return Named(PRIMITIVES[letter])
        match letter:
            case "[":
                if self._text.startswith("[" * MOST_DIMENSIONS, self._at):
                    raise ValueError("an array of more dimensions than Java has")
                return ArrayOf(self.type())
            case "T":
                name = self._until(";")
                self._at += 1
                return Variable(name, "" if name in self.local else self._owner)
            case "L":
                return self._class()
        raise ValueError(f"no type at {self._at} in the signature {self._text!r}")

    def _class(self) -> JType:
        name, args = "", ()  # type: str, tuple[JType, ...]
        while True:
            start = self._at
            while self._text[self._at] not in "<;.":
                self._at += 1
            name += self._text[start : self._at].replace("/", ".")
            if self.took("<"):
                args = self._arguments()
            if self.took(";"):
                return Named(name, args)
            self.expect(".")
            name, args = f"{name}$", ()  # an inner class of a generic one

    def _arguments(self) -> tuple[JType, ...]:
        found: list[JType] = []
        while not self.took(">"):
            if self.took("*"):
                found.append(Wildcard())
            elif self.took("+") or self.took("-"):
                self.type()
                found.append(Wildcard())
            else:
                found.append(self.type())
        return tuple(found)

    def _until(self, end: str) -> str:
        stop = self._text.index(end, self._at)
        name, self._at = self._text[self._at : stop], stop
        return name
