"""VALUES and jdbc tables in a streaming job: streams where Spark wants streams, relations where it takes them."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.printer import print_pyspark
from flinkddl.spark import job as J

TABLES = """
SET 'execution.runtime-mode' = 'streaming';
CREATE TABLE t (id INT, k STRING) WITH ('connector' = 'filesystem', 'path' = '/t', 'format' = 'json');
CREATE TABLE d (id INT, k STRING) WITH ('connector' = 'jdbc', 'url' = 'jdbc:derby:x', 'table-name' = 'd');
CREATE TABLE o (id INT, k STRING) WITH ('connector' = 'print');
CREATE VIEW v AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS x(id, k);
"""
# query, how many finished relations stay, how many are streams
CASES = [
    ("SELECT t.id, v.k FROM t JOIN v ON t.id = v.id", 1, 0),
    ("SELECT t.id, v.k FROM v JOIN t ON t.id = v.id", 1, 0),
    ("SELECT t.id, d.k FROM t JOIN d ON t.id = d.id", 1, 0),
    ("SELECT t.id, d.k FROM t JOIN v ON t.id = v.id JOIN d ON v.id = d.id", 2, 0),
    ("SELECT t.id, v.k FROM t LEFT JOIN v ON t.id = v.id", 0, 1),
    ("SELECT t.id, v.k FROM v LEFT JOIN t ON t.id = v.id", 0, 1),
    ("SELECT t.id, v.k FROM t FULL JOIN v ON t.id = v.id", 0, 1),
    ("SELECT t.id, d.k FROM t RIGHT JOIN d ON t.id = d.id", 0, 1),
    ("SELECT t.id, v.k FROM t, v", 0, 1),
    ("SELECT * FROM t UNION ALL SELECT * FROM v", 0, 1),
    ("SELECT * FROM t UNION ALL SELECT v.* FROM v JOIN d ON v.id = d.id", 1, 1),
    ("SELECT * FROM t WHERE k IN (SELECT k FROM v)", 0, 1),
    ("SELECT * FROM v WHERE id NOT IN (SELECT id FROM t)", 0, 1),
    ("SELECT d.* FROM d JOIN v ON d.id = v.id", 1, 1),
    ("SELECT MAX(id), k FROM d GROUP BY k", 0, 1),
]


@pytest.mark.parametrize(("query", "stay", "stream"), CASES, ids=range(len(CASES)))
def test_finished(query: str, stay: int, stream: int) -> None:
    compiled = compile_script(SourceText("t.sql", TABLES + f"INSERT INTO o {query}"))
    assert not compiled.has_errors, compiled.diagnostics
    (job,) = (a.job for a in compiled.actions if isinstance(a, Start))
    leaves = [s for s in job.steps if isinstance(s, J.Rows) or (isinstance(s, J.Read) and s.finished)]
    streams = [s for s in leaves if isinstance(s, J.Read) and s.streaming]
    assert (len(leaves) - len(streams), len(streams)) == (stay, stream)
    printed = print_pyspark([job])
    assert printed.count("= stream_of(") == stream
    compile(printed, "program", "exec")


def test_a_set_of_a_stream_and_values() -> None:
    """Spark writes a stream or a finished relation, in one job all are streams."""
    inserts = "INSERT INTO o SELECT * FROM t; INSERT INTO o VALUES (1, 'a');"
    compiled = compile_script(SourceText("t.sql", f"{TABLES} EXECUTE STATEMENT SET BEGIN {inserts} END;"))
    (job,) = (a.job for a in compiled.actions if isinstance(a, Start))
    assert [s.format for s in job.steps if isinstance(s, J.Read) and s.streaming] == ["text", J.ROWS]
