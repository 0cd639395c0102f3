"""A changed script's plan as its checkpoint knows it, where that means the same (``plan/rewrite/fitted.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkddl.plan.decoded import holds, names_in, parts_of
from flinkddl.plan.rewrite.fitted import lifted, without
from flinkddl.spark.meaning import APART, COLUMNS, Traces, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flinkddl.plan.decoded import Parts
    from flinkddl.plan.nodes import Filter, Scan, Sink
    from flinkddl.plan.rex import Rex

_BY_NAME = frozenset({"json", "debezium-json", "canal-json", "maxwell-json", "ogg-json", "avro-confluent"})
"""Formats that find a column by its name, so that a table may be read without one."""


@dataclass(frozen=True)
class _Noted:
    """What a checkpoint says of filters below operators with state, by their digests, and of tables' columns."""

    filters: frozenset[str]
    columns: dict[str, frozenset[str]]
    traces: Traces

    @classmethod
    def of(cls, said: Iterable[dict[str, Any]]) -> _Noted:
        lines = [line for query in said for line in query["tree"]]
        filters = (line for line in lines if line[2].startswith("Filter("))
        digests = (digest for line in filters for digest in (line[1], *(line[3] if line[3:] else ())))
        columns: dict[str, frozenset[str]] = {}
        for place, parted, words in (line[2].partition(COLUMNS) for line in lines if line[2].startswith("Scan(")):
            if parted:
                columns[place] = columns.get(place, frozenset()) | frozenset(words.split(APART))
        return cls(frozenset(digests), columns, Traces())

    def stays(self, node: Filter, condition: Rex) -> bool:
        return not self.filters.isdisjoint((self.traces.whole(node), self.traces.condition(node, condition)))

    def lacks(self, scan: Scan) -> frozenset[int]:
        known = self.columns.get(told(scan).partition(COLUMNS)[0])
        read = scan.options and (scan.options.key_format, scan.options.value_format)
        if known is None or not read or any(f is not None and f.name not in _BY_NAME for f in read):
            return frozenset()
        return frozenset(i for i, f in enumerate(scan.fields) if f"{f.name} {f.type}" not in known)


def kept_before(said: Iterable[dict[str, Any]]) -> dict[str, tuple[Parts, ...]]:
    """Return what of the rows of tables of changes a checkpoint has, by their words: all, where it does not say."""
    out: dict[str, tuple[Parts, ...]] = {}
    for line in (line for query in said for line in query["tree"] if line[2].startswith("Scan(") and line[4:]):
        place, parts = line[2].partition(COLUMNS)[0], parts_of(line[5] if line[5:] else ([name] for name in line[4]))
        if parts not in out.get(place, ()):
            out[place] = (*out.get(place, ()), parts)
    return out


def as_noted(kept: Mapping[str, Sequence[Parts]], scan: Scan, parts: Parts) -> Parts:
    """Return what of a table's rows is to be kept where these are read: the least that a checkpoint has with them."""
    there = {f.name for f in scan.fields}
    noted = kept.get(told(scan).partition(COLUMNS)[0], ())
    each = [had for had in noted if there >= had.keys() and all(holds(had, names) for names in names_in(parts))]
    return min(each, key=lambda had: len(list(names_in(had))), default=parts)


def fitted(sinks: Sequence[Sink], said: Iterable[dict[str, Any]]) -> tuple[Sink, ...]:
    """Return the sinks so that their state may be what a checkpoint says of its own (``Meaning``).

    Filters that it does not know stand above what keeps state, and columns that it does not know and nobody reads are
    not there.
    """
    noted = _Noted.of(said)
    return tuple(without(lifted(sink, noted.stays), noted.lacks) for sink in sinks)
