"""A table whose rows meet again is read and decoded once: its rows fan out before the UNION ALL in which they meet.

Spark reads a source once for each mention. Parts of a UNION ALL that are projections and filters of equal steps become
one pass over the rows of those steps: each way's columns are made from the row, guarded by its filters, and ``inline``
gives a row for each way that it passes. No value of a way is computed for a row that the way's filters drop.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from flinkddl.plan.sharing import MOST_WAYS
from flinkddl.spark.base import same
from flinkddl.spark.job import (
    WATERMARKED,
    Coalesce,
    GroupBy,
    Select,
    Step,
    UnionAll,
    Where,
    WithMetadata,
    WithWatermark,
)
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named

ROW = "__fan"
PASSES = "__passes"
_LINEAR = (Select, Where, WithWatermark, WithMetadata, Coalesce)
_NAMES = frozenset({"name", "note", "input", "left", "right", "parts"})


def fan_out(ctx: Lowering, written: Iterable[str]) -> None:
    """Give the job's UNION ALLs one pass where parts come from equal steps; drop steps that nothing reads any more."""
    known = {s.name: s for s in ctx.steps}
    numbers = _numbers(ctx.steps)
    out: list[Step] = []
    for step in ctx.steps:
        made = _Fan(step, known, numbers, ctx).steps() if isinstance(step, UnionAll) else [step]
        for new in made:
            ctx.owners.setdefault(new.name, ctx.owners.get(step.name, 0))
        out += made
    ctx.steps[:] = _read(out, written)


def _read(steps: Sequence[Step], written: Iterable[str]) -> list[Step]:
    wanted, out = set(written), []
    for step in reversed(steps):
        if step.name in wanted:
            wanted |= set(step.reads)
            out.append(step)
    return out[::-1]


def _numbers(steps: Iterable[Step]) -> dict[str, int]:
    """Return a number of each step by its name: the same for steps that do the same with equal inputs."""
    numbers: dict[str, int] = {}
    given: dict[tuple[Any, ...], int] = {}
    for step in steps:
        own = tuple(_plain(getattr(step, f.name)) for f in fields(step) if f.name not in _NAMES)
        number = given.setdefault((type(step), own, tuple(numbers[name] for name in step.reads)), len(given))
        numbers[step.name] = number
    return numbers


def _plain(value: Any) -> Any:
    return tuple(sorted((k, _plain(v)) for k, v in value.items())) if hasattr(value, "items") else value


def _columns(step: Step, steps: Mapping[str, Step]) -> tuple[str, ...] | None:
    """Return the names of a step's columns; None where only Spark knows them."""
    match step:
        case Select():
            return (*(name for name, _ in step.columns), *(step.generator[1] if step.generator else ()))
        case GroupBy():
            return tuple(name for name, _ in (*step.keys, *step.aggs))
        case UnionAll():
            return _columns(steps[step.parts[0]], steps)
        case Where() | WithWatermark() | WithMetadata() | Coalesce():
            return _columns(steps[step.input], steps)
    return None


@dataclass(frozen=True)
class _Way:
    """A part of a UNION ALL: its steps, the part's last one first, down to what is no longer linear."""

    part: str
    steps: tuple[Step, ...]

    def above(self, step: str) -> list[Step]:
        """Return the steps above one of them, in the order in which they run."""
        names = [s.name for s in self.steps]
        return list(self.steps[: names.index(step)])[::-1]


@dataclass
class _Pass:
    """The Selects over one row: the row itself as a struct, the ways that are made, and the columns of this one.

    ``passes``: a filter of this way has been met, and ``__passes`` says whether the row is still on it.
    """

    input: str
    prefix: str
    ctx: Lowering
    columns: tuple[str, ...]
    steps: list[Step] = field(default_factory=list)
    have: tuple[str, ...] = ()
    kept: list[Named] = field(default_factory=list)
    passes: bool = False

    def begin(self, n: int) -> None:
        """Begin way ``n`` with the columns of the row."""
        again = [(c, f"{ROW}.`c{i}`" if n else quote(c)) for i, c in enumerate(self.columns)]
        self._select([*again, *(self.kept or [(ROW, _struct(self.columns))])], f"way {n + 1}")
        self.kept = [(ROW, ROW), *same(f"{ROW}{i}" for i in range(n))]
        self.have, self.passes = self.columns, False

    def follow(self, step: Step) -> None:
        """Go on with a filter or a projection; after a filter nothing is computed for a row that it has dropped."""
        if isinstance(step, Where):
            test = f"coalesce({step.condition}, false)"
            test = f"IF({PASSES}, {test}, false)" if self.passes else test
            self._select([*same(self.have), *self.kept, (PASSES, test)])
            self.passes = True
            return
        assert isinstance(step, Select)
        plain = {*map(quote, self.have), *self.have}
        named = [(c, f"IF({PASSES}, {e}, NULL)" if self.passes and e not in plain else e) for c, e in step.columns]
        self._select([*named, *self.kept, *same([PASSES] * self.passes)])
        self.have = tuple(c for c, _ in step.columns)

    def end(self, n: int) -> None:
        """End way ``n``: its row, or NULL."""
        row = _struct(self.have)
        self._select([*self.kept, (f"{ROW}{n}", f"IF({PASSES}, {row}, NULL)" if self.passes else row)])
        self.kept = [*self.kept, (f"{ROW}{n}", f"{ROW}{n}")]

    def _select(self, named: Sequence[Named], note: str = "") -> None:
        name = self.ctx.fresh(self.prefix)
        self.steps.append(Select(name=name, input=self.input, columns=tuple(named), note=note))
        self.input = name


def _struct(columns: Sequence[str]) -> str:
    items = (f"'c{i}', {quote(c)}" for i, c in enumerate(columns))
    return f"named_struct({', '.join(items)})"


@dataclass
class _Fan:
    """One UNION ALL."""

    union: Step
    known: Mapping[str, Step]
    numbers: Mapping[str, int]
    ctx: Lowering

    def steps(self) -> list[Step]:
        """Return the steps in its place."""
        ways = [self._way(part) for part in self.union.reads]
        group, base = self._group(ways)
        columns = _columns(base, self.known) if base else None
        names = _columns(self.union, self.known)
        if base is None or columns is None or names is None:
            return [self.union]
        made = self._passes(group, base, columns)
        rest = [w.part for w in ways if w not in group]
        marked = self._marked(group, names)
        last = self.union.name if not rest and not marked else self.ctx.fresh(f"{self.union.name}_ways")
        each = ", ".join(f"{ROW}{n}" for n in range(len(group)))
        generator = (f"inline(array_compact(array({each})))", names)
        note = f"{self.union.note}: rows read once, {len(group)} ways"
        made.append(Select(name=last, input=made[-1].name, columns=(), generator=generator, note=note))
        if marked:
            last = self.union.name if not rest else self.ctx.fresh(f"{self.union.name}_times")
            metadata = dict.fromkeys(marked, WATERMARKED)
            made.append(WithMetadata(name=last, input=made[-1].name, columns=metadata, note="event time, kept below"))
        return [*made, replace(self.union, parts=(last, *rest))] if rest else made  # type: ignore[call-arg]

    def _way(self, part: str) -> _Way:
        steps = [self.known[part]]
        while isinstance(steps[-1], _LINEAR):
            steps.append(self.known[steps[-1].reads[0]])
        return _Way(part, tuple(steps))

    def _group(self, ways: Sequence[_Way]) -> tuple[list[_Way], Step | None]:
        """Return the parts that begin alike, and the last step that they have in common; Nones if there are none."""
        bases: dict[int, list[_Way]] = {}
        for way in ways:
            bases.setdefault(self.numbers[way.steps[-1].name], []).append(way)
        for group in bases.values():
            fits = 1 < len(group) <= MOST_WAYS
            if fits and (base := self._common(group)) and all(map(_plainly, self._above(group, base))):
                return group, base
        return [], None

    def _common(self, group: Sequence[_Way]) -> Step | None:
        base = None
        for level in zip(*(reversed(way.steps) for way in group), strict=False):
            if len({self.numbers[s.name] for s in level}) > 1:
                break
            base = level[0]
        return base

    def _above(self, group: Sequence[_Way], base: Step) -> list[Step]:
        number = self.numbers[base.name]
        return [s for way in group for s in way.above(_at(way, number, self.numbers))]

    def _passes(self, group: Sequence[_Way], base: Step, columns: tuple[str, ...]) -> list[Step]:
        """Return Selects that make each way's row of a row of ``base``, one way after the other."""
        number = self.numbers[base.name]
        made = _Pass(base.name, f"{self.union.name}_way", self.ctx, columns)
        for n, way in enumerate(group):
            made.begin(n)
            for step in way.above(_at(way, number, self.numbers)):
                made.follow(step)
            made.end(n)
        return made.steps

    def _marked(self, group: Sequence[_Way], names: Sequence[str]) -> list[str]:
        """Return the columns of the UNION ALL that Spark is to know as event time."""
        found: set[int] = set()
        for way in group:
            marked: set[str] = set()
            for step in reversed(way.steps):
                if isinstance(step, WithWatermark):
                    marked.add(step.column)
                elif isinstance(step, Select):
                    marked = {c for c, e in step.columns if e in marked or e in map(quote, marked)}
            have = _columns(way.steps[0], self.known) or ()
            found |= {i for i, c in enumerate(have) if c in marked}
        return [names[i] for i in sorted(found)]


def _plainly(step: Step) -> bool:
    return isinstance(step, Where) or (isinstance(step, Select) and step.generator is None)


def _at(way: _Way, number: int, numbers: Mapping[str, int]) -> str:
    return next(s.name for s in way.steps if numbers[s.name] == number)
