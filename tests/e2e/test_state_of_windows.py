"""``flinkddl state`` over a chain of windows that are open: what each kind keeps, and what it would give out now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.runtime.storage.entries import count_entries, first_entries
from flinkddl.runtime.storage.states import Operator, operators_of, pick

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
ROWS = [(1, 10, 1), (1, 20, 2), (2, 5, 3), (2, 5, 4), (1, 7, 30)]  # key, value, second of the hour
HOUR = "TABLE(TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
KEYS = "k, window_start, window_end"
SESSION = "FROM TABLE(SESSION(TABLE w PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY " + KEYS
COUNTS = f"(SELECT {KEYS}, COUNT(*) AS n, SUM(v) AS s, COUNT(DISTINCT v) AS d FROM {HOUR} GROUP BY {KEYS})"
QUERIES = {
    "window": f"SELECT k, n + s + d FROM {COUNTS}",
    "session": f"SELECT k, SUM(v) {SESSION}",
    "sessionlist": f"SELECT k, CHAR_LENGTH(LISTAGG(CAST(v AS STRING))) {SESSION}",
    "windowtop": f"""SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end
                     ORDER BY v DESC) AS r FROM {HOUR}) WHERE r <= 2""",
    "windowinner": f"""SELECT a.k, b.v FROM (SELECT * FROM {HOUR}) AS a JOIN (SELECT * FROM {HOUR} WHERE v > 5) AS b
                       ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end""",
    "intervalleftif": """SELECT a.k, b.v FROM w AS a LEFT JOIN w AS b
                       ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '20' MINUTE AND b.ts""",
}


@pytest.fixture
def operators(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> dict[str, tuple[Operator, frozenset[int]]]:
    """Run each query over rows of windows that stay open; return its operator and node by its kind."""
    from kafka import KafkaProducer

    topic = new_topic("w", 1)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for k, v, second in ROWS:
        producer.send(topic, json.dumps({"k": k, "v": v, "ts": f"2026-01-02 10:00:{second:02d}"}).encode())
    producer.close()
    sinks = "".join(f"CREATE TABLE s_{name} (k INT, v BIGINT) WITH ('connector' = 'blackhole');" for name in QUERIES)
    inserts = " ".join(f"INSERT INTO s_{name} {query};" for name, query in QUERIES.items())
    script = f"""
        SET 'flinkddl.execution.state' = 'chain'; SET 'pipeline.name' = 'open'; SET 'parallelism.default' = '2';
        CREATE TABLE w (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH (
          'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{broker.bootstrap}',
          'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
        {sinks} EXECUTE STATEMENT SET BEGIN {inserts} END;"""
    run = {"checkpoint": str(tmp_path), "notice": lambda _: None}
    job = Catalog(spark, views=False).execute_all(script, run=run)[-1].job
    assert job is not None
    try:
        assert job.await_input(240)
    finally:
        job.stop()
    listed = operators_of(tmp_path)
    nodes = {n["kind"]: n["identity"] for o in listed for n in o.nodes}
    return {kind: pick(listed, nodes[kind]) for kind in QUERIES}


def test_what_open_windows_keep(spark: SparkSession, operators: dict[str, tuple[Operator, frozenset[int]]]) -> None:
    counted = {kind: sum(n for n, _ in count_entries(spark, o).nodes.values()) for kind, (o, _) in operators.items()}
    assert counted == {  # groups alone: no timers, nor what is known of event time
        "window": 2, "session": 2, "sessionlist": 2, "windowtop": 1, "windowinner": 2, "intervalleftif": 2,
    }  # fmt: skip
    found = {kind: first_entries(spark, o, 2, nodes) for kind, (o, nodes) in operators.items()}
    assert {kind: len(entries) for kind, entries in found.items()} == counted  # notes do not use up the limit
    for kind, entries in found.items():
        assert not any("bytes" in e["value"] or "error" in e["value"] for e in entries), (kind, entries)
    by_key = {kind: {key_of(e): e for e in entries} for kind, entries in found.items()}
    window = by_key["window"]
    assert {k: sorted(e["result"].values()) for k, e in window.items()} == {1: [3, 3, 37], 2: [1, 2, 10]}
    spans = {k: [[*s["values"].values()] for s in e["result"]] for k, e in by_key["session"].items()}
    assert spans == {1: [[37]], 2: [[10]]}
    check_rows(by_key, found)


def key_of(entry: dict[str, Any]) -> Any:
    """Return k, which has no name of its own in the key of a join."""
    return next((value for value in entry["key"].values() if value in (1, 2)), None)


def check_rows(by_key: dict[str, dict[Any, Any]], found: dict[str, list[dict[str, Any]]]) -> None:
    listed = by_key["sessionlist"][2]
    assert [len(s["rows"]) for s in listed["value"]["sessions"]] == [2]
    assert [[*s["values"].values()] for s in listed["result"]] == [["5,5"]]
    (top,) = found["windowtop"]
    assert sorted([*p["row"].values()][:2] for p in top["result"]) == [[1, 10], [1, 20]]
    assert all([*p] == ["row"] for p in top["result"])  # nobody asks for the places
    held = by_key["windowinner"][1]["value"]
    assert (held["rows"], len(held["left"]), len(held["right"])) == (6, 3, 3)
    waiting = by_key["intervalleftif"][1]["value"]
    assert len(waiting["left"]["entries"]) + len(waiting["right"]["entries"]) > 0
    assert all({"time", "until", "matched", "entry"} == set(e) for e in waiting["right"]["entries"])
