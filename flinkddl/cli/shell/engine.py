"""Carries out statements and prints what they give, as Flink's SQL client does; knows nothing of keys and prompts."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from flinkddl.cli.shell.help import HELP
from flinkddl.cli.shell.results import job_state
from flinkddl.cli.shell.split import CLIENT_WORDS
from flinkddl.cli.tables import Columns, Tableau, answer_lines
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.perform import Front, await_job, perform
from flinkddl.script.compile import Command, Done, Start, compile_script

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.api import Catalog, Job
    from flinkddl.catalog.settings import Settings
    from flinkddl.cli.shell.output import Output
    from flinkddl.cli.shell.warmup import SparkStart
    from flinkddl.runtime.job.writers import Rows
    from flinkddl.script.compile import Action

    Viewer = Callable[["Engine", Start, Columns, str], None]


POLL_SECONDS = 0.1
T = TypeVar("T")


class Quit(Exception):
    """QUIT or EXIT was said."""


class Engine(Front):
    """One session: a catalog, its jobs, and where the output goes.

    ``viewer`` shows a query in ``table`` or ``changelog`` mode where a person watches; without it every result is
    printed in ``tableau`` mode. ``run`` are RunOptions fields of its jobs.
    """

    def __init__(
        self,
        catalog: Catalog,
        spark: SparkStart,
        out: Output,
        *,
        run: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        viewer: Viewer | None = None,
    ) -> None:
        self.catalog, self.spark, self.out, self.viewer = catalog, spark, out, viewer
        self.run = dict(run or {})
        self.checkpoint = self.run.get("checkpoint")
        self.variables = dict(variables or {})
        self.expanded = False

    # ---- statements ------------------------------------------------------------------------------------------------

    def execute(self, text: str, name: str = "<shell>") -> bool:
        """Carry out statements one after the other; print errors and return whether there were none.

        Raises Quit. Ctrl-C ends the statement that runs.
        """
        word = text.strip().rstrip(";").strip().upper()
        if word in CLIENT_WORDS:
            self._client(word)
            return True
        return self.execute_source(SourceText(name, text))

    def execute_source(self, source: SourceText) -> bool:
        """Check a whole text, then carry it out. With a mistake in it nothing is carried out."""
        try:
            compiled = compile_script(source, self.catalog.state, self.variables)
            self.out.diagnostics(compiled.diagnostics)
            if compiled.has_errors:
                return False
            perform(self.catalog, compiled, self)
        except FlinkDdlError as error:
            self._failed(error)
            return False
        except KeyboardInterrupt:
            self.out.message("WARN", "cancelled")
            return False
        return True

    def _failed(self, error: FlinkDdlError) -> None:
        self.out.diagnostics(error.diagnostics)
        log = getattr(error, "log", None)
        if log is not None and self.settings.sql_client_verbose:
            self.out.line(log.read_text(encoding="utf-8"))

    def carry_out(self, action: Action) -> Job | None:
        """Carry out one action and print what it gives. Raises Quit."""
        match action:
            case Start() if action.is_query:
                self._query(action)
            case Start():
                return self._insert(action)
            case Done():
                self.out.info(action.text)
            case Command() if action.tree.key == "client":
                self._client(action.tree.name.upper())
            case _:
                with self.out.waiting(lambda: "working"):
                    result = self.catalog.perform_one(action)
                for line in answer_lines(result.columns, result.rows):
                    self.out.line(line)
        return None

    def _client(self, word: str) -> None:
        if word in {"QUIT", "EXIT"}:
            raise Quit
        if word == "HELP":
            self.out.line(HELP)
        elif word == "\\X":
            self.expanded = not self.expanded
            self.out.info(f"Rows are shown {'a line a column' if self.expanded else 'as a table'}.")
        elif self.out.colour:
            self.out.line("\x1b[2J\x1b[H")

    @property
    def settings(self) -> Settings:
        """What the session has SET."""
        return self.catalog.state.settings

    # ---- jobs ------------------------------------------------------------------------------------------------------

    def start(self, action: Start, **run: Any) -> Job:
        """Start a job as soon as Spark is there, saying meanwhile what is waited for; after Ctrl-C there is no job."""
        from flinkddl.runtime.job.run_options import continued

        options = {**self.run, "notice": self.out.info, "warning": self._warn, **run}
        names = options.get("continue_job", ())
        # a statement knows no jobs but its own: what names another one is no mistake
        options["continue_job"] = tuple(text for text in names if continued(text, action.job.name)[0])
        with self.out.waiting(self._waiting_for):
            self.catalog.reach(action)
            self.spark.wait()
            return unbroken(lambda: self.catalog.start(action, **options), undo=lambda job: job.stop())

    def _warn(self, text: str) -> None:
        self.out.message("WARN", text)

    def _waiting_for(self) -> str:
        return "starting the job" if self.spark.ready else self.spark.status()

    def _insert(self, action: Start) -> Job:
        self.out.info("Submitting SQL update statement to Spark...")
        job = self.start(action)
        self.out.info("SQL update statement has been successfully submitted:")
        self.out.line(f"Job ID: {job.id}   ({job.name})")
        return job

    def awaited(self, job: Job) -> None:
        """Say that a job has ended."""
        self.out.info("Complete execution of the SQL update statement.")

    # ---- queries ---------------------------------------------------------------------------------------------------

    def _query(self, action: Start) -> None:
        columns = Columns.of_query(action, self.catalog.state)
        mode = self.settings.sql_client_execution_result_mode.lower()
        if self.viewer is not None and mode != "tableau":
            self.viewer(self, action, columns, mode)
        else:
            self._tableau(action, columns)

    def _tableau(self, action: Start, columns: Columns) -> None:
        began = time.monotonic()
        tableau = Tableau(columns, action.job.streaming, self.out.line, expanded=self.expanded)
        come, free = threading.Event(), threading.Event()

        def take(rows: Rows) -> None:
            come.set()
            free.wait()  # until the line of what is waited for has gone
            tableau.add(rows.changes)

        cancelled = False
        try:
            job = self.start(action, on_rows=take, notice=lambda text: None)
            tableau.begin()
            self._await_first(job, come, free)
            await_job(job)
        except KeyboardInterrupt:
            cancelled = True
        finally:
            free.set()
        tableau.end(cancelled=cancelled, note=self.time_cost(began, tableau.last if tableau.count else None))

    def _await_first(self, job: Job, come: threading.Event, free: threading.Event) -> None:
        """Say how a query does until its first rows come, or Ctrl-C, which stops it."""
        try:
            with self.out.waiting(lambda: "  ·  ".join(job_state(job))):
                while not come.wait(POLL_SECONDS) and job.status in ("starting", "running"):
                    pass
            free.set()
        except KeyboardInterrupt:
            free.set()
            job.stop()
            raise

    def time_cost(self, began: float, last: float | None = None) -> str:
        """Return ``(0.35 seconds)`` until the last row came (or now), or nothing where the user does not want it."""
        shown = self.settings.sql_client_display_print_time_cost
        return f"({(last or time.monotonic()) - began:.2f} seconds)" if shown else ""


def unbroken(action: Callable[[], T], undo: Callable[[T], None]) -> T:
    """Do ``action`` as a whole and return what it gives; after a Ctrl-C in the middle ``undo`` it.

    It runs in a thread of its own: Python interrupts the main thread only, and a call to the JVM that is broken off
    leaves a job that nobody holds. Raises what ``action`` raises, and KeyboardInterrupt after ``undo``.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(action)
        try:
            while not future.done():
                try:
                    future.exception(POLL_SECONDS)
                except TimeoutError:
                    continue
        except KeyboardInterrupt:
            if future.exception() is None:
                undo(future.result())
            raise
    return future.result()
