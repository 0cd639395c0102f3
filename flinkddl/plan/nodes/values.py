"""What nodes are made of beside expressions: fields, windows; and how such values count the fields of an input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.plan.rex import AggCall, InputRef, Rex, SortKey, references, transform

if TYPE_CHECKING:
    from collections.abc import Mapping

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


@dataclass(frozen=True, kw_only=True)
class WatermarkSpec:
    """The rowtime field and its watermark expression over the scan's fields.

    ``delay_ms`` is set where the expression is ``rowtime - constant`` (0 for the bare column); otherwise Spark needs
    the expression itself as a column.
    """

    index: int
    expression: Rex
    delay_ms: int | None


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
