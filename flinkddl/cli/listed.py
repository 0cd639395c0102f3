"""The jobs of a run as ``flinkddl jobs`` in another process sees and asks them: their records, logs and requests."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.cli.headline import kafka_sources, run_mode, target
from flinkddl.cli.live import PlainDisplay
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.diagnostics.render import render_text
from flinkddl.diagnostics.secrets import scrub
from flinkddl.runtime.job.registry import ENDED, Entry, jobs_dir
from flinkddl.runtime.job.reporting.figures import figures, plan_nodes
from flinkddl.runtime.job.reporting.progress import short
from flinkddl.script.compile import Start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from flinkddl.cli.meter import WriteTotals
    from flinkddl.diagnostics import Diagnostic
    from flinkddl.results import Job
    from flinkddl.runtime.job.registry import Request
    from flinkddl.runtime.job.reporting.figures import NodeFigures
    from flinkddl.script.compile import Compiled
    from flinkddl.spark.job import SparkJob, Write

PUBLISH_SECONDS = 0.5
_STATES = {
    "starting": "INITIALIZING", "running": "RUNNING", "finished": "FINISHED", "stopped": "CANCELED", "failed": "FAILED",
}  # fmt: skip


class JobLog(PlainDisplay):
    """The line log of one job, each line with its time (UTC)."""

    def notice(self, text: str) -> None:
        """Write a line for the user."""
        self._write(f"[{time.strftime('%H:%M:%S', time.gmtime())}] {text}")

    def findings(self, found: tuple[Diagnostic, ...]) -> None:
        """Write why the job failed."""
        self._write(render_text(found))


class Listed:
    """One job of a run; without an ``entry`` nobody else sees it.

    ``asked``: its end was asked for. ``until_read``: it ends by itself once it has read what is there.
    """

    def __init__(self, job: SparkJob, entry: Entry | None = None, *, until_read: bool = False) -> None:
        self.entry, self.job, self.until_read = entry, job, until_read
        self.asked = False
        self._plans = {w.name: plan_nodes(job, w.name) for w in job.writes} if entry is not None else {}
        self._running: Job | None = None
        self._error: FlinkDdlError | None = None
        self._over = self._kept = False
        self._writing = threading.Lock()
        self._saving: list[threading.Thread] = []
        if entry is not None:
            self._log = JobLog(stream=entry.log)  # type: ignore[arg-type]
            self._log.notice(f"job '{entry.record.name}' of {entry.record.script}, process {entry.record.pid}")
            self._meter = self._log.add(job)

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Note why the job did not start, or failed while it was waited for."""
        try:
            yield
        except FlinkDdlError as error:
            self._error = error
            raise

    def telling(self, notice: Callable[[str], None]) -> Callable[[str], None]:
        """Return what takes a line for the user, with this job's log told too."""
        return notice if self.entry is None else _both(notice, self._log.notice)

    def fit(self, job: SparkJob) -> None:
        """Take the job in the mode in which it starts."""
        if job is self.job or self.entry is None:
            return
        self._plans = {w.name: plan_nodes(job, w.name) for w in job.writes}
        self.job = self._meter.job = job

    def watching(self, show: dict[str, Any]) -> dict[str, Any]:
        """Return what RunOptions are told to call, with this job's log told too."""
        if self.entry is None:
            return show
        return {
            "on_progress": _both(show["on_progress"], self._log.on_progress(self._meter)),
            "on_flow": _both(show["on_flow"], self._log.on_flow(self._meter)),
            "notice": self.telling(show["notice"]),
        }

    def attach(self, running: Job) -> None:
        """Take the started job; an end that was asked for meanwhile holds for it."""
        self._running = running
        if self.entry is not None:
            self._meter.attach(running)
        if self.asked:
            running.request_stop()

    def publish(self, *, last: bool = False) -> None:
        """Answer what is asked, and write what is new; after the ``last`` time nothing changes any more."""
        if self.entry is None or self._over:
            return
        if request := self.entry.requested():
            self._act(request)
        state = self._state(last=last)
        changes = self._figures() | {"state": state}
        if state in ENDED:
            self._over = True
            self._log.end()
            self._failed()
            self._log.notice(f"the job has ended: {state}")
            changes["ended"] = time.time()
        with self._writing:
            self.entry.publish(**changes)

    def _act(self, request: Request) -> None:
        self._log.notice(f"{request.op}{' now' if request.now else ''}: asked by another process")
        if request.op == "stop":
            self.asked = True
            self._kept = bool(request.savepoint)
            if self._running is not None:
                self._running.request_stop(now=request.now, whole=self._kept and not request.now)
        if request.savepoint:
            self._saving.append(threading.Thread(target=self._savepoint, args=(request,), daemon=True))
            self._saving[-1].start()

    def _savepoint(self, request: Request) -> None:
        """Make a savepoint, for a stop once the job has ended, and put the answer into the record."""
        assert self.entry is not None
        assert request.savepoint is not None
        try:
            if self._running is None:
                raise FlinkDdlError.of("FD859", "the job has not begun", help="wait for its first batch")
            if request.op == "stop":
                with suppress(FlinkDdlError):  # why it failed is in its record
                    self._running.await_termination()
            told = {"path": self._running.savepoint(request.savepoint)}
        except FlinkDdlError as error:
            found = error.diagnostics[0]
            told = {"code": found.code, "message": found.message, "help": found.help or ""}
        self._log.notice("savepoint: " + (told.get("path") or told["message"]))
        with suppress(OSError), self._writing:
            self.entry.publish(answer={"to": request.id, **told})

    def saved(self) -> None:
        """Wait for the savepoints that are being made."""
        for thread in self._saving:
            thread.join()

    def _state(self, *, last: bool) -> str:
        status = "starting" if self._running is None else self._running.status
        if self._error is not None:
            return "FAILED"
        if status == "stopped" and self.until_read and not self.asked:
            return "FINISHED"
        if status == "stopped" and self._kept:
            return "FINISHED"  # as Flink has it of a job that is stopped with a savepoint
        state = _STATES[status]
        if state in ENDED:
            return state
        if last or (self.asked and self._running is None):
            return "CANCELED"
        if self._running is not None and self._running.restarting:
            return "RESTARTING"
        return "CANCELLING" if self.asked else state

    def _failed(self) -> None:
        error = self._error or (self._running.error if self._running is not None else None)
        if error is not None:
            self._log.findings(error.diagnostics)

    def _figures(self) -> dict[str, Any]:
        meter, totals = self._meter, self._meter.totals()
        restarts, failure = meter.restarts()
        error = self._error.diagnostics[0].message if self._error else meter.error
        lag = meter.lag()
        return {
            "waiting": meter.held(),
            "restarts": restarts,
            "failure": scrub(error or failure, ()),
            "mode": run_mode(self.job),
            "batches": sum(t.batches for t in totals.values()),
            "rows_in": sum(t.rows_in for t in totals.values()),
            "rows_out": sum(t.rows_out for t in totals.values()),
            "lag": lag,
            "lost": meter.lost(),
            "sources": [{"table": t, "topic": topic, "from": start} for t, topic, start in kafka_sources(self.job)],
            "sinks": [_sink(write, totals.get(write.name), self._plans[write.name]) for write in self.job.writes],
        }


def _sink(write: Write, total: WriteTotals | None, plan: tuple[NodeFigures, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {"table": short(write.table or write.name), "to": target(write).removeprefix("-> ")}
    if total is not None:
        last = total.last
        found |= {"rows_in": total.rows_in, "rows_out": total.rows_out}
        found |= {"upserts": total.upserts, "tombstones": total.tombstones, "late_rows": total.late_rows}
        found |= {"batch": last.batch, "batch_ms": last.batch_ms, "time": last.time, "watermark": last.watermark}
        found |= {"state_rows": last.state_rows, "state_bytes": last.state_bytes}
        nodes = figures(plan, total.rows, last.state_by_node)
        found["nodes"] = [asdict(n) for n in nodes]
    return found


def _both(first: Callable[[Any], None], second: Callable[[Any], None]) -> Callable[[Any], None]:
    def call(value: Any) -> None:
        first(value)
        second(value)

    return call


class Listing:
    """The INSERTs of all scripts of a run in the folder of jobs, and the thread that keeps them up to date."""

    def __init__(self, notice: Callable[[str], None] = lambda _: None, *, until_read: bool = False) -> None:
        self._notice, self._until_read = notice, until_read
        self._jobs: dict[int, Listed] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._publish, name="flinkddl jobs", daemon=True)

    def take(self, script: str, compiled: Compiled, checkpoint: str | None) -> None:
        """List the INSERTs of a script. A folder that cannot be used is said, and keeps nobody from running."""
        names = job_names(script, compiled)
        for action, state in zip(compiled.actions, compiled.states, strict=True):
            if not isinstance(action, Start) or action.is_query:
                continue
            folder = jobs_dir(state.settings.flinkddl_jobs_dir)
            entry = None
            try:
                entry = Entry(folder, names[id(action)], action.job.name, script)
            except OSError as error:
                why = error.strerror or error
                self._notice(f"`flinkddl jobs` will not know this job: '{folder}' cannot be used: {why}")
            self._jobs[id(action)] = listed = Listed(action.job, entry, until_read=self._until_read)
            if entry is not None:
                root = checkpoint or state.settings.execution_checkpointing_dir
                entry.publish(checkpoint=root if action.job.streaming else None)
                listed.publish()

    def of(self, action: Start) -> Listed:
        """Return the job of an action; a SELECT is listed nowhere."""
        return self._jobs.get(id(action)) or Listed(action.job)

    def _publish(self) -> None:
        while not self._over.wait(PUBLISH_SECONDS):
            for job in list(self._jobs.values()):
                with suppress(OSError):
                    job.publish()

    def __enter__(self) -> Listing:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        for job in self._jobs.values():
            with suppress(OSError):
                job.publish(last=True)
            job.saved()


def job_names(script: str, compiled: Compiled) -> dict[int, str]:
    """Return the name of each INSERT by its action: ``pipeline.name``, else the script's; its sink tells two apart."""
    stem = "stdin" if script == "-" else Path(script).stem
    starts = [
        (action, state.settings.pipeline_name or stem)
        for action, state in zip(compiled.actions, compiled.states, strict=True)
        if isinstance(action, Start) and not action.is_query
    ]
    often = Counter(name for _, name in starts)
    names: dict[int, str] = {}
    for action, name in starts:
        table = action.job.writes[0].table or action.job.writes[0].name
        told = name if often[name] == 1 else f"{name}.{short(table)}"
        again = sum(1 for known in names.values() if known == told or known.startswith(f"{told}-"))
        names[id(action)] = f"{told}-{again + 1}" if again else told
    return names
