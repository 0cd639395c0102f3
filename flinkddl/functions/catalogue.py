"""The whole catalogue: rows of all families by upper-case name, with aliases and what is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions import (
    aggregate,
    arithmetic,
    arithmetic_functions,
    collections,
    comparison,
    conditional,
    datetimes,
    json,
    session,
    strings,
)
from flinkddl.functions.core import Function

if TYPE_CHECKING:
    from collections.abc import Iterable

ALIASES: dict[str, str] = {
    "CEILING": "CEIL",
    "CHARACTER_LENGTH": "CHAR_LENGTH",
    "SUBSTR": "SUBSTRING",
}
_BITMAPS = "roaring bitmaps have no counterpart in Spark"
_REFUSED = {
    **dict.fromkeys(("BITMAP_BUILD", "BITMAP_FROM_BYTES", "BITMAP_TO_BYTES", "BITMAP_TO_ARRAY"), _BITMAPS),
    **dict.fromkeys(("BITMAP_TO_STRING", "BITMAP_CARDINALITY", "BITMAP_AND", "BITMAP_OR"), _BITMAPS),
    **dict.fromkeys(("BITMAP_XOR", "BITMAP_ANDNOT"), _BITMAPS),
    "MATCH_ROWTIME": "MATCH_RECOGNIZE is not available",
    "MATCH_PROCTIME": "MATCH_RECOGNIZE is not available",
    "OBJECT_OF": "structured types have no class on Spark",
    "OBJECT_UPDATE": "structured types have no class on Spark",
    "STREAMRECORD_TIMESTAMP": "it is internal to Flink",
    "PRINT": "it is internal to Flink",
}


def _by_name(rows: Iterable[Function]) -> dict[str, Function]:
    table: dict[str, Function] = {}
    for row in rows:
        if row.name in table:
            raise ValueError(f"function {row.name} stands twice in the catalogue")
        table[row.name] = row
    return table


_FAMILIES = (arithmetic, arithmetic_functions, collections, comparison, conditional, datetimes, json, session, strings)
FUNCTIONS: dict[str, Function] = _by_name(
    [
        *(row for family in _FAMILIES for row in family.FUNCTIONS),
        *(Function(name, "null*", T.STRING, "", reason=reason) for name, reason in _REFUSED.items()),
    ]
)
AGGREGATES: dict[str, aggregate.Aggregate] = {f.name: f for f in aggregate.FUNCTIONS}


def lookup(name: str) -> Function | None:
    """Return the scalar function or operator of that name (any case), or None."""
    upper = name.upper()
    return FUNCTIONS.get(ALIASES.get(upper, upper))
