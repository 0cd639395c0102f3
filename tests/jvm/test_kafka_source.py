"""Our Kafka source, whose positions are those of the moment in which it is read, and the function ``map_last``."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.runtime.session.sessions import job_session
from tests.support.topics import send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka

SOURCE = "flinkddl.KafkaSource"
NOWHERE = "127.0.0.1:1"
STAMPS = {0: (1000, 2000, 3000, 4000, 5000), 1: (2000, 4000, 6000)}
WHOLE = {0: (0, 5), 1: (0, 3)}
Ranges = dict[int, tuple[int, int]]


@dataclass
class Kept:
    """A topic with the records of STAMPS. ``group`` stands at 3 and 1 in its partitions, ``half`` at 2 in the first."""

    servers: str
    topic: str
    group: str
    half: str

    def filled(self, position: Mapping[str, str]) -> str:
        names = {"group": self.group, "half": self.half, "topic": self.topic}
        return json.dumps({k: names.get(v, v).replace("TOPIC", self.topic) for k, v in position.items()})


@pytest.fixture(scope="module")
def kept(broker: Broker, admin: KafkaAdmin) -> Kept:
    from kafka import KafkaProducer

    name = f"kept.{uuid.uuid4().hex[:8]}"
    found = Kept(broker.bootstrap, name, f"g-{name}", f"h-{name}")
    admin.create_topic(name, partitions=2)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for partition, stamps in STAMPS.items():
        for stamp in stamps:
            producer.send(name, b"x", partition=partition, timestamp_ms=stamp)
    producer.flush()
    producer.close()
    admin.commit(found.group, {name: {0: 3, 1: 1}})
    admin.commit(found.half, {name: {0: 2}})
    return found


@pytest.fixture
def run_stream(spark: SparkSession) -> Iterator[Callable[[DataFrame, Path], list[Any]]]:
    """Return a function that reads what there is now and returns the rows of all runs under this name."""
    from pyspark.errors import StreamingQueryException

    names: list[str] = []

    def run(frame: DataFrame, checkpoint: Path) -> list[Any]:
        names.append(f"sink_{uuid.uuid4().hex[:8]}")
        writer = frame.writeStream.format("memory").queryName(names[-1]).outputMode("append")
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        try:
            query.awaitTermination(60)
        except StreamingQueryException as error:
            raise RuntimeError(str(error)) from error
        return spark.table(names[-1]).collect()

    yield run
    for name in names:
        spark.catalog.dropTempView(name)


def options(servers: str, start: str | None = None, stop: str | None = None, **more: str) -> dict[str, str]:
    positions = {"flinkddl.start": start, "flinkddl.stop": stop}
    found = {"kafka.bootstrap.servers": servers, "kafka.group.id": "of-a-consumer", "failOnDataLoss": "true"} | more
    return found | {k: v for k, v in positions.items() if v is not None}


def places(rows: list[Any]) -> set[tuple[int, int]]:
    found = {(r["partition"], r["offset"]) for r in rows}
    assert len(found) == len(rows)
    return found


def within(ranges: Ranges) -> set[tuple[int, int]]:
    return {(p, o) for p, (first, last) in ranges.items() for o in range(first, last)}


def frozen(topic: str, places: dict[int, int]) -> str:
    return json.dumps({topic: {str(p): o for p, o in places.items()}})


STARTS: list[tuple[dict[str, str], Ranges]] = [
    ({}, WHOLE),
    ({"mode": "earliest-offset"}, WHOLE),
    ({"mode": "latest-offset"}, {}),
    ({"mode": "group-offsets", "group": "group"}, {0: (3, 5), 1: (1, 3)}),
    ({"mode": "group-offsets", "group": "half", "reset": "EARLIEST"}, {0: (2, 5), 1: (0, 3)}),
    ({"mode": "group-offsets", "group": "half", "reset": "latest"}, {0: (2, 5)}),
    ({"mode": "timestamp", "timestamp": "2500"}, {0: (2, 5), 1: (1, 3)}),
    ({"mode": "timestamp", "timestamp": "6000"}, {1: (2, 3)}),
    ({"mode": "specific-offsets", "offsets": "partition:0,offset:4;partition:1,offset:2"}, {0: (4, 5), 1: (2, 3)}),
    ({"mode": "specific-offsets", "offsets": "partition:0,offset:4;", "group": "group"}, {0: (4, 5), 1: (1, 3)}),
    ({"mode": "specific-offsets", "offsets": "partition:0,offset:99;partition:1,offset:-1"}, {0: (0, 5)}),
    (
        {"mode": "specific-offsets", "offsets": "partition:0,offset:-3;partition:1,offset:-2", "group": "group"},
        {0: (3, 5), 1: (0, 3)},
    ),
    ({"mode": "topic-offsets", "offsets": '{"TOPIC": {"1": 2}}'}, {0: (0, 5), 1: (2, 3)}),
]
STOPS: list[tuple[dict[str, str], dict[str, str], Ranges]] = [
    ({}, {"mode": "unbounded"}, WHOLE),
    ({}, {"mode": "latest-offset"}, WHOLE),
    ({}, {"mode": "group-offsets", "group": "group"}, {0: (0, 3), 1: (0, 1)}),
    ({}, {"mode": "timestamp", "timestamp": "2500"}, {0: (0, 2), 1: (0, 1)}),
    ({}, {"mode": "specific-offsets", "offsets": "partition:0,offset:2"}, {0: (0, 2)}),
    ({}, {"mode": "specific-offsets", "offsets": "partition:0,offset:-1;partition:1,offset:99"}, WHOLE),
    (
        {},
        {"mode": "specific-offsets", "offsets": "partition:0,offset:-3;partition:1,offset:2", "group": "group"},
        {0: (0, 3), 1: (0, 2)},
    ),
    ({"mode": "timestamp", "timestamp": "4000"}, {"mode": "timestamp", "timestamp": "2000"}, {}),
    (
        {"mode": "specific-offsets", "offsets": "partition:0,offset:99;partition:1,offset:1"},
        {"mode": "latest-offset"},
        {1: (1, 3)},
    ),
]


@pytest.mark.parametrize(
    ("start", "stop", "expected"), [*((start, None, expected) for start, expected in STARTS), *STOPS]
)
def test_a_batch_reads_its_range(
    spark: SparkSession, kept: Kept, start: dict[str, str], stop: dict[str, str] | None, expected: Ranges
) -> None:
    end = None if stop is None else kept.filled(stop)
    known = options(kept.servers, kept.filled(start), end, subscribe=kept.topic, startingOffsets="latest")
    assert places(spark.read.format(SOURCE).options(**known).load().collect()) == within(expected)


@pytest.mark.parametrize(("start", "expected"), {s.get("mode"): (s, e) for s, e in STARTS}.values())
def test_a_stream_begins_at_its_start(
    spark: SparkSession, kept: Kept, run_stream: Any, tmp_path: Path, start: dict[str, str], expected: Ranges
) -> None:
    known = options(kept.servers, kept.filled(start), subscribe=kept.topic, endingOffsets="latest")
    assert places(run_stream(spark.readStream.format(SOURCE).options(**known).load(), tmp_path)) == within(expected)


def test_a_stream_takes_of_its_stop_only_that_there_is_one(
    spark: SparkSession, kept: Kept, run_stream: Any, tmp_path: Path
) -> None:
    start = {"mode": "specific-offsets", "offsets": "partition:0,offset:99;partition:1,offset:1"}
    stop = {"mode": "specific-offsets", "offsets": "partition:1,offset:2"}
    known = options(kept.servers, kept.filled(start), kept.filled(stop), subscribe=kept.topic)
    rows = run_stream(spark.readStream.format(SOURCE).options(**known).load(), tmp_path)
    assert places(rows) == within({1: (1, 3)})


def test_topics_are_wanted_by_pattern_or_partition(spark: SparkSession, kept: Kept) -> None:
    start = kept.filled({"mode": "timestamp", "timestamp": "4000"})
    by_pattern = options(kept.servers, start, subscribePattern=kept.topic.replace(".", "[.]"))
    assert places(spark.read.format(SOURCE).options(**by_pattern).load().collect()) == within({0: (3, 5), 1: (1, 3)})
    assigned = options(kept.servers, start, assign=json.dumps({kept.topic: [1]}))
    assert places(spark.read.format(SOURCE).options(**assigned).load().collect()) == within({1: (1, 3)})
    nothing = options(kept.servers, start, subscribePattern=f"{kept.topic}-no-such")
    assert spark.read.format(SOURCE).options(**nothing).load().collect() == []
    missing = options(kept.servers, start, assign=json.dumps({kept.topic: [1, 7]}))
    with pytest.raises(Exception, match=f"topic '{kept.topic}' has no partition 7 .bootstrap servers {kept.servers}"):
        spark.read.format(SOURCE).options(**missing).load().collect()


def test_a_view_sees_what_came_since(spark: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> None:
    topic, view = new_topic("view"), "seen_again"
    send(broker.bootstrap, topic, [{"id": 1}])
    time.sleep(0.01)
    start = json.dumps({"mode": "timestamp", "timestamp": str(time.time_ns() // 1_000_000)})
    frame = spark.read.format(SOURCE).options(**options(broker.bootstrap, start, subscribe=topic)).load()
    frame.createOrReplaceTempView(view)
    try:
        for seen in range(3):
            assert sorted(r["offset"] for r in spark.table(view).collect()) == list(range(1, 1 + seen))
            send(broker.bootstrap, topic, [{"id": 2 + seen}])
    finally:
        spark.catalog.dropTempView(view)


def test_a_stream_that_goes_on_looks_no_start_up(
    spark: SparkSession,
    broker: Broker,
    admin: KafkaAdmin,
    new_topic: Callable[..., str],
    run_stream: Any,
    tmp_path: Path,
) -> None:
    topic = new_topic("resume")
    send(broker.bootstrap, topic, ({"id": i} for i in range(4)))
    admin.commit(f"g-{topic}", {topic: {0: 2}})
    start = json.dumps({"mode": "group-offsets", "group": f"g-{topic}", "reset": "none"})
    frame = spark.readStream.format(SOURCE).options(**options(broker.bootstrap, start, subscribe=topic)).load()
    assert [r["offset"] for r in run_stream(frame.where("offset > 0"), tmp_path / "a")] == [2, 3]
    admin._client.delete_groups([f"g-{topic}"])
    send(broker.bootstrap, topic, [{"id": 4}])
    with pytest.raises(RuntimeError, match=f"the group 'g-{topic}' has committed no offset for partition 0 of topic"):
        run_stream(frame, tmp_path / "b")
    query = (
        frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "a")).trigger(availableNow=True)
    ).start()
    query.awaitTermination(60)
    progress = query.lastProgress
    assert progress is not None
    assert progress["numInputRows"] == 1
    assert progress["sources"][0]["description"] == f"KafkaV2[Subscribe[{topic}]]"
    assert "avgOffsetsBehindLatest" in progress["sources"][0]["metrics"]


def test_a_stream_without_discovery_keeps_to_the_partitions_of_its_start(
    spark: SparkSession,
    broker: Broker,
    admin: KafkaAdmin,
    new_topic: Callable[..., str],
    run_stream: Any,
    tmp_path: Path,
) -> None:
    from kafka.admin import NewPartitions

    topic, name = new_topic("fixed"), f"sink_{uuid.uuid4().hex[:8]}"
    fixed = options(broker.bootstrap, subscribe=topic, **{"flinkddl.discovery": "0"})
    frame = spark.readStream.format(SOURCE).options(**fixed).load()
    writer = frame.writeStream.format("memory").queryName(name).option("checkpointLocation", str(tmp_path))
    query = writer.start()
    try:
        query.processAllAvailable()
        admin._client.create_partitions({topic: NewPartitions(2)})
        send(broker.bootstrap, topic, [{"id": 1}], partition=1)
        send(broker.bootstrap, topic, [{"id": 0}], partition=0)
        query.processAllAvailable()
        assert places(spark.table(name).collect()) == {(0, 0)}
    finally:
        query.stop()
        spark.catalog.dropTempView(name)
    again = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    query = again.start()
    query.awaitTermination(60)
    progress = query.lastProgress
    assert progress is not None
    assert progress["numInputRows"] == 1
    assert json.loads(progress["sources"][0]["endOffset"]) == {topic: {"0": 1, "1": 1}}
    nothing = options(broker.bootstrap, subscribePattern=f"{topic}-no", **{"flinkddl.discovery": "0"})
    with pytest.raises(RuntimeError, match=f"no topic matches '{topic}-no'"):
        run_stream(spark.readStream.format(SOURCE).options(**nothing).load(), tmp_path / "none")


def test_headers_are_a_column_when_asked_for(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], run_stream: Any, tmp_path: Path
) -> None:
    from kafka import KafkaProducer

    topic = new_topic("headers")
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    producer.send(topic, b"x", headers=[("k", b"v")])
    producer.close()
    known = options(broker.bootstrap, subscribe=topic, includeHeaders="true")
    frame = spark.read.format(SOURCE).options(**known).load()
    own = spark.read.format("kafka").options(**known).load()
    assert frame.schema == own.schema
    assert frame.collect() == own.collect()
    stream = spark.readStream.format(SOURCE).options(**known).load()
    assert [r["headers"][0]["key"] for r in run_stream(stream, tmp_path)] == ["k"]
    known.pop("includeHeaders")
    assert "headers" not in spark.read.format(SOURCE).options(**known).load().columns


def test_a_reader_of_committed_records_stops_before_an_open_transaction(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    from kafka import KafkaProducer

    topic = new_topic("open")
    send(broker.bootstrap, topic, [{"id": 1}])
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=f"t-{topic}")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"open").get(30)
    try:
        for level, count in (("read_committed", 1), ("read_uncommitted", 2)):
            known = options(
                broker.bootstrap, subscribe=topic, **{"kafka.isolation.level": level, "kafka.group.id": level}
            )
            assert len(spark.read.format(SOURCE).options(**known).load().collect()) == count
    finally:
        producer.abort_transaction()
        producer.close()


def test_a_frame_is_made_without_the_cluster_and_names_its_topic(spark: SparkSession, capsys: Any) -> None:
    secret = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hunter2";'
    known = options(NOWHERE, subscribe="orders", **{"kafka.sasl.jaas.config": secret})
    for reader in (spark.read, spark.readStream):
        frame = reader.format(SOURCE).options(**known).load().where("partition = 1")
        assert frame.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
        plan = frame._jdf.queryExecution().logical().toString() + frame._jdf.queryExecution().analyzed().toString()
        assert "kafka orders" in plan
        assert "hunter2" not in plan


def test_what_is_not_there_is_said(
    spark: SparkSession, broker: Broker, run_stream: Any, tmp_path: Path, kept: Kept
) -> None:
    missing = options(broker.bootstrap, json.dumps({"mode": "timestamp", "timestamp": "0"}), subscribe="no-such")
    said = rf"topic 'no-such' does not exist \(bootstrap servers {broker.bootstrap}\)"
    with pytest.raises(Exception, match=said):
        spark.read.format(SOURCE).options(**missing).load().collect()
    with pytest.raises(RuntimeError, match=said):
        run_stream(spark.readStream.format(SOURCE).options(**missing).load(), tmp_path)
    secret = {"kafka.request.timeout.ms": "500", "kafka.ssl.key.password": "hunter2"}
    begin = time.monotonic()
    with pytest.raises(Exception, match=f"the bootstrap servers {NOWHERE} were not reached within 1 s") as unreached:
        spark.read.format(SOURCE).options(**options(NOWHERE, subscribe="t", **secret)).load().collect()
    assert time.monotonic() - begin < 10
    broken = secret | {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"}
    broken |= {"kafka.sasl.jaas.config": "x.Module required hunter2"}
    with pytest.raises(Exception, match="the properties of the Kafka client are wrong") as refused:
        spark.read.format(SOURCE).options(**options(NOWHERE, subscribe="t", **broken)).load().collect()
    assert "hunter2" not in str(unreached.value) + str(refused.value)


@pytest.mark.parametrize(
    ("start", "stop", "said"),
    [
        (
            {"mode": "group-offsets", "group": "half"},
            {},
            "has committed no offset for partition 1 of topic '.*': set 'properties.auto.offset.reset'",
        ),
        ({}, {"mode": "group-offsets", "group": "half"}, "has committed no offset for partition 1 of topic"),
        ({"mode": "timestamp", "timestamp": "-5"}, {}, "no record has the negative timestamp -5"),
        ({}, {"mode": "specific-offsets", "offsets": "partition:0,offset:-3"}, "there is no stop offset -3"),
        ({"mode": "sometimes"}, {}, "unknown start mode 'sometimes'"),
        ({}, {"mode": "earliest-offset"}, "unknown stop mode 'earliest-offset'"),
        ({"mode": "group-offsets"}, {}, "the position 'group-offsets' has no 'group'"),
    ],
)
def test_a_position_that_is_none_is_refused(
    spark: SparkSession, kept: Kept, start: dict[str, str], stop: dict[str, str], said: str
) -> None:
    known = options(kept.servers, kept.filled(start), kept.filled(stop), subscribe=kept.topic)
    with pytest.raises(Exception, match=said):
        spark.read.format(SOURCE).options(**known).load().collect()


def entries_of(key: str, value: str, *pairs: tuple[str, str] | None) -> str:
    """Return an array of entries as SQL; None is a NULL entry."""
    made = (p and f"named_struct('k', CAST({p[0]} AS {key}), 'v', CAST({p[1]} AS {value}))" for p in pairs)
    return f"CAST(array({', '.join(m or 'NULL' for m in made)}) AS ARRAY<STRUCT<k: {key}, v: {value}>>)"


PAIR = "STRUCT<a: INT, b: BINARY>"
ENTRIES = {
    "empty": entries_of("STRING", "INT"),
    "no array": "CAST(NULL AS ARRAY<STRUCT<k: STRING, v: INT>>)",
    "a NULL entry": entries_of("STRING", "INT", ("'a'", "1"), None, ("NULL", "2")),
    "text": entries_of("STRING", "INT", ("'a'", "1"), ("'b'", "2"), ("'a'", "3"), ("''", "NULL"), ("'b'", "NULL")),
    "binary": entries_of("BINARY", "INT", ("X'01'", "1"), ("X'02'", "2"), ("X'01'", "3")),
    "numbers": entries_of("INT", "STRING", ("1", "'x'"), ("2", "'y'"), ("1", "'z'")),
    "doubles": entries_of("DOUBLE", "INT", ("-0.0D", "1"), ("0", "2"), ("'NaN'", "3"), ("'NaN'", "4")),
    "one zero": entries_of("DOUBLE", "INT", ("-0.0D", "1")),
    "floats": entries_of("FLOAT", "INT", ("'-0.0'", "1"), ("0", "2")),
    "decimals": entries_of("DECIMAL(5, 2)", "INT", ("1.50BD", "1"), ("2", "2"), ("1.5BD", "3")),
    "wide decimals": entries_of("DECIMAL(38, 2)", "INT", ("1", "1"), ("1.0BD", "2")),
    "dates": entries_of("DATE", "INT", ("'2024-01-01'", "1"), ("'2024-01-01'", "2")),
    "structs": entries_of(PAIR, "ARRAY<INT>", ("(1, X'01')", "array(1)"), ("(1, X'01')", "array(2)")),
    "arrays": entries_of(
        "ARRAY<STRING>", "INT", ("array('a', NULL)", "1"), ("array('a')", "2"), ("array('a', NULL)", "3")
    ),
    "maps": entries_of(
        "BOOLEAN", "MAP<STRING, INT>", ("true", "map('a', 1)"), ("false", "NULL"), ("true", "map('b', 2)")
    ),
}


@pytest.fixture(scope="module")
def sessions(spark: SparkSession) -> dict[str, SparkSession]:
    return {p: job_session(spark, {"spark.sql.mapKeyDedupPolicy": p}) for p in ("LAST_WIN", "EXCEPTION")}


@pytest.mark.parametrize("entries", ENTRIES.values(), ids=ENTRIES.keys())
def test_the_last_entry_of_a_key_wins_whatever_the_session_says(
    sessions: dict[str, SparkSession], entries: str
) -> None:
    # as text: the order of the entries counts, and Python has a key for neither structs nor arrays
    calls = {"map_from_entries": "e", "map_from_arrays": "transform(e, x -> x.k), transform(e, x -> x.v)"}
    for spark_own, arguments in calls.items():
        if (spark_own, entries) == ("map_from_arrays", ENTRIES["a NULL entry"]):
            continue  # a NULL key there
        sql = f"SELECT CAST(m AS STRING) AS m, typeof(m) AS t FROM (SELECT {{}}({arguments}) AS m FROM"
        sql += f" VALUES ({entries}), ({entries}) AS t(e))"
        expected = sessions["LAST_WIN"].sql(sql.format(spark_own)).collect()
        for session in sessions.values():
            assert session.sql(sql.format("flinkddl.map_last")).collect() == expected


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (f"map_last({entries_of('STRING', 'INT', ('NULL', '2'))})", "NULL_MAP_KEY"),
        ("map_last(array('a', NULL), array(1, 2))", "NULL_MAP_KEY"),
        ("map_last(array('a'), array(1, 2))", "same length"),
    ],
)
def test_a_map_that_cannot_be_is_refused_as_in_spark(sessions: dict[str, SparkSession], call: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        sessions["EXCEPTION"].sql(f"SELECT flinkddl.{call}").collect()


def test_the_type_of_the_map_is_that_of_its_arguments(sessions: dict[str, SparkSession]) -> None:
    own, last = sessions["LAST_WIN"], sessions["EXCEPTION"]
    for name, arguments in (
        ("map_from_arrays", "array('a', 'b'), array(1, 2)"),
        ("map_from_arrays", "array('a', 'b'), array(1, NULL)"),
        ("map_from_entries", "array(struct('a' AS k, 1 AS v))"),
        ("map_from_entries", ENTRIES["text"]),
    ):
        expected = own.sql(f"SELECT {name}({arguments}) AS m").schema["m"].dataType
        assert last.sql(f"SELECT flinkddl.map_last({arguments}) AS m").schema["m"].dataType == expected
