"""What is wrong with a statement is told in one go, also what its first mistake hides; a view when it is made."""

from __future__ import annotations

import pytest
from sqlglot import exp

from flinkddl.catalog.state import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.plan.builder.hooks import context_of
from flinkddl.plan.builder.planner import unknown_functions
from flinkddl.script.compile import compile_script
from tests.plan import golden

TABLES = """CREATE TABLE t (a STRING, b INT) WITH ('connector' = 'datagen');
CREATE TABLE wrong (a STRING) WITH ('connector' = 'datagenn');
CREATE TABLE sunk (a STRING) WITH ('connector' = 'print');
"""
CASES = [
    ("SELECT COUNTT(a) FROM nowhere", {"FD452", "FD400 COUNTT"}),
    ("SELECT COUNTT(a) FROM wrong", {"FD202", "FD400 COUNTT"}),
    ("SELECT COUNT(*), GROUPING(a), f.UP(a) FROM nowhere GROUP BY CUBE (a)", {"FD452"}),
    ("SELECT UP(a), SUM(b) OVER (ORDER BY a) FROM nowhere WHERE a > UPP(a)", {"FD452", "FD400 UP", "FD400 UPP"}),
    ("SELECT * FROM TABLE(TUMBLE(TABLE nowhere, DESCRIPTOR(ts), INTERVAL '1' MINUTE))", {"FD452"}),
    ("INSERT INTO sunk SELECT UP(a) FROM nowhere", {"FD452", "FD400 UP"}),
    ("INSERT INTO away SELECT UP(a) FROM t", {"FD452", "FD400 UP"}),
    # Flink validates a view's query when the view is made (asked: the oracle, 2.3)
    ("CREATE VIEW v AS SELECT UP(a) FROM nowhere", {"FD452", "FD400 UP"}),
    ("CREATE VIEW v AS SELECT UP(a) FROM t", {"FD400 UP"}),
    ("CREATE VIEW v AS SELECT cc FROM t; SELECT * FROM v", {"FD450"}),
    ("CREATE VIEW v (x, y) AS SELECT a FROM t", {"FD466"}),
    ("CREATE VIEW v AS SELECT a + DATE '2020-01-01' FROM t", {"FD401"}),
    ("CREATE VIEW v AS SELECT a FROM t; ALTER VIEW v AS SELECT cc FROM t; SELECT * FROM v", {"FD450"}),
    ("CREATE VIEW v AS SELECT a, b AS a FROM t", {"FD472"}),
    ("CREATE VIEW v AS SELECT t1.a, t2.a FROM t t1 JOIN t t2 ON t1.a = t2.a", {"FD472"}),
    ("CREATE VIEW v AS SELECT a, a FROM t UNION ALL SELECT a, a FROM t", {"FD472"}),
    ("CREATE VIEW v (x, x) AS SELECT a, b FROM t", {"FD472"}),
    ("CREATE VIEW v AS SELECT *, a FROM t", {"FD472"}),
    ("CREATE VIEW v AS WITH q AS (SELECT a FROM t) SELECT a, a FROM q", {"FD472"}),
    ("CREATE VIEW v AS SELECT a FROM t; CREATE VIEW IF NOT EXISTS v AS SELECT zz FROM t", {"FD450"}),
    ("CREATE VIEW v AS SELECT * FROM t t1 JOIN t t2 ON t1.a = t2.a", set()),
    ("CREATE VIEW v AS SELECT t1.*, t2.* FROM t t1 JOIN t t2 ON t1.a = t2.a", set()),
    ("CREATE VIEW v (x, y) AS SELECT a, a FROM t", set()),
    ("CREATE VIEW v AS SELECT COUNT(*), COUNT(*) FROM t", set()),
    # a comma that is missing between columns, a wrong WATERMARK: what else is wrong is told beside it
    ("CREATE TABLE u (a INT b STRINGG, c INT) WITH ('connector' = 'datagen')", {"FD102", "FD109"}),
    ("CREATE TABLE u (a INT b INT) WITH ('connector' = 'datagen'); SELECT zz FROM u", {"FD102", "FD450"}),
    ("CREATE TABLE u (a INT, PRIMARY KEY (z) NOT ENFORCED b INT) WITH ('connector' = 'datagen')", {"FD102", "FD306"}),
    (
        "CREATE TABLE u (a INT, b AS a + 1 WATERMARK FOR z AS z) WITH ('connector' = 'datagen', 'x' = '1')",
        {"FD102", "FD307", "FD212"},
    ),
    ("CREATE TABLE u (a INT DEFAULT 5, a INT) WITH ('connector' = 'datagen')", {"FD111"}),
    ("CREATE TABLE u (a INT 5) WITH ('connector' = 'datagen')", {"FD102"}),
    ("CREATE TABLE u (a INT, WATERMARK FOR z AS z) WITH ('connector' = 'datagen', 'x' = '1')", {"FD307", "FD212"}),
    ("CREATE TABLE u (a INT, WATERMARK FOR a AS a) WITH ('connector' = 'datagen', 'x' = '1')", {"FD307", "FD212"}),
    (
        "CREATE TABLE u (s TIMESTAMP(3), WATERMARK FOR s AS f(s)) WITH ('connector' = 'datagen', 'x' = '1')",
        {"FD400 f", "FD212"},
    ),
    ("CREATE TABLE u (a INT, WATERMARK FOR z AS z) WITH ('connector' = 'datagenn', 'x' = '1')", {"FD202"}),
    ("CREATE TABLE u (a INT, WATERMARK FOR z AS z) WITH ('x' = '1'); CREATE TABLE w LIKE u", {"FD307"}),
    ("CREATE TABLE u (a INT, WATERMARK FOR z AS z) WITH ('connector' = 'datagen'); SELECT a FROM u", {"FD307"}),
    # what Spark lacks is told where it is used
    ("CREATE VIEW v AS SELECT a, COUNT(*) OVER (ORDER BY b) AS n FROM t", set()),
    ("CREATE VIEW v AS SELECT a, b FROM t ORDER BY b", set()),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_one_go(text: str, expected: set[str]) -> None:
    found = compile_script(SourceText("s.sql", TABLES + text)).diagnostics
    told = [f"FD400 {d.message.split(chr(39))[1]}" if d.code == "FD400" else d.code for d in found]
    assert sorted(told) == sorted(expected)


def test_no_function_of_a_recorded_query_is_unknown() -> None:
    """Whatever Flink knows is not called a mistake beside one: functions, windows, clauses of every golden."""
    queries = [(c["id"], c.get("query") or c["sink_statement"]) for c in golden.cases()]
    wrong = set()
    for name, text in queries:
        for statement in parse_script(SourceText(name, text)).statements:
            assert isinstance(statement.tree, exp.Expression)
            errors = unknown_functions(statement.tree, context_of(Catalog(), statement.span.source))
            wrong |= {(name, d.message) for e in errors for d in e.diagnostics}
    assert wrong == {("ref-unknown-function", "unknown function 'frobnicate'")}
