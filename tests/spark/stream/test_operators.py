"""Every operator over random change streams in several micro-batches with restarts, against a plain Python model."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, Rex, SortKey
from tests.spark.stream.harness import Running, feed, write
from tests.support.nightly import each, nightly

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIELDS = (N.Field("id", T.INT), N.Field("k", T.STRING), N.Field("v", T.INT))
Row = tuple[Any, ...]
BATCHES = 4


class Changes:
    """Random rows (id, k, v) of one table, with NULLs, as inserts, upserts or signed changes."""

    def __init__(self, folder: Path, kind: str, seed: int, keys: str = "abc", unique: bool = False) -> None:
        self.random = random.Random(seed)
        self.unique = unique
        self.kind, self.keys = kind, keys
        self.live: dict[int, Row] = {}
        self.order: list[Row] = []
        self.seq = 0
        self.node = feed(folder, FIELDS, kind, (0,) if kind == "upsert" else ())  # type: ignore[arg-type]

    def _row(self, id: int) -> Row:
        r = self.random
        return (id, r.choice([*self.keys, None]), self.seq if self.unique else r.choice([None, *range(5)]))

    def batch(self, number: int, size: int = 25) -> None:
        rows: list[dict[str, Any]] = []
        for _ in range(size):
            self.seq += 1
            fresh = self.kind == "append" or self.random.random() < 0.5 or not self.live
            id = self.seq if fresh else self.random.choice(list(self.live))
            gone = not fresh and self.random.random() < 0.4
            old, new = self.live.get(id), None if gone else self._row(id)
            rows += self._records(id, old, new)
            if old is not None:
                self.order.remove(old)
                del self.live[id]
            if new is not None:
                self.order.append(new)
                self.live[id] = new
        write(self.node.folder, number, rows)

    def _records(self, id: int, old: Row | None, new: Row | None) -> list[dict[str, Any]]:
        def record(row: Row, **more: Any) -> dict[str, Any]:
            return dict(zip(("id", "k", "v"), row, strict=True)) | {"__seq": self.seq} | more

        if self.kind == "append":
            return [record(new or ())]
        if self.kind == "upsert":
            return [record(new or (id, None, None), __version=self.seq, __deleted=new is None)]
        return [record(r, __w=w) for r, w in ((old, -1), (new, 1)) if r is not None]


def ref(index: int) -> InputRef:
    return InputRef(FIELDS[index % 3].type, index)


def call(name: str, *args: Rex) -> Call:
    return Call(T.BOOLEAN, name, args)


def fields(*names: str) -> tuple[N.Field, ...]:
    types = {"k": T.STRING, "k2": T.STRING, "n": T.BIGINT, "l": T.STRING, "rn": T.BIGINT}
    return tuple(N.Field(x, types.get(x, T.INT)) for x in names)


def agg(function: str, *args: int, type: T.DataType = T.BIGINT, **more: Any) -> AggCall:
    return AggCall(function, args, type, **more)


# ---- queries and their models ------------------------------------------------------------------------------------


def groups(rows: list[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    out: dict[Any, list[Row]] = {}
    for r in rows:
        out.setdefault(key(r), []).append(r)
    return out


def total(values: list[Any]) -> Any:
    present = [v for v in values if v is not None]
    return sum(present) if present else None


def every_aggregate(input: N.Node) -> N.Node:
    calls = (
        agg("COUNT"),
        agg("SUM", 2, type=T.INT),
        agg("AVG", 2, type=T.INT),
        agg("MIN", 2, type=T.INT),
        agg("MAX", 2, type=T.INT),
        agg("COUNT", 2, distinct=True),
        agg("SUM", 2, type=T.INT, distinct=True),
        agg("LISTAGG", 1, type=T.STRING),
        agg("FIRST_VALUE", 0, type=T.INT),
        agg("LAST_VALUE", 0, type=T.INT),
    )
    names = fields("k", "n", "s", "a", "mi", "ma", "d", "ds", "l", "f", "la")
    typed = tuple(N.Field(f.name, T.BIGINT if f.name in ("n", "d") else f.type) for f in names)
    return N.Aggregate(fields=typed, input=input, keys=(1,), aggs=calls)


def every_aggregate_model(rows: list[Row]) -> list[Row]:
    out = []
    for k, members in groups(rows, lambda r: r[1]).items():
        v = [r[2] for r in members if r[2] is not None]
        listed = ",".join([k] * len(members)) if k is not None else None
        avg = sum(v) // len(v) if v else None
        whole = (k, len(members), total(v), avg, min(v, default=None), max(v, default=None), len(set(v)))
        out.append((*whole, total(list(set(v))), listed, members[0][0], members[-1][0]))
    return out


def nested(input: N.Node) -> N.Node:
    counts = N.Aggregate(fields=fields("k", "n"), input=input, keys=(1,), aggs=(agg("COUNT"),))
    return N.Aggregate(fields=fields("n", "n"), input=counts, keys=(1,), aggs=(agg("COUNT"),))


def nested_model(rows: list[Row]) -> list[Row]:
    return list(Counter(len(g) for g in groups(rows, lambda r: r[1]).values()).items())


def having(input: N.Node) -> N.Node:
    sums = N.Aggregate(fields=fields("k", "s"), input=input, keys=(1,), aggs=(agg("SUM", 2, type=T.INT),))
    return N.Filter(fields=sums.fields, input=sums, condition=call(">", InputRef(T.INT, 1), Literal(T.INT, 6)))


def having_model(rows: list[Row]) -> list[Row]:
    sums = [(k, total([r[2] for r in g])) for k, g in groups(rows, lambda r: r[1]).items()]
    return [r for r in sums if r[1] is not None and r[1] > 6]


def where(input: N.Node) -> N.Node:
    kept = N.Filter(fields=input.fields, input=input, condition=call(">", ref(2), Literal(T.INT, 1)))
    return N.Project(fields=fields("id", "v"), input=kept, exprs=(ref(0), ref(2)))


def where_model(rows: list[Row]) -> list[Row]:
    return [(r[0], r[2]) for r in rows if r[2] is not None and r[2] > 1]


def lowest(r: Row) -> tuple[bool, int]:
    return (r[2] is not None, r[2] or 0)  # NULLs first, as ascending order has it


def top(with_rank: bool, start: int = 1, end: int = 2) -> Callable[[N.Node], N.Node]:
    def build(input: N.Node) -> N.Node:
        names = (*FIELDS, *(fields("rn") if with_rank else ()))
        order = (SortKey(2), SortKey(0))
        return N.Rank(fields=names, input=input, partition=(1,), order=order, start=start, end=end, with_rank=with_rank)

    return build


def top_model(with_rank: bool, start: int = 1, end: int = 2) -> Callable[[list[Row]], list[Row]]:
    def model(rows: list[Row]) -> list[Row]:
        out = []
        for g in groups(rows, lambda r: r[1]).values():
            ordered = sorted(g, key=lambda r: (lowest(r), r[0]))
            for n, r in enumerate(ordered[start - 1 : end], start):
                out.append((*r, n) if with_rank else r)
        return out

    return model


def dedup(keep_last: bool) -> Callable[[N.Node], N.Node]:
    return lambda i: N.Deduplicate(fields=FIELDS, input=i, keys=(1,), order=2, keep_last=keep_last, proctime=True)


def dedup_model(keep_last: bool) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [g[-1 if keep_last else 0] for g in groups(rows, lambda r: r[1]).values()]


ONE_INPUT: dict[str, tuple[Callable[[N.Node], N.Node], Callable[[list[Row]], list[Row]], str]] = {
    "aggregates": (every_aggregate, every_aggregate_model, "append upsert delta"),
    "nested": (nested, nested_model, "append upsert delta"),
    "having": (having, having_model, "append upsert delta"),
    "where": (where, where_model, "upsert delta"),
    "top": (top(False), top_model(False), "append upsert delta"),
    "top-ranked": (top(True), top_model(True), "append delta"),
    "top-2-3": (top(False, 2, 3), top_model(False, 2, 3), "upsert"),
    "keep-last": (dedup(True), dedup_model(True), "append"),
    "keep-first": (dedup(False), dedup_model(False), "append"),
}


@pytest.mark.parametrize(("name", "kind"), each(2, [(n, k) for n, q in ONE_INPUT.items() for k in q[2].split()]))
def test_one_input(spark: SparkSession, tmp_path: Path, name: str, kind: str) -> None:
    build, model, _ = ONE_INPUT[name]
    changes = Changes(tmp_path / "t", kind, seed=len(name) + len(kind))
    running = Running(spark, build(changes.node))
    for n in range(BATCHES):
        changes.batch(n)
        if n % 2 or n == 0:  # sometimes two batches in one run
            running.go()
            assert running.table == Counter(model(changes.order)), f"batch {n}"
            assert not running.wrong
    running.close()


# ---- joins -------------------------------------------------------------------------------------------------------

EQUAL = call("=", ref(1), ref(4))
BEYOND = call("AND", EQUAL, call("<", ref(2), ref(5)))
LESS = call("<", ref(2), ref(5))


def matches(condition: Rex, left: Row, right: Row) -> bool:
    both = (*left, *right)
    for part in condition.args if getattr(condition, "function", "") == "AND" else (condition,):
        a, b = (both[x.index] for x in part.args)  # type: ignore[attr-defined]
        if a is None or b is None or not (a == b if part.function == "=" else a < b):  # type: ignore[attr-defined]
            return False
    return True


def join_model(kind: str, condition: Rex, left: list[Row], right: list[Row]) -> list[Row]:
    pairs = [(a, b) for a in left for b in right if matches(condition, a, b)]
    matched = {a for a, _ in pairs}, {b for _, b in pairs}
    none = (None, None, None)
    out = [(*a, *b) for a, b in pairs] if kind not in ("semi", "anti") else []
    if kind in ("left", "full"):
        out += [(*a, *none) for a in left if a not in matched[0]]
    if kind in ("right", "full"):
        out += [(*none, *b) for b in right if b not in matched[1]]
    if kind in ("semi", "anti"):
        out += [a for a in left if (a in matched[0]) == (kind == "semi")]
    return out


JOINS = [
    *(("append", "append", k, EQUAL) for k in ("inner", "left", "full", "semi", "anti")),
    *(("upsert", "delta", k, EQUAL) for k in ("inner", "left", "right", "full", "semi", "anti")),
    *(("delta", "append", k, BEYOND) for k in ("inner", "left", "full", "semi", "anti")),
    *(("append", "upsert", k, LESS) for k in ("inner", "left", "anti")),
]


@pytest.mark.parametrize(("one", "two", "kind", "condition"), each(2, JOINS))
def test_join(spark: SparkSession, tmp_path: Path, one: str, two: str, kind: Any, condition: Rex) -> None:
    left = Changes(tmp_path / "l", one, 1, "abcd")
    right = Changes(tmp_path / "r", two, 2, "cdef")
    both = (*FIELDS, *(N.Field(f.name + "2", f.type) for f in FIELDS))
    keys = () if condition is LESS else ((1, 1),)
    node = N.Join(
        fields=FIELDS if kind in ("semi", "anti") else both,
        left=left.node,
        right=right.node,
        kind=kind,
        condition=condition,
        keys=keys,
    )
    running = Running(spark, node)
    for n in range(3):
        left.batch(n, 12)
        right.batch(n, 12)
        if n != 1:
            running.go()
            assert running.table == Counter(join_model(kind, condition, left.order, right.order)), f"batch {n}"
            assert not running.wrong
    running.close()


@pytest.mark.parametrize("kind", ["inner", "semi"])
def test_join_of_appends_into_an_append_sink(spark: SparkSession, tmp_path: Path, kind: Any) -> None:
    """Rows that are never taken back come out as plain rows, also where our own operator makes them."""
    left, right = Changes(tmp_path / "l", "append", 1), Changes(tmp_path / "r", "append", 2)
    both = (*FIELDS, *(N.Field(f.name + "2", f.type) for f in FIELDS))
    shape = FIELDS if kind == "semi" else both
    node = N.Join(fields=shape, left=left.node, right=right.node, kind=kind, condition=LESS, keys=())
    running = Running(spark, node, "append")
    for n in range(2):
        left.batch(n, 8)
        right.batch(n, 8)
        running.go()
        assert running.rel.kind == "append"
        assert running.table == Counter(join_model(kind, LESS, left.order, right.order))
    running.close()


# ---- sinks by key ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["append", "upsert", nightly("delta")])
@pytest.mark.parametrize("query", ["having", "where", "keep-last", "count"])
def test_upsert_sink(spark: SparkSession, tmp_path: Path, kind: str, query: str) -> None:
    """One record per changed key, none for an unchanged one, no tombstone for a key never written."""
    if (query, kind) in (("keep-last", "upsert"), ("keep-last", "delta"), ("where", "append")):
        pytest.skip("not a query of this kind")
    count = (
        lambda i: N.Aggregate(fields=fields("k", "n"), input=i, keys=(1,), aggs=(agg("COUNT"),)),
        lambda rows: [(k, len(g)) for k, g in groups(rows, lambda r: r[1]).items()],
    )
    build, model = count if query == "count" else ONE_INPUT[query][:2]
    changes = Changes(tmp_path / "t", kind, seed=7)
    key = (1,) if query == "keep-last" else (0,)
    running = Running(spark, build(changes.node), "upsert", key)
    for n in range(BATCHES):
        changes.batch(n)
        running.go()
        assert running.table == Counter(model(changes.order))
    assert not running.wrong
    running.close()


@pytest.mark.parametrize("state", ["aggregate", "keyed"])
def test_materialised_sink(spark: SparkSession, tmp_path: Path, state: str) -> None:
    """Upserts by id into a sink keyed by k: the row that came last holds the key, and one behind it comes forward."""
    changes = Changes(tmp_path / "t", "upsert", seed=3, unique=True)
    config = {"flinkddl.execution.state": state}
    running = Running(spark, changes.node, "upsert", (1,), config, meets="last")
    for n in range(BATCHES):
        changes.batch(n)
        running.go()
        assert running.table == Counter({r[1]: r for r in changes.order}.values())
        assert not running.wrong
    running.close()


@pytest.mark.parametrize("state", ["aggregate", "keyed"])
def test_zeros_of_both_signs_are_alike_in_an_order(spark: SparkSession, tmp_path: Path, state: str) -> None:
    """As in Flink, where the row that came first is the first: the third comes before the two of them in both."""
    fields = (N.Field("id", T.INT), N.Field("d", T.DOUBLE), N.Field("f", T.FLOAT))
    node = feed(tmp_path / "t", fields)
    order = (SortKey(1), SortKey(2, descending=True))
    first = N.Rank(fields=fields, input=node, partition=(), order=order, start=1, end=2, with_rank=False)
    running = Running(spark, first, config={"flinkddl.execution.state": state})
    zeros = [(1, 0.0, -0.0), (2, -0.0, 0.0), (3, 0.0, 1.0), (4, -0.0, -0.0)]
    for number, (id, d, f) in enumerate(zeros):
        write(node.folder, number, [{"id": id, "d": d, "f": f, "__seq": number}])
        running.go()
    running.close()
    assert sorted(r[0] for r in running.table) == [1, 3]
