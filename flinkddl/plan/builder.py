"""The way in: a query or INSERT tree becomes a finished plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan import make
from flinkddl.plan.insert import build_insert
from flinkddl.plan.nodes import Sink
from flinkddl.plan.prune import prune
from flinkddl.plan.pushdown import push
from flinkddl.plan.query import build_query
from flinkddl.plan.recognise import recognise
from flinkddl.records import dataclass

if TYPE_CHECKING:
    from sqlglot import exp

    from flinkddl.dialect.nodes import Insert
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Field, Node


@dataclass(frozen=True)
class Planned:
    """A finished plan; ``columns`` are the result's names and types as Flink's schema shows them."""

    node: Node
    columns: tuple[Field, ...]


def plan_query(tree: exp.Expression, context: Context) -> Planned:
    """Plan a query whose rows are shown or collected. Raises FlinkDdlError with the first mistake found."""
    node = build_query(tree, context)
    node = make.rename(node, make.unique([f.name for f in node.fields]))
    finished = finish(node, context)
    return Planned(finished, node.fields)


def plan_insert(statement: Insert, context: Context) -> Sink:
    """Plan an INSERT. Raises FlinkDdlError with the first mistake found."""
    sink = finish(build_insert(statement, context), context)
    assert isinstance(sink, Sink)
    return sink


def finish(node: Node, context: Context) -> Node:
    """Bring a plan into its final form: filters pushed down, patterns recognised, streaming rules checked."""
    return prune(recognise(push(node), context))
