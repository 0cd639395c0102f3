"""Java functions of Flink in Spark, each called by a spec written by hand."""

from __future__ import annotations

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


SCALARS: list[tuple[str, str, list[str], Any]] = [
    ("greet", java_spec("Scalars$Greet", ["STRING"], "STRING"), ["'bob'"], "hello bob"),
    ("null", java_spec("Scalars$Greet", ["STRING"], "STRING"), ["CAST(NULL AS STRING)"], "nobody"),
]


@pytest.mark.parametrize(("spec", "arguments", "result"), [c[1:] for c in SCALARS], ids=[c[0] for c in SCALARS])
def test_a_scalar_function(java: SparkSession, spec: str, arguments: list[str], result: Any) -> None:
    (row,) = java.range(1).selectExpr(f"{java_call(spec, arguments)} AS v").collect()
    assert row.v == result
