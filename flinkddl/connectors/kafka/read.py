"""Kafka scans: what the topic's records become, column by column.

Rules: kafka-connectors reference, sections 3 (metadata), 4.1 (projections) and 4.2 / 4.3 (what a message gives).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors.kafka.client import client_options, written_property
from flinkddl.connectors.kafka.facts import projection
from flinkddl.formats import Message, Wanted, decoder
from flinkddl.functions.core import string
from flinkddl.spark import job as J
from flinkddl.spark import realtime
from flinkddl.spark.context import (
    DELETED,
    KIND,
    SENDER,
    SEQUENCE,
    SEQUENCE_STEP,
    VERSION,
    WEIGHT,
    Lowering,
    Rel,
    unique_names,
)
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.connectors.base import PayloadField, Projection
    from flinkddl.formats import DecodeSpec
    from flinkddl.options import ResolvedOptions
    from flinkddl.plan.nodes import Scan
    from flinkddl.spark.context import Kind

# Kafka records as Spark gives them -> Flink's metadata, raw (before the cast to the declared type).
METADATA: Mapping[str, str] = {
    "topic": "`topic`",
    "partition": "`partition`",
    "headers": "coalesce(flinkddl.map_last(`headers`), CAST(map() AS MAP<STRING,BINARY>))",
    "header-list": "coalesce(`headers`, CAST(array() AS ARRAY<STRUCT<key:STRING,value:BINARY>>))",
    "leader-epoch": "CAST(NULLIF(CAST(element_at(`headers`, -1).value AS STRING), '') AS INT)",
    "offset": "`offset`",
    "timestamp": "`timestamp`",
    "timestamp-type": (
        "CASE `timestampType` WHEN 0 THEN 'CreateTime' WHEN 1 THEN 'LogAppendTime' ELSE 'NoTimestampType' END"
    ),
}
_OTHERS = "slice(`headers`, 1, size(`headers`) - 1)"  # without the last header, which is J.LEADER_EPOCH
# After each poll Spark asks for a partition's first and last offset and drops what the client has fetched ahead: with
# the client's own 500 records a poll most bytes would come many times over.
POLLS = {"kafka.max.poll.records": "100000", "kafka.max.partition.fetch.bytes": "4194304"}
# And what it asks waits behind the fetch ahead, which a broker holds back half a second where a partition ends: each
# task of a batch would take as long. A batch reads what is there; real-time mode waits for records, and asks nothing.
AHEAD = {J.FETCH_WAIT: J.AT_ONCE}
# A number that rises with the offset; partitions of one topic race in Flink as well.
_SENDER = "xxhash64(`topic`, `partition`)"
_SEQUENCE = f"`offset` * {SEQUENCE_STEP} + `partition`"
_RECORD = ("topic", "partition", "offset", "timestamp", "timestampType")
_KEY, _VALUE = "__key", "__value"
_ROWS, _UPDATE = "__rows", "__update"
_AFTER = f"NOT ({_UPDATE} AND {_VALUE}.{WEIGHT} < 0)"  # Flink's DropUpdateBefore
_KINDS = f"IF({_VALUE}.{WEIGHT} > 0, IF({_UPDATE}, '+U', '+I'), IF({_UPDATE}, '-U', '-D'))"


def rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a kafka or upsert-kafka table to its physical and raw metadata columns, in declared order."""
    options: ResolvedOptions = node.options
    shape = projection(node.table, options)
    read = ctx.add(_read(node, ctx))
    record = [*_RECORD] + (["headers"] if "includeHeaders" in read.options else [])
    key, value = _decoders(node, shape, ctx)
    ctx.settings.update({**value.secrets, **(key.secrets if key else {})})
    step = read.name
    if key is not None:
        rest = [*record, "value"]
        step = _explode(step, f"{node.table.path.name}_key", (key.expression, _KEY), rest, ctx)
        record = [*record, _KEY]
    if options.connector == "upsert-kafka":
        # A null value is a delete: one row with nothing but its key (section 4.3).
        absent = f"array(CAST(NULL AS {_row_type(value)}))"
        text = f"CASE WHEN `value` IS NULL THEN {absent} ELSE {value.expression} END"
        step = _explode(step, f"{node.table.path.name}_value", (text, _VALUE), [*record, "value"], ctx, value.note)
    elif (ctx.row_kinds or node.normalised) and value.changelog == "delta":
        step = _with_updates(step, node, value, record, ctx)
    else:
        step = _explode(step, f"{node.table.path.name}_value", (value.expression, _VALUE), record, ctx, value.note)
    return _columns(node, shape, value, step, ctx, sequence)


def _decoders(node: Scan, shape: Projection, ctx: Lowering) -> tuple[DecodeSpec | None, DecodeSpec]:
    options: ResolvedOptions = node.options
    table, where = node.table.path.name, node.table.span
    key = None
    if shape.key and options.key_format is not None:
        fields = [(p.name, p.type) for p in shape.key]
        key = decoder(
            options.key_format, fields, owner=f"key of table '{table}'", message=Message("`key`"), where=where
        )
    keys = (c.metadata_key or "" for c in node.table.columns if c.kind == "metadata")
    metadata = tuple(dict.fromkeys(k.removeprefix("value.") for k in keys if k.startswith("value.")))
    fields = [(p.name, p.type) for p in shape.value]
    assert options.value_format is not None  # a required option
    owner = f"value of table '{table}'"
    return key, decoder(
        options.value_format,
        fields,
        owner=owner,
        wanted=Wanted(metadata, ctx.parts(node, shape.value)),
        message=Message("`value`"),
        where=where,
    )


def _row_type(value: DecodeSpec) -> str:
    return f"STRUCT<{','.join(f'{quote(name)}:{spark_type(t)}' for name, t in value.fields)}>"


def _explode(step: str, prefix: str, rows: tuple[str, str], kept: list[str], ctx: Lowering, note: str = "") -> str:
    """Add the generator that makes 0..n rows of a message; ``rows``: what they are, and the struct column of a row."""
    select = J.Select(
        name=ctx.fresh(prefix),
        input=step,
        columns=tuple((c, quote(c)) for c in kept),
        generator=(f"explode({rows[0]})", rows[1:]),
        note=note,
    )
    return ctx.add(select).name


def _with_updates(step: str, node: Scan, value: DecodeSpec, kept: list[str], ctx: Lowering) -> str:
    """Explode a CDC message and say of each row whether it is half of an update: rows of both signs came with it."""
    name = node.table.path.name
    rows = J.Select(
        name=ctx.fresh(f"{name}_message"),
        input=step,
        columns=(*((c, quote(c)) for c in kept), (_ROWS, value.expression)),
        note=value.note,
    )
    both = " AND ".join(f"exists({_ROWS}, r -> r.{WEIGHT} {sign} 0)" for sign in "<>")
    select = J.Select(
        name=ctx.fresh(f"{name}_value"),
        input=ctx.add(rows).name,
        columns=(*((c, quote(c)) for c in kept), (_UPDATE, both)),
        generator=(f"explode({_ROWS})", (_VALUE,)),
    )
    return ctx.add(select).name


def _read(node: Scan, ctx: Lowering) -> J.Read:
    options: ResolvedOptions = node.options
    spark = POLLS | ({} if realtime.runs(ctx) else AHEAD) | client_options(options, ctx.config)
    spark["failOnDataLoss"] = "true" if _fails_on_loss(options, ctx) else "false"
    topics = options["topic"]
    if topics:
        spark["subscribe"] = ",".join(topics)
    else:  # Spark takes a topic in which the pattern is found anywhere, Flink one that matches as a whole
        spark["subscribePattern"] = f"^(?:{options['topic-pattern']})$"
    wanted = _metadata_keys(node)
    if wanted & {"headers", "header-list", "leader-epoch"}:
        spark["includeHeaders"] = "true"
    if "leader-epoch" in wanted:
        spark[J.LEADER_EPOCH] = "true"
    if (limit := ctx.config.flinkddl_execution_max_offsets_per_trigger) and ctx.streaming:
        spark["maxOffsetsPerTrigger"] = str(limit)
    return J.Read(
        name=ctx.fresh(node.table.path.name),
        format=J.KAFKA,
        options=spark,
        streaming=ctx.streaming,
        table=str(node.table.path),
        discovery_ms=options["scan.topic-partition-discovery.interval"] or 0,
        start=positions(options, "startup"),
        stop=positions(options, "bounded"),
        note=f"{options.connector} table {node.table.path.name}{_discovery(options, ctx)}",
    )


def _fails_on_loss(options: ResolvedOptions, ctx: Lowering) -> bool:
    """Whether records that were deleted unread fail the job: as said, else as Flink's ``auto.offset.reset`` has it.

    Flink goes on where that is earliest, which it is but for the modes whose OffsetsInitializer says NONE:
    group-offsets without a reset, and timestamp. A batch has no report that could tell of it, and is run again.
    """
    said = ctx.config.flinkddl_on_data_loss
    if not ctx.streaming:
        return said != "report"
    start = positions(options, "startup")
    none = start["mode"] == "timestamp" or (start["mode"] == "group-offsets" and start.get("reset", "none") == "none")
    return said == "fail" or (none and said != "report")


def _discovery(options: ResolvedOptions, ctx: Lowering) -> str:
    """Return what EXPLAIN says of a written discovery interval, where it is not kept by looking with each batch."""
    key = "scan.topic-partition-discovery.interval"
    if key not in options.texts or not ctx.streaming or ctx.bounded:
        return ""
    if not options[key]:
        return "; partitions as they are when a run starts"
    batch = realtime.batch_ms(ctx.config) if realtime.wanted(ctx.config) else 0
    late = batch > options[key]
    return f"; new partitions with the next real-time batch, once in {batch} ms, not in {options[key]}" if late else ""


def positions(options: ResolvedOptions, which: str) -> dict[str, str]:
    """Return a start ("startup") or stop ("bounded") position as the runtime takes it: mode and what belongs to it."""
    default = "unbounded" if which == "bounded" else "group-offsets"
    if options.connector == "upsert-kafka" and which == "startup":
        default = "earliest-offset"
    out = {"mode": str(options[f"scan.{which}.mode"] or default)}
    if out["mode"] == "timestamp":
        out["timestamp"] = str(options[f"scan.{which}.timestamp-millis"])
    if out["mode"] == "specific-offsets":
        out["offsets"] = str(options[f"scan.{which}.specific-offsets"])
    if group := written_property(options, "group.id"):
        out["group"] = group
        if (
            which == "startup"
            and (written_property(options, "commit.offsets.on.checkpoint") or "true").lower() == "true"
        ):
            out["commit-group"] = group
    if reset := written_property(options, "auto.offset.reset"):
        out["reset"] = reset
    return out


def _present(node: Scan, key: PayloadField, text: str, ctx: Lowering) -> str:
    """Return a key column that fails the job where a row, not a tombstone, has none: it is NOT NULL."""
    if ctx.config.table_exec_sink_not_null_enforcer == "DROP":
        return text
    message = string(f"column '{key.column}' of table '{node.table.path.name}' is NOT NULL, but a record has none")
    failure = f"CAST(raise_error({message}) AS {spark_type(key.type)})"
    return f"CASE WHEN {text} IS NULL AND `value` IS NOT NULL THEN {failure} ELSE {text} END"


def _metadata_keys(node: Scan) -> frozenset[str]:
    return frozenset(c.metadata_key or c.name for c in node.table.columns if c.kind == "metadata")


def _of_record(node: Scan) -> Mapping[str, str]:
    if "leader-epoch" not in _metadata_keys(node):
        return METADATA
    return {k: text.replace("`headers`", _OTHERS) if k.startswith("header") else text for k, text in METADATA.items()}


def _key_columns(node: Scan, shape: Projection) -> tuple[str, ...]:
    """Return the columns by which an upsert table's rows replace each other, none for other tables."""
    if node.options.connector == "upsert-kafka":
        return tuple(p.column for p in shape.key)
    return node.table.primary_key.columns if node.normalised and node.table.primary_key else ()


def _columns(node: Scan, shape: Projection, value: DecodeSpec, step: str, ctx: Lowering, sequence: bool) -> Rel:
    """Put physical and raw metadata columns in declared order; a column in key and value is the value's (4.2)."""
    upsert = node.options.connector == "upsert-kafka"
    keys, name = _key_columns(node, shape), node.table.path.name
    places = _places(node, shape, ctx)
    record = _of_record(node)
    meta = {key: f"{_VALUE}.{quote(key)}" for key, _ in value.fields}
    kept = [(c, f) for c, f in zip(node.table.columns, node.fields, strict=True) if c.kind != "computed"]
    names = unique_names(c.name for c, _ in kept)
    columns = [
        (n, places[c.name] if c.kind == "physical" else record.get(k := c.metadata_key or c.name) or meta[k])
        for n, (c, _) in zip(names, kept, strict=True)
    ]
    delta = value.changelog == "delta" and not node.normalised
    kinds = delta and ctx.row_kinds
    columns += _reserved(node, upsert, delta)
    tells = ctx.timing is not None and ctx.timing.of(node) is not None
    columns += [(SEQUENCE, _SEQUENCE)] * sequence + [(KIND, _KINDS)] * kinds + [(SENDER, _SENDER)] * tells
    if node.normalised:
        step = ctx.add(J.Where(name=ctx.fresh(f"{name}_after"), input=step, condition=_AFTER)).name
    select: J.Step = J.Select(name=ctx.fresh(f"{name}_columns"), input=step, columns=tuple(columns))
    if upsert and ctx.config.table_exec_sink_not_null_enforcer == "DROP":
        complete = " AND ".join(f"{quote(p.column)} IS NOT NULL" for p in shape.key)
        condition = f"{quote(DELETED)} OR ({complete})"
        select = J.Where(name=ctx.fresh(f"{name}_keyed"), input=ctx.add(select).name, condition=condition)
    index = {c.name: i for i, (c, _) in enumerate(kept)}
    fields = tuple(f for _, f in kept)
    kind: Kind = "upsert" if keys else "delta" if delta else "append"
    key = tuple(index[c] for c in keys)
    return Rel(ctx.add(select).name, names, fields, kind, key=key, sequence=sequence, kinds=kinds, sender=tells)


def _places(node: Scan, shape: Projection, ctx: Lowering) -> dict[str, str]:
    """Return where each physical column is found."""
    places = {p.column: f"{_KEY}.{quote(p.name)}" for p in shape.key}
    of_value = {p.column: f"{_VALUE}.{quote(p.name)}" for p in shape.value}
    if node.options.connector != "upsert-kafka":
        return places | of_value
    # a tombstone has its key only
    of_value |= {c: f"IF(`value` IS NULL, {key}, {of_value[c]})" for c, key in places.items() if c in of_value}
    places |= of_value
    return places | {p.column: _present(node, p, places[p.column], ctx) for p in shape.key}


def _reserved(node: Scan, upsert: bool, delta: bool) -> list[J.Named]:
    """Return the columns that say what a record does to the rows before it."""
    if node.normalised:
        return [(VERSION, "`offset`"), (DELETED, f"{_VALUE}.{quote(WEIGHT)} < 0")]
    if upsert:
        return [(VERSION, "`offset`"), (DELETED, "`value` IS NULL")]
    return [(WEIGHT, f"{_VALUE}.{quote(WEIGHT)}")] * delta
