"""A table whose rows meet again is read once: the same result as from one reading a mention, and as in batch mode."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.catalog.model import ObjectPath
from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.frames import frame_of
from flinkddl.spark.job import Read
from flinkddl.spark.realtime import reads_of
from tests.e2e.support import read_topic, send, upserted
from tests.spark.stream.harness import plain
from tests.support.nightly import each

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka

TABLE = """
CREATE TABLE events (
  kind INT, n INT, auction ROW<id INT, seller STRING, tags ARRAY<STRING>>, bid ROW<auction INT, price INT>,
  ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset');
CREATE VIEW auctions AS SELECT auction.id, auction.seller FROM events WHERE kind = 1;
CREATE VIEW bids AS SELECT bid.auction, bid.price, n FROM events WHERE kind = 2
"""
QUERIES: dict[str, tuple[str, int, int]] = {
    "inner join": ("SELECT b.n, a.seller FROM bids b JOIN auctions a ON b.auction = a.id", 1, 2),
    "self join": ("SELECT x.n, y.n FROM bids x JOIN bids y ON x.auction = y.auction AND x.price = y.price", 1, 2),
    "left join": ("SELECT a.id, b.price FROM auctions a LEFT JOIN bids b ON b.auction = a.id AND b.n > 20", 1, 2),
    "full join": ("SELECT a.id, b.n FROM auctions a FULL JOIN bids b ON b.auction = a.id", 1, 2),
    "beyond equality": ("SELECT b.n, a.id FROM bids b JOIN auctions a ON b.auction = a.id AND b.price > a.id", 1, 2),
    "outer, beyond equality": (
        "SELECT a.id, b.n FROM auctions a FULL JOIN bids b ON b.auction = a.id AND b.price > a.id",
        1,
        2,
    ),
    "semi": ("SELECT n FROM bids WHERE auction IN (SELECT id FROM auctions WHERE seller <> 'x')", 1, 2),
    "anti": ("SELECT id FROM auctions a WHERE NOT EXISTS (SELECT 1 FROM bids b WHERE b.auction = a.id)", 1, 2),
    "no key": ("SELECT a.id, b.n FROM auctions a JOIN bids b ON b.price < a.id WHERE a.id > 7", 1, 2),
    "union": ("SELECT n, 1 AS side FROM events WHERE kind = 1 UNION ALL SELECT n, 2 FROM events WHERE n < 9", 1, 2),
    "union of three": (
        "SELECT n FROM events UNION ALL SELECT bid.price FROM events WHERE kind = 2 UNION ALL "
        "SELECT auction.id FROM events WHERE kind = 1 AND auction.seller = 'x'",
        1,
        3,
    ),
    "guarded by its filter": (
        "SELECT 100 / bid.price FROM events WHERE kind = 2 AND bid.price <> 0 UNION ALL "
        "SELECT CAST(auction.seller AS INT) FROM events WHERE kind = 1 AND auction.seller = '7'",
        1,
        2,
    ),
    "another part": (
        "SELECT n FROM events UNION ALL SELECT price FROM bids UNION ALL SELECT * FROM (VALUES (1))",
        1,
        2,
    ),
    "window over a union": (
        "SELECT window_start, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE both_, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
        "GROUP BY window_start, window_end",
        1,
        2,
    ),
    "aggregate over a join": (
        "SELECT seller, COUNT(*), MAX(price) FROM bids JOIN auctions ON auction = id GROUP BY seller",
        1,
        2,
    ),
    "a join of three": (
        "SELECT b.n, a.seller, e.n FROM bids b JOIN auctions a ON b.auction = a.id JOIN events e ON e.n = b.n",
        1,
        3,
    ),
    "two aggregates": (
        "SELECT seller, COUNT(DISTINCT id) FROM auctions GROUP BY seller UNION ALL "
        "SELECT CAST(auction AS STRING), COUNT(DISTINCT price) FROM bids GROUP BY auction",
        1,
        2,
    ),
    "rows beside their totals": (
        "SELECT b.n, t.m FROM bids b JOIN (SELECT auction, MAX(price) AS m, COUNT(DISTINCT n) AS c FROM bids "
        "GROUP BY auction) t ON b.auction = t.auction AND b.price = t.m WHERE t.c > 2",
        1,
        2,
    ),
    "totals of those": (
        "SELECT t.m, COUNT(*), COUNT(DISTINCT a.seller) FROM auctions a LEFT JOIN (SELECT auction, MAX(price) AS m "
        "FROM bids GROUP BY auction) t ON a.id = t.auction AND a.id > t.m WHERE a.seller <> '7' GROUP BY t.m",
        1,
        2,
    ),
    "a window beside totals": (
        "SELECT COUNT(*), SUM(n) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
        "GROUP BY window_start, window_end UNION ALL SELECT COUNT(DISTINCT n), auction FROM bids GROUP BY auction "
        "UNION ALL SELECT COUNT(DISTINCT n), price FROM bids GROUP BY price",
        2,
        3,
    ),
}
"""Each with how often the topic is read, and how often it is mentioned."""
VIEW = """CREATE VIEW both_ AS SELECT ts, n AS v FROM events WHERE kind = 1
UNION ALL SELECT ts, bid.price FROM events WHERE kind = 2"""


def rows(count: int = 60) -> list[dict[str, Any]]:
    """Return events of two kinds, some with NULLs where a key is expected."""
    chance = random.Random(4)
    out = []
    for n in range(count):
        row: dict[str, Any] = {"kind": chance.choice([1, 2, 2, 3, None]), "n": n, "ts": f"2024-03-01 10:00:{n:02d}"}
        if row["kind"] == 1:
            row["auction"] = {"id": chance.choice([*range(12), None]), "seller": chance.choice("xy7"), "tags": ["t"]}
        elif row["kind"] == 2:
            row["bid"] = {"auction": chance.choice([*range(9), None]), "price": chance.randrange(9)}
        out.append(row)
    return out


@pytest.fixture(scope="module")
def table(spark: SparkSession, broker: Broker) -> str:
    """Return CREATE TABLE of a topic with events in two partitions."""
    from kafka import KafkaProducer
    from kafka.admin import KafkaAdminClient, NewTopic

    topic = f"shared-scans-{random.randrange(10**9)}"
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.create_topics([NewTopic(topic, 2, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for row in rows():
        producer.send(topic, json.dumps(row).encode(), partition=row["n"] % 2)
    producer.close()
    return f"{TABLE.format(topic=topic, servers=broker.bootstrap)};\n{VIEW}"


def answer(spark: SparkSession, table: str, query: str, **settings: str) -> Counter[Any]:
    catalog = Catalog(spark, views=False)
    for key, value in settings.items():
        catalog.execute(f"SET '{key.replace('__', '-').replace('_', '.')}' = '{value}'")
    catalog.execute_all(table)
    return Counter(map(plain, catalog.execute(query).collect()))


@pytest.mark.parametrize("name", each(6, [*QUERIES]))
def test_one_reading_gives_the_same(spark: SparkSession, table: str, name: str) -> None:
    query = QUERIES[name][0]
    streaming = {"execution_runtime__mode": "streaming", "flinkddl_execution_state": "keyed"}
    once = answer(spark, table, query, **streaming)
    assert once == answer(spark, table, query, execution_runtime__mode="batch")
    assert once


@pytest.mark.parametrize("name", QUERIES)
def test_a_topic_is_read_once(name: str) -> None:
    query, once, mentions = QUERIES[name]
    assert (readings(query, reuse=True), readings(query, reuse=False)) == (once, mentions)


def test_a_frame_reads_it_once_as_well() -> None:
    sets = "SET 'flinkddl.execution.state' = 'keyed';"
    view = f"CREATE VIEW joined AS {QUERIES['inner join'][0]};"
    text = f"{sets} {TABLE.format(topic='t', servers='b:1')};\n{VIEW};\n{view}"
    catalog = compile_script(SourceText("t.sql", text)).catalog
    frame = frame_of(catalog, ObjectPath("default_catalog", "default_database", "joined"), "streaming")
    assert sum(isinstance(s, Read) for s in frame.job.steps) == 1
    assert not frame.updating


def readings(query: str, *, reuse: bool) -> int:
    """Return how often the topic is read."""
    sets = f"SET 'flinkddl.execution.state' = 'keyed'; SET 'table.optimizer.reuse-source-enabled' = '{reuse}';"
    text = TABLE.format(topic="t", servers="b:1").replace(", 'scan.bounded.mode' = 'latest-offset'", "")
    (job,) = compile_script(SourceText("t.sql", f"{sets} {text};\n{VIEW};\n{query};")).jobs
    return sum(read.table.endswith("events") for read in reads_of(job, job.writes[0]))


SALES = """
SET 'pipeline.name' = 'sales-by-all';
SET 'flinkddl.execution.max-offsets-per-trigger' = '40';
CREATE TABLE sales (id INT, shop INT, item INT, price INT) WITH ('connector' = 'kafka', 'topic' = '{topic}',
  'properties.bootstrap.servers' = '{servers}', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE found (what STRING, k INT, n BIGINT, PRIMARY KEY (what, k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '{topic}-found', 'properties.bootstrap.servers' = '{servers}',
  'key.format' = 'json', 'value.format' = 'json');
CREATE VIEW items AS SELECT item, COUNT(DISTINCT shop) AS shops, MAX(price) AS most FROM sales GROUP BY item;
INSERT INTO found
SELECT 'items of a shop', shop, COUNT(DISTINCT item) FROM sales GROUP BY shop
UNION ALL
SELECT 'shops of an item', item, shops FROM items
UNION ALL
SELECT 'last of an item at its most', i.item, LAST_VALUE(s.id) FROM sales AS s
  JOIN items AS i ON s.item = i.item AND s.price = i.most GROUP BY i.item
UNION ALL
SELECT 'sold', id, price FROM sales WHERE price > 60;
"""


def sold(rows: list[dict[str, int]]) -> dict[tuple[str, int], int]:
    """Return what the query finds; a price is there once an item."""
    out = {("sold", r["id"]): r["price"] for r in rows if r["price"] > 60}
    for r in rows:
        out["items of a shop", r["shop"]] = len({x["item"] for x in rows if x["shop"] == r["shop"]})
        of_item = [x for x in rows if x["item"] == r["item"]]
        out["shops of an item", r["item"]] = len({x["shop"] for x in of_item})
        out["last of an item at its most", r["item"]] = max(of_item, key=lambda x: x["price"])["id"]
    return out


@pytest.mark.slow
def test_batches_and_restarts_over_one_reading(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Five mentions, of which one passes the stage of others and one is read once more, as it would pass three."""
    from kafka.admin import KafkaAdminClient, NewTopic

    chance = random.Random(7)
    prices = {item: chance.sample(range(100), 90) for item in range(6)}
    items = [chance.randrange(6) for _ in range(240)]
    rows = [{"id": n, "shop": chance.randrange(5), "item": i, "price": prices[i].pop()} for n, i in enumerate(items)]
    topic = f"sales-{random.randrange(10**9)}"
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.create_topics([NewTopic(topic, 3, 1)])
    admin.close()
    script = SALES.format(topic=topic, servers=broker.bootstrap)
    for before, until in ((0, 80), (80, 200), (200, 240)):
        send(broker.bootstrap, topic, rows[before:until], 3)
        options = {"checkpoint": str(tmp_path), "notice": lambda _: None}
        job = Catalog(spark, views=False).execute_all(script, run=options)[-1].job
        assert job is not None
        assert job.await_input(180)
        job.stop()
        left = upserted(read_topic(broker.bootstrap, f"{topic}-found"))
        found = {(r["what"], r["k"]): r["n"] for r in map(json.loads, left.values())}
        assert found == sold(rows[:until])
    (plan,) = [a.job for a in compile_script(SourceText("t.sql", script)).actions if isinstance(a, Start)]
    assert sum(isinstance(s, Read) for s in plan.steps) == 2
    assert "sales read once" in plan.plan[0].how.because
