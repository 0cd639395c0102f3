"""Families around answers that were once wrong, as a real Flink gives them; differences that stay have their reason."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from tests.conformance import beside
from tests.support.kernels import kernel_session
from tests.support.nightly import nightly
from tests.support.topics import send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

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
    "rowtime": {
        r"(legacy-(tumble|hop|session)(-global)?|tumble-nested|union-window)-streaming": (
            "Flink takes NULL for 1970 in the old group windows; here the job fails, as at the window functions"
        ),
        r"(temporal-.*|over-range)-batch": "Flink's batch planner fails; here it is answered as a stream's",
    },
}
# each operator once in every run, the neighbours at night: they cost minutes
SETS = r"sets-(aa0|a3|ab-ab-a|a-ab-a|rollup-aa|cube-aba|a-cube-a)-[sb]|wsets-tumble-(kk0|cube-k|inside)-[sb]|sets-q-e"
ROWTIME = r"filter-null|(tumble|session)-(e|rows)-[sb]|over-(rows|range|lag)-|interval-leftouter|temporal-left-"
ASKED = {
    name: [("streaming", q), nightly("batch", ""), nightly("streaming", "")]
    for name, q in (("sets", SETS), ("rowtime", ROWTIME))
}
T = [(1, "x", 10), (1, "y", 20), (2, "x", 30), (None, "x", 40), (1, "x", 50)]
W = [(1, "x", 10, 1), (2, "y", 20, 2), (3, "x", 30, 5), (4, None, 40, 11), (5, "x", 50, 12), (6, "y", 60, 31)]
E = [(1, "x", 10, 1), (2, "y", 20, None), (3, "x", 30, 15)]
R = [("x", 1, 0), ("y", 2, None), ("x", 3, 14)]


def clock(second: int | None) -> str | None:
    return None if second is None else f"2024-01-01 10:00:{second:02d}"


def timed(rows: Iterable[tuple[int, str | None, int, int | None]]) -> list[dict[str, Any]]:
    return [{"id": i, "k": k, "v": v, "ts": clock(s)} for i, k, v, s in rows]


BY = "id INT, k STRING, v INT, ts TIMESTAMP(3)"
TABLES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "t": ("a INT, b CHAR(1), v INT", [{"a": a, "b": b, "v": v} for a, b, v in T]),
    "w": (f"{BY}, WATERMARK FOR ts AS ts", timed(W)),
    "e": (f"{BY}, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND", timed(E)),
    "c": (f"{BY[:-12]}STRING, rt AS TO_TIMESTAMP(ts), WATERMARK FOR rt AS rt", timed(E)),
    "g": (f"{BY}, WATERMARK FOR ts AS ts", timed(e for e in E if e[3] is not None)),
    "n": (BY, timed(E)),
    "r": (
        "k STRING, r INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts",
        [{"k": k, "r": r, "ts": clock(s)} for k, r, s in R],
    ),
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


@pytest.fixture
def topics(quick: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> Catalog:
    """The tables of the recorded statements over a rowtime, in topics."""
    catalog = Catalog(quick, views=False)
    options = f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{broker.bootstrap}', 'format' = 'json'"
    options += ", 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'topic' = '{0}'"
    for name in ("e", "c", "g", "n", "r"):
        columns, rows = TABLES[name]
        topic = new_topic(name)
        send(broker.bootstrap, topic, rows)
        catalog.execute(f"CREATE TABLE {name} ({columns}) WITH ({options.format(topic)})")
    newest = "(SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM {0}) WHERE rn = 1"
    catalog.execute(f"CREATE VIEW rv AS SELECT k, r, ts FROM {newest.format('r')}")
    catalog.execute(f"CREATE VIEW rg AS SELECT k, id AS r, ts FROM {newest.format('g')}")
    catalog.execute("CREATE VIEW f AS SELECT * FROM e WHERE ts IS NOT NULL")
    return catalog


def check(name: str, differences: Iterable[tuple[str, str]], wanted: Iterable[dict[str, Any]]) -> None:
    """Every difference is a known one, and every known one is still there."""
    found = dict(differences)
    known = {p: [c["id"] for c in wanted if re.fullmatch(p, c["id"])] for p in KNOWN[name]}
    explained = {i for ids in known.values() for i in ids}
    assert {i: d for i, d in found.items() if i not in explained} == {}
    assert [p for p, ids in known.items() if ids and not found.keys() & set(ids)] == []


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", [nightly("intervals"), "clocks", "json"])
def test_expressions_are_flinks(quick: SparkSession, name: str) -> None:
    check(name, beside.scalars(name, quick), beside.cases(name))


def asked(name: str, mode: str, only: str = "") -> list[dict[str, Any]]:
    """Return the cases of a mode whose ids match."""
    return [c for c in beside.cases(name) if c["mode"] == mode and re.match(only, c["id"])]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("mode", "only"), ASKED["sets"])
def test_grouping_sets_are_flinks(files: Catalog, mode: str, only: str) -> None:
    wanted = asked("sets", mode, only)
    check("sets", beside.tables(wanted, files, mode), wanted)


@pytest.mark.kafka
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("mode", "only"), ASKED["rowtime"])
def test_a_null_rowtime_is_flinks(topics: Catalog, mode: str, only: str) -> None:
    wanted = asked("rowtime", mode, only)
    check("rowtime", beside.tables(wanted, topics, mode), wanted)


@pytest.mark.kafka
@pytest.mark.usefixtures("spark")
def test_an_old_group_window_fails_at_a_null_rowtime(topics: Catalog) -> None:
    topics.execute("SET 'execution.runtime-mode' = 'streaming'")
    with pytest.raises(Exception, match="RowTime field should not be null"):
        topics.execute("SELECT COUNT(*) FROM e GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)").collect()


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_family_has_its_neighbours(name: str) -> None:
    ids = [c["id"] for c in beside.cases(name)]
    assert len(ids) == len(set(ids)) >= 20
