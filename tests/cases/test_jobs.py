"""Scripts in the manner of real jobs: each is planned whole, or refused with the codes of its first comment line."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Compiled, compile_script

JOBS = sorted((Path(__file__).parent / "jobs").glob("*.sql"))
VARIABLES = {"TOPIC": "events", "BROKERS": "broker:9092", "out_topic": "days"}
EXPECT = "-- expect: "


@cache
def compiled(path: Path) -> Compiled:
    return compile_script(SourceText(path.name, path.read_text(encoding="utf-8")), variables=VARIABLES)


def expected(path: Path) -> list[str]:
    """The codes that the first line names; none where it says that the script is fine."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith(EXPECT), first
    return [word for word in first.removeprefix(EXPECT).split() if word != "fine"]


@pytest.mark.parametrize("path", JOBS, ids=lambda p: p.stem)
def test_job(path: Path) -> None:
    script = compiled(path)
    assert sorted({d.code for d in script.diagnostics if d.severity == "error"}) == expected(path), script.diagnostics


def test_every_error_has_its_place_and_says_something() -> None:
    for path in JOBS:
        for finding in compiled(path).diagnostics:
            assert finding.span is not None, (path.name, finding)
            assert finding.message, path.name


def test_there_are_enough_of_them() -> None:
    assert len(JOBS) >= 60
