"""Where Flink's stream has ways of its own, or a mistake: Top-1, NULL-safe keys, ranks of peers, late rows."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import AggCall, Call, InputRef, SortKey
from flinkddl.spark.lateness import TIME, fold
from tests.spark.stream.harness import Running, feed, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FIELDS = (N.Field("id", T.INT), N.Field("k", T.STRING), N.Field("v", T.INT))
# (id, k, v) in order of arrival; three micro-batches
BATCHES = (
    ((1, "a", 5), (2, "a", 7), (3, None, 1), (4, "b", None)),
    ((5, "a", 5), (6, "a", 3), (7, None, 0), (8, "b", 2)),
    ((9, "a", 1), (10, "a", 2), (11, "c", 9), (12, "a", 1)),
)
ROWS = tuple(r for batch in BATCHES for r in batch)


def filled(folder: Path, kind: Any = "append") -> Any:
    node = feed(folder, FIELDS, kind)
    for n, batch in enumerate(BATCHES):
        write(
            node.folder,
            n,
            [dict(zip(("id", "k", "v"), r, strict=True)) | {"__seq": r[0] * 4096, "__w": 1} for r in batch],
        )
    return node


def rank(node: Any, *order: SortKey, with_rank: bool = False, **more: Any) -> N.Rank:
    extra = (N.Field("rn", T.BIGINT.not_null()),) if with_rank else ()
    places: dict[str, Any] = {"start": 1, "end": 1} | more
    return N.Rank(input=node, partition=(1,), order=order, with_rank=with_rank, fields=(*FIELDS, *extra), **places)


@pytest.mark.spark
def test_top_one_over_append_rows_takes_back_the_row_that_lost(spark: SparkSession, tmp_path: Path) -> None:
    """Flink 2.3 keeps every row that ever led (FLINK-40368); the first of equal rows stays."""
    running = Running(spark, rank(filled(tmp_path / "t"), SortKey(2)), "changelog").go()
    best: dict[Any, Any] = {}
    for row in ROWS:
        place = (row[2] is not None, row[2] or 0)  # NULLs first
        if row[1] not in best or place < best[row[1]][0]:
            best[row[1]] = (place, row)
    assert running.table == Counter(row for _, row in best.values())


@pytest.mark.spark
def test_of_rows_that_meet_at_a_sink_key_the_one_that_came_last_stands(spark: SparkSession, tmp_path: Path) -> None:
    """Flink's SinkUpsertMaterializer over a Top-2 whose sink has the partition as its key."""
    top = rank(filled(tmp_path / "t"), SortKey(2, descending=True, nulls_first=False), end=2)
    running = Running(spark, top, "upsert", key=(1,), meets="last").go()
    places = {
        k: sorted((r for r in ROWS if r[1] == k), key=lambda r: (r[2] is None, -(r[2] or 0), r[0]))[:2]
        for k in {r[1] for r in ROWS}
    }
    assert running.table == Counter(max(rows) for rows in places.values())  # ids follow the arrival


@pytest.mark.spark
@pytest.mark.parametrize("falls", [True, False])
def test_top_of_many_rows_in_a_batch(spark: SparkSession, tmp_path: Path, falls: bool) -> None:
    """So many that rows behind the last place are given up on the way; in one order the newest rows lead."""
    node = feed(tmp_path / "t", FIELDS)
    r = random.Random(5)
    rows = [(i, r.choice(["a", "b", None]), r.choice([None, *range(9)])) for i in range(1200)]
    order = (SortKey(2, descending=falls, nulls_first=not falls), SortKey(0, descending=falls))
    running = Running(spark, rank(node, *order, end=3))
    for n in range(3):
        batch = rows[n * 400 : n * 400 + 400]
        records = [dict(zip(("id", "k", "v"), row, strict=True)) | {"__seq": row[0]} for row in batch]
        write(node.folder, n, records)
        running.go()
        ordered = sorted(rows[: n * 400 + 400], key=lambda x: (x[2] is not None, x[2] or 0, x[0]), reverse=falls)
        assert running.table == Counter(x for k in ("a", "b", None) for x in [y for y in ordered if y[1] == k][:3])
    assert not running.wrong
    running.close()


@pytest.mark.spark
def test_last_rank_from_a_column_of_the_partition(spark: SparkSession, tmp_path: Path) -> None:
    node = filled(tmp_path / "t")
    top = N.Rank(
        input=node,
        partition=(2,),
        order=(SortKey(0),),
        start=1,
        end=2**63 - 1,
        end_field=2,
        with_rank=True,
        fields=(*FIELDS, N.Field("rn", T.BIGINT.not_null())),
    )
    seen: Counter[Any] = Counter()
    expected: Counter[Any] = Counter()
    for row in ROWS:
        seen[row[2]] += 1
        if row[2] is not None and seen[row[2]] <= row[2]:
            expected[(*row, seen[row[2]])] += 1
    assert Running(spark, top).go().table == expected


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["inner", "full"])
def test_join_keys_where_null_equals_null(spark: SparkSession, kind: Any, tmp_path: Path) -> None:
    left, right = filled(tmp_path / "l"), filled(tmp_path / "r", "delta")
    same = Call(T.BOOLEAN, "IS NOT DISTINCT FROM", (InputRef(T.STRING, 1), InputRef(T.STRING, 4)))
    fields = tuple(N.Field(f"{f.name}{s}", f.type) for s in "lr" for f in FIELDS)
    join = N.Join(left=left, right=right, kind=kind, condition=same, keys=((1, 1),), null_safe=(True,), fields=fields)
    expected = Counter((*a, *b) for a in ROWS for b in ROWS if a[1] == b[1])
    assert Running(spark, join).go().table == expected


@pytest.mark.spark
@pytest.mark.parametrize("function", ["RANK", "DENSE_RANK"])
def test_peers_have_the_rank_of_the_last_of_them(spark: SparkSession, function: str, tmp_path: Path) -> None:
    node = filled(tmp_path / "t")
    calls = (AggCall(function, (), T.BIGINT.not_null()),)
    fields = (*FIELDS, N.Field("n", T.BIGINT.not_null()))
    over = N.Over(input=node, partition=(1,), order=(SortKey(2),), calls=calls, rows=False, fields=fields)

    def place(r: Any) -> tuple[bool, int]:
        return (r[2] is not None, r[2] or 0)

    expected = Counter((*r, sum(1 for o in ROWS if o[1] == r[1] and place(o) <= place(r))) for r in ROWS)
    assert Running(spark, over).go().table == expected


@pytest.mark.spark
@pytest.mark.parametrize(
    ("rows", "sessions"),
    [
        # (time, watermark met): gap 10
        (((0, None), (10, 0), (30, 10)), ((0, 20, (0, 10)), (30, 40, (30,)))),
        (((0, None), (40, 0), (5, 40)), ((0, 10, (0,)), (40, 50, (40,)))),  # its session is closed: dropped
        (((0, None), (9, 0), (4, 12)), ((0, 19, (0, 9, 4)),)),  # behind the watermark, but its session is open
        (((0, None), (40, 0), (32, 40)), ((0, 10, (0,)), (32, 50, (40, 32)))),
    ],
)
def test_sessions_of_late_rows(spark: SparkSession, rows: Any, sessions: Any) -> None:
    values = ", ".join(f"named_struct('{TIME}', {t}L, '__wm', CAST({w or 'NULL'} AS BIGINT))" for t, w in rows)
    text = fold(f"array({values})", f"STRUCT<{TIME}:BIGINT,__wm:BIGINT>", 10, late=True)
    found = spark.sql(f"SELECT {text} AS s").collect()[0].s
    assert sorted((s.s, s.e, tuple(r[0] for r in s.r)) for s in found) == sorted(sessions)
