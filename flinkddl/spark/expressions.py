"""Rex to Spark SQL text.

Every text that comes out is closed: it can stand as an operand without parentheses around it. Column names are
quoted; strings have their backslashes and quotes escaped. A rowtime column is Spark TIMESTAMP: inside an expression it
is cast to TIMESTAMP_NTZ, bare it passes through untouched.
"""

from __future__ import annotations

import math
import re
import struct
from datetime import date
from decimal import Context, Decimal
from itertools import groupby
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions import chains
from flinkddl.functions.cast_sql import cast_sql
from flinkddl.functions.catalogue import lookup
from flinkddl.functions.core import NO_VALUE, Lowered, string
from flinkddl.plan.nodes import Node, WatermarkSpec
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, Rex, transform, walk
from flinkddl.spark.java_functions import java_call
from flinkddl.spark.rowtime import untimed
from flinkddl.sqltypes import DataType, Root, quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flinkddl.diagnostics import Span

DEEPEST = 160
"""Calls within calls: with the 1 MB of stack that a thread of the JVM has, Spark's parser ends between 240 and 300."""
LARGEST = 4_000_000
_SPLIT = "write what is inside into a table of its own, and read that"
_BRACKETS = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|[()]", re.DOTALL)


class Place(str):
    """Spark SQL of a value that stands in the place of a column's name."""

    __slots__ = ()


def _column(name: str) -> str:
    return str(name) if isinstance(name, Place) else quote(name)


def to_spark(rex: Rex, columns: Sequence[str], zone: str = "UTC") -> str:
    """Return Spark SQL for an expression over ``columns``; ``zone`` is ``table.local-time-zone``."""
    if isinstance(rex, InputRef):
        return _column(columns[rex.index])
    return _checked(_inner(_folded(rex), columns, zone), rex)


def _folded(rex: Rex) -> Rex:
    """Fold ``CAST('..' AS FLOAT)`` as Flink's planner does: seven digits, and no -0.0.

    It holds for a whole constant only: inside a larger one Flink computes with all digits, as it does over columns.
    """

    def fold(r: Rex) -> Rex | None:
        if not isinstance(r, Call) or not r.args:
            return r
        text = r.args[0].value if isinstance(r.args[0], Literal) else None
        if r.function == "CAST" and r.type.root is Root.FLOAT and isinstance(text, str):
            return _seven_digits(r, text)
        return r if r.constant else None

    return transform(rex, fold)


def _seven_digits(rex: Call, text: str) -> Rex:
    try:
        (single,) = struct.unpack("f", struct.pack("f", float(text)))
    except (ValueError, OverflowError):
        return rex  # no number, or infinite: as it is at run time
    if not math.isfinite(single):
        return rex
    value = float(Context(prec=7).create_decimal(Decimal(single))) or 0.0
    return Literal(rex.type, value)


def condition_to_spark(rex: Rex, columns: Sequence[str], zone: str = "UTC") -> str:
    """Return Spark SQL for a condition (no pass-through of rowtime columns)."""
    return _checked(_inner(rex, columns, zone), rex)


def _checked(text: str, rex: Rex) -> str:
    """Refuse what Spark's parser would end at with a StackOverflowError."""
    if text.count("(") > DEEPEST and (levels := _levels(text)) > DEEPEST:
        message = f"this expression is {levels} levels deep as Spark SQL; Spark takes about {DEEPEST}"
        raise FlinkDdlError.of("FD118", message, _span(rex), _SPLIT)
    return text


def _levels(text: str) -> int:
    most = level = 0
    for token in _BRACKETS.finditer(text):
        level += {"(": 1, ")": -1}.get(token[0], 0)
        most = max(most, level)
    return most


def _span(rex: Rex) -> Span | None:
    return next((r.span for r in walk(rex) if isinstance(r, Call) and r.span is not None), None)


def _inner(rex: Rex, columns: Sequence[str], zone: str) -> str:
    spine: list[Call] = []  # calls, each the first argument of the one before it
    while isinstance(rex, Call) and rex.args:
        spine.append(rex)
        rex = rex.args[0]
    text = _leaf(rex, columns, zone)
    for _, run in groupby(reversed(spine), _chain):
        links = list(run)
        others = [tuple(_inner(a, columns, zone) for a in link.args[1:]) for link in links]
        if len(links) < chains.LONG:
            for link, other in zip(links, others, strict=True):
                text = _call(link, (text, *other), zone)
        else:
            text = _long(text, links, [other for (other,) in others], zone)
        if len(text) > LARGEST:
            message = f"'{links[-1].function}' is {len(text):,} characters as Spark SQL; {LARGEST:,} are the most"
            raise FlinkDdlError.of("FD119", message, _span(links[-1]), _SPLIT)
    return text


def _chain(call: Call) -> tuple[object, ...]:
    """What calls have alike that are links of one chain; those that are links of none differ from each other."""
    kind = chains.kind(call.function, call.type, call.args[1].type) if len(call.args) == 2 else ()
    return kind or (id(call),)


def _long(first: str, links: Sequence[Call], others: Sequence[str], zone: str) -> str:
    def step(a: str, b: str) -> str:
        return _call(links[-1], (a, b), zone)

    rest = [(link.function, other) for link, other in zip(links, others, strict=True)]
    return chains.text(first, rest, links[-1].type, step)


def _leaf(rex: Rex, columns: Sequence[str], zone: str) -> str:
    match rex:
        case InputRef():
            return untimed(_column(columns[rex.index]), rex.type)
        case Literal():
            return literal_to_spark(rex)
        case Call():
            return _call(rex, (), zone)
    raise TypeError(f"no Spark text for {rex!r}")


def _call(rex: Call, args: tuple[str, ...], zone: str) -> str:
    match rex.function:
        case "CAST" | "TRY_CAST":
            return cast_sql(args[0], rex.args[0].type, rex.type, zone, rex.function == "TRY_CAST")
        case "REINTERPRET":
            return args[0]
        case "FIELD":
            return f"{args[0]}.{quote(str(rex.option('name')))}"
        case "JAVA":
            return java_call(rex.option("call").to_json, args)
        case "USER":
            return f"{quote(str(rex.option('name')))}({', '.join(args)})"
    function = lookup(rex.function)
    if function is None:
        raise KeyError(f"no function {rex.function!r} in the catalogue")
    values = tuple(a.value if isinstance(a, Literal) else NO_VALUE for a in rex.args)
    types = tuple(a.type.as_attribute(None) for a in rex.args)
    return function.to_spark(Lowered(args, types, rex.type, values, dict(rex.options), zone))


def user_functions(value: object) -> dict[str, str]:
    """Return the user functions below a plan node, an expression or a collection of them: Spark name to target."""
    calls = _calls(value, "USER")
    return {str(call.option("name")): str(call.option("target")) for call in calls}


def java_jars(value: object) -> dict[str, bool]:
    """Return the jars of the Java functions below a plan node or a collection of them, and whether the user names each.

    What the script alone names must not run.
    """
    found: dict[str, bool] = {}
    for call in _calls(value, "JAVA"):
        found |= {jar: jar not in call.option("script_jars") for jar in call.option("call").jars}
    return found


def _calls(value: object, function: str) -> Iterator[Call | AggCall]:
    left = [value]
    seen: set[int] = set()
    while left:
        match left.pop():
            case tuple() | list() as items:
                left.extend(items)
            case Node() | Rex() | WatermarkSpec() | AggCall() as record if id(record) not in seen:
                seen.add(id(record))
                if isinstance(record, Call | AggCall) and record.function == function:
                    yield record
                left.extend(vars(record).values())


def literal_to_spark(literal: Literal) -> str:
    """Return a constant as Spark SQL whose Spark type is the one that carries the Flink type."""
    t, value = literal.type, literal.value
    if value is None:
        return "NULL" if t.root is Root.NULL else f"CAST(NULL AS {spark_type(t)})"
    match t.root:
        case Root.CHAR | Root.VARCHAR:
            return string(value)
        case Root.BOOLEAN:
            return "true" if value else "false"
        case Root.BIGINT:
            return f"{value}L" if value != -(2**63) else "(-9223372036854775807L - 1L)"
        case Root.TINYINT | Root.SMALLINT:
            return f"CAST({value} AS {spark_type(t)})"
        case Root.INT | Root.TIME:
            return str(value) if value >= 0 else f"({value})"
        case Root.DECIMAL:
            return f"CAST('{value:f}' AS {spark_type(t)})"
        case Root.FLOAT | Root.DOUBLE:
            return _float(float(value), t)
        case Root.BINARY | Root.VARBINARY:
            return f"X'{value.hex()}'"
        case Root.DATE:
            return f"DATE '{value:%4Y-%m-%d}'" if isinstance(value, date) else str(value)
        case Root.TIMESTAMP:
            return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
        case Root.INTERVAL_DAY_TIME:
            return f"make_dt_interval(0, 0, 0, CAST('{value / 1000:.3f}' AS DECIMAL(18,6)))"
        case Root.INTERVAL_YEAR_MONTH:
            return f"make_ym_interval(0, {value})"
    raise TypeError(f"no Spark literal for {t}")


def _float(value: float, t: DataType) -> str:
    text = repr(value) if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    return f"CAST('{text}' AS {spark_type(t)})"
