"""Order above operators by key: what comes out in a later batch came later, whatever its bytes and its source say."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import AggCall, Call, InputRef, SortKey
from flinkddl.spark.stream import kinds, ranking
from tests.spark.stream.harness import Feed, feed, write
from tests.spark.stream.stages import FIELDS, Row, Staged, deliveries, expected, forget_commit
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.stream.harness import Accepts, Meets

pytestmark = pytest.mark.spark

TRIALS = 8
BATCHES = 6
STATES = ("aggregate", "keyed", "chain")
WIDE = (*FIELDS, *(N.Field(f"{f.name}2", f.type) for f in FIELDS))


def ref(index: int, fields: tuple[N.Field, ...] = WIDE) -> InputRef:
    return InputRef(fields[index].type, index)


# ---- tables: in each batch each trial has one change, so that the order of all of them is known --


Change = tuple[int, Row | None, Row | None]
"""The id of a row, what it was and what it is."""


class Table:
    """Random changes of rows (id, k, v) of a trial, and the rows that are there in the order in which they came."""

    def __init__(self, seed: int, kind: str) -> None:
        self.random = random.Random(seed)
        self.appends = kind == "append"
        self.live: dict[int, Row] = {}
        self.values = self.random.sample(range(100), 50)

    def change(self, ids: range, number: int) -> Change:
        """Change a row, or let it come or go."""
        r = self.random
        id = ids[number] if self.appends else r.choice(ids[:4])
        old = self.live.pop(id, None)
        if old is not None and r.random() < 0.3:
            return id, old, None
        self.live[id] = (id, r.choice("ab"), self.values.pop())
        return id, old, self.live[id]


def records(kind: str, seq: int, change: Change) -> list[dict[str, Any]]:
    id, old, new = change

    def record(row: Row, **more: Any) -> dict[str, Any]:
        return dict(zip(("id", "k", "v"), row, strict=True)) | {"__seq": seq} | more

    if kind == "append":
        return [record(new or ())]
    if kind == "upsert":
        return [record(new or (id, None, None), __version=seq, __deleted=new is None)]
    return [record(row, __w=w) for w, row in ((-1, old), (1, new)) if row is not None]


IDS = {"a": range(10), "b": range(10, 20)}


class Tables:
    """Tables of these names, of which each batch changes one, and a table beside them."""

    def __init__(self, folder: Path, kind: str, names: str) -> None:
        keys = (0, 1) if kind == "upsert" else ()
        self.kind, self.names = kind, names
        self.nodes = {name: feed(folder / name, FIELDS, kind, keys) for name in names}  # type: ignore[arg-type]
        self.nodes["beside"] = feed(folder / "beside", FIELDS)
        self.trials = [Table(seed, kind) for seed in range(TRIALS)]
        self.random = random.Random(7)
        ids = [i for name in names for i in IDS[name]]
        rows = [{"t": t, "id": i, "k": "x", "v": 0, "__seq": 0} for t in range(TRIALS) for i in ids]
        write(self.nodes["beside"].folder, 0, rows)

    def write(self, numbers: range) -> None:
        for number in numbers:
            files: dict[str, list[dict[str, Any]]] = {name: [] for name in self.names}
            for trial, table in enumerate(self.trials):
                name = self.random.choice(self.names)
                # the records of a are many, those of b few: what b gives has the lower sequences
                seq = number + (1000 if name == "a" else 0)
                files[name] += [{"t": trial, **r} for r in records(self.kind, seq, table.change(IDS[name], number))]
            for name, rows in files.items():
                write(self.nodes[name].folder, number, rows)

    @property
    def rows(self) -> list[list[Row]]:
        """The rows of each trial in the order in which they came."""
        return [list(table.live.values()) for table in self.trials]


# ---- what rows come out of -----------------------------------------------------------------------


def joined(left: N.Node, right: N.Node) -> N.Node:
    """The rows of left, each of which has one on the other side."""
    both = tuple(Call(T.BOOLEAN, "=", (ref(n), ref(n + 4))) for n in (0, 1))
    condition = Call(T.BOOLEAN, "AND", both)
    node = N.Join(fields=WIDE, left=left, right=right, kind="inner", condition=condition, keys=((0, 0), (1, 1)))
    return N.Project(fields=FIELDS, input=node, exprs=tuple(ref(n) for n in range(4)))


def grouped(node: N.Node) -> N.Node:
    """The same rows, each of a group."""
    calls = (AggCall("MAX", (2,), T.STRING), AggCall("MAX", (3,), T.INT))
    return N.Aggregate(fields=FIELDS, input=node, keys=(0, 1), aggs=calls)


def first_place(node: N.Node) -> N.Node:
    """The same rows, each the first of its own."""
    return N.Rank(fields=FIELDS, input=node, partition=(0, 1), order=(SortKey(3),), start=1, end=1, with_rank=False)


SOURCES: dict[str, tuple[str, Callable[[dict[str, Feed]], N.Node]]] = {
    "join": ("a", lambda t: joined(t["a"], t["beside"])),
    "aggregate": ("a", lambda t: grouped(t["a"])),
    "aggregate of a join": ("a", lambda t: grouped(joined(t["a"], t["beside"]))),
    "top": ("a", lambda t: first_place(t["a"])),
    # rows of a know when they came, those of the join do not
    "union": ("ab", lambda t: N.Union(fields=FIELDS, parts=(t["a"], joined(t["b"], t["beside"])))),
}


# ---- what asks which of them came last -----------------------------------------------------------


@dataclass(frozen=True)
class Query:
    """A query over rows, and its model over those that are there in the order in which they came."""

    build: Callable[[N.Node], N.Node]
    model: Callable[[list[Row]], list[Row]]
    inserts: bool = False
    accepts: Accepts = "changelog"
    key: tuple[int, ...] = ()
    meets: Meets = ""


def by_k(rows: list[Row]) -> dict[str, list[Row]]:
    out: dict[str, list[Row]] = {}
    for row in rows:
        out.setdefault(row[1], []).append(row)
    return out


def each_k(pick: Callable[[list[Row]], list[Row]]) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [row for group in by_k(rows).values() for row in pick(group)]


ENDS = (
    AggCall("FIRST_VALUE", (3,), T.INT),
    AggCall("LAST_VALUE", (3,), T.INT),
    AggCall("LISTAGG", (2,), T.STRING),
    AggCall("COUNT", (), T.BIGINT),
)


def ends(node: N.Node) -> N.Node:
    return N.Aggregate(fields=(FIELDS[0], *(N.Field(f"c{n}", c.type) for n, c in enumerate(ENDS))), **_of(node))


def _of(node: N.Node) -> dict[str, Any]:
    return {"input": node, "keys": (0,), "aggs": ENDS}


def ends_model(rows: list[Row]) -> list[Row]:
    return [(rows[0][2], rows[-1][2], ",".join(r[1] for r in rows), len(rows))] if rows else []


def top(ranked: bool) -> Callable[[N.Node], N.Node]:
    fields = (*FIELDS, N.Field("rn", T.BIGINT)) if ranked else FIELDS
    places: dict[str, Any] = {"partition": (0,), "order": (SortKey(2),), "start": 1, "end": 2}
    return lambda node: N.Rank(fields=fields, input=node, with_rank=ranked, **places)


def top_model(ranked: bool) -> Callable[[list[Row]], list[Row]]:
    """Of equal rows the one that came first."""
    return lambda rows: [(*row, n) if ranked else row for n, row in enumerate(sorted(rows, key=lambda r: r[1])[:2], 1)]


def newest(keep_last: bool, by_time: bool) -> Callable[[N.Node], N.Node]:
    """By time k is all that tells rows of a trial apart: of equal ones it is asked which came last."""
    keys, order = ((0,), 2) if by_time else ((0, 2), 1)
    return lambda node: N.Deduplicate(
        fields=FIELDS, input=node, keys=keys, order=order, keep_last=keep_last, proctime=not by_time
    )


def newest_by_time_model(keep_last: bool) -> Callable[[list[Row]], list[Row]]:
    def model(rows: list[Row]) -> list[Row]:
        best = (max if keep_last else min)(r[1] for r in rows)
        return [[r for r in rows if r[1] == best][-1 if keep_last else 0]]

    return model


def numbered(node: N.Node) -> N.Node:
    calls = (AggCall("ROW_NUMBER", (), T.BIGINT), AggCall("LAG", (1,), T.INT))
    fields = (*FIELDS, N.Field("n", T.BIGINT), N.Field("before", T.INT))
    return N.Over(fields=fields, input=node, partition=(0,), order=(SortKey(2),), calls=calls, rows=True)


def numbered_model(rows: list[Row]) -> list[Row]:
    ordered = sorted(rows, key=lambda r: r[1])
    return [(*row, n + 1, ordered[n - 1][0] if n else None) for n, row in enumerate(ordered)]


def same(node: N.Node) -> N.Node:
    return node


QUERIES: dict[str, Query] = {
    "ends": Query(ends, ends_model),
    "ends of inserts": Query(ends, ends_model, True),
    "top": Query(top(False), top_model(False)),
    "top ranked": Query(top(True), top_model(True)),
    "top of inserts": Query(top(False), top_model(False), True),
    "over": Query(numbered, numbered_model),
    "keep last": Query(newest(True, False), each_k(lambda rows: rows[-1:]), True),
    "keep first": Query(newest(False, False), each_k(lambda rows: rows[:1]), True),
    "keep last by time": Query(newest(True, True), newest_by_time_model(True), True),
    "keep first by time": Query(newest(False, True), newest_by_time_model(False), True),
    "sink": Query(same, each_k(lambda rows: rows[-1:]), False, "upsert", (0, 2), "last"),
}
IN_CI = {
    ("ends", "join", "keyed"),
    ("ends", "aggregate of a join", "chain"),
    ("ends of inserts", "join", "aggregate"),
    ("top", "join", "keyed"),
    ("top ranked", "union", "chain"),
    ("over", "join", "keyed"),
    ("keep last by time", "join", "keyed"),
    ("keep first by time", "join", "chain"),
    ("sink", "aggregate of a join", "chain"),
}


def cases() -> list[Any]:
    """Return each query over each source, but for those that are no source of inserts, in each form of state."""
    inserts = ("join", "union")
    found = [
        (name, source, state)
        for name, query in QUERIES.items()
        for source in (inserts if query.inserts else SOURCES)
        for state in STATES
    ]
    return [case if case in IN_CI else nightly(*case) for case in found]


def started(spark: SparkSession, query: Query, node: N.Node, state: str) -> Staged:
    config = {"flinkddl.execution.state": state}
    return Staged(spark, query.build(node), query.accepts, query.key, config, meets=query.meets)


def wanted(query: Query, tables: Tables) -> dict[Row, int]:
    return {(t, *row): 1 for t, left in enumerate(tables.rows) for row in query.model(left)}


@pytest.mark.parametrize(("name", "source", "state"), cases())
def test_a_later_batch_is_later(spark: SparkSession, tmp_path: Path, name: str, source: str, state: str) -> None:
    """One change a batch and trial gives the table of rows in the order in which they came, and again the same."""
    query = QUERIES[name]
    names, build = SOURCES[source]
    kind = "append" if query.inserts else "delta" if source == "union" or state == "chain" else "upsert"
    tables = Tables(tmp_path, kind, names)
    tables.write(range(BATCHES))
    running = started(spark, query, build(tables.nodes), state)
    running.go()
    assert dict(running.table) == wanted(query, tables)
    assert not running.wrong
    last = max(running.given)
    forget_commit(running.checkpoint, last)
    running.go()
    assert running.given[last][0] == running.given[last][1]
    running.close()


# ---- several changes in a batch ------------------------------------------------------------------


@pytest.mark.parametrize("state", [nightly("aggregate"), "keyed", nightly("chain")])
def test_of_one_batch_any_order_but_always_the_same(spark: SparkSession, tmp_path: Path, state: str) -> None:
    """Rows of a join that come together may stand in any order, which no order of delivery changes."""
    left, right = (feed(tmp_path / name, FIELDS) for name in ("a", "beside"))
    r = random.Random(3)
    batches = [[(id, chr(97 + id), id) for id in r.sample(range(n * 5, n * 5 + 5), 5)] for n in range(4)]
    for number, rows in enumerate(batches):
        given = [{"t": t, "id": i, "k": k, "v": v, "__seq": 0} for t in range(TRIALS) for i, k, v in rows]
        r.shuffle(given)
        write(left.folder, number, given)
    write(right.folder, 0, [{"t": t, "id": i, "k": "x", "v": 0, "__seq": 0} for t in range(TRIALS) for i in range(20)])
    running = Staged(spark, ends(joined(left, right)), config={"flinkddl.execution.state": state})
    running.go()
    assert {row[0] for row in running.table} == set(range(TRIALS))
    found = {row[1:] for row in running.table}
    assert len(found) == 1
    first, last, listed, count = found.pop()
    parts = listed.split(",")
    together = [set(parts[n * 5 : n * 5 + 5]) for n in range(4)]
    assert together == [{k for _, k, _ in rows} for rows in batches]
    assert (chr(97 + first), chr(97 + last), count) == (parts[0], parts[-1], 20)
    running.close()


# ---- sinks, whose rows know when they came: the same table over any cut --------------------------


def changed(kind: str) -> tuple[list[Change], list[Row]]:
    """Return changes in the order of their source, and the rows that they leave in the order in which they came."""
    table = Table(5, kind)
    return [table.change(range(50), n) for n in range(40)], list(table.live.values())


def last_change(changes: list[Change]) -> list[Row]:
    """A row that leaves a key deletes it, whichever row has it."""
    held: dict[str, Row] = {}
    for _, old, new in changes:
        if old is not None:
            held.pop(old[1], None)
        if new is not None:
            held[new[1]] = new
    return list(held.values())


SINKS: list[tuple[Meets, str]] = [
    ("last", "upsert"),
    ("last", "delta"),
    ("races", "delta"),
    ("NOTHING", "append"),
]
"""What stands at a key, and what is written into it."""


@pytest.mark.parametrize("state", [nightly("aggregate"), "keyed", nightly("chain")])
@pytest.mark.parametrize(("meets", "kind"), SINKS)
def test_sinks_over_any_cut(spark: SparkSession, tmp_path: Path, meets: Meets, kind: str, state: str) -> None:
    """Whatever comes together, and in whatever order it is delivered: who arbitrates at a key finds the same row."""
    node = feed(tmp_path / "t", FIELDS, kind, (0, 1) if kind == "upsert" else ())  # type: ignore[arg-type]
    changes, left = changed(kind)
    given = [record for seq, change in enumerate(changes) for record in records(kind, seq, change)]
    for number, rows in enumerate(deliveries(given, 2)):
        write(node.folder, number, rows)
    models: dict[str, list[Row]] = {
        "last": list({row[1]: row for row in left}.values()),
        "races": last_change(changes),
        "NOTHING": list({row[1]: row for row in reversed(left)}.values()),
    }
    config = {"flinkddl.execution.state": state}
    running = Staged(spark, node, "upsert", (0, 2), config, meets=meets)
    running.go()
    assert running.table == expected(models[meets])
    assert not running.wrong
    running.close()


# ---- a checkpoint of before ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "before", "state"),
    [
        ("ends", "0L", "keyed"),
        nightly("ends", "0L", "aggregate"),
        nightly("ends of inserts", "0L", "keyed"),
        ("sink", "1700000000000L", "keyed"),  # which was once the time of the batch
        nightly("sink", "1700000000000L", "aggregate"),
    ],
)
def test_a_checkpoint_of_before_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, before: str, state: str
) -> None:
    """Rows of an earlier version, which could not tell them apart, are before all that come now."""
    query = QUERIES[name]
    tables = Tables(tmp_path, "append" if query.inserts else "delta", "a")
    build = SOURCES["top" if name == "sink" else "join"][1]
    with monkeypatch.context() as patch:
        for module in (kinds, ranking):
            patch.setattr(module, "UNTOLD", before)
        tables.write(range(2))
        running = started(spark, query, build(tables.nodes), state)
        running.go()
        old = [set(rows) for rows in tables.rows]
    tables.write(range(2, BATCHES))
    running.go()
    found = {(row[0], row[2]) if name == "sink" else row[0]: row for row in running.table}
    assert not running.wrong
    for trial, rows in enumerate(tables.rows):
        come = [row for row in rows if row not in old[trial]]
        if name == "sink":
            assert {k: found[trial, k][1:] for k in by_k(come)} == {row[1]: row for row in come}
        elif come:
            assert found[trial][2] == come[-1][2]
            assert found[trial][3].split(",")[-len(come) :] == [row[1] for row in come]
    running.close()
