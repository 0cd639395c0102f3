"""Small constructors of plan nodes that many builders need."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.plan.conditions import deterministic, fits
from flinkddl.plan.nodes import Aggregate, Field, Filter, Join, Project, Values
from flinkddl.plan.nodes.values import padded
from flinkddl.plan.rex import Call, InputRef, Literal, Rex, substitute
from flinkddl.plan.rex import all_of as all_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.diagnostics import Span
    from flinkddl.plan.nodes import JoinKind, Node
    from flinkddl.plan.rex import AggCall

TRUE = Literal(T.BOOLEAN.not_null(), True)


def ref(node: Node, index: int) -> InputRef:
    """Return a reference to a node's output field."""
    return InputRef(node.fields[index].type, index)


def refs(node: Node) -> tuple[Rex, ...]:
    """Return references to all output fields."""
    return tuple(ref(node, i) for i in range(len(node.fields)))


def project(node: Node, exprs: Sequence[Rex], names: Sequence[str]) -> Node:
    """Return a projection; two in a row become one, an identity disappears, constants over VALUES are folded in."""
    exprs = tuple(exprs)
    fields = tuple(Field(n, e.type) for n, e in zip(names, exprs, strict=True))
    if isinstance(node, Project) and _repeatable(exprs, node.exprs) and fits(exprs, node.exprs):
        return project(node.input, tuple(substitute(e, node.exprs) for e in exprs), names)
    if fields == node.fields and all(isinstance(e, InputRef) and e.index == i for i, e in enumerate(exprs)):
        return node
    if isinstance(node, Values) and not node.fields:
        return Values(fields=fields, rows=tuple(exprs for _ in node.rows))
    return Project(input=node, exprs=exprs, fields=fields)


def merged(node: Node) -> Node:
    """Return a projection as ``project`` makes it, any other node as it is."""
    return project(node.input, node.exprs, [f.name for f in node.fields]) if isinstance(node, Project) else node


def _repeatable(exprs: Sequence[Rex], below: Sequence[Rex]) -> bool:
    return all(deterministic(e) for e in below) or all(isinstance(e, InputRef) for e in exprs)


def keep(node: Node, indices: Iterable[int]) -> Node:
    """Return a projection to some fields."""
    indices = tuple(indices)
    return project(node, [ref(node, i) for i in indices], [node.fields[i].name for i in indices])


def append(node: Node, exprs: Sequence[Rex]) -> tuple[Node, tuple[int, ...]]:
    """Return the node with extra fields at the end for the expressions, and the index of each.

    Expressions that are fields already are not repeated.
    """
    places: list[int] = []
    extra: list[Rex] = []
    width = len(node.fields)
    for e in exprs:
        if isinstance(e, InputRef):
            places.append(e.index)
        elif e in extra:
            places.append(width + extra.index(e))
        else:
            places.append(width + len(extra))
            extra.append(e)
    if not extra:
        return node, tuple(places)
    labels = [f.name for f in node.fields] + [f"$f{width + i}" for i in range(len(extra))]
    return project(node, [*refs(node), *extra], labels), tuple(places)


def aggregate(
    node: Node,
    keys: Iterable[int],
    calls: Sequence[AggCall] = (),
    names: Sequence[str] = (),
    span: Span | None = None,
) -> Aggregate:
    """Return a GROUP BY: the key fields, then one for each call, called ``EXPR$n`` by their places unless named."""
    keys = tuple(keys)
    names = names or [f"EXPR${i}" for i in range(len(keys), len(keys) + len(calls))]
    results = (Field(n, c.type) for n, c in zip(names, calls, strict=True))
    fields = (*(node.fields[k] for k in keys), *results)
    return Aggregate(input=node, keys=keys, aggs=tuple(calls), fields=fields, span=span)


def distinct(node: Node) -> Aggregate:
    """Return each row once."""
    return aggregate(node, range(len(node.fields)))


def join(left: Node, right: Node, kind: JoinKind, condition: Rex, span: Span | None = None) -> Join:
    """Return a regular join with the output types of its kind; keys are found later."""
    lefts, rights = padded(left.fields, kind in ("right", "full")), padded(right.fields, kind in ("left", "full"))
    fields = lefts if kind in ("semi", "anti") else (*lefts, *rights)
    return Join(left=left, right=right, kind=kind, condition=condition, keys=(), fields=fields, span=span)


def where(node: Node, condition: Rex) -> Node:
    """Return a filter; TRUE disappears, under FALSE or NULL there are no rows."""
    if isinstance(condition, Literal):
        return node if condition.value else Values(fields=node.fields, rows=())
    return Filter(input=node, condition=condition, fields=node.fields)


def equal(left: Rex, right: Rex) -> Rex:
    """Return ``left = right``."""
    return Call(T.BOOLEAN.with_nullable(left.type.nullable or right.type.nullable), "=", (left, right))


def is_null(value: Rex) -> Rex:
    """Return ``value IS NULL``."""
    return Call(T.BOOLEAN.not_null(), "IS NULL", (value,))


def is_not_null(value: Rex) -> Rex:
    """Return ``value IS NOT NULL``."""
    return Call(T.BOOLEAN.not_null(), "IS NOT NULL", (value,))


def negate(value: Rex) -> Rex:
    """Return ``NOT value``."""
    return Call(value.type, "NOT", (value,))


def plain(value: Rex) -> Rex:
    """Return a time attribute as an ordinary timestamp (an explicit CAST), any other value as it is."""
    if value.type.time_attribute is None:
        return value
    return Call(value.type.as_attribute(None), "CAST", (value,))


def materialised(node: Node, only: Iterable[int] | None = None) -> Node:
    """Return the node with its time attributes (all, or those of some fields) as ordinary timestamps."""
    wanted = range(len(node.fields)) if only is None else set(only)
    if not any(node.fields[i].type.time_attribute for i in wanted):
        return node
    exprs = [plain(r) if i in wanted else r for i, r in enumerate(refs(node))]
    return project(node, exprs, [f.name for f in node.fields])


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Make names distinct as Flink does for results: ``x, x0, x1``."""
    taken: set[str] = set()
    out = []
    for name in names:
        candidate, attempt = name, 0
        while candidate in taken:
            candidate = f"{name}{attempt}"
            attempt += 1
        taken.add(candidate)
        out.append(candidate)
    return tuple(out)


def rename(node: Node, names: Sequence[str]) -> Node:
    """Return the node with other output names."""
    if tuple(f.name for f in node.fields) == tuple(names):
        return node
    fields = tuple(Field(n, f.type) for n, f in zip(names, node.fields, strict=True))
    return replace(node, fields=fields)
