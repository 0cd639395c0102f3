"""Jobs over Spark Connect, against a server that has a class path of its own and none of our jars.

Run by test_connect.py in a process of its own: PySpark takes either kind of session in a process, never both.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.session import connect
from flinkddl.runtime.session.connect import close_session
from flinkddl.runtime.session.java_jars import ship_java
from flinkddl.runtime.session.sessions import job_session
from flinkddl.spark.java_functions import java_call
from tests.support.java_udf import aggregate, java_spec, needs_javac, udf_jar
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.job.reporting.progress import Progress
    from flinkddl.runtime.job.writers import Rows

pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
pytestmark = pytest.mark.kafka

ORDERS = [{"id": 1, "shop": "a", "price": "1.50"}, {"id": 2, "shop": "b", "price": "2.00"}]
ORDERS += [{"id": 3, "shop": "a", "price": "0.25"}]


@pytest.fixture(scope="module")
def remote(connect_address: str) -> Iterator[Any]:
    """Connect as a user does."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(connect_address).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def catalog(remote: Any, broker: Broker, new_topic: Callable[..., str]) -> Iterator[Catalog]:
    """Tables over topics of their own; ``orders`` holds ORDERS."""
    orders, totals = new_topic("orders"), new_topic("totals")
    send(broker.bootstrap, orders, ORDERS)
    kafka = f"'properties.bootstrap.servers' = '{broker.bootstrap}'"
    own = Catalog(remote)
    own.execute(f"""
        CREATE TABLE orders (id INT, shop STRING, price DECIMAL(6, 2)) WITH ('connector' = 'kafka', 'format' = 'json',
          'topic' = '{orders}', 'scan.startup.mode' = 'earliest-offset', {kafka});
        CREATE TABLE totals (shop STRING, n BIGINT, price DECIMAL(10, 2), PRIMARY KEY (shop) NOT ENFORCED) WITH (
          'connector' = 'upsert-kafka', 'topic' = '{totals}', 'key.format' = 'json', 'value.format' = 'json', {kafka});
        CREATE TABLE numbers (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3',
          'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '3')""")
    yield own
    own.stop()


def topic(catalog: Catalog, table: str) -> str:
    found = catalog.state.find((table,))
    assert found is not None
    return str(found.options["topic"].value)


def test_a_bounded_query_is_collected(catalog: Catalog) -> None:
    assert sorted(catalog.execute("SELECT id, id * 2 AS twice FROM numbers").collect()) == [(1, 2), (2, 4), (3, 6)]


def test_jars_of_a_connector_come_along(catalog: Catalog) -> None:
    catalog.execute("""CREATE TABLE people (id INT, name STRING) WITH ('connector' = 'faker', 'number-of-rows' = '5',
        'fields.id.expression' = '7', 'fields.name.expression' = '#{Name.firstName}')""")
    rows = catalog.execute("SELECT id, name FROM people").collect()
    assert len(rows) == 5
    assert all(id == 7 and name for id, name in rows)


def test_leader_epochs_come_with_the_headers(catalog: Catalog) -> None:
    catalog.execute("""CREATE TABLE told (epoch INT METADATA FROM 'leader-epoch' VIRTUAL,
        headers MAP<STRING, BYTES> METADATA VIRTUAL) WITH ('scan.bounded.mode' = 'latest-offset') LIKE orders""")
    assert sorted(catalog.execute("SELECT id, epoch, headers FROM told").collect()) == [(n, 0, {}) for n in (1, 2, 3)]


def test_changes_of_a_streaming_query_reach_this_process(catalog: Catalog, broker: Broker) -> None:
    seen: list[str] = []

    def take(rows: Rows) -> None:
        seen.extend(rows.lines())

    job = catalog.execute("SELECT shop, COUNT(*) AS n, SUM(price) AS price FROM orders GROUP BY shop").changes(take)
    assert job.await_input(120)
    send(broker.bootstrap, topic(catalog, "orders"), [{"id": 4, "shop": "b", "price": 1}])
    assert job.await_input(120)
    assert job.lag == {topic(catalog, "orders"): 0}
    job.stop()
    assert sorted(seen[:2]) == ["+I[a, 2, 1.75]", "+I[b, 1, 2.00]"]
    assert seen[2:] == ["-U[b, 1, 2.00]", "+U[b, 2, 3.00]"]


@pytest.mark.parametrize("count", ["COUNT(*)", "COUNT(DISTINCT id)"])  # state as aggregates, and by key
def test_an_insert_writes_to_kafka_and_goes_on_from_its_checkpoint(
    catalog: Catalog, broker: Broker, tmp_path: Path, count: str
) -> None:
    catalog.execute(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    for more, shops in ((None, {"a": 2, "b": 1}), ({"id": 5, "shop": "b", "price": 1}, {"b": 2})):
        if more:
            send(broker.bootstrap, topic(catalog, "orders"), [more])
        before = len(committed(broker.bootstrap, topic(catalog, "totals")))
        seen: list[Progress] = []
        text = f"INSERT INTO totals SELECT shop, {count}, SUM(price) FROM orders GROUP BY shop"
        job = catalog.execute_all(text, run={"on_progress": seen.append})[-1].job
        assert job is not None
        assert job.await_input(120)
        job.stop()
        assert sum(p.upserts for p in seen) == len(shops)
        assert not any(p.keyed for p in seen)  # Spark Connect does not bring the operators' own figures
        assert job.status == "stopped"
        written = committed(broker.bootstrap, topic(catalog, "totals"))[before:]
        values = [json.loads(r.value) for r in written]
        assert {v["shop"]: v["n"] for v in values} == shops


def test_a_record_that_cannot_be_read_is_named(catalog: Catalog, broker: Broker) -> None:
    send(broker.bootstrap, topic(catalog, "orders"), [{"id": "x", "shop": "b", "price": 1}])
    job = catalog.execute("INSERT INTO totals SELECT shop, COUNT(*), SUM(price) FROM orders GROUP BY shop").job
    assert job is not None
    with pytest.raises(FlinkDdlError) as failed:
        job.await_termination(120)
    message = str(failed.value)
    assert (
        f"value of table 'orders', topic '{topic(catalog, 'orders')}', partition 0, offset 3: column 'id': " in message
    )
    assert "org.apache" not in message


def test_a_checkpoint_of_the_server_knows_its_plan_and_its_run(
    catalog: Catalog, broker: Broker, viewfs: str, tmp_path: Path
) -> None:
    count = "INSERT INTO totals SELECT shop, COUNT(*), SUM(price) FROM orders WHERE id > {} GROUP BY shop"
    for folder in (viewfs, f"{tmp_path}/new"):
        catalog.execute(f"SET 'execution.checkpointing.dir' = '{folder}'")
        job = catalog.execute(count.format(0)).job
        assert job is not None
        with pytest.raises(FlinkDdlError, match=r"FD823: the checkpoint '.*' is held by a job of this process"):
            catalog.execute(count.format(0))
        assert job.await_input(120)
        job.stop()
        with pytest.raises(FlinkDdlError, match=r"FD820.*operator 'Aggregate' was .*SUM\(price\)"):
            catalog.execute(count.replace("SUM", "MAX").format(0))
        with pytest.raises(FlinkDdlError, match=r"FD825: job 'daily' would start anew"):
            catalog.execute_all(f"SET 'pipeline.name' = 'daily'; {count.format(0)}")
        catalog.execute("RESET 'pipeline.name'")
    assert len(committed(broker.bootstrap, topic(catalog, "totals"))) == 4


def test_windows_are_closed_at_the_end(catalog: Catalog, broker: Broker, viewfs: str) -> None:
    catalog.execute_all(f"""SET 'execution.checkpointing.dir' = '{viewfs}';
        SET 'execution.runtime-mode' = 'streaming';
        CREATE TABLE timed (ts AS TO_TIMESTAMP_LTZ(id, 0), WATERMARK FOR ts AS ts) WITH (
          'scan.bounded.mode' = 'latest-offset') LIKE orders;
        CREATE TABLE counts (n BIGINT) WITH ('connector' = 'kafka', 'format' = 'json',
          'topic' = '{topic(catalog, "totals")}', 'properties.bootstrap.servers' = '{broker.bootstrap}')""")
    job = catalog.execute("""INSERT INTO counts SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(ts),
        INTERVAL '2' SECOND)) GROUP BY window_start, window_end""").job
    assert job is not None
    assert job.await_termination(120)
    written = [json.loads(r.value)["n"] for r in committed(broker.bootstrap, topic(catalog, "totals"))]
    assert sorted(written) == [1, 2]


def test_no_session_is_left_open(remote: Any) -> None:
    assert not list(connect._open)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_sink_that_writes_from_python_is_refused(catalog: Catalog, mode: str, tmp_path: Path) -> None:
    with pytest.raises(FlinkDdlError) as failed:
        catalog.execute(f"""SET 'execution.runtime-mode' = '{mode}';
            SET 'execution.checkpointing.dir' = '{tmp_path}/state';
            CREATE TABLE r (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'redis', 'host' = 'h');
            INSERT INTO r SELECT id FROM numbers""").await_termination(120)
    assert failed.value.diagnostics[0].code == "FD246"


@needs_javac
def test_java_functions_and_their_jars_go_to_the_server(remote: Any) -> None:
    """Each session has its own: where the server plans, in its tasks, and where it computes constants."""
    count = java_spec("Scalars$CountChar", ["STRING", "STRING"], "BIGINT NOT NULL")
    total = aggregate(
        "Total", ["DECIMAL(10, 2)"], "ROW<`total` DECIMAL(20, 2), `n` BIGINT>", "org.apache.flink.types.Row"
    )
    for _ in range(2):
        session = job_session(remote, {})
        ship_java(session, [str(udf_jar())])
        words = session.createDataFrame([("banana", "a"), (None, "a")], "s STRING, c STRING").repartition(2)
        counted, constant = java_call(count, ["s", "c"]), java_call(count, ["'papa'", "'p'"])
        assert sorted(r.n for r in words.selectExpr(f"{counted} AS n").collect()) == [0, 3]
        assert session.range(1).selectExpr(f"{constant} AS n").first().n == 2
        call = java_call(total, ["CAST(id AS DECIMAL(10, 2))"])
        assert session.range(4).selectExpr(f"{call} AS r").first().r == (Decimal("6.00"), 4)
        close_session(session)
