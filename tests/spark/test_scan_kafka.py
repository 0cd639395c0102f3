from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script
from flinkddl.show.printer import print_pyspark
from flinkddl.spark import job as J
from flinkddl.spark.partitions import split
from tests.runtime.jobs import produce
from tests.spark.test_sink_kafka import job

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

SCRIPT = """
CREATE TABLE src (id BIGINT) WITH ('connector' = 'kafka', 'topic' = 's', 'format' = 'json',
  'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset'{more});
CREATE TABLE snk (id BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO snk SELECT id FROM src;
"""


@pytest.mark.parametrize(
    ("more", "records"), [("", "100000"), (", 'properties.max.poll.records' = '700'", "700")], ids=["ours", "given"]
)
def test_a_poll_takes_many_records(more: str, records: str) -> None:
    (read,) = [s for s in job(SCRIPT.format(more=more)).steps if isinstance(s, J.Read)]
    assert read.options["kafka.max.poll.records"] == records
    assert read.options["kafka.max.partition.fetch.bytes"] == "4194304"


REALTIME = "SET 'flinkddl.execution.mode' = 'realtime';\n"


@pytest.mark.parametrize(
    ("mode", "more", "wait"),
    [
        ("", "", "5"),
        ("", ", 'properties.fetch.max.wait.ms' = '70'", "70"),
        (REALTIME, "", None),
        (REALTIME, ", 'properties.fetch.max.wait.ms' = '70'", "70"),
        (REALTIME, ", 'scan.bounded.mode' = 'latest-offset'", "5"),
    ],
    ids=["batches", "given", "real time", "given in real time", "what ends has batches"],
)
def test_a_batch_does_not_wait_where_a_partition_ends(mode: str, more: str, wait: str | None) -> None:
    # real time has no other sink
    kafka = "'kafka', 'format' = 'json', 'topic' = 'b', 'properties.bootstrap.servers' = 'b:1'"
    script = SCRIPT.format(more=more).replace("'blackhole'", kafka)
    made = job(f"SET 'execution.runtime-mode' = 'streaming';\n{mode}{script}")
    (read,) = [s for s in made.steps if isinstance(s, J.Read)]
    assert read.options.get("kafka.fetch.max.wait.ms") == wait


DISCOVERY = ", 'scan.topic-partition-discovery.interval' = '{0}'"


@pytest.mark.parametrize(
    ("more", "fixed", "said"),
    [
        ("", False, ""),
        (DISCOVERY.format("0"), True, "; partitions as they are when a run starts"),
        (DISCOVERY.format("1 s"), False, ""),
        (DISCOVERY.format("0") + ", 'scan.bounded.mode' = 'latest-offset'", False, ""),
    ],
    ids=["default", "off", "second", "bounded"],
)
def test_discovery_is_said_and_kept(more: str, fixed: bool, said: str) -> None:
    script = SCRIPT.replace("CREATE", "SET 'execution.runtime-mode' = 'streaming';\nCREATE", 1)
    made = job(script.format(more=more))
    (read,) = [s for s in made.steps if isinstance(s, J.Read) and s.format == "kafka"]
    assert read.fixed is fixed
    assert read.note.endswith(f"src{said}")
    assert (".assigned({" in print_pyspark([made])) is fixed


READERS = ", 'scan.parallelism' = '2'"


def test_scan_parallelism_bounds_the_tasks_that_read() -> None:
    (step,) = [s for s in job(SCRIPT.format(more=READERS)).steps if isinstance(s, J.Coalesce)]
    assert step.tasks == 2
    assert ".coalesce(2)" in print_pyspark([job(SCRIPT.format(more=READERS))])
    assert not [s for s in job(SCRIPT.format(more="")).steps if isinstance(s, J.Coalesce)]


def test_scan_parallelism_counts_for_all_partitions_that_have_a_watermark_each() -> None:
    timed = """
    CREATE TABLE src (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = 's',
      'format' = 'json', 'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset',
      'scan.parallelism' = '2');
    CREATE TABLE snk (n BIGINT) WITH ('connector' = 'blackhole');
    INSERT INTO snk SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE src, DESCRIPTOR(ts), INTERVAL '1' HOUR))
      GROUP BY window_start, window_end;
    """
    made = job("SET 'flinkddl.execution.state' = 'aggregate';" + timed)
    (read,) = [s for s in made.steps if isinstance(s, J.Read)]
    apart = split(made, {read.name: {"s": [0, 1, 2]}})
    steps = {s.name: s for s in apart.steps}
    (readers,) = [s for s in apart.steps if isinstance(s, J.Coalesce)]
    assert len([s for s in J.below(readers, steps) if isinstance(s, J.Read)]) == 3
    chained = job(timed)
    (told,) = [s for s in chained.steps if isinstance(s, J.WithTime)]  # readers tell the time of their partitions
    assert any(isinstance(s, J.Coalesce) for s in J.below(told, {s.name: s for s in chained.steps}))


def test_scan_parallelism_is_not_for_real_time_mode() -> None:
    text = "SET 'flinkddl.execution.mode' = 'realtime';\n" + SCRIPT.format(more=READERS).replace("blackhole", "print")
    (found,) = [d for d in compile_script(SourceText("t", text)).diagnostics if d.severity == "error"]
    assert found.code == "FD662"
    assert "'scan.parallelism'" in found.message


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("given", "tasks"), [("", 4), (", 'scan.parallelism' = '2'", 2), (", 'scan.parallelism' = '9'", 4)]
)
def test_so_many_tasks_read_a_topic_each_partition_in_order(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], given: str, tasks: int
) -> None:
    topic = new_topic("src", partitions=4)
    for partition in range(4):
        produce(broker.bootstrap, topic, ({"id": n} for n in range(20)), partition)
    catalog = Catalog(spark, views=False)
    catalog.execute(f"""CREATE TABLE src (id INT, place INT METADATA FROM 'partition') WITH ('connector' = 'kafka',
      'topic' = '{topic}', 'format' = 'json', 'properties.bootstrap.servers' = '{broker.bootstrap}',
      'scan.startup.mode' = 'earliest-offset' {given})""")
    frame = catalog.table("src", mode="batch").selectExpr("place", "id", "spark_partition_id() AS task")
    rows = [tuple(row) for row in frame.collect()]
    assert len({task for _, _, task in rows}) == tasks
    assert all([n for p, n, _ in rows if p == place] == list(range(20)) for place in range(4))
