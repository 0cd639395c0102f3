"""Real-time mode: which jobs it takes, what blocks the others, how many cores it needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flinkddl.connectors.kafka.read import AHEAD
from flinkddl.diagnostics import SourceText
from flinkddl.plan.stateforms import Begun
from flinkddl.runtime.job.supervising.slots import local_cores
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark import job as J
from flinkddl.spark.meaning import meanings
from flinkddl.spark.realtime import SETTINGS, asking, blockers, not_one_to_one, of_row, tasks

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
CHAINED = {
    "group that may stay as it is": ("INSERT INTO s SELECT k, MAX(v) FROM o GROUP BY k;", 1, "MAX(v)) compares"),
    "distinct": ("INSERT INTO s SELECT k, COUNT(DISTINCT v) FROM o GROUP BY k;", 1, "COUNT(DISTINCT v)) compares"),
    "join": ("INSERT INTO a SELECT o.k, o.v FROM o JOIN o AS x ON o.k = x.k;", 1, "joins two streams"),
    "outer join": ("INSERT INTO s SELECT o.k, c.n FROM o LEFT JOIN c ON o.k = c.k;", 3, "ChangelogNormalize"),
    "top": (
        "INSERT INTO s SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM o) "
        "WHERE n = 1;",
        1,
        "Rank(ROW_NUMBER 1..1, by=[k], order=[v]) compares",
    ),
    "window": (
        "INSERT INTO a SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
        "GROUP BY k, window_start, window_end;",
        1,
        "WindowAggregate(TUMBLE(ts, size=60000ms), by=[k], COUNT(*), properties=[start, end]) gives a window out once",
    ),
    "window top": (
        "INSERT INTO a SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        "ORDER BY v) AS n FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) WHERE n <= 3;",
        1,
        "gives a window out once",
    ),
    "join within a window": (
        "INSERT INTO a SELECT x.k, y.v "
        "FROM (SELECT * FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) AS x "
        "LEFT JOIN (SELECT * FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) AS y "
        "ON x.window_start = y.window_start AND x.window_end = y.window_end AND x.k = y.k AND x.v < y.v;",
        1,
        "joins two streams",
    ),
    "interval join": (
        "INSERT INTO a SELECT o.k, o.v FROM o LEFT JOIN o AS x ON o.k = x.k "
        "AND o.ts BETWEEN x.ts - INTERVAL '1' MINUTE AND x.ts AND o.v < x.v;",
        1,
        "joins two streams",
    ),
    "temporal join": (
        "CREATE TABLE r (k STRING, n BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED) "
        "WITH ('connector' = 'upsert-kafka', 'topic' = 'r', 'properties.bootstrap.servers' = 'b:9092', "
        "'key.format' = 'json', 'value.format' = 'json');"
        "INSERT INTO a SELECT o.k, r.n FROM o LEFT JOIN r FOR SYSTEM_TIME AS OF o.ts ON o.k = r.k AND o.v < r.n;",
        1,
        "joins two streams",
    ),
    "temporal join with itself": (
        "CREATE VIEW last AS SELECT k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n "
        "FROM o) WHERE n = 1;"
        "INSERT INTO a SELECT o.k, last.v FROM o JOIN last FOR SYSTEM_TIME AS OF o.ts ON o.k = last.k;",
        1,
        "Deduplicate(last, by=[k], order=ts) compares",
    ),
    "temporal join below a sum": (
        "CREATE TABLE r (k STRING, n BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED) "
        "WITH ('connector' = 'upsert-kafka', 'topic' = 'r', 'properties.bootstrap.servers' = 'b:9092', "
        "'key.format' = 'json', 'value.format' = 'json');"
        "INSERT INTO s SELECT o.k, SUM(r.n) FROM o JOIN r FOR SYSTEM_TIME AS OF o.ts ON o.k = r.k GROUP BY o.k;",
        2,
        "TemporalJoin(inner, ",
    ),
    "sessions": (
        "INSERT INTO a SELECT LISTAGG(k), COUNT(*) FROM TABLE(SESSION(TABLE o PARTITION BY k, DESCRIPTOR(ts), "
        "INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end;",
        1,
        "gives a window out once",
    ),
    "window of windows": (
        "INSERT INTO a SELECT 'all', MAX(n) FROM (SELECT k, window_start, window_end, COUNT(*) AS n FROM "
        "TABLE(HOP(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)) "
        "GROUP BY k, window_start, window_end) GROUP BY window_start, window_end;",
        2,
        "gives a window out once",
    ),
    "last by arrival": (
        "INSERT INTO s SELECT k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt DESC) AS n FROM o) "
        "WHERE n = 1;",
        1,
        "Deduplicate(last, by=[k], order=pt, proctime) compares",
    ),
    "sets of changing rows": (
        "INSERT INTO s SELECT k, COUNT(*) FROM (SELECT k, MAX(v) AS m FROM o GROUP BY k) "
        "GROUP BY GROUPING SETS ((k, m), (k));",
        3,
        "compares",
    ),
    "limit": ("INSERT INTO s SELECT k, v FROM o LIMIT 3;", 1, "Sort(fetch=3) compares"),
    "some upserts": ("INSERT INTO s SELECT * FROM c WHERE n > 1;", 1, "ChangelogNormalize"),
    "another key": (
        "INSERT INTO s SELECT CAST(n AS STRING), n FROM c ON CONFLICT DO DEDUPLICATE;",
        2,
        "ChangelogNormalize",
    ),
    "union of one topic": ("INSERT INTO a SELECT k, v FROM o UNION ALL SELECT k, id FROM o;", 0, "two readings"),
    "first rows beside all": (
        "INSERT INTO a SELECT k, v FROM o UNION ALL SELECT k, id FROM "
        "(SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt) AS n FROM o) WHERE n = 1;",
        1,
        "unites what an operator with state gives",
    ),
    "over": ("INSERT INTO a SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY pt) FROM o;", 1, "Over("),
    "over below a join": (
        "INSERT INTO a SELECT y.k, y.n FROM (SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY pt) AS n FROM o) AS y "
        "JOIN o AS x ON y.k = x.k;",
        2,
        "Over(",
    ),
}
"""Queries that are chains of so many stages, and what keeps them out of real-time mode as aggregates."""
BLOCKED = {
    "rows that are there": (
        "INSERT INTO s SELECT k, MAX(v) FROM (SELECT k, v FROM o UNION ALL SELECT 'a', 1) GROUP BY k;",
        "MAX(v)) stands above rows that are there as a whole",
    ),
    "windows of a row beside others": (
        "INSERT INTO a SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
        "GROUP BY k, window_start, window_end UNION ALL SELECT k, COUNT(DISTINCT v) FROM TABLE(HOP(TABLE o, "
        "DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)) GROUP BY k, window_start, window_end;",
        "has rows that go on in more ways",
    ),
    "idle timeout": (
        "SET 'table.exec.source.idle-timeout' = '5 s'; INSERT INTO a SELECT k, COUNT(*) "
        "FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end;",
        "has an idle timeout",
    ),
    "session": (
        "INSERT INTO a SELECT k, v FROM TABLE(SESSION(TABLE o PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' MINUTE));",
        "gives a window out once",
    ),
    "print": ("INSERT INTO p SELECT k, v FROM o;", "flinkddl.print"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name: str) -> None:
    job, errors = compiled(TAKEN[name])
    assert not errors
    assert job is not None
    assert job.trigger == ("realTime", "300000 milliseconds")
    assert [w.mode for w in job.writes] == ["update"]


@pytest.mark.parametrize("name", TAKEN)
def test_what_spark_does_alone_has_the_state_that_it_had(name: str) -> None:
    job, _ = compiled(TAKEN[name])
    assert job is not None
    assert list(job.forms.values()) == [False]


@pytest.mark.parametrize("name", CHAINED)
def test_chained(name: str) -> None:
    """One stage after the other, each topic read once, nothing united above the first; each stage's tasks at once."""
    sql, count, words = CHAINED[name]
    job, errors = compiled(sql)
    assert not errors
    assert job is not None
    assert list(job.forms.values()) == ["chain"]
    stages = [s for s in job.steps if isinstance(s, J.GroupBy)]
    assert len(stages) == count
    assert all(s.stage for s in stages)
    assert not list(blockers(job))
    reads = [s for s in job.steps if isinstance(s, J.Read)]
    assert len({r.topics for r in reads}) == len(reads)
    steps = {s.name: s for s in job.steps}
    unions = [s for s in job.steps if isinstance(s, J.UnionAll)]
    assert not any(isinstance(s, J.GroupBy) for u in unions for s in J.below(u, steps))
    assert tasks(job, lambda read: 4, 3) == 4 * len(reads) + 3 * count
    _, errors = compiled("SET 'flinkddl.execution.state' = 'aggregate';" + sql)
    assert [e[:5] for e in errors] == ["FD662"]
    assert words in errors[0]


def waiting(step: J.Step) -> J.Step:
    """Return a step that reads as in real-time mode, where a fetch waits for records."""
    if not isinstance(step, J.Read):
        return step
    return replace(step, options={k: v for k, v in step.options.items() if k not in AHEAD})


@pytest.mark.parametrize("name", CHAINED)
def test_micro_batches_can_go_on_with_a_chain(name: str) -> None:
    """The same operators, kept in the same way; in micro-batches by itself if it waits for event time."""
    sql, _, _ = CHAINED[name]
    fast, _ = compiled(sql)
    micro = "SET 'flinkddl.execution.mode' = 'micro-batch';"
    slow, errors = compiled(f"{micro} SET 'flinkddl.execution.state' = 'chain';" + sql)
    assert not errors
    assert fast is not None
    assert slow is not None
    assert tuple(map(of_row, map(waiting, slow.steps))) == fast.steps
    assert (slow.fingerprint, meanings(slow)) == (fast.fingerprint, meanings(fast))
    assert [w.mode for w in slow.writes] == ["update"]
    assert slow.trigger[0] == "processingTime"
    assert SETTINGS.items() <= slow.settings.items()
    plain, _ = compiled(micro + sql)
    assert plain is not None
    timed = any(word in name for word in ("window", "interval", "temporal", "sessions"))
    assert ("chain" in plain.forms.values()) == timed
    assert not list(blockers(plain))
    begun = plain.as_begun
    assert begun is not None
    assert begun(Begun({0: "chain"})).steps == slow.steps


@pytest.mark.parametrize("name", BLOCKED)
def test_blocked(name: str) -> None:
    sql, words = BLOCKED[name]
    job, errors = compiled(sql)
    assert job is None
    assert [e[:5] for e in errors] == ["FD662"]
    assert words in errors[0]


@pytest.mark.parametrize("name", [name for name in BLOCKED if name not in ("print", "idle timeout")])
def test_no_chain(name: str) -> None:
    sql, words = BLOCKED[name]
    sets = "SET 'flinkddl.execution.mode' = 'micro-batch'; SET 'flinkddl.execution.state' = 'chain';"
    job, errors = compiled(sets + sql)
    assert job is None
    assert [e[:5] for e in errors] == ["FD677"]
    assert words in errors[0]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (TAKEN["count per key"], ""),
        (TAKEN["upserts pass"], "not each record of 'c' is a row"),
        (CHAINED["distinct"][0], " may give more or fewer rows than it takes"),
        ("SET 'flinkddl.execution.state' = 'chain';" + TAKEN["filter"], "Filter may give more"),
        ("SET 'flinkddl.execution.state' = 'chain'; INSERT INTO a SELECT k, id FROM o;", ""),
    ],
)
def test_lag_is_known_where_each_record_gives_one(sql: str, words: str) -> None:
    """A group of DISTINCT values may stay as it is."""
    job, _ = compiled(sql)
    assert job is not None
    told = not_one_to_one(job.plan[0])
    assert words in told
    assert bool(words) == bool(told)


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


CLOCK = "timestamp_millis(flinkddl.clock())"
ASKED = {
    "a projection": "INSERT INTO a SELECT k || 'current_timestamp()', UNIX_TIMESTAMP() FROM o;",
    "a filter": "INSERT INTO a SELECT k, v FROM o WHERE LOCALTIMESTAMP > TIMESTAMP '2020-01-01 00:00:00';",
    "a computed column": "INSERT INTO a SELECT CAST(pt AS STRING), v FROM o;",
    "a chain": "INSERT INTO s SELECT k, COUNT(DISTINCT CAST(CURRENT_TIMESTAMP AS STRING)) FROM o GROUP BY k;",
    "unnested": "INSERT INTO a SELECT u, v FROM o "
    "CROSS JOIN UNNEST(ARRAY[CAST(CURRENT_TIMESTAMP AS STRING)]) AS t (u);",
}


@pytest.mark.parametrize("name", ASKED)
def test_rows_ask_the_clock(name: str) -> None:
    """Spark's functions give the time at which the batch began; what stands in a text stays."""
    fast, _ = compiled(ASKED[name])
    chain = "SET 'flinkddl.execution.state' = 'chain';" if name == "a chain" else ""
    slow, _ = compiled(f"SET 'flinkddl.execution.mode' = 'micro-batch'; {chain}" + ASKED[name])
    assert fast is not None
    assert slow is not None
    texts = str([vars(s) for s in fast.steps])
    assert "flinkddl.clock()" in texts
    assert "unix_timestamp()" not in texts
    assert texts.count("current_timestamp()") == texts.count("'current_timestamp()'")
    assert "flinkddl.clock()" not in str([vars(s) for s in slow.steps])
    assert fast.fingerprint == slow.fingerprint
    if chain:
        assert meanings(fast) == meanings(slow)


def test_texts_and_names_stay() -> None:
    told = r"concat('current_timestamp()', 'it\'s unix_timestamp()', `current_timestamp()`, {}, my_unix_timestamp())"
    assert asking(told.format("current_timestamp()")) == told.format(CLOCK)
    assert asking("unix_timestamp()") == "(flinkddl.clock() div 1000L)"
