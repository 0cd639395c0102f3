"""A table of inserts is read once where operators by key lie between its mentions: plans, without Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.plan.stateforms import NEWER, TABLES
from flinkddl.runtime.job.supervising.begun import formed, kept
from flinkddl.runtime.storage.checkpoint import job_folder, open_checkpoint, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.explain import explain
from flinkddl.spark.job import GroupBy, Read
from flinkddl.spark.realtime import reads_of
from flinkddl.spark.stateful import stateful
from tests.support.steps import assert_in_order

if TYPE_CHECKING:
    from pathlib import Path

    from flinkddl.spark.job import SparkJob

KAFKA = "'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = 'b:9092', 'topic'"
TABLES_OF = f"""
CREATE TABLE o (a BIGINT, b BIGINT, v BIGINT, w ARRAY<BIGINT>) WITH ({KAFKA} = 'o');
CREATE TABLE p (a BIGINT, v BIGINT) WITH ({KAFKA} = 'p');
CREATE TABLE timed (a BIGINT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ({KAFKA} = 'timed');
CREATE TABLE item (a BIGINT, v BIGINT, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = 'item', 'properties.bootstrap.servers' = 'b:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE FUNCTION f AS 'tests.functions.udfs.annotated' LANGUAGE PYTHON;
CREATE TABLE s (x BIGINT, y BIGINT) WITH ('connector' = 'print');
CREATE TABLE u (x BIGINT, y BIGINT, PRIMARY KEY (x) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'u',
  'properties.bootstrap.servers' = 'b:9092', 'key.format' = 'json', 'value.format' = 'json');
"""
OF_A, OF_B = (f"SELECT {key} AS g, COUNT(DISTINCT v) AS n FROM o GROUP BY {key}" for key in "ab")
BESIDE = f"SELECT o.v AS v, y.n AS n FROM o JOIN ({OF_B}) AS y ON o.a = y.g"
SIZES = "(SELECT n, COUNT(*) AS m FROM (SELECT a, b, COUNT(*) AS n FROM o GROUP BY a, b) GROUP BY n)"
WINDOW = """SELECT a, COUNT(*) FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY a, window_start, window_end"""
CASES: dict[str, tuple[str, int, int]] = {
    "UNION ALL": (f"{OF_A} UNION ALL {OF_B}", 1, 1),
    "totals of inserts": (
        "SELECT a, COUNT(*) FROM o GROUP BY a UNION ALL SELECT b, SUM(v) FROM o WHERE v > 3 GROUP BY b", 1, 1,
    ),
    "a join of both": (f"SELECT x.n, y.n FROM ({OF_A}) AS x JOIN ({OF_B}) AS y ON x.g = y.g", 2, 1),
    "a join of one with the table": (BESIDE, 2, 1),
    "a group above": (f"SELECT n, MAX(v) FROM ({BESIDE}) GROUP BY n", 3, 1),
    "an outer join with a condition": (
        f"SELECT o.v, y.n FROM o LEFT JOIN ({OF_B}) AS y ON o.a = y.g AND o.v < y.n", 2, 1,
    ),
    "IN": (f"SELECT a, v FROM o WHERE v IN (SELECT n FROM ({OF_B}))", 2, 1),
    "two stages are passed": (
        "SELECT o.v, y.m FROM o JOIN (SELECT n, COUNT(*) AS m FROM (SELECT a, COUNT(DISTINCT v) AS n FROM o GROUP BY a)"
        " GROUP BY n) AS y ON o.a = y.n", 3, 1,
    ),
    "three would be": (
        f"SELECT o.v, y.k FROM o JOIN (SELECT m, COUNT(*) AS k FROM {SIZES} GROUP BY m) AS y ON o.a = y.m", 4, 2,
    ),
    "of several some would pass three": (
        f"SELECT o.v, y.k FROM o JOIN (SELECT m, COUNT(*) AS k FROM {SIZES} GROUP BY m) AS y ON o.a = y.m "
        f"JOIN ({OF_B}) AS z ON z.g = o.b", 5, 2,
    ),
    "beside other tables": (
        f"SELECT o.v, p.v FROM o JOIN p ON o.a = p.a UNION ALL SELECT o.v, item.v FROM o JOIN item ON o.a = item.a "
        f"UNION ALL {OF_B}", 2, 3,
    ),
    "equal parts, and the table beside them": (
        f"SELECT x.n, y.n FROM ({OF_A}) AS x JOIN ({OF_A}) AS y ON x.n = y.g UNION ALL {OF_B}", 2, 1,
    ),
    "an order that one asks for": (
        "SELECT o.v, y.l FROM o JOIN (SELECT b, LAST_VALUE(v) AS l FROM o GROUP BY b) AS y ON o.a = y.b", 2, 1,
    ),
    "RAND()": (f"{OF_A} UNION ALL SELECT b, COUNT(DISTINCT v) FROM o WHERE RAND() < 0.5 GROUP BY b", 1, 1),
    "rows that go out one by one": (f"SELECT a, v FROM o WHERE v > 1 UNION ALL SELECT b, v FROM o UNION ALL {OF_B}",
        1, 2),
    "VALUES beside them": (f"{OF_A} UNION ALL {OF_B} UNION ALL SELECT * FROM (VALUES (1, 2))", 2, 3),
    "many rows of one": (
        f"{OF_A} UNION ALL SELECT e, COUNT(DISTINCT v) FROM o CROSS JOIN UNNEST(w) AS t (e) GROUP BY e", 2, 2,
    ),
    "many rows of one, beside two others": (
        f"{OF_A} UNION ALL {OF_B} UNION ALL SELECT e, COUNT(DISTINCT v) FROM o CROSS JOIN UNNEST(w) AS t (e) "
        "GROUP BY e", 2, 2,
    ),
    "a Python function": (
        f"{OF_A} UNION ALL SELECT b, COUNT(DISTINCT v) FROM o WHERE f(CAST(v AS INT), CAST(v AS DOUBLE)) <> '1' "
        "GROUP BY b", 2, 2,
    ),
    "a window": (f"{WINDOW} UNION ALL SELECT a, COUNT(DISTINCT v) FROM timed GROUP BY a", 2, 2),
    "two beside a window": (
        f"{WINDOW} UNION ALL SELECT a, COUNT(DISTINCT v) FROM timed GROUP BY a UNION ALL "
        "SELECT v, COUNT(DISTINCT a) FROM timed GROUP BY v", 2, 2,
    ),
    "other options": (f"{OF_A} UNION ALL {OF_B.replace('o GROUP', 'o /*+ OPTIONS(%s) */ GROUP')}"
        % "'scan.startup.mode' = 'latest-offset'", 2, 2),
}  # fmt: skip
"""Queries: operators with state, and readings of all tables."""
STATES = ("auto", "keyed")
WINDOWS = ("a window", "two beside a window")
"""With 'auto' such a query may be one chain, in which windows are by key as well."""


def job(query: str, state: str = "keyed", more: str = "", sink: str = "s") -> SparkJob:
    sets = f"SET 'flinkddl.execution.state' = '{state}'; {more}"
    out = compile_script(SourceText("<t>", f"{sets}{TABLES_OF} INSERT INTO {sink} {query};"))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


def counted(made: SparkJob) -> tuple[int, int]:
    (write,) = made.writes
    return len(stateful(made, write)), len(reads_of(made, write))


APART = "SET 'table.optimizer.reuse-source-enabled' = 'false';"


@pytest.mark.parametrize(("name", "state"), [(n, s) for n in CASES for s in STATES if s == "keyed" or n not in WINDOWS])
def test_operators_and_readings(name: str, state: str) -> None:
    query, operators, reads = CASES[name]
    made = job(query, state)
    assert counted(made) == (operators, reads)
    told, tables = explain(made), [s for s in made.steps if isinstance(s, Read) and s.of_topics]
    assert len(re.findall(r"\bScan\(changelogMode", told)) == len(tables)
    mentions = len(re.findall(r"\b(FROM|JOIN|TABLE) (o|p|item|timed)\b", query))
    shares = len(tables) < mentions
    assert ("read once" in made.plan[0].how.because) == (shares and state == "auto")
    assert told.count("read again") == len(tables) - len({(s.topics, str(s.start)) for s in tables})


@pytest.mark.parametrize("name", [n for n, (_, _, reads) in CASES.items() if reads == 1])
def test_the_setting_is_flinks(name: str) -> None:
    query = CASES[name][0]
    apart = job(query, "keyed", APART)
    assert TABLES not in apart.newer
    assert counted(apart)[1] > 1
    assert "read again" in explain(apart)


@pytest.mark.parametrize("name", CASES)
def test_each_step_reads_earlier_ones_and_is_read(name: str) -> None:
    assert_in_order(job(CASES[name][0]).steps)


def test_totals_of_inserts_that_nobody_mentions_again_are_aggregates() -> None:
    made = job("SELECT a, SUM(v) FROM o GROUP BY a UNION ALL SELECT a, SUM(v) FROM p GROUP BY a", "auto")
    assert list(made.forms.values()) == [False]
    assert counted(made) == (2, 2)


FIRST = """SELECT a, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY pt) AS r
FROM (SELECT *, PROCTIME() AS pt FROM o)) WHERE r = 1"""


def test_what_cannot_be_read_once_is_no_reason() -> None:
    """It looks as if it could until it is lowered: first rows are kept by an operator of Spark's own."""
    made = job(f"SELECT b, SUM(v) FROM o GROUP BY b UNION ALL {FIRST}", "auto")
    assert made.plan[0].how.because == "Deduplicate keeps rows"
    assert counted(made) == (2, 2)
    assert "read again" in explain(made)


def test_what_lies_beside_it_is_read_once() -> None:
    totals = "SELECT b, SUM(v) FROM o GROUP BY b UNION ALL SELECT a, MAX(v) FROM o GROUP BY a"
    made = job(f"{totals} UNION ALL {FIRST}", "auto")
    assert made.plan[0].how.because == "o read once; Deduplicate keeps rows"
    assert counted(made) == (2, 2)


def test_real_time_has_its_chain_and_no_other() -> None:
    made = job(CASES["UNION ALL"][0], "keyed", "SET 'flinkddl.execution.mode' = 'realtime';", "u")
    assert list(made.forms.values()) == ["chain"]
    assert counted(made)[1] == 1


@pytest.mark.parametrize(
    "name", ["UNION ALL", "totals of inserts", "a group above", "equal parts, and the table beside them"]
)
@pytest.mark.parametrize("state", STATES)
def test_a_checkpoint_goes_on_as_it_was_begun(tmp_path: Path, name: str, state: str) -> None:
    made = job(CASES[name][0], state)
    assert TABLES in made.newer
    assert made.apart is not None
    before = made.apart(NEWER - {TABLES})
    assert TABLES not in before.newer
    assert counted(before)[1] > counted(made)[1] == 1

    def again(missing: str = "") -> SparkJob:
        stored = stored_plan(LOCAL, job_folder(str(tmp_path), made))
        return formed(kept(made, stored), stored, lambda: missing)

    assert again() is made
    open_checkpoint(before, str(tmp_path))
    for _ in range(2):
        assert again() == before
        assert again().fingerprint == before.fingerprint != made.fingerprint
        open_checkpoint(again(), str(tmp_path))
    open_checkpoint(made, str(tmp_path), fresh=True)
    assert again() == made
    with pytest.raises(FlinkDdlError, match=r"FD893.*(read once|chain).*another Spark"):
        again("another Spark")


@pytest.mark.parametrize("name", ["UNION ALL", "totals of inserts", "a group above"])
def test_what_was_begun_as_aggregates_stays_so(tmp_path: Path, name: str) -> None:
    made, before = job(CASES[name][0], "auto"), job(CASES[name][0], "aggregate")
    open_checkpoint(before, str(tmp_path))
    stored = stored_plan(LOCAL, job_folder(str(tmp_path), made))
    again = formed(kept(made, stored), stored, lambda: "")
    assert again == before
    assert not any(s.stage for s in again.steps if isinstance(s, GroupBy))


def test_without_stages_each_mention_is_read() -> None:
    made = job(CASES["UNION ALL"][0])
    assert counted(formed(made, None, lambda: "another Spark")) == (2, 2)
