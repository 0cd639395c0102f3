"""The second pass: from the leaves up, every node becomes the operator it is, and streaming rules are checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan import make
from flinkddl.plan import nodes as N
from flinkddl.plan.attributes import materialised, refreshed
from flinkddl.plan.rewrite import patterns, windowing
from flinkddl.plan.rewrite.joinkinds import classify, classify_temporal
from flinkddl.plan.rewrite.overrules import check_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Field, Node


def recognise(node: Node, context: Context) -> Node:
    """Return the finished plan of ``node``. Raises FlinkDdlError for what cannot run."""
    if isinstance(node, N.Filter) and isinstance(node.input, N.Over):
        over = _over_inputs(node.input, context)
        node = replace(node, input=over, condition=refreshed(node.condition, over))
        ranked = patterns.rank(node, context)
        if ranked is not None:
            return ranked
        return replace(node, input=check_over(over, context), fields=over.fields)
    node = _with_inputs(node, context)
    rule = _RULES.get(type(node))
    return rule(node, context) if rule is not None else node


def _over_inputs(node: N.Over, context: Context) -> N.Over:
    out = _with_inputs(node, context)
    assert isinstance(out, N.Over)
    return out


def _with_inputs(node: Node, context: Context) -> Node:
    """Rebuild the inputs and bring the types of the output in line: only time attributes can have changed."""
    if not node.inputs:
        return node
    node = node.with_inputs([recognise(i, context) for i in node.inputs])
    match node:
        case N.Project():
            exprs = tuple(refreshed(e, node.input) for e in node.exprs)
            return make.project(node.input, exprs, [f.name for f in node.fields])
        case N.Filter():
            return replace(node, condition=refreshed(node.condition, node.input), fields=_retyped(node, node.input))
        case N.Union():
            return _union(node)
        case N.Expand():
            types = [f.type.nullable for f in node.fields]
            fields = zip(_retyped(node, node.input), types, strict=False)
            return replace(
                node, fields=(*(N.Field(f.name, f.type.with_nullable(n)) for f, n in fields), node.fields[-1])
            )
        case N.Unary() if node.passes:
            return replace(node, fields=(*_retyped(node, node.input), *node.fields[node.passed :]))
    return node


def _retyped(node: Node, source: Node) -> tuple[Field, ...]:
    """The source's fields under the node's names (a WITH query or view may have renamed them)."""
    return tuple(N.Field(f.name, s.type) for f, s in zip(node.fields, source.fields, strict=False))


def _union(node: N.Union) -> Node:
    columns = list(zip(*(p.fields for p in node.parts), strict=True))
    keep = [len({f.type.time_attribute for f in column}) == 1 for column in columns]
    mixed = [i for i, k in enumerate(keep) if not k]
    parts = tuple(materialised(p, mixed) for p in node.parts)
    fields = tuple(
        N.Field(f.name, f.type.as_attribute(parts[0].fields[i].type.time_attribute)) for i, f in enumerate(node.fields)
    )
    return replace(node, parts=parts, fields=fields)


# ---- rules -------------------------------------------------------------------------------------------------------


_BATCH_ONLY = ("APPROX_COUNT_DISTINCT",)


def _aggregate(node: N.Aggregate, context: Context) -> Node:
    refused = next((a for a in node.aggs if a.function in _BATCH_ONLY), None)
    if refused is not None and context.session.streaming:
        raise FlinkDdlError.of("FD507", f"{refused.function} is not supported in streaming mode", refused.span)
    windowed = windowing.window_aggregate(node, context)
    if windowed is not None:
        return windowed
    below = materialised(node.input)
    count = len(node.keys)
    keys = tuple(N.Field(f.name, below.fields[k].type) for f, k in zip(node.fields, node.keys, strict=False))
    return replace(node, input=below, fields=(*keys, *_plain(node.fields[count:])))


def _plain(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(N.Field(f.name, f.type.as_attribute(None)) for f in fields)


def _tvf(node: N.WindowTableFunction, context: Context) -> Node:
    windowing.check_time(node.input, node.window, node.span, context)
    return node


def _legacy(node: N.WindowAggregate, context: Context) -> Node:
    windowing.check_time(node.input, node.window, node.span, context)
    below = materialised(node.input, [i for i in range(len(node.input.fields)) if i != node.window.time])
    own = len(node.keys) + len(node.aggs)
    return replace(node, input=below, fields=(*_plain(node.fields[:own]), *node.fields[own:]))


def _sort(node: N.Sort, context: Context) -> Node:
    if node.fetch == 0:
        return N.Values(fields=node.fields, rows=())
    if not context.session.streaming or node.fetch is not None:
        return node
    if node.offset:
        raise FlinkDdlError.of("FD508", "OFFSET needs LIMIT in streaming mode", node.span, "add LIMIT")
    if not node.order:
        return node
    key = node.order[0]
    if node.input.fields[key.index].type.time_attribute is None or key.descending:
        raise FlinkDdlError.of(
            "FD508",
            "ORDER BY without LIMIT needs an ascending time attribute as its first column in streaming mode",
            node.span,
            "add LIMIT, or drop the ORDER BY",
        )
    return node


def _sink(node: N.Sink, context: Context) -> Node:
    del context
    return replace(node, input=materialised(node.input))


_RULES: dict[type[Node], Callable[[Any, Context], Node]] = {
    N.Join: classify,
    N.TemporalJoin: classify_temporal,
    N.Aggregate: _aggregate,
    N.WindowTableFunction: _tvf,
    N.WindowAggregate: _legacy,
    N.Over: check_over,
    N.Sort: _sort,
    N.Sink: _sink,
}
