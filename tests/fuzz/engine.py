"""Many queries over one feed as a single streaming query: one micro-batch moves all of them.

Each query is planned from its SQL text and lowered as for a job; its rows become (case, values as text, weight,
deleted) and all cases are united, so that Spark starts, plans and commits once for a group.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flinkddl.catalog.apply import apply
from flinkddl.catalog.settings import Settings
from flinkddl.catalog.state import Catalog
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.plan import nodes as N
from flinkddl.plan.builder.hooks import context_of, hooks
from flinkddl.plan.builder.planner import plan_query
from flinkddl.plan.changelog import infer
from flinkddl.spark import job as J
from flinkddl.spark.context import DELETED, SEQUENCE, VERSION, WEIGHT, Kind, Lowering, Rel
from flinkddl.spark.expressions import to_spark
from flinkddl.spark.stateful import AGGREGATE, DEDUPLICATE, KEYED, operator_of
from flinkddl.spark.stream import lower_for
from flinkddl.spark.stream.base import HANDLERS
from flinkddl.sqltypes import quote
from tests.spark.stream.harness import JOB, fed, frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flinkddl.plan.physical import Physical
    from tests.fuzz.world import World
    from tests.spark.stream.harness import Accepts

SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.stateStore.stateSchemaCheck": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


@dataclass(frozen=True, kw_only=True)
class FeedScan(N.Scan):
    """A table of a world: its rows in the feed that all tables share."""

    schema: str
    folder: str
    kind: Kind
    key: tuple[int, ...] = ()

    @property
    def carries(self) -> Any:
        return self.kind

    def upsert_keys(self, inputs: Any) -> Any:
        return (frozenset(self.key),) if self.key else super().upsert_keys(inputs)


def _lower_feed(node: FeedScan, ctx: Lowering, here: Physical) -> Rel:
    read = next((s for s in ctx.steps if isinstance(s, J.Read)), None)
    if read is None:
        options = {"path": node.folder}
        read = ctx.add(
            J.Read(name=ctx.fresh("feed"), format="json", options=options, streaming=True, schema=node.schema)
        )
    name = node.table.path.name
    mine = ctx.add(J.Where(name=ctx.fresh("mine"), input=read.name, condition=f"tbl = '{name}'")).name
    computed = dict(node.computed)
    columns = tuple(f.name for f in node.fields)
    named = [
        (f.name, to_spark(computed[i], columns, ctx.zone) if i in computed else quote(f.name))
        for i, f in enumerate(node.fields)
    ]
    extra = {"append": [], "delta": [(WEIGHT, "w")], "upsert": [(VERSION, "v"), (DELETED, "gone")]}[node.kind]
    named += [*extra, (SEQUENCE, "s")]
    step = ctx.add(J.Select(name=ctx.fresh("table"), input=mine, columns=tuple(named))).name
    return Rel(step, columns, node.fields, node.kind, node.key, sequence=True)


HANDLERS[FeedScan] = _lower_feed


class Planner:
    """Plans SQL over the tables of a world, with their scans replaced by the feed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.catalog = Catalog()
        for text in ("SET 'execution.runtime-mode' = 'streaming'", *(t.ddl for t in world.tables)):
            source = SourceText("<fuzz>", text)
            for statement in parse_script(source).statements:
                self.catalog, found = apply(self.catalog, statement.tree, source, hooks(source))
                assert not [d for d in found if d.severity == "error"], (text, found)
        columns = [f"{c.name} {SPARK_TYPES[c.type]}" for t in world.tables for c in t.columns]
        self.schema = ", ".join(["tbl STRING", "s BIGINT", "w INT", "v BIGINT", "gone BOOLEAN", *columns])

    def plan(self, text: str) -> N.Node:
        """Return the finished plan of a SELECT. Raises FlinkDdlError."""
        source = SourceText("<fuzz>", text)
        script = parse_script(source)
        if script.diagnostics:
            raise FlinkDdlError(list(script.diagnostics))
        return self.swapped(plan_query(script.statements[0].tree, context_of(self.catalog, source)).node)

    def swapped(self, node: N.Node) -> N.Node:
        if isinstance(node, N.Scan):
            table = next(t for t in self.world.tables if t.name == node.table.path.name)
            given = {f.name: getattr(node, f.name) for f in fields(N.Scan)}
            key = (0,) if table.kind == "upsert" else ()
            return FeedScan(**given, schema=self.schema, folder=str(self.world.folder), kind=table.kind, key=key)
        changes: dict[str, Any] = {}
        for f in fields(node):
            value = getattr(node, f.name)
            if isinstance(value, N.Node):
                changes[f.name] = self.swapped(value)
            elif f.name == "parts":
                changes[f.name] = tuple(self.swapped(p) for p in value)
        return replace(node, **changes) if changes else node


SPARK_TYPES = {
    "int": "INT",
    "big": "BIGINT",
    "str": "STRING",
    "dbl": "DOUBLE",
    "dec": "DECIMAL(10,2)",
    "bool": "BOOLEAN",
    "date": "DATE",
}


@dataclass
class Case:
    """One query of a group: what it gave so far, and what it gave that no changelog may give."""

    name: str
    node: N.Node
    accepts: Accepts = "changelog"
    key: tuple[int, ...] = ()
    kind: str = ""
    table: Counter[Any] = field(default_factory=Counter)
    rows: dict[Any, Any] = field(default_factory=dict)
    wrong: list[Any] = field(default_factory=list)

    def take(self, changes: list[tuple[Any, int, bool | None]]) -> None:
        if self.kind == "upsert":
            for row, _, deleted in changes:
                self._upsert(row, bool(deleted))
            self.table = Counter(self.rows.values())
            return
        sums: Counter[Any] = Counter()
        for row, weight, _ in changes:
            sums[row] += weight
            if self.kind == "append" and weight != 1:
                self.wrong.append(("append row with a weight", row))
        for row, weight in sums.items():
            self.table[row] += weight
            if self.table[row] < 0:
                self.wrong.append(("taken back, never given", row))
        self.table = Counter({r: w for r, w in self.table.items() if w})

    @property
    def as_it_came(self) -> bool:
        """Whether records of an upsert table go through without an operator, repeated ones too, as in Flink."""
        node = self.node
        while isinstance(node, N.Project):
            node = node.input
        return isinstance(node, N.Scan)

    def _upsert(self, row: Any, deleted: bool) -> None:
        key = tuple(row[k] for k in self.key)
        if deleted:
            if self.rows.pop(key, None) is None and not self.as_it_came:
                self.wrong.append(("tombstone for nothing", row))
        elif self.rows.get(key) == row and not self.as_it_came:
            self.wrong.append(("unchanged", row))
        else:
            self.rows[key] = row


def upsert_keys(node: N.Node) -> list[tuple[int, ...]]:
    """Return the keys by which a sink may take the query's changes."""
    return sorted(tuple(sorted(k)) for k in infer(node).keys if k)


class Interrupted(Exception):
    """Thrown in the middle of a batch, before its rows are taken: the batch runs again."""


class Group:
    """Cases that run as one streaming query over one checkpoint."""

    def __init__(self, spark: Any, cases: Iterable[Case], mode: str = "update", state: str = "aggregate") -> None:
        self.spark, self.cases, self.mode = spark, list(cases), mode
        self.config = Settings.of({"flinkddl.execution.state": state})
        self.checkpoint = tempfile.mkdtemp(prefix="fuzz")
        self.crash = False
        self._done: set[int] = set()

    def run(self) -> None:
        """Run everything that is there, from where the last run stopped; with ``crash`` set, die in a batch first."""
        from pyspark.errors import StreamingQueryException

        for attempt in range(2):
            try:
                self._run()
                return
            except StreamingQueryException:
                if attempt or self.crash:  # crash is taken off by the crash
                    raise

    def _run(self) -> None:
        query = self._united.writeStream.outputMode(self.mode).option("checkpointLocation", self.checkpoint)
        query.foreachBatch(self._take).trigger(availableNow=True).start().awaitTermination()

    @cached_property
    def _united(self) -> Any:
        child = self.spark.newSession()
        ctx = Lowering(streaming=True, config=self.config)
        united = J.UnionAll(name="all_cases", parts=tuple(self._part(n, c, ctx) for n, c in enumerate(self.cases)))
        assert ctx.output_mode == self.mode, ctx.output_mode
        for name, value in (JOB | ctx.settings | SETTINGS).items():
            child.conf.set(name, value)
        frames: dict[str, Any] = {}
        for step in (*ctx.steps, united):
            frames[step.name] = frame(child, step, frames)
        kinds = {operator_of(step) for step in ctx.steps}
        if DEDUPLICATE in kinds or {KEYED, AGGREGATE} <= kinds:
            return frames[united.name]  # in one task with an aggregate they take that one's state store for their own
        return frames[united.name].coalesce(1)  # one task a batch at the end: each reads the plan of all cases

    def _part(self, number: int, case: Case, ctx: Lowering) -> str:
        rel = lower_for(fed(case.node, case.accepts, case.key, config=ctx.config), ctx)
        case.kind = rel.kind
        texts = ", ".join(f"CAST({rel.sql(i)} AS STRING)" for i in range(len(rel.fields)))
        weight = f"CAST({WEIGHT} AS BIGINT)" if rel.kind == "delta" else "1L"
        columns = (
            ("case", f"{number}"),
            ("row", f"array({texts})"),
            ("weight", weight),
            ("deleted", DELETED if rel.kind == "upsert" else "CAST(NULL AS BOOLEAN)"),
        )
        return ctx.add(J.Select(name=ctx.fresh("case"), input=rel.step, columns=columns)).name

    def _take(self, batch: Any, number: int) -> None:
        changes: dict[int, list[Any]] = {}
        for r in batch.collect():
            changes.setdefault(r[0], []).append((tuple(r[1]), r[2], r[3]))
        if self.crash:
            self.crash = False
            raise Interrupted
        if number in self._done:
            return
        self._done.add(number)
        for n, rows in changes.items():
            self.cases[n].take(rows)

    def close(self) -> None:
        shutil.rmtree(self.checkpoint, ignore_errors=True)
