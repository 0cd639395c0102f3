"""When a failed query is started again: the counting, compared with that of Flink 2.3, and what is not mended by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flinkddl.diagnostics import Diagnostic
from flinkddl.runtime.job.reporting.failures import JobFailed
from flinkddl.runtime.job.supervising.restarts import Backoff, Restarts
from flinkddl.spark.restarts import ENDLESS, NONE, USUAL, RestartStrategy


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


STEADY = replace(USUAL, chosen=True, jitter=0.0)
# what notifyFailure, canRestart and getBackoffTime of Flink's own classes gave, one failure after the other
FLINK = [
    (RestartStrategy("fixed-delay", True, 2, 1000), [1.0, 1.0, None, None]),
    (RestartStrategy("fixed-delay", True, 0, 1000), [None, None]),
    (RestartStrategy("failure-rate", True, 2, 1000, 600_000), [1.0, 1.0, None, None]),
    (RestartStrategy("failure-rate", True, 1, 1000, 60_000), [1.0, None, None]),
    (replace(STEADY, attempts=3), [1.0, 1.5, 2.25, None]),
    (replace(STEADY, most_ms=5000), [1.0, 1.5, 2.25, 3.375, 5.0, 5.0]),
    (RestartStrategy("none", True), [None, None]),
]


@pytest.mark.parametrize(("strategy", "pauses"), FLINK)
def test_pauses(strategy: RestartStrategy, pauses: list[float | None]) -> None:
    clock = Clock()
    backoff = Backoff(strategy, clock)
    for pause in pauses:
        assert backoff.failed() == pause
        clock.now += (pause or 0) + 0.1
        backoff.started()


def test_failures_of_another_interval_do_not_count() -> None:
    clock = Clock()
    backoff = Backoff(RestartStrategy("failure-rate", True, 1, 1000, 60_000), clock)
    assert backoff.failed() == 1.0
    clock.now += 60.5
    assert (backoff.failed(), backoff.place) == (1.0, "1st of 1")
    clock.now += 59
    assert backoff.failed() is None


def test_pauses_begin_anew_after_a_long_time_without_a_failure() -> None:
    clock = Clock()
    backoff = Backoff(STEADY, clock)
    assert [backoff.failed(), backoff.failed()] == [1.0, 1.5]
    backoff.started()
    clock.now += 3599
    assert (backoff.failed(), backoff.place) == (2.25, "3rd")
    backoff.started()
    clock.now += 3600
    assert (backoff.failed(), backoff.place) == (1.0, "1st")


def test_jitter_stays_within_its_bounds() -> None:
    """Never shorter than the first pause, never longer than the longest: both hold after the jitter, as in Flink."""
    strategy = replace(STEADY, jitter=0.5, most_ms=4000)
    seconds = [
        [backoff.failed() or 0.0 for _ in range(9)] for backoff in (Backoff(strategy, Clock()) for _ in range(300))
    ]
    for nth, (low, high) in {0: (1.0, 1.5), 1: (1.0, 2.25), 2: (1.125, 3.375), 3: (1.6875, 4.0), 8: (4.0, 4.0)}.items():
        found = [pauses[nth] for pauses in seconds]
        assert low <= min(found) <= low * 1.1
        assert high * 0.9 <= max(found) <= high


def failure(write: str = "w", text: str = "java.util.concurrent.TimeoutException", code: str = "FD830") -> JobFailed:
    diagnostic = Diagnostic(code, f"the query into '{write}' failed: it broke", help="the whole error is in 'x'")
    return JobFailed(diagnostic, write, Path("x"), text)


FIXED = RestartStrategy("fixed-delay", True, 3, 4000)


def test_a_restart_is_waited_for_counted_and_used_up() -> None:
    clock = Clock()
    restarts = Restarts(FIXED, clock)
    for place in ("1st", "2nd", "3rd"):
        said = f"the query into 'w' failed: it broke; restarting in 4 s ({place} of 3); the whole error is in 'x'"
        assert restarts.failed(failure()) == said
        assert (restarts.waiting, restarts.due) == (f"restarting in 4 s ({place} of 3)", False)
        clock.now += 4
        assert (restarts.waiting, restarts.due) == (f"restarting ({place} of 3)", True)
        assert restarts.take() == {"w"}
        assert (restarts.waiting, restarts.due) == ("", False)
    with pytest.raises(JobFailed, match=r"FD830.*'fixed-delay' is used up after 3 restarts; the whole error"):
        restarts.failed(failure())
    assert (restarts.count, restarts.last) == (3, "the query into 'w' failed: it broke")


def test_what_fails_meanwhile_is_started_with_it() -> None:
    """As in Flink, which merges failures that come within a backoff; one outage is one restart."""
    clock = Clock()
    restarts = Restarts(RestartStrategy("fixed-delay", True, 1, 1000), clock)
    restarts.failed(failure("a"))
    clock.now += 60  # a cluster that is away holds the restart
    assert restarts.failed(failure("b")).endswith("restarting it too")
    assert restarts.take() == {"a", "b"}
    with pytest.raises(JobFailed):
        restarts.failed(failure("a"))


@pytest.mark.parametrize(
    ("text", "chosen", "usual"),
    [
        ("TimeoutException: Timed out waiting for a node assignment", True, True),
        ("java.lang.IllegalArgumentException: FD750: value of table 't': column 'a'", True, False),
        ("FD751: key of table 't'", True, False),
        ("FD528: a group of this state was written by a newer flinkddl", True, False),
        ("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012", True, False),
        ("[USER_RAISED_EXCEPTION] NULL in a NOT NULL column SQLSTATE: P0001", True, False),
        ("[UNRESOLVED_COLUMN] x SQLSTATE: 42703", True, False),
        ("[STREAM_FAILED] terminated SQLSTATE: XXKST", True, True),
    ],
)
def test_what_every_restart_would_meet_again_is_restarted_only_where_a_strategy_is_chosen(
    text: str, chosen: bool, usual: bool
) -> None:
    for strategy, expected in ((STEADY, chosen), (USUAL, usual), (NONE, False)):
        restarts = Restarts(strategy, Clock())
        if expected:
            assert "restarting in 1 s (1st)" in restarts.failed(failure(text=text))
        else:
            with pytest.raises(JobFailed, match=r"FD830: [^;]*it broke \(the whole error is in 'x'\)"):
                restarts.failed(failure(text=text))


def test_a_query_that_never_worked_is_restarted_only_where_a_strategy_is_chosen() -> None:
    assert "restarting in 1 s" in Restarts(STEADY, Clock()).failed(failure(), begun=False)
    with pytest.raises(JobFailed):
        Restarts(USUAL, Clock()).failed(failure(), begun=False)


def test_lost_records_are_not_mended_by_a_restart() -> None:
    with pytest.raises(JobFailed, match="FD866"):
        Restarts(FIXED, Clock()).failed(failure(code="FD866"))


def test_endless_attempts_are_not_counted_out() -> None:
    backoff = Backoff(replace(FIXED, attempts=ENDLESS), Clock())
    assert (backoff.failed(), backoff.place) == (4.0, "1st")
