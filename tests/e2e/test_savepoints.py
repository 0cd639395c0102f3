"""Savepoints of real jobs over Kafka: gone on from at another path, recounted."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.savepoints import folder_of
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.results import Job
    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
COUNT = "INSERT INTO totals SELECT shop, COUNT(*) AS n FROM orders GROUP BY shop"
COPY = "INSERT INTO copies SELECT id, shop FROM orders UNION ALL SELECT * FROM (VALUES (100, 'v')) AS v (id, shop)"


class Stage:
    """Topics of their own, and sessions over them."""

    def __init__(self, spark: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> None:
        self.spark, self.servers = spark, broker.bootstrap
        self.orders, self.totals, self.copies = new_topic("orders"), new_topic("totals"), new_topic("copies")
        self.notices: list[str] = []

    def script(self, sql: str, checkpoint: Path, **settings: object) -> str:
        kafka = f"'format' = 'json', 'properties.bootstrap.servers' = '{self.servers}'"
        upsert = kafka.replace("'format'", "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format'")
        lines = {"execution.checkpointing.dir": checkpoint} | {k.replace("_", "."): v for k, v in settings.items()}
        return (
            "\n".join(f"SET '{k}' = '{v}';" for k, v in lines.items())
            + f"""
            CREATE TABLE orders (id INT, shop STRING) WITH ('connector' = 'kafka', {kafka}, 'topic' = '{self.orders}',
              'scan.startup.mode' = 'earliest-offset');
            CREATE TABLE totals (shop STRING, n BIGINT, PRIMARY KEY (shop) NOT ENFORCED) WITH (
              {upsert}, 'topic' = '{self.totals}');
            CREATE TABLE copies (id INT, shop STRING) WITH ('connector' = 'kafka', {kafka}, 'topic' = '{self.copies}',
              'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{self.copies}');
            {sql};"""
        )

    def start(self, sql: str, checkpoint: Path, **settings: object) -> tuple[Catalog, Job]:
        catalog = Catalog(self.spark, views=False)
        text = self.script(sql, checkpoint, **settings)
        job = catalog.execute_all(text, run={"notice": self.notices.append})[-1].job
        assert job is not None
        return catalog, job

    def send(self, *ids: int) -> None:
        send(self.servers, self.orders, [{"id": n, "shop": "ab"[n % 2]} for n in ids])

    def read(self, topic: str) -> list[Any]:
        return [json.loads(r.value) for r in committed(self.servers, topic)]

    def copied(self) -> list[int]:
        return sorted(row["id"] for row in self.read(self.copies))


@pytest.fixture
def stage(spark: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> Stage:
    return Stage(spark, broker, new_topic)


def test_gone_on_from_elsewhere(stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stage.send(0, 1, 2)
    catalog, job = stage.start(COUNT, tmp_path / "cp")
    assert job.await_input(90)
    with pytest.raises(FlinkDdlError, match="FD859"):
        catalog.execute("STOP JOB '1' WITH SAVEPOINT WITH DRAIN")
    catalog.execute(f"SET 'state.savepoints.dir' = '{tmp_path / 'sp'}'")
    ((path,),) = catalog.execute("STOP JOB '1' WITH SAVEPOINT").rows
    moved = Path(path).rename(tmp_path / "moved")  # as to another machine
    (tmp_path / "cp").rename(tmp_path / "gone")
    stage.send(3, 4)

    other = COUNT.replace("COUNT(*)", "SUM(id)")
    with pytest.raises(FlinkDdlError, match=r"FD858.*belongs to another plan: operator 'Aggregate'"):
        stage.start(other, tmp_path / "new", execution_savepoint_path=moved)
    recovery = {"execution_savepoint_path": moved}
    for expected in ({"a": 3, "b": 2}, {"a": 3, "b": 3}):  # the second time it goes on from its own checkpoint
        _, job = stage.start(COUNT, tmp_path / "new", **recovery)
        assert job.await_input(90)
        job.stop()
        assert {row["shop"]: row["n"] for row in stage.read(stage.totals)} == expected
        stage.send(5)
    assert len(stage.read(stage.totals)) == 2 + 2 + 1  # what changed, and nothing again
    assert sum("goes on from its checkpoint" in text for text in stage.notices) == 1

    (tmp_path / "job.sql").write_text(stage.script(COUNT, tmp_path / "new"))
    (tmp_path / "other.sql").write_text(stage.script(other, tmp_path / "new"))
    assert main(["savepoint", "describe", str(moved), "--script", str(tmp_path / "job.sql")]) == 0
    told = capsys.readouterr().out
    for part in (
        f'read to {{"{stage.orders}": {{"0": 3}}}}',
        "state 0 ",
        "Aggregate:",
        "resumes from it",
        "all as",
    ):
        assert part in told, told
    assert main(["savepoint", "describe", str(moved), "--script", str(tmp_path / "other.sql")]) == 3
    assert "does not resume from it: operator 'Aggregate'" in capsys.readouterr().out
    assert main(["savepoint", "restore", str(moved), "--checkpoint", str(tmp_path / "new")]) == 3
    assert "FD858" in capsys.readouterr().err


def test_exactly_once_from_a_savepoint_of_a_running_job(stage: Stage, tmp_path: Path) -> None:
    """The job goes on after its savepoint: what a second one writes from there is whole, and once."""
    stage.send(0, 1, 2)
    _, job = stage.start(COPY, tmp_path / "cp")
    assert job.await_input(90)
    path = job.savepoint(str(tmp_path / "sp"))
    for n in range(3, 7):
        stage.send(n)
        assert job.await_input(90)
    job.stop()
    assert stage.copied() == [*range(7), 100]
    stage.send(7)
    assert main(["savepoint", "restore", path, "--checkpoint", str(tmp_path / "new")]) == 0
    assert (folder_of(tmp_path / "new", job.name) / "flinkddl-restored.json").exists()
    _, job = stage.start(COPY, tmp_path / "new")
    assert job.await_input(90)
    job.stop()
    assert stage.copied() == sorted([*range(8), 100, 3, 4, 5, 6])  # neither lost nor the rows of VALUES again
    _, job = stage.start(COPY, tmp_path / "new")
    assert job.await_input(90)
    job.stop()
    assert len(stage.copied()) == 13


def test_stopped_under_load_again_and_again(stage: Stage, tmp_path: Path) -> None:
    """Whatever the running batch was doing, each run goes on where the one before has ended: exactly once."""
    writer = threading.Thread(target=lambda: [stage.send(*range(n, n + 10)) for n in range(0, 1000, 10)])
    writer.start()
    recovery: dict[str, str] = {}
    for turn in range(3):
        _, job = stage.start("INSERT INTO copies SELECT id, shop FROM orders", tmp_path / f"cp{turn}", **recovery)
        while not job.progress:
            assert not job.await_termination(0.05)
        time.sleep(0.5 + turn / 7)
        job.stop(whole=True)
        recovery = {"execution_savepoint_path": job.savepoint(str(tmp_path / "sp"))}
    writer.join()
    _, job = stage.start("INSERT INTO copies SELECT id, shop FROM orders", tmp_path / "last", **recovery)
    assert job.await_input(90)
    job.stop()
    assert stage.copied() == list(range(1000))
