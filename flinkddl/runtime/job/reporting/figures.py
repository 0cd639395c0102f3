"""The plan of a query with what its nodes have done: EXPLAIN after a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.plan.nodes import WindowAggregate
from flinkddl.plan.physical import numbers
from flinkddl.runtime.job.reporting.progress import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from flinkddl.plan.physical import Physical
    from flinkddl.runtime.job.reporting.progress import NodeState, Progress, RowTotals
    from flinkddl.spark.job import SparkJob


@dataclass(frozen=True)
class NodeFigures:
    """A node of a query: how deep it stands, what it does, and what is known of it.

    ``rows``: what a scan has read or a sink was given. ``came``: the rows that came to a node by key, by the nodes that
    they came from; ``went``: those that it gave; ``passed``: rows for deeper ones that passed a stage, by the nodes of
    the stage, told with the first of them. ``state_rows`` and ``state_bytes``: what it keeps, with the other
    nodes of a stage where ``state_of`` names them. None: not known, or nothing to know. ``again``: it stands
    above with its figures, which are those of all its places.
    """

    depth: int
    node: str
    text: str
    rows: int | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    state_of: str = ""
    again: bool = False
    came: tuple[tuple[str, int], ...] = ()
    went: int | None = None
    passed: tuple[tuple[str, int], ...] = ()


@deep
def open_windows(job: SparkJob, latest: Iterable[Progress]) -> list[str]:
    """Return a line for each write whose last batch has left rows in windows that are not over, with its watermark."""
    told = numbers(job.plan)
    open: dict[bool, set[str]] = {False: set(), True: set()}
    for at in (at for sink in job.plan for at in sink.root.walk() if at.node.withholds(at.form)):
        open[isinstance(at.node, WindowAggregate) and at.node.window.proctime].add(f"n{told[id(at)]}")
    out = []
    for last in latest:
        for by_clock, nodes in open.items():
            if rows := sum(n.rows for n in last.state_by_node if n.place.node in nodes):
                kept = "1 group or row waits" if rows == 1 else f"{rows:,} groups or rows wait"
                closes = _CLOCK if by_clock else _watermark(last.watermark)
                out.append(f"{short(last.table or last.write)}: {kept} in windows that are not over; {closes}")
    return out


_CLOCK = "they are over processing time: a run that goes on from here gives them once they are"


def _watermark(mark: str | None) -> str:
    closes = "later records close windows, and so does the end of tables with 'scan.bounded.mode' = 'latest-offset'"
    if mark is None:
        return f"there is no watermark yet, which a partition without records may hold back: {closes}"
    return f"the watermark is at {mark[:19].replace('T', ' ')} UTC: {closes}"


@deep
def plan_nodes(job: SparkJob, write: str) -> tuple[NodeFigures, ...]:
    """Return the nodes of the query of a write, the sink first, without figures: they stay as they are."""
    sink = next((p for p, w in zip(job.plan, job.writes, strict=True) if w.name == write), None) if job.plan else None
    if sink is None:
        return ()
    told, seen = numbers(job.plan), set[str]()

    def walk(here: Physical, depth: int) -> Iterator[NodeFigures]:
        node = f"n{told[id(here)]}"
        if node in seen:
            yield NodeFigures(depth, node, here.node.name, again=True)
            return
        seen.add(node)
        yield NodeFigures(depth, node, here.node.describe())
        for child in here.inputs:
            yield from walk(child, depth + 1)

    return tuple(walk(sink.root, 0))


def figures(nodes: Iterable[NodeFigures], totals: RowTotals, state: Iterable[NodeState]) -> list[NodeFigures]:
    """Return the nodes of a query with what is known of them."""
    rows = {place.node: n for place, n in totals.scans.items()}
    keyed = {k.place.node: name for name, k in totals.nodes.items() if k.last}
    kept = {node: n for n in sorted(state, key=lambda n: -len(n.place.nodes)) for node in n.place.nodes}
    out = []
    for n in nodes:
        keeps = None if n.again else kept.get(n.node)
        known = replace(n, rows=rows.get(n.node) if n.depth else totals.written) if not n.again else n
        if n.node in keyed and not n.again:
            operator = keyed[n.node]
            known = replace(known, came=totals.edges(operator), went=totals.went[operator])
        if not n.again:
            known = replace(known, passed=totals.passing(n.node))
        if keeps:
            of = keeps.place.node if len(keeps.place.nodes) > 1 else ""
            known = replace(known, state_rows=keeps.rows, state_bytes=keeps.memory, state_of=of)
        out.append(known)
    return out


def figure_lines(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the nodes (fields of NodeFigures) as text, a line each."""
    for n in found:
        keyed = _keyed(n)
        way = "read" if keyed else "out"
        parts = [] if n["rows"] is None else [f"{n['rows']:,} rows {way if n['depth'] else 'in'}"]
        parts += keyed
        if n["state_rows"] is not None:
            of = f" of {n['state_of']}" if n.get("state_of") else ""
            parts.append(f"state{of} {n['state_rows']:,} rows, {n['state_bytes'] / 1e6:.1f} MB")
        parts += [f"{rows:,} rows pass {stage}" for stage, rows in n.get("passed", ())]
        parts += ["as above"] * n["again"]
        yield f"{'   ' * n['depth']}{n['node']} {n['text']}" + (f"   [{' · '.join(parts)}]" if parts else "")


def _keyed(n: Mapping[str, Any]) -> list[str]:
    """Return the rows of a node by key. Another process may have written it, of an older version."""
    if n.get("went") is None:
        return []
    came = n["came"]
    words = [f"{rows:,} rows in" if len(came) < 2 else f"{rows:,} rows in from {source}" for source, rows in came]
    return [", ".join(words), f"{n['went']:,} rows out"]
