"""Sinks to one SparkJob: mode, session settings, the lowering of each input, the writes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal

from flinkddl.deep import deep
from flinkddl.diagnostics import Bag, FlinkDdlError
from flinkddl.plan.across import across
from flinkddl.plan.clocks import timed_scans, walled
from flinkddl.plan.decoded import reading
from flinkddl.plan.nodes import scans
from flinkddl.plan.sharing import same_scans
from flinkddl.plan.stateforms import CLOCKS, NARROWS, NEW, Begun, own, planned
from flinkddl.spark import realtime
from flinkddl.spark.context import Lowering
from flinkddl.spark.expressions import java_jars, user_functions
from flinkddl.spark.fingerprint import essence, fingerprint, queries
from flinkddl.spark.finished import as_streams
from flinkddl.spark.fitting import as_noted, fitted, kept_before
from flinkddl.spark.job import SparkJob
from flinkddl.spark.modes import in_a_mode
from flinkddl.spark.operators import paths
from flinkddl.spark.partitions import NAMED_SOURCES, can_name, idle_ms, note_one, timed_tables
from flinkddl.spark.restarts import restart_strategy
from flinkddl.spark.sink import lower_sink
from flinkddl.spark.together import groups, query_of, together, twins
from flinkddl.spark.ttl import note_kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from flinkddl.catalog.settings import Settings
    from flinkddl.plan.nodes import Sink
    from flinkddl.plan.nodes.forms import How
    from flinkddl.plan.physical import Physical, PhysicalSink
    from flinkddl.spark.context import Rel
    from flinkddl.spark.job import Write

_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.chunkBase64String.enabled": "false",
    "spark.sql.jsonGenerator.ignoreNullFields": "false",
    "spark.sql.legacy.allowHashOnMapType": "true",
    "spark.sql.variable.substitute": "false",  # '${env:HOME}' in a literal or a name is text
}
_STREAMING = {
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # rows of one key are merged into one value: half the time of version 2, which writes every row by its number
    "spark.sql.streaming.join.stateFormatVersion": "4",
}


def lower_job(
    name: str, sinks: tuple[Sink, ...], config: Settings, zone: str, bag: Bag, begun: Begun = NEW
) -> SparkJob:
    """Lower the sinks of one INSERT, statement set or SELECT to a SparkJob. Raises FlinkDdlError with all refusals."""
    if config.flinkddl_execution_mode == "AUTO":
        # what is noted is noted once
        batches = lower_job(name, sinks, _in_mode(config, "MICRO-BATCH"), zone, bag, begun)
        return in_a_mode(batches, lambda: lower_job(name, sinks, _in_mode(config, "REALTIME"), zone, Bag(), begun))
    for windows in _which_chain(name, sinks, config, zone, begun):
        with suppress(FlinkDdlError):
            job = _made(name, sinks, config, zone, said := Bag(), replace(begun, windows=windows))
            bag.extend(said)
            return job
    return _made(name, sinks, config, zone, bag, begun)


_TRIED = 8
"""INSERTs of a set that are tried by themselves, where not all can be chains."""


def _which_chain(
    name: str, sinks: tuple[Sink, ...], config: Settings, zone: str, begun: Begun
) -> Iterator[frozenset[int]]:
    """Yield which INSERTs may be chains as they wait for event time: all that may, then those that can be."""
    if config.flinkddl_execution_state != "AUTO":
        return
    may = frozenset(n for n, sink in enumerate(sinks) if _waits(sink, config))
    must = frozenset(n for n in may if walled(sinks[n]))  # nothing else closes windows over processing time
    if may:
        yield may
    if len(may) > 1 and len(may - must) <= _TRIED:
        can = set(must)
        for n in may - must:
            with suppress(FlinkDdlError):
                _made(name, sinks, config, zone, Bag(), replace(begun, windows=must | {n}))
                can.add(n)
        yield frozenset(can)
    elif must:
        yield must


def _waits(sink: Sink, config: Settings) -> bool:
    """Whether a query waits for a time, and may do so in a chain, where a watermark is a partition's.

    There nobody moves idle partitions on while none has rows, and Python functions see rows that filters drop.
    """
    timed, one = [*timed_scans(sink, below=False)], config.flinkddl_watermark_partitions == 1
    waits = walled(sink) or (bool(timed) and not one)
    return waits and not any(idle_ms(scan, config) or one for scan in timed) and not user_functions(sink)


def _made(name: str, sinks: tuple[Sink, ...], config: Settings, zone: str, bag: Bag, begun: Begun) -> SparkJob:
    job = realtime.of_rows(_lowered(name, sinks, config, zone, bag, begun))
    return replace(job, settings={**job.settings, **realtime.checked(job)})


def _in_mode(config: Settings, mode: Literal["MICRO-BATCH", "REALTIME"]) -> Settings:
    return replace(config, flinkddl_execution_mode=mode)


def _lowered(name: str, sinks: tuple[Sink, ...], config: Settings, zone: str, bag: Bag, begun: Begun = NEW) -> SparkJob:
    physical = planned(sinks, config, begun)
    realtime.check_chains(physical)
    streaming = physical[0].how.streaming
    ctx, writes, united = _written(physical, config, zone, begun)
    if ctx.alone - begun.alone:
        # what was decided as if they were read with others, the form of state too, is decided anew
        return _lowered(name, sinks, config, zone, bag, replace(begun, alone=begun.alone | ctx.alone))
    if streaming:
        ctx.steps[:] = as_streams(ctx.steps, (w.input for w in writes))
        note_kept(ctx.steps, sinks, config, bag)
        note_one(physical, config, bag)
    if not can_name(ctx.steps, writes):
        ctx.settings.pop(NAMED_SOURCES, None)
    varies = len(sinks) > 1 or any(p.how.because or _ages(p) for p in physical)
    now = Begun({n: p.how.form for n, p in enumerate(physical)}, together={u.name: u.parts for u in united})
    return SparkJob(
        name=name,
        plan=physical,
        steps=tuple(ctx.steps),
        writes=writes,
        united=united,
        settings=session_settings(streaming) | _parallelism(config) | ctx.settings,
        streaming=streaming,
        trigger=trigger(physical, config),
        udfs={**user_functions(sinks), **ctx.udfs},
        extras=tuple(sorted(ctx.extras)),
        jars=java_jars(sinks),
        restart=restart_strategy(config, sinks[0].span, bag, streaming=streaming),
        identity=partial(fingerprint, sinks, tuple(ctx.steps)),
        queries=partial(queries, sinks),
        essence=partial(essence, sinks, tuple(ctx.steps)),
        newer=frozenset(ctx.used),
        apart=partial(_apart, name, sinks, config, zone, now) if ctx.used else None,
        as_begun=partial(_as_begun, name, sinks, config, zone) if varies else None,
        as_chain=partial(_as_chain, name, sinks, config, zone) if _may_chain(config, streaming) else None,
        fitted=partial(_fitted, name, sinks, config, zone, replace(now, newer=begun.newer)) if streaming else None,
        owners=_owned(ctx, sinks),
        same=_same(ctx, sinks),
        kept=ctx.reading.kept,
    )


def _ages(planned: PhysicalSink) -> bool:
    """Whether the form of a query hangs on a TTL where that of its state is SET to 'keyed'."""
    how = planned.how
    return how.keyed and (how.totals or how.realtime or own(planned))


def _owned(ctx: Lowering, sinks: Sequence[Sink]) -> dict[str, str]:
    """Return the path of the node that each step was made for, where there is one."""
    places = paths(sinks)
    return {step: places[node] for step, node in ctx.owners.items() if node in places}


def _same(ctx: Lowering, sinks: Sequence[Sink]) -> dict[str, str]:
    """Return of each place that runs as another one the path of that, which runs as no other."""
    places = paths(sinks)
    ends = {node: ran for node, ran in ctx.same.items() if node != ran}
    for node in ends:
        while (further := ends.get(ends[node], node)) != node:
            ends[node] = further
    same = ((places.get(node), places.get(ran)) for node, ran in ends.items())
    return {place: ran for place, ran in same if place is not None and ran is not None}


def _written(
    physical: Sequence[PhysicalSink], config: Settings, zone: str, begun: Begun
) -> tuple[Lowering, tuple[Write, ...], tuple[Write, ...]]:
    """Return the steps, the write of each INSERT, and the queries that carry out several together."""
    ctx = _begin(physical, config, zone, begun)
    writes = _distinct([_write(p, ctx) for p in physical])
    found = groups(list(zip(physical, writes, strict=True)), ctx, begun.together)
    while found:
        made = _begin(physical, config, zone, begun, [query_of(group, physical) for group in found])
        queries: dict[str, Write] = {}
        each: dict[int, Write] = {}
        for group in found:
            if (one := together(group, physical, made, _write)) is not None:
                each |= one[0]
                queries[group.name] = one[1]
        if len(queries) == len(found):
            each |= {n: _write(p, made) for n, p in enumerate(physical) if n not in each}
            named = _distinct([each[n] for n in range(len(physical))])
            parts = {group.name: tuple(named[n].name for n in group.places) for group in found}
            return made, named, tuple(replace(q, parts=parts[q.name]) for q in queries.values())
        found = [group for group in found if group.name in queries]
    return ctx, writes, ()


def _begin(
    physical: Sequence[PhysicalSink],
    config: Settings,
    zone: str,
    begun: Begun,
    united: Sequence[tuple[Physical, How]] = (),
) -> Lowering:
    """Begin a job; ``united`` are queries of several INSERTs in which what is equal is one."""
    streaming = physical[0].how.streaming
    merging = [*united, *((p.query, p.how) for p in physical if p.how.merges and not p.how.chain)]
    read_once = chain.from_iterable(
        same_scans(scans(p.query.node)) if p.how.chain else across(p.query, p.how) for p in physical
    )
    timed = timed_tables([p.sink for p in physical])
    apart = timed_tables([p.sink for p in physical if not p.how.chain])
    return Lowering(
        streaming=streaming,
        zone=zone,
        config=config,
        bounded=streaming and all(p.bounded for p in physical),
        timed=apart if CLOCKS in begun.newer else timed,
        used={CLOCKS} if CLOCKS in begun.newer and apart != timed else set(),
        newer=begun.newer,
        reading=reading(
            [p.query for p in physical],
            streaming=streaming,
            merging=merging,
            shared=(*twins([tree for tree, _ in united]), *read_once),
            narrows=NARROWS in begun.newer,
            wider=partial(as_noted, begun.kept) if begun.kept else None,
        ),
    )


def _apart(
    name: str, sinks: tuple[Sink, ...], config: Settings, zone: str, begun: Begun, newer: frozenset[str]
) -> SparkJob:
    """Return the job with that alone which earlier versions had not which is in ``newer``; all there is was noted."""
    return lower_job(name, sinks, config, zone, Bag(), replace(begun, newer=newer))


def _as_begun(name: str, sinks: tuple[Sink, ...], config: Settings, zone: str, begun: Begun) -> SparkJob:
    """Return the job with its INSERTs in the forms and the queries in which a checkpoint has them."""
    return lower_job(name, sinks, config, zone, Bag(), begun)


@deep
def _fitted(
    name: str, sinks: tuple[Sink, ...], config: Settings, zone: str, begun: Begun, said: Iterable[dict[str, Any]]
) -> SparkJob | None:
    """Return the job with its plan as a checkpoint knows it, under the digests of what was written; None if it is."""
    said = list(said)
    found, kept = fitted(sinks, said), kept_before(said)
    if found == sinks and not kept:
        return None
    made = lower_job(name, found, config, zone, Bag(), replace(begun, kept=kept))
    return replace(made, queries=partial(queries, sinks), fitted=None)


def _may_chain(config: Settings, streaming: bool) -> bool:
    return streaming and config.flinkddl_execution_state != "AGGREGATE"


def _as_chain(name: str, sinks: tuple[Sink, ...], config: Settings, zone: str) -> SparkJob:
    """Return the job as one chain a query, whether or not that can be."""
    return _lowered(name, sinks, replace(config, flinkddl_execution_state="CHAIN"), zone, Bag())


def session_settings(streaming: bool) -> dict[str, str]:
    """Return what a session is told for a run: what our expressions mean depends on it."""
    return _ALWAYS | (_STREAMING if streaming else {})


def _parallelism(config: Settings) -> dict[str, str]:
    """Return the shuffle partitions that the script asks for; the table setting goes before the cluster's, as in Flink.

    A checkpoint keeps the number that it was begun with.
    """
    given = (config.table_exec_resource_default_parallelism, config.parallelism_default or 0)
    return next(({"spark.sql.shuffle.partitions": str(n)} for n in given if n > 0), {})


def _distinct(writes: list[Write]) -> tuple[Write, ...]:
    """Give the second INSERT of a statement set into one table a name, and so a checkpoint, of its own."""
    seen: dict[str, int] = {}
    out = []
    for write in writes:
        n = seen[write.name] = seen.get(write.name, 0) + 1
        if n > 1:
            own = {k: f"{v}-{n}" for k, v in write.options.items() if k == "transactional-id"}
            write = replace(write, name=f"{write.name}-{n}", options={**write.options, **own})
        out.append(write)
    return tuple(out)


def _write(planned: PhysicalSink, ctx: Lowering) -> Write:
    """Lower an INSERT; steps that no node of its query owns were made for the sink."""
    first = len(ctx.steps)
    write = lower_sink(planned.sink, _input(planned, ctx), ctx)
    for step in ctx.steps[first:]:
        ctx.owners.setdefault(step.name, id(planned.sink))
    return write


def _input(planned: PhysicalSink, ctx: Lowering) -> Rel:
    ctx.sink = planned
    if ctx.streaming:
        from flinkddl.spark.stream import lower_for

        rel = lower_for(planned, ctx)
    else:
        from flinkddl.spark.batch import lower

        rel = lower(planned.sink, ctx)
    return ctx.obeyed(planned.root, rel)


def trigger(sinks: Sequence[PhysicalSink], config: Settings) -> tuple[str, str]:
    """Choose Spark's trigger: bounded input ends by itself, real-time mode when asked for, else as fast as it can.

    ``table.exec.mini-batch.allow-latency`` and a sink's buffer interval become the micro-batch interval. Real-time
    mode writes a checkpoint where its long batches end: each ``execution.checkpointing.interval``.
    """
    how = sinks[0].how
    if not how.streaming or all(p.bounded for p in sinks):
        return ("availableNow", "true")
    if how.realtime:
        return ("realTime", f"{realtime.batch_ms(config)} milliseconds")
    waits = [0]
    if config.table_exec_mini_batch_enabled:
        waits.append(config.table_exec_mini_batch_allow_latency)
    given = [p.sink.options for p in sinks if p.sink.options is not None]
    waits += [options["sink.buffer-flush.interval"] or 0 for options in given]
    return ("processingTime", f"{max(waits)} milliseconds")
