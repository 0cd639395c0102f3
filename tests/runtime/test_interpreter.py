from __future__ import annotations

import json
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.cli.running import stopping
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.reporting.progress import progress_line
from flinkddl.runtime.job.running import JobFailed, RunOptions, start_job
from flinkddl.spark import job as J
from tests.runtime.jobs import consume, counts, decode, job, kafka_write, produce, read, table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.job.reporting.progress import Progress
    from flinkddl.runtime.job.running import RunningJob
    from flinkddl.runtime.job.writers import Rows
    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka
QUIET: dict[str, Any] = {"notice": lambda text: None}
ROWS = [{"k": k, "x": x} for x, k in enumerate("abcab")]


def _finish(running: RunningJob, seconds: float = 90) -> None:
    assert running.await_termination(seconds), "the job goes on"


def _until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)


def test_counts_from_kafka_to_kafka_resume_from_their_checkpoint(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, sink, servers = new_topic("orders", 2), new_topic("regions"), broker.bootstrap
    counting = job(counts(read(source, servers, start={"mode": "earliest-offset"})), kafka_write(sink, servers))
    seen: list[Progress] = []
    options = RunOptions(checkpoint=str(tmp_path), on_progress=seen.append, **QUIET)
    produce(servers, source, ROWS, partition=None)
    _finish(start_job(spark, counting, options))
    assert table(consume(servers, sink)) == {"a": 2, "b": 2, "c": 1}
    produce(servers, source, [{"k": "c", "x": -100}, {"k": "d", "x": 1}, {"k": "a", "x": 1}])
    _finish(start_job(spark, counting, options))
    assert table(consume(servers, sink)) == {"a": 3, "b": 2, "d": 1}
    last = seen[-1]
    assert sum(p.rows_in for p in seen) == len(ROWS) + 3
    assert (last.upserts, last.tombstones, last.lag) == (2, 1, {source: 0})
    assert last.state_rows == 4
    assert sum(last.ends[source].values()) == len(ROWS) + 3
    assert "2 upserts, 1 tombstones out · lag 0 · state 4 keys" in progress_line(last)


def test_a_changed_plan_is_refused_with_its_operator_and_fresh_sets_the_old_one_aside(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, sink, servers = new_topic("orders"), new_topic("regions"), broker.bootstrap
    produce(servers, source, ROWS)
    steps = counts(read(source, servers, start={"mode": "earliest-offset"}))
    before = job(steps, kafka_write(sink, servers), identity=lambda: (("Aggregate", "COUNT(*) BY k"),))
    after = job(steps, kafka_write(sink, servers), identity=lambda: (("Aggregate", "COUNT(*) BY x"),))
    _finish(start_job(spark, before, RunOptions(checkpoint=str(tmp_path), **QUIET)))
    with pytest.raises(FlinkDdlError, match=r"FD820.*operator 'Aggregate' was 'COUNT\(\*\) BY k' and is .*--fresh"):
        start_job(spark, after, RunOptions(checkpoint=str(tmp_path), **QUIET))
    _finish(start_job(spark, after, RunOptions(checkpoint=str(tmp_path), fresh=True, **QUIET)))
    assert len(consume(servers, sink)) == 6
    assert sorted(p.name.split(".")[0] for p in tmp_path.iterdir()) == ["job", "job"]


STARTS = {
    "earliest": ({"mode": "earliest-offset"}, [0, 1, 2, 3, 4]),
    "latest": ({"mode": "latest-offset"}, []),
    "timestamp": ({"mode": "timestamp", "timestamp": "1003"}, [3, 4]),
    "timestamp after all": ({"mode": "timestamp", "timestamp": "9999"}, []),
    "specific": ({"mode": "specific-offsets", "offsets": "partition:0,offset:4"}, [4]),
    "specific, out of range": ({"mode": "specific-offsets", "offsets": "partition:0,offset:99"}, []),
    "specific, not listed": ({"mode": "specific-offsets", "offsets": "partition:7,offset:4"}, [0, 1, 2, 3, 4]),
    "group": ({"mode": "group-offsets", "group": "committed"}, [2, 3, 4]),
    "group, reset": ({"mode": "group-offsets", "group": "nobody", "reset": "EARLIEST"}, [0, 1, 2, 3, 4]),
}
STOPS = {
    "latest": ({"mode": "latest-offset"}, [0, 1, 2, 3, 4]),
    "timestamp": ({"mode": "timestamp", "timestamp": "1002"}, [0, 1]),
    "specific": ({"mode": "specific-offsets", "offsets": "partition:0,offset:3"}, [0, 1, 2]),
    "specific, not listed": ({"mode": "specific-offsets", "offsets": "partition:7,offset:3"}, []),
    "group": ({"mode": "group-offsets", "group": "committed"}, [0, 1]),
}
POSITIONS = {f"from {n}": (s, {"mode": "latest-offset"}, e) for n, (s, e) in STARTS.items()} | {
    f"to {n}": ({"mode": "earliest-offset"}, s, e) for n, (s, e) in STOPS.items()
}


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "batch"])
@pytest.mark.parametrize("case", POSITIONS)
def test_start_and_stop_positions(
    spark: SparkSession, broker: Broker, admin: KafkaAdmin, positions_topic: str, case: str, streaming: bool
) -> None:
    start, stop, expected = POSITIONS[case]
    source = read(positions_topic, broker.bootstrap, streaming=streaming, start=start, stop=stop)
    assert sorted(_collect(spark, source, streaming)) == expected


@pytest.fixture(scope="module")
def positions_topic(broker: Broker, admin: KafkaAdmin) -> str:
    topic = f"positions-{time.time_ns()}"
    admin.create_topic(topic, configs={"retention.ms": "-1"})
    for n in range(5):
        produce(broker.bootstrap, topic, [{"k": "a", "x": n}], timestamp_ms=1000 + n)
    admin.commit("committed", {topic: {0: 2}})
    return topic


def _collect(spark: SparkSession, source: J.Read, streaming: bool = True, **changes: Any) -> list[int]:
    got: list[int] = []
    take = J.Select(name="x", input="rows", columns=(("x", "v.x"),))
    write = J.Write(name="w", input="x", format="flinkddl.collect", options={}, mode="append")
    running = job((source, decode(), take), write, streaming=streaming, **changes)
    on_rows: Callable[[Rows], None] = lambda rows: got.extend(c.row[0] for c in rows.changes)  # noqa: E731
    _finish(start_job(spark, running, RunOptions(on_rows=on_rows, **QUIET)))
    return got


def test_a_group_without_offsets_fails_as_in_flink(spark: SparkSession, broker: Broker, positions_topic: str) -> None:
    source = read(positions_topic, broker.bootstrap, start={"mode": "group-offsets", "group": "nobody"})
    with pytest.raises(FlinkDdlError, match="FD815: the group 'nobody' has committed no offset for partition 0"):
        _collect(spark, source)


def test_a_stop_beyond_the_end_is_waited_for(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    import threading

    topic, told = new_topic("later"), []
    produce(broker.bootstrap, topic, [{"k": "a", "x": 0}])
    more = threading.Timer(2, lambda: produce(broker.bootstrap, topic, [{"k": "a", "x": n} for n in (1, 2, 3)]))
    more.start()
    stop = {"mode": "specific-offsets", "offsets": "partition:0,offset:3"}
    source = read(topic, broker.bootstrap, start={"mode": "earliest-offset"}, stop=stop)
    write = J.Write(name="w", input="rows", format="flinkddl.collect", options={}, mode="append")
    rows: list[Any] = []
    options = RunOptions(on_rows=lambda r: rows.extend(r.changes), notice=told.append)
    _finish(start_job(spark, job((source, decode()), write), options))
    assert len(rows) == 3
    assert any("to reach its stop offset 3 (now 1)" in text for text in told)


def test_group_offsets_are_committed_after_batches(
    spark: SparkSession, broker: Broker, admin: KafkaAdmin, new_topic: Callable[..., str]
) -> None:
    topic = new_topic("commits")
    produce(broker.bootstrap, topic, ROWS)
    group = f"g-{topic}"
    source = read(topic, broker.bootstrap, start={"mode": "earliest-offset", "commit-group": group})
    _collect(spark, source)
    assert admin.committed(group, [topic]) == {topic: {0: 5}}


def test_print_writes_flinks_row_kinds(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    topic = new_topic("printed")
    source = read(topic, broker.bootstrap, start={"mode": "earliest-offset"})
    grouped = J.GroupBy(name="g", input="rows", keys=(("k", "v.k"),), aggs=(("s", "sum(v.x)"), ("n", "count(1)")))
    columns = (("k", "k"), ("s", "s"), ("__version", "n"), ("__deleted", "s < 0"))
    upsert = J.Select(name="u", input="g", columns=columns)
    options = {"key-columns": "k", "print-identifier": "out"}
    write = J.Write(name="p", input="u", format="flinkddl.print", options=options, mode="update")
    printing = job((source, decode(), grouped, upsert), write, trigger=("processingTime", "0 seconds"))
    running = start_job(spark, printing, RunOptions(**QUIET))
    printed = ""
    for row, lines in (
        ({"k": "a", "x": 1}, ["+I[a, 1]"]),
        ({"k": "a", "x": 2}, ["-U[a, 1]", "+U[a, 3]"]),
        ({"k": "a", "x": -9}, ["-D[a, 3]"]),
    ):
        produce(broker.bootstrap, topic, [row])
        expected = "".join(f"out> {line}\n" for line in lines)
        end = time.monotonic() + 60
        got = ""
        while len(got) < len(expected) and time.monotonic() < end:
            time.sleep(0.1)
            got += capsys.readouterr().out
        assert got == expected
        printed += got
    running.stop()
    assert running.status == "stopped"


WINDOW = (
    J.Select(name="ts", input="rows", columns=(("ts", "timestamp_seconds(v.x)"),)),
    J.Read(
        name="end_of_src",
        format="flinkddl.control",
        options={"rowtime": "ts"},
        streaming=True,
        schema="ts TIMESTAMP",
    ),
    J.UnionAll(name="both", parts=("ts", "end_of_src")),
    J.WithWatermark(name="marked", input="both", column="ts", delay="2 seconds"),
    J.Where(name="real", input="marked", condition="ts < TIMESTAMP '2199-01-01'"),
    J.GroupBy(name="windows", input="real", keys=(("w", "window(ts, '10 seconds')"),), aggs=(("n", "count(1)"),)),
    J.Select(name="out", input="windows", columns=(("start", "unix_timestamp(w.start)"), ("n", "n"))),
)
COLLECT = J.Write(name="w", input="out", format="flinkddl.collect", options={}, mode="append")
SECONDS = [{"k": "a", "x": x} for x in (1, 2, 5, 12, 13, 25)]


def test_the_end_of_a_bounded_stream_closes_every_window(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    topic = new_topic("windows")
    produce(broker.bootstrap, topic, SECONDS)
    positions = {"start": {"mode": "earliest-offset"}, "stop": {"mode": "latest-offset"}}
    steps = (read(topic, broker.bootstrap, **positions), decode(), *WINDOW)
    rows: list[Any] = []
    options = RunOptions(on_rows=lambda r: rows.extend(c.row for c in r.changes), **QUIET)
    _finish(start_job(spark, job(steps, COLLECT), options))
    assert sorted(rows) == [(0, 3), (10, 2), (20, 1)]


@pytest.mark.parametrize("pause", [0, 2], ids=["between batches", "while rows are taken"])
def test_a_drain_closes_every_window_once_and_the_checkpoint_cannot_go_on(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path, pause: float
) -> None:
    topic = new_topic("drained")
    produce(broker.bootstrap, topic, SECONDS)
    steps = (read(topic, broker.bootstrap, start={"mode": "earliest-offset"}), decode(), *WINDOW)
    rows: list[Any] = []

    def take(batch: Any) -> None:
        rows.extend(c.row for c in batch.changes)
        time.sleep(pause)

    options = RunOptions(str(tmp_path), on_rows=take, **QUIET)
    endless = job(steps, COLLECT, trigger=("processingTime", "0 seconds"))
    running = start_job(spark, endless, options)
    _until(lambda: len(rows) == 2)
    running.stop(drain=True)
    assert running.status == "stopped"
    assert sorted(rows) == [(0, 3), (10, 2), (20, 1)]
    with pytest.raises(FlinkDdlError, match="FD821"):
        start_job(spark, endless, options)


def test_a_stop_comes_between_batches_and_the_next_run_goes_on(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, sink, servers = new_topic("orders"), new_topic("regions"), broker.bootstrap
    endless = job(
        counts(read(source, servers, start={"mode": "earliest-offset"})),
        kafka_write(sink, servers),
        trigger=("processingTime", "0 seconds"),
    )
    options = RunOptions(checkpoint=str(tmp_path), **QUIET)
    for expected in (1, 2):
        produce(servers, source, ROWS)
        running = start_job(spark, endless, options)
        assert running.status == "running"
        _until(lambda: sum(sum(p.ends.get(source, {}).values()) for p in running.progress) == 5 * expected)  # noqa: B023
        assert running.lag == {source: 0}
        assert running.progress[0].waiting != ""
        running.stop()
        assert running.status == "stopped"
        assert table(consume(servers, sink)) == {"a": 2 * expected, "b": 2 * expected, "c": expected}
    assert len(consume(servers, sink)) == 6


def test_a_failure_names_table_topic_partition_offsets_and_reason(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    source, sink, servers = new_topic("orders"), new_topic("regions"), broker.bootstrap
    produce(servers, source, [{"k": "a", "x": 1}, b"{broken"])
    decoding = "from_json(CAST(value AS STRING), 'k STRING, x BIGINT', map('mode', 'FAILFAST'))"
    steps = list(counts(read(source, servers, start={"mode": "earliest-offset"})))
    steps[1] = J.Select(name="rows", input="src", columns=(("v", decoding),))
    healthy = J.Write(name="other", input="rows", format="noop", options={}, mode="append")
    broken = job(steps, kafka_write(sink, servers), healthy, trigger=("processingTime", "0 seconds"))
    running = start_job(spark, broken, RunOptions(**QUIET))
    with pytest.raises(
        JobFailed, match=r"FD830: the query into 'regions' failed|FD830: the query into 'other'"
    ) as raised:
        running.await_termination(90)
    message = str(raised.value)
    assert f"topic '{source}' partition 0, offsets 0 to 1" in message
    assert "was expecting double-quote to start field name" in message
    assert "org.apache" not in message
    assert "org.apache.spark" in raised.value.log.read_text()
    assert running.status == "failed"
    assert not any(query.isActive for query in running._held.queries.running.values())


def test_a_batch_job_writes_to_kafka_and_takes_every_step_kind(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    sink, servers = new_topic("batch"), broker.bootstrap
    steps: tuple[J.Step, ...] = (
        J.Rows(
            name="r", query="SELECT * FROM VALUES (1, array('x', 'y')), (2, array('z')), (2, array('z')) AS t(a, b)"
        ),
        J.Select(name="u", input="r", columns=(("a", "a"),), generator=("explode(b)", ("c",))),
        J.DropDuplicates(name="d", input="u", columns=("a", "c")),
        J.UnionAll(name="twice", parts=("d", "d")),
        J.GroupBy(name="distinct", input="twice", keys=(("a", "a"), ("c", "c")), aggs=()),
        J.Rows(name="names", query="SELECT 1 AS id, 'one' AS name"),
        J.JoinStep(name="j", left="distinct", right="names", on="a = id", how="left"),
        J.OrderBy(name="o", input="j", keys=(J.SortKey("a", descending=True, nulls_first=False), J.SortKey("c"))),
        J.Limit(name="l", input="o", fetch=2),
        J.Select(name="out", input="l", columns=(("value", "to_json(struct(a, c, name))"),)),
    )
    _finish(start_job(spark, job(steps, kafka_write(sink, servers), streaming=False), RunOptions(**QUIET)))
    assert sorted((json.dumps(v) for _, v in consume(servers, sink))) == [
        '{"a": 1, "c": "x", "name": "one"}',
        '{"a": 2, "c": "z", "name": null}',
    ]


def test_a_missing_topic_and_a_wrong_step_are_said_before_anything_starts(spark: SparkSession, broker: Broker) -> None:
    write = J.Write(name="w", input="rows", format="noop", options={}, mode="append")
    missing = job((read("nowhere", broker.bootstrap, start={"mode": "earliest-offset"}), decode()), write)
    with pytest.raises(FlinkDdlError, match="FD812: the topic 'nowhere' does not exist"):
        start_job(spark, missing, RunOptions(**QUIET))
    wrong = job((J.Rows(name="rows", query="SELECT nonsense"),), write, streaming=False)
    with pytest.raises(FlinkDdlError, match="FD831: Spark refuses the step 'rows'"):
        start_job(spark, wrong, RunOptions(**QUIET))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_job_after_its_batch(spark: SparkSession, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    rate = J.Read(name="r", format="rate", options={"rowsPerSecond": "10"}, streaming=True)
    write = J.Write(name="w", input="r", format="noop", options={}, mode="append")
    running = start_job(spark, job((rate,), write, trigger=("processingTime", "0 seconds")), RunOptions(**QUIET))
    with stopping() as stops:
        stops.add(running)
        os.kill(os.getpid(), number)
        assert running.await_termination(60)
    assert running.status == "stopped"
    assert signal.getsignal(number) is before


def test_a_ctrl_c_while_one_waits_leaves_the_job_running_and_stop_waits_for_its_end(spark: SparkSession) -> None:
    rate = J.Read(name="r", format="rate", options={"rowsPerSecond": "10"}, streaming=True)
    write = J.Write(name="w", input="r", format="noop", options={}, mode="append")
    running = start_job(spark, job((rate,), write, trigger=("processingTime", "0 seconds")), RunOptions(**QUIET))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        running.await_termination(60)
    assert not running.await_termination(0)
    assert running.status == "running"
    running.stop()
    assert running.status == "stopped"
