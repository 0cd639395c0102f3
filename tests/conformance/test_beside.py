"""Families around answers that were once wrong, as a real Flink gives them; differences that stay have their reason."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from tests.conformance import beside
from tests.support.kernels import kernel_session

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession


# file -> pattern over ids -> why ours is another answer, or none
KNOWN: dict[str, dict[str, str]] = {
    "intervals": {
        r"interval-of-big-bigint-9\d+-p-(day|hour|second-3)|(interval-of-)?lit-big(dec)?-(?i:day|hour)": (
            "Spark's intervals are microseconds in 64 bits: beyond 292,000 years it is refused or fails aloud"
        ),
        r"lit-cast-dec-.*": "Flink folds a constant CAST of a DECIMAL to an interval, of a column it has none: refused",
    },
    "clocks": {
        r"diff-(ltz-ltz|(date|ts6?)-ts6?|ts6?-date|time3?-time3?)-millisecond": (
            "Flink drops the milliseconds of both sides; here they count (tests/conformance/known.py)"
        ),
        r"(diff|minus).*-(time3?|TIME).*-(month|quarter|year|MONTH|YEAR)": (
            "Flink takes the milliseconds of a TIME for days, the answer means nothing: refused"
        ),
    },
    "json": {
        r"jv-\d+-rete?-(double-7|double-7-5e0|integer-7q|boolean-trueq)": (
            "Flink's job fails with a ClassCastException on a DEFAULT of another Java class; here it is cast"
        ),
    },
    "sets": {
        r"sets-(0a0|a-ab-a|a-rollup-ab|nested2)(-plain)?-(batch|streaming)": (
            "Flink groups the one set that is left over by all keys instead of its own, or refuses the statement"
        ),
        r"wsets-session.*-streaming": "SESSION below an updating aggregate: refused on a stream (FD646)",
        r"sets-q-empty0-streaming": "recorded over constants, of which Flink's planner knows that none is left",
    },
}
# each operator once in every run, the neighbours at night: a streaming query costs seconds
SETS = r"sets-(aa0|a3|ab-ab-a|a-ab-a|rollup-aa|cube-aba|a-cube-a)-s|wsets-tumble-(kk0|cube-k|inside)-s|sets-q-empty0"
ASKED = {"sets": [("batch", ""), ("streaming", SETS), pytest.param("streaming", "", marks=pytest.mark.slow)]}
T = [(1, "x", 10), (1, "y", 20), (2, "x", 30), (None, "x", 40), (1, "x", 50)]
W = [(1, "x", 10, 1), (2, "y", 20, 2), (3, "x", 30, 5), (4, None, 40, 11), (5, "x", 50, 12), (6, "y", 60, 31)]


def clock(second: int | None) -> str | None:
    return None if second is None else f"2024-01-01 10:00:{second:02d}"


def timed(rows: Iterable[tuple[int, str | None, int, int | None]]) -> list[dict[str, Any]]:
    return [{"id": i, "k": k, "v": v, "ts": clock(s)} for i, k, v, s in rows]


BY = "id INT, k STRING, v INT, ts TIMESTAMP(3)"
TABLES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "t": ("a INT, b CHAR(1), v INT", [{"a": a, "b": b, "v": v} for a, b, v in T]),
    "w": (f"{BY}, WATERMARK FOR ts AS ts", timed(W)),
}


@pytest.fixture(scope="module")
def quick() -> SparkSession:
    """A session that does not compile what runs once."""
    off = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    return kernel_session(**off, **{"spark.sql.shuffle.partitions": "1", "spark.sql.mapKeyDedupPolicy": "LAST_WIN"})


@pytest.fixture
def files(quick: SparkSession, tmp_path: Path) -> Catalog:
    """The tables of the recorded statements over grouping sets, in folders."""
    catalog = Catalog(quick, views=False)
    for name in ("t", "w"):
        columns, rows = TABLES[name]
        file = tmp_path / name / "rows.json"
        file.parent.mkdir()
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        options = f"'connector' = 'filesystem', 'path' = '{file.parent}', 'format' = 'json'"
        catalog.execute(f"CREATE TABLE {name} ({columns}) WITH ({options})")
    return catalog


def check(name: str, differences: Iterable[tuple[str, str]], wanted: Iterable[dict[str, Any]]) -> None:
    """Every difference is a known one, and every known one is still there."""
    found = dict(differences)
    known = {p: [c["id"] for c in wanted if re.fullmatch(p, c["id"])] for p in KNOWN[name]}
    explained = {i for ids in known.values() for i in ids}
    assert {i: d for i, d in found.items() if i not in explained} == {}
    assert [p for p, ids in known.items() if ids and not found.keys() & set(ids)] == []


@pytest.mark.spark
@pytest.mark.parametrize("name", ["intervals", "clocks", "json"])
def test_expressions_are_flinks(quick: SparkSession, name: str) -> None:
    check(name, beside.scalars(name, quick), beside.cases(name))


def asked(name: str, mode: str, only: str = "") -> list[dict[str, Any]]:
    """Return the cases of a mode whose ids match."""
    return [c for c in beside.cases(name) if c["mode"] == mode and re.match(only, c["id"])]


@pytest.mark.spark
@pytest.mark.parametrize(("mode", "only"), ASKED["sets"])
def test_grouping_sets_are_flinks(files: Catalog, mode: str, only: str) -> None:
    wanted = asked("sets", mode, only)
    check("sets", beside.tables(wanted, files, mode), wanted)


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_family_has_its_neighbours(name: str) -> None:
    ids = [c["id"] for c in beside.cases(name)]
    assert len(ids) == len(set(ids)) >= 20
