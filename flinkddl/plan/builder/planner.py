"""The way in: a query or INSERT tree becomes a finished plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.plan import make
from flinkddl.plan.builder import from_, joins, select, setops, special  # noqa: F401 - their rules
from flinkddl.plan.builder.base import Builder
from flinkddl.plan.builder.insert import build_insert
from flinkddl.plan.nodes import Sink
from flinkddl.plan.rewrite import rewritten

if TYPE_CHECKING:
    from sqlglot import exp

    from flinkddl.dialect.nodes import Insert
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Field, Node

MOST_READS = 5000


@dataclass(frozen=True)
class Planned:
    """A finished plan; ``columns`` are the result's names and types as Flink's schema shows them."""

    node: Node
    columns: tuple[Field, ...]


def plan_query(tree: exp.Expression, context: Context) -> Planned:
    """Plan a query whose rows are shown or collected. Raises FlinkDdlError with the first mistake found."""
    node = Builder(context).query(tree)
    _check_size(node, tree, context)
    node = make.rename(node, make.unique([f.name for f in node.fields]))
    finished = rewritten(node, context)
    return Planned(finished, node.fields)


def plan_insert(statement: Insert, context: Context) -> Sink:
    """Plan an INSERT. Raises FlinkDdlError with the first mistake found."""
    built = build_insert(Builder(context), statement)
    _check_size(built, statement, context)
    sink = rewritten(built, context)
    assert isinstance(sink, Sink)
    return sink


def _check_size(node: Node, tree: exp.Expression, context: Context) -> None:
    """Refuse what would take hours to plan: thirteen views, each a self-join of the one below, read 8,192 tables."""
    reads = _reads(node, {})
    if reads > MOST_READS:
        raise context.error(
            "FD120",
            f"this query reads {reads:,} tables when its views are written out; {MOST_READS:,} are the most",
            tree,
            "write a view that is used often into a table of its own, and read that",
        )


def _reads(node: Node, known: dict[int, int]) -> int:
    """Count a plan's leaves; a part that is used twice counts twice and is looked at once."""
    if id(node) not in known:
        known[id(node)] = sum(_reads(child, known) for child in node.inputs) or 1
    return known[id(node)]
