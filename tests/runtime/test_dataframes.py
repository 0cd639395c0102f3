"""DataFrames declared as Flink tables: types by their names, what has none, keys, watermarks. Needs no Java."""

from __future__ import annotations

import pytest

from flinkddl import sqltypes as T
from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.dataframes import declaration, flink_columns, match_columns, spark_schema
from flinkddl.runtime.tables import find, parse_name
from flinkddl.script.compile import compile_script

S = pytest.importorskip("pyspark.sql.types")


def schema(text_or_type):
    return S.StructType([S.StructField("c", text_or_type)])


TYPES = [
    (S.BooleanType(), "BOOLEAN"),
    (S.ByteType(), "TINYINT"),
    (S.ShortType(), "SMALLINT"),
    (S.IntegerType(), "INT"),
    (S.LongType(), "BIGINT"),
    (S.FloatType(), "FLOAT"),
    (S.DoubleType(), "DOUBLE"),
    (S.DecimalType(12, 3), "DECIMAL(12, 3)"),
    (S.StringType(), "STRING"),
    (S.VarcharType(3), "VARCHAR(3)"),
    (S.BinaryType(), "BYTES"),
    (S.DateType(), "DATE"),
    (S.TimestampType(), "TIMESTAMP_LTZ(6)"),
    (S.TimestampNTZType(), "TIMESTAMP(6)"),
    (S.ArrayType(S.IntegerType()), "ARRAY<INT>"),
    (S.ArrayType(S.IntegerType(), containsNull=False), "ARRAY<INT NOT NULL>"),
    (S.MapType(S.StringType(), S.ArrayType(S.LongType())), "MAP<STRING NOT NULL, ARRAY<BIGINT>>"),
    (schema(schema(S.DateType())), "ROW<`c` ROW<`c` DATE>>"),
]
NO_TYPE = [
    S.DayTimeIntervalType(),
    S.YearMonthIntervalType(),
    S.NullType(),
    S.VariantType(),
    S.StringType("UTF8_LCASE"),
    S.StructType([]),
    S.ArrayType(S.NullType()),
    schema(S.DayTimeIntervalType()),
]


@pytest.mark.parametrize(("spark", "flink"), TYPES, ids=str)
def test_types_have_flinks_names(spark, flink):
    assert flink_columns(schema(spark), "it") == {"c": flink}
    text = declaration("t", schema(spark), bounded=True)
    assert not compile_script(SourceText("t.sql", text)).has_errors


@pytest.mark.parametrize("spark", NO_TYPE, ids=str)
def test_what_has_no_type_is_named(spark):
    with pytest.raises(FlinkDdlError, match=r"FD665.*'c' \("):
        flink_columns(S.StructType([S.StructField("a", S.LongType()), S.StructField("c", spark)]), "it")


def test_a_table_is_declared_with_all_that_was_said():
    columns = S.StructType(
        [
            S.StructField("a`b", S.LongType(), False),
            S.StructField("at", S.TimestampType()),
            S.StructField("k", S.StringType()),
        ]
    )
    text = declaration(
        "it's", columns, bounded=False, watermark="at - INTERVAL '5' SECOND", primary_key=["a`b"], changelog="k"
    )
    assert text == (
        "CREATE TEMPORARY TABLE `it's` (\n  `a``b` BIGINT NOT NULL,\n  `at` TIMESTAMP_LTZ(3),\n"
        "  WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND,\n  PRIMARY KEY (`a``b`) NOT ENFORCED\n) WITH "
        "('connector' = 'dataframe', 'frame' = 'it''s', 'bounded' = 'false', 'changelog' = 'k');"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"watermark": "- INTERVAL '5' SECOND"}, "rowtime ''"),
        ({"watermark": "tss"}, "rowtime 'tss' is no column of the DataFrame .did you mean 'ts'"),
        ({"primary_key": ["idd"]}, "primary key 'idd'.*'id'"),
        ({"changelog": "op"}, "row kind 'op' is no column"),
        ({"changelog": "id"}, "row kind 'id' is bigint, not a string"),
    ],
)
def test_names_that_are_no_columns(arguments, said):
    columns = S.StructType([S.StructField("id", S.LongType()), S.StructField("ts", S.TimestampType())])
    with pytest.raises(FlinkDdlError, match=f"FD665.*{said}"):
        declaration("t", columns, bounded=True, **arguments)


def test_columns_are_matched_by_name():
    match_columns(["b", "a"], ["a", "b"], "t")
    with pytest.raises(FlinkDdlError) as refused:
        match_columns(["a", "colour", "x"], ["a", "color", "d"], "t")
    assert [d.message for d in refused.value.diagnostics] == [
        "table 't' has no column 'colour'",
        "table 't' has no column 'x'",
        "the DataFrame lacks 'color', 'd' of table 't'",
    ]
    assert refused.value.diagnostics[0].help == "did you mean 'color'?"


def test_a_tables_columns_as_sparks_types():
    class Field:
        def __init__(self, name, type_):
            self.name, self.type = name, type_

    fields = [
        Field("a", T.DECIMAL(5, 2)),
        Field("b", T.MULTISET(T.VARCHAR())),
        Field("c", T.ROW(("x", T.TIMESTAMP(3)), ("y", T.TIME(3)))),
        Field("d", T.MAP(T.VARCHAR(), T.ARRAY(T.TIMESTAMP_LTZ(3)))),
    ]
    assert spark_schema(fields).simpleString() == (
        "struct<a:decimal(5,2),b:map<string,int>,c:struct<x:timestamp_ntz,y:int>,d:map<string,array<timestamp>>>"
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [("t", ("t",)), ("db.t", ("db", "t")), ("`a.b`", ("a.b",)), ("c.`d``e`.f", ("c", "d`e", "f")), (" t ", ("t",))],
)
def test_names_are_read_as_sql_reads_them(text, parts):
    assert parse_name(text) == parts


def test_a_dataframe_is_not_declared_in_sql():
    sql = "CREATE TABLE t (a INT) WITH ('connector' = 'dataframe', 'frame' = 't'); SELECT * FROM t;"
    (found,) = compile_script(SourceText("t.sql", sql)).diagnostics
    assert found.code == "FD244"


def test_an_unknown_table_is_said_to_be():
    catalog = Catalog()
    catalog.execute("CREATE TABLE orders (a INT) WITH ('connector' = 'datagen')")
    assert str(find(catalog.state, "default_database.orders")).endswith(".orders")
    for name in ("order", ""):
        with pytest.raises(FlinkDdlError, match="FD301"):
            catalog.schema(name)


def test_a_catalog_shows_itself_in_a_line_and_starts_nothing():
    catalog = Catalog()
    catalog.execute("CREATE TABLE t (a INT) WITH ('connector' = 'datagen'); CREATE VIEW v AS SELECT a FROM t")
    assert repr(catalog) == "<flinkddl.Catalog: 2 tables and views, 0 jobs>"
    assert catalog._spark is None
