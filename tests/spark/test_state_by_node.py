"""Which node of EXPLAIN each stateful operator in Spark's progress serves: queries of every kind, in both forms.

What a node keeps of these rows is known without Spark, and differs from node to node: an operator that is given to
another node has the wrong number of rows.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.spark.operators import operators

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.api import Job
    from flinkddl.runtime.job.reporting.progress import Progress

ROWS = [(1, "a", 1), (2, "a", 2), (3, "a", 3), (4, "b", 1), (5, "c", 1)]
NUMBERS = [("a", 10), ("b", 20)]
TABLES = """
SET 'execution.runtime-mode' = 'streaming';
SET 'flinkddl.execution.state' = '{form}';
CREATE TABLE s (a STRING, b BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE o (id INT, k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH
  ('connector' = 'filesystem', 'path' = '{root}/o', 'format' = 'json');
CREATE TABLE c (k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH
  ('connector' = 'filesystem', 'path' = '{root}/c', 'format' = 'json');
CREATE TABLE d (id INT NOT NULL, k STRING, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH
  ('connector' = 'filesystem', 'path' = '{root}/d', 'format' = 'debezium-json');
CREATE VIEW r AS SELECT k, n, ts FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS w FROM c) WHERE w = 1;
"""
UPDATING = {
    "nested": "SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM o GROUP BY k) GROUP BY n",
    "distinct": "SELECT k, COUNT(DISTINCT v) FROM (SELECT DISTINCT k, v FROM o) GROUP BY k",
    "first": "SELECT v, COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS r FROM o) "
    "WHERE r = 1 GROUP BY v",
    "last": "SELECT v, SUM(id) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS r FROM o) "
    "WHERE r = 1 GROUP BY v",
    "join": "SELECT c.n, COUNT(*) FROM o JOIN c ON o.k = c.k GROUP BY c.n",
    "left": "SELECT o.k, c.n FROM o LEFT JOIN (SELECT k, SUM(n) AS n FROM c GROUP BY k) AS c ON o.k = c.k",
    "semi": "SELECT k, v FROM o WHERE k IN (SELECT k FROM c WHERE n > 10)",
    "top": "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY n ORDER BY k) AS r FROM "
    "(SELECT k, MIN(v) AS n FROM o GROUP BY k)) WHERE r <= 2",
    "retract": "SELECT k, SUM(v) FROM d GROUP BY k",
    "self": "SELECT x.k, y.n FROM (SELECT k, MAX(v) AS n FROM o GROUP BY k) AS x "
    "JOIN (SELECT v, MAX(id) AS n FROM o WHERE id < 3 GROUP BY v) AS y ON x.n = y.v",
    "over": "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM o",
    "temporal": "SELECT o.k, r.n FROM o JOIN r FOR SYSTEM_TIME AS OF o.ts ON o.k = r.k",
}
APPENDING = {
    "interval": "SELECT o.k, c.n FROM o JOIN c ON o.k = c.k "
    "AND o.ts BETWEEN c.ts - INTERVAL '1' MINUTE AND c.ts + INTERVAL '1' MINUTE",
    "tumble": "SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
    "GROUP BY k, window_start, window_end",
    "session": "SELECT v, COUNT(*) FROM TABLE(SESSION(TABLE o PARTITION BY v, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
    "GROUP BY v, window_start, window_end",
}
PASSING = {"join": "SELECT o.k, c.n FROM (SELECT k, COUNT(DISTINCT v) AS n FROM o GROUP BY k) AS o JOIN c ON o.k = c.k"}
KEYED = {name: UPDATING[name] for name in ("nested", "last", "join", "retract")}
INTERVAL = "((k = k#1) AND (ts >= (ts#1 - 60000)) AND (ts <= (ts#1 + 60000))), -60000ms <= ts - ts#1 <= 60000ms"
EXPECTED: dict[str, list[int]] = {
    "Aggregate(by=[k], COUNT(*))": [3],
    "Aggregate(by=[n], COUNT(*))": [2, 2],  # of "nested" and of "join"
    "Aggregate(by=[k, v])": [5],
    "Aggregate(by=[k], COUNT(DISTINCT v))": [3],
    "Deduplicate(first, by=[k], order=p, proctime)": [3],
    "Aggregate(by=[v], COUNT(*))": [1],
    "Deduplicate(last, by=[k], order=p, proctime)": [3],
    "Aggregate(by=[v], SUM(id))": [2],
    "Join(inner, (k = k#1))": [7],
    "Join(left, (k = k#1))": [3],
    "Aggregate(by=[k], SUM(n))": [2],
    "Join(semi, (k = k#1))": [3],
    "Aggregate(by=[k], MIN(v))": [3],
    "Rank(ROW_NUMBER 1..2, by=[n], order=[k])": [1],
    "Aggregate(by=[k], SUM(v))": [3],
    "Aggregate(by=[k], MAX(v))": [3],
    "Aggregate(by=[v], MAX(id))": [2],
    "Join(inner, (n = v))": [3],
    "Over(by=[k], order=[ts], RANGE UNBOUNDED..0, SUM(v))": [3],
    "TemporalJoin(inner, (k = k#1), as of ts)": [3],
    f"IntervalJoin(inner, {INTERVAL})": [7],
    "WindowAggregate(TUMBLE(ts, size=60000ms), by=[k], COUNT(*), properties=[start, end])": [3],
    "WindowAggregate(SESSION(ts, size=60000ms, partition=[v]), by=[v], COUNT(*), properties=[start, end])": [3],
}
"""What each node keeps after the first batch, an operator each, by what EXPLAIN says of it."""
BY_KEY = {"Join(inner, (k = k#1))": [3]}
"""What is otherwise by key: groups, where Spark's own operator counts rows."""


def write(folder: Path) -> None:
    """Write what the tables hold."""
    tables: dict[str, list[dict[str, Any]]] = {
        "o": [{"id": i, "k": k, "v": v, "ts": f"2024-01-01 10:00:0{i}"} for i, k, v in ROWS],
        "c": [{"k": k, "n": n, "ts": f"2024-01-01 10:00:0{i}"} for i, (k, n) in enumerate(NUMBERS)],
        "d": [{"before": None, "after": {"id": i, "k": k, "v": v}, "op": "c"} for i, k, v in ROWS],
    }
    for name, rows in tables.items():
        (folder / name).mkdir()
        (folder / name / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def kept(spark: SparkSession, folder: Path, queries: dict[str, str], form: str) -> dict[str, list[int]]:
    """Run the queries as one and return what their nodes keep after its first batch, of each operator."""
    seen: list[Progress] = []
    job = started(spark, folder, queries, form, seen, apart=True)
    texts = {f"n{o.number}": o.here.node.describe() for o in operators(job._running.job)}
    found: dict[str, list[int]] = {}
    for state in seen[0].state:
        found.setdefault(texts.get(state.place.node, "unknown"), []).append(state.rows)
    assert sum(seen[0].scans.values()) == seen[0].rows_in
    explained = job.explain().splitlines()
    assert any(" Scan(" in line and " rows out]" in line for line in explained), explained
    assert sum(bool(re.search(r"(\[|· )state [\d,]+ rows", line)) for line in explained) == len(seen[0].state_by_node)
    return found


def started(
    spark: SparkSession, folder: Path, queries: dict[str, str], form: str, seen: list[Progress], *, apart: bool = False
) -> Job:
    """Run the queries as one for a batch; ``apart``: each reads its tables by itself."""
    write(folder)
    parts = (
        f"SELECT CAST(x AS STRING), CAST(y AS BIGINT) FROM ({query}) AS q{n}(x, y)"
        for n, query in enumerate(queries.values())
    )
    insert = f"INSERT INTO s {' UNION ALL '.join(parts)};"
    catalog = Catalog(spark, views=False)
    catalog.execute(TABLES.format(root=folder, form=form))
    if apart:
        catalog.execute("SET 'table.optimizer.reuse-source-enabled' = 'false'")
    (result,) = catalog.execute_all(insert, run={"on_progress": seen.append, "notice": lambda text: None})
    job = result.job
    assert job is not None
    while not seen and not job.await_termination(0.05):
        pass
    job.request_stop(now=True)
    job.await_termination(120)
    return job


@pytest.mark.spark
def test_rows_that_pass_a_stage(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of c wait for counts of o, which are made in the stage before."""
    seen: list[Progress] = []
    job = started(spark, tmp_path, PASSING, "chain", seen)
    passed = {k.node.operator: k.passed for k in seen[0].keyed}
    assert passed == {"aggregate_1": len(NUMBERS), "inner_2": None}
    (told,) = [line for line in job.explain().splitlines() if " pass " in line]
    assert re.search(rf"n\d+ Aggregate\(.*{len(ROWS)} rows in · .* · {len(NUMBERS)} rows pass n\d+\]$", told)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("queries", "form", "nodes"),
    [
        pytest.param(APPENDING, "aggregate", 3, id="windows"),
        pytest.param(KEYED, "keyed", 7, id="keyed"),
        pytest.param(UPDATING, "aggregate", 21, id="aggregates", marks=pytest.mark.slow),
    ],
)
def test_state(spark: SparkSession, tmp_path: Path, queries: dict[str, str], form: str, nodes: int) -> None:
    found = kept(spark, tmp_path, queries, form)
    expected = EXPECTED | (BY_KEY if form == "keyed" else {})
    assert found == {text: expected[text] for text in found}
    assert sum(map(len, found.values())) == nodes
