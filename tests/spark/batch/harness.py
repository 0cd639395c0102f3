"""Hand-built plan nodes over small tables, lowered and run on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from flinkddl import sqltypes as T
from flinkddl.catalog.model import ObjectPath, OptionText, Table
from flinkddl.catalog.settings import Settings
from flinkddl.plan import nodes as N
from flinkddl.plan.nodes.forms import Traits
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, Rex
from flinkddl.spark.batch import lower
from flinkddl.spark.batch.base import HANDLERS
from flinkddl.spark.batch.lateness import add_watermark
from flinkddl.spark.batch.rows import lower_values
from flinkddl.spark.context import Lowering, Rel

TS = T.TIMESTAMP(3)
ROWTIME = TS.as_attribute("ROWTIME")
PROCTIME = T.PROCTIME
TYPES = {"int": T.INT, "str": T.STRING, "ts": TS, "rt": ROWTIME, "pt": PROCTIME, "big": T.BIGINT}


@dataclass(frozen=True, kw_only=True)
class Given(N.Scan):
    """Rows in order of arrival; with ``delay`` the table has a watermark on ``rt`` and says on-event."""

    rows: tuple[tuple[Any, ...], ...]


def given(columns: str, *rows: tuple[Any, ...], delay: int | None = None) -> Given:
    """``given("k:str v:int", ("a", 1), ...)``; times are written ``"10:00:05"``."""
    pairs = [c.split(":") for c in columns.split()]
    fields = tuple(N.Field(name, TYPES[t]) for name, t in pairs)
    options = {"scan.watermark.emit.strategy": OptionText("on-event")} if delay is not None else {}
    watermark = None
    if delay is not None:
        at = [t for _, t in pairs].index("rt")
        back = Literal(T.INTERVAL_DT("SECOND"), delay)
        time = InputRef(ROWTIME, at)
        watermark = N.WatermarkSpec(index=at, expression=Call(TS, "-", (time, back)), delay_ms=delay)
    return Given(
        fields=fields,
        table=Table(ObjectPath("c", "d", "t"), (), options),
        options=SimpleNamespace(connector="kafka", value_format=None),
        watermark=watermark,
        rows=tuple(tuple(_value(v, f.type) for v, f in zip(r, fields, strict=True)) for r in rows),
    )


def _value(v: Any, t: T.DataType) -> Any:
    if t.root is T.Root.TIMESTAMP and isinstance(v, str):
        return datetime.fromisoformat(f"2024-03-01T{v}")
    return v


def _lower_given(node: Given, ctx: Lowering, asked: Traits) -> Rel:
    rows = tuple(
        tuple(
            v if isinstance(v, Rex) else Literal(f.type.as_attribute(None), v)
            for v, f in zip(r, node.fields, strict=True)
        )
        for r in node.rows
    )
    values = N.Values(rows=rows, fields=node.fields)
    rel = lower_values(values, ctx, Traits(sequence=asked.sequence or asked.watermark))
    return add_watermark(node, rel, ctx) if asked.watermark else rel


HANDLERS[Given] = _lower_given


def ref(node: N.Node, name: str) -> InputRef:
    index = [f.name for f in node.fields].index(name)
    return InputRef(node.fields[index].type, index)


def at(node: N.Node, *names: str) -> tuple[int, ...]:
    return tuple([f.name for f in node.fields].index(n) for n in names)


def out(node: N.Node, *extra: tuple[str, T.DataType]) -> tuple[N.Field, ...]:
    return (*node.fields, *(N.Field(n, t) for n, t in extra))


def agg(function: str, *args: int, type: T.DataType = T.BIGINT, **more: Any) -> AggCall:
    return AggCall(function, args, type, **more)


def equal(a: Rex, b: Rex) -> Call:
    return Call(T.BOOLEAN, "=", (a, b))


def run(spark: Any, node: N.Node, zone: str = "UTC", **config: str) -> list[tuple[Any, ...]]:
    """Lower, run, and return the rows sorted by text; times as text."""
    ctx = Lowering(streaming=False, zone=zone, config=Settings.of(config))
    rel = lower(node, ctx)
    assert rel.fields == node.fields
    result = frames(spark, ctx)[rel.step].select([f"`{c}`" for c in rel.columns])
    return sorted((tuple(_text(v) for v in row) for row in result.collect()), key=repr)


def frames(spark: Any, ctx: Lowering) -> dict[str, Any]:
    """Return the DataFrame of every step."""
    from flinkddl.runtime.job.steps import perform
    from flinkddl.spark.calls import calls_of

    made: dict[str, Any] = {}
    for step in ctx.steps:
        made[step.name] = perform(calls_of(step), spark, made)
    return made


def _text(v: Any) -> Any:
    if isinstance(v, datetime):
        return v.isoformat().removeprefix("2024-03-01T")
    return v
