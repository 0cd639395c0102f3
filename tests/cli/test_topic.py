"""``flinkddl topic``: topics made, filled, looked at and deleted on a real broker."""

from __future__ import annotations

import io
import json
import sys
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Return ``topic(*arguments, lines="")`` -> exit code, stdout, stderr."""

    def run(*arguments: str, lines: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        action, *rest = arguments
        code = main(["topic", action, "--bootstrap", broker.bootstrap, *rest])
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


@pytest.fixture
def new_name() -> str:
    """Return a name that no topic has."""
    return f"topic-{uuid.uuid4().hex[:8]}"


def places(out: str) -> list[str]:
    """Return printed records without their times."""
    return [" ".join(line.split("  ")[:1] + line.split("  ")[2:]) for line in out.splitlines()]


def test_a_topic_lives_and_dies(topic: Any, new_name: str) -> None:
    made = topic("create", new_name, "--partitions", "2", "--config", "cleanup.policy=compact")
    assert made == (0, f"created the topic '{new_name}' with 2 partitions\n", "")
    assert topic("create", new_name)[1] == f"the topic '{new_name}' is there already\n"
    assert new_name in topic("list")[1].splitlines()
    assert topic("produce", new_name, "--key", ":", lines="a:1\n")[2] == f"wrote 1 record to '{new_name}'\n"
    described = topic("describe", new_name)[1]
    assert described.startswith(f"topic {new_name}: 2 partitions, at most 1 record\n")
    assert "  cleanup.policy = compact\n" in described
    assert topic("delete", new_name) == (2, "", "its records are gone then: say --yes\n")
    assert topic("delete", new_name, "--yes")[1] == f"deleted the topic '{new_name}'\n"
    code, _, err = topic("describe", new_name)
    assert code == 3
    assert "FD812" in err


def test_keys_tombstones_headers(topic: Any, new_name: str) -> None:
    topic("create", new_name)
    options = ("--key", "\\t", "--null", "-", "--header", "by=me")
    topic("produce", new_name, *options, lines="k1\tv1\nk2\tv2\nk1\t-\n")
    _, out, _ = topic("consume", new_name)
    assert places(out) == ["0:0 k1 v1 [by=me]", "0:1 k2 v2 [by=me]", "0:2 k1 <tombstone> [by=me]"]
    rows = [json.loads(line) for line in topic("consume", new_name, "--output", "json")[1].splitlines()]
    assert [(r["key"], r["value"], r["headers"]) for r in rows][2] == ("k1", None, [["by", "me"]])
    assert topic("consume", new_name, "--output", "values", "--limit", "2")[1] == "v1\nv2\n"
    code, _, err = topic("produce", new_name, "--key", ":", lines="none\n")
    assert code == 1
    assert "<stdin>:1:1: error FD868" in err
    _, _, err = topic("produce", new_name, "--key", ":", lines="a:1\n\nb:2\nnone\n")
    assert "<stdin>:4:1: error FD868" in err
    assert f"wrote 2 records to '{new_name}'\n" in err
    assert (
        "what stands before it in your input is written (3 lines): mend it, and give the input again without those"
        in err
    )


def test_from_the_end_and_a_time(topic: Any, new_name: str) -> None:
    topic("create", new_name)
    topic("produce", new_name, lines="old\n")
    assert topic("consume", new_name, "--from", "end")[1] == ""
    assert topic("consume", new_name, "--from", "2001-01-01T00:00:00")[1].endswith("  -  old\n")
    assert topic("consume", new_name, "--from", "2199-01-01")[1] == ""
    assert topic("consume", new_name, "--from", "soon")[0] == 1


def test_follow_shows_what_comes(topic: Any, new_name: str, broker: Broker) -> None:
    from flinkddl.runtime.kafka.rows import Producer

    topic("create", new_name)

    def later() -> None:
        time.sleep(1.5)
        with Producer({"bootstrap.servers": broker.bootstrap}) as producer:
            producer.send(new_name, None, b"late")

    threading.Thread(target=later).start()
    assert places(topic("consume", new_name, "--from", "end", "--follow", "--limit", "1")[1]) == ["0:0 - late"]


KEYS = {"json": '{"id":1}', "avro": '{"id":1}', "csv": '["1"]'}


@pytest.mark.spark
@pytest.mark.parametrize("format", KEYS)
def test_rows_of_a_table_are_what_a_job_reads(
    topic: Any, new_name: str, broker: Broker, tmp_path: Path, spark: SparkSession, format: str
) -> None:
    ddl = (
        "CREATE TABLE t (id BIGINT, name STRING, price DECIMAL(10, 2), ts TIMESTAMP(3), ok BOOLEAN) WITH ("
        f"'connector' = 'kafka', 'topic' = '{new_name}', 'properties.bootstrap.servers' = '{broker.bootstrap}',"
        f" 'key.format' = '{format}', 'key.fields' = 'id', 'value.format' = '{format}',"
        + (" 'value.csv.null-literal' = 'N'," if format == "csv" else "")
        + " 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset');"
    )
    (tmp_path / "t.sql").write_text(ddl)
    place = ("--ddl", str(tmp_path / "t.sql"), "--table", "t")
    topic("create", new_name)
    rows = '{"id": 1, "name": "a,\\"b\\"", "price": 1.50, "ts": "2026-01-02 03:04:05.678", "ok": true}\n{"id": 2}\n'
    code, _, err = topic("produce", *place, lines=rows)
    assert (code, err) == (0, f"wrote 2 records to '{new_name}'\n")
    catalog = Catalog(spark, views=False)
    catalog.execute(ddl)
    found = catalog.execute("SELECT id, name, price, CAST(ts AS STRING), ok FROM t").collect()
    assert [tuple(map(str, row)) for row in found] == [
        ("1", 'a,"b"', "1.50", "2026-01-02 03:04:05.678", "True"),
        ("2", "None", "None", "None", "None"),
    ]
    shown = topic("consume", *place)[1].splitlines()
    assert shown[0].split("  ")[2] == KEYS[format]
    for line, said in (('{"idd": 1}', "did you mean 'id'"), ("[1]", "no JSON object"), ("{", "is no row")):
        code, _, err = topic("produce", *place, lines=line + "\n")
        assert code == 1
        assert said in err
    assert topic("produce", *place, "--delete", lines='{"id": 1}\n')[0] == 0
    assert topic("consume", *place)[1].splitlines()[-1].endswith("  <tombstone>")


def test_no_table_no_topic(topic: Any, tmp_path: Path) -> None:
    (tmp_path / "t.sql").write_text("CREATE TABLE d (a INT) WITH ('connector' = 'datagen');")
    ddl = ("--ddl", str(tmp_path / "t.sql"))
    assert topic("list", *ddl)[0] == 2
    for table, said in (("d", "is no table over Kafka topics"), ("x", "tables: d")):
        code, _, err = topic("describe", *ddl, "--table", table)
        assert code == 3
        assert said in err
    code, _, err = topic("describe")
    assert code == 3
    assert "which topic?" in err
