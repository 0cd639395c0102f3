"""What nodes are made of beside expressions: fields, windows; and how such values count the fields of an input."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.plan.rex import AggCall, InputRef, Rex, SortKey, references, transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from flinkddl.diagnostics import Span
    from flinkddl.sqltypes import DataType

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]
WindowKind = Literal["TUMBLE", "HOP", "CUMULATE", "SESSION"]


@dataclass(frozen=True)
class Field:
    """An output column: name and Flink type (nullability and time attribute included)."""

    name: str
    type: DataType


@dataclass(frozen=True, kw_only=True)
class Window:
    """A window definition; all durations in milliseconds. ``slide`` is HOP's slide or CUMULATE's step."""

    kind: WindowKind
    time: int
    size_ms: int
    slide_ms: int | None = None
    offset_ms: int = 0
    partition_keys: tuple[int, ...] = ()
    proctime: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


_Ids = frozenset[int]


@dataclass(frozen=True)
class WindowFields:
    """Field indices that hold window_start, window_end and window_time, and the window they belong to."""

    starts: _Ids
    ends: _Ids
    times: _Ids
    window: Window

    def bounds(self, keys: tuple[int, ...]) -> tuple[int, int] | None:
        """Return (start, end) when both are among ``keys``."""
        start = next((k for k in keys if k in self.starts), None)
        end = next((k for k in keys if k in self.ends), None)
        return None if start is None or end is None else (start, end)

    def all(self) -> _Ids:
        """All window fields."""
        return self.starts | self.ends | self.times

    def at(self, change: Callable[[_Ids], _Ids]) -> WindowFields | None:
        """Return the window of fields that went to other places; None where start or end is gone."""
        found = WindowFields(change(self.starts), change(self.ends), change(self.times), self.window)
        return found if found.starts and found.ends else None


@dataclass(frozen=True, kw_only=True)
class WatermarkSpec:
    """The rowtime field and its watermark expression over the scan's fields.

    ``delay_ms`` is set where the expression is ``rowtime - constant`` (0 for the bare column); otherwise Spark needs
    the expression itself as a column.
    """

    index: int
    expression: Rex
    delay_ms: int | None


def plain(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Return the fields without their time attributes."""
    return tuple(Field(f.name, f.type.as_attribute(None)) for f in fields)


def padded(fields: Iterable[Field], where: bool = True) -> tuple[Field, ...]:
    """Return the fields as they are where rows are padded with NULL."""
    return tuple(Field(f.name, f.type.with_nullable(f.type.nullable or where)) for f in fields)


def counted(value: Any) -> frozenset[int]:
    """Return the field indices that an attribute of a node names: of calls, keys, windows, expressions."""
    match value:
        case None:
            return frozenset()
        case int():
            return frozenset((value,))
        case Rex():
            return references(value)
        case AggCall():
            return counted((value.args, value.filter))
        case SortKey():
            return frozenset((value.index,))
        case Window():
            return counted((value.time, value.partition_keys))
    return frozenset(i for v in value for i in counted(v))


def moved(value: Any, places: Mapping[int, int]) -> Any:
    """Return such an attribute with each index in its new place."""
    match value:
        case None:
            return None
        case int():
            return places[value]
        case Rex():
            return transform(value, lambda r: replace(r, index=places[r.index]) if isinstance(r, InputRef) else None)
        case AggCall():
            return replace(value, args=moved(value.args, places), filter=moved(value.filter, places))
        case SortKey():
            return replace(value, index=places[value.index])
        case Window():
            keys = moved(value.partition_keys, places)
            return replace(value, time=places[value.time], partition_keys=keys)
    return tuple(moved(v, places) for v in value)


def typed(value: Any, fields: Sequence[Field]) -> Any:
    """Return such an attribute with the references of its expressions typed as these fields are."""
    if isinstance(value, tuple):
        return tuple(typed(v, fields) for v in value)
    return retyped(value, fields) if isinstance(value, Rex) else value


def retyped(rex: Rex, fields: Sequence[Field], by: int = 0, done: dict[int, Rex] | None = None) -> Rex:
    """Return an expression with references moved by ``by`` and typed as the fields they now mean."""

    def change(r: Rex) -> Rex | None:
        if not isinstance(r, InputRef):
            return None
        now = fields[r.index + by].type
        return replace(r, index=r.index + by, type=now) if by or now != r.type else r

    return transform(rex, change, done)
