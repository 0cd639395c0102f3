"""Aggregates over windows: GROUP BY window_start, window_end becomes a WindowAggregate over the function's input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan import make
from flinkddl.plan import nodes as N
from flinkddl.plan.nodes.values import moved, plain
from flinkddl.plan.rewrite.stacks import stripped
from flinkddl.plan.rex import InputRef, Rex, references, substitute

if TYPE_CHECKING:
    from flinkddl.diagnostics import Span
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node, Window
    from flinkddl.plan.nodes.values import WindowFields

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


@dataclass(frozen=True)
class _Grouped:
    """An aggregate over windowed rows: ``source`` has the window's columns, ``expand`` copies it per grouping set."""

    node: N.Aggregate
    source: Node
    expand: N.Expand | None
    window: WindowFields

    @property
    def keys(self) -> list[int]:
        """The keys that are no column of the window."""
        return [k for k in self.node.keys if k not in self.window.all()]

    def property_of(self, key: int) -> str | None:
        """Return which bound of the window a key is."""
        members = (self.window.starts, self.window.ends, self.window.times)
        return next((name for name, m in zip(_PROPERTY_NAMES, members, strict=True) if key in m), None)


def window_aggregate(node: N.Aggregate) -> Node | None:
    """Return what an aggregate over windowed rows becomes, or None for an ordinary aggregate."""
    source, expand = (node.input.input, node.input) if isinstance(node.input, N.Expand) else (node.input, None)
    found = source.windowed
    bounds = found.bounds(node.keys) if found is not None else None
    if found is None or bounds is None:
        return None
    if expand is not None and any(found.bounds(s) is None for s in expand.sets):
        return None
    grouped = _Grouped(node, source, expand, found)
    if found.window.kind == "SESSION" and expand is not None:
        return _sets_below_sessions(node, source, expand)
    if found.window.kind == "SESSION" and not _session_keys(grouped):
        return None
    if found.window.proctime:  # over what such a window gave Flink takes an ordinary one
        return _pushed(grouped)
    return _pushed(grouped) or _carried(grouped, bounds)


def _session_keys(grouped: _Grouped) -> bool:
    """Whether a session aggregate groups by exactly the keys that its sessions were built on."""
    chain = stripped(grouped.source, N.WindowTableFunction)
    if chain is None:
        return True
    tvf, exprs, _ = chain
    keys = set(grouped.keys)
    columns = {e.index for k in keys for e in [exprs[k]] if isinstance(e, InputRef)}
    return columns == set(tvf.window.partition_keys) and len(columns) == len(keys)


def _sets_below_sessions(node: N.Aggregate, source: Node, expand: N.Expand) -> Node:
    """Copy the rows per grouping set before sessions are built: a set without the key has sessions of its own.

    Flink's ExpandWindowTableFunctionTransposeRule. Raises FD502 where a grouping key is no column of the function's
    input.
    """
    chain = stripped(source, N.WindowTableFunction)
    if chain is None or any(not isinstance(chain[1][k], InputRef) for k in expand.keys):
        message = "grouping sets over SESSION take columns of the session's input only"
        raise FlinkDdlError.of("FD502", message, node.span, "compute the key in a query below the SESSION function")
    tvf, exprs, filters = chain
    width = len(tvf.input.fields)
    places = {k: e.index for k, e in enumerate(exprs) if isinstance(e, InputRef) and e.index < width}
    copies = _copied(tvf.input, expand, places)
    sessions = replace(tvf, input=copies, fields=(*copies.fields, *tvf.fields[width:]))
    moved = tuple[Rex, ...](make.ref(sessions, i if i < width else i + 1) for i in range(len(tvf.fields)))
    below = make.where(sessions, make.all_of(tuple(substitute(f, moved) for f in filters)))
    values = [*(substitute(e, moved) for e in exprs), make.ref(sessions, width)]
    return replace(node, input=make.project(below, values, [f.name for f in expand.fields]))


def _copied(below: Node, expand: N.Expand, place: dict[int, int]) -> N.Expand:
    """Copy rows per grouping set below the window: the sets without the window's columns, which have no place."""
    keys = tuple(place[k] for k in expand.keys if k in place)
    sets = tuple(tuple(place[k] for k in s if k in place) for s in expand.sets)
    padded = {k for k in keys if not all(k in s for s in sets)}
    fields = (N.Field(f.name, f.type.with_nullable(f.type.nullable or i in padded)) for i, f in enumerate(below.fields))
    mark = expand.fields[-1]
    return N.Expand(input=below, keys=keys, sets=sets, masks=expand.masks, fields=(*fields, mark), span=expand.span)


def _pushed(grouped: _Grouped) -> Node | None:
    """Aggregate directly over the window function's input, when nothing but the keys reads the window's columns."""
    chain = stripped(grouped.source, N.WindowTableFunction)
    if chain is None:
        return None
    tvf, exprs, filters = chain
    width = len(tvf.input.fields)
    arguments = [i for a in grouped.node.aggs for i in (*a.args, a.filter) if i is not None]
    wanted = list(dict.fromkeys([*(k for k in grouped.keys if k < len(exprs)), *arguments]))
    if any(i >= width for r in (*(exprs[k] for k in wanted), *filters) for i in references(r)):
        return None
    below = make.where(tvf.input, make.all_of(filters))
    time = make.ref(tvf.input, tvf.window.time)
    names = [*(grouped.source.fields[k].name for k in wanted), tvf.input.fields[tvf.window.time].name]
    projected = make.project(below, [*(make.plain(exprs[k]) for k in wanted), time], names)
    place = {k: i for i, k in enumerate(wanted)}
    sessions = tvf.window.kind == "SESSION"
    partition = tuple(place[k] for k in grouped.keys if k in place) if sessions else ()
    window = replace(tvf.window, time=len(wanted), partition_keys=partition)
    return _finished(grouped, projected, place, window, None)


def _carried(grouped: _Grouped, bounds: tuple[int, int]) -> Node:
    """Aggregate rows that carry their window with them."""
    source, found = grouped.source, grouped.window
    below = make.materialised(source, set(range(len(source.fields))) - found.all())
    window = replace(found.window, time=min(found.times, default=bounds[1]), partition_keys=())
    return _finished(grouped, below, {i: i for i in range(len(source.fields))}, window, bounds)


def _finished(
    grouped: _Grouped, below: Node, place: dict[int, int], window: Window, windowed: tuple[int, int] | None
) -> Node:
    """Build the aggregate and, above it, the projection back to the old order of keys and aggregates."""
    node, expand = grouped.node, grouped.expand
    if expand is not None:
        copied = {k: i for k, i in place.items() if k not in grouped.window.all()}
        below, place = _copied(below, expand, copied), {**place, len(expand.fields) - 1: len(below.fields)}
    keys, asked = grouped.keys, {grouped.property_of(k) for k in node.keys}
    properties = tuple(p for p in _PROPERTY_NAMES if p in asked)
    aggs, new_keys = moved(node.aggs, place), moved(tuple(keys), place)
    out = N.WindowAggregate(
        input=below,
        window=window,
        keys=new_keys,
        aggs=aggs,
        properties=properties,
        windowed_input=windowed,
        fields=(
            *(below.fields[k] for k in new_keys),
            *plain(node.fields[len(node.keys) :]),
            *(N.Field(f"window_{p}", _bound_type(p, grouped)) for p in properties),
        ),
        span=node.span,
    )
    first = len(keys) + len(aggs)
    found = [(k, grouped.property_of(k)) for k in node.keys]
    exprs = [make.ref(out, first + properties.index(p) if p else keys.index(k)) for k, p in found]
    exprs += [make.ref(out, len(keys) + i) for i in range(len(aggs))]
    return make.project(out, exprs, [f.name for f in node.fields])


def _bound_type(name: str, grouped: _Grouped) -> T.DataType:
    times = (f.type for f, k in zip(grouped.node.fields, grouped.node.keys, strict=False) if k in grouped.window.times)
    return next(times) if name == "time" else T.TIMESTAMP(3).not_null()
