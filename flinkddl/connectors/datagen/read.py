"""The datagen source as a range or a rate of numbers, and one expression per column (Flink's DataGenTableSource)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors.datagen import facts
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.spark import job as J
from flinkddl.spark.context import SEQUENCE, Lowering, Rel, unique_names
from flinkddl.sqltypes import DataType, Root, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.options import ResolvedOptions
    from flinkddl.plan.nodes import Scan

    Option = Callable[[str], str | None]

_NUMBER = "__n"
_LENGTH = 100  # Flink's default length of random text and bytes
_COLLECTION = 3  # ... and of random arrays and maps

# Flink's default bounds of random numbers are those of the type.
_BOUNDS = {
    Root.TINYINT: (-128, 127),
    Root.SMALLINT: (-32768, 32767),
    Root.INT: (-2147483648, 2147483647),
    Root.BIGINT: (-(2**63), 2**63 - 1),
    Root.FLOAT: (-3.4028234663852886e38, 3.4028234663852886e38),
    Root.DOUBLE: (-1.7976931348623157e308, 1.7976931348623157e308),
}


def rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a datagen table to its physical columns; computed ones are the caller's."""
    step, number = numbered(node, facts.rows(node.table, node.options), ctx)
    physical = node.table.physical
    names = unique_names(c.name for c in physical)
    columns = [
        (name, _column(c.name, c.type, node.options, number)) for name, c in zip(names, physical, strict=True) if c.type
    ]
    columns += [(SEQUENCE, number)] * sequence
    select = J.Select(name=ctx.fresh(f"{step}_columns"), input=step, columns=tuple(columns))
    fields = tuple(f for f, c in zip(node.fields, node.table.columns, strict=True) if c.kind == "physical")
    return Rel(ctx.add(select).name, names, fields, sequence=sequence)


def numbered(node: Scan, total: int | None, ctx: Lowering) -> tuple[str, str]:
    """Return a step with a row for each of a table's, and the text of its number, from 0. Raises FD652 as below."""
    number = f"`{'value' if ctx.streaming else _NUMBER}`"
    step = ctx.add(_numbers(node, total, ctx)).name
    if ctx.streaming and total is not None:
        step = ctx.add(J.Where(name=ctx.fresh(f"{step}_bounded"), input=step, condition=f"{number} < {total}")).name
    return step, number


def _numbers(node: Scan, total: int | None, ctx: Lowering) -> J.Step:
    """Return the numbers of the rows from 0: a range, or a rate. Raises FD652 for a range without end."""
    options: ResolvedOptions = node.options
    name, tasks, note = node.table.path.name, options["scan.parallelism"], options.connector
    if ctx.streaming:
        # a run that takes what is there and ends finds nothing at a rate: its clock has just begun
        ends = ctx.bounded and total is not None
        amount = {"rowsPerBatch": str(total)} if ends else {"rowsPerSecond": str(options["rows-per-second"])}
        return J.Read(
            name=ctx.fresh(name),
            format="rate-micro-batch" if ends else "rate",
            options=amount | ({"numPartitions": str(tasks)} if tasks else {}),
            streaming=True,
            table=str(node.table.path),
            note=note,
        )
    if total is None:
        message = f"{note} table '{name}' never ends, so it cannot be read in batch mode"
        raise FlinkDdlError.of("FD652", message, node.span, help="set 'number-of-rows'")
    numbers = f"SELECT id AS `{_NUMBER}` FROM range({f'0, {total}, 1, {tasks}' if tasks else total})"
    return J.Rows(name=ctx.fresh(name), query=numbers, note=note)


def _column(name: str, t: DataType, options: ResolvedOptions, number: str) -> str:
    def option(key: str) -> str | None:
        value = options[f"fields.{name}.{key}"]
        return None if value is None else str(value)

    if option("kind") == "sequence":
        return f"CAST({number} + {option('start')} AS {spark_type(t)})"
    text = _random(t, option)
    rate = option("null-rate")
    return f"IF(rand() < {rate}, NULL, {text})" if rate and float(rate) > 0 else text


def _random(t: DataType, option: Option) -> str:
    """Return a random value of a type. Raises FD653 for one that datagen does not make."""
    if t.root not in _RANDOM:
        raise FlinkDdlError.of("FD653", f"datagen makes no values of type {t.summary}")
    return _RANDOM[t.root](t, option)


def _integer(t: DataType, option: Option) -> str:
    low, high = (int(option(k) or b) for k, b in zip(("min", "max"), _BOUNDS[t.root], strict=True))
    span = f"floor(CAST(rand() AS DECIMAL(18,18)) * CAST({high - low} + 1 AS DECIMAL(20,0)))"
    return f"CAST(CAST({low} AS DECIMAL(20,0)) + {span} AS {spark_type(t)})"


def _float(t: DataType, option: Option) -> str:
    low, high = (float(option(k) or b) for k, b in zip(("min", "max"), _BOUNDS[t.root], strict=True))
    return f"CAST({low!r}D * (1D - rand()) + {high!r}D * rand() AS {spark_type(t)})"


def _decimal(t: DataType, option: Option) -> str:
    most = 10 ** ((t.precision or 10) - (t.scale or 0)) - 1
    low, high = float(option("min") or -most), float(option("max") or most)
    return f"try_cast({low!r}D + rand() * ({high!r}D - {low!r}D) AS {spark_type(t)})"


def _digits(t: DataType, option: Option) -> str:
    """Return a text or bytes: as many as ``length`` says, or with ``var-len`` from 1 to that."""
    n = int(option("length") or min(t.precision or _LENGTH, _LENGTH))
    text = t.root in (Root.CHAR, Root.VARCHAR)
    blocks = ", ".join("md5(CAST(rand() AS STRING))" for _ in range(n // (32 if text else 16) + 1))
    size = f"CAST(floor(rand() * {n}) + 1 AS INT)" if option("var-len") == "True" else str(n)
    return f"substring({f'concat({blocks})' if text else f'unhex(concat({blocks}))'}, 1, {size})"


def _timestamp(t: DataType, option: Option) -> str:
    back = f"CAST(rand() * {int(option('max-past') or 0)} AS BIGINT)"
    return f"CAST(timestamp_millis(unix_millis(current_timestamp()) - {back}) AS {spark_type(t)})"


def _plain(t: DataType) -> str:
    return _random(t, lambda _: None)


def _array(t: DataType, option: Option) -> str:
    return f"array({', '.join(_plain(t.element) for _ in range(int(option('length') or _COLLECTION)))})"


def _map(t: DataType, option: Option) -> str:
    value = t.value if t.root is Root.MAP else DataType(Root.INT)
    arrays = (_array(DataType(Root.ARRAY, children=(part,)), option) for part in (t.key, value))
    return f"flinkddl.map_last({', '.join(arrays)})"


def _row(t: DataType, option: Option) -> str:
    parts = (f"'{f.name}', {_plain(f.type)}" for f in t.fields)
    return f"named_struct({', '.join(parts)})"


_RANDOM: Mapping[Root, Callable[[DataType, Option], str]] = {
    Root.BOOLEAN: lambda t, option: "(rand() < 0.5D)",
    **dict.fromkeys((Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT), _integer),
    **dict.fromkeys((Root.FLOAT, Root.DOUBLE), _float),
    Root.DECIMAL: _decimal,
    **dict.fromkeys((Root.CHAR, Root.VARCHAR, Root.BINARY, Root.VARBINARY), _digits),
    Root.DATE: lambda t, option: "CAST(current_timestamp() AS DATE)",
    Root.TIME: lambda t, option: "CAST(unix_millis(current_timestamp()) % 86400000 AS INT)",
    **dict.fromkeys((Root.TIMESTAMP, Root.TIMESTAMP_LTZ), _timestamp),
    Root.ARRAY: _array,
    **dict.fromkeys((Root.MAP, Root.MULTISET), _map),
    Root.ROW: _row,
}
