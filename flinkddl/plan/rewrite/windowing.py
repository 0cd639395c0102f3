"""Aggregates over windows: GROUP BY window_start, window_end becomes a WindowAggregate over the function's input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan import make
from flinkddl.plan import nodes as N
from flinkddl.plan.attributes import plain
from flinkddl.plan.rex import InputRef, Rex, conjuncts, references, substitute
from flinkddl.plan.windowprops import WindowFields, window_fields

if TYPE_CHECKING:
    from flinkddl.diagnostics import Span
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node, Window

_PROPERTY_NAMES = ("start", "end", "time")


def check_time(node: Node, window: Window, span: Span | None, context: Context) -> None:
    """Check a window's time column. Raises FlinkDdlError (FD501, FD502)."""
    field = node.fields[window.time]
    if not context.session.streaming:
        if window.kind == "SESSION":
            raise FlinkDdlError.of("FD502", "SESSION windows are supported in streaming mode only", span)
        if field.type.time_attribute == "PROCTIME":
            raise FlinkDdlError.of("FD502", "windows over processing time are supported in streaming mode only", span)
        if field.type.root in (T.Root.TIMESTAMP, T.Root.TIMESTAMP_LTZ):
            return
    elif field.type.time_attribute is not None:
        return
    raise FlinkDdlError.of(
        "FD501",
        f"a window needs a time attribute, '{field.name}' is {field.type.summary}",
        span,
        "declare a WATERMARK on it; after a regular join or an aggregate a column is no time attribute any more",
    )


def window_aggregate(node: N.Aggregate, context: Context) -> Node | None:
    """Return what an aggregate over windowed rows becomes, or None for an ordinary aggregate."""
    del context
    source, expand = (node.input.input, node.input) if isinstance(node.input, N.Expand) else (node.input, None)
    found = window_fields(source)
    bounds = found.bounds(node.keys) if found is not None else None
    if found is None or bounds is None:
        return None
    if expand is not None and not all(_has_bounds(s, found) for s in expand.sets):
        return None
    if found.window.kind == "SESSION" and expand is not None:
        return _sets_below_sessions(node, source, expand)
    if found.window.kind == "SESSION" and not _session_keys(node, found, source):
        return None
    return _pushed(node, source, expand, found) or _carried(node, source, expand, found, bounds)


def _has_bounds(keys: tuple[int, ...], found: WindowFields) -> bool:
    return found.bounds(keys) is not None


def _session_keys(node: N.Aggregate, found: WindowFields, source: Node) -> bool:
    """Whether a session aggregate groups by exactly the keys that its sessions were built on."""
    keys = {k for k in node.keys if k not in found.all()}
    chain = _stripped(source)
    if chain is None:
        return True
    tvf, exprs, _ = chain
    grouped = {e.index for k in keys for e in [exprs[k]] if isinstance(e, InputRef)}
    return grouped == set(tvf.window.partition_keys) and len(grouped) == len(keys)


def _stripped(node: Node) -> tuple[N.WindowTableFunction, tuple[Rex, ...], tuple[Rex, ...]] | None:
    """Look through projections and filters: the window function, the output over it, and the filters over it."""
    exprs, filters = make.refs(node), tuple[Rex, ...]()
    while not isinstance(node, N.WindowTableFunction):
        match node:
            case N.Project():
                exprs = tuple(substitute(e, node.exprs) for e in exprs)
                filters = tuple(substitute(f, node.exprs) for f in filters)
                node = node.input
            case N.Filter():
                filters = (*filters, *conjuncts(node.condition))
                node = node.input
            case _:
                return None
    return node, exprs, filters


def _sets_below_sessions(node: N.Aggregate, source: Node, expand: N.Expand) -> Node:
    """Copy the rows per grouping set before sessions are built: a set without the key has sessions of its own.

    Flink's ExpandWindowTableFunctionTransposeRule. Raises FD502 where a grouping key is no column of the function's
    input.
    """
    chain = _stripped(source)
    if chain is None or any(not isinstance(chain[1][k], InputRef) for k in expand.keys):
        message = "grouping sets over SESSION take columns of the session's input only"
        raise FlinkDdlError.of("FD502", message, node.span, "compute the key in a query below the SESSION function")
    tvf, exprs, filters = chain
    width = len(tvf.input.fields)
    places = {k: e.index for k, e in enumerate(exprs) if isinstance(e, InputRef)}
    keys = tuple(places[k] for k in expand.keys if places[k] < width)
    sets = tuple(tuple(places[k] for k in s if places[k] < width) for s in expand.sets)
    kept = {k for k in keys if all(k in s for s in sets)}
    fields = [
        N.Field(f.name, f.type.with_nullable(f.type.nullable or (i in keys and i not in kept)))
        for i, f in enumerate(tvf.input.fields)
    ]
    copies = N.Expand(
        input=tvf.input, keys=keys, sets=sets, masks=expand.masks, fields=(*fields, expand.fields[-1]), span=node.span
    )
    sessions = replace(tvf, input=copies, fields=(*copies.fields, *tvf.fields[width:]))
    moved = tuple[Rex, ...](make.ref(sessions, i if i < width else i + 1) for i in range(len(tvf.fields)))
    below = make.where(sessions, make.all_of(tuple(substitute(f, moved) for f in filters)))
    values = [*(substitute(e, moved) for e in exprs), make.ref(sessions, width)]
    return replace(node, input=make.project(below, values, [f.name for f in expand.fields]))


def _pushed(node: N.Aggregate, source: Node, expand: N.Expand | None, found: WindowFields) -> Node | None:
    """Aggregate directly over the window function's input, when nothing but the keys reads the window's columns."""
    chain = _stripped(source)
    if chain is None:
        return None
    tvf, exprs, filters = chain
    width = len(tvf.input.fields)
    keys = [k for k in node.keys if k not in found.all()]
    needed = [*(k for k in keys if k < len(exprs)), *_arguments(node)]
    if any(i >= width for k in needed for i in references(exprs[k])):
        return None
    if any(i >= width for f in filters for i in references(f)):
        return None
    below = make.where(tvf.input, make.all_of(filters))
    wanted = list(dict.fromkeys(k for k in needed))
    values: list[Rex] = [plain(exprs[k]) for k in wanted]
    names = [source.fields[k].name for k in wanted]
    time: Rex = make.ref(tvf.input, tvf.window.time)
    projected = make.project(below, [*values, time], [*names, tvf.input.fields[tvf.window.time].name])
    place = {k: i for i, k in enumerate(wanted)}
    partition = tuple(place[k] for k in keys if k in place) if tvf.window.kind == "SESSION" else ()
    window = replace(tvf.window, time=len(wanted), partition_keys=partition)
    return _finished(node, projected, expand, place, keys, window, found, None)


def _carried(
    node: N.Aggregate, source: Node, expand: N.Expand | None, found: WindowFields, bounds: tuple[int, int]
) -> Node:
    """Aggregate rows that carry their window with them."""
    exprs = [
        plain(make.ref(source, i)) if i not in found.all() else make.ref(source, i) for i in range(len(source.fields))
    ]
    below = make.project(source, exprs, [f.name for f in source.fields])
    keys = [k for k in node.keys if k not in found.all()]
    place = {i: i for i in range(len(source.fields))}
    window = replace(found.window, time=next(iter(sorted(found.times)), bounds[1]), partition_keys=())
    return _finished(node, below, expand, place, keys, window, found, bounds)


def _arguments(node: N.Aggregate) -> list[int]:
    out = []
    for a in node.aggs:
        out += list(a.args) + ([a.filter] if a.filter is not None else [])
    return out


def _finished(
    node: N.Aggregate,
    below: Node,
    expand: N.Expand | None,
    place: dict[int, int],
    keys: list[int],
    window: Window,
    found: WindowFields,
    windowed: tuple[int, int] | None,
) -> Node:
    """Build the aggregate and, above it, the projection back to the old order of keys and aggregates."""
    if expand is not None:
        below, place = _expanded(below, expand, place, found)
    aggs = tuple(
        replace(a, args=tuple(place[i] for i in a.args), filter=None if a.filter is None else place[a.filter])
        for a in node.aggs
    )
    new_keys = tuple(place[k] for k in keys)
    properties = tuple(p for p in _PROPERTY_NAMES if _wanted(p, node.keys, found))
    bound = T.TIMESTAMP(3).not_null()
    types = {"start": bound, "end": bound, "time": _time_type(node, found)}
    fields = (
        *(below.fields[k] for k in new_keys),
        *(N.Field(f.name, f.type.as_attribute(None)) for f in node.fields[len(node.keys) :]),
        *(N.Field(f"window_{p}", types[p]) for p in properties),
    )
    out = N.WindowAggregate(
        input=below,
        window=window,
        keys=new_keys,
        aggs=aggs,
        properties=properties,
        windowed_input=windowed,
        fields=fields,
        span=node.span,
    )
    first = len(keys) + len(aggs)
    exprs: list[Rex] = []
    for k in node.keys:
        prop = _property(k, found)
        exprs.append(make.ref(out, first + properties.index(prop) if prop else keys.index(k)))
    exprs += [make.ref(out, len(keys) + i) for i in range(len(aggs))]
    return make.project(out, exprs, [f.name for f in node.fields])


def _property(key: int, found: WindowFields) -> str | None:
    for name, members in zip(_PROPERTY_NAMES, (found.starts, found.ends, found.times), strict=True):
        if key in members:
            return name
    return None


def _wanted(prop: str, keys: tuple[int, ...], found: WindowFields) -> bool:
    return any(_property(k, found) == prop for k in keys)


def _time_type(node: N.Aggregate, found: WindowFields) -> T.DataType:
    key = next((i for i, k in enumerate(node.keys) if k in found.times), None)
    return T.TIMESTAMP(3).not_null() if key is None else node.fields[key].type


def _expanded(below: Node, expand: N.Expand, place: dict[int, int], found: WindowFields) -> tuple[Node, dict[int, int]]:
    """Expand below the window: the sets without the window's columns, which every set has."""
    keys = tuple(place[k] for k in expand.keys if k not in found.all())
    sets = tuple(tuple(place[k] for k in s if k not in found.all()) for s in expand.sets)
    always = {k for k in keys if all(k in s for s in sets)}
    fields = [
        N.Field(f.name, f.type.with_nullable(f.type.nullable or (i in keys and i not in always)))
        for i, f in enumerate(below.fields)
    ]
    out = N.Expand(input=below, keys=keys, sets=sets, masks=expand.masks, fields=(*fields, expand.fields[-1]))
    return out, {**place, len(expand.fields) - 1: len(fields)}
