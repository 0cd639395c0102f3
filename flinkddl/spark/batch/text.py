"""Spark SQL text that batch lowerings need: expressions, aggregates, sort keys, times as milliseconds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.functions.catalogue import AGGREGATES
from flinkddl.functions.core import Lowered
from flinkddl.plan.nodes import Expand, Filter, Project, forms
from flinkddl.plan.rex import Literal
from flinkddl.spark.expressions import to_spark
from flinkddl.spark.java_functions import java_call
from flinkddl.spark.rowtime import millis, untimed
from flinkddl.sqltypes import INT, Root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.functions.java.spec import JavaCall
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.rex import AggCall, SortKey
    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.sqltypes import DataType


def needs_order(call: AggCall) -> bool:
    """Whether an aggregate needs ``__seq``."""
    return forms.needs_order(call) and call.function not in ("SINGLE_VALUE", "JAVA")


def constants(node: Node) -> dict[int, Literal]:
    """Return the fields of a node that are constants: separators, offsets and defaults must stand as such in calls."""
    match node:
        case Project():
            return {i: e for i, e in enumerate(node.exprs) if isinstance(e, Literal)}
        case Expand() | Filter():
            return constants(node.input)
        case _:
            return {}


def argument(index: int, rel: Rel, known: Mapping[int, Literal], ctx: Lowering) -> str:
    """Return an argument: its column, or the constant it is."""
    return to_spark(known[index], (), ctx.zone) if index in known else plain(rel, index)


def aggregate(
    call: AggCall, rel: Rel, ctx: Lowering, order: str | None, known: Mapping[int, Literal], window: str = ""
) -> str:
    """Return an aggregate over a relation, with its FILTER, and with an OVER clause where ``window`` is one.

    ``known`` are the input's constant fields; ``order`` is the text by which order-dependent aggregates sort.
    """
    if call.function == "JAVA":
        return _java(call, [plain(rel, i) for i in call.args], rel, window)
    types = tuple(rel.fields[i].type.as_attribute(None) for i in call.args)
    args = [argument(i, rel, known, ctx) for i in call.args]
    if not args:  # COUNT(*)
        args, types = ["1"], (INT.not_null(),)
    options = {
        **dict(call.options),
        "distinct": call.distinct and not window,
        "ignore_nulls": call.ignore_nulls,
        "ordered_by": order,
        "where": None if call.filter is None else rel.sql(call.filter),
        "window": window,
    }
    return AGGREGATES[call.function].to_spark(Lowered(tuple(args), types, call.type, (), options, ctx.zone))


def _java(call: AggCall, args: Sequence[str], rel: Rel, window: str) -> str:
    """Return a user's aggregate function; in a frame, where Spark knows no DISTINCT, it sees to that itself."""
    given: JavaCall = call.option("call")
    if window:
        given = replace(given, over=True, distinct=call.distinct)
    text = java_call(given.to_json, args, distinct=call.distinct and not window)
    where = "" if call.filter is None else f" FILTER (WHERE {rel.sql(call.filter)})"
    return f"{text}{where} {window}".rstrip()


def plain(rel: Rel, index: int) -> str:
    """Return a column as a value: a rowtime TIMESTAMP without zone, whatever carries it."""
    return untimed(rel.sql(index), rel.fields[index].type)


def sort_key(key: SortKey, rel: Rel) -> str:
    """Return one ORDER BY item."""
    direction = "DESC" if key.descending else "ASC"
    return f"{rel.sql(key.index)} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def clock_millis(sql: str, ctx: Lowering) -> str:
    """Return milliseconds of the wall clock in the session zone for an instant."""
    shifted = sql if ctx.zone == "UTC" else f"from_utc_timestamp({sql}, '{ctx.zone}')"
    return f"unix_millis({shifted})"


def column_clock_millis(rel: Rel, index: int, ctx: Lowering) -> str:
    """Return milliseconds of the wall clock for a time column: windows align to it."""
    if rel.fields[index].type.root is Root.TIMESTAMP_LTZ:
        return clock_millis(rel.sql(index), ctx)
    return millis(rel.sql(index))


def from_clock_millis(sql: str, t: DataType, ctx: Lowering) -> str:
    """Return a value of type ``t`` from milliseconds of the wall clock in the session zone."""
    stamp = f"timestamp_millis({sql})"
    if t.root is Root.TIMESTAMP_LTZ:
        return stamp if ctx.zone == "UTC" else f"to_utc_timestamp({stamp}, '{ctx.zone}')"
    return stamp if t.time_attribute == "ROWTIME" else f"CAST({stamp} AS TIMESTAMP_NTZ)"
