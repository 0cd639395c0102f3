"""What lies in an operator's state, through Spark's public data source ``statestore``: counted, or entry by entry."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.session.errors import full_text, reason
from flinkddl.runtime.storage.heads import NO_NODE, NODE, head_of, key_of, node_of
from flinkddl.runtime.storage.moved import at_home
from flinkddl.spark.realtime import STATE_FORMAT
from flinkddl.spark.stateful import JOIN, KEYED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.runtime.storage.states import Operator

HEAD = "head"
_SIDES = ("left", "right")


@dataclass(frozen=True)
class Counts:
    """The entries of an operator by part: head and maps of state by key, sides of a join, else the one store.

    ``nodes``: of state by key the groups of each node by its number, and the bytes of their keys and values, pages too.
    """

    parts: Mapping[str, int] = field(default_factory=dict)
    nodes: Mapping[int, tuple[int, int]] = field(default_factory=dict)


def count_entries(spark: SparkSession, operator: Operator) -> Counts:
    """Count the entries of an operator. Raises FD874 where Spark cannot read the state."""
    try:
        with _read(spark, operator) as found:
            return _counted(spark, found)
    except Exception as error:
        raise _unread(operator, error) from error


@contextmanager
def _read(spark: SparkSession, operator: Operator) -> Iterator[Operator]:
    """Give the operator where Spark finds its state, in the format that it has."""
    with at_home(operator.folder) as place, _format_of(spark, operator):
        yield replace(operator, folder=place)


@contextmanager
def _format_of(spark: SparkSession, operator: Operator) -> Iterator[None]:
    """Read a checkpoint in the format that it has: a chain's is another, and Spark does not look."""
    before = spark.conf.get(STATE_FORMAT, None)
    spark.conf.set(STATE_FORMAT, operator.settings.get(STATE_FORMAT, "1"))
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(STATE_FORMAT)
        else:
            spark.conf.set(STATE_FORMAT, before)


def _counted(spark: SparkSession, operator: Operator) -> Counts:
    if operator.spark == KEYED:
        return _counts({part: _by_node(_frame(spark, operator, part)) for part in parts(operator)})
    return Counts({part: _frame(spark, operator, part).count() for part in parts(operator)})


def _by_node(frame: DataFrame) -> dict[int, tuple[int, int]]:
    """Return the number of entries by node, and their bytes: each column is a struct of one field, of bytes."""
    from pyspark.sql.functions import expr

    columns = [c for c in frame.columns if c != "partition_id"]
    bytes_of = {c: f"`{c}`.`{frame.select(f'`{c}`.*').columns[0]}`" for c in columns}
    node = f"CAST(conv(hex(substring({bytes_of['key']}, {NODE.start + 1}, 2)), 16, 10) AS INT)"
    size = " + ".join(f"length({b})" for b in bytes_of.values())
    rows = frame.groupBy(expr(node)).agg(expr("count(1)"), expr(f"sum({size})")).collect()
    return {int(n): (int(entries), int(size)) for n, entries, size in rows}


def _counts(found: Mapping[str, Mapping[int, tuple[int, int]]]) -> Counts:
    nodes = {n: groups for n, (groups, _) in found.get(HEAD, {}).items() if n < NO_NODE}
    sizes = {n: sum(part[n][1] for part in found.values() if n in part) for n in nodes}
    counts = {part: sum(entries for entries, _ in by_node.values()) for part, by_node in found.items()}
    return Counts(counts, {n: (groups, sizes[n]) for n, groups in sorted(nodes.items())})


def first_entries(spark: SparkSession, operator: Operator, limit: int) -> list[dict[str, Any]]:
    """Return so many entries, decoded as far as their types are known: of state by key the groups with their heads.

    Each has ``key`` and ``value``, and ``part`` where an operator has several. Raises FD874 where Spark cannot read.
    """
    found: list[dict[str, Any]] = []
    several = len(parts(operator)) > 1 and operator.spark != KEYED
    try:
        with _read(spark, operator) as here:
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
    return spark.read.format("statestore").options(**options).load(operator.folder)


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
