"""``flinkddl.execution.mode`` = 'auto': which queries run in real time, and why others do not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.headline import run_mode
from flinkddl.cli.listed import Listed
from flinkddl.cli.main import main
from flinkddl.diagnostics import SourceText
from flinkddl.runtime.job.registry import Entry
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.dataflow import as_json, flow_of
from flinkddl.show.explain import explain
from tests.spark.test_realtime import BLOCKED, CHAINED, TABLES, TAKEN, compiled

if TYPE_CHECKING:
    from pathlib import Path

    from flinkddl.spark.job import SparkJob

AUTO = "SET 'flinkddl.execution.mode' = 'auto';"
YES = "real time: yes, where cores and checkpoint allow it"
FAST = TAKEN | {name: sql for name, (sql, *_) in CHAINED.items()}
EXACTLY = TABLES.replace("'topic' = 'a',", "'topic' = 'a', 'sink.delivery-guarantee' = 'exactly-once',"
                         "'sink.transactional-id-prefix' = 'x',")  # fmt: skip
WHY_NOT = {
    "idle timeout": (BLOCKED["idle timeout"][0], "has an idle timeout"),
    "rows that are there": (BLOCKED["rows that are there"][0], "n6 Aggregate stands above rows that are there"),
    "session": (BLOCKED["session"][0], "n3 WindowTableFunction gives a window out once"),
    "print": (BLOCKED["print"][0], "writes through 'flinkddl.print', real-time mode into Kafka only"),
    "exactly once": (TAKEN["filter"], "is exactly-once, or has a partitioner"),
    "as aggregates": ("SET 'flinkddl.execution.state' = 'aggregate';" + CHAINED["distinct"][0], "Aggregate compares"),
    "mini-batches": (
        "SET 'table.exec.mini-batch.enabled' = 'true'; SET 'table.exec.mini-batch.allow-latency' = '2 s';"
        + TAKEN["filter"],
        "its batches are to wait 2000 milliseconds",
    ),
    "batches of a size": (
        "SET 'flinkddl.execution.max-offsets-per-trigger' = '9';" + TAKEN["filter"],
        "so many records at most",
    ),
    "one of a set": (
        f"EXECUTE STATEMENT SET BEGIN {TAKEN['filter']} {BLOCKED['print'][0]} END;",
        "writes through 'flinkddl.print'",
    ),
}


@pytest.mark.parametrize("name", FAST)
def test_real_time(name: str) -> None:
    """The job that real-time mode has, and beside it the one of micro-batches."""
    made, _ = compiled(AUTO + FAST[name])
    fast, _ = compiled(FAST[name])
    slow, _ = compiled("SET 'flinkddl.execution.mode' = 'micro-batch';" + FAST[name])
    assert made is not None
    assert made.choice is not None
    assert (made, made.in_batches) == (fast, slow)
    assert made.choice.words == YES
    assert f"\nmode auto: {YES}" in explain(made)
    assert as_json(flow_of(made))["modeAuto"] == YES


@pytest.mark.parametrize("name", WHY_NOT)
def test_micro_batches(name: str) -> None:
    sql, words = WHY_NOT[name]
    tables = EXACTLY if name == "exactly once" else TABLES
    made, slow = (first(tables + mode + sql) for mode in (AUTO, "SET 'flinkddl.execution.mode' = 'micro-batch';"))
    assert made == slow
    assert made.trigger[0] == "processingTime"
    assert made.choice is not None
    assert made.choice.batches is None
    assert made.choice.words.startswith("micro-batches: ")
    assert words in made.choice.words
    assert f"mode auto: {made.choice.words}" in explain(made)


def test_a_set_that_is_one_query_is_taken_apart() -> None:
    inserts = f"{TAKEN['filter']} INSERT INTO a SELECT k, id FROM o;"
    made = first(f"{TABLES}{AUTO} EXECUTE STATEMENT SET BEGIN {inserts} END;")
    assert made.choice is not None
    assert (len(made.runs), len(made.in_batches.runs)) == (2, 1)
    assert made.choice.words == f"{YES}; each of its INSERTs is a query of its own then"


def test_a_job_with_an_end_has_no_mode_to_choose() -> None:
    bounded = TABLES.replace("'earliest-offset'", "'earliest-offset', 'scan.bounded.mode' = 'latest-offset'")
    streaming = "SET 'execution.runtime-mode' = 'streaming';"
    for sets in (AUTO, AUTO + streaming):
        made = first(f"{bounded}{sets}{TAKEN['filter']}")
        assert made.choice is None
        assert made.trigger[0] != "realTime"


def test_a_program_runs_in_micro_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It knows of no cores, nor of a checkpoint."""
    (tmp_path / "job.sql").write_text(f"{TABLES}{AUTO}{TAKEN['filter']}", encoding="utf-8")
    assert main(["compile", str(tmp_path / "job.sql")]) == 0
    text = capsys.readouterr().out
    assert "processingTime" in text
    assert "realTime" not in text


def test_it_is_listed_as_it_is_until_the_start_has_chosen(tmp_path: Path) -> None:
    made, _ = compiled(AUTO + TAKEN["filter"])
    assert made is not None
    listed = Listed(made, Entry(tmp_path, "job", made.name, "job.sql"))
    assert run_mode(listed.job) == "auto"
    told: list[str] = []
    listed.telling(told.append)("mode auto: micro-batches: ..")
    listed.fit(made.in_batches)
    listed.publish()
    (record,) = (json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("*.json"))
    assert record["mode"] == "micro-batch"
    assert told == ["mode auto: micro-batches: .."]
    assert run_mode(replace(made, choice=None)) == "real-time"


def test_it_is_not_the_default() -> None:
    without = TABLES.replace("SET 'flinkddl.execution.mode' = 'realtime';", "")
    assert without != TABLES
    made = first(without + TAKEN["filter"])
    assert made.trigger[0] == "processingTime"
    assert made.choice is None


def first(sql: str) -> SparkJob:
    out = compile_script(SourceText("<t>", sql))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))
