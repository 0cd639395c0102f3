"""Kafka sinks: key, value, topic, headers and timestamp columns for Spark's Kafka sink or our own.

Rules: kafka-connectors reference, sections 4.9 (writing), 4.10 (partitioning), 4.11 (upsert-kafka), 4.13 (guarantees).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors import connector
from flinkddl.connectors.kafka.client import client_options
from flinkddl.connectors.kafka.facts import projection, subjects
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.formats import encoder
from flinkddl.functions.cast_sql import cast_sql
from flinkddl.functions.core import string
from flinkddl.spark import job as J
from flinkddl.spark import realtime
from flinkddl.spark.context import DELETED, WEIGHT, Lowering, Rel
from flinkddl.spark.sink import written
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.catalog.settings import Settings
    from flinkddl.connectors.base import PayloadField
    from flinkddl.formats import EncodeSpec
    from flinkddl.options import ResolvedOptions
    from flinkddl.options.resolved import FormatOptions
    from flinkddl.plan.nodes import Sink


def write(node: Sink, rel: Rel, ctx: Lowering) -> J.Write:
    """Lower a kafka or upsert-kafka sink. ``rel`` is append, upsert on the PRIMARY KEY, or delta for a CDC format."""
    options: ResolvedOptions = node.options
    assert node.table is not None
    assert options.value_format is not None
    shape = projection(node.table, options)
    columns = {c.name: rel.sql(i) for i, c in enumerate(node.table.persisted)}
    record: list[J.Named] = []
    subject = subjects(options)
    if options.key_format is not None and shape.key:
        owner = f"key of table '{node.target}'"
        key = _encoded(options.key_format, shape.key, columns, owner, subject.get("key"))
        record.append(("key", key.expression))
        ctx.settings.update(key.secrets)
    owner = f"value of table '{node.target}'"
    encoded = _encoded(options.value_format, shape.value, columns, owner, subject.get("value"))
    ctx.settings.update(encoded.secrets)
    value = encoded.expression
    if rel.kind == "upsert":
        # A row that is gone is a null value: the tombstone of its key.
        value = f"IF({quote(DELETED)}, CAST(NULL AS BINARY), {value})"
    record.append(("value", value))
    record += _metadata(node, options, columns, ctx.zone)
    step = _weights(rel, ctx) if rel.kind == "delta" else rel.step
    note = f"{options.connector} table {node.table.path.name}{_steps_between(rel, ctx)}"
    select = ctx.add(J.Select(name=ctx.fresh("records"), input=step, columns=tuple(record), note=note))
    spark = _spark_options(node, options, ctx.config)
    return written(node, select.name, ctx, _writer(node, spark, {n for n, _ in record}, ctx), spark, note)


def _encoded(
    format: FormatOptions, fields: Sequence[PayloadField], columns: Mapping[str, str], owner: str, subject: str | None
) -> EncodeSpec:
    values = [columns[f.column] for f in fields]
    return encoder(format, [(f.name, f.type) for f in fields], owner=owner, values=values, subject=subject)


def _weights(rel: Rel, ctx: Lowering) -> str:
    """Repeat a row as often as its weight says: a CDC format writes one message for each."""
    kept = tuple((c, quote(c)) for c in rel.columns)
    sign = (WEIGHT, f"CAST(sign({quote(WEIGHT)}) AS INT)")
    step = J.Select(
        name=ctx.fresh("changes"),
        input=rel.step,
        columns=(*kept, sign),
        generator=(f"explode(array_repeat(1, CAST(abs({quote(WEIGHT)}) AS INT)))", ("__copy",)),
    )
    return ctx.add(step).name


def _steps_between(rel: Rel, ctx: Lowering) -> str:
    """Say of a changelog below an operator with state that Flink, without mini-batch, writes more of it."""
    steps = {s.name: s for s in ctx.steps}
    keeps = rel.kind == "delta" and any(isinstance(s, J.GroupBy) for s in J.below(steps[rel.step], steps))
    return "; a key changes once a micro-batch, its steps in between are not written" if keeps and ctx.streaming else ""


def _metadata(node: Sink, options: ResolvedOptions, columns: dict[str, str], zone: str) -> list[J.Named]:
    assert node.table is not None
    offered = connector(options.connector).metadata(options)
    keys: dict[str, str] = {}
    for c in node.table.persisted:
        if c.kind != "metadata":
            continue
        key = c.metadata_key or c.name
        declared, written = c.type, offered[key].write
        assert declared is not None
        assert written is not None  # checked with the options
        same = declared.with_nullable(True) == written.with_nullable(True)
        keys[key] = columns[c.name] if same else cast_sql(columns[c.name], declared, written, zone, False)
    out: list[J.Named] = []
    topics = options["topic"] or ()
    if len(topics) != 1:
        out.append(("topic", _topic(node, options, keys["topic"])))
    if "headers" in keys:
        # The released connector drops headers without a value.
        entries = f"filter(map_entries({keys['headers']}), e -> e.value IS NOT NULL)"
        out.append(("headers", f"transform({entries}, e -> struct(e.key AS key, e.value AS value))"))
    if "header-list" in keys:
        entries = f"filter({keys['header-list']}, e -> e IS NOT NULL AND e.key IS NOT NULL)"
        out.append(("headers", f"transform({entries}, e -> struct(e.key AS key, e.value AS value))"))
    if "timestamp" in keys:
        out.append(("timestamp", keys["timestamp"]))
    return out


def _topic(node: Sink, options: ResolvedOptions, column: str) -> str:
    """Return the row's own topic, checked against the list or pattern (V13 to V16)."""
    missing = string(f"no topic is set for a record of table '{node.target}'")
    if options["topic"]:
        allowed = f"{column} IN ({', '.join(map(string, options['topic']))})"
        wanted = f"one of {', '.join(options['topic'])}"
    else:
        allowed = f"{column} RLIKE {string('^(?:' + options['topic-pattern'] + ')$')}"
        wanted = f"matching {options['topic-pattern']}"
    other = (
        f"concat({string(f'a record of table {node.target} goes to topic ')}, {column}, {string(f', not {wanted}')})"
    )
    return (
        f"CASE WHEN {column} IS NULL THEN raise_error({missing}) WHEN {allowed} THEN {column} "
        f"ELSE raise_error({other}) END"
    )


def _writer(node: Sink, spark: Mapping[str, str], columns: set[str], ctx: Lowering) -> str:
    """Choose the sink: Spark's own, or ours where it is asked for what Spark's has not. Raises FD649 in real-time mode.

    Spark's real-time trigger takes its own sinks alone (RealTimeModeAllowlist).
    """
    asked = [_OURS[key] for key in _OURS if key in spark or key in columns]
    if not asked:
        return J.KAFKA
    if realtime.runs(ctx):
        message = f"{asked[0]} of table '{node.target}' is not available in real-time mode"
        raise FlinkDdlError.of("FD649", message, node.span, f"leave out SET '{realtime.MODE}'")
    return J.KAFKA_SINK


_OURS = {
    "transactional-id": "'sink.delivery-guarantee' = 'exactly-once'",
    "partitioner": "'sink.partitioner' = 'fixed'",
    "parallelism": "'sink.parallelism'",
    "buffer-rows": "'sink.buffer-flush.max-rows'",
    "timestamp": "a written timestamp",
}
"""Options and columns of our sink alone, and what they come from."""


# Small batches wait a moment for more (the default of Kafka 4 clients, Flink's among them, not of Spark's Kafka 3), and
# may grow: a task writes as fast as it computes.
PRODUCER = {"kafka.linger.ms": "5", "kafka.batch.size": "131072"}


def _spark_options(node: Sink, options: ResolvedOptions, config: Settings) -> dict[str, str]:
    spark = PRODUCER | client_options(options, config)
    topics = options["topic"] or ()
    if len(topics) == 1:
        spark["topic"] = str(*topics)
    if options["sink.partitioner"] == "fixed":
        spark["partitioner"] = "fixed"
    if options["sink.parallelism"]:
        spark["parallelism"] = str(options["sink.parallelism"])
    guarantee = options["sink.semantic"] or options["sink.delivery-guarantee"] or "at-least-once"
    if guarantee == "exactly-once":
        # The sinks of a statement set may share a prefix; two producers cannot share an id.
        spark["transactional-id"] = f"{options['sink.transactional-id-prefix']}-{node.target}"
    if guarantee == "none":
        spark["kafka.acks"] = spark.get("kafka.acks", "0")
    if (options["sink.buffer-flush.max-rows"] or 0) > 0 and (options["sink.buffer-flush.interval"] or 0) > 0:
        spark["buffer-rows"] = str(options["sink.buffer-flush.max-rows"])
    return spark
