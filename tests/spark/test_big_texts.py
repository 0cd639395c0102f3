"""Big scripts are read, planned and printed without Python's recursion limit, in a time that grows with their size."""

from __future__ import annotations

import cProfile
import gc
import pstats
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from flinkddl.deep import deep
from flinkddl.diagnostics import SourceText
from flinkddl.dialect.format import format_script
from flinkddl.script.compile import Compiled, Start, compile_script
from flinkddl.show.explain import explain
from flinkddl.show.printer import print_pyspark
from tests.spark.big_texts import REFUSED, SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.long

GROWTH = {"views": 4.5}  # each WHERE is written over the source's columns: its text grows with the views below it


def compiled(sql: str) -> Compiled:
    out = compile_script(SourceText("<t>", sql))
    assert not out.has_errors, out.diagnostics[:3]
    return out


@pytest.mark.parametrize("shape", SHAPES)
def test_big(shape: str) -> None:
    """Its plan is made, explained and printed, and the program is one that Python compiles."""
    count, text = SHAPES[shape]
    out = compiled(text(count))
    starts = [a for a in out.actions if isinstance(a, Start)]
    assert all(explain(a.job) for a in starts[:1])
    assert all(a.job.identity() for a in starts[:1])
    compile(print_pyspark(a.job for a in starts[:20]), "<program>", "exec")


@pytest.mark.parametrize("shape", REFUSED)
def test_too_deep(shape: str) -> None:
    """What neither we nor Spark can go down is refused with its code, and at once."""
    code, sql = REFUSED[shape]
    assert [d.code for d in compile_script(SourceText("<t>", sql)).diagnostics if d.severity == "error"] == [code]


@pytest.mark.parametrize("shape", SHAPES)
def test_growth(shape: str) -> None:
    """Twice the script is about twice the work: Python's calls are counted, no other load changes them."""
    count, text = SHAPES[shape]
    small, large = (_calls(text(n)) for n in (count // 40, count // 20))
    assert large < GROWTH.get(shape, 2.8) * small


@deep
def _calls(sql: str) -> int:
    return _profiled(partial(compiled, sql))


def _profiled(work: Callable[[], object]) -> int:
    profile = cProfile.Profile()
    profile.runcall(work)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]  # typeshed has not got it


@deep
def test_growth_of_explain() -> None:
    """Parts of one kind are not compared each with each other one."""
    _, text = SHAPES["UNION ALL"]
    jobs = [a.job for n in (200, 800) for a in compiled(text(n)).actions if isinstance(a, Start)]
    small, large = (_profiled(partial(explain, job)) for job in jobs)
    assert large < 6 * small


@pytest.mark.parametrize("shape", SHAPES)
def test_layout(shape: str) -> None:
    count, text = SHAPES[shape]
    sql = format_script(text(count // 10))
    assert format_script(sql) == sql


@pytest.mark.parametrize("shape", ["VALUES", "statement set"])
def test_growth_of_layout(shape: str) -> None:
    """Four times the script is not sixteen times the work: this process's time, with room for the noise in it."""
    count, text = SHAPES[shape]
    small, large = (_seconds(text(n)) for n in (count // 2, count * 2))
    assert large < 8 * small + 0.5


def _seconds(sql: str) -> float:
    """The least of two, without Python's collector: that one's time is of what other tests have left behind."""
    found = []
    gc.disable()
    try:
        for _ in range(2):
            begin = time.process_time()
            format_script(sql)
            found.append(time.process_time() - begin)
    finally:
        gc.enable()
    return min(found)
