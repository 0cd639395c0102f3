"""The jobs of a script that ``run`` has started: what shows and stops them, and how their end is waited for."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkddl.cli.common import print_diagnostics
from flinkddl.perform import Front, perform

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from flinkddl.api import Catalog, Job, Result
    from flinkddl.cli.listed import Listed, Listing
    from flinkddl.cli.live import Display
    from flinkddl.diagnostics import FlinkDdlError
    from flinkddl.script.compile import Action, Compiled, Start

WAIT_SECONDS = 0.1


def report(args: argparse.Namespace, error: FlinkDdlError) -> None:
    """Print why a run, or one of its scripts, ends."""
    if args.log_format == "json":
        from flinkddl.cli.live import JsonDisplay

        JsonDisplay().findings(error.diagnostics)
    else:
        print_diagnostics(error.diagnostics, args.output)


class Stops:
    """The jobs that a signal must stop; ``asked`` says that one came.

    The first signal lets the running batches end, the second cuts them off, a third does what it did before this run.
    """

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.asked = False
        self.before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}

    def add(self, job: Job) -> None:
        """Take a started job; a signal that came meanwhile holds for it too."""
        self.jobs.append(job)
        if self.asked:
            job.request_stop()

    def ask(self, *_: object) -> None:
        """End the jobs, as a signal wants it."""
        if self.asked:
            self.leave()
        for job in self.jobs:
            job.request_stop(now=self.asked)
        self.asked = True

    def listen(self) -> None:
        """Take the signals; PySpark takes SIGINT for itself when the main thread starts a session: said again then."""
        if threading.current_thread() is threading.main_thread():
            for number in self.before:
                signal.signal(number, self.ask)

    def leave(self) -> None:
        """Give the signals back."""
        for number, handler in self.before.items():
            signal.signal(number, handler)


@contextmanager
def stopping() -> Iterator[Stops]:
    """Within the body, SIGINT and SIGTERM end the jobs that are added."""
    stops = Stops()
    stops.listen()
    try:
        yield stops
    finally:
        stops.leave()


@dataclass(frozen=True)
class Run:
    """What the scripts of a run share: its signals, what shows and lists its jobs, RunOptions for each of them."""

    stops: Stops
    shown: Display
    listing: Listing
    options: dict[str, Any]
    until_read: bool = False


class Running(Front):
    """The jobs of a script on a terminal: a panel of their progress, the rows of queries as they come.

    ``start_spark`` gives the catalog its session.
    """

    def __init__(self, catalog: Catalog, run: Run, start_spark: Callable[[], object] | None = None) -> None:
        self.catalog, self.stops, self.shown, self.listing = catalog, run.stops, run.shown, run.listing
        self.until_read = run.until_read
        self.options = {**run.options, "asked": self.ends, "until_read": run.until_read}
        self.checkpoint = run.options.get("checkpoint")
        self._start_spark = start_spark or (lambda: catalog.spark)

    def perform(self, compiled: Compiled) -> None:
        """Carry out all actions, then wait for the jobs."""
        perform(self.catalog, compiled, self)
        self._await(self.catalog.jobs)

    def ends(self) -> bool:
        """Return whether a signal has come."""
        return self.stops.asked

    def carry_out(self, action: Action) -> Job | None:
        """Start a job as soon as Spark is there, unless a signal has come meanwhile; print what an action gives."""
        from flinkddl.script.compile import Start

        if not isinstance(action, Start):
            _answer(self.catalog.perform_one(action))
            return None
        listed = self.listing.of(action)
        with listed.starting():
            if not self._started_spark(action) or listed.asked:
                return None
            return self._query(action) if action.is_query else self._insert(action, listed)

    def _started_spark(self, action: Start) -> bool:
        """Start Spark, where the job's clusters are there; return whether the job is still wanted then."""
        self.catalog.reach(action)
        self._start_spark()
        self.stops.listen()
        self.shown.phase = ""
        return not self.ends()

    def _insert(self, action: Start, listed: Listed) -> Job:
        told = listed.telling(self.shown.notice)
        action = self.catalog.fitted(action, **{**self.options, "notice": told})
        listed.fit(action.job)
        meter = self.shown.add(action.job)
        show = {"on_progress": self.shown.on_progress(meter), "on_flow": self.shown.on_flow(meter)}
        show["notice"] = self.shown.notice
        own = {**listed.watching(show), "asked": lambda: listed.asked or self.ends()}
        job = self.catalog.start(action, **{**self.options, **own})
        meter.attach(job)
        self.stops.add(job)
        listed.attach(job)
        return job

    def _await(self, jobs: list[Job]) -> None:
        """Wait until all jobs have ended. When one fails its error is raised, and leaving stops the others."""
        for job in jobs if self.until_read else ():
            job.await_input()
            job.request_stop()
        open_jobs = list(jobs)
        while open_jobs:
            open_jobs = [job for job in open_jobs if not job.await_termination(WAIT_SECONDS)]
        self.shown.end()
        if self.until_read and not self.ends():
            self.shown.notice("all that the topics held at the start is read: the end")
        for line in (line for job in jobs if self.until_read for line in job.open_windows()):
            self.shown.notice(line)

    def _query(self, action: Start) -> Job | None:
        """Print a SELECT's result while it comes, as Flink's client does in tableau mode."""
        from flinkddl.cli.tables import Columns, Tableau

        columns = Columns.of_query(action, self.catalog.state)
        tableau = Tableau(columns, action.job.streaming, lambda text: print(text, flush=True))
        show = {"on_rows": lambda rows: tableau.add(rows.changes), "notice": self.shown.notice}
        job = self.catalog.start(action, **self.options, **show)
        self.stops.add(job)
        tableau.begin()
        job.await_termination()
        tableau.end(cancelled=self.stops.asked)
        return None


def _answer(result: Result) -> None:
    """Print what is known at once; ``OK`` of DDL stays unsaid."""
    from flinkddl.cli.tables import answer_lines

    if result.columns == ("result",) and list(result.rows) == [("OK",)]:
        return
    for line in answer_lines(result.columns, result.rows):
        print(line)
    sys.stdout.flush()
