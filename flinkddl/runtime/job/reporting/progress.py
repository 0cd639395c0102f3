"""How a running write is doing, as one frozen record out of Spark's StreamingQueryProgress, and as a line of text."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from flinkddl.spark.reported import NOTHING, UNKNOWN
from flinkddl.spark.stateful import KEYED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flinkddl.spark.job import Write
    from flinkddl.spark.reported import Foreseen, KeyedNode, NodePlace

Ends = dict[str, dict[int, int]]
METRICS = "flinkddl"  # name of the observed counts in a query's progress
STAGE = "flinkddl.stage"  # what the names of those of operators by key begin with (StageRule.java)
PASSED = "passed"


@dataclass(frozen=True)
class OperatorState:
    """State of one stateful operator: Spark's name of it, rows kept, memory in bytes, and what a batch did to it.

    ``updated`` and ``removed`` count rows of state, ``late`` input rows behind the watermark; ``commit_ms`` is the time
    that its tasks spent on storing it, added up. ``place`` is the node of the plan that it serves.
    """

    operator: str
    rows: int
    memory: int
    updated: int = 0
    removed: int = 0
    late: int = 0
    commit_ms: int = 0
    place: NodePlace = UNKNOWN


@dataclass(frozen=True)
class KeyedRows:
    """What an operator by key did in a batch: rows that came, by input, and went; by what its state has grown.

    ``groups`` and ``size`` (bytes of keys and values): what it keeps after the batch, None where that is not known.
    ``late``: rows behind its event time, which were dropped; ``time``: where that stands, in ms; None where it waits
    for none or nothing was told, the least that there is where it has not heard of all.
    ``passed``: rows for deeper stages that passed its own, told with the first node of a stage; None where none do.
    """

    node: KeyedNode
    came: tuple[int, ...]
    went: int
    more_groups: int = 0
    more_size: int = 0
    groups: int | None = None
    size: int | None = None
    late: int = 0
    time: int | None = None
    passed: int | None = None

    @property
    def edges(self) -> tuple[tuple[str, int], ...]:
        """The rows that came, by the node that they came from; "" where it is not known."""
        inputs = self.node.inputs
        return tuple(zip(inputs, self.came, strict=True)) if inputs else (("", sum(self.came)),)


@dataclass(frozen=True)
class NodeState:
    """What the operators of a node keep together: rows, and memory in bytes; of those by key groups and their bytes."""

    place: NodePlace
    rows: int
    memory: int

    def __str__(self) -> str:
        return f"{self.place.node} {self.place.name} {self.rows:,} rows, {self.memory / 1e6:.1f} MB"


@dataclass(frozen=True)
class Progress:
    """One finished micro-batch of one write.

    ``time`` is when it began (ISO text, UTC); ``rate`` is input rows a second while the batch ran; ``lag`` records not
    yet read per topic; ``rows_out`` is -1 where the sink does not say; ``upserts`` / ``tombstones`` count Kafka
    records; ``watermark`` is ISO text or None; ``ends`` are the offsets read so far (next to read) per
    topic and partition; ``waiting`` what its query does; ``phases`` how many milliseconds each part of the batch took,
    by Spark's name; ``scans`` the rows of each scan; ``keyed`` what each operator by key did.
    """

    write: str
    table: str
    batch: int
    time: str
    rows_in: int
    rate: float
    rows_out: int
    upserts: int
    tombstones: int
    watermark: str | None
    state: tuple[OperatorState, ...]
    late_rows: int
    batch_ms: int
    lag: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    waiting: str = ""
    phases: Mapping[str, int] = field(default_factory=dict)
    scans: Mapping[NodePlace, int] = field(default_factory=dict)
    keyed: tuple[KeyedRows, ...] = ()

    @property
    def ended(self) -> datetime:
        """When the batch was over (UTC)."""
        return datetime.fromisoformat(self.time) + timedelta(milliseconds=self.batch_ms)

    @property
    def written(self) -> int | None:
        """What the sink was given: Kafka records where they are counted, else rows; None where it does not say."""
        return self.upserts + self.tombstones or (self.rows_out if self.rows_out >= 0 else None)

    @property
    def did_something(self) -> bool:
        """Whether rows came in or went out."""
        return bool(self.rows_in or self.rows_out > 0 or self.upserts or self.tombstones)

    @property
    def state_rows(self) -> int:
        """Rows kept by all operators."""
        return sum(s.rows for s in self.state)

    @property
    def state_bytes(self) -> int:
        """Memory of all operators."""
        return sum(s.memory for s in self.state)

    @property
    def state_by_node(self) -> tuple[NodeState, ...]:
        """State of each node that is known by its number, the largest first; of a stage together where it is not."""
        found: dict[NodePlace, list[tuple[int, int]]] = {}
        counted = [k for k in self.keyed if k.groups is not None and k.size is not None]
        for place, rows, memory in (
            *((k.node.place, k.groups or 0, k.size or 0) for k in counted),
            *((s.place, s.rows, s.memory) for s in self.state if not (counted and s.operator == KEYED)),
        ):
            if place != UNKNOWN:
                found.setdefault(place, []).append((rows, memory))
        nodes = (NodeState(p, sum(r for r, _ in ops), sum(m for _, m in ops)) for p, ops in found.items())
        return tuple(sorted(nodes, key=lambda n: (-n.memory, -n.rows)))


@dataclass
class RowTotals:
    """Rows since a run began: of scans, of the sink (``written``, None where it does not say) and of operators by key.

    ``came`` by operator and the node that the rows came from, ``went`` by operator, ``nodes`` the operators by name;
    ``passed`` the rows for deeper stages that passed a stage, by its first operator.
    """

    scans: Counter[NodePlace] = field(default_factory=Counter)
    written: int | None = None
    came: Counter[tuple[str, str]] = field(default_factory=Counter)
    went: Counter[str] = field(default_factory=Counter)
    nodes: dict[str, KeyedNode] = field(default_factory=dict)
    passed: Counter[str] = field(default_factory=Counter)

    def add(self, p: Progress) -> None:
        """Take a batch."""
        self.scans.update(p.scans)
        if p.written is not None:
            self.written = p.written + (self.written or 0)
        for k in p.keyed:
            name = k.node.operator
            self.nodes[name] = k.node
            for source, rows in k.edges:
                self.came[name, source] += rows
            self.went[name] += k.went
            if k.passed is not None:
                self.passed[name] += k.passed

    def edges(self, operator: str) -> tuple[tuple[str, int], ...]:
        """Return the rows that came to an operator, by the node that they came from, in the order of its inputs."""
        return tuple((source, rows) for (name, source), rows in self.came.items() if name == operator)

    @property
    def stages(self) -> dict[str, NodePlace]:
        """The nodes of each stage that rows pass, by its first operator."""
        return {name: k.stage for name, k in self.nodes.items() if k.stage is not None and name in self.passed}

    def passing(self, node: str) -> tuple[tuple[str, int], ...]:
        """Return the rows that passed the stages of which a node is the first."""
        found = ((name, of.node) for name, of in self.stages.items() if self.nodes[name].place.node == node)
        return tuple((of, self.passed[name]) for name, of in found)


def read_progress(
    write: str, table: str, data: Mapping[str, Any], waiting: str = "", foreseen: Foreseen = NOTHING
) -> Progress:
    """Return the record of one progress event, given as the mapping of its JSON form.

    ``foreseen`` says which node of the plan each of its parts stands for.
    """
    sources, operators = data.get("sources", []), _operators(data.get("stateOperators", []), foreseen)
    observed, keyed = _observed(data), _keyed(data, foreseen)
    ends, lag = _positions(sources)
    tombstones = int(observed.get("tombstones") or 0)
    phases = {name: int(ms) for name, ms in (data.get("durationMs") or {}).items()}
    return Progress(
        write=write,
        table=table,
        batch=int(data["batchId"]),
        time=str(data["timestamp"]),
        rows_in=sum(int(s.get("numInputRows") or 0) for s in sources),
        rate=sum(float(s.get("processedRowsPerSecond") or 0) for s in sources),
        rows_out=int((data.get("sink") or {}).get("numOutputRows", -1)),
        upserts=int(observed.get("rows") or 0) - tombstones,
        tombstones=tombstones,
        watermark=_watermark(data, keyed),
        state=operators,
        late_rows=_late(operators, keyed),
        batch_ms=phases.pop("triggerExecution", 0),
        lag=lag,
        ends=ends,
        waiting=waiting,
        phases=phases,
        scans=_scans(sources, foreseen),
        keyed=keyed,
    )


def by_part(record: Progress, writes: Sequence[Write], data: Mapping[str, Any]) -> list[Progress]:
    """Return the batch of a query that carries out several writes for each of them.

    Each has read all rows; an operator's state is told with the write whose node it is, and with the first where it is
    of several; what an operator by key did with the write whose node it is.
    """
    counts, out = _observed(data), []
    for n, write in enumerate(writes):
        rows, tombstones = (int(counts.get(f"{name}_{n}") or 0) for name in ("rows", "tombstones"))
        state = tuple(s for s in record.state if s.place.part == n)
        keyed = tuple(k for k in record.keyed if k.node.place.part == n)
        each = replace(record, write=write.name, table=write.table, rows_out=rows, upserts=rows - tombstones)
        out.append(replace(each, tombstones=tombstones, state=state, keyed=keyed, late_rows=_late(state, keyed)))
    return out


def _observed(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the observed counts. Over Spark Connect PySpark hands out values and schema as they stand in its JSON."""
    return _counts((data.get("observedMetrics") or {}).get(METRICS) or {})


def _counts(found: Any) -> Mapping[str, Any]:
    counts: Mapping[str, Any] = found.asDict() if hasattr(found, "asDict") else found
    if counts.keys() == {"values", "schema"}:
        return dict(zip((f["name"] for f in counts["schema"]["fields"]), counts["values"], strict=True))
    return counts


_FIRST_YEAR = -62_135_596_800_000
"""Event time before the year 1 is none that can be shown, such as that of an operator that waits for more tellers."""
_ENDED = 7226582400000
"""From 2199 on: its input has ended (Tick.java)."""


def _keyed(data: Mapping[str, Any], foreseen: Foreseen) -> tuple[KeyedRows, ...]:
    """Return what the operators by key did; one that runs twice is told as one. Nothing of a batch that did not run."""
    sums, times = Counter[str](), dict[str, int]()
    for name, found in (data.get("observedMetrics") or {}).items():
        for column, n in _counts(found).items() if name.startswith(STAGE) else ():
            if not column.endswith("_time"):
                sums[column] += int(n or 0)
            elif n:
                times[column] = min(int(n), times.get(column, int(n)))
    out = []
    for number, node in foreseen.keyed.items():
        came = tuple(sums[f"{number}_in{i}"] for i in range(2) if f"{number}_in{i}" in sums)
        if came:
            went, groups, size, late = (sums[f"{number}_{name}"] for name in ("out", "groups", "bytes", "late"))
            time = times.get(f"{number}_time")
            passed = [n for column, n in sums.items() if column.startswith(f"{number}_{PASSED}")]
            did = KeyedRows(node, came, went, groups, size, passed=sum(passed) if passed else None)
            out.append(replace(did, late=late, time=time))
    return tuple(out)


def _scans(sources: Sequence[Mapping[str, Any]], foreseen: Foreseen) -> dict[NodePlace, int]:
    out: dict[NodePlace, int] = {}
    for source, place in zip(sources, foreseen.sources(len(sources)), strict=True):
        if place != UNKNOWN:
            out[place] = out.get(place, 0) + int(source.get("numInputRows") or 0)
    return out


def _operators(found: Sequence[Mapping[str, Any]], foreseen: Foreseen) -> tuple[OperatorState, ...]:
    places = foreseen.operators([str(state["operatorName"]) for state in found])
    return tuple(_operator(state, place) for state, place in zip(found, places, strict=True))


def _operator(state: Mapping[str, Any], place: NodePlace) -> OperatorState:
    counts = {name: int(state.get(spark) or 0) for name, spark in _OPERATOR.items()}
    return OperatorState(state["operatorName"], **counts, place=place)


_OPERATOR = {
    "rows": "numRowsTotal",
    "memory": "memoryUsedBytes",
    "updated": "numRowsUpdated",
    "removed": "numRowsRemoved",
    "late": "numRowsDroppedByWatermark",
    "commit_ms": "commitTimeMs",
}


def _late(operators: Iterable[OperatorState], keyed: Iterable[KeyedRows]) -> int:
    return sum(s.late for s in operators) + sum(k.late for k in keyed)


def _watermark(data: Mapping[str, Any], keyed: Iterable[KeyedRows]) -> str | None:
    """Return Spark's watermark; where operators by key have event time of their own the least of theirs."""
    times = [k.time for k in keyed if k.time is not None]
    if times and min(times) < _ENDED:
        return None if min(times) < _FIRST_YEAR else _iso(min(times))
    mark = (data.get("eventTime") or {}).get("watermark")
    return None if mark is None or str(mark).startswith("1970-01-01T00:00:00") else str(mark)


def _iso(ms: int) -> str:
    return (datetime(1970, 1, 1) + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds") + "Z"


def _positions(sources: list[Any]) -> tuple[Ends, dict[str, int]]:
    ends: Ends = {}
    behind: dict[str, dict[int, int]] = {}
    for source in sources:
        end, latest = offsets_in(source.get("endOffset")), offsets_in(source.get("latestOffset"))
        for topic, places in end.items():
            known, rest = ends.setdefault(topic, {}), behind.setdefault(topic, {})
            known.update({p: max(o, known.get(p, 0)) for p, o in places.items()})
            rest.update({p: max(latest.get(topic, {}).get(p, o) - o, rest.get(p, 0)) for p, o in places.items()})
    lag = {topic: sum(rest.values()) for topic, rest in behind.items()}
    return ends, lag


def offsets_in(value: Any) -> Ends:
    """Return Kafka offsets out of a source's JSON; other sources' positions (a number, a log offset) give none."""
    data = json.loads(value) if isinstance(value, str) and value.startswith("{") else value
    if not isinstance(data, dict):
        return {}
    return {t: {int(p): int(o) for p, o in ps.items()} for t, ps in data.items() if isinstance(ps, dict)}


def short(table: str) -> str:
    """Return a table's path without the catalog and database that every session begins with."""
    return table.removeprefix("default_catalog.default_database.")


# what a Spark query says of itself (StreamExecution.updateStatusMessage), by how it begins, in our words
_SAYS = {
    "getting offsets": "looking for new records",
    "waiting for data": "waiting for data to arrive",
    "waiting for next trigger": "waiting for the next batch's time",
    "no new data but cleaning up": "closing what the watermark has passed",
    "initializing": "finding where it stands",
}


def in_words(status: str) -> str:
    """Return a query's own status line as a person reads it."""
    text = status.lower()
    return next((words for begin, words in _SAYS.items() if text.startswith(begin)), text.partition("[")[0].strip())


def together(before: Progress | None, last: Progress) -> Progress:
    """Return the last batch with the counts of those before it that no line has told."""
    if before is None:
        return last
    counts = {name: getattr(before, name) + getattr(last, name) for name in _COUNTS}
    return replace(last, **counts, rows_out=-1 if last.rows_out < 0 else max(before.rows_out, 0) + last.rows_out)


_COUNTS = ("rows_in", "upserts", "tombstones", "late_rows")


def progress_fields(p: Progress) -> dict[str, Any]:
    """Return a batch as plain data for a JSON log; what is not known is left out."""
    fields: dict[str, Any] = {
        "sink": short(p.table or p.write),
        "batch": p.batch,
        "batch_ms": p.batch_ms,
        "rows_in": p.rows_in,
        "rows_per_second": round(p.rate, 1),
        "rows_out": p.rows_out if p.rows_out >= 0 else None,
        "upserts": p.upserts,
        "tombstones": p.tombstones,
        "lag": dict(p.lag),
        "watermark": p.watermark,
        "state_rows": p.state_rows if p.state else None,
        "state_bytes": p.state_bytes if p.state else None,
        "late_rows": p.late_rows,
    }
    return {k: v for k, v in fields.items() if v is not None}


def progress_line(progress: Progress) -> str:
    """Return the plain line of a batch: ``[12:00:04] batch 17 in 0.41 s · 48,100 rows/s in · 312 upserts ...``.

    Its time is the batch's end.
    """
    took = f" in {progress.batch_ms / 1000:.2f} s" if progress.batch_ms else ""
    rate = f"{progress.rate:,.0f}" if progress.rate >= 10 else f"{progress.rate:.2g}"  # a few rows in long are not none
    parts = [f"[{progress.ended:%H:%M:%S}] batch {progress.batch}{took}", f"{rate} rows/s in"]
    if progress.tombstones:
        parts.append(f"{progress.upserts:,} upserts, {progress.tombstones:,} tombstones out")
    elif progress.upserts:  # which a sink without a key gets too
        parts.append(f"{progress.upserts:,} records out")
    elif progress.rows_out >= 0:
        parts.append(f"{progress.rows_out:,} rows out")
    if progress.lag:
        parts.append("lag " + ", ".join(f"{n:,}" for n in progress.lag.values()))
    if progress.watermark:
        parts.append(f"watermark {progress.watermark[11:19]}")
    if progress.state:
        parts.append(f"state {progress.state_rows:,} keys, {progress.state_bytes / 1e6:.1f} MB")
    if progress.late_rows:
        parts.append(f"{progress.late_rows:,} late rows dropped")
    return " · ".join(parts)
