"""What operators by key count is what lies there: small groups, pages, rows taken back, a TTL that is over."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.runtime.storage.entries import count_entries
from flinkddl.runtime.storage.states import operators_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.job.reporting.progress import Progress

pytestmark = pytest.mark.spark
TABLES = """
SET 'execution.runtime-mode' = 'streaming';
SET 'flinkddl.execution.state' = 'chain';
SET 'parallelism.default' = '2';
SET 'pipeline.name' = 'exact';
{sets}
CREATE TABLE d (id INT NOT NULL, k STRING, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH
  ('connector' = 'filesystem', 'path' = '{root}/d', 'format' = 'debezium-json', 'source.monitor-interval' = '1s');
CREATE TABLE s (a STRING, b STRING) WITH ('connector' = 'blackhole');
INSERT INTO s {query};
"""
COUNTS = "SELECT k, CAST(COUNT(DISTINCT v) AS STRING) AS n FROM d GROUP BY k"
FIRST = "SELECT k, MIN(v) AS n FROM d GROUP BY k"
QUERIES = {
    "aggregates and a join": f"SELECT x.k, y.n FROM ({COUNTS}) AS x JOIN ({FIRST}) AS y ON x.k = y.k",
    "a join of one key": "SELECT x.k, y.v FROM d AS x LEFT JOIN d AS y ON x.k = y.k AND x.v = y.v AND x.id < y.id",
    "top": "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS r FROM d) WHERE r <= 3",
}
ROWS = 1500


def changes(batch: int) -> list[dict[str, object]]:
    """Return 1,500 rows of three groups; then half of them taken back; then all of one group, and others come."""
    rows = [{"id": i, "k": "abc"[i % 3], "v": f"a value of some length {i}"} for i in range(ROWS)]
    if batch == 0:
        return [{"before": None, "after": row, "op": "c"} for row in rows]
    if batch == 1:
        return [{"before": row, "after": None, "op": "d"} for row in rows[: ROWS // 2]]
    gone = [{"before": row, "after": None, "op": "d"} for row in rows[ROWS // 2 :] if row["k"] == "a"]
    return [*gone, *({"before": None, "after": row | {"k": "new"}, "op": "c"} for row in rows[:300])]


@pytest.mark.parametrize(
    ("name", "sets"),
    [*((name, "") for name in QUERIES), ("top", "SET 'table.exec.state.ttl' = '2 s';")],
    ids=[*QUERIES, "TTL"],
)
def test_it_is_what_lies_there(spark: SparkSession, tmp_path: Path, name: str, sets: str) -> None:
    (tmp_path / "d").mkdir()
    seen: list[Progress] = []
    for batch in range(3):
        time.sleep(2.5 * bool(sets and batch))  # what is there is too old
        lines = "".join(f"{json.dumps(change)}\n" for change in changes(0 if sets else batch))
        (tmp_path / "d" / f"{batch}.json").write_text(lines)
        script = TABLES.format(root=tmp_path, sets=sets, query=QUERIES[name])
        run = {"checkpoint": str(tmp_path / "state"), "notice": lambda _: None, "on_progress": seen.append}
        job = Catalog(spark, views=False).execute_all(script, run=run)[-1].job
        assert job is not None
        assert job.await_input(180)
        job.stop()
        counted = {k.node.operator.rpartition("_")[2]: (k.groups, k.size) for k in seen[-1].keyed}
        there = [count_entries(spark, o).nodes for o in operators_of(tmp_path / "state")]
        assert counted == {str(n): both for nodes in there for n, both in nodes.items()}
        assert sum(k.went for p in seen for k in p.keyed) > 0
