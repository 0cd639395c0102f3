"""``flinkddl state`` over checkpoints that real jobs have written: what is listed, what is decoded, nothing changed."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import flinkddl.cli.state
from flinkddl.api import Catalog
from flinkddl.cli.main import main
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
ROWS = [{"id": n, "shop": "abc"[n % 3], "v": 10 * n, "at": f"2026-01-02 00:00:{n:02d}"} for n in range(6)]
COLUMNS = "id INT, shop STRING, v DECIMAL(20, 2), `at` TIMESTAMP(3)"
SETS = {
    "totals": "INSERT INTO totals SELECT shop, COUNT(*), MAX(v) FROM orders GROUP BY shop",
    "newest": """INSERT INTO newest SELECT id, shop, v, `at` FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY shop
                 ORDER BY PROCTIME() DESC) AS n FROM orders) WHERE n = 1""",
    "pairs": "INSERT INTO pairs SELECT a.id, b.shop FROM orders AS a JOIN orders AS b ON a.id = b.id",
    "bounds": """INSERT INTO bounds SELECT l.shop, l.n, h.n
                 FROM (SELECT shop, MIN(n) AS n FROM counts GROUP BY shop) AS l
                 JOIN (SELECT shop, MAX(n) AS n FROM counts GROUP BY shop) AS h ON l.shop = h.shop""",
}


def script(folder: Path, form: str) -> str:
    blackhole = "WITH ('connector' = 'blackhole')"
    return f"""
        SET 'flinkddl.execution.state' = '{form}';
        SET 'pipeline.name' = 'daily';
        CREATE TABLE orders ({COLUMNS}) WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'json',
          'source.monitor-interval' = '1s');
        CREATE TABLE totals (shop STRING, n BIGINT, m DECIMAL(20, 2)) {blackhole};
        CREATE TABLE newest ({COLUMNS}) {blackhole};
        CREATE TABLE pairs (id INT, shop STRING) {blackhole};
        CREATE TABLE bounds (shop STRING, low BIGINT, high BIGINT) {blackhole};
        CREATE VIEW counts AS SELECT shop, id, COUNT(*) AS n FROM orders GROUP BY shop, id;
        EXECUTE STATEMENT SET BEGIN {"; ".join(SETS.values())}; END;"""


@pytest.fixture(scope="module")
def checkpoints(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the checkpoint of a form, which one job has written."""
    root = tmp_path_factory.mktemp("state")
    (root / "orders").mkdir()
    (root / "orders" / "a.json").write_text("\n".join(map(json.dumps, ROWS)))

    def made(form: str) -> Path:
        place = root / form
        if not place.exists():
            run = {"checkpoint": str(place), "notice": lambda _: None}
            job = Catalog(spark, views=False).execute_all(script(root / "orders", form), run=run)[-1].job
            assert job is not None
            assert job.await_input(180)
            job.stop()
        return place

    return made


@pytest.fixture
def command(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Return a function that runs the command over the tests' Spark, and looks that no file has changed."""

    @contextmanager
    def same(_: Any) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(flinkddl.cli.state, "_spark", same)

    def call(place: Path, *arguments: str, code: int = 0) -> str:
        before = digest(place)
        assert main(["state", str(place), *arguments]) == code
        assert digest(place) == before
        said = capsys.readouterr()
        return said.err if code else said.out

    return call


def digest(place: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(place.rglob("*")):
        found.update(f"{path}\0".encode() + (path.read_bytes() if path.is_file() else b""))
    return found.hexdigest()


def entries(command: Callable[..., str], place: Path, node: str, *more: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(command(place, "daily", node, "--format", "json", *more))
    return found


@pytest.mark.parametrize("form", [nightly("keyed"), "chain", nightly("aggregate")])
def test_operators_are_listed_with_what_they_keep(
    form: str, checkpoints: Callable[[str], Path], command: Callable[..., str]
) -> None:
    place = checkpoints(form)
    listed = {o["operator"]: o for o in json.loads(command(place, "--format", "json"))}
    rows = {name: o["rows"] for name, o in listed.items()}
    keyed = "stateStoreSave" if form == "aggregate" else "transformWithStateExec"
    assert rows["totals/0"] == rows["newest/0"] == 3, listed
    assert {listed[n]["spark"] for n in ("totals/0", "newest/0")} == {keyed}
    assert sum(n for name, n in rows.items() if name.startswith("pairs/")) >= 6
    for o in listed.values():
        assert o["identity"], o
        assert o["what"], o
        assert o["bytes"] > 0
        assert (o["job"], o["partitions"], o["batch"]) == ("daily", 2, 0)
        assert "RocksDB" in o["layout"]
    assert listed["totals/0"]["identity"].startswith("Aggregate-")
    assert all(versions == [1] for o in listed.values() for versions in (o["layouts"] or {}).values())
    assert bool(listed["totals/0"]["layouts"]) == (form != "aggregate")
    table = command(place, "daily")
    assert table.startswith("job daily, batch 0\n")
    assert all(name in table for name in listed)


def test_it_lists_without_spark(checkpoints: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    place = checkpoints("keyed")
    assert main(["state", str(place), "--no-rows", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [o["rows"] for o in listed] == [None] * len(listed)
    assert {"totals/0", "newest/0"} <= {o["operator"] for o in listed}


@pytest.mark.parametrize("form", [nightly("keyed"), "chain"])
def test_nodes_of_a_stage_are_decoded(
    form: str, checkpoints: Callable[[str], Path], command: Callable[..., str]
) -> None:
    """Two aggregates over one: an operator, whose groups say of which of them they are."""
    place = checkpoints(form)
    (stage,) = (o for o in json.loads(command(place, "--format", "json")) if len(o["nodes"] or ()) > 1)
    low, high = stage["nodes"]
    assert (low["kind"], high["kind"], stage["rows"]) == ("aggregate", "aggregate", 6)
    assert [n["rows"] for n in (low, high)] == [3, 3]
    assert all(n["size"] > 0 for n in (low, high))
    for node in (low, high):
        for limit in (2, 9):
            found = entries(command, place, node["identity"], "--limit", str(limit))
            assert [(e["node"], e["identity"]) for e in found] == [(node["node"], node["identity"])] * min(3, limit)
        assert sorted((e["key"]["shop"], e["value"]["rows"]) for e in found) == [(s, 2) for s in "abc"]
        assert [[*e["result"].values()] for e in found] == [[1]] * 3
    both = entries(command, place, stage["operator"])
    assert sorted(e["node"] for e in both) == sorted([low["node"], high["node"]] * 3)
    assert f"{high['what']}  {high['identity']}  {high['function']}  3 rows, " in command(place, "daily")
    assert "layout 1" in command(place, "daily")


@pytest.mark.parametrize("form", ["keyed", "chain"])
def test_groups_of_state_by_key_are_decoded(
    form: str, checkpoints: Callable[[str], Path], command: Callable[..., str]
) -> None:
    place = checkpoints(form)
    found = entries(command, place, "totals/0")
    totals = {e["key"]["shop"]: e["value"] for e in found}
    assert {shop: (v["layout"], v["rows"]) for shop, v in totals.items()} == dict.fromkeys("abc", (1, 2))
    assert {e["key"]["shop"]: [*e["result"].values()][-1] for e in found} == {"a": "30.00", "b": "40.00", "c": "50.00"}
    assert all("node" not in e for e in found)
    (pair,) = entries(command, place, "pairs/0", "--limit", "1")
    assert [set(row) for row in pair["result"]] == [{"left", "right", "copies"}]
    assert pair["value"]["left"]["rows"] == 1
    found = entries(command, place, "newest/0")
    newest = {e["key"]["shop"]: e["value"] for e in found}
    assert all(v["deleted"] is False for v in newest.values())
    for e in found:
        assert [*e["result"].values()] == [*e["value"]["row"].values()]
    rows = {shop: list(v["row"].values()) for shop, v in newest.items()}
    expected = {r["shop"]: [r["id"], r["shop"], f"{r['v']}.00", r["at"]] for r in ROWS}
    assert {shop: [*map(str, row[:4])] for shop, row in rows.items()} == {
        shop: [*map(str, row)] for shop, row in expected.items()
    }
    assert len(entries(command, place, "newest/0", "--limit", "1")) == 1
    assert "key {" in command(place, "daily", "newest/0")


def test_a_group_beyond_its_head(spark: SparkSession, tmp_path: Path, command: Callable[..., str]) -> None:
    """Of the rows in pages the first are shown, and the result as of all; ages of rows are no entries."""
    (tmp_path / "big").mkdir()
    rows = ({"id": n, "shop": "a", "v": n % 1500, "at": "2026-01-02 00:00:00"} for n in range(3000))
    (tmp_path / "big" / "a.json").write_text("\n".join(map(json.dumps, rows)))
    values = "INSERT INTO totals SELECT shop, COUNT(DISTINCT v), MAX(v) FROM changed GROUP BY shop"
    changed = "CREATE VIEW changed AS SELECT id, MAX(shop) AS shop, MAX(v) AS v FROM orders GROUP BY id"
    ranked = "SELECT *, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY v, id) AS n FROM changed"
    best = f"INSERT INTO pairs SELECT id, shop FROM ({ranked}) WHERE n <= 2"
    text = script(tmp_path / "big", "keyed").partition("EXECUTE")[0]
    text = f"SET 'table.exec.state.ttl' = '1 d'; {text} {changed}; EXECUTE STATEMENT SET BEGIN {values}; {best}; END;"
    run = {"checkpoint": str(tmp_path / "there"), "notice": lambda _: None}
    job = Catalog(spark, views=False).execute_all(text, run=run)[-1].job
    assert job is not None
    assert job.await_input(180)
    job.stop()
    listed = {o["query"]: o for o in json.loads(command(tmp_path / "there", "--format", "json")) if o["number"] == 0}
    assert {name: o["rows"] for name, o in listed.items()} == {"totals": 1, "pairs": 1}
    assert [*listed["pairs"]["layouts"].values()] == [[2]]
    (total,) = entries(command, tmp_path / "there", "totals/0")
    assert [*total["result"].values()] == [1500, "1499.00"]
    distinct = next(call for name, call in total["value"]["calls"].items() if name.startswith("dcount"))
    assert distinct["distinct"] == 1500
    assert distinct["pages"] > 1
    assert 0 < len(distinct["entries"]) < 1500
    assert {e["copies"] for e in distinct["entries"]} == {2}
    assert total["value"]["touched"] > 0
    (top,) = entries(command, tmp_path / "there", "pairs/0")
    assert [next(iter(place["row"].values())) for place in top["result"]] == [0, 1500]
    assert top["value"]["pages"] > 1
    assert [*top["value"]["entries"][0]["entry"].values()]


def test_entries_of_spark_s_own_operators(checkpoints: Callable[[str], Path], command: Callable[..., str]) -> None:
    place = checkpoints("aggregate")
    assert sorted(e["key"]["shop"] for e in entries(command, place, "totals/0")) == ["a", "b", "c"]
    listed = json.loads(command(place, "--format", "json"))
    (identity,) = (o["identity"] for o in listed if o["operator"] == "totals/0")
    assert entries(command, place, identity[:-2]) == entries(command, place, "totals/0")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("dialy",), "did you mean 'daily'?"),
        (("daily", "totlas/0"), "did you mean 'totals/0'?"),
        (("daily", "7"), "no operator with state is called '7'"),
        (("daily", "0"), "several operators are called '0'"),
    ],
)
def test_what_is_not_there_is_said(
    arguments: tuple[str, ...], said: str, checkpoints: Callable[[str], Path], command: Callable[..., str]
) -> None:
    found = command(checkpoints("keyed"), *arguments, code=3)
    assert "FD874" in found
    assert said in found
