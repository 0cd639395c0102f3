"""The data flow of a job as one value: operators, what travels between them, and the state that each keeps.

``explain --format json | dot | html`` and the notebook draw it; nothing here knows how it is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flinkddl.deep import deep
from flinkddl.diagnostics.secrets import mask
from flinkddl.options import values
from flinkddl.plan import nodes as N
from flinkddl.plan.explain import type_text
from flinkddl.plan.physical import identities, numbers, reused
from flinkddl.show.stages import stages_of
from flinkddl.spark.operators import key_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.plan.identity import Identity
    from flinkddl.plan.nodes.base import Mode
    from flinkddl.plan.physical import Physical, Reuse
    from flinkddl.show.stages import Stage
    from flinkddl.spark.job import SparkJob, Step


@dataclass(frozen=True)
class Operator:
    """One box of the picture. ``state`` says what is kept from batch to batch; empty where nothing is.

    ``reads`` are the ids of the operators it takes its rows from. ``reuse`` is the number of a sub-plan that runs
    once for several readers, as ``Reused`` has it; ``runs`` says how often Spark runs what is this one box.
    """

    id: str
    here: Physical
    mode: Mode
    detail: str
    state: str
    columns: tuple[tuple[str, str], ...]
    reads: tuple[str, ...]
    reuse: int | None
    runs: int
    identity: str

    @property
    def name(self) -> str:
        """The word for it."""
        return self.here.node.name

    @property
    def kind(self) -> str:
        """How Spark carries its rows."""
        return self.here.form.kind


@dataclass(frozen=True)
class Flow:
    """A whole job, ``of`` which it is the dataflow."""

    job: str
    streaming: bool
    trigger: tuple[str, str]
    operators: tuple[Operator, ...]
    steps: tuple[Step, ...]
    writes: tuple[Mapping[str, Any], ...]
    of: SparkJob = field(compare=False, repr=False)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The operators that keep state by key: pictures show them, a start does not ask."""
        return stages_of(self.of)

    def stages_with(self, node: str) -> list[Stage]:
        """Return the operators that keep state of a node by key."""
        return [s for s in self.stages if any(node == n for n, *_ in s.nodes)]

    @property
    def title(self) -> str:
        """One line about the job."""
        how = f"streaming, trigger {self.trigger[0]} {self.trigger[1]}" if self.streaming else "batch"
        chosen = dict.fromkeys(p.chosen for p in self.of.plan if p.chosen)
        united = (f"one query for {q.table}" for q in self.of.united)
        mode = (f"mode auto: {self.of.choice.words}",) if self.of.choice else ()
        return "; ".join([f"{self.job}: {how}", *mode, *chosen, *united])


@deep
def flow_of(job: SparkJob) -> Flow:
    """Return the data flow of a job: what several queries read alike is one box."""
    ttl_ms = max((p.how.ttl for p in job.plan), default=0)
    walk = _Walk(job.streaming, ttl_ms, identities(job.plan), reused(job.plan, job.same), numbers(job.plan))
    for planned in job.plan:
        walk.add(planned.root, planned.modes, planned.state)
    because = {w.name: p.how.because for w, p in job.planned}
    writes = tuple(
        {
            "name": w.name,
            "reads": w.input,
            "format": w.format,
            "mode": w.mode,
            "options": {k: mask(k, v) for k, v in sorted(w.options.items())},
            "stateByKey": bool(job.forms.get(w.name, False)),
            "stateBecause": because.get(w.name, ""),
            "query": job.run_of(w.name),
        }
        for w in job.writes
    )
    return Flow(job.name, job.streaming, job.trigger, tuple(walk.found), job.steps, writes, job)


_DEFAULT = "default_catalog.default_database."


@dataclass
class _Walk:
    streaming: bool
    ttl_ms: int
    identities: Mapping[int, Identity]
    reused: Reuse
    numbers: Mapping[int, int]
    found: list[Operator] = field(default_factory=list)
    again: dict[int, str] = field(default_factory=dict)

    def add(self, here: Physical, mode: Mode, sink_state: str = "") -> str:
        node, number = here.node, self.numbers[id(here)]
        if number in self.again:
            return self.again[number]
        reads = tuple(self.add(i, m) for i, m in zip(here.inputs, mode.inputs, strict=True))
        kept = (sink_state or node.state(mode)) if self.streaming else ""
        if kept and self.ttl_ms and node.forgets:
            kept += f"; idle for {values.duration_text(self.ttl_ms)}: forgotten"
        identity = str(self.identities.get(id(here), "")) if kept else ""
        columns = tuple((f.name, type_text(f)) for f in node.fields)
        name, runs = f"n{number}", self.reused.runs[number]
        reuse = self.reused.numbers.get(id(here)) if runs == 1 else None
        self.found.append(Operator(name, here, mode, _detail(node), kept, columns, reads, reuse, runs, identity))
        self.again[number] = name
        return name


def _detail(node: N.Node) -> str:
    text = node.detail.replace(_DEFAULT, "")
    options = getattr(node, "options", None)
    if options is None or not isinstance(node, N.Scan | N.Sink):
        return text
    where = "; ".join(options["topic"] or ()) or options["topic-pattern"] or options["path"] or options["table-name"]
    return f"{text} ({options.connector}{f' {where}' if where else ''})"


def as_json(flow: Flow) -> dict[str, Any]:
    """Return a flow as plain JSON values."""
    return {
        "job": flow.job,
        "streaming": flow.streaming,
        "trigger": list(flow.trigger),
        "modeAuto": flow.of.choice.words if flow.of.choice else "",
        "operators": [
            {
                "id": o.id,
                "name": o.name,
                "detail": o.detail,
                "changelogMode": o.mode.words.split(","),
                "kind": o.kind,
                "state": o.state,
                "stages": [s.name for s in flow.stages_with(o.id)],
                "identity": o.identity,
                "upsertKeys": [list(key) for key in key_names(o.mode)],
                "requires": list(o.here.asked.words),
                "reuseId": o.reuse,
                "runs": o.runs,
                "columns": [{"name": n, "type": t} for n, t in o.columns],
                "reads": list(o.reads),
            }
            for o in flow.operators
        ],
        "stages": [s.json for s in flow.stages],
        "steps": [{"name": s.name, "kind": s.kind, "reads": list(s.reads), "note": s.note} for s in flow.steps],
        "writes": [dict(w) for w in flow.writes],
    }
