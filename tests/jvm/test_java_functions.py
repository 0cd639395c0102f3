"""Java functions of Flink in Spark, each called by a spec written by hand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.runtime.session.errors import full_text, reason
from flinkddl.runtime.session.java_jars import ship_java
from flinkddl.spark.java_functions import java_call, retract_kind
from tests.support.java_udf import aggregate, compiled, java_spec, needs_javac, udf_jar

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, SparkSession

pytestmark = [pytest.mark.spark, needs_javac]


def expr(sql: str) -> Column:
    from pyspark.sql.functions import expr as expression

    return expression(sql)


@pytest.fixture(scope="module")
def java(spark: SparkSession) -> SparkSession:
    ship_java(spark, [str(udf_jar())])
    return spark


S = "org.apache.flink.table.data.StringData"
ARRAY, MAP, ROWDATA = (f"org.apache.flink.table.data.{n}" for n in ("ArrayData", "MapData", "RowData"))
NULL = "CAST(NULL AS STRING)"
USER = "ROW<`age` INT NOT NULL, `name` STRING, `tags` ARRAY<STRING>>"
USER_BRIDGE = "com.acme.Scalars$User<int,java.lang.String,java.util.List>"
POINT = "ROW<`x` DOUBLE NOT NULL, `y` DOUBLE NOT NULL>"
A_USER = "named_struct('age', 7, 'name', 'bob', 'tags', array('a', NULL))"

ASKED = java_spec(
    "Scalars$Asked",
    ["INT"],
    "STRING",
    kind="async",
    descriptor="(Ljava/util/concurrent/CompletableFuture;Ljava/lang/Integer;)V",
)

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
            "Scalars$TomorrowSql",
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
        java_spec("Scalars$TomorrowSql", ["DATE"], "DATE", bridges=["java.sql.Date"], result_bridge="java.sql.Date"),
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
        ["'ü'", "CAST(1.50 AS DECIMAL(5,2))", "TIMESTAMP_NTZ'2024-01-01 00:00:00.5'"],
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
        java_spec("Scalars$TallyData", ["MAP<STRING, INT>"], "MAP<STRING, INT>", bridges=[MAP], result_bridge=MAP),
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
            "Scalars$RowsData",
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
        ASKED,
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


# ---- table functions ------------------------------------------------------------------------------------------------

SPLIT = "ROW<`word` STRING, `length` INT>"
PAIR = "ROW<`left` STRING, `right` BIGINT>"
TABLES: list[tuple[str, str, list[str], list[Any]]] = [
    ("rows", java_spec("Tables$Split", ["STRING"], SPLIT, kind="table"), ["'a bcd'"], [("a", 1), ("bcd", 3)]),
    (
        "overload of rows",
        java_spec("Tables$Split", ["STRING", "STRING"], SPLIT, kind="table"),
        ["'a,b'", "','"],
        [("a", 1), ("b", 1)],
    ),
    ("none", java_spec("Tables$Split", ["STRING"], SPLIT, kind="table"), [NULL], []),
    (
        "bare values",
        java_spec("Tables$Numbers", ["INT NOT NULL"], "INT", kind="table"),
        ["4"],
        [(0,), (1,), (None,), (3,)],
    ),
    (
        "one object again and again",
        java_spec(
            "Tables$Reused", ["MAP<STRING, BIGINT>"], "ROW<`k` STRING, `v` BIGINT>", kind="table", result_bridge=ROWDATA
        ),
        ["map('a', 1L, 'b', NULL)"],
        [("a", 1), ("b", None)],
    ),
    (
        "structured rows",
        java_spec(
            "Tables$Pairs",
            ["STRING", "STRING"],
            PAIR,
            kind="table",
            varargs=True,
            result_bridge="com.acme.Tables$Pair",
            descriptor="([Ljava/lang/String;)V",
        ),
        ["'x'", NULL],
        [("x", 0), (None, 1)],
    ),
]


@pytest.mark.parametrize(("spec", "arguments", "rows"), [c[1:] for c in TABLES], ids=[c[0] for c in TABLES])
def test_a_table_function(java: SparkSession, spec: str, arguments: list[str], rows: list[Any]) -> None:
    assert called(java, spec, arguments) == rows


def test_rows_beside_those_that_they_are_made_of(java: SparkSession) -> None:
    spec = java_spec("Tables$Split", ["STRING"], SPLIT, kind="table")
    lines = java.createDataFrame([(1, "a b"), (2, ""), (3, None), (4, "c")], "id INT, line STRING")
    found = {
        how: sorted(map(tuple, lines.selectExpr("id", f"{how}({java_call(spec, ['line'])}) AS (w, n)").collect()))
        for how in ("inline", "inline_outer")
    }
    inner = [(1, "a", 1), (1, "b", 1), (4, "c", 1)]
    assert found == {"inline": inner, "inline_outer": sorted([*inner, (2, None, None), (3, None, None)])}


# ---- aggregates -----------------------------------------------------------------------------------------------------


OWN = "com.acme.Aggregates$"
AVERAGE = aggregate("WeightedAvg", ["BIGINT", "INT"], "BIGINT", f"{OWN}WeightedAvgAccumulator")
DISTINCT = aggregate("CountDistinct", ["STRING"], "BIGINT", f"{OWN}Distinct")
COLLECT = aggregate("Collect", ["STRING"], "ARRAY<STRING>", f"{OWN}Collecting")
TOTAL = aggregate("Total", ["DECIMAL(10, 2)"], "ROW<`total` DECIMAL(20, 2), `n` BIGINT>", "org.apache.flink.types.Row")
MAX = aggregate("MaxOf", ["DOUBLE"], "DOUBLE", "org.apache.flink.api.java.tuple.Tuple2")
EVERYTHING = aggregate("Everything", ["STRING", "INT"], "STRING", f"{OWN}Nested")
COUNT = aggregate("Count", [], "BIGINT", f"{OWN}WeightedAvgAccumulator")
TOP = aggregate(
    "Top2",
    ["INT"],
    "ROW<`f0` INT, `f1` INT>",
    f"{OWN}Top2Accumulator",
    kind="table_aggregate",
    result_bridge="org.apache.flink.api.java.tuple.Tuple2",
)
V = "CAST(v AS {})".format
AGGREGATES: list[tuple[str, str, list[str], list[Any]]] = [
    ("merged", AVERAGE, [V("BIGINT"), V("INT")], [(0, 6), (1, 6)]),
    ("without merge, a map view", DISTINCT, ["CAST(v % 4 AS STRING)"], [(0, 2), (1, 2)]),
    ("row, decimals", TOTAL, [V("DECIMAL(10,2)")], [(0, (Decimal("20.00"), 5)), (1, (Decimal("25.00"), 5))]),
    ("tuple, generics", MAX, [V("DOUBLE")], [(0, 8.0), (1, 9.0)]),
    ("no arguments", COUNT, [], [(0, 5), (1, 5)]),
    ("table", TOP, [V("INT")], [(0, [(8, 1), (6, 2)]), (1, [(9, 1), (7, 2)])]),
]


@pytest.mark.parametrize(("spec", "arguments", "rows"), [c[1:] for c in AGGREGATES], ids=[c[0] for c in AGGREGATES])
def test_an_aggregate_over_rows_of_many_tasks(
    java: SparkSession, spec: str, arguments: list[str], rows: list[Any]
) -> None:
    frame = java.range(0, 10, numPartitions=4).selectExpr("id % 2 AS k", "id AS v")
    grouped = frame.groupBy("k").agg(expr(java_call(spec, arguments)).alias("r"))
    assert sorted(map(tuple, grouped.collect())) == rows


def test_an_aggregate_over_no_rows(java: SparkSession) -> None:
    calls = [expr(java_call(s, ["CAST(id AS BIGINT)", "1"])).alias("a") for s in [AVERAGE]]
    assert java.range(0).agg(*calls, expr(java_call(COUNT, [])).alias("b")).collect() == [(None, 0)]


RETRACTED: list[tuple[str, str, str, list[Any]]] = [
    ("average", AVERAGE, "CAST(v AS BIGINT), 1", [(0, 3), (1, 6)]),
    ("map view", DISTINCT, "CAST(v AS STRING)", [(0, 4), (1, 4)]),
    ("list view in order", COLLECT, "CAST(v AS STRING)", [(0, ["0", "2", "4", "6"]), (1, ["3", "5", "7", "9"])]),
]
CHANGES = [(v % 2, v, 1, v) for v in range(10)] + [(0, 8, -1, 10), (1, 1, -1, 11)]
"""Key, value, weight, sequence."""


def retracting(spec: str, arguments: str, function: str) -> str:
    kind = retract_kind(spec)
    call = f"flinkddl.{function}(CAST(w AS BIGINT), CAST(s AS BIGINT), named_struct('{kind}:0', struct({arguments})))"
    return f"{call}.n.`{kind}:0`"


@pytest.mark.parametrize(("spec", "arguments", "rows"), [c[1:] for c in RETRACTED], ids=[c[0] for c in RETRACTED])
def test_rows_are_taken_back(java: SparkSession, spec: str, arguments: str, rows: list[Any]) -> None:
    shuffled = java.createDataFrame(sorted(CHANGES, key=lambda c: -c[3]), "k INT, v INT, w INT, s INT").repartition(3)
    grouped = shuffled.groupBy("k").agg(expr(retracting(spec, arguments, "retract_aggregate")).alias("r"))
    assert sorted(map(tuple, grouped.collect())) == rows


KEPT = [
    (AVERAGE, "struct(CAST(v AS BIGINT), 1)"),
    (COLLECT, "struct(CAST(v AS STRING))"),
    (EVERYTHING, "IF(w > 0, struct(CAST(w AS STRING), v), NULL)"),  # as a FILTER leaves rows out
]


@pytest.mark.parametrize("function", ["stage_aggregate_1", "retract_aggregate"])
def test_accumulators_are_kept_from_batch_to_batch(java: SparkSession, tmp_path: Path, function: str) -> None:
    rows = tmp_path / "rows"
    rows.mkdir()
    for n in range(4):
        part = "\n".join(json.dumps(dict(zip("kvws", c, strict=True))) for c in CHANGES[3 * n : 3 * n + 3])
        (rows / f"{n}.json").write_text(part)
        os.utime(rows / f"{n}.json", (n, n))
    source = (
        java.readStream.schema("k INT, v INT, w BIGINT, s BIGINT").option("maxFilesPerTrigger", "1").json(str(rows))
    )
    kinds = [f"{retract_kind(spec)}:{i}" for i, (spec, _) in enumerate(KEPT)]
    items = ", ".join(f"'{kind}', {argument}" for kind, (_, argument) in zip(kinds, KEPT, strict=True))
    grouped = source.groupBy("k").agg(expr(f"flinkddl.{function}(w, s, named_struct({items}))").alias("r"))
    taken = grouped.where("r IS NOT NULL").selectExpr("k", *(f"r.n.`{kind}` AS r{i}" for i, kind in enumerate(kinds)))
    query = taken.writeStream.outputMode("update").format("memory").queryName(f"kept_{function}")
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()
    newest = [tuple(r) for r in java.table(f"kept_{function}").collect()][-2:]
    assert sorted(newest) == [
        (0, 3, ["0", "2", "4", "6"], "{1=[0, 2, 4, 6, 8]} 20 [3, 0, 2, 0] 1"),
        (1, 6, ["3", "5", "7", "9"], "{1=[1, 3, 5, 7, 9]} 25 [0, 3, 0, 2] 1"),
    ]


# ---- what goes wrong, and the life of an object ----------------------------------------------------------------------

FAILING: list[tuple[str, str, list[str], str]] = [
    (
        "throws",
        java_spec("Scalars$Throwing", ["STRING", "INT NOT NULL"], "STRING"),
        ["'secret'", "3"],
        "FD889: the Java function 'com.acme.Scalars$Throwing' failed in eval(String, int) at Scalars.java:",
    ),
    (
        "future",
        ASKED,
        ["-1"],
        "java.lang.IllegalStateException: no id",
    ),
    (
        "null for a primitive",
        java_spec("Scalars$Plus", ["INT", "INT"], "INT", bridges=["int", "int"], result_bridge="int"),
        ["1", "CAST(NULL AS INT)"],
        "argument 2 is NULL, and the method takes a primitive",
    ),
    ("cached file", java_spec("Scalars$Cached", ["STRING"], "STRING"), ["'a'"], "there is no file 'words'"),
    (
        "no such class",
        java_spec("Missing", ["STRING"], "STRING"),
        ["'a'"],
        "FD890: the class 'com.acme.Missing' is not in the jars of the function",
    ),
    ("no function", java_spec("Scalars$User", ["STRING"], "STRING"), ["'a'"], "is no function of Flink"),
    ("no such method", java_spec("Scalars$Greet", ["DOUBLE"], "STRING"), ["1D"], "has no method eval(Double)String"),
    (
        "other arguments",
        java_spec("Scalars$Greet", ["STRING"], "STRING"),
        ["1D"],
        "takes [STRING], not STRUCT<c0: DOUBLE>",
    ),
    (
        "no type of Spark's",
        java_spec("Scalars$Greet", ["STRING"], "RAW(com.acme.Scalars$User)", result_bridge="com.acme.Scalars$User"),
        ["'a'"],
        "FD890: Spark has no type that carries RAW(com.acme.Scalars$User)",
    ),
    (
        "rows at the end",
        java_spec("Tables$Finishing", ["STRING"], "STRING", kind="table"),
        ["'a'"],
        "a row collected in finish() has no place to go on Spark",
    ),
]


@pytest.mark.parametrize(("spec", "arguments", "message"), [c[1:] for c in FAILING], ids=[c[0] for c in FAILING])
def test_a_failure_names_the_function(java: SparkSession, spec: str, arguments: list[str], message: str) -> None:
    with pytest.raises(Exception, match=re.escape(message)) as raised:
        called(java, spec, arguments)
    assert "secret" not in reason(full_text(raised.value))


def test_no_row_is_taken_back_without_a_method_for_it(java: SparkSession) -> None:
    changes = java.createDataFrame([(1, 1, 1), (1, -1, 2), (2, 1, 3)], "v INT, w INT, s INT")
    with pytest.raises(
        Exception, match=r"FD890: rows are taken back, and the class .com\.acme\.Aggregates\$MaxOf. has no"
    ):
        changes.agg(expr(retracting(MAX, "CAST(v AS DOUBLE)", "retract_aggregate"))).collect()


def test_an_object_is_opened_and_closed_once_a_task(java: SparkSession) -> None:
    def count(what: str) -> int:
        text = f"reflect('java.lang.System', 'getProperty', 'com.acme.{what}')"
        value = java.range(1).selectExpr(f"{text} AS v").collect()[0].v
        return 0 if value == "null" else int(value)

    spec = java_spec("Scalars$Opening", [], "STRING")
    before = count("opened"), count("closed")
    frame = java.range(0, 6, numPartitions=2).selectExpr("id", f"{java_call(spec, [], {'prefix': 'p'})} AS v")
    assert [r.v for r in frame.collect()] == ["p1", "p2", "p3"] * 2
    assert (count("opened"), count("closed")) == (before[0] + 2, before[1] + 2)


def test_two_versions_of_a_class_do_not_meet(java: SparkSession, tmp_path: Path) -> None:
    values = {}
    for version in ("one", "two"):
        jar = compiled(tmp_path / version, {"F.java": VERSIONED.replace("VERSION", version)})
        ship_java(java, [str(jar)])
        values[version] = java_spec("F", ["STRING"], "STRING", jars=[str(jar)])
    columns = [f"{java_call(spec, ['CAST(id AS STRING)'])} AS {v}" for v, spec in values.items()]
    assert java.range(1).selectExpr(*columns).collect() == [("0 one", "0 two")]


@pytest.mark.slow
def test_executors_of_a_cluster_get_the_jars(tmp_path: Path) -> None:
    jar = compiled(tmp_path, {"F.java": VERSIONED.replace("VERSION", "there")})
    program = [sys.executable, "-m", "tests.jvm.java_on_cluster", str(jar)]
    spec = java_spec("F", ["STRING"], "STRING", jars=[str(jar)])
    done = subprocess.run([*program, spec], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "['0 there', '1 there', '2 there', '3 there']"


VERSIONED = """
package com.acme;
public class F extends org.apache.flink.table.functions.ScalarFunction {
    static String version = "VERSION";
    public String eval(String s) { return s + " " + version; }
}
"""
