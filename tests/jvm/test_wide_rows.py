"""Rows, orders and calls of every width through the kernels that keep state: NULL bits take a second word at 65."""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.stream.harness import JOB, plain, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

WIDTHS = (1, 63, 64, 65, 130)
BATCHES = 2
TOP = 2


def cell(number: int, i: int) -> int | None:
    """Return what column ``i`` of a row holds: every third is NULL, in the next row another third."""
    return None if (number + i) % 3 == 0 else number * 1000 + i


def cells(number: int, width: int) -> tuple[int | None, ...]:
    return tuple(cell(number, i) for i in range(width))


def _struct(width: int, prefix: str = "c", sql: str = "") -> str:
    value = sql or "IF((id + {i}) % 3 = 0, CAST(NULL AS BIGINT), id * 1000 + {i})"
    fields = (f"'{prefix}{i}', {value.format(i=i)}" for i in range(width))
    return f"named_struct({', '.join(fields)})"


def _order(width: int, prefix: str) -> str:
    """Return an order in which only the last field decides."""
    return _struct(width, prefix, "IF({i} = " + str(width - 1) + ", v, IF({i} % 2 = 0, 0L, CAST(NULL AS BIGINT)))")


def _entry(orders: int, width: int, prefix: str) -> str:
    return f"named_struct('o', {_order(orders, prefix)}, 'r', {_struct(width)})"


def _call(kernel: str, width: int) -> str:
    row, calls = _struct(width), _struct(width, "sum:", "COALESCE(v, 0) + {i}")
    match kernel:
        case "latest":
            return f"flinkddl.retract_latest(false, {_entry(1, width, 'a')})"
        case "latest by":
            return f"flinkddl.retract_latest(false, {_entry(width, 1, 'a')})"
        case "top":
            return f"flinkddl.retract_top(1L, seq, 1L, {TOP}L, false, true, {_entry(1, width, 'd')})"
        case "top by":
            return f"flinkddl.retract_top(1L, seq, 1L, {TOP}L, false, true, {_entry(width, 1, 'd')})"
        case "join":
            return f"flinkddl.retract_full(1L, true, IF(id % 2 = 0, {row}, NULL), IF(id % 2 = 1, {row}, NULL))"
        case "aggregate":
            return f"flinkddl.retract_aggregate(1L, seq, {calls})"
        case _:
            entry = f"named_struct('o', named_struct('a', v), 'r', {row}, 'a', {calls})"
            return f"flinkddl.retract_over(1L, seq, true, CAST(NULL AS BIGINT), {entry})"


KERNELS = ("latest", "latest by", "top", "top by", "join", "aggregate", "over")


def _expected(kernel: str, width: int, rows: list[dict[str, int]]) -> Counter[Any]:
    ordered = sorted(rows, key=lambda r: r["v"])
    own = 1 if kernel.endswith(" by") else width
    match kernel:
        case "latest" | "latest by":
            return Counter([cells(ordered[-1]["id"], own)])
        case "top" | "top by":
            return Counter(cells(r["id"], own) for r in ordered[-TOP:])
        case "join":
            sides = ([cells(r["id"], own) for r in rows if r["id"] % 2 == n] for n in (0, 1))
            left, right = (side or [None] for side in sides)
            return Counter(product(left, right))
        case "aggregate":
            return Counter([tuple(sum(r["v"] + i for r in rows) for i in range(own))])
        case _:
            sums = ((sum(x["v"] for x in ordered[: n + 1]), n + 1) for n in range(len(ordered)))
            calls = (tuple(v + n * i for i in range(own)) for v, n in sums)
            return Counter(zip((cells(r["id"], own) for r in ordered), calls, strict=True))


def _take(table: Counter[Any], change: Any, kernel: str) -> None:
    """Apply what a kernel gave for one batch: old and new row, or changes with a weight."""
    for c in () if change is None else change if isinstance(change, list) else [change]:
        if kernel in ("join", "over"):
            a, b, w = plain(c)
            table[a, b] += w
        else:
            old, new = plain(c["o"]), plain(c["n"])
            table.update({old: -1} if old is not None else {})
            table.update({new: 1} if new is not None else {})


def _feed() -> list[list[dict[str, int]]]:
    """Return rows of two keys a batch, in any order of their versions, and every version once."""
    random = Random(21)
    versions = random.sample(range(-30, 30), 30)
    rows = [{"id": i, "k": i % 2 if i % 5 else 2, "v": v, "seq": i} for i, v in enumerate(versions)]
    return [rows[n::BATCHES] for n in range(BATCHES)]


@pytest.mark.spark
def test_every_width(spark: SparkSession, tmp_path: Path) -> None:
    """Several batches of one query that holds every kernel at every width."""
    from pyspark.sql.functions import expr

    feed, found = _feed(), {}
    for n, rows in enumerate(feed):
        write(tmp_path, n, rows)
    cases = list(product(KERNELS, WIDTHS))

    def take(batch: Any, _: int) -> None:
        for row in batch.collect():
            for n, (kernel, width) in enumerate(cases):
                _take(found.setdefault((kernel, width, row["k"]), Counter()), row[f"x{n}"], kernel)

    session = spark.newSession()
    # a class compiled for each of these wide rows would take most of the time
    interpreted = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in (JOB | interpreted).items():
        session.conf.set(name, value)
    source = session.readStream.schema("id BIGINT, k BIGINT, v BIGINT, seq BIGINT")
    rows = source.option("maxFilesPerTrigger", "1").json(str(tmp_path))
    calls = [f"{_call(*case)} AS x{n}" for n, case in enumerate(cases)]
    query = rows.groupBy("k").agg(*map(expr, calls)).writeStream.outputMode("update").foreachBatch(take)
    checkpoint = tmp_path.with_name("state")
    query.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    shutil.rmtree(checkpoint)

    all_rows = [row for rows in feed for row in rows]
    wrong = []
    for kernel, width, k in product(KERNELS, WIDTHS, (0, 1, 2)):
        expected = _expected(kernel, width, [r for r in all_rows if r["k"] == k])
        table = Counter({row: n for row, n in found[kernel, width, k].items() if n})
        if table != expected:
            wrong.append((kernel, width, k))
    assert not wrong
