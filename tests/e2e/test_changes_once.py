"""A table of changes that is read once, over restarts; what was begun with two readings goes on with two."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.plan.stateforms import BLENDS, NEW, NEWER, Begun
from tests.support.older import plan_as
from tests.support.topics import committed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
SCRIPT = """
SET 'pipeline.name' = 'lasts';
SET 'flinkddl.execution.max-offsets-per-trigger' = '7';
CREATE TABLE items (id INT, grp STRING, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{items}', 'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE lasts (id INT, v INT, last INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{lasts}', 'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO lasts SELECT a.id, a.v, b.last FROM items AS a
  JOIN (SELECT grp, LAST_VALUE(v) AS last FROM items WHERE v < 90 GROUP BY grp) AS b ON a.grp = b.grp;
"""
Item = tuple[int, str, int] | tuple[int]
FIRST: list[Item] = [(n, "abc"[n % 3], n) for n in range(12)] + [(1,), (2, "a", 95), (4, "b", 40), (5, "c", 50)]
SECOND: list[Item] = [(2, "b", 3), (4,), (11,), (0, "a", 91), (3, "c", 92), (20, "c", 5), (9, "a", 10), (7, "b", 99)]


def send(servers: str, topic: str, items: list[Item]) -> None:
    """Write rows; what has no more than its key is a tombstone."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers)
    for id, *rest in items:
        value = json.dumps({"id": id, "grp": rest[0], "v": rest[1]}).encode() if rest else None
        producer.send(topic, key=json.dumps({"id": id}).encode(), value=value)
    producer.flush()
    producer.close()


def expected(items: list[Item]) -> dict[int, tuple[int, int]]:
    """Return what the query leaves; the last row of a group is the one that was changed last."""
    live: dict[int, Any] = {}
    for id, *rest in items:
        live.pop(id, None)
        live |= {id: rest} if rest else {}
    last = {grp: v for grp, v in live.values() if v < 90}
    return {id: (v, last[grp]) for id, (grp, v) in live.items() if grp in last}


def table(servers: str, topic: str) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for record in committed(servers, topic):
        id = json.loads(record.key)["id"]
        found.pop(id, None)
        if record.value is not None:
            row = json.loads(record.value)
            found[id] = (row["v"], row["last"])
    return found


@pytest.mark.parametrize("begun", [NEW, Begun(newer=NEWER - {BLENDS})], ids=["once", "twice"])
def test_goes_on_as_it_was_begun(
    spark: SparkSession,
    broker: Broker,
    new_topic: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    begun: Begun,
) -> None:
    servers = broker.bootstrap
    items, lasts = new_topic("items"), new_topic("lasts")
    script = SCRIPT.format(items=items, lasts=lasts, servers=servers)

    def run() -> int:
        options = {"checkpoint": str(tmp_path), "notice": lambda _: None}
        job = Catalog(spark, views=False).execute_all(script, run=options)[-1].job
        assert job is not None
        try:
            assert job.await_input(180)
        finally:
            job.stop()
        return len([p for p in next(tmp_path.rglob("state")).iterdir() if p.name.isdigit()])

    with monkeypatch.context() as patched:  # as the version before would begin it
        plan_as(patched, begun)
        send(servers, items, FIRST)
        operators = 4 if BLENDS in begun.newer else 5  # the sink has one of its own
        assert run() == operators
    assert table(servers, lasts) == expected(FIRST)
    send(servers, items, SECOND)
    assert run() == operators
    assert table(servers, lasts) == expected([*FIRST, *SECOND])
