"""Real-time mode: which jobs it takes, what blocks the others, how many cores it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.runtime.job.supervising.preparing import local_cores
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.realtime import tasks

if TYPE_CHECKING:
    from flinkddl.spark import job as J

TABLES = """
SET 'flinkddl.execution.mode' = 'realtime';
CREATE TABLE o (id INT, k STRING, v INT, ts TIMESTAMP(3), pt AS PROCTIME(), WATERMARK FOR ts AS ts) WITH
  ('connector' = 'kafka', 'topic' = 'o', 'properties.bootstrap.servers' = 'b:9092', 'format' = 'json',
   'scan.startup.mode' = 'earliest-offset');
CREATE TABLE c (k STRING NOT NULL, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'b:9092',
   'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE s (k STRING NOT NULL, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 's', 'properties.bootstrap.servers' = 'b:9092',
   'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE a (k STRING, n BIGINT) WITH
  ('connector' = 'kafka', 'topic' = 'a', 'properties.bootstrap.servers' = 'b:9092', 'format' = 'json');
CREATE TABLE p (k STRING, n BIGINT) WITH ('connector' = 'print');
"""


def compiled(sql: str) -> tuple[J.SparkJob | None, list[str]]:
    out = compile_script(SourceText("<t>", TABLES + sql))
    jobs = [a.job for a in out.actions if isinstance(a, Start)]
    return (jobs[0] if jobs else None), [f"{d.code} {d.message}" for d in out.diagnostics if d.severity == "error"]


TAKEN = {
    "filter": "INSERT INTO a SELECT k, v FROM o WHERE v > 1;",
    "count per key": "INSERT INTO s SELECT k, COUNT(*) FROM o GROUP BY k;",
    "upserts pass": "INSERT INTO s SELECT * FROM c;",
    "first by arrival": "INSERT INTO s SELECT k, id FROM "
    "(SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt) AS n FROM o) WHERE n = 1;",
    "in order of time": "INSERT INTO a SELECT k, v FROM o ORDER BY ts;",
    "windows alone": "INSERT INTO a SELECT k, v FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE));",
}
BLOCKED = {
    "group that may stay as it is": (
        "INSERT INTO s SELECT k, MAX(v) FROM o GROUP BY k;",
        "Aggregate(by=[k], MAX(v)) compares",
    ),
    "distinct": (
        "INSERT INTO s SELECT k, COUNT(DISTINCT v) FROM o GROUP BY k;",
        "Aggregate(by=[k], COUNT(DISTINCT v)) compares",
    ),
    "join": ("INSERT INTO a SELECT o.k, o.v FROM o JOIN o AS x ON o.k = x.k;", "joins two streams"),
    "outer join": ("INSERT INTO s SELECT o.k, c.n FROM o LEFT JOIN c ON o.k = c.k;", "ChangelogNormalize"),
    "top": (
        "INSERT INTO s SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM o) "
        "WHERE n = 1;",
        "Rank(ROW_NUMBER 1..1, by=[k], order=[v]) compares",
    ),
    "window": (
        "INSERT INTO a SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
        "GROUP BY k, window_start, window_end;",
        "gives a window out once",
    ),
    "last by arrival": (
        "INSERT INTO s SELECT k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt DESC) AS n FROM o) "
        "WHERE n = 1;",
        "Deduplicate(last, by=[k], order=pt, proctime) compares",
    ),
    "over": ("INSERT INTO a SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY pt) FROM o;", "Over("),
    "limit": ("INSERT INTO s SELECT k, v FROM o LIMIT 3;", "Sort(fetch=3) compares"),
    "session": (
        "INSERT INTO a SELECT k, v FROM TABLE(SESSION(TABLE o PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' MINUTE));",
        "gives a window out once",
    ),
    "some upserts": ("INSERT INTO s SELECT * FROM c WHERE n > 1;", "ChangelogNormalize"),
    "another key": (
        "INSERT INTO s SELECT CAST(n AS STRING), n FROM c ON CONFLICT DO DEDUPLICATE;",
        "ChangelogNormalize",
    ),
    "union of one topic": ("INSERT INTO a SELECT k, v FROM o UNION ALL SELECT k, id FROM o;", "two readings"),
    "print": ("INSERT INTO p SELECT k, v FROM o;", "flinkddl.print"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name: str) -> None:
    job, errors = compiled(TAKEN[name])
    assert not errors
    assert job is not None
    assert job.trigger == ("realTime", "300000 milliseconds")
    assert [w.mode for w in job.writes] == ["update"]


@pytest.mark.parametrize("name", BLOCKED)
def test_blocked(name: str) -> None:
    sql, words = BLOCKED[name]
    job, errors = compiled(sql)
    assert job is None
    assert [e[:5] for e in errors] == ["FD662"]
    assert words in errors[0]


@pytest.mark.parametrize(("interval", "batch"), [("30 s", 30_000), ("1 s", 5000)])
def test_the_checkpoint_interval_is_the_length_of_a_batch(interval: str, batch: int) -> None:
    """Spark takes no batch below five seconds."""
    job, _ = compiled(f"SET 'execution.checkpointing.interval' = '{interval}';" + TAKEN["filter"])
    assert job is not None
    assert job.trigger == ("realTime", f"{batch} milliseconds")


@pytest.mark.parametrize(("name", "needed"), [("filter", 4), ("count per key", 7), ("upserts pass", 4)])
def test_every_task_needs_a_core(name: str, needed: int) -> None:
    """Four partitions, and three shuffle partitions for each GROUP BY."""
    job, _ = compiled(TAKEN[name])
    assert job is not None
    assert tasks(job, lambda read: 4, 3) == needed


@pytest.mark.parametrize(
    ("master", "cores"), [("local", 1), ("local[3]", 3), ("local[4, 2]", 4), ("yarn", None), ("spark://h:7077", None)]
)
def test_local_cores(master: str, cores: int | None) -> None:
    assert local_cores(master) == cores
