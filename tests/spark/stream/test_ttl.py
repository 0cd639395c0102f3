"""State TTL: what forgets, what is kept and said, what is refused; expiry itself runs on Spark over real time."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.plan import nodes as N
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark import job as J
from tests.spark.stream.harness import Running, feed, write
from tests.spark.stream.test_operators import EQUAL, FIELDS, agg, dedup, fields, top

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE o (id INT, k STRING, v INT) WITH
  ('connector' = 'kafka', 'topic' = 'o', 'properties.bootstrap.servers' = 'b:9092', 'format' = 'json',
   'scan.startup.mode' = 'earliest-offset');
CREATE TABLE c (k STRING NOT NULL, n STRING, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'b:9092',
   'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE s (k STRING NOT NULL, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 's', 'properties.bootstrap.servers' = 'b:9092',
   'key.format' = 'json', 'value.format' = 'json');
"""
STRICT = "SET 'flinkddl.state.ttl.strict' = 'true';"
HOUR = "SET 'table.exec.state.ttl' = '1 h';"
COUNT = "INSERT INTO s SELECT k, COUNT(*) FROM o GROUP BY k;"
SUM = "INSERT INTO s SELECT k, COUNT(DISTINCT v) FROM o GROUP BY k;"
FIRST = "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY PROCTIME()) AS r FROM o) WHERE r = 1"
FIRST_COUNTED = f"INSERT INTO s SELECT k, COUNT(*) FROM ({FIRST}) GROUP BY k;"
FIRST += ";"
JOIN = "SELECT o.id, c.n FROM o {} JOIN c ON o.k = c.k;"
PROCTIME = "(SELECT *, PROCTIME() AS p FROM o)"
WITHIN = f"SELECT a.id, b.id FROM {PROCTIME} AS a JOIN {PROCTIME} AS b ON a.k = b.k AND a.p BETWEEN b.p - {{}} AND b.p;"
WITHIN = WITHIN.format("INTERVAL '1' HOUR")
SELF = "SELECT a.id, b.id FROM o AS a JOIN o AS b ON a.k = b.k;"


def compiled(sql: str, state: str = "aggregate") -> tuple[list[str], list[str]]:
    """Return the codes of all findings and the aggregate calls of our own functions."""
    out = compile_script(SourceText("<t>", f"SET 'flinkddl.execution.state' = '{state}'; {TABLES}{sql}"))
    jobs = [a.job for a in out.actions if isinstance(a, Start)]
    calls = [c.function for j in jobs for s in j.steps if isinstance(s, J.GroupBy) for c in s.state_calls]
    return [d.code for d in out.diagnostics], [c.removeprefix("flinkddl.") for c in calls]


@pytest.mark.parametrize(
    ("sql", "codes", "calls"),
    [
        (COUNT, [], []),
        (HOUR + COUNT, ["FD660"], []),
        (HOUR + STRICT + COUNT, [], ["retract_aggregate_ttl_3600000"]),
        (HOUR + SUM, [], ["retract_aggregate_ttl_3600000"]),
        (HOUR + JOIN.format("LEFT"), [], ["retract_latest_ttl_3600000", "retract_left_ttl_3600000"]),
        (HOUR + SELF, ["FD660"], []),
        (HOUR + STRICT + SELF, ["FD661"], []),
        (WITHIN, [], []),
        (HOUR + WITHIN, ["FD660"], []),
        (HOUR + STRICT + WITHIN, ["FD661"], []),
    ],
)
def test_which_functions_forget(sql: str, codes: list[str], calls: list[str]) -> None:
    assert compiled(sql) == (codes, calls)


@pytest.mark.parametrize(
    ("sql", "codes", "calls"),
    [
        (HOUR + COUNT, [], ["stage_aggregate_1_ttl_3600000"]),
        (HOUR + FIRST, ["FD660"], []),  # inserts alone come out
        (HOUR + FIRST_COUNTED, [], ["stage_latest_1_ttl_3600000", "stage_aggregate_2_ttl_3600000"]),
        (HOUR + SUM, [], ["stage_aggregate_1_ttl_3600000"]),
        (HOUR + JOIN.format("LEFT"), [], ["stage_latest_1_ttl_3600000", "stage_left_2_ttl_3600000"]),
        (HOUR + STRICT + SELF, [], ["stage_inner_1_ttl_3600000"]),  # Spark's own join forgets nothing
        (HOUR + WITHIN, ["FD660"], []),
    ],
)
def test_which_forget_by_default(sql: str, codes: list[str], calls: list[str]) -> None:
    assert compiled(sql, "auto") == compiled("RESET 'flinkddl.execution.state';" + sql) == (codes, calls)


@pytest.mark.parametrize(
    ("sql", "codes", "calls"),
    [
        # a hint for one side; the other keeps its state for ever
        (
            "SELECT /*+ STATE_TTL('c' = '1 d') */ o.id, c.n FROM o LEFT JOIN c ON o.k = c.k;",
            [],
            ["retract_latest", "retract_left_ttl_0_86400000"],
        ),
        # ... or as long as the setting says
        (
            HOUR + "SELECT /*+ STATE_TTL('o' = '2 h') */ o.id, c.n FROM o LEFT JOIN c ON o.k = c.k;",
            [],
            ["retract_latest_ttl_3600000", "retract_left_ttl_7200000_3600000"],
        ),
        (
            "INSERT INTO s SELECT /*+ STATE_TTL('o' = '1 min') */ k, COUNT(DISTINCT v) FROM o GROUP BY k;",
            [],
            ["retract_aggregate_ttl_60000"],
        ),
        ("INSERT INTO s SELECT /*+ STATE_TTL('o' = '1 min') */ k, COUNT(*) FROM o GROUP BY k;", ["FD660"], []),
        ("SELECT /*+ STATE_TTL('x' = '1 d') */ o.id, c.n FROM o LEFT JOIN c ON o.k = c.k;", ["FD518"], []),
    ],
)
def test_hints(sql: str, codes: list[str], calls: list[str]) -> None:
    assert compiled(sql) == (codes, calls)


# ---- expiry on Spark ---------------------------------------------------------------------------------------------

TTL = 1500  # ms; the pause between the runs is longer


class Forgetting(Running):
    """Every function of the query has a TTL."""

    def go(self) -> Running:
        self.config = {"table.exec.state.ttl": f"{TTL} ms"}
        return super().go()


def row(seq: int, id: int, k: str, v: int | None, **more: Any) -> dict[str, Any]:
    return {"id": id, "k": k, "v": v, "__seq": seq, **more}


def sums(input: N.Node) -> N.Node:
    return N.Aggregate(fields=fields("k", "n"), input=input, keys=(1,), aggs=(agg("SUM", 2),))


def after_the_pause(
    spark: SparkSession, build: Callable[[N.Node], N.Node], node: N.Node, batches: list[list[dict[str, Any]]]
) -> Running:
    """Run the first batches at once, wait until their state is old, run the last."""
    running = Forgetting(spark, build(node), "changelog")
    for n, batch in enumerate(batches[:-1]):
        write(node.folder, n, batch)  # type: ignore[attr-defined]
    running.go()
    given = running.table.copy()
    time.sleep(TTL / 1000 + 0.2)
    write(node.folder, len(batches), batches[-1])  # type: ignore[attr-defined]
    running.go()
    running.close()
    running.table = +(running.table - given)
    return running


@pytest.mark.spark
@pytest.mark.parametrize("name", ["sum", "latest", "top"])
def test_old_state_is_forgotten(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """What comes out after the pause knows nothing of before it."""
    builds = {"sum": sums, "latest": dedup(True), "top": top(False)}
    source = feed(tmp_path / "t", FIELDS)
    batches = [[row(1, 1, "a", 5)], [row(2, 2, "a", 3)], [row(3, 3, "a", 4)]]
    running = after_the_pause(spark, builds[name], source, batches)
    assert running.table == Counter({"sum": [("a", 4)], "latest": [(3, "a", 4)], "top": [(3, "a", 4)]}[name])


@pytest.mark.spark
def test_a_join_forgets_rows_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    """The row that came again before the end of its time is there, its neighbour is not."""
    left, right = feed(tmp_path / "l", FIELDS, "delta"), feed(tmp_path / "r", FIELDS, "delta")
    both = (*FIELDS, *(N.Field(f.name + "2", f.type) for f in FIELDS))
    node = N.Join(fields=both, left=left, right=right, kind="left", condition=EQUAL, keys=((1, 1),), ttl=(0, TTL))
    running = Running(spark, node)
    write(left.folder, 0, [row(1, 1, "a", 0, __w=1)])
    write(right.folder, 0, [row(2, 7, "a", 0, __w=1)])
    running.go()
    assert running.table == Counter([(1, "a", 0, 7, "a", 0)])
    time.sleep(TTL / 1000 + 0.2)
    write(left.folder, 1, [row(3, 2, "a", 0, __w=1)])
    write(right.folder, 1, [row(4, 8, "a", 0, __w=1)])
    running.go()
    running.close()
    # the old left row is kept for ever and meets the new right row; the old right row is gone without a word
    assert running.table - Counter([(1, "a", 0, 7, "a", 0)]) == Counter(
        [(1, "a", 0, 8, "a", 0), (2, "a", 0, 8, "a", 0)]
    )
