"""How latencies are counted: by the first result that holds a record, by single records, by the ends of windows."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script
from tests.bench.latency import KEYS, SHAPES, SOURCES, WARM_SECONDS, at, distribution, held_up, latencies, markdown

WARM = WARM_SECONDS * 1000
STEP = 10
SENT = [n * STEP for n in range(WARM // STEP + 3 * KEYS)]
FIRST = WARM // STEP
"""The first record that counts; key 0 has it and each hundredth after it."""


@pytest.mark.parametrize(("name", "results", "expected"), [
    ("count", [({"k": 0, "last": FIRST}, WARM + 7)], [7]),
    ("count", [({"k": 0, "last": FIRST + KEYS}, WARM + 1500), ({"k": 0, "last": FIRST + KEYS}, WARM + 2000)],
     [1500, 500]),
    ("count", [({"k": 0, "last": FIRST - KEYS}, WARM + 7)], []),
    ("count", [], []),
    ("filter", [({"k": 0, "last": FIRST + KEYS}, WARM + 1500)], [500]),
    ("filter", [({"k": 0, "last": FIRST - KEYS}, WARM + 7)], []),
    ("window", [({"k": 0, "last": "1970-01-01 00:00:16"}, WARM + 1200)], [200]),
    ("window", [({"k": 0, "last": "1970-01-01 00:00:15.995"}, WARM + 1200)], [200]),
    ("window", [({"k": 0, "last": "1970-01-01 00:00:15"}, WARM + 40), ({"k": 0, "last": "1970-01-01 00:01:00"}, WARM)],
     [40]),
    ("window", [({"k": 0, "last": "1970-01-01 00:00:14"}, WARM + 40)], []),
])  # fmt: skip
def test_latencies(name: str, results: list[tuple[dict[str, object], int]], expected: list[int]) -> None:
    assert [ms for _, ms in latencies(SHAPES[name], SENT, results)] == expected


def test_ten_keys_of_an_upsert_topic_are_one_of_the_sum() -> None:
    found = latencies(SHAPES["sum-upsert"], SENT, [({"k": 3, "last": FIRST + 13}, WARM + 200)])
    assert found == [(WARM + 30, 200 - 30), (WARM + 130, 200 - 130)]


def test_percentiles_and_the_table() -> None:
    assert (at([1, 2, 3], 50), at([1, 2, 3], 99), at([], 50)) == (2, 3, -1)
    assert (at(range(1000), 99.9), at([1, 2, 3], 100)) == (999, 3)
    assert markdown({"filter": {"flink": [1, 2, 3], "realtime": [4]}}).splitlines()[2:] == [
        "| filter | 2, 3 | - | 4, 4 |",
    ]


def test_what_boundaries_held_up() -> None:
    """Each lasts half a second and comes a little later than its interval says; records before it wait less."""
    starts = [7_000, 27_400, 47_900]
    seen = [(t, next((s + 500 - t for s in starts if s <= t < s + 500), 30)) for t in range(0, 60_000, 10)]
    assert held_up(seen, 20) == [500, 500, 500]
    assert held_up([*seen, (30_000, 900)], 20) == [500, 500, 900], "a pause takes the place of the boundary near it"
    assert (held_up(seen[:200], 20), held_up([], 20)) == ([], [])


def test_the_table_of_boundaries() -> None:
    found = {"filter": {"flink": [1, 2, 3], "realtime": []}}
    assert distribution(found, {"filter": {"flink": [4, 7, 9], "realtime": []}}).splitlines()[2:] == [
        "| filter | flink | 2 | 3 | 3 | 3 | 3 | 3 | 4, 7, 9 |",
        "| filter | realtime | -1 | -1 | -1 | -1 | -1 | 0 | - |",
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_check_takes_the_queries(name: str) -> None:
    shape = SHAPES[name]
    tables = [f"CREATE TABLE {n} {SOURCES[n].format(servers='localhost:9092', topic=n)}" for n in shape.sources]
    script = ";\n".join([*tables, shape.sink("sink", "localhost:9092"), f"INSERT INTO sink {shape.query}"])
    assert not compile_script(SourceText("script.sql", script)).diagnostics
