"""DataFrames and Flink's tables, both ways: a DataFrame declared as a table, a table's columns as a StructType."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from flinkddl.connectors.dataframe.facts import CONNECTOR
from flinkddl.diagnostics import Diagnostic, FlinkDdlError, did_you_mean
from flinkddl.sqltypes import QUOTED, DataType, Root, quote, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import types as S

    from flinkddl.plan.nodes import Field

# Classes of Spark's types. They stand here by name: PySpark is imported where it is needed.
_BOTH: Mapping[Root, str] = {
    Root.BOOLEAN: "BooleanType",
    Root.TINYINT: "ByteType",
    Root.SMALLINT: "ShortType",
    Root.INT: "IntegerType",
    Root.BIGINT: "LongType",
    Root.FLOAT: "FloatType",
    Root.DOUBLE: "DoubleType",
    Root.DATE: "DateType",
}
_FLINK: Mapping[str, str] = {
    **{name: root.value for root, name in _BOTH.items()},
    "BinaryType": "BYTES",
    "TimestampType": "TIMESTAMP_LTZ(6)",
    "TimestampNTZType": "TIMESTAMP(6)",
}
_SPARK: Mapping[Root, str] = {
    **_BOTH,
    **dict.fromkeys((Root.CHAR, Root.VARCHAR), "StringType"),
    **dict.fromkeys((Root.BINARY, Root.VARBINARY), "BinaryType"),
    Root.TIME: "IntegerType",  # milliseconds of the day, see sqltypes
    Root.TIMESTAMP: "TimestampNTZType",
    Root.TIMESTAMP_LTZ: "TimestampType",
    Root.INTERVAL_YEAR_MONTH: "YearMonthIntervalType",
    Root.INTERVAL_DAY_TIME: "DayTimeIntervalType",
    Root.VARIANT: "VariantType",
    Root.NULL: "NullType",
}


def spark_schema(fields: Iterable[Field]) -> S.StructType:
    """Return the columns of a table as Spark's types; like those of any source they may all be NULL."""
    from pyspark.sql import types as S

    return S.StructType([S.StructField(f.name, _spark(f.type)) for f in fields])


def _spark(t: DataType) -> S.DataType:
    from pyspark.sql import types as S

    match t.root:
        case Root.DECIMAL:
            return S.DecimalType(t.precision or 10, t.scale or 0)
        case Root.ARRAY:
            return S.ArrayType(_spark(t.element))
        case Root.MAP:
            return S.MapType(_spark(t.key), _spark(t.value))
        case Root.MULTISET:
            return S.MapType(_spark(t.element), S.IntegerType())
        case Root.ROW:
            return S.StructType([S.StructField(f.name, _spark(f.type)) for f in t.fields])
        case _:
            made: S.DataType = getattr(S, _SPARK[t.root])()
            return made


def flink_columns(schema: S.StructType, where: str) -> dict[str, str]:
    """Return Flink's type of each column as DDL text.

    Raises FD665 with every column whose type Flink does not have; ``where`` names the DataFrame.
    """
    types = {f.name: _flink(f.dataType) for f in schema.fields}
    wrong = [f for f in schema.fields if types[f.name] is None]
    if wrong:
        named = ", ".join(f"'{f.name}' ({f.dataType.simpleString()})" for f in wrong)
        message = f"Flink has no type for column{'s' * (len(wrong) > 1)} {named} of {where}"
        help = "cast or drop it before, as in df.withColumn(.., expr('CAST(.. AS STRING)'))"
        raise FlinkDdlError.of("FD665", message, help=help)
    twice = [n for n in types if sum(f.name == n for f in schema.fields) > 1]
    if twice:
        raise FlinkDdlError.of("FD665", f"{where} has the column '{twice[0]}' twice", help="rename one of them")
    return {f.name: f"{types[f.name]}{'' if f.nullable else ' NOT NULL'}" for f in schema.fields}


def _flink(t: Any) -> str | None:
    """Return Flink's name of a Spark type, None where there is none."""
    match type(t).__name__:
        case "DecimalType":
            return f"DECIMAL({t.precision}, {t.scale})"
        case "ArrayType":
            inner = _flink(t.elementType)
            return inner and f"ARRAY<{inner}{_null(t.containsNull)}>"
        case "MapType":
            key, value = _flink(t.keyType), _flink(t.valueType)
            return f"MAP<{key} NOT NULL, {value}{_null(t.valueContainsNull)}>" if key and value else None
        case "StructType":
            parts = [(f, _flink(f.dataType)) for f in t.fields]
            if not parts or any(text is None for _, text in parts):
                return None
            return f"ROW<{', '.join(f'{quote(f.name)} {text}{_null(f.nullable)}' for f, text in parts)}>"
        case "StringType":
            return "STRING" if t.simpleString() == "string" else None  # no collation but Flink's
        case "VarcharType" | "CharType":
            return str(t.simpleString()).upper()
        case name:
            return _FLINK.get(name)


def _null(nullable: bool) -> str:
    return "" if nullable else " NOT NULL"


def declaration(
    name: str,
    schema: S.StructType,
    *,
    bounded: bool,
    watermark: str | None = None,
    primary_key: Sequence[str] = (),
    changelog: str | None = None,
) -> str:
    """Return the statement that declares a DataFrame as a table; its rows are found by the same name.

    ``watermark`` is the expression behind the column that it begins with. Raises FD665 for what does not fit.
    """
    types = flink_columns(schema, f"the DataFrame '{name}'")
    lines = []
    if changelog is not None:
        kind = column_named(changelog, schema, "the row kind")
        if kind.dataType.typeName() != "string":
            message = f"the row kind '{changelog}' is {kind.dataType.simpleString()}, not a string"
            raise FlinkDdlError.of("FD665", message, help="its values are '+I', '-U', '+U' and '-D'")
        del types[changelog]
    if watermark is not None:
        leading, rest = _leading(watermark)
        rowtime = column_named(leading, schema, "the rowtime").name
        types[rowtime] = types[rowtime].replace("(6)", "(3)")  # a time attribute has milliseconds at the most
        lines.append(f"WATERMARK FOR {quote(rowtime)} AS {quote(rowtime)}{rest}")
    for column in primary_key:
        column_named(column, schema, "the primary key")
    if primary_key:
        lines.append(f"PRIMARY KEY ({', '.join(map(quote, primary_key))}) NOT ENFORCED")
    options = {"connector": CONNECTOR.name, "frame": name, "bounded": str(bounded).lower()}
    options |= {"changelog": changelog} if changelog is not None else {}
    columns = [f"{quote(c)} {t}" for c, t in types.items()]
    given = ", ".join(f"'{_escaped(k)}' = '{_escaped(v)}'" for k, v in options.items())
    body = ",\n  ".join([*columns, *lines])
    return f"CREATE TEMPORARY TABLE {quote(name)} (\n  {body}\n) WITH ({given});"


def _leading(expression: str) -> tuple[str, str]:
    """Return the column that a watermark's expression begins with, and the rest."""
    found = re.match(rf"\s*(?:{QUOTED}|(\w+))", expression)
    if found is None:
        return "", expression
    return unquote(found[1] or "") or found[2] or "", expression[found.end() :]


def _escaped(text: str) -> str:
    return text.replace("'", "''")


def insertion(source: str, target: Sequence[str], columns: Sequence[str]) -> str:
    """Return the INSERT of a DataFrame's columns into a table's of the same names."""
    named = ", ".join(map(quote, columns))
    return f"INSERT INTO {'.'.join(map(quote, target))} ({named})\nSELECT {named} FROM {quote(source)};"


def match_columns(given: Sequence[str], wanted: Sequence[str], sink: str) -> None:
    """Check that a DataFrame has a table's columns, by name. Raises FD666 with every one too many or too few."""
    found = []
    for name in (n for n in given if n not in wanted):
        near = did_you_mean(name, [w for w in wanted if w not in given])
        found.append(Diagnostic("FD666", f"table '{sink}' has no column '{name}'", None, near or "drop it"))
    if missing := [w for w in wanted if w not in given]:
        named = ", ".join(f"'{m}'" for m in missing)
        help = "add it, if only as lit(None); the columns of the table are: " + ", ".join(wanted)
        found.append(Diagnostic("FD666", f"the DataFrame lacks {named} of table '{sink}'", None, help))
    if found:
        raise FlinkDdlError(found)


def column_named(name: str, schema: S.StructType, what: str) -> S.StructField:
    """Return a column. Raises FD665 with a did-you-mean for one that is not there; ``what`` says who asks for it."""
    found = next((f for f in schema.fields if f.name == name), None)
    if found is None:
        raise FlinkDdlError.of(
            "FD665", f"{what} '{name}' is no column of the DataFrame", help=did_you_mean(name, schema.names)
        )
    return found
