"""What ``compile`` prints is run as a program, and gives the rows that ``run`` gives: samples and cases."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.runtime.job.running import RunOptions, start_job
from flinkddl.runtime.kafka.payloads import kafka_table
from flinkddl.script.compile import Start, compile_script
from samples import run as samples
from tests.e2e import test_combinations as combinations
from tests.support.programs import Program, printed, small, tell_secrets

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

SECONDS = 60.0


def starts_of(text: str, variables: dict[str, str]) -> tuple[Any, list[Start]]:
    compiled = compile_script(SourceText("printed.sql", text), variables=variables)
    assert not compiled.has_errors, compiled.diagnostics
    return compiled, [small(a) for a in compiled.actions if isinstance(a, Start)]


# ---- samples: topics in, topics or changes out ---------------------------------------------------------------------


@dataclass
class Sample(samples.Sample):
    """A sample whose topics have names of their own: other tests run the same samples on the same broker."""

    own: str

    @property
    def sql(self) -> str:
        def renamed(found: re.Match[str]) -> str:
            return found[1] + ";".join(self.own + topic for topic in found[2].split(";"))

        return re.sub(r"('topic(?:-pattern)?' = ')([^']*)", renamed, super().sql)

    def steps(self) -> list[samples.Lines]:
        return [[{**record, "topic": self.own + record["topic"]} for record in step] for step in super().steps()]


# what these have and others do not: two sinks, a watermark a partition, secrets, starts and stops
SOON = ("statement_set", "temporal_join", "security", "offsets")
STREAM = "SET 'execution.runtime-mode' = 'streaming';\n"
SAMPLES = [pytest.param(n, "", marks=() if n in SOON else pytest.mark.slow, id=n) for n in samples.names()]


@pytest.mark.kafka
@pytest.mark.parametrize(("name", "before"), [*SAMPLES, pytest.param("offsets", STREAM, id="offsets-as-a-stream")])
def test_a_samples_program_gives_what_the_sample_promises(
    spark: SparkSession,
    broker: Broker,
    name: str,
    before: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sample = Sample(name, f"printed{len(before)}-")
    compiled, (start,) = starts_of(before + sample.sql, dict(broker.variables))
    tables = [kafka_table(s.table) for s in start.sinks if s.table is not None]
    kafka = samples.Broker(broker.bootstrap)
    kafka.prepare(sample, [t for table in tables for t in table.topics])
    tell_secrets(start.job, monkeypatch)
    text = printed(compiled, [start])
    samples.feed(sample, kafka, lambda: Program(text, len(start.job.writes)))
    found = [{"change": line} for line in capsys.readouterr().out.splitlines()]
    found += [x for table in tables for t in table.topics for x in samples.content(broker.bootstrap, t, table)]
    plain = json.loads(json.dumps(found).replace(sample.own, ""))
    expected = [line for line in sample.expected if "row" not in line]  # the changes say what the table is
    assert samples.in_order(plain) == samples.in_order(expected)


# ---- cases: files in, changes out ----------------------------------------------------------------------------------

CASES = {
    "batch": "ord2 ord7 ord8 ov11 a83 unn4 in2 top4 vj_full_u wj_full val4 w_HOP_ts_se",
    "streaming": "ord8 val10 vj_full_u vj_join_cdc in5 tj_left ov8 top6 w_SESSION_ts_se w_TUMBLE_ts_top ij_left a8",
}
SOONER = ("vj_full_u", "w_SESSION_ts_se")
AT_NIGHT = {("streaming", id) for id in CASES["streaming"].split() if id not in SOONER}
EACH = [
    pytest.param(
        mode, case, id=f"{mode}-{case['id']}", marks=pytest.mark.slow if (mode, case["id"]) in AT_NIGHT else ()
    )
    for mode, case in combinations.RUNNABLE
    if case["id"] in CASES[mode].split()
]


def table_of(lines: list[str]) -> Counter[str]:
    """Return the rows that printed changes leave."""
    rows: Counter[str] = Counter()
    for line in lines:
        kind, row = re.fullmatch(r"(\+I|-U|\+U|-D)(\[.*\])", line).groups()  # type: ignore[union-attr]
        rows[row] += 1 if kind[0] == "+" else -1
    return +rows


def test_there_are_twenty_cases() -> None:
    assert len(EACH) == sum(len(names.split()) for names in CASES.values()) >= 20


@pytest.mark.spark
@pytest.mark.parametrize(("mode", "case"), EACH)
def test_a_cases_program_gives_what_run_gives(
    spark: SparkSession, mode: str, case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the same order, where batch mode sorts."""
    script = ";\n".join([*combinations.statements(mode, case, tmp_path), case["query"]])
    compiled, (start,) = starts_of(script, {})
    assert start_job(spark, start.job, RunOptions(notice=lambda _: None)).await_termination(SECONDS)
    ran = capsys.readouterr().out.splitlines()
    Program(printed(compiled, [start]), 1).await_termination(SECONDS)
    lines = capsys.readouterr().out.splitlines()
    assert table_of(lines) == table_of(ran)
    assert lines == ran or "ORDER BY" not in case["query"] or mode == "streaming"
    assert table_of(ran).total() == len(case[mode]["rows"])
