"""A table whose rows meet again is read and decoded once: its rows fan out instead of the UNION ALL in which they meet.

Spark reads a source once for each mention. Parts of a UNION ALL that are projections and filters of one scan
(``plan/sharing.py``) become one pass over its rows: each way's columns are made from the row, guarded by its filters,
and ``inline`` gives a row for each way that it passes. No value of a way is computed for a row that the way's filters
drop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flinkddl.spark.base import same, select
from flinkddl.spark.job import WATERMARKED, Select, UnionAll, Where, WithMetadata
from flinkddl.spark.rowtime import is_rowtime
from flinkddl.spark.stream.base import explode, members, struct
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.spark.job import Named, Step

ROW = "__fan"
PASSES = "__passes"


def united(prefix: str, parts: Sequence[str], note: str, ctx: Lowering) -> str:
    """Add the UNION ALL of steps that end in a Select, a pass for the ways of each table that is read once.

    Returns the step's name.
    """
    scans = {rel.step: rel for rel in ctx.once.values()}
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
    made = _Pass(scan.step, f"{prefix}_way", ctx, (*scan.columns, *scan.reserved))
    timed = {c for c, f in zip(scan.columns, scan.fields, strict=True) if is_rowtime(f.type)}
    rowtimes: set[int] = set()
    for n, way in enumerate(ways):
        made.begin(n, timed)
        for step in way.steps:
            made.follow(step)
        rowtimes |= made.end(n)
    each = (f"array_compact(array({', '.join(f'{ROW}{n}' for n in range(len(ways)))}))", made.have)
    rows_of_ways = explode(made.step, (), each, ctx, prefix, f"{note}: rows read once, {len(ways)} ways")
    if not rowtimes:
        return rows_of_ways
    columns = {made.have[i]: WATERMARKED for i in sorted(rowtimes)}
    name, told_of_times = ctx.fresh(f"{prefix}_times"), "event time, whose watermark is kept below"
    return ctx.add(WithMetadata(name=name, input=rows_of_ways, columns=columns, note=told_of_times)).name


@dataclass
class _Pass:
    """The Selects over one row: the row itself as a struct, the ways that are made, and the columns of this one.

    ``have`` are the columns of the way, ``timed`` those of them that Spark knows as event time. ``passes``: a filter of
    this way has been met, and ``__passes`` says whether the row is still on it.
    """

    step: str
    prefix: str
    ctx: Lowering
    columns: tuple[str, ...]
    kept: list[Named] = field(default_factory=list)
    have: tuple[str, ...] = ()
    timed: set[str] = field(default_factory=set)
    passes: bool = False

    def begin(self, n: int, timed: set[str]) -> None:
        """Begin way ``n`` with the columns of the row."""
        whole = list(map(quote, self.columns))
        again = zip(self.columns, members(ROW, len(whole)) if n else whole, strict=True)
        self._select([*again, *(self.kept or [(ROW, struct(whole))])], f"way {n + 1}")
        self.kept = [*same([ROW, *(f"{ROW}{i}" for i in range(n))])]
        self.have, self.timed, self.passes = self.columns, timed, False

    def follow(self, step: Select | Where) -> None:
        """Go on with a filter or a projection; after a filter nothing is computed for a row that it has dropped."""
        if isinstance(step, Where):
            test = f"coalesce({step.condition}, false)"
            test = f"IF({PASSES}, {test}, false)" if self.passes else test
            self._select([*same(self.have), *self.kept, (PASSES, test)])
            self.passes = True
            return
        plain = {*map(quote, self.have), *self.have}
        named = [(c, f"IF({PASSES}, {e}, NULL)" if self.passes and e not in plain else e) for c, e in step.columns]
        self._select([*named, *self.kept, *same([PASSES] * self.passes)])
        self.have = tuple(c for c, _ in step.columns)
        self.timed = {c for c, e in step.columns if e in self.timed or e in map(quote, self.timed)}

    def end(self, n: int) -> set[int]:
        """End way ``n``: its row, or NULL. Returns the places of the columns that are event time."""
        row = struct(map(quote, self.have))
        self._select([*self.kept, (f"{ROW}{n}", f"IF({PASSES}, {row}, NULL)" if self.passes else row)])
        self.kept += same([f"{ROW}{n}"])
        return {i for i, c in enumerate(self.have) if c in self.timed}

    def _select(self, named: Sequence[Named], note: str = "") -> None:
        self.step = select(self.step, named, self.ctx, self.prefix, note)
