"""Checkpoints that Python cannot open, that two runs want, and that lie under another name: real jobs over Kafka."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.support.nightly import each, nightly
from tests.support.spark import VIEWFS, viewfs_folder
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.results import Job
    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
ORDERS = [{"id": n, "shop": shop, "s": n} for n, shop in enumerate("abcab")]
COUNT = "INSERT INTO totals SELECT shop, COUNT(*) AS n FROM orders WHERE id >= 0 GROUP BY shop"
OWN_NAME = "insert-into_default_catalog.default_database.totals"
WINDOWS = """SET 'execution.runtime-mode' = 'streaming'; INSERT INTO counts SELECT window_start, COUNT(*)
  FROM TABLE(TUMBLE(TABLE bounded, DESCRIPTOR(ts), INTERVAL '2' SECOND)) GROUP BY window_start, window_end"""


class Stage:
    """Topics of their own, and jobs over them."""

    def __init__(self, spark: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> None:
        self.spark, self.servers = spark, broker.bootstrap
        self.orders, self.totals, self.counts = new_topic("orders"), new_topic("totals"), new_topic("counts")
        self.notices: list[str] = []
        self.send(*ORDERS)

    def send(self, *rows: dict[str, Any]) -> None:
        send(self.servers, self.orders, list(rows))

    def start(self, sql: str, checkpoint: str, **run: Any) -> Job:
        kafka = f"'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = '{self.servers}'"
        orders = f"{kafka}, 'topic' = '{self.orders}', 'scan.startup.mode' = 'earliest-offset'"
        upsert = kafka.replace("'kafka', 'format'", "'upsert-kafka', 'key.format' = 'json', 'value.format'")
        text = f"""SET 'execution.checkpointing.dir' = '{checkpoint}';
            CREATE TABLE orders (id INT, shop STRING) WITH ({orders});
            CREATE TABLE bounded (s INT, ts AS TO_TIMESTAMP_LTZ(s, 0), WATERMARK FOR ts AS ts)
              WITH ({orders}, 'scan.bounded.mode' = 'latest-offset');
            CREATE TABLE counts (t TIMESTAMP_LTZ(3), n BIGINT) WITH ({kafka}, 'topic' = '{self.counts}');
            CREATE TABLE totals (shop STRING, n BIGINT, PRIMARY KEY (shop) NOT ENFORCED) WITH (
              {upsert}, 'topic' = '{self.totals}');
            CREATE TABLE sums WITH ({upsert}, 'topic' = '{self.totals}') LIKE totals (EXCLUDING OPTIONS);
            {sql}"""
        job = Catalog(self.spark, views=False).execute_all(text, run={"notice": self.notices.append, **run})[-1].job
        assert job is not None
        return job

    def run(self, sql: str, checkpoint: str, **run: Any) -> None:
        job = self.start(sql, checkpoint, **run)
        assert job.await_input(90)
        job.stop()

    def table(self) -> dict[str, int]:
        values = (json.loads(r.value) for r in committed(self.servers, self.totals))
        return {v["shop"]: v["n"] for v in values}

    def written(self) -> int:
        return len(committed(self.servers, self.totals))


@pytest.fixture
def stage(spark: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> Stage:
    return Stage(spark, broker, new_topic)


CHANGED = {
    "COUNT": (COUNT.replace("COUNT(*)", "SUM(id)"), r"operator 'Aggregate' was 'by=\[shop\], COUNT"),
    "GROUP BY": (COUNT.replace("shop, COUNT", "UPPER(shop), COUNT").replace("BY shop", "BY UPPER(shop)"), "operator '"),
}


@pytest.mark.parametrize("change", each(2, [*CHANGED]))
def test_another_file_system_knows_the_plan(stage: Stage, viewfs: str, change: str) -> None:
    knows_the_plan(stage, viewfs, change)
    (folder,) = (viewfs_folder() / viewfs.rpartition("/")[2]).iterdir()
    assert sorted(p.name.partition(".old-")[0] for p in folder.iterdir()) == [folder.name, folder.name]


def knows_the_plan(stage: Stage, checkpoint: str, change: str) -> None:
    """A changed query is refused, the old one goes on from its state, and --fresh begins anew."""
    changed, operator = CHANGED[change]
    stage.run(COUNT, checkpoint)
    stage.send({"id": 5, "shop": "c"}, {"id": 6, "shop": "d"})
    with pytest.raises(FlinkDdlError, match=rf"FD820: the checkpoint '{checkpoint}/insert-into_.*{operator}"):
        stage.start(changed, checkpoint).stop()
    stage.run(COUNT, checkpoint)
    assert stage.table() == {"a": 2, "b": 2, "c": 2, "d": 1}
    assert stage.written() == 5  # the second run wrote what changed, and nothing again
    stage.run(changed, checkpoint, fresh=True)


def test_windows_are_closed_at_the_end_through_another_file_system(stage: Stage, viewfs: str) -> None:
    assert stage.start(WINDOWS, viewfs).await_termination(90)
    found = sorted(json.loads(r.value)["n"] for r in committed(stage.servers, stage.counts))
    assert found == [1, 2, 2]
    with pytest.raises(FlinkDdlError, match=r"FD821"):
        stage.start(WINDOWS, viewfs)


def test_a_bounded_run_that_goes_on_ends_where_the_first_would_have(stage: Stage, viewfs: str) -> None:
    slowly = {"max_offsets_per_trigger": 1}
    job = stage.start(WINDOWS, viewfs, **slowly)
    while not job.progress:
        assert not job.await_termination(0.05)
    job.stop()
    assert job.status == "stopped"
    stage.send({"s": 3}, {"s": 60})  # behind the stop
    assert stage.start(WINDOWS, viewfs, **slowly).await_termination(90)
    assert sorted(json.loads(r.value)["n"] for r in committed(stage.servers, stage.counts)) == [1, 2, 2]


def test_what_spark_cannot_open_starts_no_job(stage: Stage) -> None:
    with pytest.raises(FlinkDdlError, match=r"FD822: the checkpoint at 's3a://.*S3AFileSystem not found"):
        stage.start(COUNT, "s3a://bucket/state")
    with pytest.raises(FlinkDdlError, match=r"FD822.*File/Directory does not exist: /elsewhere"):
        stage.start(COUNT, VIEWFS.replace("/state", "/elsewhere"))


@pytest.mark.parametrize("where", ["here", "viewfs"])
def test_a_second_run_is_refused_and_the_first_goes_on(stage: Stage, where: str, viewfs: str, tmp_path: Path) -> None:
    checkpoint = viewfs if where == "viewfs" else str(tmp_path)
    first = stage.start(COUNT, checkpoint)
    with pytest.raises(FlinkDdlError, match=r"FD823: the checkpoint '.*' is held by a job of this process"):
        stage.start(COUNT, checkpoint).stop()
    with pytest.raises(FlinkDdlError, match=r"FD823"):
        stage.start(COUNT, checkpoint, fresh=True).stop()
    stage.send({"id": 5, "shop": "d"})
    assert first.await_input(90)
    first.stop()
    assert stage.table() == {"a": 2, "b": 2, "c": 1, "d": 1}
    stage.run(COUNT, checkpoint)
    assert stage.written() == 4


@pytest.mark.parametrize(
    ("again", "advice"),
    [
        (COUNT.replace("totals", "sums"), f"--continue-job {OWN_NAME}"),
        (f"SET 'pipeline.name' = 'daily'; {COUNT}", "SET 'pipeline.name' = 'insert-into_default_catalog.default_datab"),
        (
            f"EXECUTE STATEMENT SET BEGIN {COUNT}; INSERT INTO sums SELECT shop, id FROM orders; END",
            f"--continue-job {OWN_NAME}",
        ),
    ],
    ids=["the sink is renamed", "pipeline.name", "a statement set"],
)
def test_a_job_under_another_name_does_not_begin_anew_in_silence(
    stage: Stage, again: str, advice: str, viewfs: str
) -> None:
    stage.run(COUNT, viewfs)
    with pytest.raises(
        FlinkDdlError, match=r"FD825: job '.*' would start anew, beside the state of job '.*totals'"
    ) as no:
        stage.start(again, viewfs).stop()
    assert advice in str(no.value)
    assert stage.written() == 3
    stage.run(again, viewfs, fresh=True)
    assert stage.written() > 3


@pytest.mark.parametrize("where", [nightly("here"), "viewfs"])
def test_a_job_goes_on_under_another_name(stage: Stage, where: str, viewfs: str, tmp_path: Path) -> None:
    """Its state, its positions and what it has read of VALUES, whose files are known by their paths."""
    checkpoint = viewfs if where == "viewfs" else str(tmp_path)
    listed = "(SELECT shop FROM orders UNION ALL SELECT * FROM (VALUES ('a'), ('z')) AS v(shop))"
    count = f"INSERT INTO totals SELECT shop, COUNT(*) AS n FROM {listed} GROUP BY shop"
    daily = f"SET 'pipeline.name' = 'daily'; {count}"
    stage.run(count, checkpoint)
    assert stage.table() == {"a": 3, "b": 2, "c": 1, "z": 1}
    first = stage.start(count, checkpoint)
    with pytest.raises(FlinkDdlError, match=r"FD823: the checkpoint '.*totals' is held by"):
        stage.start(daily, checkpoint, continue_job=OWN_NAME)
    assert first.await_input(90)
    first.stop()
    stage.send({"id": 5, "shop": "d"}, {"id": 6, "shop": "a"})
    stage.run(daily, checkpoint, continue_job=(OWN_NAME,))
    assert stage.table() == {"a": 4, "b": 2, "c": 1, "z": 1, "d": 1}
    assert stage.written() == 6
    (said,) = [line for line in stage.notices if "goes on" in line]
    assert "kept: totals (Aggregate(by=[shop], COUNT(*))" in said
    assert said.endswith(f"(was job {OWN_NAME})")
    with pytest.raises(FlinkDdlError, match=r"FD825: job '.*totals' would start anew, beside the state of job 'daily'"):
        stage.start(count, checkpoint)
    stage.send({"id": 7, "shop": "z"})
    stage.run(daily, checkpoint, continue_job=(OWN_NAME,))  # as a supervisor does, which knows one command
    assert stage.table() == {"a": 4, "b": 2, "c": 1, "z": 2, "d": 1}
    assert stage.written() == 7


def test_exactly_once_goes_on_under_another_name_by_the_ids_that_it_had(stage: Stage, tmp_path: Path) -> None:
    """A batch that Kafka has and the checkpoint does not know to be whole is not written again."""
    kafka = f"'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = '{stage.servers}'"
    once = f"{kafka}, 'topic' = '{stage.counts}', 'sink.delivery-guarantee' = 'exactly-once'"
    copy = (
        "SET 'pipeline.name' = '{}'; CREATE TABLE copies (id INT) WITH ({}); INSERT INTO copies SELECT id FROM orders"
    )
    stage.run(copy.format("shop", once), str(tmp_path))
    commits = tmp_path.glob("shop/shop/*/commits/*")
    last = max((p for p in commits if p.name.isdigit()), key=lambda p: int(p.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    with pytest.raises(FlinkDdlError, match="FD820") as refused:
        stage.start(copy.format("store", once), str(tmp_path), continue_job="shop")
    assert f"'sink.transactional-id-prefix' = 'shop-{stage.counts}'" in str(refused.value)
    stage.send({"id": 5, "shop": "d"})
    once += f", 'sink.transactional-id-prefix' = 'shop-{stage.counts}'"
    stage.run(copy.format("store", once), str(tmp_path), continue_job="shop")
    assert sorted(json.loads(r.value)["id"] for r in committed(stage.servers, stage.counts)) == [0, 1, 2, 3, 4, 5]


def test_two_inserts_of_one_script_are_no_copies_of_each_other(stage: Stage, tmp_path: Path) -> None:
    both = f"SET 'table.dml-sync' = 'true'; SET 'execution.runtime-mode' = 'streaming'; {COUNT}; "
    both = both.replace("FROM orders", "FROM orders /*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */")
    stage.start(both + both.rpartition("; INSERT")[2].join(("INSERT", "")).replace("totals", "sums"), str(tmp_path))
    assert stage.written() == 6
