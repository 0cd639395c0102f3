"""The way in: a query or INSERT tree becomes a finished plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.dialect.nodes import Call, MatchRecognize, TableFunction
from flinkddl.plan import expressions, make
from flinkddl.plan.builder import special
from flinkddl.plan.builder.base import Builder
from flinkddl.plan.builder.insert import build_insert
from flinkddl.plan.nodes import Sink
from flinkddl.plan.rewrite import rewritten

if TYPE_CHECKING:
    from sqlglot import exp

    from flinkddl.diagnostics import FlinkDdlError
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


def unknown_functions(tree: exp.Expression, context: Context) -> list[FlinkDdlError]:
    """Return FD400 for each call of a function that nobody knows, in the order of the text.

    For a statement that is not planned on: what a missing table hides is told in one go with it.
    """
    own = (MatchRecognize, TableFunction)  # FIRST and LAST, MODEL and DESCRIPTOR are words of theirs
    trees = tree.walk(bfs=False, prune=lambda node: isinstance(node, own))
    calls = [c for c in trees if isinstance(c, Call) and not special.is_known(c) and not c.args.get("path")]
    forms = [(c, expressions.form_of(c)) for c in calls]
    names = [(c, form.name) for c, form in forms if form is not None and not expressions.is_known(form.name)]
    known = context.catalog.function
    return [expressions.unknown(name, context.span(c)) for c, name in names if known(name) is None]


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
