"""README's table of the form in which each query keeps its state, held against what is planned."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.job import GroupBy, JoinStep
from flinkddl.spark.stateful import operator_of

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BROKER = "'properties.bootstrap.servers' = 'b:1'"
TABLES = f"""
SET 'table.exec.sink.upsert-materialize' = 'NONE';
CREATE TABLE o (id INT, k STRING, v INT, tags ARRAY<STRING>, ts TIMESTAMP(3), p AS PROCTIME(),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH ('connector' = 'kafka', 'topic' = 'o', {BROKER}, 'format' = 'json');
CREATE TABLE c (id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH ('connector' = 'kafka', 'topic' = 'c', {BROKER}, 'format' = 'json');
CREATE TABLE u (id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (id) NOT ENFORCED)
  WITH ('connector' = 'upsert-kafka', 'topic' = 'u', {BROKER}, 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE x (id INT, k STRING, v INT) WITH ('connector' = 'kafka', 'topic' = 'x', {BROKER},
  'format' = 'debezium-json');
CREATE TABLE d (id INT, k STRING) WITH ('connector' = 'jdbc', 'url' = 'jdbc:h2:mem:x', 'table-name' = 'd');
CREATE TABLE s (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED)
  WITH ('connector' = 'upsert-kafka', 'topic' = 's', {BROKER}, 'key.format' = 'json', 'value.format' = 'json');
"""
TOP = (
    "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order}) AS r FROM {table}) "
    "WHERE r <= {n}"
)
TUMBLE = "TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '1' MINUTE)"
WINDOWS = "SELECT k, COUNT(*) FROM {} GROUP BY k, window_start, window_end"
JOIN = "SELECT o.k, c.v FROM o {} JOIN c ON {}"
SAMPLES: dict[str, list[str]] = {
    "projections, filters, UNION ALL, UNNEST of inserts": [
        "SELECT k, v FROM o WHERE v > 1",
        "SELECT k, v FROM o UNION ALL SELECT k, v FROM c",
        "SELECT t, v FROM o CROSS JOIN UNNEST(tags) AS x (t)",
    ],
    "COUNT(*) in groups of inserts": ["SELECT k, COUNT(*) FROM o GROUP BY k"],
    "the first row of a key": [TOP.format(by="k", order="p", table="o", n=1)],
    "SUM, AVG, MIN, MAX in groups of inserts, GROUPING SETS": [
        *(f"SELECT k, {f}(v) FROM o GROUP BY k" for f in ("SUM", "AVG", "MIN", "MAX")),
        "SELECT k, SUM(v) FROM o GROUP BY ROLLUP (k)",
    ],
    "Top-N of inserts with 16 rows at most, LIMIT": [
        TOP.format(by="k", order="v", table="o", n=16),
        "SELECT k, v FROM o LIMIT 3",
    ],
    "COUNT(DISTINCT) and the like": [f"SELECT k, {f}(DISTINCT v) FROM o GROUP BY k" for f in ("COUNT", "SUM")],
    "newest rows of an `upsert-kafka` table, what keeps state above those or above CDC": [
        "SELECT k, v FROM u",
        *(f"SELECT k, SUM(v) FROM {table} GROUP BY k" for table in ("u", "x")),
        TOP.format(by="k", order="v", table="u", n=3),
    ],
    "joins of all kinds: inner, outer, semi, anti, without equalities": [
        *(JOIN.format(kind, "o.id = c.id") for kind in ("", "LEFT", "RIGHT", "FULL")),
        JOIN.format("", "o.id < c.id"),
        "SELECT k, v FROM o WHERE id IN (SELECT id FROM c)",
        "SELECT k, v FROM o WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.id = o.id)",
    ],
    "the last row of a key, larger Top-N, OVER": [
        TOP.format(by="k", order="p DESC", table="o", n=1),
        TOP.format(by="k", order="v", table="o", n=17),
        *(f"SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY {order}) FROM o" for order in ("id", "ts", "p")),
    ],
    "aggregates in windows, SESSION": [
        WINDOWS.format(TUMBLE.format("o")),
        WINDOWS.format("HOP(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"),
        WINDOWS.format("SESSION(TABLE o PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' MINUTE)"),
    ],
    "interval joins": [JOIN.format("", "o.id = c.id AND c.ts BETWEEN o.ts - INTERVAL '1' MINUTE AND o.ts")],
    "Top-N and joins in windows": [
        TOP.format(by="window_start, window_end", order="v", table=TUMBLE.format("o"), n=3),
        f"SELECT l.k, r.v FROM (SELECT * FROM {TUMBLE.format('o')}) AS l "
        f"JOIN (SELECT * FROM {TUMBLE.format('c')}) AS r "
        "ON l.id = r.id AND l.window_start = r.window_start AND l.window_end = r.window_end",
    ],
    "temporal joins": ["SELECT o.k, u.v FROM o JOIN u FOR SYSTEM_TIME AS OF o.ts AS u ON o.id = u.id"],
    "lookup joins": ["SELECT o.k, o.v FROM o JOIN d FOR SYSTEM_TIME AS OF o.p AS d ON o.id = d.id"],
}
FORMS = {
    "`'auto'`": "",
    "`'keyed'`": "SET 'flinkddl.execution.state' = 'keyed';",
    "`'chain'`": "SET 'flinkddl.execution.state' = 'chain';",
    "real-time mode": "SET 'flinkddl.execution.mode' = 'realtime';",
}
WORDS = {"keyed": "by key", "aggregate": "aggregate", "uncovered": "aggregate"}


@cache
def table() -> list[list[str]]:
    (block,) = re.findall(r"<!-- forms -->\n\n(.*?)\n\n<!-- end forms -->", README, re.DOTALL)
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in block.split("\n")]


def form(query: str, sets: str) -> str:
    out = compile_script(SourceText("<t>", f"{sets}{TABLES}INSERT INTO s {query};"))
    if out.has_errors:
        assert {d.code for d in out.diagnostics if d.severity == "error"} <= {"FD677", "FD662"}
        return "refused"
    job = next(a.job for a in out.actions if isinstance(a, Start))
    ours = {WORDS[call.form] for s in job.steps if isinstance(s, GroupBy) for call in s.state_calls}
    if ours:
        (word,) = ours
        return word
    own = [s for s in job.steps if operator_of(s) and not (isinstance(s, JoinStep) and s.keeps == "nothing")]
    return "own" if own else "no state"


def test_the_table_has_these_rows() -> None:
    head, _, *rows = table()
    assert head == ["query", *FORMS]
    assert [row[0] for row in rows] == list(SAMPLES)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("what", SAMPLES)
def test_a_query_keeps_its_state_as_the_table_says(what: str, name: str) -> None:
    row = next(row for row in table() if row[0] == what)
    said = row[1 + list(FORMS).index(name)]
    assert {query: form(query, FORMS[name]) for query in SAMPLES[what]} == dict.fromkeys(SAMPLES[what], said)
