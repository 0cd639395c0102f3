"""Records that are deleted before they are read, and topics that are deleted and created again: never in silence."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.cli import run
from flinkddl.cli.common import run_options
from flinkddl.cli.meter import JobMeter
from flinkddl.cli.metrics import metrics_text
from flinkddl.cli.panel import Panel
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.notebook.pages import job_panel
from flinkddl.runtime.job.topics import topic_ids
from flinkddl.runtime.storage.checkpoint import Checkpoint
from flinkddl.spark.job import Write
from tests.e2e import support
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.api import Job
    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka

TABLES = """
CREATE TABLE src (id INT, k STRING) WITH ('connector' = 'kafka', 'topic' = '{src}',
  'properties.bootstrap.servers' = '{servers}', 'format' = 'json', {start});
CREATE TABLE dst (id INT, k STRING) WITH ('connector' = 'kafka', 'topic' = '{dst}',
  'properties.bootstrap.servers' = '{servers}', 'format' = 'json');
CREATE TABLE counts (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{dst}', 'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE newest (k STRING, id INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{src}', 'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE sums (k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{dst}', 'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json');
"""
EARLIEST = "'scan.startup.mode' = 'earliest-offset'"
COPY = "INSERT INTO dst SELECT id, k FROM src"


class World:
    """Two topics, a checkpoint folder, and the lines that jobs have told."""

    def __init__(self, spark: SparkSession, broker: Broker, admin: KafkaAdmin, new_topic: Any, folder: Path) -> None:
        self.spark, self.servers, self.admin, self.folder = spark, broker.bootstrap, admin, folder
        self.src, self.dst = new_topic("src"), new_topic("dst")
        self.told: list[str] = []

    def start(self, insert: str = COPY, start: str = EARLIEST, settings: str = "", **run: Any) -> Job:
        catalog = Catalog(self.spark, views=False)
        catalog.execute(settings + TABLES.format(src=self.src, dst=self.dst, servers=self.servers, start=start))
        options = {"checkpoint": str(self.folder), "notice": self.told.append, **run}
        job = catalog.execute_all(insert, run=options)[-1].job
        assert job is not None
        return job

    def read_all(self, insert: str = COPY, **more: Any) -> Job:
        """Run a job until it has read what there is now."""
        job = self.start(insert, **more)
        try:
            assert job.await_input(90)
        finally:
            job.stop()
        return job

    def send(self, first: int, end: int, pad: str = "") -> None:
        send(self.servers, self.src, ({"id": i, "k": "ab"[i % 2], "pad": pad} for i in range(first, end)))

    def delete_before(self, offset: int) -> None:
        from kafka import TopicPartition

        self.admin._client.delete_records({TopicPartition(self.src, 0): offset})

    def create_again(self) -> None:
        self.admin.delete_topic(self.src)
        end = time.monotonic() + 30
        while self.src in self.admin.topics() and time.monotonic() < end:
            time.sleep(0.1)
        self.admin.create_topic(self.src)

    def ids(self) -> list[int]:
        return sorted(json.loads(r.value)["id"] for r in committed(self.servers, self.dst))

    def table(self) -> dict[str, int]:
        rows = support.upserted(committed(self.servers, self.dst))
        return {str(json.loads(k)["k"]): json.loads(v)["n"] for k, v in rows.items()}

    def gaps(self) -> list[str]:
        return [line for line in self.told if "deleted before they were read" in line]


@pytest.fixture
def world(
    spark: SparkSession, broker: Broker, admin: KafkaAdmin, new_topic: Callable[..., str], tmp_path: Path
) -> World:
    return World(spark, broker, admin, new_topic, tmp_path)


def test_a_gap_is_told_everywhere_and_the_job_goes_on_behind_it(world: World) -> None:
    world.send(0, 40)
    assert world.read_all().lost == {}
    world.send(40, 100)
    world.delete_before(90)
    job = world.read_all()
    assert world.ids() == [*range(40), *range(90, 100)]
    expected = f"50 records of topic '{world.src}' partition 0 were deleted before they were read: wanted offset 40, "
    assert world.gaps() == [f"{expected}the first one there is 90"]
    meter = JobMeter(job._running.job)
    meter.attach(job)
    assert f'flinkddl_lost_records_total{{job="{job.name}",topic="{world.src}"}} 50.0\n' in metrics_text([meter])
    sum_ = f"deleted before they were read: 50 records of topic {world.src}"
    assert sum_ in str(Panel(meter)._states()[-1])
    assert sum_ in job_panel(job)


@pytest.mark.parametrize("kilobytes", [0, 10])
def test_a_gap_while_running(world: World, kilobytes: int) -> None:
    """Small records have been fetched before they are deleted: nothing is lost. Of large ones the rest is."""
    world.send(0, 2000, "x" * 1024 * kilobytes)
    job = world.start(settings="SET 'flinkddl.execution.max-offsets-per-trigger' = '100';")
    try:
        end = time.monotonic() + 60
        while not job.progress and time.monotonic() < end:
            time.sleep(0.02)
        world.delete_before(1900)
        assert job.await_input(90)
    finally:
        job.stop()
    read = set(world.ids())
    assert len(read) == 2000 - job.lost.get(world.src, 0)
    assert (len(world.gaps()), len(read) < 2000) == ((1, True) if kilobytes else (0, False))


def test_a_start_that_was_deleted_is_a_gap_too(world: World) -> None:
    world.send(0, 20)
    world.delete_before(15)
    world.read_all(
        start="'scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = 'partition:0,offset:5'"
    )
    assert world.ids() == [*range(15, 20)]
    assert [line.partition(": ")[2] for line in world.gaps()] == ["wanted offset 5, the first one there is 15"]


GROUP = "'scan.startup.mode' = 'group-offsets', 'properties.group.id' = 'g-{}'"


@pytest.mark.parametrize(
    ("start", "settings", "fails"),
    [
        (EARLIEST, "SET 'flinkddl.on-data-loss' = 'fail';", True),
        (GROUP, "", True),  # auto.offset.reset is none, as in Flink
        (GROUP, "SET 'flinkddl.on-data-loss' = 'report';", False),
        (GROUP + ", 'properties.auto.offset.reset' = 'earliest'", "", False),
    ],
)
def test_who_is_to_fail_fails(world: World, start: str, settings: str, fails: bool) -> None:
    start = start.format(world.src)
    world.send(0, 10)
    world.admin.commit(f"g-{world.src}", {world.src: {0: 0}})
    world.read_all(start=start, settings=settings)
    world.send(10, 30)
    world.delete_before(25)
    if not fails:
        world.read_all(start=start, settings=settings)
        assert len(world.gaps()) == 1
        return
    with pytest.raises(FlinkDdlError, match=rf"FD866.*{world.src}.*partition 0.*10.*25") as failure:
        world.read_all(start=start, settings=settings)
    assert "flinkddl.on-data-loss" in str(failure.value)
    assert world.ids() == [*range(10)]


COUNT = "INSERT INTO counts SELECT k, COUNT(*) FROM src GROUP BY k"


def test_a_topic_created_again_stops_the_job_and_its_state_goes_on_from_the_first_record(world: World) -> None:
    world.send(0, 40)
    world.read_all(COUNT)
    world.create_again()
    world.send(0, 10)
    wanted = rf"FD865.*'{world.src}'.*checkpoint stands at offset 40 of partition 0, the topic ends at 10.*"
    with pytest.raises(FlinkDdlError, match=f"{wanted}--from-first-offset {world.src}"):
        world.read_all(COUNT)
    assert world.table() == {"a": 20, "b": 20}
    for _ in range(2):  # the second time it is the topic that the checkpoint knows
        world.read_all(COUNT, from_first=(world.src,))
        assert world.table() == {"a": 25, "b": 25}
    assert "is read from its first offset, the state is kept" in world.told[0]
    assert world.told[-1].endswith("it is read on from there")


def test_a_longer_topic_created_again_while_the_job_runs(world: World) -> None:
    world.send(0, 5)
    job = world.start(COUNT)
    try:
        assert job.await_input(60)
        world.create_again()
        with pytest.raises(FlinkDdlError, match=rf"FD865.*'{world.src}'.*stands at offset 5 of partition 0"):
            job.await_termination(60)
    finally:
        job.stop()
    world.send(0, 10)
    world.read_all(COUNT, from_first=(world.src,))
    assert world.table() == {"a": 8, "b": 7}


def test_the_rows_of_an_upsert_topic_created_again_replace_those_before(world: World) -> None:
    """They stand at lower offsets, by which the state knows which row of a key is the last."""
    insert = "INSERT INTO sums SELECT 1, SUM(id) FROM newest"
    upserts(world, [("a", 1), ("b", 2), ("a", 3)])
    world.read_all(insert)
    assert world.table() == {"1": 5}
    world.create_again()
    upserts(world, [("a", 10)])
    world.read_all(insert, from_first=(world.src,))
    assert world.table() == {"1": 12}
    upserts(world, [("b", 20)])
    world.read_all(insert)
    assert world.table() == {"1": 30}


def upserts(world: World, rows: list[tuple[str, int]]) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=world.servers)
    for k, n in rows:
        producer.send(world.src, json.dumps({"k": k, "id": n}).encode(), key=json.dumps({"k": k}).encode())
    producer.close()


def test_a_source_a_partition_goes_on_too(world: World) -> None:
    """Below a window each partition is a source with a name, in another format of Spark's offset log."""
    timed = f"""CREATE TABLE timed (id INT, k STRING, ts AS CAST(TO_TIMESTAMP_LTZ(id, 0) AS TIMESTAMP(3)),
      WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = '{world.src}',
      'properties.bootstrap.servers' = '{world.servers}', 'format' = 'json', {EARLIEST});"""
    insert = """INSERT INTO sums SELECT MIN(id), COUNT(*) FROM
      TABLE(TUMBLE(TABLE timed, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end"""
    world.send(0, 25)
    world.read_all(insert, settings=timed)
    world.create_again()
    world.send(25, 45)
    with pytest.raises(FlinkDdlError, match=rf"FD865.*'{world.src}'.*stands at offset 25 of partition 0"):
        world.read_all(insert, settings=timed)
    world.read_all(insert, settings=timed, from_first=(world.src,))
    assert world.table() == {"0": 10, "10": 10, "20": 10, "30": 10}


@pytest.mark.parametrize("ended", [True, False])
def test_a_batch_that_was_planned_and_has_not_ended_reads_nothing_of_the_topic(tmp_path: Path, ended: bool) -> None:
    """Nothing is asked of Kafka; the files are those that Spark 4.3 writes."""
    files = {"offsets/7": '{"a":{"0":5},"b":{"0":1}}', "offsets/8": '{"a":{"0":9},"b":{"0":2}}', "commits/7": "{}"}
    files |= {"sources/0/0": '{"a":{"0":0},"b":{"0":0}}'} | ({"commits/8": "{}"} if ended else {})
    write = Write(name="w", input="x", mode="append", format="kafka", options={})
    checkpoint = Checkpoint(str(tmp_path), temporary=False)
    for name, line in files.items():
        path = tmp_path / "w" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'v1\n{{"conf":{{"x":"1"}},"n":0}}\n{line}')
        path.with_name(f".{path.name}.crc").write_bytes(b"crc")
    assert topic_ids.committed(checkpoint, [write]) == {"a": {0: 9 if ended else 5}, "b": {0: 2 if ended else 1}}
    topic_ids._go_on(checkpoint, [write], "a", {0: 3, 1: 0})
    texts = {n: (tmp_path / "w" / n).read_text().splitlines()[2] for n in files}
    moved = {n: f'{{"a":{{"0":3,"1":0}},"b":{{"0":{b}}}}}' for n, b in (("offsets/7", 1), ("offsets/8", 2))}
    assert texts == files | (moved if not ended else {"offsets/8": moved["offsets/8"]})
    assert not (tmp_path / "w/offsets/.8.crc").exists()


def test_the_command_line_names_topics() -> None:
    parser = argparse.ArgumentParser()
    run.configure(parser)
    args = parser.parse_args(["job.sql", "--from-first-offset", "a", "--from-first-offset", "b"])
    assert run_options(args)["from_first"] == ("a", "b")
