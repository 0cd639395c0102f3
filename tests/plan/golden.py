"""Runs a recorded case through dialect, catalog and planner, without Spark: what is planned, or why it is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl.catalog.apply import apply
from flinkddl.catalog.state import Catalog
from flinkddl.diagnostics import Diagnostic, FlinkDdlError, SourceText
from flinkddl.dialect import nodes
from flinkddl.dialect.script import parse_script
from flinkddl.plan.builder.hooks import context_of, hooks
from flinkddl.plan.builder.planner import plan_insert, plan_query
from flinkddl.plan.explain import type_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.plan.nodes import Node, Sink

GOLDENS = Path(__file__).parents[1] / "data" / "goldens" / "queries"


def cases() -> Iterator[dict[str, Any]]:
    """Yield every recorded query case."""
    for path in sorted(GOLDENS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


@dataclass
class Answer:
    """What came of a script: plans of queries and INSERTs, the last query's columns, or the first error."""

    error: Diagnostic | None = None
    columns: list[list[str]] = field(default_factory=list)
    query: Node | None = None
    sinks: list[Sink] = field(default_factory=list)


@cache
def _prepared(statements: tuple[str, ...]) -> tuple[Answer, Catalog]:
    return run(list(statements))


def prepared(statements: list[str]) -> tuple[Answer, Catalog]:
    """Like ``run`` from an empty catalog, done once for the same statements: many cases share their setup."""
    return _prepared(tuple(statements))


def run(statements: list[str], catalog: Catalog | None = None) -> tuple[Answer, Catalog]:
    """Apply statements in order; the first error ends it."""
    catalog = catalog or Catalog()
    answer = Answer()
    for text in statements:
        source = SourceText("<sql>", _filled(text))
        script = parse_script(source)
        if script.diagnostics:
            answer.error = script.diagnostics[0]
            return answer, catalog
        for statement in script.statements:
            try:
                catalog = _statement(statement.tree, source, catalog, answer)
            except FlinkDdlError as e:
                answer.error = e.diagnostics[0]
                return answer, catalog
    return answer, catalog


def _filled(text: str) -> str:
    return (
        text.replace("{servers}", "localhost:9092").replace("{topic:", "t-").replace("}", "") if "{" in text else text
    )


def _statement(tree: exp.Expression, source: SourceText, catalog: Catalog, answer: Answer) -> Catalog:
    context = context_of(catalog, source)
    match tree:
        case exp.Query() | exp.Values():
            planned = plan_query(tree, context)
            answer.query = planned.node
            answer.columns = [[f.name, type_text(f)] for f in planned.columns]
        case nodes.Insert():
            answer.sinks.append(plan_insert(tree, context))
        case nodes.StatementSet():
            for insert in tree.expressions:
                answer.sinks.append(plan_insert(insert, context))
        case _:
            changed, findings = apply(catalog, tree, source, hooks(source))
            errors = [d for d in findings if d.severity == "error"]
            if errors:
                raise FlinkDdlError(errors)
            return changed
    return catalog
