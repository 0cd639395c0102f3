"""What a running job does about a query that has failed: nothing, or start it again, as ``restart-strategy.*`` says.

The counting is Flink's (FixedDelay-, FailureRate- and ExponentialDelayRestartBackoffTimeStrategy, 2.3): a restart is
tried after a pause, until the strategy is used up. Two things are ours. A pause ends no sooner than the job's clusters
answer: an outage costs one restart, however long it lasts. And a failure that every restart would meet again (a record
that does not fit, a division by zero; of a query that has not finished a batch yet, whatever it is) ends the job,
unless the script chooses a strategy: by default Flink goes round for ever there.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter, deque
from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.spark.restarts import ENDLESS, NONE, TYPE, USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from flinkddl.runtime.job.reporting.failures import JobFailed
    from flinkddl.spark.job import SparkJob
    from flinkddl.spark.restarts import RestartStrategy

# a value that does not fit (22), raised by an expression of ours (P0001), text or plan that Spark refuses (42, 0A);
# state of a newer flinkddl (528)
_AGAIN = re.compile(r"\bFD(?:7\d\d|478|528): |SQLSTATE: (?:22\w{3}|P0001|42\w{3}|0A000)\b")
_NEVER = ("FD866",)
_FAR_MS = 1e15


class Backoff:
    """The counting of a strategy, with times in seconds of ``clock``."""

    def __init__(self, strategy: RestartStrategy, clock: Callable[[], float] = time.monotonic) -> None:
        self.strategy, self._clock = strategy, clock
        self.attempt = 0
        self._failures: deque[float] = deque(maxlen=min(strategy.attempts, ENDLESS - 1) + 1)
        self._next: float | None = None

    def failed(self) -> float | None:
        """Count a failure; return the pause before a restart in seconds, None where there is no restart any more."""
        now, strategy = self._clock(), self.strategy
        if strategy.kind == "none":
            return None
        if strategy.kind == "failure-rate":
            return self._within_interval(now)
        since = None if self._next is None else now - self._next
        if strategy.kind == "exponential-delay" and since is not None and since * 1000 >= strategy.reset_ms:
            self.attempt = 0
        pause = self._pause()
        self.attempt += 1
        self._next = now + pause
        return pause if self.attempt <= strategy.attempts else None

    def started(self) -> None:
        """Take note that the restart has begun, which may be later than its pause."""
        self._next = self._clock()

    @property
    def place(self) -> str:
        """Which restart it is, in words: ``2nd of 3``."""
        most = self.strategy.attempts
        return _ordinal(self.attempt) + (f" of {most}" if most < ENDLESS else "")

    def _within_interval(self, now: float) -> float | None:
        self._failures.append(now)
        full = len(self._failures) > self.strategy.attempts
        if full and (now - self._failures[0]) * 1000 <= self.strategy.interval_ms:
            return None
        self.attempt = sum(1 for at in self._failures if (now - at) * 1000 <= self.strategy.interval_ms)
        return self.strategy.delay_ms / 1000

    def _pause(self) -> float:
        strategy = self.strategy
        if strategy.kind == "fixed-delay":
            return strategy.delay_ms / 1000
        pause = float(strategy.delay_ms)
        for _ in range(self.attempt):
            if pause > _FAR_MS:
                break
            pause *= strategy.multiplier
        pause += random.uniform(-1, 1) * pause * strategy.jitter
        return max(strategy.delay_ms, min(pause, strategy.most_ms)) / 1000


def _ordinal(n: int) -> str:
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def strategy_of(job: SparkJob, checkpoint: str | None) -> RestartStrategy:
    """Return a job's strategy. Not chosen: Flink's for a job with checkpoints, for which a folder of its own counts.

    What cannot be read again is not: Spark would count its rows from 0 and leave out as many as it had read.
    """
    if job.once:
        return NONE
    return job.restart or (NONE if checkpoint is None else USUAL)


class Restarts:
    """The failed queries of one job, and when they are started again.

    ``count`` is how often a query was started again, ``last`` the last failure in one line, ``failures`` how many there
    were by write and code.
    """

    def __init__(self, strategy: RestartStrategy, clock: Callable[[], float] = time.monotonic) -> None:
        self.strategy, self._clock = strategy, clock
        self._backoff = Backoff(strategy, clock)
        self._due = 0.0
        self._open: dict[str, JobFailed] = {}
        self.count = 0
        self.last = ""
        self.failures: Counter[tuple[str, str]] = Counter()

    def failed(self, error: JobFailed, *, begun: bool = True) -> str:
        """Plan the restart of a query; return what there is to say. Raises the error where none follows.

        ``begun``: it has worked before, so that the failure may pass.
        A query that fails while a restart is waited for is started with the others, and counts as one with them.
        """
        self.last = error.diagnostics[0].message
        self.failures[error.write, error.cause] += 1
        if error.diagnostics[0].code in _NEVER or not (self.strategy.chosen or (begun and _may_pass(error))):
            raise error
        if self._open:
            self._open[error.write] = error
            return f"{self.last}; restarting it too"
        pause = self._backoff.failed()
        if pause is None:
            raise self._used_up(error)
        self._open[error.write] = error
        self._due = self._clock() + pause
        return f"{self.last}; {self.waiting}; {error.diagnostics[0].help}"

    @property
    def due(self) -> bool:
        """Whether the pause before a restart is over."""
        return bool(self._open) and self._clock() >= self._due

    def take(self) -> set[str]:
        """Return the writes whose queries are started now."""
        names = set(self._open)
        self._open.clear()
        self.count += len(names)
        self._backoff.started()
        return names

    @property
    def open(self) -> Collection[str]:
        """The writes that are to be started again."""
        return self._open.keys()

    @property
    def waiting(self) -> str:
        """What is waited for, in words; nothing where no query has failed."""
        if not self._open:
            return ""
        left = max(0.0, self._due - self._clock())
        return f"restarting in {left:.0f} s ({self._backoff.place})" if left else f"restarting ({self._backoff.place})"

    def _used_up(self, error: JobFailed) -> JobFailed:
        found = error.diagnostics[0]
        if self.strategy.kind == "none":
            return error
        most = self.strategy.attempts
        within = f" within {self.strategy.interval_ms / 1000:g} s" if self.strategy.interval_ms else ""
        said = f"'{TYPE}' = '{self.strategy.kind}' is used up after {most} restart{'s' * (most != 1)}{within}"
        return with_help(error, f"{said}; {found.help}")


def _may_pass(error: JobFailed) -> bool:
    return _AGAIN.search(error.text) is None


def with_help(error: JobFailed, help: str) -> JobFailed:
    """Return the failure with another advice."""
    return error.told(replace(error.diagnostics[0], help=help))
