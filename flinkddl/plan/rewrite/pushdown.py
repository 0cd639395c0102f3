"""Filters go down to where their columns come from, and outer joins that a filter makes inner become inner.

This is no optimisation: which operator a join becomes, and whether its result is updated later, depends on it. The
rules are those of Flink's logical phase that change the meaning of the plan for its sink.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flinkddl.plan import make
from flinkddl.plan.nodes import (
    Aggregate,
    Field,
    Filter,
    Join,
    Over,
    Project,
    Sort,
    TemporalJoin,
    Union,
    Unnest,
    WindowTableFunction,
)
from flinkddl.plan.rewrite.stacks import merged
from flinkddl.plan.rex import Call, InputRef, Literal, Rex, conjuncts, references, transform

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.plan.nodes import JoinKind, Node

_STRICT = frozenset(
    {
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "LIKE",
        "CAST",
        "FIELD",
        "NEGATE",
        "UPPER",
        "LOWER",
        "ABS",
    }
)
Preds = tuple[Rex, ...]


def push(node: Node, preds: Preds = ()) -> Node:
    """Return the node with conditions over its output applied as far down as they go."""
    if isinstance(node, Filter):
        node = merged(node)
    if isinstance(node, Filter):
        return push(node.input, (*preds, *conjuncts(node.condition)))
    preds = tuple(p for p in dict.fromkeys(preds) if not (isinstance(p, Literal) and p.value is True))
    rule = _RULES.get(type(node))
    if rule is not None:
        return rule(node, preds)
    return _on_top(node.with_inputs([push(i) for i in node.inputs]), preds)


def _on_top(node: Node, preds: Sequence[Rex]) -> Node:
    done: dict[int, Rex] = {}
    return make.where(node, make.all_of(retyped(p, node.fields, done=done) for p in preds))


def retyped(rex: Rex, fields: Sequence[Field], by: int = 0, done: dict[int, Rex] | None = None) -> Rex:
    """Return an expression with references moved by ``by`` and typed as the fields they now mean."""

    def change(r: Rex) -> Rex | None:
        if isinstance(r, InputRef):
            return replace(r, index=r.index + by, type=fields[r.index + by].type)
        return None

    return transform(rex, change, done)


def _split(preds: Preds, allowed: Callable[[frozenset[int]], bool]) -> tuple[Preds, Preds]:
    down = tuple(p for p in preds if make.deterministic(p) and allowed(references(p)))
    return down, tuple(p for p in preds if p not in down)


# ---- rules -------------------------------------------------------------------------------------------------------


def _project(node: Project, preds: Preds) -> Node:
    down: list[Rex] = []
    stay: list[Rex] = []
    for p in preds:
        values = [node.exprs[i] for i in references(p)]
        fits = make.fits([p], node.exprs) and all(map(make.deterministic, [p, *values]))
        (down if fits else stay).append(p)
    below = tuple(transform(p, lambda r: node.exprs[r.index] if isinstance(r, InputRef) else None) for p in down)
    inner = push(node.input, tuple(c for b in below for c in conjuncts(b)))
    return _on_top(make.project(inner, node.exprs, [f.name for f in node.fields]), stay)


def _union(node: Union, preds: Preds) -> Node:
    return replace(node, parts=tuple(push(p, tuple(retyped(c, p.fields) for c in preds)) for p in node.parts))


def _aggregate(node: Aggregate, preds: Preds) -> Node:
    count = len(node.keys)
    down, stay = _split(preds, lambda ids: bool(node.keys) and all(i < count for i in ids))

    def to_key(r: Rex) -> Rex | None:
        return make.ref(node.input, node.keys[r.index]) if isinstance(r, InputRef) else None

    inner = push(node.input, tuple(transform(p, to_key) for p in down))
    return _on_top(replace(node, input=inner), stay)


def _over(node: Over, preds: Preds) -> Node:
    down, stay = _split(preds, lambda ids: bool(ids) and all(i in node.partition for i in ids))
    return _on_top(replace(node, input=push(node.input, down)), stay)


def _sort(node: Sort, preds: Preds) -> Node:
    if node.fetch is not None or node.offset:
        return _on_top(replace(node, input=push(node.input)), preds)
    return replace(node, input=push(node.input, preds))


def _appending(node: Any, preds: Preds) -> Node:
    """Nodes whose output begins with their input's fields: what only reads those goes below."""
    width = len(node.input.fields)
    down, stay = _split(preds, lambda ids: all(i < width for i in ids))
    return _on_top(replace(node, input=push(node.input, down)), stay)


def _join(node: Join, preds: Preds) -> Node:
    kind = _simplified(node, preds)
    width = len(node.left.fields)
    plain = replace(node, kind=kind) if kind != node.kind else node
    parts = conjuncts(node.condition)
    if kind == "inner":
        parts, preds = (*parts, *preds), ()
    keep_first = parts[: node.null_tests]
    parts = parts[node.null_tests :]
    on_left, on_right, on_both = _sides(parts, width)
    above_left, above_right, above_both = _sides(preds, width)
    lefts: Preds = above_left if kind in ("left", "semi", "anti") else ()
    rights: Preds = above_right if kind == "right" else ()
    stay = [p for p in preds if p not in lefts and p not in rights]
    del above_both
    if kind in ("inner", "right", "semi"):
        lefts = (*lefts, *on_left)
    else:
        on_both = (*on_both, *on_left)
    if kind in ("inner", "left", "semi", "anti"):
        rights = (*rights, *on_right)
    else:
        on_both = (*on_both, *on_right)
    left = push(node.left, tuple(retyped(p, node.left.fields) for p in lefts))
    right = push(node.right, tuple(retyped(p, node.right.fields, -width) for p in rights))
    both = (*left.fields, *right.fields)
    condition = make.all_of(retyped(p, both) for p in (*keep_first, *on_both))
    return _on_top(replace(plain, left=left, right=right, condition=condition), stay)


def _temporal(node: TemporalJoin, preds: Preds) -> Node:
    width = len(node.left.fields)
    down, stay = _split(preds, lambda ids: bool(ids) and all(i < width for i in ids))
    return _on_top(replace(node, left=push(node.left, down), right=push(node.right)), stay)


def _sides(parts: Sequence[Rex], width: int) -> tuple[Preds, Preds, Preds]:
    left, right, both = [], [], []
    for p in parts:
        ids = references(p)
        if not ids or not make.deterministic(p):
            both.append(p)
        elif all(i < width for i in ids):
            left.append(p)
        elif all(i >= width for i in ids):
            right.append(p)
        else:
            both.append(p)
    return tuple(left), tuple(right), tuple(both)


def _simplified(node: Join, preds: Preds) -> JoinKind:
    """Return the join kind after filters above it that no padded row can pass."""
    if node.kind not in ("left", "right", "full"):
        return node.kind
    width = len(node.left.fields)
    needed = frozenset(i for p in preds for i in _rejects_null(p))
    left_real = any(i < width for i in needed)
    right_real = any(i >= width for i in needed)
    match node.kind, left_real, right_real:
        case "left", _, True:
            return "inner"
        case "right", True, _:
            return "inner"
        case "full", True, True:
            return "inner"
        case "full", True, False:
            return "left"
        case "full", False, True:
            return "right"
        case _:
            return node.kind


def _rejects_null(pred: Rex) -> frozenset[int]:
    """Return fields that must not be NULL for the condition to be TRUE."""
    match pred:
        case Call(function="IS NOT NULL" | "IS TRUE" | "IS FALSE", args=(arg,)):
            return _strict(arg)
        case Call(function="AND", args=args):
            return frozenset(i for a in args for i in _rejects_null(a))
        case Call(function="OR", args=args):
            found = [_rejects_null(a) for a in args]
            return frozenset.intersection(*found)
        case Call(function="NOT" | "IN", args=(arg, *_)):
            return _strict(arg)
        case _:
            return _strict(pred)


def _strict(rex: Rex) -> frozenset[int]:
    """Return fields whose NULL makes the expression NULL."""
    match rex:
        case InputRef():
            return frozenset({rex.index})
        case Call(function=f, args=args) if f in _STRICT:
            return frozenset(i for a in args for i in _strict(a))
        case _:
            return frozenset()


_RULES: dict[type[Node], Callable[[Any, Preds], Node]] = {
    Project: _project,
    Union: _union,
    Aggregate: _aggregate,
    Over: _over,
    Sort: _sort,
    Unnest: _appending,
    WindowTableFunction: _appending,
    Join: _join,
    TemporalJoin: _temporal,
}
