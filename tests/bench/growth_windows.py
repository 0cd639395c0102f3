"""CPU seconds of a batch of 2,000 rows over few and over many open windows: ``python -m tests.bench growth-windows``.

TUMBLE windows of so many keys, sessions of so many keys, and an interval join over an hour of rows, each in the forms
of state ``FORMS`` and otherwise as ``tests.bench.growth`` does it: rounds in turn, then each size alone, a process for
each case. When a job has been measured, each partition gets a row that ends all windows: its state must fall to
``LEFT`` rows at most, and how long that takes is told. ``python -m tests.bench.growth_windows sessions`` runs one
shape. Exit code 1 where a ratio is above ``BOUND``, memory above ``MOST_GB``, or state is left.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.bench.growth import PARTITIONS, SETTINGS, Grown, Jobs, Query, Row, apart, engine

FORMS = ("aggregate", "chain")
LEFT, PATIENCE_S = 100, 180.0
MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR_MS = 3_600_000
TABLE = """CREATE TABLE {name} (id BIGINT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH
  ('connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset',
  'properties.bootstrap.servers' = '{servers}')"""


@dataclass(frozen=True)
class Windows(Query):
    """A query over ``r``, and over ``l`` where it joins, and how many keys there are, at least and at most."""

    least: int
    most: int

    @property
    def tables(self) -> list[str]:
        return ["l", "r"] if " l " in self.query else ["r"]


SHAPES = {
    "tumble": Windows(
        "SELECT id, COUNT(*) AS n, SUM(v) AS s FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '1' DAY)) "
        "GROUP BY id, window_start, window_end",
        10_000, 100_000,
    ),
    "sessions": Windows(
        "SELECT id, COUNT(*) AS n, SUM(v) AS s FROM TABLE(SESSION(TABLE r PARTITION BY id, DESCRIPTOR(ts), "
        "INTERVAL '2' HOUR)) GROUP BY id, window_start, window_end",
        100_000, 1_000_000,
    ),
    "interval": Windows(
        "SELECT l.id, l.v, r.v AS rv FROM l JOIN r ON l.id = r.id "
        "AND l.ts BETWEEN r.ts - INTERVAL '1' HOUR AND r.ts + INTERVAL '1' HOUR",
        100_000, 1_000_000,
    ),
}  # fmt: skip
"""Rows lie within the first hour of a day; a row of a change has a key that is there, and comes right after that."""


class OpenWindows(Jobs[Windows]):
    """Windows that stay open until rows end them."""

    def tables(self, query: Windows, topic: str, rows: int) -> tuple[list[str], int]:
        ddl = []
        for name in query.tables:
            at = f"timestamp_millis({int(MIDNIGHT.timestamp() * 1000)} + id * {HOUR_MS} DIV {rows})"
            value = f"named_struct('id', id, 'v', id % 100, 'ts', date_format({at}, 'yyyy-MM-dd HH:mm:ss.SSS'))"
            self.fill(self.create(f"{topic}-{name}"), value, rows)
            ddl.append(TABLE.format(name=name, topic=f"{topic}-{name}", servers=self.servers))
        return ddl, rows * len(ddl)

    def row(self, job: Grown[Windows], n: int) -> tuple[str, Row]:
        """Return one of a key of the hour's second half, which an interval still reaches; ten are in a millisecond."""
        names = job.query.tables
        row = {"id": job.rows // 2 + n * 7919 % (job.rows // 2), "v": n, "ts": _text(HOUR_MS + n // 10)}
        return f"{job.topic}-{names[n % len(names)]}", row

    def stop(self, job: Grown[Windows]) -> None:
        """End all windows, say what is left of the state and after how many seconds, and end the job."""
        for name in job.query.tables:
            for partition in range(PARTITIONS):
                self.send(f"{job.topic}-{name}", {"id": -1, "v": 0, "ts": _text(240 * HOUR_MS)}, partition)
        self.producer.flush()
        begin = time.perf_counter()
        before = left = self._state(job)
        while left > LEFT and time.perf_counter() - begin < PATIENCE_S:
            time.sleep(0.05)
            left = self._state(job)
        took = time.perf_counter() - begin
        print(f"{job.topic:<18} {before:,} rows of state, {left:,} {took:.1f} s after the watermark", flush=True)
        super().stop(job)
        if left > LEFT:
            raise SystemExit("state is left")

    @staticmethod
    def _state(job: Grown[Windows]) -> int:
        return sum(state.rows for state in job.read.job.progress[-1].state)


def _text(ms: int) -> str:
    return (MIDNIGHT + timedelta(milliseconds=ms)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def main(records: int = 0) -> None:
    """Print what each shape took in each form and size, which has its own. Raises SystemExit: a bound is not kept."""
    _all(tuple(SHAPES))


def _all(names: tuple[str, ...]) -> None:
    apart("tests.bench.growth_windows", [(name, form) for name in names for form in FORMS])


def _measure(name: str, form: str) -> None:
    windows = SHAPES[name]
    print(f"{name}, state {form}", flush=True)
    with engine() as (spark, servers):
        growth = OpenWindows(spark, servers, SHAPES)
        growth.settings = {**SETTINGS, "flinkddl.execution.state": form}
        growth.keep_bounds(name, windows.most, windows.least)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.bench.growth_windows", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SHAPES, *FORMS, []])
    parser.add_argument("--alone", action="store_true", help="a shape and a form, in this process")
    given = parser.parse_args()
    if given.alone:
        _measure(*given.names)
    else:
        _all(tuple(given.names) or tuple(SHAPES))
