"""Every plan of the recorded queries fits together: references are in range and typed as the field they mean."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.plan import nodes as N
from flinkddl.plan.builder.placeholders import AggRef, OverRef, SubqueryRef
from flinkddl.plan.rex import AggCall, InputRef, OuterRef, Rex, SortKey, walk
from tests.plan import golden

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.sqltypes import DataType

CASES = [c for c in golden.cases() if "plan" in c or "sink_plan" in c]
PASSING = (N.Filter, N.Sort, N.Deduplicate)


def _walk(node: N.Node) -> Iterator[N.Node]:
    yield node
    for child in node.inputs:
        yield from _walk(child)


def _rexes(value: Any) -> Iterator[Rex]:
    if isinstance(value, Rex):
        yield value
    elif isinstance(value, tuple):
        for v in value:
            yield from _rexes(v)


def _shape(t: DataType) -> DataType:
    return t.with_nullable(True)


def _readable(node: N.Node) -> tuple[N.Field, ...]:
    """The fields that a node's expressions count."""
    match node:
        case N.Scan():
            return node.fields
        case N.Unnest() if node.condition is not None:
            return node.fields
        case N.LookupJoin():
            return (*node.input.fields, *node.table.fields)
        case _:
            return tuple(f for i in node.inputs for f in i.fields)


def check(node: N.Node) -> None:
    """Raise AssertionError where a plan does not fit together."""
    for n in _walk(node):
        readable = _readable(n)
        for f in fields(n):
            if f.name in ("input", "left", "right", "parts", "metadata", "watermark"):
                continue
            for rex in _rexes(getattr(n, f.name)):
                _check_rex(rex, readable, n)
        _check_indices(n)
        if isinstance(n, N.Project):
            assert [f.type for f in n.fields] == [e.type for e in n.exprs], n.name
        if isinstance(n, PASSING):
            assert [_shape(f.type) for f in n.fields] == [_shape(f.type) for f in n.input.fields], n.name


def _check_rex(rex: Rex, readable: tuple[N.Field, ...], node: N.Node) -> None:
    for r in walk(rex):
        assert not isinstance(r, AggRef | OverRef | OuterRef | SubqueryRef), f"{node.name} holds {r}"
        if isinstance(r, InputRef):
            assert r.index < len(readable), f"{node.name} reads field {r.index} of {len(readable)}"
            assert _shape(r.type) == _shape(readable[r.index].type), f"{node.name}: field {readable[r.index].name}"


def _check_indices(node: N.Node) -> None:
    if not isinstance(node, N.Unary):
        return
    width = len(node.input.fields)
    for name in ("keys", "partition", "order", "aggs", "calls"):
        value = getattr(node, name, ())
        for item in value if isinstance(value, tuple) else (value,):
            indices = [item] if isinstance(item, int) else _indices(item)
            assert all(0 <= i < width for i in indices), f"{node.name}.{name} {indices} of {width}"


def _indices(item: object) -> list[int]:
    match item:
        case SortKey():
            return [item.index]
        case AggCall():
            return [*item.args, *([] if item.filter is None else [item.filter])]
        case _:
            return []


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_plan_fits_together(case: dict[str, Any]) -> None:
    answer, catalog = golden.prepared(case["setup"])
    plans: list[N.Node] = []
    if "query" in case:
        answer, _ = golden.run([case["query"]], catalog)
        plans += [answer.query] if answer.query is not None else []
    if "sink_statement" in case:
        ddl = case["sink_ddl"]
        _, catalog = golden.run(ddl if isinstance(ddl, list) else [ddl], catalog)
        answer, _ = golden.run([case["sink_statement"]], catalog)
        plans += answer.sinks
    for plan in plans:
        check(plan)
