"""Columns, aggregates and row numbers that nobody reads are dropped, from the root down.

State holds whole rows: what is not read must not be kept. A row number nobody selects also makes far fewer updates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl.plan import make
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import InputRef, Rex, references, transform
from flinkddl.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flinkddl.plan.nodes import Node
    from flinkddl.plan.rex import AggCall, SortKey

Needed = frozenset[int]
Places = dict[int, int]  # old field index -> new one


def prune(node: Node) -> Node:
    """Return the plan without unread columns; its own fields stay."""
    if isinstance(node, N.Sink):
        return replace(node, input=prune(node.input))
    every = frozenset(range(len(node.fields)))
    out, places = _prune(node, every)
    wanted = [places[i] for i in range(len(node.fields))]
    if wanted == list(range(len(out.fields))):
        return make.rename(out, [f.name for f in node.fields])
    return make.project(out, [make.ref(out, i) for i in wanted], [f.name for f in node.fields])


def _prune(node: Node, needed: Needed) -> tuple[Node, Places]:
    rule = _RULES.get(type(node))
    return rule(node, needed) if rule is not None else (node, {i: i for i in range(len(node.fields))})


def _narrow(node: Node, needed: Iterable[int]) -> tuple[Node, Places]:
    """Prune an input of a stateful node down to exactly what it needs."""
    wanted = sorted(set(needed))
    out, places = _prune(node, frozenset(wanted))
    if len(out.fields) == len(wanted):
        return out, places
    kept = make.keep(out, [places[i] for i in wanted])
    return kept, {old: new for new, old in enumerate(wanted)}


def _moved(rex: Rex, places: Places) -> Rex:
    return transform(rex, lambda r: replace(r, index=places[r.index]) if isinstance(r, InputRef) else None)


def _keys(keys: Iterable[int], places: Places) -> tuple[int, ...]:
    return tuple(places[k] for k in keys)


def _order(order: Iterable[SortKey], places: Places) -> tuple[SortKey, ...]:
    return tuple(replace(k, index=places[k.index]) for k in order)


def _pair(pair: tuple[int, int] | None, places: Places) -> tuple[int, int] | None:
    return None if pair is None else (places[pair[0]], places[pair[1]])


def _call(call: AggCall, places: Places) -> AggCall:
    filter_ = None if call.filter is None else places[call.filter]
    return replace(call, args=_keys(call.args, places), filter=filter_)


def _reads(calls: Iterable[AggCall]) -> set[int]:
    return {i for c in calls for i in (*c.args, *(() if c.filter is None else (c.filter,)))}


# ---- row by row --------------------------------------------------------------------------------------------------


def _project(node: N.Project, needed: Needed) -> tuple[Node, Places]:
    wanted = sorted(needed)
    exprs = [node.exprs[i] for i in wanted]
    below, places = _prune(node.input, frozenset(i for e in exprs for i in references(e)))
    out = make.project(below, [_moved(e, places) for e in exprs], [node.fields[i].name for i in wanted])
    return out, {old: new for new, old in enumerate(wanted)}


def _filter(node: N.Filter, needed: Needed) -> tuple[Node, Places]:
    below, places = _prune(node.input, needed | references(node.condition))
    fields = _named(node, below, places)
    return replace(node, input=below, condition=_moved(node.condition, places), fields=fields), places


def _named(node: Node, below: Node, places: Places) -> tuple[N.Field, ...]:
    """The input's fields as far as they are kept, under the names and types of the node."""
    out = list(below.fields)
    for old, new in places.items():
        out[new] = node.fields[old]
    return tuple(out)


def _union(node: N.Union, needed: Needed) -> tuple[Node, Places]:
    wanted = sorted(needed)
    parts = tuple(_narrow(p, wanted)[0] for p in node.parts)
    places = {old: new for new, old in enumerate(wanted)}
    names = [node.fields[i].name for i in wanted]
    parts = tuple(make.rename(p, names) for p in parts)
    return replace(node, parts=parts, fields=tuple(node.fields[i] for i in wanted)), places


def _appending(node: Any, needed: Needed) -> tuple[Node, Places]:
    """Unnest, table functions and window functions: the input's fields, then their own, which all stay."""
    width = len(node.input.fields)
    changes: dict[str, Any] = {}
    own: set[int] = set()
    if isinstance(node, N.Unnest):
        own |= references(node.collection)
        own |= {i for i in (references(node.condition) if node.condition is not None else ()) if i < width}
    elif isinstance(node, N.WindowTableFunction):
        own |= {node.window.time, *node.window.partition_keys}
    else:
        own |= {i for a in node.args for i in references(a)}
    below, places = _narrow(node.input, {i for i in needed if i < width} | own)
    grown = len(below.fields)
    places = {**places, **{i: grown + i - width for i in range(width, len(node.fields))}}
    if isinstance(node, N.Unnest):
        changes["collection"] = _moved(node.collection, places)
        changes["condition"] = None if node.condition is None else _moved(node.condition, places)
    elif isinstance(node, N.WindowTableFunction):
        changes["window"] = _window(node.window, places)
    else:
        changes["args"] = tuple(_moved(a, places) for a in node.args)
    return replace(node, input=below, fields=(*below.fields, *node.fields[width:]), **changes), places


def _window(window: N.Window, places: Places) -> N.Window:
    return replace(window, time=places[window.time], partition_keys=_keys(window.partition_keys, places))


def _expand(node: N.Expand, needed: Needed) -> tuple[Node, Places]:
    width = len(node.input.fields)
    below, places = _narrow(node.input, {i for i in needed if i < width} | set(node.keys))
    fields = list(below.fields)
    for old, new in places.items():
        fields[new] = node.fields[old]
    sets = tuple(_keys(s, places) for s in node.sets)
    out = replace(node, input=below, keys=_keys(node.keys, places), sets=sets, fields=(*fields, node.fields[-1]))
    return out, {**places, width: len(fields)}


# ---- grouping and ranking ----------------------------------------------------------------------------------------


def _aggregate(node: N.Aggregate, needed: Needed) -> tuple[Node, Places]:
    count = len(node.keys)
    kept = [i for i in range(len(node.aggs)) if count + i in needed]
    aggs = [node.aggs[i] for i in kept]
    below, places = _narrow(node.input, {*node.keys, *_reads(aggs)})
    out = replace(
        node,
        input=below,
        keys=_keys(node.keys, places),
        aggs=tuple(_call(a, places) for a in aggs),
        fields=(*node.fields[:count], *(node.fields[count + i] for i in kept)),
    )
    return out, {**{i: i for i in range(count)}, **{count + i: count + n for n, i in enumerate(kept)}}


def _window_aggregate(node: N.WindowAggregate, needed: Needed) -> tuple[Node, Places]:
    count, every = len(node.keys), len(node.aggs)
    kept = [i for i in range(every) if count + i in needed]
    aggs = [node.aggs[i] for i in kept]
    own = {*node.keys, *_reads(aggs), node.window.time, *node.window.partition_keys, *(node.windowed_input or ())}
    below, places = _narrow(node.input, own)
    out = replace(
        node,
        input=below,
        window=_window(node.window, places),
        keys=_keys(node.keys, places),
        aggs=tuple(_call(a, places) for a in aggs),
        windowed_input=_pair(node.windowed_input, places),
        fields=(*node.fields[:count], *(node.fields[count + i] for i in kept), *node.fields[count + every :]),
    )
    after = {count + every + i: count + len(kept) + i for i in range(len(node.properties))}
    return out, {**{i: i for i in range(count)}, **{count + i: count + n for n, i in enumerate(kept)}, **after}


def _rank(node: N.Rank, needed: Needed) -> tuple[Node, Places]:
    width = len(node.input.fields)
    with_rank = node.with_rank and width in needed
    own = {*node.partition, *(k.index for k in node.order), *(node.window or ())}
    own |= set() if node.end_field is None else {node.end_field}
    below, places = _narrow(node.input, {i for i in needed if i < width} | own)
    out = replace(
        node,
        input=below,
        partition=_keys(node.partition, places),
        order=_order(node.order, places),
        with_rank=with_rank,
        window=_pair(node.window, places),
        end_field=None if node.end_field is None else places[node.end_field],
        fields=(*_named(node, below, places), *((node.fields[width],) if with_rank else ())),
    )
    return out, {**places, **({width: len(below.fields)} if with_rank else {})}


def _dedup(node: N.Deduplicate, needed: Needed) -> tuple[Node, Places]:
    below, places = _narrow(node.input, {*needed, *node.keys, node.order, *(node.window or ())})
    out = replace(
        node,
        input=below,
        keys=_keys(node.keys, places),
        order=places[node.order],
        window=_pair(node.window, places),
        fields=_named(node, below, places),
    )
    return out, places


def _over(node: N.Over, needed: Needed) -> tuple[Node, Places]:
    width = len(node.input.fields)
    kept = [i for i in range(len(node.calls)) if width + i in needed]
    if not kept:
        return _prune(node.input, needed)
    calls = [node.calls[i] for i in kept]
    own = {*node.partition, *(k.index for k in node.order), *_reads(calls)}
    below, places = _narrow(node.input, {i for i in needed if i < width} | own)
    out = replace(
        node,
        input=below,
        partition=_keys(node.partition, places),
        order=_order(node.order, places),
        calls=tuple(_call(c, places) for c in calls),
        fields=(*_named_input(node, below, places, width), *(node.fields[width + i] for i in kept)),
    )
    return out, {**places, **{width + i: len(below.fields) + n for n, i in enumerate(kept)}}


def _named_input(node: Node, below: Node, places: Places, width: int) -> tuple[N.Field, ...]:
    return _named(node, below, {old: new for old, new in places.items() if old < width})


def _sort(node: N.Sort, needed: Needed) -> tuple[Node, Places]:
    below, places = _narrow(node.input, {*needed, *(k.index for k in node.order)})
    return replace(node, input=below, order=_order(node.order, places), fields=_named(node, below, places)), places


# ---- joins -------------------------------------------------------------------------------------------------------


def _join(node: Any, needed: Needed) -> tuple[Node, Places]:
    """Every two-sided join: its condition, keys, and the columns its kind reads."""
    width = len(node.left.fields)
    one_sided = node.kind in ("semi", "anti")
    wanted = set(needed) | set(references(node.condition))
    lefts = {i for i in wanted if i < width} | {a for a, _ in node.keys}
    rights = {i - width for i in wanted if i >= width} | {b for _, b in node.keys}
    if isinstance(node, N.IntervalJoin):
        lefts, rights = lefts | {node.left_time}, rights | {node.right_time}
    elif isinstance(node, N.WindowJoin):
        lefts, rights = lefts | set(node.left_window), rights | set(node.right_window)
    elif isinstance(node, N.TemporalJoin):
        lefts |= {node.left_time}
        rights |= {*node.right_key, *(() if node.right_time is None else (node.right_time,))}
    left, lp = _narrow(node.left, lefts)
    right, rp = _narrow(node.right, rights)
    grown = len(left.fields)
    both = {**lp, **{i + width: n + grown for i, n in rp.items()}}
    changes: dict[str, Any] = {"keys": tuple((lp[a], rp[b]) for a, b in node.keys)}
    if isinstance(node, N.IntervalJoin):
        changes |= {"left_time": lp[node.left_time], "right_time": rp[node.right_time]}
    elif isinstance(node, N.WindowJoin):
        changes |= {"left_window": _pair(node.left_window, lp), "right_window": _pair(node.right_window, rp)}
    elif isinstance(node, N.TemporalJoin):
        time = None if node.right_time is None else rp[node.right_time]
        changes |= {"left_time": lp[node.left_time], "right_time": time, "right_key": _keys(node.right_key, rp)}
    places = lp if one_sided else both
    fields: list[N.Field] = list(left.fields) if one_sided else [*left.fields, *right.fields]
    for old, new in places.items():
        fields[new] = node.fields[old]
    condition = _moved(node.condition, both)
    out = replace(node, left=left, right=right, condition=condition, fields=tuple(fields), **changes)
    return out, places


def _lookup(node: N.LookupJoin, needed: Needed) -> tuple[Node, Places]:
    width = len(node.input.fields)
    wanted = set(needed) | set(references(node.condition)) | {a for a, _ in node.keys}
    below, places = _narrow(node.input, {i for i in wanted if i < width})
    grown = len(below.fields)
    places = {**places, **{i: grown + i - width for i in range(width, len(node.fields))}}
    out = replace(
        node,
        input=below,
        condition=_moved(node.condition, places),
        keys=tuple((places[a], b) for a, b in node.keys),
        fields=(*below.fields, *node.fields[width:]),
    )
    return out, places


_RULES: dict[type[Node], Callable[[Any, Needed], tuple[Node, Places]]] = {
    N.Project: _project,
    N.Filter: _filter,
    N.Union: _union,
    N.Unnest: _appending,
    N.WindowTableFunction: _appending,
    N.Expand: _expand,
    N.Aggregate: _aggregate,
    N.WindowAggregate: _window_aggregate,
    N.Rank: _rank,
    N.Deduplicate: _dedup,
    N.Over: _over,
    N.Sort: _sort,
    N.Join: _join,
    N.IntervalJoin: _join,
    N.WindowJoin: _join,
    N.TemporalJoin: _join,
    N.LookupJoin: _lookup,
}
