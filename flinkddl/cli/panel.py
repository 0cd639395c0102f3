"""One job as a box on a terminal, redrawn in place: its sources with lag, its sinks, its state, what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl.cli.headline import kafka_sources, kept, run_mode, target
from flinkddl.runtime.job.reporting.progress import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from flinkddl.cli.meter import JobMeter, WriteTotals
    from flinkddl.runtime.job.topics.flow import Flow

MOST_NODES = 3  # so many of a query's nodes with state are named


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
        title = f"[b]{meter.job.name}[/b]  [{colour}]{status}[/{colour}]  {clock(seconds)}"
        where = f"  checkpoint {kept(meter.job, self.checkpoint)}" if meter.job.streaming else ""
        parts = [*self._sources(), self._sinks(), *self._states()]
        return Box(
            Group(*parts),
            title=title,
            title_align="left",
            subtitle=f"{run_mode(meter.job)}{where}",
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
            for what, nodes, fewest in _by_node(total) if total else ():
                rest = f" · {len(nodes) - MOST_NODES} smaller" if len(nodes) > MOST_NODES else ""
                if len(nodes) >= fewest:
                    lines.append(Text(f"{what}: " + " · ".join(nodes[:MOST_NODES]) + rest, style="dim"))
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


def _by_node(total: WriteTotals) -> Iterator[tuple[str, list[str], int]]:
    """Yield lines about nodes: what each says first, its parts, and from how many on it is told."""
    yield "rows", node_rows(total), 2
    yield "stages", stage_rows(total), 1
    yield "state", node_states(total), 2


def node_states(total: WriteTotals) -> list[str]:
    """Return what each node keeps, the largest first."""
    return list(map(str, total.last.state_by_node))


def node_rows(total: WriteTotals) -> list[str]:
    """Return the rows in and out of each node by key, the one with most first."""
    rows = total.rows
    known = [(name, k) for name, k in rows.nodes.items() if k.last and k.place.node]
    found = sorted(known, key=lambda one: -sum(n for _, n in rows.edges(one[0])))
    return [
        f"{k.place.node} {k.place.name} {edge_text(rows.edges(name))} in, {rows.went[name]:,} out" for name, k in found
    ]


def stage_rows(total: WriteTotals) -> list[str]:
    """Return the rows for deeper stages that passed each stage, the one with most first."""
    rows = total.rows
    passed = sorted(((rows.passed[name], of.node) for name, of in rows.stages.items() if of.node), reverse=True)
    return [f"{n:,} pass {stage}" for n, stage in passed]


def edge_text(edges: Sequence[tuple[str, int]]) -> str:
    """Return the rows that came to a node, by input where it has several."""
    return " + ".join(f"{rows:,}" if len(edges) < 2 else f"{rows:,} from {source}" for source, rows in edges)


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


def clock(seconds: int) -> str:
    """Return seconds as ``1:02:03``."""
    return f"{seconds // 3600:d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
