"""CAST and TRY_CAST as Spark SQL with Flink's meaning: whole numbers wrap, decimals give NULL, text is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.arithmetic_functions import narrow
from flinkddl.functions.core import string
from flinkddl.functions.zones import cut, from_micros, instant, micros, milliseconds, wall
from flinkddl.sqltypes import Root, quote, spark_type

if TYPE_CHECKING:
    from flinkddl.sqltypes import DataType

_BITS = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}


def cast_sql(value: str, source: DataType, target: DataType, zone: str, try_: bool) -> str:
    """Return Spark SQL for ``CAST(value AS target)``, or TRY_CAST."""
    if source.root is Root.NULL:
        return f"CAST(NULL AS {spark_type(target)})"
    if source.root in T.CHARACTER:
        return _from_text(value, target, zone, try_)
    if target.root in T.CHARACTER:
        return _length(to_text(value, source, zone), target)
    if source.root in T.NUMERIC or source.root is Root.BOOLEAN:
        return _from_number(value, source, target)
    if source.root in T.BYTES_FAMILY:
        return _bytes_length(value, target)
    if source.root in T.DATETIME:
        return _from_datetime(value, source, target, zone)
    if source.children or source.fields:
        return _constructed(value, source, target, zone, try_)
    return value


# ---- from text ---------------------------------------------------------------------------------------------------


def _from_text(value: str, target: DataType, zone: str, try_: bool) -> str:
    strict = "false" if try_ else "true"
    match target.root:
        case Root.CHAR | Root.VARCHAR:
            return _length(value, target)
        case Root.BINARY | Root.VARBINARY:
            return _bytes_length(f"CAST({value} AS BINARY)", target)
        case Root.BOOLEAN:
            return _boolean(value, try_)
        case Root.DECIMAL:
            return _decimal(value, target, try_)
        case Root.FLOAT | Root.DOUBLE:
            return f"flinkddl.cast_{target.root.value.lower()}({value}, {strict})"
        case Root.DATE:
            return f"date_from_unix_date(flinkddl.cast_date({value}, {strict}))"
        case Root.TIME:
            return _cut_time(f"flinkddl.cast_time({value}, {strict})", target)
        case Root.TIMESTAMP | Root.TIMESTAMP_LTZ:
            nanos = str((target.precision or 0) > 6).lower()
            text = from_micros(f"flinkddl.cast_timestamp({value}, {strict}, {nanos})")
            moment = cut(text, T.TIMESTAMP(), target.precision)
            return instant(moment, zone) if target.root is Root.TIMESTAMP_LTZ else moment
        case root if root in _BITS:
            return f"CAST(flinkddl.cast_long({value}, {_BITS[root]}, {strict}) AS {spark_type(target)})"
    return f"{'try_cast' if try_ else 'CAST'}({value} AS {spark_type(target)})"


def _boolean(value: str, try_: bool) -> str:
    wrong = "NULL" if try_ else f"raise_error(concat('cannot read \\'', {value}, '\\' as BOOLEAN'))"
    true, false = ("lower({}) IN ('t', 'true', 'y', 'yes', '1')", "lower({}) IN ('f', 'false', 'n', 'no', '0')")
    tests = f"WHEN {true.format(value)} THEN true WHEN {false.format(value)} THEN false"
    return f"(CASE {tests} WHEN {value} IS NOT NULL THEN {wrong} END)"


_COUNTED = 18


def _decimal(value: str, target: DataType, try_: bool) -> str:
    """Read a decimal; of short texts Flink counts the zero before the point, for which DECIMAL(p,p) has no room."""
    read = f"{'try_cast' if try_ else 'CAST'}({value} AS {spark_type(target)})"
    if target.precision != target.scale or (target.precision or 0) > _COUNTED:
        return read
    wrong = "NULL" if try_ else f"raise_error(concat('cannot read \\'', {value}, '\\' as {target.summary}: overflow'))"
    counted = f"{value} RLIKE '^ *[+-]?[0-9]' AND char_length({value}) <= {_COUNTED}"
    return f"(CASE WHEN {counted} THEN {wrong} ELSE {read} END)"


def _length(text: str, target: DataType) -> str:
    if target.precision == T.MAX_LENGTH:
        return text
    if target.root is Root.CHAR:
        return f"rpad({text}, {target.precision}, ' ')"
    return f"left({text}, {target.precision})"


def _bytes_length(value: str, target: DataType) -> str:
    if target.precision == T.MAX_LENGTH:
        return value
    if target.root is Root.BINARY:
        return f"rpad({value}, {target.precision}, X'00')"
    return f"substring({value}, 1, {target.precision})"


# ---- numbers -----------------------------------------------------------------------------------------------------


def _from_number(value: str, source: DataType, target: DataType) -> str:
    if target.root is Root.BOOLEAN:
        return value if source.root is Root.BOOLEAN else f"({value} <> 0)"
    if source.root is Root.BOOLEAN:
        return f"CAST(CAST({value} AS INT) AS {spark_type(target)})"
    if target.root is Root.DECIMAL:
        if source.root in T.APPROXIMATE:
            number = f"if(isnan({value}) OR abs({value}) = double('Infinity'), raise_error('no number'), {value})"
            return f"try_cast({number} AS {spark_type(target)})"
        return f"try_cast({value} AS {spark_type(target)})"
    if target.root in T.INTEGER:
        return _to_integer(value, source, target)
    if target.root in T.INTERVAL:
        months = target.root is Root.INTERVAL_YEAR_MONTH
        return f"make_ym_interval(0, {_to_integer(value, source, T.INT)})" if months else milliseconds(value)
    return f"CAST({value} AS {spark_type(target)})"


def _to_integer(value: str, source: DataType, target: DataType) -> str:
    match source.root:
        case Root.DECIMAL:
            return narrow(f"flinkddl.decimal_to_long({value})", target)
        case Root.FLOAT | Root.DOUBLE:
            value = f"CAST({value} AS DOUBLE)" if source.root is Root.FLOAT else value
            if target.root is Root.BIGINT:
                return f"flinkddl.to_long({value})"
            whole = f"flinkddl.to_int({value})"
            return whole if target.root is Root.INT else narrow(f"CAST({whole} AS BIGINT)", target)
    if _BITS[source.root] <= _BITS[target.root]:
        return f"CAST({value} AS {spark_type(target)})"
    return narrow(value if source.root is Root.BIGINT else f"CAST({value} AS BIGINT)", target)


# ---- dates and times ---------------------------------------------------------------------------------------------


def _cut_time(value: str, target: DataType) -> str:
    step = 10 ** max(0, 3 - (target.precision or 0))
    return value if step == 1 else f"({value} - {value} % {step})"


def _from_datetime(value: str, source: DataType, target: DataType, zone: str) -> str:
    if source.root is Root.TIME:
        if target.root is Root.TIME:
            return _cut_time(value, target)
        local = from_micros(f"CAST({value} AS BIGINT) * 1000")
    else:
        local = wall(value, source, zone)
    match target.root:
        case Root.DATE:
            return f"CAST({local} AS DATE)"
        case Root.TIME:
            return _cut_time(f"CAST(pmod({micros(local)}, 86400000000) div 1000 AS INT)", target)
        case Root.TIMESTAMP_LTZ if source.root is Root.TIMESTAMP_LTZ:
            return _cut(value, source, target)
        case Root.TIMESTAMP_LTZ:
            return instant(_cut(local, source, target), zone)
    return local if source.root is Root.TIME else _cut(local, T.TIMESTAMP(source.precision or 0), target)


def _cut(value: str, source: DataType, target: DataType) -> str:
    if source.root not in T.TIMESTAMPS or (source.precision or 0) <= (target.precision or 0):
        return value
    return cut(value, source, target.precision)


# ---- to text -----------------------------------------------------------------------------------------------------


def to_text(value: str, t: DataType, zone: str) -> str:
    """Return a value as Flink's CAST to STRING writes it."""
    match t.root:
        case Root.CHAR | Root.VARCHAR:
            return value
        case Root.BOOLEAN:
            return f"upper(CAST({value} AS STRING))"
        case Root.BINARY | Root.VARBINARY:
            return f"flinkddl.decode({value}, 'UTF-8')"
        case Root.TIMESTAMP | Root.TIMESTAMP_LTZ:
            return _moment_text(wall(value, t, zone), t.precision or 0)
        case Root.TIME:
            moment = from_micros(f"CAST({value} AS BIGINT) * 1000")
            return f"flinkddl.format_timestamp({moment}, 'HH:mm:ss{_fraction(t.precision or 0)}')"
        case Root.INTERVAL_DAY_TIME:
            return _interval_text(value)
        case Root.INTERVAL_YEAR_MONTH:
            months = f"CAST(CAST({value} AS INTERVAL MONTH) AS INT)"
            sign = f"if({months} < 0, '-', '+')"
            return f"concat({sign}, abs({months}) div 12, '-', lpad(abs({months}) % 12, 2, '0'))"
        case Root.ARRAY:
            return f"concat('[', array_join(transform({value}, x -> {_or_null('x', t.element, zone)}), ', '), ']')"
        case Root.MAP | Root.MULTISET:
            return _map_text(value, t, zone)
        case Root.ROW:
            parts = ", ', ', ".join(
                f"{_label(f, t)}{_or_null(f'{value}.{quote(f.name)}', f.type, zone)}" for f in t.fields
            )
            return f"if({value} IS NULL, NULL, concat('(', {parts}, ')'))"
    return f"CAST({value} AS STRING)"


def _label(field: T.RowField, t: DataType) -> str:
    """``name=`` before a field of a structured type, and a comma."""
    return "" if t.qualifier is None else f"{string(f'{field.name}=')}, "


def _interval_text(value: str) -> str:
    """``+1 02:03:04.500``."""
    clock = [f"lpad(abs(extract({u} FROM {value})), 2, '0')" for u in ("HOUR", "MINUTE")]
    second = f"lpad(CAST(abs(extract(SECOND FROM {value})) AS DECIMAL(5,3)), 6, '0')"
    sign = f"if({value} < INTERVAL '0' SECOND, '-', '+')"
    return f"concat({sign}, abs(extract(DAY FROM {value})), ' ', {clock[0]}, ':', {clock[1]}, ':', {second})"


def _fraction(digits: int) -> str:
    return "." + "S" * digits if digits else ""


def _moment_text(value: str, digits: int) -> str:
    return f"flinkddl.format_timestamp({value}, 'yyyy-MM-dd HH:mm:ss{_fraction(digits)}')"


def _or_null(value: str, t: DataType, zone: str) -> str:
    text = to_text(value, t, zone)
    return f"coalesce({text}, 'NULL')" if t.nullable else text


def _map_text(value: str, t: DataType, zone: str) -> str:
    kinds = t.children if t.root is Root.MAP else (t.element, T.INT.not_null())
    key, item = (_or_null(f"e.{n}", k, zone) for n, k in zip(("key", "value"), kinds, strict=True))
    return f"concat('{{', array_join(transform(map_entries({value}), e -> concat({key}, '=', {item})), ', '), '}}')"


# ---- constructed types -------------------------------------------------------------------------------------------


def _constructed(value: str, source: DataType, target: DataType, zone: str, try_: bool) -> str:
    def part(text: str, a: DataType, b: DataType) -> str:
        return text if a.not_null() == b.not_null() else cast_sql(text, a, b, zone, try_)

    match source.root:
        case Root.ARRAY:
            text = f"transform({value}, x -> {part('x', source.element, target.element)})"
            if not try_:
                return text
            failed = f"exists({value}, x -> x IS NOT NULL AND {part('x', source.element, target.element)} IS NULL)"
            return f"if({failed}, NULL, {text})"
        case Root.MAP:
            key, item = part("x", source.key, target.key), part("x", source.value, target.value)
            if key == "x":  # also where a key may be NULL, which map_last refuses
                return value if item == "x" else f"transform_values({value}, (k, x) -> {item})"
            make = "flinkddl.map_of" if target.key.nullable else "flinkddl.map_last"
            return f"{make}(transform(map_keys({value}), x -> {key}), transform(map_values({value}), x -> {item}))"
        case Root.ROW:
            pairs = (
                f"'{b.name}', {part(f'{value}.{quote(a.name)}', a.type, b.type)}"
                for a, b in zip(source.fields, target.fields, strict=True)
            )
            return f"if({value} IS NULL, NULL, named_struct({', '.join(pairs)}))"
    keys = f"transform(map_keys({value}), x -> {part('x', source.element, target.element)})"
    return f"flinkddl.map_last({keys}, map_values({value}))"
