"""What lies in an operator's state, through Spark's public data source ``statestore``: counted, or entry by entry."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.session.errors import full_text, reason
from flinkddl.runtime.storage.heads import head_of, key_of, node_of
from flinkddl.runtime.storage.moved import at_home
from flinkddl.spark.realtime import SETTINGS
from flinkddl.spark.stateful import JOIN, KEYED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.runtime.storage.states import Operator

HEAD = "head"
_SIDES = ("left", "right")


def count_entries(spark: SparkSession, operator: Operator) -> dict[str, int]:
    """Return the number of entries by part: head and maps of state by key, sides of a join, else the one store.

    Raises FD874 where Spark cannot read the state.
    """
    try:
        with at_home(operator.folder) as place:
            found = replace(operator, folder=place)
            return {part: _frame(spark, found, part).count() for part in parts(operator)}
    except Exception as error:
        raise _unread(operator, error) from error


def first_entries(spark: SparkSession, operator: Operator, limit: int) -> list[dict[str, Any]]:
    """Return so many entries, decoded as far as their types are known: of state by key the groups with their heads.

    Each has ``key`` and ``value``, and ``part`` where an operator has several. Raises FD874 where Spark cannot read.
    """
    found: list[dict[str, Any]] = []
    several = len(parts(operator)) > 1 and operator.spark != KEYED
    try:
        with at_home(operator.folder) as place:
            here = replace(operator, folder=place)
            for part in [HEAD] if operator.spark == KEYED else parts(operator):
                rows = _frame(spark, here, part).limit(limit - len(found)).collect() if len(found) < limit else []
                found += [
                    ({"part": part} if several else {}) | _entry(operator, row.asDict(recursive=True)) for row in rows
                ]
    except Exception as error:
        raise _unread(operator, error) from error
    return found


def parts(operator: Operator) -> Sequence[str]:
    """Return the names of what an operator keeps apart."""
    if operator.spark == KEYED:
        return operator.variables
    return _SIDES if operator.spark == JOIN else ("default",)


def _frame(spark: SparkSession, operator: Operator, part: str) -> DataFrame:
    options: dict[str, Any] = {"operatorId": operator.number, "batchId": operator.batch}
    if operator.spark == KEYED:
        options["stateVarName"] = part
    elif operator.spark == JOIN:
        options["joinSide"] = part
    session = spark.newSession()
    for name, value in _form(operator).items():
        session.conf.set(name, value)
    return session.read.format("statestore").options(**options).load(operator.folder)


def _form(operator: Operator) -> dict[str, str]:
    """Return what must be set for Spark to find a version of the state: real-time mode names each by an id of its own.

    The ids stand in the note of the batch; Spark does not look there by itself.
    """
    note = Path(operator.folder, "commits", str(operator.batch))
    return SETTINGS if note.exists() and '"stateUniqueIds":{"' in note.read_text(encoding="utf-8") else {}


def _entry(operator: Operator, row: Mapping[str, Any]) -> dict[str, Any]:
    key, value = row["key"], row["value"]
    if operator.spark != KEYED:
        return {"key": _named(_plain(key), operator.note), "value": _plain(value)}
    group, head = (bytes(next(iter(column.values()))) for column in (key, value))
    note = next((n for n in operator.nodes if n.get("node") == node_of(group)), None)
    if note is None:
        return {"key": {"node": node_of(group), "bytes": group.hex()}, "value": {"bytes": head.hex()}}
    fields = [(name, type) for name, type in note["keys"]]
    return {"key": _named(key_of(group, fields), note), "value": head_of(head, note["kind"], note["arguments"])}


def _named(key: dict[str, Any], note: Mapping[str, Any]) -> dict[str, Any]:
    """Return a key under the names of its columns in the query; as it is where an older version wrote the notes."""
    names = dict(zip((name for name, _ in note.get("keys", ())), note.get("names", ()), strict=False))
    return {names.get(name, name): value for name, value in key.items()}


def _plain(value: Any) -> Any:
    """Return a value of PySpark as JSON has it: bytes as hexadecimal text, times as ISO text."""
    match value:
        case dict():
            return {str(k): _plain(v) for k, v in value.items()}
        case list() | tuple():
            return [_plain(v) for v in value]
        case bytes() | bytearray():
            return value.hex()
        case datetime() | date() | time() | timedelta() | Decimal():
            return str(value)
    return value


def _unread(operator: Operator, error: Exception) -> FlinkDdlError:
    message = f"Spark cannot read the state of '{operator.name}' at batch {operator.batch}: {reason(full_text(error))}"
    help = "a job that runs may have taken that batch away meanwhile: try again; `--no-rows` lists without Spark"
    return FlinkDdlError.of("FD874", message, help=help)
