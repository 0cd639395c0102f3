"""A table whose rows meet again is read and decoded once: its rows fan out instead of the UNION ALL in which they meet.

Spark reads a source once for each mention. Parts of a UNION ALL that are projections and filters of one scan
(``plan/sharing.py``) become one pass over its rows: each way's columns are made from the row, guarded by its filters,
and ``inline`` gives a row for each way that it passes. No value of a way is computed for a row that the way's filters
drop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.spark.base import same
from flinkddl.spark.job import WATERMARKED, Select, UnionAll, Where, WithMetadata
from flinkddl.spark.rowtime import is_rowtime
from flinkddl.spark.stream.base import members
from flinkddl.spark.stream.ways import ROW, Pass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.spark.job import Step


def united(prefix: str, parts: Sequence[str], note: str, ctx: Lowering) -> str:
    """Add the UNION ALL of steps that end in a Select, a pass for the ways of each table that is read once.

    Returns the step's name.
    """
    scans = {} if ctx.chain else {rel.step: rel for rel in ctx.once.values()}
    known = {s.name: s for s in ctx.steps} if scans else {}
    ways: dict[str, list[_Way]] = {}
    for part in parts if scans else ():
        if way := _way(part, known, scans):
            ways.setdefault(way.scan, []).append(way)
    fans = {scan: several for scan, several in ways.items() if len(several) > 1}
    fanned = {way.part for several in fans.values() for way in several}
    ends = [part for part in parts if part not in fanned]
    ends += [_fanned(scans[scan], several, (prefix, note), ctx) for scan, several in fans.items()]
    if len(ends) == 1:
        return ends[0]
    return ctx.add(UnionAll(name=ctx.fresh(prefix), parts=tuple(ends), note=note)).name


def drop_unread(ctx: Lowering, first: int, top: str) -> None:
    """Take away the steps from number ``first`` on that ``top`` does not read, as what has become a pass."""
    wanted = {top}
    for step in reversed(ctx.steps[first:]):
        wanted |= set(step.reads) if step.name in wanted else set()
    ctx.steps[first:] = [step for step in ctx.steps[first:] if step.name in wanted]


@dataclass(frozen=True)
class _Way:
    """A part of a UNION ALL that is projections and filters of a scan: those, in the order in which they run."""

    part: str
    scan: str
    steps: tuple[Select | Where, ...]


def _way(part: str, known: Mapping[str, Step], scans: Mapping[str, Rel]) -> _Way | None:
    steps: list[Select | Where] = []
    at = part
    while at not in scans:
        step = known[at]
        if not isinstance(step, Select | Where) or (isinstance(step, Select) and step.generator):
            return None
        steps.append(step)
        at = step.input
    return _Way(part, at, tuple(reversed(steps)))


def _fanned(scan: Rel, ways: Sequence[_Way], told: tuple[str, str], ctx: Lowering) -> str:
    prefix, note = told
    made = Pass(scan.step, f"{prefix}_way", ctx)
    timed = {c for c, f in zip(scan.columns, scan.fields, strict=True) if is_rowtime(f.type)}
    rowtimes: set[int] = set()
    for n, way in enumerate(ways):
        if n:
            made.again(ROW, f"way {n + 1}")
        else:
            made.begin(same((*scan.columns, *scan.reserved)), timed, note="way 1")
            made.save(ROW)
        for step in way.steps:
            made.follow(step)
        rowtimes |= made.end(f"{ROW}{n}")
    rows = [f"{ROW}{n}" for n in range(len(ways))]
    choices = tuple((f"{row} IS NOT NULL", tuple(members(row, len(made.have)))) for row in rows)
    each = (f"inline(array_compact(array({', '.join(rows)})))", made.have)
    name, words = ctx.fresh(prefix), f"{note}: rows read once, {len(ways)} ways"
    rows_of_ways = Select(name=name, input=made.step, columns=(), generator=each, note=words, choices=choices)
    ctx.add(rows_of_ways)
    if not rowtimes:
        return rows_of_ways.name
    columns = {made.have[i]: WATERMARKED for i in sorted(rowtimes)}
    name, words = ctx.fresh(f"{prefix}_times"), "event time, whose watermark is kept below"
    return ctx.add(WithMetadata(name=name, input=rows_of_ways.name, columns=columns, note=words)).name
