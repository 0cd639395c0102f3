"""redis tables on a server behind a password: hashes put, replaced and deleted, in batch and in streaming mode."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.job import tasks
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.printer import print_pyspark
from tests.support.redis_server import PASSWORD, RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """A server; each test has a database of its own."""
    with RedisServer() as running:
        yield running


def table(server: RedisServer, database: int, columns: str, password: str = PASSWORD, prefix: str = "user:") -> str:
    return f"""CREATE TABLE r ({columns}) WITH ('connector' = 'redis', 'host' = '127.0.0.1', 'port' = '{server.port}',
        'password' = '{password}', 'database' = '{database}', 'key.prefix' = '{prefix}');"""


TYPED = "id INT, part STRING, n DECIMAL(6, 2), b BOOLEAN, t TIMESTAMP(3), PRIMARY KEY (id, part) NOT ENFORCED"
VALUES = """INSERT INTO r SELECT * FROM (VALUES
    (1, 'a:b', 1.5, TRUE, TIMESTAMP '2024-03-01 10:00:00.120'),
    (2, CAST(NULL AS STRING), 2.25, CAST(NULL AS BOOLEAN), CAST(NULL AS TIMESTAMP(3)))) AS v(id, part, n, b, t)
    WHERE part IS NOT NULL;"""


@pytest.mark.spark
def test_a_hash_holds_flinks_texts_and_no_nulls(spark: SparkSession, server: RedisServer) -> None:
    script = table(server, 1, TYPED) + VALUES.replace("CAST(NULL AS STRING)", r"'c\'")
    Catalog(spark, views=False).execute(script).await_termination(120)
    first = {"id": "1", "part": "a:b", "n": "1.50", "b": "TRUE", "t": "2024-03-01 10:00:00.120"}
    assert server.hashes(1) == {
        r"user:1:a\:b": first,
        "user:2:c\\\\": {"id": "2", "part": "c\\", "n": "2.25"},
    }


@pytest.mark.spark
@pytest.mark.kafka
def test_a_stream_replaces_and_deletes_in_the_order_of_its_rows(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], server: RedisServer, tmp_path: Path
) -> None:
    from kafka import KafkaProducer

    topic = new_topic("users", partitions=2)
    with server.client(2) as client:
        client.hset("user:2", mapping={"id": "2", "name": "old", "city": "gone"})
        client.hset("user:3", mapping={"id": "3", "name": "stays"})
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for i in range(200):  # the last value of each key wins; every third one is a deletion at the end
        for key in range(1, 30):
            gone = i == 199 and key % 3 == 2
            value = None if gone else b'{"id":%d,"name":"n%d"%s}' % (key, i, b',"city":"x"' if i < 100 else b"")
            producer.send(topic, key=b'{"id":%d}' % key, value=value)
    producer.flush()
    producer.close()
    columns = "id INT, name STRING, city STRING, PRIMARY KEY (id) NOT ENFORCED"
    source = f"""CREATE TABLE u ({columns}) WITH ('connector' = 'upsert-kafka', 'topic' = '{topic}',
        'properties.bootstrap.servers' = '{broker.bootstrap}', 'key.format' = 'json', 'value.format' = 'json',
        'scan.bounded.mode' = 'latest-offset');"""
    script = f"""SET 'execution.runtime-mode' = 'streaming'; SET 'execution.checkpointing.dir' = '{tmp_path}/state';
        SET 'flinkddl.execution.max-offsets-per-trigger' = '1500';
        {source}{table(server, 2, columns)} INSERT INTO r SELECT * FROM u;"""
    Catalog(spark, views=False).execute(script).await_termination(240)
    left = {f"user:{k}": {"id": str(k), "name": "n199"} for k in range(1, 30) if k % 3 != 2}
    assert server.hashes(2) == left | {"user:3": {"id": "3", "name": "n199"}}


@pytest.mark.spark
def test_a_wrong_password_fails_the_job_and_shows_none(spark: SparkSession, server: RedisServer) -> None:
    script = table(server, 3, "id INT, PRIMARY KEY (id) NOT ENFORCED", password="n0t-it") + "INSERT INTO r VALUES (1);"
    with pytest.raises(FlinkDdlError) as failed:
        Catalog(spark, views=False).execute(script).await_termination(120)
    assert "invalid username-password pair" in str(failed.value)
    assert "n0t-it" not in str(failed.value)


@pytest.mark.spark
@pytest.mark.parametrize(("mode", "database"), [("batch", 4), ("streaming", 5)])
@pytest.mark.usefixtures("spark")
def test_a_printed_program_writes_the_same_and_shows_no_password(
    server: RedisServer, mode: str, database: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "id INT, PRIMARY KEY (id) NOT ENFORCED"
    script = f"""SET 'execution.runtime-mode' = '{mode}'; {table(server, database, columns, prefix="p")}
        CREATE TABLE g (id INT) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence',
          'fields.id.start' = '1', 'fields.id.end' = '3');
        INSERT INTO r SELECT id FROM g;"""
    program = tmp_path / "program.py"
    compiled = compile_script(SourceText("t.sql", script))
    program.write_text(print_pyspark([a.job for a in compiled.actions if isinstance(a, Start)]))
    assert PASSWORD not in program.read_text()
    monkeypatch.setenv("FLINKDDL_PASSWORD", PASSWORD)
    monkeypatch.setenv("CHECKPOINT_DIR", str(tmp_path / "state"))
    runpy.run_path(str(program))
    assert server.hashes(database) == {f"p{k}": {"id": str(k)} for k in (1, 2, 3)}


@pytest.mark.parametrize(
    ("writer", "words", "help"),
    [
        ("no_such_package.at_all:X", "No module named 'no_such_package'", "pip install no_such_package"),
        ("flinkddl.connectors.redis.tasks:nothing", "no attribute 'nothing'", None),
    ],
)
def test_what_is_not_installed_is_said(writer: str, words: str, help: str | None) -> None:
    with pytest.raises(FlinkDdlError) as failed:
        tasks.loaded(writer)
    (found,) = failed.value.diagnostics
    assert (found.code, found.help) == ("FD246", help)
    assert words in found.message
