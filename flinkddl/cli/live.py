"""Showing a running job: a panel that stays in place where a person watches, otherwise plain or JSON lines."""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from flinkddl.cli.headline import headline, kafka_sources, run_mode
from flinkddl.cli.meter import JobMeter
from flinkddl.cli.panel import Panel, clock
from flinkddl.runtime.job.reporting.progress import progress_fields, progress_line, short, together
from flinkddl.runtime.job.topics.flow import flow_fields, flow_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType

    from flinkddl.diagnostics import Diagnostic
    from flinkddl.runtime.job.reporting.progress import Progress
    from flinkddl.runtime.job.topics.flow import Flow
    from flinkddl.spark.job import SparkJob

REFRESH_PER_SECOND = 4
LINE_SECONDS = 10.0


class Display:
    """What a run shows of its jobs: here nothing.

    ``meters`` are the jobs so far, the metrics server reads them too; ``phase`` is what goes on before the first job.
    """

    def __init__(self, checkpoint: str | None = None) -> None:
        self.meters: list[JobMeter] = []
        self.checkpoint = checkpoint
        self.phase = "starting Spark"

    def add(self, job: SparkJob) -> JobMeter:
        """Take a job that is about to be started."""
        meter = JobMeter(job)
        self.meters.append(meter)
        return meter

    def on_progress(self, meter: JobMeter) -> Callable[[Progress], None]:
        """Return RunOptions.on_progress of a job."""
        return meter.update

    def on_flow(self, meter: JobMeter) -> Callable[[Flow], None]:
        """Return RunOptions.on_flow of a job: what it does is asked for where it is shown."""
        return lambda flow: None

    def notice(self, text: str) -> None:
        """Say something for the user."""
        sys.stderr.write(f"flinkddl: {text}\n")

    def end(self) -> None:
        """Show what is not shown yet: the jobs are over."""


@dataclass
class Patience:
    """How long the same thing has been waited for: told after ten seconds, then each time that it took twice as long.

    ``began``: seconds of a clock that only goes forward.
    """

    began: float = 0.0
    what: str = ""
    limit: float = LINE_SECONDS

    def over(self, what: str, now: float) -> int:
        """Return the seconds that it took so far where they are to be told, else 0."""
        if what != self.what:
            self.began, self.what, self.limit = now, what, LINE_SECONDS
        if not what or now - self.began < self.limit:
            return 0
        self.limit *= 2
        return int(now - self.began)


class Lines(Display):
    """A line of what batches did, for files and pipes: at once when it is the first of a table or rows came too late,
    otherwise every ten seconds with all that was done since, and at the end.
    """

    def __init__(self, checkpoint: str | None = None, stream: TextIO | None = None) -> None:
        super().__init__(checkpoint)
        self.out = stream or sys.stderr
        self._told: dict[tuple[int, str], float] = {}
        self._patience = Patience()
        self._open: dict[tuple[int, str], tuple[JobMeter, Progress]] = {}

    def on_progress(self, meter: JobMeter) -> Callable[[Progress], None]:
        """Return the function that takes a batch."""

        def show(progress: Progress) -> None:
            meter.update(progress)
            if not progress.did_something:
                return
            place = (id(meter), progress.write)
            _, before = self._open.pop(place, (meter, None))
            self._open[place] = (meter, together(before, progress))
            since = meter.clock() - self._told.get(place, -LINE_SECONDS)
            if since >= LINE_SECONDS or progress.late_rows:
                self._told[place] = meter.clock()
                self.batch(*self._open.pop(place))

        return show

    def on_flow(self, meter: JobMeter) -> Callable[[Flow], None]:
        """Return the function that takes a look at a real-time job's topics: a line in ten seconds, if rows flow."""
        told: dict[str, tuple[float, int]] = {}

        def show(flow: Flow) -> None:
            at, out = told.get(flow.write, (-LINE_SECONDS, 0))
            if meter.clock() - at >= LINE_SECONDS and (flow.records_out != out or flow.rate_in or flow.behind):
                told[flow.write] = meter.clock(), flow.records_out
                self.flow(meter, flow)

        return show

    def look(self) -> None:
        """Say what is waited for before a first batch, if that takes long."""
        what = "; ".join(dict.fromkeys(self._awaited()))
        if seconds := self._patience.over(what, time.monotonic()):
            self.waits(what, seconds)

    def _awaited(self) -> Iterator[str]:
        if not self.meters and self.phase:
            yield self.phase
        for meter in self.meters:
            done, flows = meter.totals(), meter.flows()
            for write in meter.job.writes if meter.status in ("starting", "running") else ():
                if write.name not in done and write.name not in flows:
                    yield f"{short(write.table or write.name)}: {meter.waiting(write.name)}"

    def waits(self, what: str, seconds: int) -> None:
        """Write a line on what is waited for, and how long so far."""
        raise NotImplementedError

    def flow(self, meter: JobMeter, flow: Flow) -> None:
        """Write a line of a real-time job."""
        raise NotImplementedError

    def batch(self, meter: JobMeter, progress: Progress) -> None:
        """Write a line."""
        raise NotImplementedError

    def end(self) -> None:
        """Write what no line has told yet."""
        for told in self._open.values():
            self.batch(*told)
        self._open.clear()


class PlainDisplay(Lines):
    """Lines for people."""

    def add(self, job: SparkJob) -> JobMeter:
        """Say what the job reads and writes."""
        self._write(*headline(job, self.checkpoint))
        return super().add(job)

    def batch(self, meter: JobMeter, progress: Progress) -> None:
        """Print a line."""
        self._write(self._name(meter, progress) + progress_line(progress))

    def waits(self, what: str, seconds: int) -> None:
        """Print a line on what is waited for."""
        self._write(f"[{time.strftime('%H:%M:%S', time.gmtime())}] {what}, {seconds} s so far")

    def flow(self, meter: JobMeter, flow: Flow) -> None:
        """Print a line of a real-time job."""
        self._write(self._name(meter, flow) + flow_line(flow))

    def _name(self, meter: JobMeter, of: Progress | Flow) -> str:
        several = len(self.meters) > 1 or len(meter.job.writes) > 1
        return f"{short(of.table or of.write)}  " if several else ""

    def _write(self, *lines: str) -> None:
        self.out.write("".join(f"{line}\n" for line in lines))
        self.out.flush()


class JsonDisplay(Lines):
    """One JSON object a line: ``event`` is job, batch, notice or finding."""

    def _write(self, level: str, event: str, **fields: Any) -> None:
        from datetime import UTC, datetime

        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = {"time": now, "level": level, "event": event, **fields}
        self.out.write(json.dumps(record, ensure_ascii=False) + "\n")
        self.out.flush()

    def add(self, job: SparkJob) -> JobMeter:
        """Log what the job reads and writes."""
        sources = [{"table": t, "topics": topics, "from": start} for t, topics, start in kafka_sources(job)]
        sinks = [
            {"table": short(w.table or w.name), "format": w.format, "topic": w.options.get("topic")} for w in job.writes
        ]
        self._write("info", "job", job=job.name, mode=run_mode(job), sources=sources, sinks=sinks)
        return super().add(job)

    def batch(self, meter: JobMeter, progress: Progress) -> None:
        """Log a line."""
        self._write("info", "batch", job=meter.job.name, **progress_fields(progress))

    def waits(self, what: str, seconds: int) -> None:
        """Log what is waited for."""
        self._write("info", "waiting", message=what, seconds=seconds)

    def flow(self, meter: JobMeter, flow: Flow) -> None:
        """Log a line of a real-time job."""
        self._write("info", "flow", job=meter.job.name, **flow_fields(flow))

    def notice(self, text: str) -> None:
        """Log something for the user."""
        self._write("info", "notice", message=text)

    def findings(self, found: Sequence[Diagnostic]) -> None:
        """Log diagnostics: why a run ends, or what there is to say about its script."""
        from flinkddl.diagnostics.render import to_json

        for d in found:
            self._write("info" if d.severity == "note" else d.severity, "finding", **to_json(d))


class PanelDisplay(Display):
    """A box a job, redrawn in place."""

    def __init__(self, checkpoint: str | None = None) -> None:
        super().__init__(checkpoint)
        self._notices: list[str] = []
        self._began = time.monotonic()

    def notice(self, text: str) -> None:
        """Keep a line for the user below the boxes."""
        self._notices.append(text)

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        if not self.meters:
            waited = clock(int(time.monotonic() - self._began))
            return Text(f"{self.phase} ...  {waited}" if self.phase else "", style="dim")
        notes: list[Text] = [Text(f"note: {text}", style="dim") for text in self._notices[-3:]]
        return Group(*(Panel(m, self.checkpoint) for m in self.meters), *notes)


@contextmanager
def looking(lines: Lines) -> Iterator[None]:
    """Within the body, lines are looked after each second; after it, all is told."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(1):
            lines.look()

    thread = threading.Thread(target=look, name="flinkddl line log", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        lines.end()


@contextmanager
def display(
    *, checkpoint: str | None = None, log_format: str = "text", quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Display]:
    """Yield what shows the run: a panel on a terminal, otherwise lines; nothing but failures with ``quiet``."""
    out = stream or sys.stderr
    if quiet and log_format != "json":
        yield Display(checkpoint)
    elif log_format == "json" or not out.isatty():
        lines = (JsonDisplay if log_format == "json" else PlainDisplay)(checkpoint, out)
        with looking(lines):
            yield lines
    else:
        from rich.console import Console
        from rich.live import Live

        shown = PanelDisplay(checkpoint)
        console, to_terminal = Console(file=out), sys.stdout.isatty()
        with Live(shown, console=console, refresh_per_second=REFRESH_PER_SECOND, redirect_stdout=to_terminal):
            yield shown
