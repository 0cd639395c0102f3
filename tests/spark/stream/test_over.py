"""OVER by key, by event time and by arrival: the same table whatever the order of delivery and the batches."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import AggCall, SortKey
from tests.spark.stream.harness import feed, write
from tests.spark.stream.stages import Row, deliveries, expected, forget_commit, run
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TYPES = {name: T.TIMESTAMP(3).as_attribute(name) for name in ("ROWTIME", "PROCTIME")}
START = datetime(2024, 1, 1)
CALLS = (
    AggCall("SUM", (1,), T.INT),
    AggCall("MIN", (2,), T.DOUBLE),
    AggCall("SUM", (2,), T.DOUBLE),
    AggCall("FIRST_VALUE", (1,), T.INT),
    AggCall("LAG", (1,), T.INT),
)


def fields(time: T.DataType) -> tuple[N.Field, ...]:
    return (N.Field("t", T.INT), N.Field("id", T.INT), N.Field("d", T.DOUBLE), N.Field("ts", time))


def over(input: N.Node, by_rows: bool, preceding: int | None) -> N.Over:
    more = tuple(N.Field(f"c{n}", c.type) for n, c in enumerate(CALLS))
    frame: dict[str, Any] = {"rows": by_rows, "preceding": preceding}
    order = (SortKey(3),)
    return N.Over(fields=(*input.fields, *more), input=input, partition=(0,), order=order, calls=CALLS, **frame)


def records(seed: int, size: int = 60) -> list[dict[str, Any]]:
    """Rows whose times go on and back."""
    r = random.Random(seed)
    seconds = [max(0, n // 2 - r.choice((0, 0, 1, 3, 20))) for n in range(size)]
    times = [str(START + timedelta(seconds=s)) for s in seconds]
    return [{"id": n, "d": r.randint(0, 9) / 8, "ts": t, "__seq": n + 1} for n, t in enumerate(times)]


def frame(rows: list[Row], n: int, by_rows: bool, preceding: int | None) -> list[Row]:
    """Return the frame of a row among the sorted ones."""
    time = rows[n][2]
    end = n if by_rows else max(i for i, row in enumerate(rows) if row[2] == time)
    if preceding is None:
        return rows[: end + 1]
    if by_rows:
        return rows[max(0, n - preceding) : n + 1]
    return [row for row in rows[: end + 1] if row[2] >= time - timedelta(milliseconds=preceding)]


def model(made: list[dict[str, Any]], by_rows: bool, preceding: int | None, in_turn: bool = False) -> list[Row]:
    rows = [(r["id"], r["d"], datetime.fromisoformat(r["ts"])) for r in made]
    rows = rows if in_turn else sorted(rows, key=lambda r: r[2])
    out: list[Row] = []
    for n, row in enumerate(rows):
        own = frame(rows, n, by_rows, preceding)
        # on event time LAG looks back from the last of several peers, whatever the frame
        last = n if by_rows else max(i for i, other in enumerate(rows) if other[2] == row[2])
        lag = rows[last - 1][0] if last > 0 else None
        d = [r[1] for r in own]
        out.append((*row, sum(r[0] for r in own), min(d), sum(d), own[0][0], lag))
    return out


FRAMES = {
    "range-unbounded": (False, None),
    "range-bounded": (False, 4000),
    "rows-unbounded": (True, None),
    "rows-bounded": (True, 3),
}
WAYS = [
    pytest.param("ROWTIME", "range-bounded"),
    *(nightly("ROWTIME", name) for name in FRAMES if name != "range-bounded"),
    pytest.param("PROCTIME", "rows-bounded"),
    nightly("PROCTIME", "rows-unbounded"),
]


@pytest.mark.spark
@pytest.mark.parametrize(("time", "name"), WAYS)
def test_any_order_and_any_batches(spark: SparkSession, tmp_path: Path, time: str, name: str) -> None:
    """Doubles too, to the last bit; then the last batch runs again over the same state, and leaves the same."""
    by_rows, preceding = FRAMES[name]
    table = feed(tmp_path / "t", fields(TYPES[time]))
    made = records(seed=3)
    for n, rows in enumerate(deliveries(made, seed=3)):
        write(table.folder, n, rows)
    running = run(spark, over(table, by_rows, preceding))
    assert running.forms == ["keyed"]
    assert running.table == expected(model(made, by_rows, preceding, time == "PROCTIME"))
    assert not running.wrong
    last, state = max(running.given), running.state(1)
    forget_commit(running.checkpoint, last)
    running.go()
    assert len(running.given[last]) == 2
    assert running.given[last][0] == running.given[last][1]
    assert running.state(1) == state
    running.close()
