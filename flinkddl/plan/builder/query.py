"""Queries that are neither SELECT nor set operation: VALUES, a query in parentheses, TABLE t."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.functions.typing import common_type
from flinkddl.plan import expressions
from flinkddl.plan.builder.base import QUERIES, Builder
from flinkddl.plan.builder.names import ONE_ROW
from flinkddl.plan.builder.ordering import output
from flinkddl.plan.nodes import Field, Values

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.rex import Rex


@QUERIES(exp.Subquery)
def _in_parentheses(build: Builder, tree: exp.Subquery) -> Node:
    return output(build, build.query(tree.this), tree)


@QUERIES(exp.Table)
def _table(build: Builder, tree: exp.Table) -> Node:
    return output(build, build.relation(tree).node, tree)


@QUERIES(exp.Values)
def _values(build: Builder, tree: exp.Values) -> Node:
    """VALUES: each row becomes constants; columns take their common type and are called EXPR$0, EXPR$1, ..."""
    scope = build.scope(ONE_ROW, "VALUES")
    rows: list[tuple[Rex, ...]] = []
    for row in tree.expressions:
        items = row.expressions if isinstance(row, exp.Tuple) else [row]
        rows.append(tuple(map(scope.typed, items)))
        if len(rows[-1]) != len(rows[0]):
            raise build.error("FD463", f"VALUES rows differ in length: {len(rows[0])} and {len(rows[-1])}", row)
    fields = []
    for i, column in enumerate(zip(*rows, strict=True)):
        common = common_type([v.type for v in column])
        if common is None:
            types = " and ".join(dict.fromkeys(v.type.summary for v in column))
            message = f"column {i + 1} of VALUES mixes types: {types}"
            raise build.error("FD463", message, tree, "cast them to one type")
        fields.append(Field(f"EXPR${i}", common))
    values = tuple(tuple(expressions.cast(v, f.type) for v, f in zip(row, fields, strict=True)) for row in rows)
    return output(build, Values(fields=tuple(fields), rows=values), tree)
