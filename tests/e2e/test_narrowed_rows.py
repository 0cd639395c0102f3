"""Newest rows of a table's keys are kept with the columns that are read; what was begun with whole rows goes on so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.stateforms import NARROWS, NEW, NEWER, Begun
from tests.support.nightly import nightly
from tests.support.older import plan_as
from tests.support.topics import committed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
SCRIPT = """
SET 'pipeline.name' = 'narrowed';
SET 'flinkddl.execution.max-offsets-per-trigger' = '6';
SET 'flinkddl.execution.state' = '{form}';
CREATE TABLE items (id INT, grp STRING, v INT, r ROW<a INT, b ROW<c STRING, d INT>>, note STRING, tags MAP<STRING, INT>,
  PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = '{items}',
  'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE sums (grp STRING, s INT, c STRING, PRIMARY KEY (grp) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{sums}', 'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO sums SELECT grp, SUM(v), MAX(r.b.c) FROM items WHERE r.a > 1 OR r.a IS NULL GROUP BY grp;
"""
CHANGES = """
CREATE TABLE changes (grp STRING, v INT, c STRING) WITH ('connector' = 'kafka', 'topic' = '{sums}',
  'properties.bootstrap.servers' = '{servers}', 'format' = 'debezium-json');
INSERT INTO changes SELECT grp, {v}, r.b.c FROM items;
"""
Item = dict[str, Any]


def item(id: int, grp: str, v: int, r: Any = None, **more: Any) -> Item:
    return {"id": id, "grp": grp, "v": v, "r": r, "note": "n", "tags": {"x": 1}, **more}


def row(a: int | None, c: str | None = None) -> dict[str, Any]:
    return {"a": a, "b": None if c is None else {"c": c, "d": 7}}


FIRST: list[Item] = [
    *(item(n, "abc"[n % 3], n, row(n % 4, f"c{n % 5}") if n % 6 else None) for n in range(12)),
    {"id": 1},
    item(2, "a", 95, row(3, "z")),
    item(4, "b", 40, row(1, "zz")),
    item(5, "c", 50, row(None)),
]
SECOND: list[Item] = [
    item(2, "a", 95, row(3, "z"), note="other", tags={"y": 2}),  # nobody reads what has changed
    item(5, "c", 50, row(None), note="other"),
    item(2, "b", 3, row(2, "q")),
    {"id": 8},
    item(4, "b", 40, row(5, "zz")),
    item(20, "c", 5),
    {"id": 11},
    item(9, "a", 10, row(9, "y")),
    {"id": 20},
]


def send(servers: str, topic: str, items: list[Item]) -> None:
    """Write rows; what has no more than its key is a tombstone."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers)
    for one in items:
        value = json.dumps(one).encode() if len(one) > 1 else None
        producer.send(topic, key=json.dumps({"id": one["id"]}).encode(), value=value)
    producer.flush()
    producer.close()


def live(items: list[Item]) -> list[Item]:
    rows: dict[int, Item] = {}
    for one in items:
        rows.pop(one["id"], None)
        rows |= {one["id"]: one} if len(one) > 1 else {}
    return list(rows.values())


def inner(one: Item) -> str | None:
    found: str | None = ((one["r"] or {}).get("b") or {}).get("c")
    return found


def expected(items: list[Item]) -> dict[str, tuple[int, str | None]]:
    rows = [one for one in live(items) if ((one["r"] or {}).get("a") is None) or one["r"]["a"] > 1]
    groups = {grp: [one for one in rows if one["grp"] == grp] for grp in {one["grp"] for one in rows}}
    return {
        grp: (sum(one["v"] for one in each), max(filter(None, map(inner, each)), default=None))
        for grp, each in groups.items()
    }


def table(servers: str, topic: str) -> dict[str, tuple[int, str | None]]:
    found: dict[str, tuple[int, str | None]] = {}
    for record in committed(servers, topic):
        grp = json.loads(record.key)["grp"]
        found.pop(grp, None)
        if record.value is not None:
            value = json.loads(record.value)
            found[grp] = (value["s"], value["c"])
    return found


def left(servers: str, topic: str) -> list[tuple[str, int, str | None]]:
    """Return the rows that changes leave: each one that is taken back must be there."""
    found: list[tuple[str, int, str | None]] = []
    for record in committed(servers, topic):
        value = json.loads(record.value)
        for side, change in (("before", found.remove), ("after", found.append)):
            if value[side] is not None:
                change((value[side]["grp"], value[side]["v"], value[side]["c"]))
    return sorted(found, key=str)


BEGUN = {"narrow": NEW, "whole": Begun(newer=NEWER - {NARROWS})}


@pytest.fixture
def runs(
    spark: SparkSession,
    broker: Broker,
    new_topic: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., tuple[str, str]]:
    """Return what runs a script over what has been sent, first as a version may have begun it; it gives the topics."""
    topics = new_topic("items"), new_topic("sums")

    def run(script: str, items: list[Item], begun: Begun | None = None) -> tuple[str, str]:
        send(broker.bootstrap, topics[0], items)
        text = script.replace("{items}", topics[0]).replace("{sums}", topics[1])
        text = text.replace("{servers}", broker.bootstrap)
        with monkeypatch.context() as patched:
            if begun is not None:
                plan_as(patched, begun)
            options = {"checkpoint": str(tmp_path), "notice": lambda _: None}
            job = Catalog(spark, views=False).execute_all(text, run=options)[-1].job
        assert job is not None
        try:
            assert job.await_input(180)
        finally:
            job.stop()
        return broker.bootstrap, topics[1]

    return run


@pytest.mark.parametrize(
    ("begun", "form"),
    [nightly("narrow", "keyed"), ("whole", "keyed"), ("narrow", "chain"), nightly("narrow", "aggregate")],
)
def test_goes_on_as_it_was_begun(runs: Callable[..., tuple[str, str]], begun: str, form: str) -> None:
    script = SCRIPT.replace("{form}", form)
    assert table(*runs(script, FIRST, BEGUN[begun])) == expected(FIRST)
    assert table(*runs(script, SECOND)) == expected([*FIRST, *SECOND])


@pytest.mark.parametrize("begun", BEGUN)
def test_what_is_written_is_made_of_other_columns_then(runs: Callable[..., tuple[str, str]], begun: str) -> None:
    """Whole rows have each of them; of others a column less goes on, and one more is refused."""
    tables = SCRIPT.replace("{form}", "keyed").partition("INSERT")[0]
    noted, bare, tagged = (tables + CHANGES.replace("{v}", f"v{also}") for also in (NOTE, "", TAGS))
    place = runs(noted, FIRST, BEGUN[begun])
    assert left(*place) == rows(FIRST)
    runs(bare, SECOND)
    assert left(*place) == rows([*FIRST, *SECOND])
    if begun == "narrow":
        with pytest.raises(FlinkDdlError, match=r"without \(tags\), which is read now"):
            runs(tagged, [])
    runs(bare if begun == "narrow" else tagged, THIRD)
    assert left(*place) == rows([*FIRST, *SECOND, *THIRD])


NOTE, TAGS = " + 0 * CHAR_LENGTH(note)", " + 0 * CARDINALITY(tags)"
THIRD: list[Item] = [item(2, "c", 8, row(2, "p")), {"id": 5}, item(30, "a", 1)]


def rows(items: list[Item]) -> list[tuple[str, int, str | None]]:
    return sorted(((one["grp"], one["v"], inner(one)) for one in live(items)), key=str)
