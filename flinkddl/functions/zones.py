"""Spark SQL text for wall time (TIMESTAMP_NTZ) and instants (TIMESTAMP); the Spark session's zone is UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.functions.core import string
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from flinkddl.sqltypes import DataType


def is_utc(zone: str) -> bool:
    """Whether the zone is UTC under one of its names."""
    return zone.upper() in {"UTC", "Z", "GMT", "ETC/UTC", "UTC+0", "GMT+0"}


def wall(text: str, t: DataType, zone: str) -> str:
    """Return DATE, TIMESTAMP or TIMESTAMP_LTZ as wall time (TIMESTAMP_NTZ) in the session's zone."""
    match t.root:
        case Root.TIMESTAMP_LTZ if is_utc(zone):
            return f"CAST({text} AS TIMESTAMP_NTZ)"
        case Root.TIMESTAMP_LTZ:
            return f"convert_timezone('UTC', {string(zone)}, CAST({text} AS TIMESTAMP_NTZ))"
        case Root.DATE:
            return f"CAST({text} AS TIMESTAMP_NTZ)"
    return text


def instant(text: str, zone: str) -> str:
    """Return wall time (TIMESTAMP_NTZ) of the session's zone as an instant (TIMESTAMP)."""
    if is_utc(zone):
        return f"CAST({text} AS TIMESTAMP)"
    return f"CAST(convert_timezone({string(zone)}, 'UTC', {text}) AS TIMESTAMP)"


def from_wall(text: str, t: DataType, zone: str) -> str:
    """Return wall time as a value of type ``t``: the inverse of ``wall``."""
    match t.root:
        case Root.TIMESTAMP_LTZ:
            return instant(text, zone)
        case Root.DATE:
            return f"CAST({text} AS DATE)"
    return text


def from_micros(text: str) -> str:
    """Return microseconds since 1970 as wall time (TIMESTAMP_NTZ)."""
    return f"CAST(timestamp_micros({text}) AS TIMESTAMP_NTZ)"


def micros(text: str) -> str:
    """Return wall time (TIMESTAMP_NTZ) as microseconds since 1970."""
    return f"unix_micros(CAST({text} AS TIMESTAMP))"


def milliseconds(text: str) -> str:
    """Return a whole number of milliseconds as an interval (DAY TO SECOND)."""
    return f"(INTERVAL '0.001' SECOND * CAST({text} AS BIGINT))"


def cut(text: str, t: DataType, digits: int | None) -> str:
    """Cut a TIMESTAMP or TIMESTAMP_LTZ text to so many fraction digits (six is all that Spark has)."""
    if digits is None or digits >= 6:
        return text
    if t.root is Root.TIMESTAMP_LTZ:
        return f"timestamp_micros(flinkddl.floor_to(unix_micros({text}), {10 ** (6 - digits)}L))"
    return from_micros(f"flinkddl.floor_to({micros(text)}, {10 ** (6 - digits)}L)")
