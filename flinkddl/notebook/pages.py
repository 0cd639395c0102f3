"""What notebooks show, as HTML text: tables, a job's panel, findings. Pure functions; styles stand in the elements."""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING

from flinkddl.diagnostics.render import render_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.api import Job
    from flinkddl.diagnostics import Diagnostic
    from flinkddl.runtime.job.reporting.progress import Progress
    from flinkddl.runtime.job.topics.flow import Flow

_FONT = "font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:12px;line-height:1.45"
_CELL = "padding:2px 10px;border-bottom:1px solid #8884;white-space:pre"
_MUTED = "color:#67758a"
_KINDS = {"+I": "#1a7f37", "+U": "#1a7f37", "-U": "#9a6700", "-D": "#cf222e"}
_STATUS = {
    "running": "#1a7f37",
    "finished": "#0969da",
    "failed": "#cf222e",
    "stopped": "#67758a",
    "starting": "#9a6700",
}


def block(*parts: str) -> str:
    """Return parts below each other."""
    return f'<div style="{_FONT}">{"".join(parts)}</div>'


def as_text(html: str) -> str:
    """Return what such a page says as plain text: a line a row, cells in columns."""
    out: list[str] = []
    for piece in re.split(r"(<table.*?</table>)|</div>|</pre>", html, flags=re.S):
        if piece and piece.startswith("<table"):
            rows = [[_bare(c) for c in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", r, re.S)] for r in piece.split("</tr>")]
            rows = [row for row in rows if row]
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            out += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        elif piece and (text := _bare(piece).strip()):
            out.append(text)
    return "\n".join(out)


def _bare(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html))


def caption(*texts: str) -> str:
    """Return a line of small facts."""
    return f'<div style="{_MUTED};padding:2px 10px">{" · ".join(escape(t) for t in texts if t)}</div>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """Return a table; ``numbers`` are the columns that stand at the right. A first column ``op`` holds row kinds."""
    right = set(numbers)
    kinds = bool(header) and header[0] == "op"
    head = "".join(f'<th style="{_CELL};text-align:{_side(i, right)}">{escape(h)}</th>' for i, h in enumerate(header))
    body = "".join(f"<tr>{''.join(_cell(i, c, right, kinds) for i, c in enumerate(row))}</tr>" for row in rows)
    return (
        f'<table style="border-collapse:collapse;{_FONT}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def _side(i: int, right: set[int]) -> str:
    return "right" if i in right else "left"


def _cell(i: int, text: str, right: set[int], kinds: bool) -> str:
    colour = f";color:{_KINDS[text]}" if kinds and i == 0 and text in _KINDS else ""
    muted = f";{_MUTED}" if text == "<NULL>" else ""
    return f'<td style="{_CELL};text-align:{_side(i, right)}{colour}{muted}">{escape(text)}</td>'


def badge(status: str) -> str:
    """Return a status in its colour."""
    return f'<b style="color:{_STATUS.get(status, "inherit")}">{escape(status)}</b>'


def findings(diagnostics: Iterable[Diagnostic]) -> str:
    """Return findings as the command line prints them."""
    return f'<pre style="{_FONT};color:#cf222e;margin:0">{escape(render_text(diagnostics))}</pre>'


# ---- a job -------------------------------------------------------------------------------------------------------

_SINK_COLUMNS = (
    "writes",
    "batch",
    "rows/s in",
    "rows out",
    "upserts",
    "tombstones",
    "watermark",
    "state rows",
    "state MB",
)


_FLOW_COLUMNS = ("writes", "records/s in", "records/s out", "behind", "latency p50 ms", "p99 ms")


def job_panel(job: Job) -> str:
    """Return a job's panel: what it reads with its lag, what it writes, and how its last batch went."""
    head = f'<div style="padding:2px 10px"><b>{escape(job.name)}</b> {badge(job.status)}</div>'
    parts = [head]
    progress = job.progress
    if job.lag:
        parts.append(table(("reads topic", "lag"), [(t, f"{n:,}") for t, n in sorted(job.lag.items())], (1,)))
    if job.flows:
        parts.append(table(_FLOW_COLUMNS, map(_flow_row, job.flows), range(1, len(_FLOW_COLUMNS))))
        parts.append(caption(*(f.unknown and f"lag and latency not known: {f.unknown}" for f in job.flows)))
    if progress:
        parts.append(table(_SINK_COLUMNS, map(_sink_row, progress), range(1, len(_SINK_COLUMNS))))
        parts += [_node_table(p) for p in progress if len(p.state_by_node) > 1]
        parts += [_keyed_table(p) for p in progress if p.keyed]
        late = sum(p.late_rows for p in progress)
        waits = {p.waiting for p in progress if p.waiting} if job.status == "running" else set()
        parts.append(caption(*sorted(waits), f"{late:,} late rows dropped" if late else ""))
    elif not job.flows:
        parts.append(caption("no batch has finished yet" if job.status in ("starting", "running") else "", held(job)))
    return block(*parts, restarts(job), lost(job))


def held(job: Job) -> str:
    """Return what a job waits for: a cluster that is away, a restart."""
    return job.waiting if job.status == "running" else ""


def restarts(job: Job) -> str:
    """Return how often a job was started again, and why; nothing where it never was."""
    if not job.restarts:
        return ""
    times = "once" if job.restarts == 1 else f"{job.restarts:,} times"
    return caption(f"restarted {times}; last failure: {job.last_failure}")


def lost(job: Job) -> str:
    """Return what was deleted before a job could read it, in red; nothing where there is none."""
    text = ", ".join(f"{n:,} records of topic {topic}" for topic, n in sorted(job.lost.items()))
    style = "color:#cf222e;padding:2px 10px"
    return f'<div style="{style}">deleted before they were read: {escape(text)}</div>' if text else ""


def _flow_row(f: Flow) -> tuple[str, ...]:
    known = ("" if n is None else f"{n:,.0f}" for n in (f.behind, f.p50_ms, f.p99_ms))
    return (f.table or f.write, f"{f.rate_in:,.0f}", f"{f.rate_out:,.0f}", *known)


def _node_table(p: Progress) -> str:
    rows = [(n.place.node, n.place.name, f"{n.rows:,}", f"{n.memory / 1e6:.1f}") for n in p.state_by_node]
    return table(("node", "", "state rows", "state MB"), rows, (2, 3))


def _keyed_table(p: Progress) -> str:
    """Return the rows of the operators by key in the last batch."""
    rows = [
        (k.node.place.node, k.node.place.name, source, f"{came:,}", "" if at else f"{k.went:,}")
        for k in p.keyed
        if k.node.last
        for at, (source, came) in enumerate(k.edges)
    ]
    stages = ((k.node.stage.node, k.passed) for k in p.keyed if k.node.stage and k.passed is not None)
    rows += [(nodes, "rows that pass", "", f"{passed:,}", "") for nodes, passed in stages]
    return table(("node", "", "from", "rows in", "rows out"), rows, (3, 4))


def _sink_row(p: Progress) -> tuple[str, ...]:
    name = (p.table or p.write).removeprefix("default_catalog.default_database.")
    out = f"{p.rows_out:,}" if p.rows_out >= 0 else ""
    watermark = p.watermark[:19].replace("T", " ") if p.watermark else ""
    state = (f"{p.state_rows:,}", f"{p.state_bytes / 1e6:.1f}") if p.state else ("", "")
    return (name, str(p.batch), f"{p.rate:,.0f}", out, f"{p.upserts:,}", f"{p.tombstones:,}", watermark, *state)
