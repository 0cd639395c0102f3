"""What lies in an operator's state, through Spark's public data source ``statestore``: counted, or entry by entry."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.session.errors import full_text, reason
from flinkddl.runtime.storage.heads import NO_NODE, NODE, TIMED, Paged, head_of, key_of, node_of
from flinkddl.runtime.storage.moved import at_home
from flinkddl.runtime.storage.results import TELLING, paged, told, types_of, with_pages
from flinkddl.runtime.storage.unsafe_rows import fields_of, row_of
from flinkddl.spark.realtime import STATE_FORMAT
from flinkddl.spark.stateful import JOIN, KEYED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.runtime.storage.states import Operator

HEAD = "head"
_SIDES = ("left", "right")
_OF_CALLS = ("aggregate", "window", "session", "sessionlist")
_MOST = 1000  # rows of a join's group, of which the result is told
_NUMBER = f"CAST(conv(hex(substring({{}}, {NODE.start + 1}, 2)), 16, 10) AS INT)"
Groups = dict[bytes, bytes]
"""Heads of groups by their keys."""


@dataclass(frozen=True)
class Counts:
    """The entries of an operator by part: head and maps of state by key, sides of a join, else the one store.

    ``nodes``: of state by key the groups of each node by its number, and the bytes of their keys and values, pages too;
    ``layouts``: in which versions of the layout these groups are.
    """

    parts: Mapping[str, int] = field(default_factory=dict)
    nodes: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    layouts: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


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
        found = _counts({part: _by_node(_frame(spark, operator, part)) for part in parts(operator)})
        layouts = _layouts(_frame(spark, operator, HEAD)) if found.nodes else {}
        return replace(found, layouts={n: layouts[n] for n in found.nodes})
    return Counts({part: _frame(spark, operator, part).count() for part in parts(operator)})


def _by_node(frame: DataFrame) -> dict[int, tuple[int, int]]:
    """Return the number of entries by node, and their bytes: each column is a struct of one field, of bytes."""
    from pyspark.sql.functions import expr

    bytes_of = _bytes_of(frame)
    size = " + ".join(f"length({b})" for b in bytes_of.values())
    rows = frame.groupBy(expr(_NUMBER.format(bytes_of["key"]))).agg(expr("count(1)"), expr(f"sum({size})")).collect()
    return {int(n): (int(entries), int(size)) for n, entries, size in rows}


def _bytes_of(frame: DataFrame) -> dict[str, str]:
    """Return where the bytes of each column are: it is a struct of one field."""
    columns = [c for c in frame.columns if c != "partition_id"]
    return {c: f"`{c}`.`{frame.select(f'`{c}`.*').columns[0]}`" for c in columns}


def _layouts(heads: DataFrame) -> dict[int, tuple[int, ...]]:
    """Return the versions of the layout that groups are in, by node."""
    bytes_of = _bytes_of(heads)
    layout = f"CAST(conv(hex(substring({bytes_of['value']}, 1, 1)), 16, 10) AS INT) & {~TIMED & 0xFF} AS layout"
    found: dict[int, tuple[int, ...]] = {}
    for number, version in sorted(heads.selectExpr(_NUMBER.format(bytes_of["key"]), layout).distinct().collect()):
        found[number] = (*found.get(number, ()), version)
    return found


def _counts(found: Mapping[str, Mapping[int, tuple[int, int]]]) -> Counts:
    nodes = {n: groups for n, (groups, _) in found.get(HEAD, {}).items() if n < NO_NODE}
    sizes = {n: sum(part[n][1] for part in found.values() if n in part) for n in nodes}
    counts = {part: sum(entries for entries, _ in by_node.values()) for part, by_node in found.items()}
    return Counts(counts, {n: (groups, sizes[n]) for n, groups in sorted(nodes.items())})


def first_entries(
    spark: SparkSession, operator: Operator, limit: int, nodes: Collection[int] = ()
) -> list[dict[str, Any]]:
    """Return so many entries, decoded as far as their types are known: of state by key the groups with their heads.

    Each has ``key`` and ``value``, and ``part`` where an operator has several; of state by key the ``result`` of the
    group, where its kind tells that, and in a stage the ``node`` whose it is. ``nodes``: the numbers of those that are
    asked for, all where none is. Raises FD874 where Spark cannot read.
    """
    try:
        with _read(spark, operator) as here:
            return _groups(spark, here, limit, nodes) if operator.spark == KEYED else _plain_entries(spark, here, limit)
    except Exception as error:
        raise _unread(operator, error) from error


def _plain_entries(spark: SparkSession, operator: Operator, limit: int) -> list[dict[str, Any]]:
    """Return entries of one of Spark's own operators."""
    found: list[dict[str, Any]] = []
    several = len(parts(operator)) > 1
    for part in parts(operator):
        rows = _frame(spark, operator, part).limit(limit - len(found)).collect() if len(found) < limit else []
        for row in (row.asDict(recursive=True) for row in rows):
            entry = {"key": _named(_plain(row["key"]), operator.note), "value": _plain(row["value"])}
            found.append(({"part": part} if several else {}) | entry)
    return found


# ---- state by key ----------------------------------------------------------------------------------------------------


def _groups(spark: SparkSession, operator: Operator, limit: int, nodes: Collection[int]) -> list[dict[str, Any]]:
    heads = _columns(_frame(spark, operator, HEAD), k="key", head="value")
    number = _NUMBER.format("k")
    asked = f"{number} IN ({', '.join(map(str, nodes))})" if nodes else f"{number} < {NO_NODE}"
    groups = {bytes(row[0]): bytes(row[1]) for row in heads.where(asked).limit(limit).collect()}
    notes = {int(n["node"]): n for n in operator.nodes if n.get("node")}
    by_node: dict[int, Groups] = {}
    for group, head in groups.items():
        by_node.setdefault(node_of(group), {})[group] = head
    found: dict[bytes, dict[str, Any]] = {}
    for n, mine in by_node.items():
        found |= _entries(spark, operator, notes[n], mine) if n in notes else _unknown(n, mine)
    return [found[group] for group in groups]


def _unknown(number: int, groups: Groups) -> dict[bytes, dict[str, Any]]:
    """Return entries of a node of which nothing is written down: it is gone, or an older version wrote the notes."""
    return {
        group: {"node": number, "key": {"bytes": group.hex()}, "value": {"bytes": head.hex()}}
        for group, head in groups.items()
    }


def _entries(
    spark: SparkSession, operator: Operator, note: Mapping[str, Any], groups: Groups
) -> dict[bytes, dict[str, Any]]:
    """Return the entries of groups of one node."""
    whose = {"node": note["node"], "identity": note.get("identity")} if len(operator.nodes) > 1 else {}
    fields = [(name, type) for name, type in note["keys"]]
    values = _values(spark, operator, note, groups)
    results = _results(spark, operator, note, {g: h for g, h in groups.items() if _told(note, values[g])})
    return {
        group: whose | {"key": _named(key_of(group, fields), note), "value": values[group]} | results.get(group, {})
        for group in groups
    }


def _values(
    spark: SparkSession, operator: Operator, note: Mapping[str, Any], groups: Groups
) -> dict[bytes, dict[str, Any]]:
    """Return what heads hold, with the pages that their first entries lie in: a tree leads to one after the other."""
    beside = {group: Paged() for group in groups}
    while True:
        values = {g: head_of(h, note["kind"], note["arguments"], beside[g]) for g, h in groups.items()}
        wanted = [(group, name) for group, known in beside.items() for name in known.wanted]
        if not wanted:
            return values
        asked = spark.createDataFrame(wanted, "k BINARY, n BINARY")
        pages = _columns(_frame(spark, operator, "map0"), k="key", n="user_map_key", v="user_map_value")
        found = pages.join(asked.hint("broadcast"), ["k", "n"]).select("k", "n", "v").collect()
        for group, name, page in found:
            beside[bytes(group)].pages[bytes(name)] = bytes(page)
        if not found:
            return values
        for known in beside.values():
            known.wanted.clear()


def _told(note: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Whether the result of a group can be told: not of a function of the user, nor of too many pairs of rows."""
    kind = note["kind"]
    if kind not in TELLING or "bytes" in value or "constants" not in note:
        return False
    if kind in _OF_CALLS:
        return not any(name.startswith("java_") for name, _ in fields_of(note["arguments"][2]))
    sides = [value[side] for side in _SIDES] if kind in ("inner", "semi") else []
    many = [max(1, side["rows"]) for side in sides] or [1, 1]
    return many[0] * many[1] <= _MOST and not any("pages" in side for side in sides)


def _results(spark: SparkSession, operator: Operator, note: Mapping[str, Any], groups: Groups) -> dict[bytes, Any]:
    """Return the ``result`` of each group that has one, as the jar tells it."""
    if not groups:
        return {}
    state, pages = spark.createDataFrame([*groups.items()], "k BINARY, head BINARY"), None
    if paged(note["kind"], note["arguments"]):
        pages = _columns(_frame(spark, operator, "map0"), k="key", n="user_map_key", v="user_map_value")
        pages = pages.join(state.select("k").hint("broadcast"), "k", "left_semi")
    rows = told(with_pages(state, pages), note["kind"], types_of(note, note["constants"])).select("k", "h.r")
    fields = [("r", json.loads(rows.schema["r"].json())["type"])]
    packed = rows.selectExpr("k", "flinkddl.pack(named_struct('r', r)) AS r").collect()  # shown as what lies in heads
    return {bytes(k): {"result": _result(note["kind"], row_of(bytes(r), fields)["r"])} for k, r in packed}


def _result(kind: str, found: Any) -> Any:
    """Return a result by names, without what was before it: it is given as if all had come at once."""
    if kind in ("inner", "semi"):
        return [dict(zip((*_SIDES, "copies"), each.values(), strict=True)) for each in found]
    if kind in ("top", "windowtop"):
        return [({"place": each["k"]} if each["k"] else {}) | {"row": each["n"]} for each in found]
    if kind.startswith("session"):
        return [{"start": each["s"], "end": each["e"], "values": each["r"]["n"]} for each in found]
    return found["n"]


def _columns(frame: DataFrame, **columns: str) -> DataFrame:
    """Return the bytes of columns under other names."""
    bytes_of = _bytes_of(frame)
    return frame.selectExpr(*(f"{bytes_of[column]} AS {name}" for name, column in columns.items()))


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
