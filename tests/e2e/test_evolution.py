"""What changes around a job: columns, writer schemas, partitions, sink topics; while it runs and across a restart.

Each case ends with a recount of every row against what was sent. What Flink 2.3 makes of the same records was asked of
it; the cases that fail there fail here, at the record that does not fit.
"""

from __future__ import annotations

import io
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.writers import DRIVER_SINKS
from tests.support.nightly import nightly
from tests.support.registry import Registry
from tests.support.topics import committed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.api import Job
    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.job.writers import Rows
    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka
SECONDS = 90.0
EARLIEST = {"scan_startup_mode": "earliest-offset"}
ALERT = {"properties_metadata_max_age_ms": "1000"}
"""For producers that live on in this process: they look for partitions once in 5 minutes."""


class World:
    """Topics and a registry of their own, a checkpoint folder, and the lines that jobs have told."""

    def __init__(self, spark: SparkSession, broker: Broker, admin: KafkaAdmin, new_topic: Any, folder: Path) -> None:
        self.spark, self.servers, self.admin, self.folder = spark, broker.bootstrap, admin, folder
        self.new_topic, self.told = new_topic, list[str]()

    def table(self, name: str, columns: str, topic: str, **options: str) -> str:
        """Return CREATE TABLE; ``_`` of an option's name stands for ``.``, ``__`` for ``-``."""
        given = {"connector": "kafka", "topic": topic, "properties.bootstrap.servers": self.servers}
        given |= {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
        listed = ", ".join(f"'{k}' = '{v}'" for k, v in given.items())
        return f"CREATE TABLE {name} ({columns}) WITH ({listed});"

    def start(self, script: str, **run: Any) -> Job:
        options = {"checkpoint": str(self.folder), "notice": self.told.append, **run}
        job = Catalog(self.spark, views=False).execute_all(script, run=options)[-1].job
        assert job is not None
        return job

    def read_all(self, script: str, **run: Any) -> None:
        """Run a job until it has read what there is now."""
        job = self.start(script, **run)
        try:
            assert job.await_input(SECONDS)
        finally:
            job.stop()

    def send(self, topic: str, *values: Any, partition: int = 0, key: bytes | None = None) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers)
        for value in values:
            data = value if isinstance(value, bytes | None) else json.dumps(value).encode()
            producer.send(topic, data, partition=partition, key=key)
        producer.close()

    def widen(self, topic: str, partitions: int) -> None:
        """Raise the number of a topic's partitions."""
        from kafka.admin import NewPartitions

        self.admin._client.create_partitions({topic: NewPartitions(partitions)})

    def create_again(self, topic: str, partitions: int) -> None:
        if topic in self.admin.topics():
            self.admin.delete_topic(topic)
        end = time.monotonic() + SECONDS
        while topic in self.admin.topics() and time.monotonic() < end:
            time.sleep(0.1)
        self.admin.create_topic(topic, partitions)

    def values(self, topic: str) -> list[dict[str, Any]]:
        return [json.loads(r.value) for r in committed(self.servers, topic)]


@pytest.fixture
def world(
    spark: SparkSession, broker: Broker, admin: KafkaAdmin, new_topic: Callable[..., str], tmp_path: Path
) -> World:
    return World(spark, broker, admin, new_topic, tmp_path)


# ---- columns and schemas ---------------------------------------------------------------------------------------------


def field(name: str, type: str, nullable: bool = True) -> dict[str, Any]:
    return {"name": name, "type": ["null", type] if nullable else type} | ({"default": None} if nullable else {})


def record(*fields: dict[str, Any], name: str = "record") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


ID, NAME, EXTRA = field("id", "int"), field("name", "string"), field("extra", "string")
FIRST = record(ID, NAME)
SCHEMAS: dict[str, dict[str, Any]] = {
    "first": FIRST,
    "field added": record(ID, EXTRA, NAME),
    "field removed": record(ID),
    "not nullable, another name": record(field("id", "int", False), field("name", "string", False), name="other"),
    "renamed, with an alias": record(ID, field("title", "string") | {"aliases": ["name"]}),
    "widened": record(field("id", "long"), NAME),
}


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as running:
        running.reset([json.dumps(schema) for schema in SCHEMAS.values()])
        yield running


def confluent(schema: str, **row: Any) -> bytes:
    """Return a row as a producer with this schema writes it."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, SCHEMAS[schema], row)
    return b"\0" + (list(SCHEMAS).index(schema) + 1).to_bytes(4, "big") + out.getvalue()


def decoded(registry: Registry, value: bytes) -> dict[str, Any]:
    schema = json.loads(registry.schemas[int.from_bytes(value[1:5], "big") - 1])
    row = fastavro.schemaless_reader(io.BytesIO(value[5:]), schema, None)
    assert isinstance(row, dict)
    return row


ROWS: Sequence[tuple[str, list[Any], list[tuple[int, str | None]]]] = (
    ("j", [{"id": 1, "name": "a"}], [(1, "a")]),
    ("c", [b"1,a"], [(1, "a")]),
    ("a", [confluent("first", id=1, name="a")], [(1, "a")]),
)
EVOLVED: Sequence[tuple[str, list[Any], list[tuple[int | None, str | None]]]] = (
    (
        "j",
        [{"id": 2, "extra": "x", "name": "b", "more": {"deep": [1]}}, {"id": 3}, {}],
        [(2, "b"), (3, None), (None, None)],
    ),
    ("c", [b"2,b,x", b"3", b"4,d"], [(3, None), (4, "d")]),  # 'csv.ignore-parse-errors' leaves out a longer line
    (
        "a",
        [
            confluent("field added", id=2, extra="x", name="b"), confluent("field removed", id=3),
            confluent("not nullable, another name", id=4, name="d"),
            confluent("renamed, with an alias", id=5, title="e"),
        ],
        [(2, "b"), (3, None), (4, "d"), (5, None)],
    ),
)  # fmt: skip


def test_records_get_and_lose_fields_and_then_the_script_gets_the_column(world: World, registry: Registry) -> None:
    topics = {name: world.new_topic(name) for name in "jca"}
    target = world.new_topic("dst")
    formats = {
        "j": {"format": "json"}, "c": {"format": "csv", "csv_ignore__parse__errors": "true"},
        "a": {"format": "avro-confluent", "avro__confluent_url": registry.url},
    }  # fmt: skip

    def script(extra: str = "") -> str:
        tables = [world.table(n, f"id INT, name STRING{extra}", topics[n], **EARLIEST, **formats[n]) for n in topics]
        tables.append(world.table("dst", f"src STRING, id INT, name STRING{extra}", target, **formats["a"]))
        return (
            "".join(tables) + "INSERT INTO dst " + " UNION ALL ".join(f"SELECT '{n}', {n}.* FROM {n}" for n in topics)
        )

    wanted: list[tuple[Any, ...]] = []

    def send(rows: Any) -> None:
        for name, sent, expected in rows:
            world.send(topics[name], *sent)
            wanted.extend((name, *row, None) for row in expected)

    job = world.start(script())
    try:
        for rows in (ROWS, EVOLVED):
            send(rows)
            assert job.await_input(SECONDS)
    finally:
        job.stop()
    send(EVOLVED)
    world.read_all(script())
    world.send(topics["j"], {"id": 6, "extra": "x", "name": "f"}, {"id": 7, "name": "g"})
    world.send(topics["c"], b"6,f,x", b"7,g")
    world.send(topics["a"], confluent("field added", id=6, name="f", extra="x"), confluent("first", id=7, name="g"))
    wanted += [(name, *row) for name in topics for row in ((6, "f", "x"), (7, "g", None))]
    world.read_all(script(", extra STRING"))
    assert (
        "the script has changed, and its checkpoint goes on: operator 'Scan' was 'default_catalog.default_database.j "
        in world.told[-1]
    )
    found = [decoded(registry, r.value) for r in committed(world.servers, target)]
    assert sorted((tuple((*row.values(), None)[:4]) for row in found), key=repr) == sorted(wanted, key=repr)
    registered = list(dict.fromkeys(registry.registered))
    assert [subject for subject, _ in registered] == [f"{target}-value"] * 2
    columns = [[f["name"] for f in json.loads(schema)["fields"]] for _, schema in registered]
    assert columns == [["src", "id", "name"], ["src", "id", "name", "extra"]]
    registry.refuses = True
    world.send(topics["j"], {"id": 8})
    with pytest.raises(
        FlinkDdlError, match=f"value of table '.*dst'.*under subject '{target}-value'.*409.*incompatible"
    ):
        world.read_all(script(", extra STRING, more INT"))


COUNT = "INSERT INTO counts SELECT name, COUNT(*), SUM(id) FROM src GROUP BY name"


def test_state_stays_when_a_column_comes_that_it_does_not_hold(world: World) -> None:
    source, target = world.new_topic("src"), world.new_topic("dst")
    upsert = {"connector": "upsert-kafka", "key_format": "json", "value_format": "json"}
    counts = world.table("counts", "name STRING PRIMARY KEY NOT ENFORCED, n BIGINT, s INT", target, **upsert)

    def script(columns: str, insert: str = COUNT) -> str:
        return world.table("src", columns, source, format="json", **EARLIEST) + counts + insert

    world.send(source, *({"id": i, "name": "ab"[i % 2]} for i in range(10)))
    world.read_all(script("id INT, name STRING"))
    world.send(source, {"id": 10, "name": "a", "extra": "x"})
    world.read_all(script("id INT, name STRING, extra STRING, part INT METADATA FROM 'partition'"))
    assert "operator 'Scan' was" in world.told[-1]
    world.send(source, {"id": 11, "name": "b"})
    world.read_all(script("id INT, name STRING"))
    assert world.values(target)[-1] == {"name": "b", "n": 6, "s": 36}
    assert {(v["name"], v["n"], v["s"]) for v in world.values(target)} == {
        ("a", 5, 20), ("b", 5, 25), ("a", 6, 30), ("b", 6, 36),
    }  # fmt: skip
    world.send(source, {"id": 12, "name": "a"})
    world.read_all(script("extra STRING, id INT, name STRING"))  # JSON goes by names: so does what the state means
    assert world.values(target)[-1] == {"name": "a", "n": 7, "s": 42}
    for columns, insert in (
        ("id BIGINT, name STRING", COUNT.replace("SUM(id)", "CAST(SUM(id) AS INT)")),
        ("id INT, name STRING, extra INT", COUNT.replace("SUM(id)", "SUM(extra)")),
    ):
        with pytest.raises(
            FlinkDdlError, match=r"FD820.*'Aggregate\(.*' (is now '|has other options, or reads)"
        ) as told:
            world.start(script(columns, insert))
        print(told.value)


UNFIT = {
    "json": ({"format": "json"}, {"id": 12345678901}, "column 'id'.*out of range of int"),
    "json, a field must be there": (
        {"format": "json", "json_fail__on__missing__field": "true"}, {"id": 2}, "Some field is missing",
    ),
    "csv, more fields": ({"format": "csv"}, b"2,b,x", "Too many entries: expected at most 2"),
    "csv, fewer fields": ({"format": "csv"}, b"2", "Row length mismatch. 2 fields expected but was 1"),
    "avro, fewer fields": ({"format": "avro"}, confluent("field removed", id=2)[5:], "column 'name'.*EOFException"),
    "avro-confluent, widened": (
        {"format": "avro-confluent"}, confluent("widened", id=2, name="b"), "column 'id'.*has the id 6 in.*Found long",
    ),
    "avro-confluent, an id that is not there": (
        {"format": "avro-confluent"}, b"\0\0\0\0\x63", "Could not find schema with id 99 in registry",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNFIT)
def test_a_record_that_does_not_fit_is_named(world: World, registry: Registry, case: str) -> None:
    options, value, said = UNFIT[case]
    topic, confluents = world.new_topic("src"), {"avro__confluent_url": registry.url}
    options = {
        **options,
        **(confluents if "confluent" in options["format"] else {}),
        "scan_bounded_mode": "latest-offset",
    }
    world.send(topic, value)
    catalog = Catalog(world.spark, views=False)
    catalog.execute(world.table("src", "id INT, name STRING", topic, **EARLIEST, **options))
    with pytest.raises(FlinkDdlError, match=f"topic '{topic}', partition 0, offset 0: .*{said}"):
        catalog.execute("SELECT * FROM src").collect()


# ---- partitions ------------------------------------------------------------------------------------------------------


def test_partitions_are_raised_of_a_source_and_a_sink(world: World) -> None:
    """Exactly once: each row is there once, whatever became of the partitions."""
    source, target = world.new_topic("src"), world.new_topic("dst")
    once = {"sink_delivery__guarantee": "exactly-once", "sink_transactional__id__prefix": target, **ALERT}
    keyed = {"key_format": "json", "key_fields": "id", "value_format": "json"}
    script = world.table("src", "id INT", source, format="json", **EARLIEST)
    script += world.table("dst", "id INT", target, **keyed, **once) + "INSERT INTO dst SELECT id FROM src"
    sent = iter(range(1000))

    def send(partitions: int) -> None:
        for partition in range(partitions):
            world.send(source, *({"id": next(sent)} for _ in range(5)), partition=partition)

    job = world.start(script)
    try:
        send(1)
        assert job.await_input(SECONDS)
        world.widen(source, 2)
        world.widen(target, 3)
        send(2)
        assert job.await_input(SECONDS)
    finally:
        job.stop()
    world.widen(source, 4)
    world.widen(target, 5)
    send(4)
    world.read_all(script)
    assert len({r.partition for r in committed(world.servers, target)}) > 3
    assert sorted(v["id"] for v in world.values(target)) == list(range(next(sent)))


def test_a_key_that_moves_to_a_new_partition_is_as_new_as_it_comes(world: World) -> None:
    """Its offsets there are lower than those before."""
    source, target = world.new_topic("src"), world.new_topic("dst")
    upsert = {"connector": "upsert-kafka", "key_format": "json", "value_format": "json"}
    script = world.table("src", "k STRING PRIMARY KEY NOT ENFORCED, n INT", source, **upsert)
    script += world.table("dst", "one INT PRIMARY KEY NOT ENFORCED, s INT", target, **upsert)
    script += "INSERT INTO dst SELECT 1, SUM(n) FROM src GROUP BY 1"

    def send(partition: int, **rows: int | None) -> None:
        for k, n in rows.items():
            value = None if n is None else {"k": k, "n": n}
            world.send(source, value, partition=partition, key=json.dumps({"k": k}).encode())

    job = world.start(script)
    try:
        send(0, a=1, b=2, c=4)
        send(0, a=8, b=16, c=32)
        assert job.await_input(SECONDS)
        world.widen(source, 2)
        send(1, a=64)
        assert job.await_input(SECONDS)
    finally:
        job.stop()
    assert world.values(target)[-1] == {"one": 1, "s": 64 + 16 + 32}
    world.widen(source, 3)
    send(2, b=128, c=None)
    world.read_all(script)
    assert world.values(target)[-1] == {"one": 1, "s": 64 + 128}


def test_what_comes_later_is_newer_in_whatever_partition(world: World) -> None:
    """A key's rows lie in two partitions: the one that comes in a later batch has the lower offset."""
    source, last, first = world.new_topic("src", partitions=2), world.new_topic("last"), world.new_topic("first")
    upsert = {"connector": "upsert-kafka", "key_format": "json", "value_format": "json"}
    columns = "k STRING, n INT, p AS PROCTIME(), ts AS TO_TIMESTAMP_LTZ(n, 0), WATERMARK FOR ts AS ts"
    script = world.table("src", columns, source, format="json", **EARLIEST)
    for name, topic in (("newest", last), ("oldest", first)):
        script += world.table(name, "k STRING PRIMARY KEY NOT ENFORCED, n INT", topic, **upsert)
    script += """EXECUTE STATEMENT SET BEGIN
      INSERT INTO newest SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS r FROM src)
        WHERE r = 1;
      INSERT INTO oldest SELECT k, n FROM src ON CONFLICT DO NOTHING; END"""
    world.send(source, *({"k": "a", "n": n} for n in range(4)))
    world.read_all(script)
    world.send(source, {"k": "a", "n": 4}, partition=1)
    world.read_all(script)
    assert (world.values(last)[-1]["n"], world.values(first)[-1]["n"]) == (4, 0)


COPY = "INSERT INTO dst SELECT id FROM src"
WINDOW = """INSERT INTO dst SELECT CAST(COUNT(*) AS INT) FROM
  TABLE(TUMBLE(TABLE src, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end"""


@pytest.mark.parametrize(
    ("time", "insert", "wanted"),
    [
        nightly("", COPY, [0, 1, 2, 3, 4, 5, 7, 8]),
        nightly(", ts AS TO_TIMESTAMP_LTZ(id, 0), WATERMARK FOR ts AS ts", COPY, [0, 1, 2, 3, 4, 5]),
        (", ts AS TO_TIMESTAMP_LTZ(id, 0), WATERMARK FOR ts AS ts", WINDOW, [6]),
    ],
)
def test_a_bounded_run_goes_on_after_a_partition_has_come(
    world: World, time: str, insert: str, wanted: list[int]
) -> None:
    """With a watermark it ends where the first run would have, else at the end as it is now.

    The stop may cut a batch off, which at-least-once writes again.
    """
    source, target = world.new_topic("src"), world.new_topic("dst")
    columns = f"id INT{time}"
    once = {"sink_delivery__guarantee": "exactly-once", "sink_transactional__id__prefix": target}
    script = "SET 'execution.runtime-mode' = 'streaming';"
    script += world.table("src", columns, source, format="json", **EARLIEST, scan_bounded_mode="latest-offset")
    script += world.table("dst", "id INT", target, format="json", **once) + insert
    world.send(source, *({"id": i} for i in range(6)))
    job = world.start(script, max_offsets_per_trigger=1)
    while not job.progress:
        assert not job.await_termination(0.05)
    job.stop()
    assert job.status == "stopped"
    world.widen(source, 2)
    world.send(source, {"id": 7}, partition=1)
    world.send(source, {"id": 8})
    assert world.start(script).await_termination(SECONDS)
    assert sorted(v["id"] for v in world.values(target)) == wanted


WINDOWS = WINDOW.replace("COUNT(*)", "SUM(id)")


@pytest.mark.parametrize(("insert", "wanted"), [nightly(COPY, [1, 2, 3, 4, 11, 12, 31]), (WINDOWS, [1, 4, 5, 11, 12])])
def test_a_source_is_created_again_with_fewer_partitions(world: World, insert: str, wanted: list[int]) -> None:
    source, target = world.new_topic("src", partitions=2), world.new_topic("dst")
    columns = "id INT, ts AS TO_TIMESTAMP_LTZ(id * 5, 0), WATERMARK FOR ts AS ts"
    script = world.table("src", columns, source, format="json", **EARLIEST)
    script += world.table("dst", "id INT", target, format="json") + insert
    for partition in (0, 1):
        world.send(source, *({"id": i} for i in ((1, 3), (2, 4))[partition]), partition=partition)
    world.read_all(script)
    world.create_again(source, 1)
    world.send(source, {"id": 11}, {"id": 12}, {"id": 31})
    with pytest.raises(FlinkDdlError, match=f"FD865.*'{source}'.*--from-first-offset {source}"):
        world.start(script)
    job = world.start(script, from_first=(source,))
    try:
        assert job.await_input(SECONDS)
        end = time.monotonic() + 20  # windows are written by the batch after
        while len(world.values(target)) < len(wanted) and time.monotonic() < end:
            job.await_termination(0.2)
    finally:
        job.stop()
    assert sorted(v["id"] for v in world.values(target)) == wanted


# ---- topics that are written -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", [nightly("at-least-once"), "exactly-once"])
def test_a_topic_that_is_written_is_created_again_while_the_job_runs(world: World, guarantee: str) -> None:
    source, target = world.new_topic("src"), world.new_topic("dst", partitions=2)
    once = {"sink_delivery__guarantee": guarantee, "sink_transactional__id__prefix": target}
    script = world.table("src", "id INT", source, format="json", **EARLIEST)
    script += (
        world.table("dst", "id INT", target, format="json", **once, **ALERT) + "INSERT INTO dst SELECT id FROM src"
    )
    gone = f"FD891: the topic '{target}', which '.*dst' writes, was deleted and created again"
    world.send(source, *({"id": i} for i in range(10)))
    job = world.start(script)
    try:
        assert job.await_input(SECONDS)
        world.create_again(target, 1)
        world.send(source, *({"id": i} for i in range(10, 20)))
        with pytest.raises(FlinkDdlError, match=gone):
            job.await_termination(30)
    finally:
        job.stop()
    with pytest.raises(FlinkDdlError, match=f"{gone}.*--from-first-offset {target}"):
        world.start(script)
    before = sorted(v["id"] for v in world.values(target))
    world.send(source, *({"id": i} for i in range(20, 30)))
    # another producer, as a new process has: Spark's lives on in this one, and may wait for a partition that is gone
    script = script.replace("'properties.metadata.max.age.ms' = '1000'", "'properties.metadata.max.age.ms' = '1001'")
    world.read_all(script, from_first=(target,))
    assert "it is written on, what was in the one before is not in it" in world.told[-1]
    after = sorted(v["id"] for v in world.values(target))
    assert after[-10:] == list(range(20, 30))
    if guarantee == "exactly-once":
        assert after == list(range(after[0], 30))
        assert after[: len(before)] == before
    world.read_all(script, fresh=True)
    assert {v["id"] for v in world.values(target)} == set(range(30))


def test_a_batch_that_is_not_interrupted_does_not_hold_the_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer that aborts a transaction waits a minute for its topic; here it is the one who takes the rows."""
    source, target, begun = world.new_topic("src"), world.new_topic("dst"), threading.Event()
    script = world.table("src", "id INT", source, format="json", **EARLIEST)
    script += world.table("dst", "id INT", target, format="json", **ALERT)
    script += "BEGIN STATEMENT SET; INSERT INTO dst SELECT id FROM src; INSERT INTO shown SELECT id FROM src; END"

    def wait(_: Rows) -> None:
        begun.set()
        time.sleep(40)

    world.send(source, {"id": 1})
    monkeypatch.setitem(DRIVER_SINKS, "flinkddl.print", wait)
    job = world.start("CREATE TABLE shown (id INT) WITH ('connector' = 'print');" + script)
    try:
        assert begun.wait(20)
        world.create_again(target, 1)
        with pytest.raises(FlinkDdlError, match=f"FD891: the topic '{target}', which '.*dst' writes, was deleted and"):
            job.await_termination(20)
    finally:
        job.stop()


def test_a_topic_that_is_written_is_gone_or_another_one_at_the_start(world: World) -> None:
    source, target = world.new_topic("src"), f"{world.new_topic('dst')}-made-by-the-job"
    upsert = {"connector": "upsert-kafka", "key_format": "json", "value_format": "json"}
    script = world.table("src", "k STRING", source, format="json", **EARLIEST)
    script += world.table("dst", "k STRING PRIMARY KEY NOT ENFORCED, n BIGINT", target, **upsert)
    script += "INSERT INTO dst SELECT k, COUNT(*) FROM src GROUP BY k"
    world.send(source, {"k": "a"}, {"k": "b"}, {"k": "a"})
    world.read_all(script)
    world.admin.delete_topic(target)
    with pytest.raises(FlinkDdlError, match=f"FD891: the topic '{target}', which '.*dst' writes, was deleted:"):
        world.start(script)
    world.create_again(target, 3)
    with pytest.raises(
        FlinkDdlError, match=f"FD891: the topic '{target}', which '.*dst' writes, was deleted and creat"
    ):
        world.start(script)
    world.send(source, {"k": "b"})
    world.read_all(script, from_first=(target,))
    assert world.values(target) == [{"k": "b", "n": 2}]
    world.send(source, {"k": "a"})
    world.read_all(script)
    assert sorted(v["n"] for v in world.values(target)) == [2, 3]
