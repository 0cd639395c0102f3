"""A reader of class files (JVMS 4): what Java's reflection would tell of a class, without running any of it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from flinkddl.functions.java.jtypes import (
    ClassType,
    JType,
    MethodType,
    Named,
    class_type,
    field_type,
    method_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PUBLIC, STATIC, FINAL, NATIVE, INTERFACE, ABSTRACT = 0x0001, 0x0008, 0x0010, 0x0100, 0x0200, 0x0400
BRIDGE = 0x0040  # of methods; of fields it is volatile
VARARGS = TRANSIENT = 0x0080  # the one of methods, the other of fields
SYNTHETIC = 0x1000

_CONSTANTS = {b"\x03\xac": False, b"\x04\xac": True}  # iconst_0 or iconst_1, then ireturn
_WIDTHS = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}


class BadClassFile(Exception):
    """The bytes are no class file that this reader knows; the message says why."""


@dataclass(frozen=True)
class Annotation:
    """An annotation: the binary name of its class, and its values that are written out.

    A value is bool, int, float, str (an enum's constant too), a JType (a class), an Annotation, or a list of these.
    """

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Field:
    """A field."""

    name: str
    access: int
    type: JType
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True)
class Method:
    """A method or constructor (``<init>``). ``type`` is generic, ``erased`` what the JVM sees.

    ``names`` are those of its parameters in the local variable table, or as ``javac -parameters`` writes them;
    ``constant`` is what it returns where its code does no more than return true or false.
    """

    name: str
    access: int
    descriptor: str
    type: MethodType
    erased: MethodType
    annotations: tuple[Annotation, ...] = ()
    parameter_annotations: tuple[tuple[Annotation, ...], ...] = ()
    names: tuple[str, ...] | None = None
    constant: bool | None = None

    @property
    def varargs(self) -> bool:
        """Whether the last parameter takes any number of arguments."""
        return bool(self.access & VARARGS)

    def annotations_of(self, position: int) -> tuple[Annotation, ...]:
        """Return the annotations of a parameter."""
        return self.parameter_annotations[position] if position < len(self.parameter_annotations) else ()


@dataclass(frozen=True)
class ClassFile:
    """A class. ``access`` is that of its declaration, STATIC of a nested class included; ``components`` a record's.

    ``enclosing`` is the class around it, or "" for a top level one; ``local``: nobody outside of a method names it.
    """

    name: str
    access: int
    superclass: str | None
    interfaces: tuple[str, ...]
    generic: ClassType
    fields: tuple[Field, ...]
    methods: tuple[Method, ...]
    annotations: tuple[Annotation, ...] = ()
    enclosing: str = ""
    local: bool = False
    components: tuple[str, ...] | None = None

    @property
    def constructors(self) -> tuple[Method, ...]:
        """The constructors."""
        return tuple(m for m in self.methods if m.name == "<init>")


def read_class(data: bytes) -> ClassFile:
    """Read a class file. Raises BadClassFile."""
    try:
        return _Reader(data).read()
    except BadClassFile:
        raise
    except (struct.error, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadClassFile(f"damaged: {error}") from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def read(self) -> ClassFile:
        if self._u4() != 0xCAFEBABE:
            raise BadClassFile("it does not begin as a class file does")
        self._at += 4  # its version: what we read is the same in all
        self._pool = self._constants()
        access, name, above = self._u2(), self._class_name(self._u2()), self._u2()
        self._name = name
        interfaces = tuple(self._class_name(self._u2()) for _ in range(self._u2()))
        superclass = self._class_name(above) if above else None
        fields = tuple(self._field() for _ in range(self._u2()))
        methods = tuple(self._method() for _ in range(self._u2()))
        generic = ClassType((), Named(superclass or ""), tuple(map(Named, interfaces)))
        made = ClassFile(name, access, superclass, interfaces, generic, fields, methods)
        for kind, end in self._attributes():
            made = self._class_attribute(made, kind, end)
        return made

    # ---- numbers and the constant pool -------------------------------------------------------------------------------

    def _u1(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _u2(self) -> int:
        self._at += 2
        return int(struct.unpack_from(">H", self._data, self._at - 2)[0])

    def _u4(self) -> int:
        self._at += 4
        return int(struct.unpack_from(">I", self._data, self._at - 4)[0])

    def _constants(self) -> list[Any]:
        count = self._u2()
        pool: list[Any] = [None] * count
        index = 1
        while index < count:
            tag = self._u1()
            if tag == 1:
                length = self._u2()
                pool[index] = _text(self._data[self._at : self._at + length])
                self._at += length
            elif tag in (3, 4, 5, 6):
                pool[index] = struct.unpack_from({3: ">i", 4: ">f", 5: ">q", 6: ">d"}[tag], self._data, self._at)[0]
                self._at += _WIDTHS[tag]
            elif tag in _WIDTHS:
                pool[index] = struct.unpack_from(">H", self._data, self._at)[0]
                self._at += _WIDTHS[tag]
            else:
                raise BadClassFile(f"a constant of the unknown kind {tag}")
            index += 2 if tag in (5, 6) else 1
        return pool

    def _class_name(self, index: int) -> str:
        return str(self._pool[self._pool[index]]).replace("/", ".")

    def _attributes(self) -> Iterator[tuple[str, int]]:
        """Yield each attribute's name and end, placed at its content; go on behind it."""
        for _ in range(self._u2()):
            kind, length = str(self._pool[self._u2()]), self._u4()
            end = self._at + length
            yield kind, end
            self._at = end

    # ---- members -----------------------------------------------------------------------------------------------------

    def _field(self) -> Field:
        access, name, descriptor = self._u2(), self._pool[self._u2()], self._pool[self._u2()]
        made = Field(name, access, field_type(descriptor))
        for kind, _ in self._attributes():
            if kind == "Signature":
                made = replace(made, type=field_type(self._pool[self._u2()], self._name))
            elif kind == "RuntimeVisibleAnnotations":
                made = replace(made, annotations=self._annotations())
        return made

    def _method(self) -> Method:
        access, name, descriptor = self._u2(), self._pool[self._u2()], self._pool[self._u2()]
        erased = method_type(descriptor)
        made = Method(name, access, descriptor, erased, erased)
        for kind, _ in self._attributes():
            match kind:
                case "Signature":
                    generic = method_type(self._pool[self._u2()], self._name)
                    # of an inner class's or enum's constructor it leaves out what the compiler adds
                    if len(generic.parameters) == len(erased.parameters):
                        made = replace(made, type=generic)
                case "RuntimeVisibleAnnotations":
                    made = replace(made, annotations=self._annotations())
                case "RuntimeVisibleParameterAnnotations":
                    listed = tuple(self._annotations() for _ in range(self._u1()))
                    missing = len(erased.parameters) - len(listed)
                    made = replace(made, parameter_annotations=((),) * missing + listed)
                case "MethodParameters":
                    made = replace(made, names=self._parameter_names())
                case "Code":
                    made = self._code(made)
        return made

    def _parameter_names(self) -> tuple[str, ...] | None:
        names = []
        for _ in range(self._u1()):
            index = self._u2()
            self._at += 2
            names.append(self._pool[index] if index else "")
        return tuple(names) if all(names) else None

    def _code(self, method: Method) -> Method:
        self._at += 4
        length = self._u4()
        body = self._data[self._at : self._at + length]
        method = replace(method, constant=_CONSTANTS.get(body))
        self._at += length
        handlers = self._u2()
        self._at += 8 * handlers
        for kind, _ in self._attributes():
            if kind == "LocalVariableTable" and method.names is None:
                slots: dict[int, str] = {}
                for _ in range(self._u2()):
                    self._at += 4
                    name, _, slot = self._pool[self._u2()], self._u2(), self._u2()
                    slots[slot] = name  # the last of a slot counts: ParameterExtractor of Flink's ExtractionUtils
                first = 0 if method.access & STATIC else 1
                names = tuple(slots[s] for s in sorted(slots))[first : first + len(method.erased.parameters)]
                if len(names) == len(method.erased.parameters):
                    method = replace(method, names=names)
        return method

    def _class_attribute(self, made: ClassFile, kind: str, end: int) -> ClassFile:
        match kind:
            case "Signature":
                return replace(made, generic=class_type(self._pool[self._u2()], made.name))
            case "RuntimeVisibleAnnotations":
                return replace(made, annotations=self._annotations())
            case "InnerClasses":
                return self._inner(made)
            case "EnclosingMethod":
                return replace(made, enclosing=self._class_name(self._u2()), local=True)
            case "Record":
                return replace(made, components=self._components())
        return made

    def _inner(self, made: ClassFile) -> ClassFile:
        for _ in range(self._u2()):
            inner, outer, _, access = self._class_name(self._u2()), self._u2(), self._u2(), self._u2()
            if inner == made.name:
                made = replace(made, access=access, enclosing=self._class_name(outer) if outer else made.enclosing)
        return made

    def _components(self) -> tuple[str, ...]:
        names = []
        for _ in range(self._u2()):
            names.append(self._pool[self._u2()])
            self._at += 2
            for _ in self._attributes():
                pass
        return tuple(names)

    # ---- annotations -------------------------------------------------------------------------------------------------

    def _annotations(self) -> tuple[Annotation, ...]:
        return tuple(self._annotation() for _ in range(self._u2()))

    def _annotation(self) -> Annotation:
        kind = field_type(self._pool[self._u2()])
        values = {}
        for _ in range(self._u2()):
            name = self._pool[self._u2()]
            values[name] = self._value()
        return Annotation(str(kind), values)

    def _value(self) -> Any:
        tag = chr(self._u1())
        readers: dict[str, Callable[[], Any]] = {
            "Z": lambda: bool(self._pool[self._u2()]),
            "e": lambda: (self._u2(), self._pool[self._u2()])[1],
            "c": lambda: field_type(self._pool[self._u2()]),
            "@": self._annotation,
            "[": lambda: [self._value() for _ in range(self._u2())],
        }
        return readers.get(tag, lambda: self._pool[self._u2()])()


def _text(data: bytes) -> str:
    """Decode the JVM's own UTF-8: NUL in two bytes, characters beyond the first plane as two surrogates."""
    text = data.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    return text.encode("utf-16", "surrogatepass").decode("utf-16") if not data.isascii() else text
