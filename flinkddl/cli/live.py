"""Showing a running job: a panel that stays in place where a person watches, otherwise plain or JSON lines."""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from flinkddl.cli.meter import JobMeter
from flinkddl.runtime.job.reporting.progress import progress_fields, progress_line, short, together
from flinkddl.runtime.job.topics.flow import flow_fields, flow_line
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType

    from flinkddl.cli.meter import WriteTotals
    from flinkddl.diagnostics import Diagnostic
    from flinkddl.runtime.job.reporting.progress import Progress
    from flinkddl.runtime.job.topics.flow import Flow

_TRIGGERS = {"processingTime": "micro-batch", "availableNow": "until the end of input", "realTime": "real-time"}
REFRESH_PER_SECOND = 4
LINE_SECONDS = 10.0
MOST_NODES = 3  # so many of a query's nodes with state are named


def headline(job: J.SparkJob, checkpoint: str | None) -> list[str]:
    """Return what a job writes and reads, one line each, for the start of a run."""
    mode = run_mode(job)
    kept = f" · checkpoint: {_kept(job, checkpoint)}" if job.streaming else ""
    lines = [f"{short(w.table or w.name)}  {target(w)}     {mode}{kept}" for w in job.writes]
    lines += [f"reading  {table}  topic '{topic}' · from {start}" for table, topic, start in kafka_sources(job)]
    return lines


def run_mode(job: J.SparkJob) -> str:
    """Return how a job runs, in words."""
    return _TRIGGERS.get(job.trigger[0], job.trigger[0]) if job.streaming else "batch"


def _kept(job: J.SparkJob, checkpoint: str | None) -> str:
    """Return where checkpoints go; real-time mode writes one, and counts what it did, once an interval only."""
    how, every = job.trigger
    return (checkpoint or "temporary") + (f", every {int(every.split()[0]) // 1000} s" if how == "realTime" else "")


def kafka_sources(job: J.SparkJob) -> list[tuple[str, str, str]]:
    """Return (table, topics, where reading starts) of each Kafka source; a source that is read twice comes once."""
    out = []
    for step in job.steps:
        if isinstance(step, J.Read) and step.of_topics:
            start = step.start.get("mode", "earliest-offset").removesuffix("-offset")
            if start == "group-offsets" and "reset" in step.start:
                start += f", at first {step.start['reset']}"  # where the group has committed nothing
            out.append((short(step.table or step.name), step.topics, start))
    return list(dict.fromkeys(out))


def target(write: J.Write) -> str:
    """Return where a write goes, in words."""
    topic = write.options.get("topic")
    name = write.format.removeprefix("flinkddl.")
    return f"{name} -> topic '{topic}'" if topic else f"-> {name}"


# ---- the panel -----------------------------------------------------------------------------------------------------


class Panel:
    """One job as a box: its sources with lag, its sinks with what they take, and what it waits for."""

    def __init__(self, meter: JobMeter, checkpoint: str | None = None) -> None:
        self.meter = meter
        self.checkpoint = checkpoint

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.panel import Panel as Box

        meter = self.meter
        seconds = int(meter.clock() - meter.began)
        status = "waiting" if meter.held() else meter.status
        colour = {"failed": "red", "running": "green"}.get(status, "yellow")
        title = f"[b]{meter.job.name}[/b]  [{colour}]{status}[/{colour}]  {_clock(seconds)}"
        kept = f"  checkpoint {_kept(meter.job, self.checkpoint)}" if meter.job.streaming else ""
        parts = [*self._sources(), self._sinks(), *self._states()]
        return Box(
            Group(*parts),
            title=title,
            title_align="left",
            subtitle=f"{run_mode(meter.job)}{kept}",
            subtitle_align="left",
            border_style="dim",
        )

    def _sources(self) -> list[RenderableType]:
        sources = kafka_sources(self.meter.job)
        if not sources:
            return []
        lag, held = self.meter.lag(), bool(self.meter.held())
        none = "?" if self.meter.flows() else "-" if self.meter.totals() else ""
        table = _table("reading", "", "from", ">lag")
        for name, topics, start in sources:
            behind = {t: n for t, n in lag.items() if _reads(topics, t)}
            for topic in behind or {topics: 0}:
                table.add_row(name, f"topic {topic}", start, _lag(behind.get(topic), none=none, held=held))
        return [table]

    def _sinks(self) -> RenderableType:
        table = _table("writing", "", ">rows/s in", ">rows/s out", ">upserts", ">tombstones", ">rows in")
        now, totals = self.meter.clock(), self.meter.totals()
        for write in self.meter.job.writes:
            total = totals.get(write.name)
            head = (short(write.table or write.name), target(write).removeprefix("-> "))
            flow = self.meter.flows().get(write.name)
            table.add_row(*head, *(_flow_cells(flow) if flow else _sink_cells(total, now) if total else [""] * 5))
        return table

    def _states(self) -> list[RenderableType]:
        from rich.text import Text

        lines: list[RenderableType] = []
        several = len(self.meter.job.writes) > 1
        totals = self.meter.totals()
        for write in self.meter.job.writes:
            total = totals.get(write.name)
            flow = self.meter.flows().get(write.name)
            parts = [self.meter.waiting(write.name).lower(), *(flow.words if flow else [])]
            parts += state_parts(total) if total else []
            text = Text(f"{short(write.table or write.name)}: " if several else "", style="dim")
            text.append(" · ".join(parts))
            lines.append(text)
            nodes = total.last.state_by_node if total else ()
            if len(nodes) > 1:
                rest = f" · {len(nodes) - MOST_NODES} smaller" if len(nodes) > MOST_NODES else ""
                lines.append(Text("state: " + " · ".join(map(str, nodes[:MOST_NODES])) + rest, style="dim"))
        restarts, failure = self.meter.restarts()
        if restarts or (failure and self.meter.held()):
            times = f"restarted {'once' if restarts == 1 else f'{restarts:,} times'}; " if restarts else ""
            lines.append(Text(f"{times}last failure: {failure}", style="yellow"))
        lost = self.meter.lost()
        if lost:
            what = ", ".join(f"{n:,} records of topic {topic}" for topic, n in lost.items())
            lines.append(Text(f"deleted before they were read: {what}", style="red"))
        return lines


def _lag(records: int | None, *, none: str, held: bool) -> str:
    """Return a cell: nobody knows what a topic holds whose cluster does not answer."""
    if records is None:
        return none
    return "?" if held else f"{records:,}"


def _sink_cells(total: WriteTotals, now: float) -> list[str]:
    rate_in, rate_out = total.rates(now)
    counted = total.upserts or total.tombstones
    numbers = (f"{total.upserts:,}", f"{total.tombstones:,}") if counted else ("", "")
    return [_rate(rate_in), _rate(rate_out), *numbers, f"{total.rows_in:,}"]


def _flow_cells(flow: Flow) -> list[str]:
    """Return the cells of a real-time job; how many of its records are tombstones nobody counts."""
    return [_rate(flow.rate_in), _rate(flow.rate_out), "", "", f"{flow.records_in:,}"]


def _rate(value: float) -> str:
    return f"{value:,.1f}" if 0 < value < 10 else f"{value:,.0f}"


def state_parts(total: WriteTotals) -> list[str]:
    """Return what the last batch left: number, time, watermark, state, late rows."""
    p = total.last
    parts = [f"batch {p.batch} in {p.batch_ms / 1000:.2f} s"]
    if p.watermark:
        parts.append(f"watermark {p.watermark[:19].replace('T', ' ')}")
    if p.state:
        parts.append(f"state {p.state_rows:,} rows, {p.state_bytes / 1e6:.1f} MB")
    if total.late_rows:
        parts.append(f"{total.late_rows:,} late rows dropped")
    return parts


def _reads(topics: str, topic: str) -> bool:
    """Whether a source reads a topic: by name, by pattern, or by a list of partitions."""
    import re

    return topic in topics.split(",") or f'"{topic}"' in topics or re.fullmatch(topics, topic) is not None


def _table(*headers: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, expand=False, header_style="dim")
    for header in headers:
        right = header.startswith(">")
        table.add_column(header.lstrip(">"), justify="right" if right else "left", no_wrap=True)
    return table


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


# ---- what a run shows ----------------------------------------------------------------------------------------------


class Display:
    """What a run shows of its jobs: here nothing.

    ``meters`` are the jobs so far, the metrics server reads them too; ``phase`` is what goes on before the first job.
    """

    def __init__(self, checkpoint: str | None = None) -> None:
        self.meters: list[JobMeter] = []
        self.checkpoint = checkpoint
        self.phase = "starting Spark"

    def add(self, job: J.SparkJob) -> JobMeter:
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

    def add(self, job: J.SparkJob) -> JobMeter:
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

    def add(self, job: J.SparkJob) -> JobMeter:
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
            waited = _clock(int(time.monotonic() - self._began))
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
