"""Hand-built or planned nodes over change streams, lowered and run on Spark in several micro-batches with restarts.

A ``Feed`` is a table whose changes are written as files, one file a micro-batch. The result of a query is the table
that its changes leave; ``Running`` also notes every change that takes back something never given.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.catalog.model import ObjectPath, Table
from flinkddl.catalog.settings import NOTHING_SET, Settings
from flinkddl.plan import nodes as N
from flinkddl.plan.changelog import SinkPlan
from flinkddl.plan.nodes.base import ALL, I, Mode
from flinkddl.plan.physical import how_of, physical_sink
from flinkddl.plan.stateforms import chosen
from flinkddl.runtime.job.steps import perform
from flinkddl.spark import job as J
from flinkddl.spark.base import same, select
from flinkddl.spark.calls import calls_of
from flinkddl.spark.context import DELETED, SENDER, SEQUENCE, VERSION, WEIGHT, Kind, Lowering, Rel
from flinkddl.spark.scan import guarded
from flinkddl.spark.stream import lower_for
from flinkddl.spark.stream.base import HANDLERS
from flinkddl.spark.stream.rows import as_one
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from flinkddl.plan.physical import PhysicalSink

Accepts = Literal["append", "upsert", "changelog"]
Meets = Literal["", "last", "races", "NOTHING", "ERROR"]
"""What stands where rows meet at one key of a sink: the last live row, the last change, the first row; "" none meet."""
END = "2199-01-01 00:00:00"


@dataclass(frozen=True, kw_only=True)
class Feed(N.Scan):
    """A source of JSON lines: the columns by name, ``__w`` or ``__version`` and ``__deleted``, and ``__seq``.

    In a chain that waits for event time ``__sender`` is the partition of a row, one of ``senders``.
    """

    folder: str
    kind: Kind = "append"
    key: tuple[int, ...] = ()
    senders: int = 1
    idle_ms: int = 0

    @property
    def carries(self) -> Any:
        return self.kind

    def upsert_keys(self, inputs: Any) -> Any:
        return (frozenset(self.key),) if self.key else super().upsert_keys(inputs)


def feed(
    folder: Path, fields: tuple[N.Field, ...], kind: Kind = "append", key: tuple[int, ...] = (), **more: Any
) -> Feed:
    folder.mkdir(parents=True, exist_ok=True)
    table = Table(ObjectPath("c", "d", folder.name), (), {})
    return Feed(fields=fields, table=table, options=None, folder=str(folder), kind=kind, key=key, **more)


def write(folder: str | Path, number: int, rows: list[dict[str, Any]]) -> None:
    """Add one file of changes; it appears at once."""
    target = Path(folder) / f"{number:06d}.json"
    hidden = target.with_name("." + target.name)
    hidden.write_text("".join(json.dumps(r) + "\n" for r in rows))
    hidden.rename(target)
    os.utime(target, (1_700_000_000 + number, 1_700_000_000 + number))


def _lower_feed(node: Feed, ctx: Lowering) -> Rel:
    extra = {"append": "", "delta": f", {WEIGHT} INT", "upsert": f", {VERSION} BIGINT, {DELETED} BOOLEAN"}[node.kind]
    schema = ", ".join(f"{quote(f.name)} {spark_type(f.type)}" for f in node.fields) + extra + f", {SEQUENCE} BIGINT"
    schema += f", {SENDER} BIGINT"
    name = ctx.fresh("feed")
    read = J.Read(name=name, format="json", options={"path": node.folder}, streaming=True, schema=schema)
    step = ctx.add(read).name
    if ctx.timing is not None and (clock := ctx.timing.of(node)) is not None:
        step = _told(node, step, clock, ctx)
    elif node.watermark is not None:
        time = node.fields[node.watermark.index].name
        step = ctx.add(
            J.WithWatermark(
                name=ctx.fresh("watermark"), input=step, column=time, delay=f"{node.watermark.delay_ms} milliseconds"
            )
        ).name
        columns = tuple(f.name for f in node.fields)
        step = guarded(Rel(step, columns, node.fields, node.kind, node.key, sequence=True), time, ctx)
        step = ctx.add(J.Where(name=ctx.fresh("real"), input=step, condition=f"{quote(time)} < TIMESTAMP '{END}'")).name
    rel = Rel(step, tuple(f.name for f in node.fields), node.fields, node.kind, node.key, sequence=True)
    return rel.with_(step=select(step, same((*rel.columns, *rel.reserved)), ctx, "table"))


def _told(node: Feed, step: str, clock: int, ctx: Lowering) -> str:
    assert node.watermark is not None
    assert ctx.timing is not None
    time = node.fields[node.watermark.index].name
    told = J.WithTime(
        name=ctx.fresh("time"),
        input=step,
        columns=(*(f.name for f in node.fields), *Rel("", (), (), node.kind).reserved, SEQUENCE),
        clock=clock,
        watermark=f"unix_millis({quote(time)}) - {node.watermark.delay_ms}L",
        sender=f"coalesce({SENDER}, 0L)",
        senders=node.senders,
        every=ctx.timing.every,
        shift=ctx.timing.shift,
        idle_ms=node.idle_ms,
    )
    real = f"{quote(time)} IS NULL OR {quote(time)} < TIMESTAMP '{END}'"
    return ctx.add(J.Where(name=ctx.fresh("real"), input=ctx.add(told).name, condition=real)).name


HANDLERS[Feed] = lambda node, ctx, here: as_one(node, ctx, here, lambda _: _lower_feed(node, ctx))


def fed(
    node: N.Node,
    accepts: Accepts = "changelog",
    key: tuple[int, ...] = (),
    meets: Meets = "",
    config: Settings = NOTHING_SET,
) -> PhysicalSink:
    """Plan a sink that takes the node's changes; ``meets``: what is done where rows of several keys meet at its own."""
    conflict = meets if meets in ("NOTHING", "ERROR") else None
    mode = Mode(node, I if conflict else ALL, True, () if meets else (frozenset(key),), ())
    sink = N.Sink(input=node, table=None, fields=node.fields, conflict=conflict)
    auto = config.flinkddl_execution_state == "AUTO"
    how = how_of(replace(config, flinkddl_execution_state="KEYED") if auto else config)
    found = physical_sink(sink, SinkPlan(accepts, key, meets not in ("", "races"), mode), how)
    return chosen(found) if auto else found


def frame(spark: Any, step: J.Step, frames: dict[str, Any]) -> Any:
    """Build the DataFrame of one step; a source is a folder of JSON files, one a micro-batch."""
    if isinstance(step, J.Read):
        reader = spark.readStream.schema(step.schema).option("maxFilesPerTrigger", "1")
        return reader.format(step.format).load(step.options["path"])
    return perform(calls_of(step), spark, frames)


def plain(value: Any) -> Any:
    """Return a value that can be counted and compared."""
    if isinstance(value, dict):
        return tuple(sorted((plain(k), plain(v)) for k, v in value.items()))
    if isinstance(value, list | tuple):
        return tuple(plain(v) for v in value)
    return value


@dataclass
class Running:
    """A query over feeds: run some batches, look at the table, run more on the same checkpoint."""

    spark: Any
    node: N.Node
    accepts: Accepts = "changelog"
    key: tuple[int, ...] = ()
    config: dict[str, str] = field(default_factory=dict)
    meets: Meets = ""
    checkpoint: str = field(default_factory=lambda: tempfile.mkdtemp(prefix="stream"))
    table: Counter[Any] = field(default_factory=Counter)
    rows: dict[Any, Any] = field(default_factory=dict)
    wrong: list[Any] = field(default_factory=list)
    records: int = 0

    def go(self) -> Running:
        """Run everything that is there, from where the last run stopped."""
        child = self.spark.newSession()
        ctx = Lowering(streaming=True, config=Settings.of({**STATE, **self.config}))
        rel = lower_for(fed(self.node, self.accepts, self.key, self.meets, ctx.config), ctx)
        assert [f.type.as_attribute(None).root for f in rel.fields] == [
            f.type.as_attribute(None).root for f in self.node.fields
        ]
        for name, value in (JOB | ctx.settings).items():
            child.conf.set(name, value)
        frames: dict[str, Any] = {}
        for step in ctx.steps:
            frames[step.name] = frame(child, step, frames)
        self.rel, self.steps = rel, ctx.steps
        columns = [f"`{c}`" for c in (*rel.columns, *rel.reserved) if c not in ("__window",)]
        query = frames[rel.step].select(columns).writeStream.outputMode(ctx.output_mode)
        query = query.option("checkpointLocation", self.checkpoint).foreachBatch(self._take)
        self.query = query.trigger(availableNow=True).start()
        self.query.awaitTermination()
        return self

    def _take(self, batch: Any, _: int) -> None:
        rel, n = self.rel, len(self.rel.fields)
        collected = [plain(r) for r in batch.collect()]
        self.records += len(collected)
        if rel.kind == "upsert":
            at = (*rel.columns, *rel.reserved).index(DELETED)
            for r in collected:
                key = tuple(r[k] for k in self.key)
                if r[at]:
                    if self.rows.pop(key, None) is None:
                        self.wrong.append(("tombstone for nothing", r))
                elif self.rows.get(key) == r[:n]:
                    self.wrong.append(("unchanged", r))
                else:
                    self.rows[key] = r[:n]
            self.table = Counter(self.rows.values())
            return
        at = (*rel.columns, *rel.reserved).index(WEIGHT) if rel.kind == "delta" else None
        change: Counter[Any] = Counter()
        for r in collected:
            change[r[:n]] += 1 if at is None else r[at]
        for row, w in change.items():
            self.table[row] += w
            if self.table[row] < 0:
                self.wrong.append(("taken back, never given", row))
        self.table = Counter({r: w for r, w in self.table.items() if w})

    def close(self) -> None:
        shutil.rmtree(self.checkpoint, ignore_errors=True)


# FLINKDDL_STATE=keyed runs whatever is tested with state by key
STATE = {"flinkddl.execution.state": os.environ.get("FLINKDDL_STATE", "aggregate")}
JOB = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.catalog.flinkddl": "flinkddl.Functions",
}
