"""Java functions of Flink in Spark, each called by a spec written by hand."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.runtime.session.java_jars import ship_java
from flinkddl.spark.java_functions import java_call
from tests.support.java_udf import java_spec, needs_javac, udf_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, needs_javac]


@pytest.fixture(scope="module")
def java(spark: SparkSession) -> SparkSession:
    ship_java(spark, [str(udf_jar("com"))])
    return spark


S = "org.apache.flink.table.data.StringData"
ARRAY, MAP, ROWDATA = (f"org.apache.flink.table.data.{n}" for n in ("ArrayData", "MapData", "RowData"))
NULL = "CAST(NULL AS STRING)"
USER = "ROW<`age` INT NOT NULL, `name` STRING, `tags` ARRAY<STRING>>"
USER_BRIDGE = "com.acme.Scalars$User<int,java.lang.String,java.util.List>"
POINT = "ROW<`x` DOUBLE NOT NULL, `y` DOUBLE NOT NULL>"
A_USER = "named_struct('age', 7, 'name', 'bob', 'tags', array('a', NULL))"

SCALARS: list[tuple[str, str, list[str], Any]] = [
    ("overload", java_spec("Scalars$Greet", ["STRING"], "STRING"), ["'bob'"], "hello bob"),
    ("null", java_spec("Scalars$Greet", ["STRING"], "STRING"), [NULL], "nobody"),
    (
        "other overload",
        java_spec("Scalars$Greet", ["STRING", "INT NOT NULL"], "STRING"),
        ["'o'", "2"],
        "hello ohello o",
    ),
    ("nexmark", java_spec("Scalars$CountChar", ["STRING", "STRING"], "BIGINT NOT NULL"), ["'banana'", "'a'"], 3),
    ("primitive", java_spec("Scalars$Plus", ["INT NOT NULL", "INT NOT NULL"], "INT NOT NULL"), ["1", "2"], 3),
    ("boxed", java_spec("Scalars$Plus", ["BIGINT", "BIGINT"], "BIGINT"), ["1L", "CAST(NULL AS BIGINT)"], None),
    ("double", java_spec("Scalars$Plus", ["DOUBLE NOT NULL"] * 2, "DOUBLE NOT NULL"), ["1.5D", "2D"], 3.5),
    (
        "varargs of anything",
        java_spec(
            "Scalars$Concat",
            ["STRING", "INT", "STRING"],
            "STRING",
            varargs=True,
            descriptor="(Ljava/lang/String;[Ljava/lang/Object;)Ljava/lang/String;",
        ),
        ["'-'", "1", "'x'"],
        "1-x",
    ),
    (
        "varargs of one type",
        java_spec(
            "Scalars$Concat", ["INT"] * 3, "STRING", varargs=True, descriptor="([Ljava/lang/Integer;)Ljava/lang/String;"
        ),
        ["1", "CAST(NULL AS INT)", "3"],
        "[1, null, 3]",
    ),
    (
        "no varargs",
        java_spec(
            "Scalars$Concat",
            ["STRING"],
            "STRING",
            varargs=True,
            descriptor="(Ljava/lang/String;[Ljava/lang/Object;)Ljava/lang/String;",
        ),
        ["'-'"],
        "",
    ),
    (
        "decimal",
        java_spec("Scalars$Money", ["DECIMAL(10, 4)"], "DECIMAL(12, 2)"),
        ["CAST(1.2345 AS DECIMAL(10,4))"],
        Decimal("1.85"),
    ),
    ("date", java_spec("Scalars$Tomorrow", ["DATE"], "DATE"), ["DATE'2024-02-28'"], date(2024, 2, 29)),
    ("time", java_spec("Scalars$Tomorrow", ["TIME(3)"], "TIME(0)"), ["1500"], 3601500),
    (
        "timestamp",
        java_spec("Scalars$Tomorrow", ["TIMESTAMP(6)"], "TIMESTAMP(6)"),
        ["TIMESTAMP_NTZ'1969-12-31 00:00:00.123456'"],
        datetime(1970, 1, 1, 0, 0, 0, 123456),
    ),
    (
        "instant",
        java_spec("Scalars$Tomorrow", ["TIMESTAMP_LTZ(3)"], "TIMESTAMP_LTZ(3)"),
        ["TIMESTAMP'1969-12-30 00:00:00.123456Z'"],
        datetime(1969, 12, 31, 0, 0, 0, 123000),
    ),
    (
        "sql timestamp",
        java_spec(
            "Scalars$Tomorrow",
            ["TIMESTAMP(3)"],
            "TIMESTAMP(3)",
            bridges=["java.sql.Timestamp"],
            result_bridge="java.sql.Timestamp",
        ),
        ["TIMESTAMP_NTZ'2024-01-01 00:00:00.5'"],
        datetime(2024, 1, 2, 0, 0, 0, 500000),
    ),
    (
        "sql date",
        java_spec("Scalars$Tomorrow", ["DATE"], "DATE", bridges=["java.sql.Date"], result_bridge="java.sql.Date"),
        ["DATE'1969-12-31'"],
        date(1970, 1, 1),
    ),
    (
        "internal data",
        java_spec(
            "Scalars$Internal",
            ["STRING", "DECIMAL(5, 2)", "TIMESTAMP(3)"],
            "STRING",
            bridges=[S, S.replace("String", "Decimal"), S.replace("String", "Timestamp")],
            result_bridge=S,
        ),
        ["'ü'", "1.50BD", "TIMESTAMP_NTZ'2024-01-01 00:00:00.5'"],
        "ü|1.50|2024-01-01T00:00:00.500",
    ),
    ("bytes", java_spec("Scalars$Bytes", ["BYTES"], "BYTES"), ["X'010203'"], b"\x03\x02\x01"),
    ("int[]", java_spec("Scalars$Sum", ["ARRAY<INT NOT NULL>"], "INT NOT NULL"), ["array(1, 2)"], 3),
    ("Integer[]", java_spec("Scalars$Sum", ["ARRAY<INT>"], "INT"), ["array(1, NULL, 5)"], 6),
    (
        "list",
        java_spec(
            "Scalars$Sum",
            ["ARRAY<STRING>"],
            "ARRAY<STRING>",
            bridges=["java.util.List"],
            result_bridge="java.util.List",
        ),
        ["array('a', NULL)"],
        ["A", None],
    ),
    (
        "array data",
        java_spec("Scalars$Sum", ["ARRAY<BIGINT>"], "ARRAY<BIGINT>", bridges=[ARRAY], result_bridge=ARRAY),
        ["array(1L, 4L)"],
        [2, 8],
    ),
    (
        "map",
        java_spec("Scalars$Tally", ["MAP<STRING, INT>"], "MAP<STRING, INT>"),
        ["map('a', 1, 'b', NULL)"],
        {"a!": 2, "b!": None},
    ),
    (
        "map data",
        java_spec("Scalars$Tally", ["MAP<STRING, INT>"], "MAP<STRING, INT>", bridges=[MAP], result_bridge=MAP),
        ["map('a', 1)"],
        {"a": 10},
    ),
    (
        "row",
        java_spec("Scalars$Rows", ["ROW<`a` INT, `b` STRING>"], "ROW<`name` STRING, `size` INT>"),
        ["named_struct('a', 1, 'b', 'x')"],
        ("x", 1),
    ),
    (
        "row data",
        java_spec(
            "Scalars$Rows",
            ["ROW<`a` INT, `b` STRING>"],
            "ROW<`s` STRING, `n` INT>",
            bridges=[ROWDATA],
            result_bridge=ROWDATA,
        ),
        ["named_struct('a', 1, 'b', 'x')"],
        ("x", 2),
    ),
    (
        "structured",
        java_spec(
            "Scalars$Older", [USER, "INT NOT NULL"], USER, bridges=[USER_BRIDGE, "int"], result_bridge=USER_BRIDGE
        ),
        [A_USER, "3"],
        (10, "bob", ["a", None]),
    ),
    (
        "structured by constructor",
        java_spec(
            "Scalars$Older", [POINT], POINT, bridges=["com.acme.Scalars$Point"], result_bridge="com.acme.Scalars$Point"
        ),
        ["named_struct('x', 1D, 'y', 2D)"],
        (2.0, 1.0),
    ),
    (
        "anything",
        java_spec("Scalars$Any", ["DOUBLE"], "STRING", descriptor="(Ljava/lang/Object;)Ljava/lang/String;"),
        ["1.5D"],
        "Double:1.5",
    ),
    (
        "generic",
        java_spec("Scalars$Length", ["STRING"], "INT", descriptor="(Ljava/lang/Object;)Ljava/lang/Object;"),
        ["'four'"],
        4,
    ),
    (
        "async",
        java_spec(
            "Scalars$Asked",
            ["INT"],
            "STRING",
            kind="async",
            descriptor="(Ljava/util/concurrent/CompletableFuture;Ljava/lang/Integer;)V",
        ),
        ["7"],
        "user 7",
    ),
]


def called(java: SparkSession, spec: str, arguments: list[str], **parameters: str) -> Any:
    """Return a call's value, computed in a task: Spark would compute one of constants while it plans."""
    columns = [f"IF(id = 0, {a}, NULL) AS c{i}" for i, a in enumerate(arguments)]
    names = [f"c{i}" for i in range(len(arguments))]
    frame = java.range(1).selectExpr("id", *columns).selectExpr(f"{java_call(spec, names, parameters)} AS v")
    return frame.collect()[0].v


@pytest.mark.parametrize(("spec", "arguments", "result"), [c[1:] for c in SCALARS], ids=[c[0] for c in SCALARS])
def test_a_scalar_function(java: SparkSession, spec: str, arguments: list[str], result: Any) -> None:
    assert called(java, spec, arguments) == result
