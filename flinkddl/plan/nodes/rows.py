"""Row by row: projection, filter, union, copies of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Self

from flinkddl.plan.conditions import deterministic, fits
from flinkddl.plan.nodes.base import Keyless, Node, Selecting, Stateless, Unary, Untimed, any_before, dropped
from flinkddl.plan.nodes.forms import Form
from flinkddl.plan.nodes.grouping import Aggregate
from flinkddl.plan.nodes.leaves import Scan
from flinkddl.plan.nodes.terms import names_of, pick, rex_text
from flinkddl.plan.nodes.values import Field
from flinkddl.plan.rex import Call, InputRef
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flinkddl.plan.nodes.base import Keys, Mode, Needed, Places
    from flinkddl.plan.nodes.forms import How, Traits
    from flinkddl.plan.nodes.values import WindowFields
    from flinkddl.plan.rex import Rex
    from flinkddl.sqltypes import DataType


@dataclass(frozen=True, kw_only=True)
class Project(Stateless, Untimed, Unary):
    """One expression per output field."""

    exprs: tuple[Rex, ...]

    sql = "SELECT list, computed columns"
    first = ("exprs",)
    exact = False
    needs_before = None
    carries_before = any_before
    one_each = True

    @property
    def detail(self) -> str:
        """The expressions, with their names where those differ."""
        names = names_of(self.input)
        texts = [(rex_text(e, names), f.name) for e, f in zip(self.exprs, self.fields, strict=True)]
        return ", ".join(t if t == name else f"{t} AS {name}" for t, name in texts)

    def narrowed(self, needed: Needed) -> tuple[Node, Places]:
        """Leave out expressions."""
        exprs, places, fields = dropped(self, needed, 0, self.exprs)
        return replace(self, exprs=tuple(exprs), **fields), places

    def over(self, inputs: Sequence[Node]) -> Self:
        """Return the projection, its fields typed as its expressions."""
        out = super().over(inputs)
        return replace(out, fields=tuple(Field(f.name, e.type) for f, e in zip(self.fields, out.exprs, strict=True)))

    def through(self) -> tuple[Mapping[int, Rex], ...]:
        """Return the expressions that are the same wherever they are computed."""
        return ({i: e for i, e in enumerate(self.exprs) if deterministic(e)},)

    def lets_through(self, condition: Rex) -> bool:
        """Return whether it stays small."""
        return fits([condition], self.exprs)

    def unique_key(self, declared: bool = True) -> tuple[int, ...] | None:
        """Return the input's, where it is selected."""
        below = self.input.unique_key(declared)
        return None if below is None else self._moved_key(below)

    @property
    def windowed(self) -> WindowFields | None:
        """The input's, as far as it is selected."""
        found = self.input.windowed
        refs = [(i, e.index) for i, e in enumerate(self.exprs) if isinstance(e, InputRef)]
        return None if found is None else found.at(lambda ids: frozenset(i for i, source in refs if source in ids))

    def upsert_keys(self, inputs: tuple[Keys, ...]) -> Keys:
        """Return the input's keys as far as their fields are carried unchanged, each as often as it is."""
        places: dict[int, list[int]] = {}
        for n, e in enumerate(self.exprs):
            source = _keeps(e)
            if source is not None:
                places.setdefault(source, []).append(n)
        whole = [key for key in inputs[0] if all(k in places for k in key)]
        return tuple(frozenset(c) for key in whole for c in product(*(places[k] for k in sorted(key))))

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return what is asked; the newest rows are enough of an aggregate right below whose key survives."""
        keys = self.input.known_keys() if isinstance(self.input, Aggregate) else ()
        kept = any(self._moved_key(tuple(sorted(k))) is not None for k in keys)
        return (replace(asked, latest=asked.latest and kept),)

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return the input's; upserts that lose their key become pairs."""
        below = inputs[0]
        key = self._moved_key(below.key)
        if asked.versions:
            return Form("upsert", key or ())
        return Form("images" if below.kind == "upsert" and key is None else below.kind, key or ())

    def _moved_key(self, key: tuple[int, ...]) -> tuple[int, ...] | None:
        """Where the key's fields went; None when one of them is gone."""
        places = {e.index: i for i, e in reversed(list(enumerate(self.exprs))) if isinstance(e, InputRef)}
        return tuple(places[k] for k in key) if all(k in places for k in key) else None


def _keeps(rex: Rex) -> int | None:
    """The field that an expression carries unchanged, casts that lose nothing included."""
    match rex:
        case InputRef(index=i):
            return i
        case Call(function="CAST", args=(InputRef(index=i, type=t),)) if _same(t, rex.type):
            return i
    return None


def _same(source: DataType, target: DataType) -> bool:
    """Whether a cast keeps values apart: the same kind of type, or CHAR(n) as a VARCHAR of at least that length."""
    if source.root is Root.CHAR and target.root is Root.VARCHAR:
        return (target.precision or 0) >= (source.precision or 1)
    return source.root is target.root


@dataclass(frozen=True, kw_only=True)
class Filter(Stateless, Untimed, Selecting, Unary):
    """Keeps the rows for which the condition is TRUE.

    Flink names no deletion among its changes: a row that leaves is a -U whose +U is dropped.
    """

    condition: Rex

    sql = "WHERE, HAVING"
    passes = 1
    first = ("condition",)
    exact = False

    @property
    def detail(self) -> str:
        """The condition."""
        return rex_text(self.condition, names_of(self.input))

    def through(self) -> tuple[Mapping[int, Rex], ...]:
        """Return all fields."""
        return (self._same(range(self.passed)),)

    def carries_before(self, inputs: tuple[Mode, ...]) -> bool:
        """Return whether the input's come through; right over a table those that its format has."""
        below = self.input.input if isinstance(self.input, Project) else self.input
        return below.carries == "delta" if isinstance(below, Scan) else any_before(self, inputs)

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return what is asked, but each change."""
        return (replace(asked, latest=False),)

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return the input's; a newest row that does not pass says nothing of the one before it."""
        below = inputs[0]
        return Form("images", below.key) if below.kind == "upsert" and not asked.versions else below


@dataclass(frozen=True, kw_only=True)
class Union(Keyless, Stateless, Untimed, Node):
    """UNION ALL."""

    parts: tuple[Node, ...]

    sql = "UNION ALL; with an aggregate UNION, INTERSECT, EXCEPT"
    needs_before = None
    carries_before = any_before
    one_each = True
    detail = ""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The parts."""
        return self.parts

    def with_inputs(self, inputs: Sequence[Node]) -> Self:
        """Return the union of others."""
        return replace(self, parts=tuple(inputs))

    def reads(self, needed: Needed) -> tuple[Needed, ...]:
        """Return the same fields of each part."""
        return (needed,) * len(self.parts)

    def rebuild(self, inputs: Sequence[Node], places: Sequence[Places]) -> tuple[Node, Places]:
        """Return the union of parts that have the same fields, in the same order, under its names."""
        kept = tuple(self.fields[i] for i in sorted(places[0]))
        parts = [replace(p, fields=tuple(_named(k, f) for k, f in zip(kept, p.fields, strict=True))) for p in inputs]
        return replace(self, parts=tuple(parts), fields=kept), dict(places[0])

    def through(self) -> tuple[Mapping[int, Rex], ...]:
        """Return the fields of each part."""
        return tuple(self._same(range(len(self.fields)), n) for n in range(len(self.parts)))

    def over(self, inputs: Sequence[Node]) -> Self:
        """Return the union of others; a time attribute that all have is one here as well."""
        kinds = [{f.type.time_attribute for f in column} for column in zip(*(p.fields for p in inputs), strict=True)]
        fields = (
            Field(f.name, f.type.as_attribute(k.pop() if len(k) == 1 else None))
            for f, k in zip(self.fields, kinds, strict=True)
        )
        return replace(self, parts=tuple(inputs), fields=tuple(fields))

    def timeless(self) -> tuple[Iterable[int], ...]:
        """Return the fields that are a time attribute, or the same one, in some parts only."""
        columns = enumerate(zip(*(p.fields for p in self.parts), strict=True))
        mixed = [i for i, column in columns if len({f.type.time_attribute for f in column}) > 1]
        return (mixed,) * len(self.parts)


def _named(name: Field, typed: Field) -> Field:
    return replace(typed, name=name.name)


@dataclass(frozen=True, kw_only=True)
class Unnest(Keyless, Stateless, Untimed, Unary):
    """Input fields, then the fields of one element per row of a collection (ARRAY, MAP, MULTISET).

    ``outer`` keeps a row without elements (NULLs); ``ordinality`` adds a last INT field counted from 1; ``condition``
    (over all output fields) is a join condition that decides which elements count.
    """

    collection: Rex
    outer: bool = False
    ordinality: bool = False
    condition: Rex | None = None

    sql = "UNNEST of arrays, maps, multisets"
    title = "UNNEST"
    passes = 1
    first = ("collection",)
    joined = ("condition",)
    carries_before = any_before

    def through(self) -> tuple[Mapping[int, Rex], ...]:
        """Return the input's fields."""
        return (self._same(range(self.passed)),)

    @property
    def windowed(self) -> WindowFields | None:
        """The input's."""
        return self.input.windowed

    @property
    def detail(self) -> str:
        """The collection."""
        return rex_text(self.collection, names_of(self.input)) + (", outer" if self.outer else "")


@dataclass(frozen=True, kw_only=True)
class Expand(Keyless, Stateless, Untimed, Unary):
    """GROUPING SETS: one copy of the row per set, with the other keys NULL; last field ``$e`` BIGINT is the set's mask.

    ``sets`` holds, per set, the indices that stay; ``masks`` the value of ``$e`` per set, one bit a key of the query,
    which may have had more keys than are left here, and above them the set's GROUP_ID, so that no two are equal.
    """

    keys: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    masks: tuple[int, ...]

    sql = "GROUPING SETS, ROLLUP, CUBE"
    passes = 1
    first = ("keys", "sets")

    @property
    def detail(self) -> str:
        """The sets."""
        names = names_of(self.input)
        return ", ".join(f"({pick(names, s)})" for s in self.sets)
