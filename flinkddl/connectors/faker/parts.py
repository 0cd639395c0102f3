"""The parts of a faker column: which options each has, and the spec that the kernel reads (``flinkddl.faker.Part``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkddl.connectors.faker.expressions import modern
from flinkddl.sqltypes import COLLECTION, Root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.options import ResolvedOptions
    from flinkddl.sqltypes import DataType


@dataclass(frozen=True)
class Part:
    """A column or a part of one.

    ``path`` is that of its options, ``fields.<path>.*``. The elements of an ARRAY or MULTISET have the path of the
    whole; such an ``inner`` part has no null rate and no length of its own, nor has a MAP's key (``fixed``) NULLs.
    """

    path: str
    type: DataType
    parts: tuple[Part, ...] = ()
    inner: bool = False
    fixed: bool = False

    @property
    def is_value(self) -> bool:
        """Whether an expression makes it, and not its parts."""
        return not self.parts

    @property
    def takes(self) -> frozenset[str]:
        """The words after ``fields.<path>.`` that it reads itself."""
        if self.inner:
            return frozenset({"expression"} if self.is_value else ())
        words = {"expression": self.is_value, "length": self.type.is_a(COLLECTION), "null-rate": not self.fixed}
        return frozenset(word for word, taken in words.items() if taken)

    def walk(self) -> Iterator[Part]:
        """Yield it and all its parts, outermost first."""
        yield self
        for part in self.parts:
            yield from part.walk()


def part_of(path: str, t: DataType, *, inner: bool = False, fixed: bool = False) -> Part:
    """Return a column, or a part of one, with its parts."""
    parts: tuple[Part, ...] = ()
    match t.root:
        case Root.ROW:
            parts = tuple(part_of(f"{path}.{f.name}", f.type) for f in t.fields)
        case Root.ARRAY | Root.MULTISET:
            parts = (part_of(path, t.element, inner=True),)
        case Root.MAP:
            parts = (part_of(f"{path}.key", t.key, fixed=True), part_of(f"{path}.value", t.value))
        case _:
            pass
    return Part(path, t, parts, inner, fixed)


def spec_of(part: Part, options: ResolvedOptions) -> dict[str, Any]:
    """Return what the kernel is told of a part: only what differs from its defaults."""
    own = {word: options[f"fields.{part.path}.{word}"] for word in part.takes}
    spec: dict[str, Any] = {"path": part.path, "root": part.type.root.value}
    if part.is_value:
        spec |= {"type": part.type.summary, "expression": modern(str(own["expression"]))[0]}
    if part.type.precision is not None:
        spec |= {"precision": part.type.precision, "scale": part.type.scale or 0}
    if part.fixed or not part.type.nullable:
        spec["required"] = True
    if own.get("null-rate"):
        spec["nulls"] = own["null-rate"]
    if own.get("length") is not None:
        spec["length"] = own["length"]
    if part.parts:
        spec["parts"] = [spec_of(p, options) for p in part.parts]
    return spec
