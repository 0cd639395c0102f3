"""``pack`` and ``unpack``: rows of every type through bytes and back, also inside arrays, maps and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl import sqltypes as T
from flinkddl.sqltypes import DataType, Root, spark_type
from tests.spark.stream.harness import JOB

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# a type of each root that rows can hold, and two values
VALUES: dict[Root, tuple[DataType, str, str]] = {
    Root.CHAR: (T.CHAR(3), "'abc'", "''"),
    Root.VARCHAR: (T.STRING, "'eight by'", "'täglich, and more than a word'"),
    Root.BINARY: (T.BINARY(2), "X'00FF'", "X'0102'"),
    Root.VARBINARY: (T.VARBINARY(9), "X''", "X'0102030405060708FF'"),
    Root.BOOLEAN: (T.BOOLEAN, "true", "false"),
    Root.DECIMAL: (T.DECIMAL(38, 18), "-1.5", "12345678901234567890.123456789012345678"),
    Root.TINYINT: (T.TINYINT, "-128Y", "127Y"),
    Root.SMALLINT: (T.SMALLINT, "-1S", "2S"),
    Root.INT: (T.INT, "-1", "2147483647"),
    Root.BIGINT: (T.BIGINT, "-1L", "9223372036854775807L"),
    Root.FLOAT: (T.FLOAT, "-0.0F", "1.5F"),
    Root.DOUBLE: (T.DOUBLE, "DOUBLE('NaN')", "1e300D"),
    Root.DATE: (T.DATE, "DATE '1969-12-31'", "DATE '2024-02-29'"),
    Root.TIME: (T.TIME(3), "0", "86399999"),
    Root.TIMESTAMP: (T.TIMESTAMP(3), "TIMESTAMP_NTZ '1900-01-01 00:00:00.001'", "TIMESTAMP_NTZ '2024-02-29 23:59:59'"),
    Root.TIMESTAMP_LTZ: (T.TIMESTAMP_LTZ(3), "TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '2024-02-29 23:59:59.9'"),
    Root.INTERVAL_YEAR_MONTH: (T.INTERVAL_YM(), "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '-9' YEAR"),
    Root.INTERVAL_DAY_TIME: (T.INTERVAL_DT(), "INTERVAL '1' DAY", "INTERVAL '-1.5' SECOND"),
    Root.VARIANT: (DataType(Root.VARIANT), "parse_json('{\"a\": [1, null]}')", "parse_json('true')"),
    Root.NULL: (DataType(Root.NULL), "NULL", "NULL"),
}
NESTED = {Root.ARRAY, Root.MULTISET, Root.MAP, Root.ROW}
NOT_CARRIED = {Root.RAW, Root.SYMBOL, Root.DESCRIPTOR}


def test_every_type_is_here() -> None:
    assert VALUES.keys() | NESTED | NOT_CARRIED == set(Root)
    for root in NOT_CARRIED:
        with pytest.raises(KeyError):
            spark_type(DataType(root))


@pytest.mark.parametrize("codegen", ["CODEGEN_ONLY", "NO_CODEGEN"])
def test_what_is_packed_is_unpacked(spark: SparkSession, codegen: str) -> None:
    """Of each type: two values and NULL, alone, in an array, as the value of a map, in rows in an array."""
    child = spark.newSession()
    for name, value in (JOB | {"spark.sql.codegen.factoryMode": codegen}).items():
        child.conf.set(name, value)
    fields, types = [], []
    for n, (type, one, other) in enumerate(VALUES.values()):
        t = spark_type(type)
        v = f"CAST(CASE id WHEN 0 THEN {one} WHEN 1 THEN {other} END AS {t})"
        inner = f"named_struct('i', id, 'v', {v})"
        fields += [
            f"'v{n}', {v}",
            f"'a{n}', array({v}, NULL)",
            f"'m{n}', map('k', {v})",
            f"'r{n}', array({inner}, NULL)",
        ]
        types += [
            f"v{n}: {t}",
            f"a{n}: ARRAY<{t}>",
            f"m{n}: MAP<STRING, {t}>",
            f"r{n}: ARRAY<STRUCT<i: BIGINT, v: {t}>>",
        ]
    row, struct = f"named_struct({', '.join(fields)})", f"STRUCT<{', '.join(types)}>"
    bytes = "IF(id = 3, NULL, flinkddl.pack(s))"
    unpacked = f"flinkddl.unpack({bytes}, CAST(NULL AS {struct}))"
    query = f"SELECT id, s, {unpacked} AS u FROM (SELECT id, {row} AS s FROM range(4))"
    shown = child.sql(f"SELECT id, CAST(s AS STRING) AS s, CAST(u AS STRING) AS u FROM ({query}) ORDER BY id").collect()
    for r in shown[:3]:
        assert r.u == r.s
    assert [r.u is None for r in shown] == [False, False, False, True]
    assert len({r.s for r in shown[:3]}) == 3
