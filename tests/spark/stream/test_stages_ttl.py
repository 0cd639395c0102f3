"""State by key that is forgotten: by the time that Spark logs for a batch, which these tests write into its log."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.plan import nodes as N
from flinkddl.spark.context import WEIGHT
from flinkddl.spark.job import GroupBy
from tests.spark.stream.harness import Feed, feed, write
from tests.spark.stream.stages import FIELDS, KEYED, Staged, changes, deliveries, expected, forget_commit, source
from tests.spark.stream.test_chain import counts, per_key
from tests.spark.stream.test_operators import agg, fields
from tests.spark.stream.test_stages import BEYOND, QUERIES, join, same, top
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTE = 60_000  # ms
HOUR = {"table.exec.state.ttl": "1 h"}
SWEEP = b"\xff" * 9 + b"\xfe"  # what the keys of groups begin with that say which others are old (Sweep.java)


@dataclass
class Clocked(Staged):
    """A query with a TTL whose batches run at a time of ours."""

    config: dict[str, str] = field(default_factory=lambda: KEYED | HOUR)
    start: int = 0

    def logged(self, number: int) -> Path:
        return Path(self.checkpoint) / "offsets" / str(number)

    def batch(self, number: int, minutes: int) -> Counter[Any]:
        """Run the batch that is there so long after the first; return what it gave.

        Spark logs a batch before it runs and reads the log when it runs again: so it runs, and again at the other time.
        """
        table, rows, wrong = Counter(self.table), dict(self.rows), list(self.wrong)
        self.go()
        version, metadata, *offsets = self.logged(number).read_text().splitlines()
        self.start = self.start or json.loads(metadata)["batchTimestampMs"]
        told = json.loads(metadata) | {"batchTimestampMs": self.start + minutes * MINUTE}
        self.logged(number).write_text("\n".join((version, json.dumps(told), *offsets)))
        self.logged(number).with_name(f".{number}.crc").unlink(missing_ok=True)
        self.table, self.rows, self.wrong = table, rows, wrong
        self.given.pop(number)
        self.again(number)
        return self.given[number][-1]

    def again(self, number: int) -> None:
        """Run a batch that was planned once more."""
        forget_commit(self.checkpoint, number)
        self.go()

    def groups(self) -> int:
        """Return how many groups there are in the state of the first operator."""
        read = self.spark.read.format("statestore").option("stateVarName", "head").option("operatorId", 0)
        keys = [bytes(next(iter(r.key))) for r in read.load(self.checkpoint).collect()]
        return sum(not k.startswith(SWEEP) for k in keys)


@pytest.mark.spark
@pytest.mark.parametrize(
    "name",
    [
        "join-left",
        *map(nightly, ("normalise", "aggregates-delta", "top-append", "top-delta-second", "over-rows-delta")),
    ],
)
def test_what_was_forgotten_was_never_there(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Two hours on, in whatever order and batches: only what came since; a batch run again, later, gives the same."""
    query = QUERIES[name]
    nodes, later, left = [], [], []
    for n, kind in enumerate(query.inputs):
        node, _ = source(tmp_path / f"t{n}", kind, seed=n + 1)
        records, rows = changes(kind, seed=n + 11)
        nodes.append(node)
        later.append(deliveries(records, n + 11, batches=2))
        left.append(rows)
    running = Clocked(spark, query.build(*nodes))
    running.go()
    running.start = json.loads(running.logged(0).read_text().splitlines()[1])["batchTimestampMs"]
    assert set(running.forms) == {"keyed"}
    assert running.table
    running.table = Counter()
    for number, minutes in ((4, 120), (5, 150)):
        for node, files in zip(nodes, later, strict=True):
            write(node.folder, number, files[number - 4])
        running.batch(number, minutes)
    assert running.table == expected(query.model(*left), query.by_trial)
    assert not running.wrong
    state = running.state(query.operators)
    running.again(5)
    assert len(running.given[5]) == 2
    assert running.given[5][0] == running.given[5][1]
    assert running.state(query.operators) == state
    running.close()


def put(node: Feed, number: int, seq: int, rows: list[tuple[int, str, int]]) -> None:
    """Write a file of rows (id, k, v); one with an id below 0 is taken back."""
    write(
        node.folder,
        number,
        [
            {"t": 0, "id": abs(i), "k": k, "v": v, "__seq": seq + n, "__w": -1 if i < 0 else 1}
            for n, (i, k, v) in enumerate(rows)
        ],
    )


@pytest.mark.spark
def test_a_join_forgets_rows_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    left, right = (feed(tmp_path / name, FIELDS, "delta") for name in ("l", "r"))
    running = Clocked(spark, join("left")(left, right))
    for number, minutes, one, two in ((0, 0, 1, 6), (1, 40, None, 7), (2, 70, 2, None), (3, 140, 3, None)):
        put(left, number, 10 * number, [(one, "a", 0)] if one else [])
        put(right, number, 10 * number, [(two, "a", 0)] if two else [])
        running.batch(number, minutes)
    met = [(1, 6), (1, 7), (2, 7)]  # at 70 minutes the rows 1 and 6 are gone, at 140 all are, without a word
    assert running.table == Counter([*((a, "a", 0, b, "a", 0) for a, b in met), (3, "a", 0, None, None, None)])
    assert running.groups() == 1
    running.close()


@pytest.mark.spark
def test_a_match_that_is_forgotten_is_not_taken_back(spark: SparkSession, tmp_path: Path) -> None:
    """How many rows match a row stays with it, and a match makes it young."""
    left, right = (feed(tmp_path / name, FIELDS, "delta") for name in ("l", "r"))
    running = Clocked(spark, join("left", BEYOND)(left, right))
    batches = ((0, 1, 6), (40, None, 7), (70, 2, 8), (90, None, -7), (120, 3, -8))
    for number, (minutes, one, two) in enumerate(batches):
        put(left, number, 10 * number, [(one, "a", 0)] if one else [])
        put(right, number, 10 * number, [(two, "a", abs(two))] if two else [])
        running.batch(number, minutes)
    # at 70 minutes row 6 is gone, and its pair stays; row 1 was matched at 40 and at 70
    met = [(1, 6), (2, None), (3, None)]
    assert running.table == Counter((a, "a", 0, *((b, "a", b) if b else (None, None, None))) for a, b in met)
    assert not running.wrong
    assert running.groups() == 1
    running.close()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["append", "delta"])
def test_a_top_forgets_rows_one_by_one(spark: SparkSession, tmp_path: Path, kind: Any) -> None:
    table = feed(tmp_path / "t", FIELDS, kind)
    running = Clocked(spark, top(1, 2)(table))
    given = []
    for number, minutes, row in ((0, 0, (1, "a", 1)), (1, 40, (2, "a", 5)), (2, 70, (3, "a", 6)), (3, 80, (4, "a", 2))):
        put(table, number, 10 * number, [row])
        rows = running.batch(number, minutes)
        at = (*running.rel.columns, *running.rel.reserved).index(WEIGHT)
        given.append({(r[1], r[at]) for r in rows})
    # the first row is gone when the third comes; the fourth puts out the third
    assert given == [{(1, 1)}, {(2, 1)}, {(3, 1)}, {(4, 1), (3, -1)}]
    running.close()


@pytest.mark.spark
def test_nodes_of_a_stage_have_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """Two sums of one depth above the same counts: two hours on, that with one hour begins anew."""
    table = feed(tmp_path / "t", FIELDS, "append")
    one, three = (replace(per_key(counts(table), "s", "SUM", 3), ttl=n * 60 * MINUTE) for n in (1, 3))
    running = Clocked(spark, N.Union(fields=one.fields, parts=(one, three)), config=dict(KEYED))
    given = []
    for number, minutes, v, times in ((0, 0, 1, 2), (1, 120, 2, 3)):
        put(table, number, 10 * number, [(n, "a", v) for n in range(times)])
        found: Counter[int] = Counter()
        for row, n in running.batch(number, minutes).items():
            found[row[2]] += n * row[(*running.rel.columns, *running.rel.reserved).index(WEIGHT)]
        given.append({s: n for s, n in found.items() if n})
    (stage,) = (step.stage for step in running.steps if isinstance(step, GroupBy) and step.stage)
    assert sorted(n.call.ttl for n in stage.nodes) == [(60 * MINUTE,), (180 * MINUTE,)]
    assert given == [{2: 2}, {3: 1, 2: -1, 5: 1}]
    running.close()


@pytest.mark.spark
def test_what_nobody_touches_is_swept(spark: SparkSession, tmp_path: Path) -> None:
    """Groups go with a batch that has rows of others; one that was touched meanwhile stays its time."""
    table = feed(tmp_path / "t", FIELDS, "upsert", (0, 1))
    running = Clocked(spark, same(table))
    found = []
    for number, minutes, ids in ((0, 0, range(20)), (1, 40, range(5)), (2, 70, range(20, 40)), (3, 120, range(40, 50))):
        rows = [{"t": 0, "id": i, "k": "a", "v": number, "__version": 100 * number + i} for i in ids]
        write(table.folder, number, [r | {"__deleted": False, "__seq": r["__version"]} for r in rows])
        running.batch(number, minutes)
        found.append(running.groups())
    assert found == [20, 20, 25, 30]
    running.close()


@pytest.mark.spark
def test_a_row_of_any_node_sweeps_all_of_its_stage(spark: SparkSession, tmp_path: Path) -> None:
    """Two tables, an aggregate each, one stage: what the first one left goes with rows of the second."""
    one, two = (feed(tmp_path / name, FIELDS, "append") for name in "ab")
    sums = [N.Aggregate(fields=fields("id", "n"), input=t, keys=(1,), aggs=(agg("SUM", 3),)) for t in (one, two)]
    chain = HOUR | {"flinkddl.execution.state": "chain"}
    running = Clocked(spark, N.Union(fields=sums[0].fields, parts=tuple(sums)), config=chain)
    found = []
    for number, minutes, ids, others in ((0, 0, 20, 0), (1, 120, 0, 40), (2, 130, 0, 40)):
        put(one, number, 100 * number, [(i + 1, "a", 1) for i in range(ids)])
        put(two, number, 100 * number, [(i + 1, "a", 1) for i in range(others)])
        running.batch(number, minutes)
        found.append(running.groups())
    (stage,) = (step.stage for step in running.steps if isinstance(step, GroupBy))
    assert stage is not None
    assert len(stage.nodes) == 2
    assert found == [20, 40, 40]
    running.close()


@pytest.mark.spark
@pytest.mark.slow
def test_a_ttl_may_come_and_go_over_the_same_state(spark: SparkSession, tmp_path: Path) -> None:
    """State of before the TTL ages from its first batch with one; without one again, nothing goes."""
    left, right = (feed(tmp_path / name, FIELDS, "delta") for name in ("l", "r"))
    running = Clocked(spark, join("inner")(left, right))
    configs = (KEYED, KEYED | HOUR, KEYED | HOUR, KEYED)
    pairs = []
    for number, (minutes, config) in enumerate(zip((0, 200, 250, 900), configs, strict=True)):
        running.config = dict(config)
        put(left, number, 10 * number, [(number, "a", 0)])
        put(right, number, 10 * number, [(9, "a", 0)] if number == 0 else [])
        pairs.append(len(running.batch(number, minutes)))
    assert pairs == [1, 1, 1, 1]
    running.config = KEYED | HOUR
    put(left, 4, 90, [(4, "a", 0)])
    assert len(running.batch(4, 990)) == 1  # they begin to age anew
    put(left, 5, 95, [(5, "a", 0)])
    assert len(running.batch(5, 1100)) == 0
    running.close()
