"""Which tables have a watermark for each partition, and the branches that the job is split into."""

from __future__ import annotations

import json

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark import job as J
from flinkddl.spark.partitions import NAMED_SOURCES, apart, share, source_name, split

TABLES = """
CREATE TABLE t (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH
  ('connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = 'b:1', 'format' = 'json',
   'scan.startup.mode' = 'earliest-offset'{more});
CREATE TABLE u (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 'u', 'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json',
   'value.format' = 'json');
CREATE TABLE g (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
"""
TVF = "TABLE(TUMBLE(TABLE {0}, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
COUNT = f"SELECT k, COUNT(*) FROM {TVF.format('t')} GROUP BY k, window_start, window_end;"
DEFAULT = "default_catalog.default_database."


def job(sql: str, before: str = "", topic: str = "t", more: str = "") -> J.SparkJob:
    out = compile_script(SourceText("<t>", TABLES.format(topic=topic, more=more) + before + sql))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


def marks(job: J.SparkJob) -> dict[str, tuple[int, int]]:
    return {read.name: (mark.partitions, mark.idle_ms) for read, mark in apart(job)}


IDLE = "SET 'table.exec.source.idle-timeout' = '5 s';"


@pytest.mark.parametrize(
    ("sql", "before", "more", "expected"),
    [
        (COUNT, "", "", {"t": (64, 0)}),
        (f"SELECT * FROM {TVF.format('t')};", "", "", {"t": (64, 0)}),
        (f"SELECT * FROM {TVF.format('g')};", "", "", {}),
        ("SELECT a.k FROM t AS a JOIN t AS b ON a.k = b.k AND a.ts = b.ts;", "", "", {"t": (64, 0), "t_2": (64, 0)}),
        ("SELECT t.k FROM t JOIN u FOR SYSTEM_TIME AS OF t.ts ON t.k = u.k;", "", "", {"t": (64, 0), "u": (64, 0)}),
        ("SELECT k, COUNT(*) FROM t GROUP BY k;", "", "", {}),
        ("SELECT a.k FROM t AS a JOIN t AS b ON a.k = b.k;", "", "", {}),
        (COUNT, "SET 'flinkddl.watermark.partitions' = '200';", "", {"t": (200, 0)}),
        (COUNT, "SET 'flinkddl.watermark.partitions' = '1';", "", {}),
        (COUNT, IDLE, "", {"t": (64, 5000)}),
        (COUNT, IDLE, ", 'scan.watermark.idle-timeout' = '2 s'", {"t": (64, 2000)}),
        (COUNT, IDLE, ", 'scan.watermark.idle-timeout' = '0 s'", {"t": (64, 0)}),
        (COUNT, "", ", 'scan.bounded.mode' = 'latest-offset'", {}),
        (
            COUNT,
            IDLE + "SET 'execution.runtime-mode' = 'streaming';",
            ", 'scan.bounded.mode' = 'latest-offset'",
            {"t": (64, 0)},
        ),
    ],
)
def test_where_partitions_count(sql: str, before: str, more: str, expected: dict[str, tuple[int, int]]) -> None:
    found = job(sql, before, more=more)
    assert marks(found) == expected
    # a temporal join reads its left side by two ways, which Spark does not take of a source with a name
    assert (found.settings.get(NAMED_SOURCES) == "true") == (bool(expected) and "SYSTEM_TIME" not in sql)


def test_a_branch_a_partition() -> None:
    whole = job(COUNT, "SET 'flinkddl.execution.max-offsets-per-trigger' = '10';" + IDLE, topic="a;b")
    parts = split(whole, {"t": {"a": [0, 1], "b": [0]}})
    reads = [s for s in parts.steps if isinstance(s, J.Read) and s.format == "kafka"]
    assert [json.loads(r.options["assign"]) for r in reads] == [{"a": [0]}, {"a": [1]}, {"b": [0]}]
    assert {r.source for r in reads} == {"t"}
    assert {r.options["maxOffsetsPerTrigger"] for r in reads} == {"4"}
    assert not any({"subscribe", "subscribePattern"} & set(r.options) for r in reads)
    watermarks = [s for s in parts.steps if isinstance(s, J.WithWatermark)]
    assert [(w.observed, w.partitions) for w in watermarks] == [(f"t_watermark@{p}", 0) for p in ("a-0", "a-1", "b-0")]
    union = next(s for s in parts.steps if s.name == "t_watermark")
    assert isinstance(union, J.UnionAll)
    assert union.parts == tuple(w.name for w in watermarks)
    seen: set[str] = set()
    for step in parts.steps:
        assert set(step.reads) <= seen
        assert step.name not in seen
        seen.add(step.name)
    assert split(whole, {}) == whole


def test_a_checkpoint_knows_whether_partitions_are_apart() -> None:
    prints = {
        name: job(COUNT, before).fingerprint
        for name, before in {
            "apart": "",
            "more": "SET 'flinkddl.watermark.partitions' = '100';",
            "idle": IDLE,
            "one": "SET 'flinkddl.watermark.partitions' = '1';",
        }.items()
    }
    assert prints["apart"] == prints["more"]
    assert len({prints["apart"], prints["idle"], prints["one"]}) == 3


@pytest.mark.parametrize(("most", "count", "expected"), [(10, 4, "3"), (8, 4, "2"), (1, 4, "1")])
def test_shares(most: int, count: int, expected: str) -> None:
    assert share(most, count) == expected


def test_names_of_sources_are_words_and_distinct() -> None:
    names = {source_name(n) for n in ("t@a-b-1", "t@a.b-1", "t@a_b-1", "täg@x-1")}
    assert len(names) == 4
    assert all(n.replace("_", "").isascii() and n.replace("_", "").isalnum() for n in names)
