"""The datagen source as a range or a rate of numbers, and one expression per column (Flink's DataGenTableSource)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors.datagen import facts
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.spark import job as J
from flinkddl.spark.context import SEQUENCE, Lowering, Rel, unique_names
from flinkddl.sqltypes import DataType, Root, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.options import ResolvedOptions
    from flinkddl.plan.nodes import Scan

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
    options: ResolvedOptions = node.options
    total, tasks = facts.rows(node.table, options), options["scan.parallelism"]
    physical = node.table.physical
    if not ctx.streaming:
        if total is None:
            raise FlinkDdlError.of(
                "FD652",
                f"datagen table '{node.table.path.name}' never ends, so it cannot be read in batch mode",
                node.span,
                help="set 'number-of-rows'",
            )
        source: J.Step = J.Rows(
            name=ctx.fresh(node.table.path.name),
            query=f"SELECT id AS `{_NUMBER}` FROM range({f'0, {total}, 1, {tasks}' if tasks else total})",
            note="datagen",
        )
    else:
        # a run that takes what is there and ends finds nothing at a rate: its clock has just begun
        ends = ctx.bounded and total is not None
        amount = {"rowsPerBatch": str(total)} if ends else {"rowsPerSecond": str(options["rows-per-second"])}
        source = J.Read(
            name=ctx.fresh(node.table.path.name),
            format="rate-micro-batch" if ends else "rate",
            options=amount | ({"numPartitions": str(tasks)} if tasks else {}),
            streaming=True,
            table=str(node.table.path),
            note="datagen",
        )
    number = f"`{_NUMBER}`" if not ctx.streaming else "`value`"
    step = ctx.add(source).name
    if ctx.streaming and total is not None:
        step = ctx.add(J.Where(name=ctx.fresh(f"{step}_bounded"), input=step, condition=f"{number} < {total}")).name
    names = unique_names(c.name for c in physical)
    columns = [
        (name, _column(c.name, c.type, options, number)) for name, c in zip(names, physical, strict=True) if c.type
    ]
    if sequence:
        columns.append((SEQUENCE, number))
    select = J.Select(name=ctx.fresh(f"{step}_columns"), input=step, columns=tuple(columns))
    fields = tuple(f for f, c in zip(node.fields, node.table.columns, strict=True) if c.kind == "physical")
    return Rel(ctx.add(select).name, names, fields, sequence=sequence)


def _column(name: str, t: DataType, options: ResolvedOptions, number: str) -> str:
    def option(key: str) -> str | None:
        value = options[f"fields.{name}.{key}"]
        return None if value is None else str(value)

    if option("kind") == "sequence":
        return f"CAST({number} + {option('start')} AS {spark_type(t)})"
    text = _random(t, option)
    rate = option("null-rate")
    return f"IF(rand() < {rate}, NULL, {text})" if rate and float(rate) > 0 else text


def _size(most: int, option: Callable[[str], str | None]) -> str:
    """Return the length of a random text: ``most``, or with ``var-len`` one from 1 to that."""
    return f"CAST(floor(rand() * {most}) + 1 AS INT)" if option("var-len") == "True" else str(most)


def _random(t: DataType, option: Callable[[str], str | None]) -> str:
    target = spark_type(t)
    match t.root:
        case Root.BOOLEAN:
            return "(rand() < 0.5D)"
        case Root.TINYINT | Root.SMALLINT | Root.INT | Root.BIGINT:
            low, high = (int(option(k) or b) for k, b in zip(("min", "max"), _BOUNDS[t.root], strict=True))
            span = f"CAST({high - low} + 1 AS DECIMAL(20,0))"
            return f"CAST(CAST({low} AS DECIMAL(20,0)) + floor(CAST(rand() AS DECIMAL(18,18)) * {span}) AS {target})"
        case Root.FLOAT | Root.DOUBLE:
            low_, high_ = (float(option(k) or b) for k, b in zip(("min", "max"), _BOUNDS[t.root], strict=True))
            return f"CAST({low_!r}D * (1D - rand()) + {high_!r}D * rand() AS {target})"
        case Root.DECIMAL:
            most = 10 ** ((t.precision or 10) - (t.scale or 0)) - 1
            low_, high_ = float(option("min") or -most), float(option("max") or most)
            return f"try_cast({low_!r}D + rand() * ({high_!r}D - {low_!r}D) AS {target})"
        case Root.CHAR | Root.VARCHAR:
            n = int(option("length") or min(t.precision or _LENGTH, _LENGTH))
            blocks = ", ".join("md5(CAST(rand() AS STRING))" for _ in range(n // 32 + 1))
            return f"substring(concat({blocks}), 1, {_size(n, option)})"
        case Root.BINARY | Root.VARBINARY:
            n = int(option("length") or min(t.precision or _LENGTH, _LENGTH))
            blocks = ", ".join("md5(CAST(rand() AS STRING))" for _ in range(n // 16 + 1))
            return f"substring(unhex(concat({blocks})), 1, {_size(n, option)})"
        case Root.DATE:
            return "CAST(current_timestamp() AS DATE)"
        case Root.TIME:
            return "CAST(unix_millis(current_timestamp()) % 86400000 AS INT)"
        case Root.TIMESTAMP | Root.TIMESTAMP_LTZ:
            past = int(option("max-past") or 0)
            back = f"CAST(rand() * {past} AS BIGINT)"
            return f"CAST(timestamp_millis(unix_millis(current_timestamp()) - {back}) AS {target})"
        case Root.ARRAY:
            n = int(option("length") or _COLLECTION)
            return f"array({', '.join(_random(t.element, lambda _: None) for _ in range(n))})"
        case Root.MAP | Root.MULTISET:
            n = int(option("length") or _COLLECTION)
            value = t.value if t.root is Root.MAP else DataType(Root.INT)
            keys, values = (", ".join(_random(part, lambda _: None) for _ in range(n)) for part in (t.key, value))
            return f"flinkddl.map_last(array({keys}), array({values}))"
        case Root.ROW:
            parts = (f"'{f.name}', {_random(f.type, lambda _: None)}" for f in t.fields)
            return f"named_struct({', '.join(parts)})"
        case _:
            raise FlinkDdlError.of("FD653", f"datagen makes no values of type {t.summary}")
