"""A job in which equal parts run once, over checkpoints: one that was begun in another form goes on in that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.plan.stateforms import MERGES, NEWER, TABLES, Begun
from tests.support.older import plan_as

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SCRIPT = """
SET 'flinkddl.execution.state' = '{state}';
SET 'pipeline.name' = 'hot';
SET 'table.optimizer.reuse-sub-plan-enabled' = '{together}';
SET 'table.exec.sink.upsert-materialize' = 'NONE';
CREATE TABLE bids (auction INT, slot INT) WITH ('connector' = 'filesystem', 'path' = '{root}/bids', 'format' = 'json',
  'source.monitor-interval' = '1s');
CREATE TABLE hot (slot INT, auction INT, num BIGINT) WITH ('connector' = 'print', 'print-identifier' = 'hot');
CREATE VIEW counts AS SELECT auction, slot, COUNT(*) AS num FROM bids GROUP BY auction, slot;
CREATE VIEW most AS SELECT slot, MAX(num) AS m FROM counts GROUP BY slot;
INSERT INTO hot SELECT c.slot, c.auction, c.num FROM counts AS c JOIN most AS m ON c.slot = m.slot AND c.num = m.m;
"""


@pytest.mark.parametrize(("state", "together"), [("aggregate", "true"), ("keyed", "false"), ("keyed", "true")])
def test_a_job_goes_on_as_it_was_begun(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str], state: str, together: str
) -> None:
    (tmp_path / "bids").mkdir()
    shown = run(spark, tmp_path, capfd, (state, together), [(1, 1), (1, 1), (2, 1), (3, 2)])
    chain = (state, together) == ("keyed", "true")
    assert operators(tmp_path) == (4 if state == "aggregate" else 3)  # by key bids are read once, by both counts
    # by itself it would run by key and together
    shown += run(spark, tmp_path, capfd, ("auto", "true"), [(2, 1), (2, 1), (4, 2)])
    assert operators(tmp_path) == (4 if state == "aggregate" else 3)  # by key bids are read once, by both counts
    assert told(tmp_path) == (chain, [state == "keyed"])
    assert table(shown) == {(1, 2, 3), (2, 3, 1), (2, 4, 1)}


OUTER = """
SET 'flinkddl.execution.state' = 'keyed';
SET 'pipeline.name' = 'hot';
SET 'table.exec.sink.upsert-materialize' = 'NONE';
CREATE TABLE bids (auction INT, slot INT) WITH ('connector' = 'filesystem', 'path' = '{root}/bids', 'format' = 'json',
  'source.monitor-interval' = '1s');
CREATE TABLE hot (auction INT, slot INT, other INT) WITH ('connector' = 'print', 'print-identifier' = 'hot');
INSERT INTO hot SELECT a.auction, a.slot, b.auction FROM bids AS a
  LEFT JOIN bids AS b ON a.slot = b.slot AND a.auction < b.auction;
"""


@pytest.mark.parametrize("older", [True, False])
def test_a_join_with_a_condition_goes_on_as_it_was_begun(
    spark: SparkSession,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    older: bool,
) -> None:
    """Older versions counted the pairs in a second operator."""
    (tmp_path / "bids").mkdir()
    with monkeypatch.context() as patched:
        if older:
            plan_as(patched, Begun(newer=frozenset({MERGES})))
        shown = run(spark, tmp_path, capfd, ("", ""), [(1, 1), (2, 1), (3, 2)], OUTER)
    assert operators(tmp_path) == (2 if older else 1)
    assert table(shown) == {(1, 1, 2), (2, 1, None), (3, 2, None)}
    shown += run(spark, tmp_path, capfd, ("", ""), [(3, 1), (4, 3)], OUTER)
    assert operators(tmp_path) == (2 if older else 1)
    assert table(shown) == {(1, 1, 2), (1, 1, 3), (2, 1, 3), (3, 1, None), (3, 2, None), (4, 3, None)}


TWO = """
SET 'flinkddl.execution.state' = 'auto';
SET 'pipeline.name' = 'hot';
SET 'table.exec.sink.upsert-materialize' = 'NONE';
CREATE TABLE bids (auction INT, slot INT) WITH ('connector' = 'filesystem', 'path' = '{root}/bids', 'format' = 'json',
  'source.monitor-interval' = '1s');
CREATE TABLE hot (what INT, g INT, n BIGINT) WITH ('connector' = 'print', 'print-identifier' = 'hot');
INSERT INTO hot SELECT 1, auction, COUNT(DISTINCT slot) FROM bids GROUP BY auction
  UNION ALL SELECT 2, slot, COUNT(DISTINCT auction) FROM bids GROUP BY slot;
"""


@pytest.mark.parametrize("older", [True, False])
def test_a_table_that_was_read_for_each_mention_goes_on_as_it_was_begun(
    spark: SparkSession,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    older: bool,
) -> None:
    (tmp_path / "bids").mkdir()
    with monkeypatch.context() as patched:
        if older:
            plan_as(patched, Begun(newer=NEWER - {TABLES}))
        shown = run(spark, tmp_path, capfd, ("", ""), [(1, 1), (2, 1), (3, 2)], TWO)
    assert operators(tmp_path) == (2 if older else 1)
    assert table(shown) == {(1, 1, 1), (1, 2, 1), (1, 3, 1), (2, 1, 2), (2, 2, 1)}
    shown += run(spark, tmp_path, capfd, ("", ""), [(3, 1), (3, 2), (1, 1)], TWO)
    assert operators(tmp_path) == (2 if older else 1)
    assert table(shown) == {(1, 1, 1), (1, 2, 1), (1, 3, 2), (2, 1, 3), (2, 2, 1)}


def run(
    spark: SparkSession,
    root: Path,
    capfd: pytest.CaptureFixture[str],
    form: tuple[str, str],
    rows: list[tuple[int, int]],
    script: str = SCRIPT,
) -> list[str]:
    """Run over one file more, with a form of state, equal parts together or not; return what was printed."""
    bids = root / "bids"
    lines = (json.dumps({"auction": a, "slot": s}) for a, s in rows)
    (bids / f"{len(list(bids.iterdir()))}.json").write_text("\n".join(lines))
    capfd.readouterr()
    options = {"checkpoint": str(root / "state"), "notice": lambda _: None}
    script = script.format(root=root, state=form[0], together=form[1])
    job = Catalog(spark, views=False).execute_all(script, run=options)[-1].job
    assert job is not None
    assert job.await_input(180)
    job.stop()
    return [line for line in capfd.readouterr().out.splitlines() if line.startswith("hot")]


def operators(root: Path) -> int:
    return len([p for p in next((root / "state").rglob("state")).iterdir() if p.name.isdigit()])


def told(root: Path) -> tuple[bool, list[bool]]:
    """Return what the checkpoint says: whether equal parts run once, and which queries are by key."""
    (plan,) = (root / "state").rglob("flinkddl-plan.json")
    found = json.loads(plan.read_text())
    return found["merges"], list(found["forms"].values())


def table(shown: list[str]) -> set[tuple[int | None, ...]]:
    """Return the rows that changes leave."""
    left: set[tuple[int | None, ...]] = set()
    for line in shown:
        kind, _, values = line.partition("> ")[2].partition("[")
        row = tuple(None if v.strip() == "null" else int(v) for v in values.rstrip("]").split(","))
        left = left | {row} if kind in ("+I", "+U") else left - {row}
    return left
