"""The builder's tables of rules, and what one builder shares and keeps apart."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.dialect import nodes
from flinkddl.dialect.script import parse_script
from flinkddl.plan.builder.base import CALLS, JOINED, QUERIES, TABLES, Builder
from flinkddl.plan.builder.hooks import context_of
from flinkddl.plan.nodes import Join, Node
from flinkddl.plan.rules import Rules
from tests.plan import golden

if TYPE_CHECKING:
    from pathlib import Path

DDL = ["CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'datagen')"]


def _built(sql: str) -> Node:
    """The plan as it comes out of the builder, before the rewrites."""
    _, catalog = golden.run(DDL)
    source = SourceText("<sql>", sql)
    return Builder(context_of(catalog, source)).query(parse_script(source).statements[0].tree)


def test_nearest_type_decides() -> None:
    rules = Rules[str]()
    rules(exp.Query)(lambda: "query")
    rules(exp.SetOperation)(lambda: "set operation")
    found = {tree: rules.of(tree) for tree in (exp.Union(), exp.Select(), exp.Column())}
    assert [None if rule is None else rule() for rule in found.values()] == ["set operation", "query", None]


def test_a_file_is_found_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "__init__": "from flinkddl.plan.rules import Rules, files\nRULES = Rules()\nfiles(__name__, __path__)",
        "own": "from a_room import RULES\n@RULES(int)\ndef rule(found):\n    return found + 1",
    }
    for name, text in files.items():
        path = tmp_path / "a_room" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("a_room").RULES.of(1)(1) == 2


@pytest.mark.parametrize(
    ("rules", "types"),
    [
        (QUERIES, (exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Values, exp.Subquery, exp.Table)),
        (TABLES, (exp.Table, exp.Subquery, exp.Values, exp.Unnest, exp.Lateral)),
        (TABLES, (nodes.TableFunction, nodes.TemporalTable, nodes.MatchRecognize)),
        (JOINED, (exp.Table, exp.Subquery, exp.Unnest, exp.Lateral, nodes.TableFunction, nodes.TemporalTable)),
        (CALLS, (exp.Window, exp.Subquery, exp.In, exp.Exists, exp.EQ, exp.GTE, nodes.Call)),
    ],
    ids=["queries", "tables", "tables of Flink", "joined", "calls"],
)
def test_every_tree_of_the_parser_has_a_rule(rules: Rules[object], types: tuple[type, ...]) -> None:
    assert [t.__name__ for t in types if rules.of(t()) is None] == []


def test_what_is_no_query_is_refused() -> None:
    _, catalog = golden.run(DDL)
    with pytest.raises(FlinkDdlError) as refused:
        Builder(context_of(catalog)).query(exp.column("a"))
    assert [d.code for d in refused.value.diagnostics] == ["FD465"]


def test_a_with_query_is_planned_once() -> None:
    plan = _built("WITH q AS (SELECT a FROM t GROUP BY a) SELECT l.a FROM q AS l JOIN q AS r ON l.a = r.a")
    (join,) = plan.inputs
    assert isinstance(join, Join)
    assert join.left is join.right


def test_a_with_query_sees_those_before_it_and_no_outer_columns() -> None:
    _built("WITH q AS (SELECT a FROM t), r AS (SELECT a FROM q) SELECT a FROM r")
    with pytest.raises(FlinkDdlError, match="table or view 'r' not found"):
        _built("WITH q AS (SELECT a FROM r), r AS (SELECT a FROM t) SELECT a FROM q")
    with pytest.raises(FlinkDdlError, match="'o' is neither a table of this query nor a column"):
        _built("SELECT (WITH q AS (SELECT o.a) SELECT MAX(a) FROM q) FROM t AS o")
