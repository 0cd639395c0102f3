"""No kind of operator by key is left out of the jobs that are killed in real time and change their mode."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.jvm import build
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.job import GroupBy
from flinkddl.spark.stages import KINDS
from tests.e2e import test_realtime, test_windows_in_a_chain
from tests.e2e.realtime_jobs import QUERIES, REALTIME, Work
from tests.e2e.window_jobs import TABLES, Windows

JOBS = {
    **{f"real time: {name}": (Work, names) for name, (names, _) in test_realtime.KINDS.items()},
    **{f"windows: {name}": (Windows, names) for name, names in test_windows_in_a_chain.KINDS.items()},
}
NEVER = {"intervalleft", "intervalfull"}
"""Bounds of an outer interval join are a condition: it is always one of the two that test one."""


ELSEWHERE = {"temporalinner"}
"""In ``test_temporal_in_a_chain.py``, in both modes and killed."""


def kinds(job: Work) -> set[str]:
    """Return the kinds of operators by key of a job in real time."""
    out = compile_script(SourceText("job.sql", job.script(REALTIME)))
    assert not out.has_errors, out.diagnostics
    (started,) = (a.job for a in out.actions if isinstance(a, Start))
    return {call.kind for step in started.steps if isinstance(step, GroupBy) for call in step.state_calls}


def test_each_kind_of_the_jar_is_in_a_job(tmp_path: Path) -> None:
    found = {
        kind
        for made, names in JOBS.values()
        for kind in kinds(made(tmp_path, "b:9092", names, lambda name, _=1: name, 2))
    }
    text = (Path(build.__file__).parent / "src/main/java/flinkddl/state/Kinds.java").read_text()
    known = set(re.findall(r'Map\.entry\("(\w+)", ', text))
    assert known == set(KINDS)
    assert found == known - NEVER - ELSEWHERE


@pytest.mark.parametrize(("made", "queries"), [(Work, QUERIES), (Windows, TABLES)])
def test_each_query_is_in_a_job(made: type[Work], queries: dict[str, object]) -> None:
    assert {name for of, names in JOBS.values() if of is made for name in names} == set(queries)
