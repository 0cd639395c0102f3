"""Our own Kafka sink: transactions, record timestamps, the partitioner ``fixed``, writers and the upsert buffer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka

SOURCE = """
CREATE TABLE src (id BIGINT, name STRING) WITH ('connector' = 'kafka', 'topic' = '{source}',
  'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset', 'format' = 'json');
"""
SINK = """
CREATE TABLE snk ({columns}) WITH ({topic}, 'connector' = 'kafka',
  'properties.bootstrap.servers' = '{servers}', 'format' = 'json' {more});
"""
ONCE = ", 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{source}'"


class Jobs:
    """Runs scripts that read one topic and write another."""

    def __init__(self, spark: SparkSession, broker: Broker, source: str) -> None:
        self.spark, self.servers, self.source = spark, broker.bootstrap, source

    def run(self, text: str, insert: str, checkpoint: Path | None = None, mode: str = "streaming") -> None:
        settings = f"SET 'execution.runtime-mode' = '{mode}';\n"
        if checkpoint is not None:
            settings += f"SET 'execution.checkpointing.dir' = '{checkpoint}';\n"
        names = {"source": self.source, "servers": self.servers}
        script = settings + (SOURCE + text).format(**names) + insert
        Catalog(self.spark).execute(script).await_termination()

    def sink(self, columns: str, topic: str, more: str = "") -> str:
        names = {"columns": columns, "topic": topic, "more": more}
        return SINK.format(servers=self.servers, **names).replace("{source}", self.source)


@pytest.fixture
def jobs(spark: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> Jobs:
    return Jobs(spark, broker, new_topic("src", partitions=3))


def ids(records: list[Any]) -> list[int]:
    return sorted(json.loads(r.value)["id"] for r in records)


def rows(first: int, count: int) -> list[dict[str, Any]]:
    return [{"id": i, "name": f"n{i % 7}"} for i in range(first, first + count)]


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_a_row_names_its_topic_timestamp_and_headers(
    jobs: Jobs, new_topic: Callable[..., str], mode: str
) -> None:  # E02, E07, R02: record metadata as the row has it
    one, two = new_topic("one"), new_topic("two")
    send(jobs.servers, jobs.source, rows(0, 4))
    columns = (
        "id BIGINT, t STRING METADATA FROM 'topic', ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', "
        "h MAP<STRING, BYTES> METADATA FROM 'headers'"
    )
    jobs.run(
        jobs.sink(columns, f"'topic' = '{one};{two}'"),
        f"INSERT INTO snk SELECT id, IF(MOD(id, 2) = 0, '{one}', '{two}'), IF(id = 3, CAST(NULL AS TIMESTAMP_LTZ(3)),"
        " TO_TIMESTAMP_LTZ(id * 1000 + 7, 3)), MAP['k', CAST(name AS BYTES)] FROM src;",
        mode=mode,
    )
    first, second = committed(jobs.servers, one), committed(jobs.servers, two)
    assert (ids(first), ids(second)) == ([0, 2], [1, 3])
    by_id = {json.loads(r.value)["id"]: r for r in first + second}
    assert [by_id[i].timestamp for i in range(3)] == [7, 1007, 2007]
    assert by_id[3].timestamp > 1_600_000_000_000, "no timestamp: the producer's clock"
    assert by_id[1].headers == [("k", b"n1")]


def test_a_negative_timestamp_fails_as_in_kafka(jobs: Jobs, new_topic: Callable[..., str]) -> None:
    send(jobs.servers, jobs.source, rows(0, 1))
    sink = jobs.sink("id BIGINT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'", f"'topic' = '{new_topic('out')}'")
    with pytest.raises(Exception, match="timestamp"):
        jobs.run(sink, "INSERT INTO snk SELECT id, TO_TIMESTAMP_LTZ(-1, 3) FROM src;")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, name FROM src",
        "SELECT MAX(id), name FROM src GROUP BY name",  # a replayed stateful batch must write the same rows
    ],
)
def test_a_batch_that_spark_runs_again_is_not_written_again(
    jobs: Jobs, new_topic: Callable[..., str], tmp_path: Path, query: str
) -> None:
    out = new_topic("out", partitions=2)
    if "GROUP" in query:
        sink = (
            f"CREATE TABLE snk (id BIGINT, name STRING, PRIMARY KEY (name) NOT ENFORCED) WITH ("
            f"'connector' = 'upsert-kafka', 'topic' = '{out}', 'properties.bootstrap.servers' = '{jobs.servers}', "
            f"'key.format' = 'json', 'value.format' = 'json'{ONCE.replace('{source}', jobs.source)});"
        )
    else:
        sink = jobs.sink("id BIGINT, name STRING", f"'topic' = '{out}'", ONCE)
    sink = "SET 'flinkddl.execution.max-offsets-per-trigger' = '30';\n" + sink
    insert = f"INSERT INTO snk {query};"
    send(jobs.servers, jobs.source, rows(0, 100))
    jobs.run(sink, insert, tmp_path)
    before = ids(committed(jobs.servers, out))
    notes = sorted(tmp_path.rglob("commits/[0-9]*"), key=lambda p: int(p.name))
    assert len(notes) > 2
    # as if killed after the transaction was committed and before Spark noted the batch
    notes[-1].unlink()
    for crc in notes[-1].parent.glob(f".{notes[-1].name}.crc"):
        crc.unlink()
    jobs.run(sink, insert, tmp_path)
    assert ids(committed(jobs.servers, out)) == before
    send(jobs.servers, jobs.source, rows(100, 50))
    jobs.run(sink, insert, tmp_path)
    if "GROUP" not in query:
        assert ids(committed(jobs.servers, out)) == list(range(150))


def test_a_transaction_left_open_is_aborted(jobs: Jobs, new_topic: Callable[..., str], tmp_path: Path) -> None:
    """As after a crash in the middle of a batch: its rows are never seen, and do not hold up readers."""
    from kafka import KafkaProducer

    out = new_topic("out")
    lost = KafkaProducer(
        bootstrap_servers=jobs.servers, transactional_id=f"{jobs.source}-default_catalog.default_database.snk"
    )
    lost.init_transactions()
    lost.begin_transaction()
    lost.send(out, b'{"id": -1}')
    lost.flush()
    send(jobs.servers, jobs.source, rows(0, 10))
    sink = jobs.sink("id BIGINT, name STRING", f"'topic' = '{out}'", ONCE)
    jobs.run(sink, "INSERT INTO snk SELECT id, name FROM src;", tmp_path)
    assert ids(committed(jobs.servers, out)) == list(range(10))
    lost.close(timeout=0)


def test_a_failed_batch_leaves_nothing(jobs: Jobs, new_topic: Callable[..., str], tmp_path: Path) -> None:
    out = new_topic("out")
    sink = jobs.sink("id BIGINT, name STRING", f"'topic' = '{out}'", ONCE)
    insert = "INSERT INTO snk SELECT 100 / (id - 7), name FROM src;"
    send(jobs.servers, jobs.source, rows(0, 20))
    for mode in ("streaming", "batch"):
        # which task's failure Spark reports is a race: the one that divides, or one whose transaction it ended
        with pytest.raises(FlinkDdlError, match="FD830"):
            jobs.run(sink, insert, mode=mode)
    assert committed(jobs.servers, out) == []


def test_batch_mode_writes_one_transaction(jobs: Jobs, new_topic: Callable[..., str]) -> None:
    out = new_topic("out", partitions=2)
    send(jobs.servers, jobs.source, rows(0, 50))
    sink = jobs.sink("id BIGINT, name STRING", f"'topic' = '{out}'", ONCE)
    jobs.run(sink, "INSERT INTO snk SELECT id, name FROM src;", mode="batch")
    assert ids(committed(jobs.servers, out)) == list(range(50))


@pytest.mark.parametrize(("writers", "partitions"), [(1, {0}), (2, {0, 1})])
def test_fixed_and_parallelism(
    jobs: Jobs, new_topic: Callable[..., str], writers: int, partitions: set[int]
) -> None:  # K17, K21: one partition a writer
    out = new_topic("out", partitions=4)
    send(jobs.servers, jobs.source, rows(0, 60))
    more = f", 'sink.partitioner' = 'fixed', 'sink.parallelism' = '{writers}'"
    jobs.run(
        jobs.sink("id BIGINT, name STRING", f"'topic' = '{out}'", more), "INSERT INTO snk SELECT id, name FROM src;"
    )
    records = committed(jobs.servers, out)
    assert ids(records) == list(range(60))
    assert {r.partition for r in records} == partitions


def test_the_upsert_buffer_keeps_the_last_row_of_a_key(
    jobs: Jobs, new_topic: Callable[..., str]
) -> None:  # U06, B01 to B04, F06
    out = new_topic("out")
    sent = [{"id": i, "name": name} for i, name in ((1001, "a"), (1002, "b"), (1004, "c"), (1004, "d"))]
    sent += [{"id": 1005, "name": "e"}, {"id": 1004, "name": "f"}, {"id": 1004, "name": "g"}]
    send(jobs.servers, jobs.source, sent, partition=0)
    jobs.run(
        f"CREATE TABLE snk (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',"
        f"'topic' = '{out}', 'properties.bootstrap.servers' = '{jobs.servers}', 'key.format' = 'json',"
        "'value.format' = 'json', 'sink.buffer-flush.max-rows' = '4', 'sink.buffer-flush.interval' = '1s');",
        "INSERT INTO snk SELECT id, name FROM src;",
    )
    written = [(v["id"], v["name"]) for v in (json.loads(r.value) for r in committed(jobs.servers, out))]
    # the fourth key flushes; what follows is flushed at the end of the batch
    assert written == [(1001, "a"), (1002, "b"), (1004, "d"), (1005, "e"), (1004, "g")]


def test_offsets_of_the_mark_are_the_batches_written(
    jobs: Jobs, new_topic: Callable[..., str], admin: KafkaAdmin, tmp_path: Path
) -> None:
    out = new_topic("out")
    send(jobs.servers, jobs.source, rows(0, 5))
    sink = jobs.sink("id BIGINT, name STRING", f"'topic' = '{out}'", ONCE)
    jobs.run(sink, "INSERT INTO snk SELECT id, name FROM src;", tmp_path)
    query = json.loads(next(tmp_path.rglob("metadata")).read_text())["id"]
    group = f"{jobs.source}-default_catalog.default_database.snk-{query}"
    assert admin.committed(group, [out]) == {out: {0: 1}}


def test_two_inserts_of_a_statement_set_into_one_table(
    jobs: Jobs, new_topic: Callable[..., str], tmp_path: Path
) -> None:  # each has its own checkpoint and transactional id
    out = new_topic("out")
    send(jobs.servers, jobs.source, rows(0, 10))
    sink = jobs.sink("id BIGINT, name STRING", f"'topic' = '{out}'", ONCE)
    inserts = [f"INSERT INTO snk SELECT id + {more}, name FROM src;" for more in (0, 100)]
    jobs.run(sink, f"EXECUTE STATEMENT SET BEGIN {' '.join(inserts)} END;", tmp_path)
    assert ids(committed(jobs.servers, out)) == [*range(10), *range(100, 110)]
