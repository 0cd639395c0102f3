"""Upsert keys: sets of output fields by which a node's changes identify the row they change.

After Flink's FlinkRelMdUpsertKeys. A window TVF aggregate has none there, a legacy one has (observed on Flink 2.3).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from flinkddl.plan import nodes as N
from flinkddl.plan.rex import Call, InputRef, Rex
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.sqltypes import DataType

Key = frozenset[int]
Keys = tuple[Key, ...]


def upsert_keys(node: N.Node, inputs: tuple[Keys, ...]) -> Keys:
    """Return the upsert keys of a node from those of its inputs."""
    for kind, rule in _RULES.items():
        if isinstance(node, kind):
            return tuple(dict.fromkeys(rule(node, inputs)))
    return ()


def _scan(node: N.Scan, inputs: tuple[Keys, ...]) -> Keys:
    given = getattr(node, "key", ())
    if given:
        return (frozenset(given),)
    if node.table.primary_key is None:
        return ()
    names = [c.name for c in node.table.columns]
    return (frozenset(names.index(c) for c in node.table.primary_key.columns),)


def _first(node: Any, inputs: tuple[Keys, ...]) -> Keys:
    return inputs[0]


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


def _project(node: N.Project, inputs: tuple[Keys, ...]) -> Keys:
    places: dict[int, list[int]] = {}
    for n, e in enumerate(node.exprs):
        source = _keeps(e)
        if source is not None:
            places.setdefault(source, []).append(n)
    out = []
    for key in inputs[0]:
        if all(k in places for k in key):
            out += [frozenset(c) for c in product(*(places[k] for k in sorted(key)))]
    return tuple(out)


def _aggregate(node: N.Aggregate, inputs: tuple[Keys, ...]) -> Keys:
    return (frozenset(range(len(node.keys))),)


def _window_aggregate(node: N.WindowAggregate, inputs: tuple[Keys, ...]) -> Keys:
    if not node.legacy:
        return ()
    first = len(node.keys) + len(node.aggs)
    bounds = [first + i for i, p in enumerate(node.properties) if p in ("start", "end")]
    return tuple(frozenset((*range(len(node.keys)), b)) for b in bounds)


def _rank(node: N.Rank, inputs: tuple[Keys, ...]) -> Keys:
    if node.with_rank:
        return (*inputs[0], frozenset((*node.partition, len(node.fields) - 1)))
    return (*inputs[0], frozenset(node.partition)) if node.start == node.end == 1 else inputs[0]


def _deduplicate(node: N.Deduplicate, inputs: tuple[Keys, ...]) -> Keys:
    return (frozenset(node.keys),)


def _join(node: N.Join, inputs: tuple[Keys, ...]) -> Keys:
    left, right = inputs
    if node.kind in ("semi", "anti"):
        return left
    shift = len(node.left.fields)
    moved = tuple(frozenset(k + shift for k in key) for key in right)
    on_left, on_right = (frozenset(k[side] for k in node.keys) for side in (0, 1))
    out: list[Key] = []
    if any(k <= on_right for k in right) and node.kind in ("inner", "left"):
        out += left
    if any(k <= on_left for k in left) and node.kind in ("inner", "right"):
        out += moved
    return (*out, *(a | b for a in left for b in moved))


def _sort(node: N.Sort, inputs: tuple[Keys, ...]) -> Keys:
    return inputs[0]


_RULES: Mapping[type[N.Node], Callable[[Any, tuple[Keys, ...]], Keys]] = {
    N.Scan: _scan,
    N.Filter: _first,
    N.Project: _project,
    N.Aggregate: _aggregate,
    N.WindowAggregate: _window_aggregate,
    N.Rank: _rank,
    N.Deduplicate: _deduplicate,
    N.Join: _join,
    N.TemporalJoin: _first,
    N.Over: _first,
    N.Sort: _sort,
}
