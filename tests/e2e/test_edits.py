"""Edits of a script between two runs over one checkpoint: what the start says, and a recount of the table after it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
SECONDS = 120.0
COUNT = "INSERT INTO totals SELECT shop, COUNT(DISTINCT v) AS n FROM orders WHERE id >= 0 GROUP BY shop"
BEFORE = [{"id": n, "shop": "abc"[n % 3], "v": n // 3 % 2} for n in range(9)]
AFTER = [{"id": n, "shop": "abc"[n % 3], "v": n // 3} for n in range(9, 18)]


@dataclass(frozen=True)
class Edit:
    """What is put in another's place, which of the later rows count then, and what is said or refused."""

    changes: tuple[tuple[str, str], ...]
    counts: Callable[[dict[str, Any]], bool] = lambda _: True
    said: str | None = "kept: totals"  # None: nothing at all, for it is the same plan
    topic: str = "totals"
    shown: Callable[[int], int | None] = lambda n: n
    run: tuple[str, ...] = ()


VIEW = "CREATE VIEW lately AS SELECT * FROM orders; INSERT"
MORE = "EXECUTE STATEMENT SET BEGIN INSERT INTO more SELECT shop, MAX(v) FROM orders GROUP BY shop; INSERT"
ORDERS = (("TABLE orders", "TABLE sales"), ("FROM orders", "FROM sales"))
KEPT: dict[str, Edit] = {
    "filter below": Edit((("id >= 0", "id >= 12"),), lambda r: r["id"] >= 12),
    "filter above": Edit(
        (("GROUP BY shop", "GROUP BY shop HAVING COUNT(DISTINCT v) < 5"),), shown=lambda n: n if n < 5 else None
    ),
    "output column": Edit((("COUNT(DISTINCT v) AS n", "10 * COUNT(DISTINCT v) AS n"),), shown=lambda n: 10 * n),
    "sink's topic": Edit((("'topic' = '{totals}'", "'topic' = '{other}'"),), topic="other"),
    "another sink": Edit((("TABLE totals", "TABLE sums"), ("INTO totals", "INTO sums")), said="kept: sums"),
    "poison record": Edit((("'format' = 'json',", "'format' = 'json', 'json.ignore-parse-errors' = 'true',"),)),
    "renamed table": Edit(ORDERS),
    "renamed through a view": Edit((("FROM orders", "FROM lately"), ("INSERT", VIEW)), said=None),
    "another INSERT": Edit(
        (("INSERT", MORE), ("GROUP BY shop;\n", "GROUP BY shop; END;\n")), said="new: more",
    ),
    "watermark delay": Edit((("'3' SECOND", "'7' SECOND"),)),
}  # fmt: skip
REFUSED: dict[str, tuple[tuple[tuple[str, str], ...], str]] = {
    "another aggregate": ((("COUNT(DISTINCT v)", "SUM(v)"),), r"COUNT\(DISTINCT v\)\) over .*' is now '.*SUM\(v\)"),
    "operator more": ((("FROM orders", "FROM (SELECT DISTINCT id, shop, v FROM orders)"),), "neither one more nor one"),
    "another topic": ((("'topic' = '{orders}'", "'topic' = '{other}'"),), "is now"),
    "another query": ((("INTO totals", "INTO more"), ("COUNT(DISTINCT v)", "SUM(v)")), "--allow-dropped-state"),
}


class World:
    """Topics of their own, and runs of a script over them, each to the end of what is there."""

    def __init__(self, spark: SparkSession, broker: Broker, new_topic: Callable[..., str], folder: Path) -> None:
        self.spark, self.servers, self.folder = spark, broker.bootstrap, folder
        self.topics = {name: new_topic(name) for name in ("orders", "totals", "other", "more")}
        self.told: list[str] = []

    def script(self, form: str, *changes: tuple[str, str]) -> str:
        kafka = f"'format' = 'json', 'properties.bootstrap.servers' = '{self.servers}'"
        upsert = kafka.replace("'format'", "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format'")
        columns = "(shop STRING, n BIGINT, PRIMARY KEY (shop) NOT ENFORCED)"
        text = f"""
            SET 'pipeline.name' = 'daily';
            SET 'flinkddl.execution.state' = '{form}';
            CREATE TABLE orders (id INT, shop STRING, v INT, `at` TIMESTAMP(3),
              WATERMARK FOR `at` AS `at` - INTERVAL '3' SECOND) WITH (
              'connector' = 'kafka', {kafka}, 'topic' = '{{orders}}', 'scan.startup.mode' = 'earliest-offset');
            CREATE TABLE totals {columns} WITH ({upsert}, 'topic' = '{{totals}}');
            CREATE TABLE more {columns} WITH ({upsert}, 'topic' = '{{more}}');
            {COUNT};\n"""
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        return text.format(**self.topics)

    def run(self, text: str, **run: Any) -> None:
        options = {"checkpoint": str(self.folder), "notice": self.told.append, **run}
        job = Catalog(self.spark, views=False).execute_all(text, run=options)[-1].job
        assert job is not None
        try:
            assert job.await_input(SECONDS)
        finally:
            job.stop()

    def poison(self) -> None:
        """Send a record that is no JSON."""
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers)
        producer.send(self.topics["orders"], b"{poison")
        producer.close()

    def table(self, topic: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for record in committed(self.servers, self.topics[topic]):
            shop = json.loads(record.key)["shop"]
            if record.value is None:
                found.pop(shop, None)
            else:
                found[shop] = json.loads(record.value)["n"]
        return found


@pytest.fixture
def world(spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> World:
    return World(spark, broker, new_topic, tmp_path)


def recount(later: list[dict[str, Any]]) -> dict[str, int]:
    """Return the distinct values a shop, of all rows before and these after."""
    return {s: len({r["v"] for r in [*BEFORE, *later] if r["shop"] == s}) for s in "abc"}


def table(names: dict[str, Any], quick: dict[str, str]) -> list[Any]:
    """Return each case in both forms; all but a few are for the long run."""
    return [
        pytest.param(name, form, marks=() if quick.get(name) == form else pytest.mark.slow)
        for name in names
        for form in ("keyed", "aggregate")
    ]


@pytest.mark.parametrize(("case", "form"), table(KEPT, {"poison record": "keyed", "another sink": "aggregate"}))
def test_state_goes_on(case: str, form: str, world: World) -> None:
    edit = KEPT[case]
    send(world.servers, world.topics["orders"], BEFORE)
    world.run(world.script(form))
    assert world.table("totals") == recount([])
    if case == "poison record":
        world.poison()
        with pytest.raises(FlinkDdlError, match="FD750"):
            world.run(world.script(form))
    send(world.servers, world.topics["orders"], AFTER)
    world.told.clear()
    world.run(world.script(form, *edit.changes))
    said = "\n".join(world.told)
    assert said == "" if edit.said is None else edit.said in said
    wanted = {s: edit.shown(n) for s, n in recount([r for r in AFTER if edit.counts(r)]).items()}
    assert world.table(edit.topic) == {s: n for s, n in wanted.items() if n is not None}
    if case == "another INSERT":
        assert world.table("more") == {s: max(r["v"] for r in [*BEFORE, *AFTER] if r["shop"] == s) for s in "abc"}


@pytest.mark.parametrize(("case", "form"), table(REFUSED, {"operator more": "keyed"}))
def test_state_that_does_not_fit_is_refused(case: str, form: str, world: World) -> None:
    """The old script goes on afterwards as if nothing had been."""
    changes, words = REFUSED[case]
    send(world.servers, world.topics["orders"], BEFORE)
    world.run(world.script(form))
    with pytest.raises(FlinkDdlError, match=f"FD820: .*{words}"):
        world.run(world.script(form, *changes))
    send(world.servers, world.topics["orders"], AFTER)
    world.run(world.script(form))
    assert world.table("totals") == recount(AFTER)
    if case == "another query":
        world.run(world.script(form, *changes), allow_dropped=True)
        assert world.table("more") == {s: sum(r["v"] for r in [*BEFORE, *AFTER] if r["shop"] == s) for s in "abc"}
