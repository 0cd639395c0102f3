"""Classes by name out of jars, and what of Java's and Flink's own classes the rules need to know."""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property, lru_cache

from flinkddl.functions.java.classfile import BadClassFile, ClassFile, read_class
from flinkddl.functions.java.jtypes import BOXES, OBJECT, ClassType, JType, Named, Variable, class_of

FUNCTIONS = "org.apache.flink.table.functions."
_UDF = f"{FUNCTIONS}UserDefinedFunction"
_IMPERATIVE = f"{FUNCTIONS}ImperativeAggregateFunction"


def _generic(name: str, parameters: str, above: str, given: str = "") -> tuple[str, ClassType]:
    own = tuple(parameters.split())
    return name, ClassType(own, Named(above, tuple(Variable(p, name) for p in given.split())), ())


_PLATFORM: dict[str, ClassType] = dict(
    (
        _generic(_UDF, "", OBJECT),
        _generic(f"{FUNCTIONS}ScalarFunction", "", _UDF),
        _generic(f"{FUNCTIONS}AsyncScalarFunction", "", _UDF),
        _generic(f"{FUNCTIONS}TableFunction", "T", _UDF),
        _generic(f"{FUNCTIONS}AsyncTableFunction", "T", _UDF),
        _generic(f"{FUNCTIONS}ProcessTableFunction", "T", _UDF),
        _generic(_IMPERATIVE, "T ACC", _UDF),
        _generic(f"{FUNCTIONS}AggregateFunction", "T ACC", _IMPERATIVE, "T ACC"),
        _generic(f"{FUNCTIONS}TableAggregateFunction", "T ACC", _IMPERATIVE, "T ACC"),
    )
)
"""The generic declarations of Flink's function classes, which no jar of a user brings."""

_NUMBER = ("java.lang.Number", "java.lang.Comparable", "java.io.Serializable")
_TEMPORAL = ("java.time.temporal.Temporal", "java.lang.Comparable", "java.io.Serializable")
_SUPERS: dict[str, tuple[str, ...]] = {
    **{BOXES[n]: _NUMBER for n in ("byte", "short", "int", "long", "float", "double")},
    "java.math.BigDecimal": _NUMBER,
    "java.lang.String": ("java.lang.CharSequence", "java.lang.Comparable", "java.io.Serializable"),
    "java.lang.Boolean": ("java.lang.Comparable", "java.io.Serializable"),
    **{f"java.time.{n}": _TEMPORAL for n in ("LocalDate", "LocalTime", "LocalDateTime", "Instant")},
    "java.sql.Timestamp": ("java.util.Date",),
    "java.sql.Date": ("java.util.Date",),
    "java.sql.Time": ("java.util.Date",),
    "java.util.List": ("java.util.Collection", "java.lang.Iterable"),
    "org.apache.flink.types.Row": ("java.io.Serializable",),
}
"""What the classes that carry values extend and implement."""


class BadJar(Exception):
    """A jar that is not there, or is none; the message says which and why."""


@dataclass(frozen=True)
class ClassPath:
    """Jars in order, by their paths: of two classes of one name the first counts."""

    jars: tuple[str, ...]

    def find(self, name: str) -> ClassFile | None:
        """Return a class by its binary name, or None. Raises BadJar, BadClassFile."""
        if name.startswith(("java.", "javax.")):
            return None
        for jar in self.jars:
            if (found := _class_in(jar, _stamp(jar), name)) is not None:
                return found
        return None

    def generic(self, name: str) -> ClassType | None:
        """Return the generic declaration of a class of the jars, or of a function class of Flink's."""
        found = self.find(name)
        return _PLATFORM.get(name) if found is None else found.generic

    def hierarchy(self, t: JType) -> list[JType]:
        """Return a type, its interfaces and superclasses, each with its own. Source: ExtractionUtils.

        Raises BadClassFile for one that is among its own.
        """
        return self._hierarchy(t, frozenset())

    def _hierarchy(self, t: JType, below: frozenset[str]) -> list[JType]:
        found: list[JType] = []
        current: JType | None = t
        while current is not None and (name := class_of(current)):
            below = _once(name, below)
            found.append(current)
            declared = self.generic(name)
            for interface in declared.interfaces if declared else ():
                found += self._hierarchy(interface, below)
            current = declared.superclass if declared else None
        return found

    def supers(self, name: str) -> list[str]:
        """Return the names of a class and of all that it extends or implements."""
        return [n for t in self.hierarchy(Named(name)) if (n := class_of(t))]

    def chain(self, name: str) -> list[ClassFile]:
        """Return a class of the jars and its superclasses, as far as the jars have them. Raises BadClassFile."""
        found: list[ClassFile] = []
        current: str | None = name
        below = frozenset[str]()
        while current is not None and (one := self.find(current)) is not None:
            below = _once(current, below)
            found.append(one)
            current = one.superclass
        return found

    def is_assignable(self, name: str, to: str) -> bool:
        """Whether a value of one class is one of another: both classes or both primitives, nothing is boxed."""
        if to in (name, OBJECT) and name not in BOXES:
            return True
        if name in BOXES or to in BOXES:
            return name == to or to in _WIDER.get(name, ())
        if name.endswith("[]") and to.endswith("[]"):
            return self.is_assignable(name[:-2], to[:-2])
        return to in _SUPERS.get(name, ()) or to in self.supers(name)

    @cached_property
    def resolved(self) -> ClassPath:
        """The same with absolute paths."""
        return ClassPath(tuple(dict.fromkeys(j if "://" in j else os.path.abspath(j) for j in self.jars)))


MOST_BYTES = 64 << 20
"""Of a class file: a class has at most 65,535 members and constants of so many bytes, real ones some hundred kB."""

_WIDER = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "char": ("int", "long", "float", "double"),
    "short": ("int", "long", "float", "double"),
    "byte": ("short", "int", "long", "float", "double"),
}


def _once(name: str, below: frozenset[str]) -> frozenset[str]:
    if name in below:
        raise BadClassFile(f"the class '{name}' inherits from itself")
    return below | {name}


def _stamp(path: str) -> tuple[int, int]:
    """Return what changes when a jar is built anew."""
    if "://" in path:
        raise BadJar(f"the jar '{path}' cannot be read: only a file of this machine can be")
    try:
        stat = os.stat(path)
    except OSError as error:
        raise BadJar(f"the jar '{path}' cannot be read: {error.strerror or error}") from None
    return stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=256)
def _names(path: str, stamp: tuple[int, int]) -> frozenset[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(archive.namelist())
    except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
        raise BadJar(f"'{path}' is no jar: {error}") from None


@lru_cache(maxsize=4096)
def _class_in(path: str, stamp: tuple[int, int], name: str) -> ClassFile | None:
    entry = f"{name.replace('.', '/')}.class"
    if entry not in _names(path, stamp):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(entry).file_size > MOST_BYTES:
                raise BadJar(f"'{entry}' of the jar '{path}' is larger than any class file")
            data = archive.read(entry)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        raise BadJar(f"'{entry}' of the jar '{path}' cannot be read: {error}") from None
    try:
        return read_class(data)
    except BadClassFile as error:
        raise BadClassFile(f"the class '{name}' of the jar '{path}' cannot be read: {error}") from None
