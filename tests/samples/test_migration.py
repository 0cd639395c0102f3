"""The migration kit against a real broker: ``verify`` compares, ``handover`` starts where a group stands."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.job.topics.handover import From, take_over
from flinkddl.runtime.storage.checkpoint import open_checkpoint
from flinkddl.script.compile import Start, compile_script
from tests.runtime.jobs import produce

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka
Topics = "Callable[..., str]"


def keyed(servers: str, topic: str, *rows: tuple[int, str | None]) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers)
    for key, value in rows:
        producer.send(topic, key=b'{"id":%d}' % key, value=None if value is None else value.encode())
    producer.flush()
    producer.close()


def verify(broker: Broker, *args: str) -> int:
    return main(["verify", *args, "--bootstrap", broker.bootstrap])


def test_verify_compares_what_is_left_of_each_key(
    broker: Broker, new_topic: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = new_topic("a", 2), new_topic("b", 1)
    keyed(broker.bootstrap, a, (1, '{"id":1,"n":1}'), (1, '{"id":1,"n":2}'), (2, '{"id":2,"n":5}'), (2, None))
    keyed(broker.bootstrap, b, (1, '{ "n": 2.0, "id": 1 }'))
    assert verify(broker, a, b) == 0
    assert f"{a}: 4 records, 1 key, 1 tombstone" in capsys.readouterr().out
    keyed(broker.bootstrap, b, (3, '{"id":3,"n":1}'))
    assert verify(broker, a, b) == 1
    printed = capsys.readouterr().out
    assert f"1 difference: 0 only in {a}, 1 only in {b}, 0 differ" in printed
    assert f'  {{"id":3}}\n    {a}: not there\n    {b}: {{"id":3,"n":1}}' in printed


def test_verify_waits_for_the_slower_engine(broker: Broker, new_topic: Callable[..., str]) -> None:
    a, b = new_topic("a"), new_topic("b")
    keyed(broker.bootstrap, a, (1, '{"n":1}'))
    later = threading.Timer(1.0, keyed, (broker.bootstrap, b, (1, '{"n":1}')))
    later.start()
    assert verify(broker, a, b, "--wait", "60") == 0
    later.join()


def test_verify_reads_tables_of_a_script(
    broker: Broker, new_topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = new_topic("a"), new_topic("b")
    table = (
        "CREATE TABLE {0} (id INT, n INT, at INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',"
    )
    table = table.replace("at INT", "seen INT") + (
        " 'topic' = '{1}', 'properties.bootstrap.servers' = '${{S}}', 'key.format' = 'json', 'value.format' = '{2}');\n"
    )
    script = tmp_path / "job.sql"
    script.write_text(table.format("one", a, "json") + table.format("two", b, "json"), encoding="utf-8")
    keyed(broker.bootstrap, a, (1, '{"id":1,"n":1,"seen":7}'))
    keyed(broker.bootstrap, b, (1, '{"id":1,"n":1,"seen":8}'))
    ddl = ["one", "two", "--ddl", str(script), "-D", f"S={broker.bootstrap}"]
    assert main(["verify", *ddl]) == 1
    assert main(["verify", *ddl, "--ignore", "seen"]) == 0
    assert main(["verify", "one", "three", *ddl[2:]]) == 3
    assert "'three' is no table of the script (tables: one, two)" in capsys.readouterr().err


def test_verify_says_what_is_missing(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "a", "b"]) == 2
    assert verify(broker, "no-such-topic", "none") == 3
    assert "FD812" in capsys.readouterr().err


# ---- handover ----------------------------------------------------------------------------------------------------


@pytest.fixture
def script(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> tuple[Path, str, str]:
    """A job over a topic of five numbers, its path, the source and the sink topic."""
    source, sink = new_topic("numbers"), new_topic("kept")
    produce(broker.bootstrap, source, [{"id": i} for i in range(5)])
    common = f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{broker.bootstrap}', 'format' = 'json'"
    text = (
        f"CREATE TABLE numbers (id INT) WITH ({common}, 'topic' = '{source}',"
        f" 'properties.group.id' = '{source}-group');\n"
        f"CREATE TABLE kept (id INT) WITH ({common}, 'topic' = '{sink}');\n"
        "INSERT INTO kept SELECT id FROM numbers WHERE id >= 0;\n"
    )
    path = tmp_path / "job.sql"
    path.write_text(text, encoding="utf-8")
    return path, source, sink


def start_of(path: Path) -> Start:
    compiled = compile_script(SourceText("job.sql", path.read_text(encoding="utf-8")))
    assert not compiled.has_errors, compiled.diagnostics
    return next(a for a in compiled.actions if isinstance(a, Start))


def test_handover_says_what_it_takes(
    broker: Broker, admin: KafkaAdmin, script: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, source, _ = script
    admin.commit("flink-job", {source: {0: 2}})
    assert main(["handover", str(path), "--group", "flink-job", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[1].split() == ["numbers", source, "0", "2", "5", "3", "group", "'flink-job'"]
    assert "'scan.startup.specific-offsets' = 'partition:0,offset:2'" in printed
    assert "state does not travel" not in printed


def test_handover_names_the_state_that_is_left_behind(
    admin: KafkaAdmin, script: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, source, _ = script
    admin.commit(f"{source}-group", {source: {0: 1}})
    text = path.read_text(encoding="utf-8") + "SELECT id, COUNT(*) FROM numbers GROUP BY id;\n"
    path.write_text(text, encoding="utf-8")
    assert main(["handover", str(path), "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert f"group '{source}-group'" in printed
    assert "  Aggregate: one row of totals a group" in printed


@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        (["--group", "nobody"], 3, "FD815"),
        (["--group", "nobody", "--reset", "earliest"], 0, ""),
        (["--group", "numbers=nobody", "--reset", "latest"], 0, ""),
        (["--from", "2020-01-01T00:00:00Z"], 0, ""),
        (["--from", "1577836800000"], 0, ""),
    ],
)
def test_handover_from(
    script: tuple[Path, str, str], capsys: pytest.CaptureFixture[str], where: list[str], code: int, said: str
) -> None:
    assert main(["handover", str(script[0]), *where, "--dry-run"]) == code
    assert said in capsys.readouterr().err


def test_a_wrong_time_is_wrong_usage(script: tuple[Path, str, str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["handover", str(script[0]), "--from", "yesterday"])


def test_the_job_starts_exactly_there_and_goes_on(
    spark: SparkSession, broker: Broker, admin: KafkaAdmin, script: tuple[Path, str, str], tmp_path: Path
) -> None:
    from samples.topics import read_topic

    path, source, sink = script
    admin.commit("flink-job", {source: {0: 2}})
    start, taken = take_over(start_of(path), From({"": "flink-job"}))
    assert [(t.offset, t.end, t.behind) for t in taken] == [(2, 5, 3)]
    produce(broker.bootstrap, source, [{"id": 5}])
    job = Catalog(spark).start(start, notice=lambda _: None)
    try:
        assert job.await_input(120)
    finally:
        job.stop()
    values = [r.value for r in read_topic(broker.bootstrap, sink)]
    assert values == [b'{"id":%d}' % i for i in range(2, 6)]
    assert admin.committed(f"{source}-group", [source]) == {source: {0: 6}}


def test_a_checkpoint_with_positions_is_not_overruled(
    admin: KafkaAdmin, script: tuple[Path, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, source, _ = script
    admin.commit(f"{source}-group", {source: {0: 1}})
    start = start_of(path)
    folder = Catalog().checkpoint_folder(start, str(tmp_path / "state"))
    offsets = tmp_path.joinpath(open_checkpoint(start.job, folder).location(start.job.writes[0].name), "offsets")
    offsets.mkdir(parents=True)
    (offsets / "0").touch()
    given = ["handover", str(path), "--checkpoint", str(tmp_path / "state"), "--dry-run"]
    assert main(given) == 3
    assert "FD846" in capsys.readouterr().err
    assert main([*given, "--fresh"]) == 0


def test_a_job_without_topics_has_nothing_to_take() -> None:
    compiled = compile_script(
        SourceText("job.sql", "CREATE TABLE s (a INT) WITH ('connector'='datagen'); SELECT a FROM s;")
    )
    start = next(a for a in compiled.actions if isinstance(a, Start))
    with pytest.raises(FlinkDdlError, match="FD846"):
        take_over(start, From({}))
