"""INSERTs of a statement set over one topic are one query: the rows of separate runs, over restarts and edits."""

from __future__ import annotations

import json
import random
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError
from tests.e2e.test_pageviews import run_command, wait_until
from tests.soak.queries import script
from tests.support.nightly import nightly
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.job.reporting.progress import Progress

pytestmark = pytest.mark.kafka
SECONDS = 120.0
ROWS = [{"id": n, "shop": "abc"[n % 3], "v": n // 3 % 4, "ts": f"2024-03-01 10:00:{n:02d}"} for n in range(24)]
LATER = [{"id": n, "shop": "abcd"[n % 4], "v": n % 7, "ts": f"2024-03-01 10:00:{n:02d}"} for n in range(24, 48)]
INSERTS = {
    "few": "INSERT INTO few SELECT id, v FROM orders WHERE v > 1",
    "named": "INSERT INTO named SELECT id, UPPER(shop) FROM orders WHERE id % 2 = 0",
    "all_": "INSERT INTO all_ SELECT id, 100 / v FROM orders WHERE v <> 0",
    "counts": "INSERT INTO counts SELECT shop, COUNT(DISTINCT v) FROM orders GROUP BY shop",
    "tops": "INSERT INTO tops SELECT shop, MAX(n) FROM (SELECT shop, v, COUNT(*) AS n FROM orders GROUP BY shop, v) "
    "GROUP BY shop",
    "pairs": "INSERT INTO pairs SELECT x.id, y.id FROM orders x JOIN orders y ON x.id = y.v AND x.shop = y.shop",
}
WINDOW = """INSERT INTO tens SELECT CAST(window_start AS STRING), COUNT(*) FROM TABLE(TUMBLE(TABLE orders,
  DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end; INSERT"""
STATELESS, KEYED = ("few", "named", "all_"), ("counts", "tops", "pairs")


class World:
    """Topics of their own, and runs of a statement set over them, each to the end of what is there."""

    def __init__(self, spark: SparkSession, broker: Broker, new_topic: Callable[..., str], folder: Path) -> None:
        self.spark, self.servers, self.folder, self.new_topic = spark, broker.bootstrap, folder, new_topic
        self.source = new_topic("orders", partitions=2)
        self.topics = self.fresh()
        self.told: list[str] = []
        self.batches: list[Progress] = []

    def fresh(self) -> dict[str, str]:
        """Return sinks' topics that are new."""
        return {name: self.new_topic(name) for name in INSERTS}

    def script(self, names: tuple[str, ...], *changes: tuple[str, str]) -> str:
        kafka = f"'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = '{self.servers}'"
        upsert = kafka.replace("'kafka', 'format'", "'upsert-kafka', 'key.format' = 'json', 'value.format'")
        keyed = "(shop STRING, n BIGINT, PRIMARY KEY (shop) NOT ENFORCED)"
        columns = dict.fromkeys(INSERTS, ("(id INT, n INT)", kafka)) | {"named": ("(id INT, shop STRING)", kafka)}
        columns |= dict.fromkeys(("counts", "tops"), (keyed, upsert))
        tables = ";\n".join(
            f"CREATE TABLE {name} {of} WITH ({how}, 'topic' = '{self.topics[name]}')"
            for name, (of, how) in columns.items()
        )
        text = f"""
            SET 'pipeline.name' = 'set';
            CREATE TABLE orders (id INT, shop STRING, v INT, ts TIMESTAMP(3), unread STRING,
              WATERMARK FOR ts AS ts - INTERVAL '3' SECOND) WITH ({kafka},
              'topic' = '{self.source}', 'scan.startup.mode' = 'earliest-offset');
            {tables};
            EXECUTE STATEMENT SET BEGIN {"; ".join(INSERTS[name] for name in names)}; END;\n"""
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        return text

    def run(self, text: str, **run: Any) -> Any:
        options = {"checkpoint": str(self.folder), "notice": self.told.append, "on_progress": self.batches.append}
        job = Catalog(self.spark, views=False).execute_all(text, run=options | run)[-1].job
        assert job is not None
        try:
            assert job.await_input(SECONDS)
        finally:
            job.stop()
        return job

    def table(self, name: str) -> Counter[Any]:
        """Return the rows of a sink: of one with a key the last of each key."""
        found: list[Any] = []
        last: dict[bytes, bytes | None] = {}
        for record in committed(self.servers, self.topics[name]):
            if record.key is None:
                found.append(tuple(json.loads(record.value).values()))
            else:
                last[record.key] = record.value
        found += [tuple(json.loads(value).values()) for value in last.values() if value is not None]
        return Counter(found)


@pytest.fixture
def world(spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> World:
    return World(spark, broker, new_topic, tmp_path)


def queries(job: Any) -> Any:
    """Return the queries that a job runs, in the form in which its checkpoint was begun."""
    return job._running._held.job.runs


def wanted(name: str, rows: list[dict[str, Any]]) -> Counter[Any]:
    """Return what an INSERT leaves of all rows."""
    shops = {r["shop"] for r in rows}
    pairs = Counter((r["shop"], r["v"]) for r in rows)
    by_id = {(r["id"], r["shop"]): r for r in rows}
    return Counter(
        {
            "few": lambda: [(r["id"], r["v"]) for r in rows if r["v"] > 1],
            "named": lambda: [(r["id"], r["shop"].upper()) for r in rows if r["id"] % 2 == 0],
            "all_": lambda: [(r["id"], 100 // r["v"]) for r in rows if r["v"]],
            "counts": lambda: [(s, len({r["v"] for r in rows if r["shop"] == s})) for s in shops],
            "tops": lambda: [(s, max(n for (shop, _), n in pairs.items() if shop == s)) for s in shops],
            "pairs": lambda: [(r["v"], r["id"]) for r in rows if (r["v"], r["shop"]) in by_id],
        }[name]()
    )


@pytest.mark.parametrize("names", [STATELESS, KEYED], ids=["stateless", "keyed"])
def test_a_topic_is_read_once_and_a_restart_goes_on(names: tuple[str, ...], world: World) -> None:
    send(world.servers, world.source, ROWS)
    job = world.run(world.script(names))
    (query,) = queries(job)
    assert query.parts == tuple(f"default_catalog.default_database.{name}" for name in sorted(names))
    assert {name: world.table(name) for name in names} == {name: wanted(name, ROWS) for name in names}
    # each INSERT tells of all rows that its query has read, which are read once, and of its own records
    assert {p.rows_in for p in job.progress if p.rows_in} <= {len(ROWS)}
    read = Counter(p.write for p in world.batches for _ in range(p.rows_in))
    assert set(read.values()) == {len(ROWS)}
    assert len(read) == len(names)
    send(world.servers, world.source, LATER)
    world.run(world.script(names))
    assert {name: world.table(name) for name in names} == {name: wanted(name, ROWS + LATER) for name in names}
    assert world.told == []


def written(world: World) -> dict[str, int]:
    """Return the records that each sink was told of."""
    out: Counter[str] = Counter()
    for p in world.batches:
        out[p.write.rpartition(".")[2]] += p.upserts
    return dict(out)


@pytest.mark.parametrize("names", [pytest.param((*STATELESS, *KEYED), id="both"), nightly(KEYED, id="keyed")])
def test_a_savepoint_has_all_of_a_set(
    names: tuple[str, ...], world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a job that runs and of its end; gone on from at another path, as the queries that they were."""
    send(world.servers, world.source, ROWS)
    catalog, folder = Catalog(world.spark, views=False), tmp_path / "begun"
    job = catalog.execute_all(world.script(names), run={"checkpoint": str(folder)})[-1].job
    assert job is not None
    assert job.await_input(SECONDS)
    first = [query.parts for query in queries(job)]
    catalog.execute(f"SET 'state.savepoints.dir' = '{tmp_path / 'sp'}'")
    ((path,),) = catalog.execute("STOP JOB '1' WITH SAVEPOINT").rows
    moved = Path(path).rename(tmp_path / "moved")
    folder.rename(tmp_path / "gone")
    send(world.servers, world.source, LATER)

    recovery = ("SET 'pipeline.name'", f"SET 'execution.savepoint.path' = '{moved}'; SET 'pipeline.name'")
    job = world.run(world.script(names, recovery), checkpoint=str(tmp_path / "new"))
    assert [query.parts for query in queries(job)] == first
    assert max(map(len, first)) > 1
    for name in names:  # each row once, whatever the first run had written of it
        assert world.table(name) == wanted(name, ROWS + LATER), name
    (tmp_path / "set.sql").write_text(world.script(names))
    (tmp_path / "less.sql").write_text(world.script(names[1:]))
    assert main(["savepoint", "describe", str(moved), "--script", str(tmp_path / "set.sql")]) == 0
    assert "resumes from it" in capsys.readouterr().out
    assert main(["savepoint", "describe", str(moved), "--script", str(tmp_path / "less.sql")]) == 3
    with pytest.raises(FlinkDdlError, match="FD858"):
        world.run(world.script(names[1:], recovery), checkpoint=str(tmp_path / "less"))


def test_counts_are_of_each_insert(world: World) -> None:
    send(world.servers, world.source, ROWS)
    world.run(world.script(STATELESS))
    assert written(world) == {name: wanted(name, ROWS).total() for name in STATELESS}


def test_one_that_comes_is_a_query_of_its_own_and_one_that_goes_leaves_the_others(world: World) -> None:
    send(world.servers, world.source, ROWS)
    world.run(world.script(("few", "named")))
    send(world.servers, world.source, LATER)
    job = world.run(world.script(("all_", "named", "few")))
    assert [bool(run.parts) for run in queries(job)] == [False, True]
    assert "kept: orders-read-once" in "".join(world.told)
    assert "new: all_" in "".join(world.told)
    assert all(world.table(name) == wanted(name, ROWS + LATER) for name in STATELESS)
    more = [{**r, "id": r["id"] + 48} for r in ROWS]
    send(world.servers, world.source, more)
    world.run(world.script(("few", "all_")))
    everything = ROWS + LATER + more
    assert (world.table("few"), world.table("all_")) == (wanted("few", everything), wanted("all_", everything))
    assert world.table("named") == wanted("named", ROWS + LATER)


def test_one_with_state_goes_and_leaves_the_others(world: World) -> None:
    """It asks first; what it shared stays with the others, and when it comes again it is a query of its own."""
    send(world.servers, world.source, ROWS)
    world.run(world.script(KEYED))
    with pytest.raises(FlinkDdlError, match=r"FD820.*dropped: orders-read-once .*MAX\(n\).*--allow-dropped-state"):
        world.run(world.script(("counts", "pairs")))
    send(world.servers, world.source, LATER)
    job = world.run(world.script(("counts", "pairs")), allow_dropped=True)
    assert [len(run.parts) for run in queries(job)] == [2]
    assert all(world.table(name) == wanted(name, ROWS + LATER) for name in ("counts", "pairs"))
    assert world.table("tops") == wanted("tops", ROWS)
    more = [{**r, "id": r["id"] + 48} for r in ROWS]
    send(world.servers, world.source, more)
    world.told.clear()
    job = world.run(world.script(KEYED))
    assert sorted(len(run.parts) for run in queries(job)) == [0, 2]
    assert "new: tops" in "".join(world.told)
    assert all(world.table(name) == wanted(name, ROWS + LATER + more) for name in KEYED)
    again = [{**r, "id": r["id"] + 96} for r in LATER]
    send(world.servers, world.source, again)
    world.run(world.script(("pairs",)), allow_dropped=True)
    assert world.table("pairs") == wanted("pairs", ROWS + LATER + more + again)


OFF = ("SET 'pipeline", "SET 'table.optimizer.reuse-source-enabled' = 'false'; SET 'pipeline")


def test_queries_stay_as_they_were_begun(world: World) -> None:
    send(world.servers, world.source, ROWS)
    world.run(world.script(("few", "named"), OFF))
    send(world.servers, world.source, LATER)
    job = world.run(world.script(("few", "named")))
    assert [bool(run.parts) for run in queries(job)] == [False, False]
    assert all(world.table(name) == wanted(name, ROWS + LATER) for name in ("few", "named"))


def test_one_query_cannot_become_two(world: World) -> None:
    send(world.servers, world.source, ROWS)
    world.run(world.script(("few", "named")))
    with pytest.raises(FlinkDdlError, match="FD894: the INSERT into 'few' was one query with 'named'"):
        world.run(world.script(("few", "named"), OFF))
    assert all(world.table(name) == wanted(name, ROWS) for name in ("few", "named"))


def test_a_set_of_both_kinds_reads_a_topic_twice(world: World) -> None:
    """The rows are those of runs in which each INSERT is a query of its own."""
    send(world.servers, world.source, ROWS)
    job = world.run(world.script(tuple(INSERTS)))
    assert [len(run.parts) for run in queries(job)] == [3, 3]
    together = {name: world.table(name) for name in INSERTS}
    world.topics, world.folder = world.fresh(), world.folder / "apart"
    job = world.run(world.script(tuple(INSERTS), OFF))
    assert [len(run.parts) for run in queries(job)] == [0] * 6
    assert together == {name: world.table(name) for name in INSERTS}
    assert together == {name: wanted(name, ROWS) for name in INSERTS}


def test_rows_keep_their_order(world: World) -> None:
    """Each sink has the rows of a partition of the source in their order, as from a query of its own."""
    rows = [{"id": n, "shop": "a", "v": 3, "ts": "2024-03-01 10:00:00"} for n in range(3000)]
    send(world.servers, world.source, rows, partition=0)
    world.run(world.script(("few", "named")))
    for name, ids in (("few", range(3000)), ("named", range(0, 3000, 2))):
        assert [json.loads(r.value)["id"] for r in committed(world.servers, world.topics[name])] == [*ids]


def test_one_that_fails_takes_its_query_with_it(world: World) -> None:
    """It is started again as a whole, and the error names the INSERT whose expression it is."""
    send(world.servers, world.source, ROWS)
    once = (
        "SET 'restart-strategy.type' = 'fixed-delay'; SET 'restart-strategy.fixed-delay.delay' = '1 s'; SET 'pipeline"
    )
    with pytest.raises(FlinkDdlError, match=r"FD830.*the query into 'all_' failed.*Division by zero"):
        world.run(world.script(("few", "all_"), (" WHERE v <> 0", ""), ("SET 'pipeline", once)))
    assert any("restarting in 1 s" in said and "'all_'" in said for said in world.told)


def test_a_window_beside_them(world: World) -> None:
    """Its table has a watermark for each partition, in each query that reads it."""
    send(world.servers, world.source, ROWS + LATER)
    world.topics["tens"] = world.new_topic("tens")
    kafka = f"'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = '{world.servers}'"
    table = f"CREATE TABLE tens (w STRING, n BIGINT) WITH ({kafka}, 'topic' = '{world.topics['tens']}'); EXECUTE"
    job = world.run(world.script(("few", "named"), ("EXECUTE", table), ("BEGIN INSERT", f"BEGIN {WINDOW}")))
    assert [len(run.parts) for run in queries(job)] == [0, 2]
    assert all(world.table(name) == wanted(name, ROWS + LATER) for name in ("few", "named"))
    assert world.table("tens") == Counter({(f"2024-03-01 10:00:{n}0.000", 10): 1 for n in range(4)})


@pytest.mark.slow
def test_killed_and_started_again(world: World) -> None:
    """Nothing is lost: what a batch had written comes again, tables by key are those of a recount."""
    names, count = ("few", "named", "counts", "tops"), 1800
    rows = [{"id": n, "shop": "abcdefg"[n % 7], "v": n * 31 % 50, "ts": "2024-03-01 10:00:00"} for n in range(count)]
    send(world.servers, world.source, rows)
    slowly = ("SET 'pipeline", "SET 'flinkddl.execution.max-offsets-per-trigger' = '200'; SET 'pipeline")
    file, state = world.folder / "set.sql", world.folder / "state"
    file.write_text(world.script(names, slowly), encoding="utf-8")
    run = run_command(file, world.servers, state)
    queries = ("orders-read-once", "orders-read-once-2")
    commits = [state / "set" / "set" / f"default_catalog.default_database.{name}" / "commits" for name in queries]
    wait_until(lambda: all(len(list(c.glob("[0-9]*"))) > 1 for c in commits), run)
    run.send_signal(signal.SIGKILL)
    run.wait(60)
    assert any(len(list(c.glob("[0-9]*"))) < count // 200 for c in commits)
    world.run(world.script(names), checkpoint=str(state / "set"))
    for name in names:
        found = world.table(name)
        assert set(found) == set(wanted(name, rows))
        if name in KEYED:
            assert found == wanted(name, rows)


@pytest.mark.slow
def test_twenty_inserts(world: World) -> None:
    """Together and by themselves they leave the same tables, over a restart."""
    topics = {name: world.new_topic(name, partitions=2) for name in ("orders", "custs", "stock")}
    names = [world.new_topic("many") for _ in range(40)]
    tables: list[list[dict[bytes, bytes]]] = []
    for half in range(2):
        fill(world.servers, topics, half)
        for n, more in enumerate(("", OFF[1].partition(";")[0] + ";")):
            text = script(world.servers, 20, "many", 1000).replace(", 'scan.bounded.mode' = 'latest-offset'", "")
            for name, topic in topics.items():
                text = text.replace(f"'topic' = '{name}'", f"'topic' = '{topic}'")
            for i, name in enumerate(names[20 * n : 20 * n + 20]):
                text = text.replace(f"'topic' = 'many-{i}'", f"'topic' = '{name}'")
            text = text.partition(";")[2]  # its mode of execution, which is chosen by its sources here
            job = world.run(f"SET 'pipeline.name' = 'many'; {more} {text}", checkpoint=str(world.folder / str(n)))
            assert len(queries(job)) == (20 if n else 5)
        last = [{r.key: r.value for r in committed(world.servers, name)} for name in names]
        tables.append([{k: v for k, v in table.items() if v is not None} for table in last])
    for together in tables:
        assert together[:20] == together[20:]
    assert all(tables[1])


def fill(servers: str, topics: dict[str, str], half: int) -> None:
    """Send orders, customers that change, and a changelog of the stock."""
    from kafka import KafkaProducer

    chance = random.Random(half)
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=50)
    for n in range(150 * half, 150 * half + 150):
        order = {"id": n, "cust": chance.randrange(20), "region": chance.choice("abc"), "price": n * 7 % 101}
        producer.send(topics["orders"], json.dumps(order).encode())
        item = {"item": n, "region": chance.choice("abc"), "n": chance.randrange(60)}
        producer.send(topics["stock"], json.dumps({"op": "c", "before": None, "after": item}).encode())
        who = chance.randrange(24)
        cust = {"cust": who, "tier": chance.choice("xyz"), "credit": who * 100 + n % 50}
        value = None if chance.random() < 0.1 else json.dumps(cust).encode()
        producer.send(topics["custs"], value, key=json.dumps({"cust": who}).encode())
    producer.close()
