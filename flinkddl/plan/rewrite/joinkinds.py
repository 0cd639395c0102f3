"""What a join is: window, interval, temporal, lookup or regular join. Time attributes end in the last."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from flinkddl.connectors import connector
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan import make
from flinkddl.plan.nodes import IntervalJoin, Join, LookupJoin, Scan, TemporalJoin, WindowJoin, recast
from flinkddl.plan.nodes.values import padded, plain, retyped
from flinkddl.plan.rewrite.equikeys import Pairs, equalities, null_safe, restored, with_key_columns
from flinkddl.plan.rewrite.stacks import stripped
from flinkddl.plan.rewrite.timebound import bounds
from flinkddl.plan.rex import InputRef, Rex, conjuncts, transform

if TYPE_CHECKING:
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node, Window


def classify(node: Join, context: Context) -> Node:
    """Return the join as the operator it is, with its equalities as keys."""
    keyed = with_key_columns(node)
    parts = conjuncts(keyed.condition)
    own = parts[keyed.null_tests :] if keyed.null_aware else parts
    pairs = equalities(own, len(keyed.left.fields))
    out = _window_join(keyed, pairs, context) or _interval_join(keyed, parts, pairs, context) or _regular(keyed, own)
    return restored(out, node)


def _regular(node: Join, parts: tuple[Rex, ...]) -> Node:
    """Return the join with its keys; no time attribute comes through."""
    width = len(node.left.fields)
    pairs = equalities(parts, width, ("=", "IS NOT DISTINCT FROM"))
    keyed = replace(node, keys=pairs, null_safe=null_safe(parts, width, pairs))
    return keyed.over([make.materialised(i) for i in node.inputs])


def _window_join(node: Join, pairs: Pairs, context: Context) -> Node | None:
    left, right = node.left.windowed, node.right.windowed
    if left is None or right is None or not _same_window(left.window, right.window):
        return None
    start = next((p for p in pairs if p[0] in left.starts and p[1] in right.starts), None)
    end = next((p for p in pairs if p[0] in left.ends and p[1] in right.ends), None)
    if start is None or end is None or node.null_aware:
        return None
    if left.window.proctime and context.session.streaming:
        message = "a join per window over processing time is not supported in streaming mode"
        raise FlinkDdlError.of("FD507", message, node.span, "window over columns with a WATERMARK")
    rest = tuple(p for p in pairs if p not in (start, end))
    lefts, rights = zip(start, end, strict=True)
    return recast(node, WindowJoin, keys=rest, left_window=lefts, right_window=rights)


def _same_window(a: Window, b: Window) -> bool:
    return replace(a, time=b.time, partition_keys=b.partition_keys) == b


def _interval_join(node: Join, parts: tuple[Rex, ...], pairs: Pairs, context: Context) -> Node | None:
    if node.kind in ("semi", "anti") or not context.session.streaming:
        return None
    found = bounds(parts, node.left.fields, node.right.fields)
    if found is None:
        return None
    keys = tuple(p for p in pairs if p != (found.left_time, found.right_time))
    return recast(node, IntervalJoin, keys=keys, **asdict(found))


# ---- temporal ----------------------------------------------------------------------------------------------------


def classify_temporal(node: TemporalJoin, context: Context) -> Node:
    """Return a temporal join with its keys, or the lookup join that it is. Raises FlinkDdlError (FD509, FD510)."""
    before = node
    node = with_key_columns(node)
    width = len(node.left.fields)
    pairs = equalities(conjuncts(node.condition), width)
    attribute = node.left.fields[node.left_time].type.time_attribute
    if attribute is None:
        raise FlinkDdlError.of(
            "FD509",
            "FOR SYSTEM_TIME AS OF takes a time attribute, which this column has lost",
            node.span,
            "a regular join or an aggregate below makes it a plain timestamp",
        )
    if attribute == "PROCTIME":
        return restored(_lookup(node, pairs), before)
    key = node.right.unique_key()
    time = next((i for i, f in enumerate(node.right.fields) if f.type.time_attribute == "ROWTIME"), None)
    if not key or not set(key) <= {r for _, r in pairs}:
        raise FlinkDdlError.of(
            "FD509",
            "a temporal join needs the primary key of the versioned table in its ON condition",
            node.span,
            "declare PRIMARY KEY (...) NOT ENFORCED on it, or deduplicate it in a view, and join on all key columns",
        )
    if time is None:
        message = "the versioned table of a temporal join needs a WATERMARK"
        raise FlinkDdlError.of("FD509", message, node.span, "declare one on its event time")
    fields = (*node.left.fields, *plain(node.fields[width:]))
    return restored(replace(node, keys=pairs, right_time=time, fields=fields), before)


def _lookup(node: TemporalJoin, pairs: Pairs) -> Node:
    if not pairs:
        raise FlinkDdlError.of("FD510", "a lookup join needs an equality on a column of the looked-up table", node.span)
    found = stripped(node.right, Scan)
    if found is None or not _can_lookup(found[0]):
        raise FlinkDdlError.of(
            "FD510",
            "a processing-time join needs a table that can be looked up, such as jdbc, or a bounded one",
            node.span,
            _instead(found and found[0]),
        )
    scan, exprs, condition = found
    width = len(node.left.fields)
    whole = (*node.left.fields, *scan.fields)

    def below(r: Rex) -> Rex | None:
        if isinstance(r, InputRef) and r.index >= width:
            return retyped(exprs[r.index - width], whole, width)
        return None

    tests = [transform(c, below) for c in conjuncts(node.condition)]
    tests += [retyped(c, whole, width) for c in condition]
    lookup = LookupJoin(
        input=node.left,
        kind=node.kind,
        table=scan,
        condition=make.all_of(tests),
        keys=equalities(tuple(tests), width),
        fields=(*node.left.fields, *padded(scan.fields, node.kind == "left")),
        span=node.span,
    )
    out = [*(make.ref(lookup, i) for i in range(width)), *(retyped(e, lookup.fields, width) for e in exprs)]
    return make.project(lookup, out, [f.name for f in node.fields])


def _can_lookup(scan: Scan) -> bool:
    return scan.options is None or connector(scan.options.connector).lookup(scan.options)


def _instead(scan: Scan | None) -> str:
    options = scan.options if scan is not None else None
    if scan is not None and options is not None and connector(options.connector).bounded(scan.table, options):
        return "join it without FOR SYSTEM_TIME AS OF: its rows are all there when the job starts"
    return "set 'scan.bounded.mode' on it, or use an event-time temporal join"
