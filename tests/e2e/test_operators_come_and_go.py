"""Operators with state come and go over one checkpoint: a recount of the table after each start."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.entries import count_entries, first_entries
from flinkddl.runtime.storage.states import operators_of
from flinkddl.spark.realtime import STATE_FORMAT
from tests.support.topics import committed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.storage.states import Operator

pytestmark = pytest.mark.kafka
SECONDS = 240.0
SUMS = "SELECT region, cust, SUM(price) AS total FROM orders GROUP BY region, cust"
RANKS = (
    "SELECT region, rn, total FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY region ORDER BY total DESC) AS rn FROM"
    " sums) WHERE rn <= 2"
)
PAIRS = "SELECT a.region, a.id, b.cust FROM orders a JOIN orders b ON a.id = b.price"
TOPS = "SELECT region, MAX(price) AS top FROM orders GROUP BY region"
MATCHED = "SELECT region, id, cust FROM orders WHERE id IN (SELECT price FROM orders)"
DEAR = "SELECT id, region, price FROM orders WHERE price > 3"
Row = dict[str, Any]
Rows = list[Row]


def sums(rows: Rows) -> Rows:
    totals: dict[tuple[str, str], int] = {}
    for r in rows:
        totals[r["region"], r["cust"]] = totals.get((r["region"], r["cust"]), 0) + r["price"]
    return [{"region": region, "cust": cust, "total": total} for (region, cust), total in totals.items()]


def ranks(rows: Rows) -> Rows:
    found = []
    for region in regions(rows):
        best = sorted((r["total"] for r in sums(rows) if r["region"] == region), reverse=True)[:2]
        found += [{"region": region, "rn": n, "total": total} for n, total in enumerate(best, 1)]
    return found


def pairs(rows: Rows) -> Rows:
    return [
        {"region": a["region"], "id": a["id"], "cust": b["cust"]} for a in rows for b in rows if a["id"] == b["price"]
    ]


def matched(rows: Rows) -> Rows:
    prices = {r["price"] for r in rows}
    return [{"region": r["region"], "id": r["id"], "cust": r["cust"]} for r in rows if r["id"] in prices]


def dear(rows: Rows) -> Rows:
    return [{name: r[name] for name in ("id", "region", "price")} for r in rows if r["price"] > 3]


def tops(rows: Rows) -> Rows:
    return [{"region": g, "top": max(r["price"] for r in rows if r["region"] == g)} for g in regions(rows)]


def regions(rows: Rows) -> set[str]:
    return {r["region"] for r in rows}


def best(rows: Rows) -> Rows:
    top = {g: max(r["total"] for r in sums(rows) if r["region"] == g) for g in regions(rows)}
    return [r for r in sums(rows) if r["total"] == top[r["region"]]]


@dataclass(frozen=True)
class Case:
    """A query, what is put above it, and recounts of both; words of what is new. ``many``: a group has many rows.

    ``asks``: its sink keeps state that goes then, which has to be allowed.
    """

    below: tuple[str, Callable[[Rows], Rows]]
    above: tuple[str, Callable[[Rows], Rows]]
    columns: tuple[str, str]
    new: str
    many: int = 0
    asks: bool = False


CASES = {
    "maximum of sums": Case(
        ("SELECT * FROM sums", sums),
        ("SELECT region, MAX(total) AS top FROM sums WHERE total > 1 GROUP BY region",
         lambda rows: [{"region": g, "top": max(r["total"] for r in sums(rows) if r["region"] == g)}
                       for g in {r["region"] for r in sums(rows) if r["total"] > 1}]),
        ("region, cust", "region"), "MAX(total)",
    ),
    "distinct sums": Case(
        ("SELECT * FROM sums", sums),
        ("SELECT region, COUNT(DISTINCT total) AS n FROM sums GROUP BY region",
         lambda rows: [{"region": g, "n": len({r["total"] for r in sums(rows) if r["region"] == g})}
                       for g in regions(rows)]),
        ("region, cust", "region"), "COUNT(DISTINCT total)",
    ),
    "Top-N of sums": Case(("SELECT * FROM sums", sums), (RANKS, ranks), ("region, cust", "region, rn"), "Rank("),
    "sums with their maximum": Case(
        ("SELECT * FROM sums", sums),
        ("SELECT sums.* FROM sums JOIN (SELECT region AS r, MAX(total) AS t FROM sums GROUP BY region) AS m"
         " ON region = r AND total = t", best),
        ("region, cust", "region, cust"), "Join(inner",
    ),
    "sum of a Top-N": Case(
        (RANKS, ranks),
        (f"SELECT region, SUM(total + rn) AS n FROM ({RANKS}) GROUP BY region",
         lambda rows: [{"region": g, "n": sum(r["total"] + r["rn"] for r in ranks(rows) if r["region"] == g)}
                       for g in regions(rows)]),
        ("region, rn", "region"), "SUM($f1)",
    ),
    "count of a join": Case(
        (PAIRS, pairs),
        (f"SELECT region, COUNT(DISTINCT cust) AS n, SUM(id) AS s FROM ({PAIRS}) GROUP BY region",
         lambda rows: [{"region": g, "n": len({r["cust"] for r in pairs(rows) if r["region"] == g}),
                        "s": sum(r["id"] for r in pairs(rows) if r["region"] == g)} for g in regions(pairs(rows))]),
        ("id", "region"), "COUNT(DISTINCT cust)", asks=True,
    ),
    "sum of maxima": Case(
        (TOPS, tops),
        (f"SELECT top / 1000 AS k, COUNT(*) AS n FROM ({TOPS}) GROUP BY top / 1000",
         lambda rows: [{"k": k, "n": sum(r["top"] // 1000 == k for r in tops(rows))}
                       for k in {r["top"] // 1000 for r in tops(rows)}]),
        ("region", "k"), "COUNT(*)", many=1500,
    ),
    "count of a semi join": Case(
        (MATCHED, matched),
        (f"SELECT region, COUNT(DISTINCT cust) AS n, SUM(id) AS s FROM ({MATCHED}) GROUP BY region",
         lambda rows: [{"region": g, "n": len({r["cust"] for r in matched(rows) if r["region"] == g}),
                        "s": sum(r["id"] for r in matched(rows) if r["region"] == g)} for g in regions(matched(rows))]),
        ("id", "region"), "COUNT(DISTINCT cust)", asks=True,
    ),
    "maximum of newest rows": Case(
        (DEAR, dear),
        ("SELECT region, MAX(price) AS top FROM orders WHERE price > 3 GROUP BY region", lambda rows: tops(dear(rows))),
        ("id", "region"), "MAX(price)", asks=True,
    ),
}  # fmt: skip
TYPES = {"region": "STRING", "cust": "STRING"}
FIRST: Rows = [
    {"id": id_, "cust": cust, "region": region, "price": price}
    for id_, cust, region, price in (
        (1, "c1", "north", 10), (2, "c2", "north", 20), (3, "c1", "south", 5), (4, "c3", "east", 7),
        (5, "c2", "west", 3), (6, "c1", "south", 9), (8, "c4", "north", 2), (10, "c4", "east", 4),
    )
]  # fmt: skip
# a maximum is taken back, a group is left empty, one is new, east stays as it is
NEXT: Rows = [
    {"id": 2}, {"id": 3, "cust": "c1", "region": "south", "price": 50}, {"id": 5},
    {"id": 7, "cust": "c3", "region": "north", "price": 15}, {"id": 9, "cust": "c9", "region": "new", "price": 6},
]  # fmt: skip
LAST: Rows = [
    {"id": 1, "cust": "c1", "region": "north", "price": 1},
    {"id": 4, "cust": "c3", "region": "east", "price": 71},
]


class World:
    """Topics of their own, and runs of a query into its sink, each to the end of what is there."""

    def __init__(self, case: Case, form: str, spark: SparkSession, servers: str, folder: Path) -> None:
        self.case, self.form, self.spark, self.servers, self.folder = case, form, spark, servers, folder
        self.topics: dict[str, str] = {}
        self.told: list[str] = []
        self.set = ""
        self.rows: dict[int, Row] = {}

    def send(self, rows: Rows) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers)
        for row in rows:
            value = json.dumps(row).encode() if len(row) > 1 else None
            producer.send(self.topics["orders"], value, json.dumps({"id": row["id"]}).encode())
            self.rows.pop(row["id"], None)
            if value is not None:
                self.rows[row["id"]] = row
        producer.close()

    def script(self, sink: str) -> str:
        query, recount = getattr(self.case, sink)
        names = list(recount(FIRST)[0])
        key = self.case.columns[sink == "above"]
        types = ", ".join(f"{n} {TYPES.get(n, 'BIGINT')}" for n in names)
        casts = ", ".join(n if n in TYPES else f"CAST({n} AS BIGINT)" for n in names)
        upsert = (
            f"'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '{self.servers}', 'key.format' = 'json'"
        )
        upsert += ", 'value.format' = 'json'"
        return f"""
            SET 'pipeline.name' = 'changing';
            SET 'flinkddl.execution.state' = '{self.form}'; {self.set}
            CREATE TABLE orders (id INT, cust STRING, region STRING, price INT, PRIMARY KEY (id) NOT ENFORCED)
              WITH ({upsert}, 'topic' = '{self.topics["orders"]}');
            CREATE TABLE {sink} ({types}, PRIMARY KEY ({key}) NOT ENFORCED)
              WITH ({upsert}, 'topic' = '{self.topics[sink]}');
            CREATE VIEW sums AS {SUMS};
            INSERT INTO {sink} SELECT {casts} FROM ({query});"""

    def run(self, sink: str, **run: Any) -> str:
        """Run a script; return what the start said."""
        self.told.clear()
        options = {"checkpoint": str(self.folder), "notice": self.told.append, **run}
        job = Catalog(self.spark, views=False).execute_all(self.script(sink), run=options)[-1].job
        assert job is not None
        try:
            assert job.await_input(SECONDS)
        finally:
            job.stop()
        return "\n".join(self.told)

    def table(self, sink: str) -> list[Row]:
        found = {r.key: r.value for r in committed(self.servers, self.topics[sink])}
        return ordered([json.loads(value) for value in found.values() if value is not None])

    def recount(self, sink: str) -> list[Row]:
        rows: Rows = getattr(self.case, sink)[1](list(self.rows.values()))
        return ordered(rows)


def ordered(rows: Rows) -> Rows:
    return sorted(rows, key=repr)


QUICK = ("maximum of sums", "keyed")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param(name, form, marks=() if (name, form) == QUICK else pytest.mark.slow)
        for name in CASES
        for form in ("keyed", "chain")
    ],
)
def test_an_operator_comes_goes_and_comes_again(
    name: str, form: str, spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    """What comes knows at once what was there before it; what goes asks first, and what stays has its state."""
    case = CASES[name]
    world = World(case, form, spark, broker.bootstrap, tmp_path)
    world.topics = {t: new_topic(t) for t in ("orders", "below", "above")}
    world.send(FIRST)
    world.send([{"id": n, "cust": f"c{n}", "region": "wide", "price": n} for n in range(100, 100 + case.many)])
    world.run("below")
    assert world.table("below") == world.recount("below")
    said = world.run("above", allow_dropped=case.asks)
    assert "kept: above" in said
    assert case.new in said.partition("new: ")[2]
    assert world.table("above") == world.recount("above")
    world.send(NEXT)
    assert world.run("above") == ""
    assert world.table("above") == world.recount("above")
    with pytest.raises(FlinkDdlError, match=r"FD820.*allow-dropped-state"):
        world.run("below")
    world.topics |= {t: new_topic(t) for t in ("below", "above")}
    before = world.recount("below")
    world.send(LAST)
    said = world.run("below", allow_dropped=True)
    assert case.new in said.partition("dropped: above")[2]
    shown, known = world.table("below"), world.recount("below")
    assert shown
    assert all(row in known for row in shown)  # of those that have changed since
    assert all(row in shown for row in known if row not in before)
    world.run("above", allow_dropped=case.asks)
    assert world.table("above") == world.recount("above")


@pytest.mark.slow
def test_an_operator_comes_as_a_ttl_goes(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    """Ages of rows lie in pages of their own: what is read leaves them out."""
    world = World(CASES["sum of a Top-N"], "keyed", spark, broker.bootstrap, tmp_path)
    world.topics = {t: new_topic(t) for t in ("orders", "below", "above")}
    world.send([{"id": n, "cust": f"c{n}", "region": "wide", "price": n} for n in range(1, 3000)])
    world.set = "SET 'table.exec.state.ttl' = '1 d';"
    world.run("below")
    world.set = ""
    assert "SUM($f1)" in world.run("above").partition("new: ")[2]
    assert world.table("above") == world.recount("above")
    world.send([{"id": 3000, "cust": "c3000", "region": "wide", "price": 9000}])
    world.run("above")
    assert world.table("above") == world.recount("above")


def files(folder: Path) -> dict[str, bytes]:
    """Return what a checkpoint is made of, but for who holds it."""
    found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {name: text for name, text in found.items() if "flinkddl-owner" not in name}


def test_a_start_that_is_refused_has_changed_nothing(
    spark: SparkSession,
    broker: Broker,
    new_topic: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a start looks up comes before what cannot be undone: no state is gone, nothing written."""
    world = World(CASES["maximum of sums"], "keyed", spark, broker.bootstrap, tmp_path)
    world.topics = {t: new_topic(t) for t in ("orders", "below", "above")}
    world.send(FIRST)
    world.run("below")
    before = files(tmp_path)

    def refuse(*_: Any) -> None:
        raise FlinkDdlError.of("FD891", "the topic that is written was deleted")

    others = count()
    ways: dict[str, tuple[str, Any]] = {
        "FD891": ("flinkddl.runtime.job.supervising.preparing.check_written", refuse),
        "FD820": ("flinkddl.runtime.storage.noted._nullable", lambda _: next(others)),
    }
    for code, (place, way) in ways.items():
        with monkeypatch.context() as patch:
            patch.setattr(place, way)
            with pytest.raises(FlinkDdlError, match=code):
                world.run("above")
    now = files(tmp_path)
    assert {name: now.get(name) for name in before if "topics" not in name} == {
        name: text for name, text in before.items() if "topics" not in name
    }
    assert world.table("above") == []
    world.send(NEXT)
    assert world.run("below") == ""
    assert world.table("below") == world.recount("below")


def test_the_other_inserts_of_a_query_are_not_written_again(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    """A new operator above a join that goes on begins with its rows; the INSERT that writes those has them."""
    from kafka import KafkaProducer

    servers = f"'properties.bootstrap.servers' = '{broker.bootstrap}'"
    topics = {name: new_topic(name) for name in ("seen", "plain", "counts")}

    def send(*rows: tuple[int, str, int]) -> None:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
        for row in rows:
            producer.send(topics["seen"], json.dumps(dict(zip(("id", "region", "v"), row, strict=True))).encode())
        producer.close()

    def run(counted: str) -> str:
        told: list[str] = []
        script = f"""
            SET 'pipeline.name' = 'two';
            CREATE TABLE seen (id INT, region STRING, v INT) WITH ('connector' = 'kafka', {servers},
              'topic' = '{topics["seen"]}', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
            CREATE TABLE plain (region STRING, n BIGINT) WITH ('connector' = 'kafka', {servers},
              'topic' = '{topics["plain"]}', 'format' = 'json');
            CREATE TABLE counts (region STRING, n BIGINT, PRIMARY KEY (region) NOT ENFORCED) WITH (
              'connector' = 'upsert-kafka', {servers}, 'topic' = '{topics["counts"]}', 'key.format' = 'json',
              'value.format' = 'json');
            CREATE VIEW joined AS SELECT a.region, b.id AS n FROM seen a JOIN seen b ON a.id = b.v;
            EXECUTE STATEMENT SET BEGIN
              INSERT INTO plain SELECT * FROM joined; INSERT INTO counts {counted};
            END;"""
        options = {"checkpoint": str(tmp_path), "notice": told.append}
        job = Catalog(spark, views=False).execute_all(script, run=options)[-1].job
        assert job is not None
        try:
            assert job.await_input(SECONDS)
        finally:
            job.stop()
        return "\n".join(told)

    def values(topic: str) -> list[Row]:
        return ordered([json.loads(r.value) for r in committed(broker.bootstrap, topics[topic]) if r.value is not None])

    send((1, "north", 2), (2, "south", 1), (3, "north", 2), (4, "north", 1))
    run("SELECT * FROM joined")
    plain = [{"region": "north", "n": 2}, {"region": "north", "n": 4}, {"region": "south", "n": 1}]
    plain = ordered([*plain, {"region": "south", "n": 3}])
    assert values("plain") == plain
    topics["counts"] = new_topic("counts")
    said = run("SELECT region, COUNT(DISTINCT n) FROM joined GROUP BY region")
    assert "COUNT(DISTINCT n)" in said.partition("new: ")[2]
    assert values("plain") == plain
    assert values("counts") == [{"region": "north", "n": 2}, {"region": "south", "n": 2}]
    send((5, "west", 1))
    run("SELECT region, COUNT(DISTINCT n) FROM joined GROUP BY region")
    assert values("plain") == ordered([*plain, {"region": "north", "n": 5}])
    assert {"region": "north", "n": 3} in values("counts")


BESIDE = Case(
    ("SELECT * FROM sums", sums),
    ("SELECT region, cust, MAX(total) + MAX(n) AS total FROM (SELECT s.*, n FROM sums s JOIN (SELECT region AS r,"
     " cust AS c, COUNT(DISTINCT price) AS n FROM orders GROUP BY region, cust) ON region = r AND cust = c)"
     " GROUP BY region, cust",
     lambda rows: [r | {"total": r["total"] + len({o["price"] for o in rows
                    if (o["region"], o["cust"]) == (r["region"], r["cust"])})} for r in sums(rows)]),
    ("region, cust", "region, cust"), "COUNT(DISTINCT price)",
)  # fmt: skip


def stage_of_two(folder: Path) -> tuple[Operator, dict[str, int]]:
    """Return the operator that has, or had, the sums and the counts, and the numbers of its nodes by their calls."""
    (found,) = (o for o in operators_of(folder) if any("SUM(price)" in n["what"] for n in o.nodes))
    return found, {n["what"].partition("], ")[2].rstrip(")"): n["node"] for n in found.nodes}


def groups(spark: SparkSession, folder: Path) -> dict[int, int]:
    found, _ = stage_of_two(folder)
    return {n: rows for n, (rows, _) in count_entries(spark, found).nodes.items()}


@pytest.mark.parametrize("form", ["chain", pytest.param("keyed", marks=pytest.mark.slow)])
def test_state_of_a_node_that_has_left_a_stage_is_gone(
    form: str,
    spark: SparkSession,
    broker: Broker,
    new_topic: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where a start is killed before, or after, what stays has been written anew; that is whole."""
    world = World(BESIDE, form, spark, broker.bootstrap, tmp_path)
    world.set = "SET 'table.exec.state.ttl' = '1 d';"  # whose notes are state too
    world.topics = {t: new_topic(t) for t in ("orders", "below", "above")}
    world.send([*FIRST, *({"id": n, "cust": f"c{n}", "region": "wide", "price": n} for n in range(100, 600))])
    world.run("above")
    assert world.table("above") == world.recount("above")
    _, numbers = stage_of_two(tmp_path)
    summed, counted = (next(n for what, n in numbers.items() if call in what) for call in ("SUM", "COUNT"))
    known = len(sums([*world.rows.values()]))
    assert groups(spark, tmp_path) == {summed: known, counted: known}
    before = entries_of(spark, tmp_path, summed)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    for place in (
        "flinkddl.runtime.job.supervising.beside.made",
        "flinkddl.runtime.storage.checkpoint.begin",
        "flinkddl.runtime.storage.moves._carry",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, killed)
            with pytest.raises(KeyboardInterrupt):
                world.run("below", allow_dropped=True)
    assert world.run("below") == ""  # it ends what the journal of the last one says
    assert groups(spark, tmp_path) == {summed: known}
    assert entries_of(spark, tmp_path, summed) == before
    world.send(NEXT)
    world.send([{**row, "price": row["price"] + 1} for row in list(world.rows.values())])
    assert world.run("below") == ""
    assert world.table("below") == world.recount("below")
    assert set(groups(spark, tmp_path)) == {summed}
    assert notes(spark, tmp_path) == {summed}


def entries_of(spark: SparkSession, folder: Path, node: int) -> list[Any]:
    operator, _ = stage_of_two(folder)
    found = first_entries(spark, operator, 1000, {node})
    return ordered([{part: entry[part] for part in ("key", "value", "result")} for entry in found])


def notes(spark: SparkSession, folder: Path) -> set[int]:
    """Return of which nodes it is noted when their groups were touched."""
    operator, _ = stage_of_two(folder)
    read = spark.read.format("statestore").options(operatorId=operator.number, stateVarName="head")
    spark.conf.set(STATE_FORMAT, operator.settings[STATE_FORMAT])
    keys = [bytes(row.key[0]) for row in read.load(operator.folder).select("key").collect()]
    spark.conf.unset(STATE_FORMAT)
    return {int.from_bytes(key[10:12], "big") for key in keys if key[8:10] == b"\xff\xfe"}
