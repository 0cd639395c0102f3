"""Long chains of one operator have the value of short ones, on real Spark."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.functions.chains import LONG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGEST = 500
ROWS = """(VALUES
  (7, CAST(9223372036854775807 AS BIGINT), CAST(1.1 AS DOUBLE), CAST(1.25 AS DECIMAL(10, 2)), 'x', CAST(0.1 AS FLOAT)),
  (2147483647, CAST(-3 AS BIGINT), CAST('-0.3' AS DOUBLE), CAST(-1.25 AS DECIMAL(10, 2)), 'yz', CAST(2.5 AS FLOAT)),
  (CAST(NULL AS INT), CAST(NULL AS BIGINT), CAST(NULL AS DOUBLE), CAST(NULL AS DECIMAL(10, 2)), CAST(NULL AS STRING),
   CAST(NULL AS FLOAT))) AS t (a, b, d, e, s, g)"""
A, B, D = (7, 2147483647, None), (2**63 - 1, -3, None), (1.1, -0.3, None)


def wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def quotient(a: int, b: int) -> int:
    return int(math.copysign(abs(a) // abs(b), a * b))


def folded(values: tuple[Any, ...], step: Any, count: int) -> list[Any]:
    """Return what a loop over the chain gives, value by value."""
    out: list[Any] = []
    for value in values:
        total = value
        for i in range(1, count):
            total = None if value is None else step(total, value, i)
        out.append(total)
    return out


def alternating(count: int, name: str) -> str:
    return name + "".join(f" {'+' if i % 3 else '-'} {name}" for i in range(1, count))


def sign(i: int) -> int:
    return 1 if i % 3 else -1


CASES = {
    "+": (lambda n: " + ".join(["a"] * n), A, lambda t, v, _: wrapped(t + v, 32)),
    "-": (lambda n: " - ".join(["a"] * n), A, lambda t, v, _: wrapped(t - v, 32)),
    "+-": (lambda n: alternating(n, "a"), A, lambda t, v, i: wrapped(t + sign(i) * v, 32)),
    "*": (lambda n: " * ".join(["a"] * n), A, lambda t, v, _: wrapped(t * v, 32)),
    "/": (lambda n: " / ".join(["a"] * n), A, lambda t, v, _: quotient(t, v)),
    "%": (lambda n: " % ".join(["a"] * n), A, lambda t, v, _: int(math.fmod(t, v))),
    "TINYINT": (
        lambda n: " + ".join(["CAST(a % 100 AS TINYINT)"] * n),
        (7, 47, None),
        lambda t, v, _: wrapped(t + v, 8),
    ),
    "BIGINT +": (lambda n: " + ".join(["b"] * n), B, lambda t, v, _: wrapped(t + v, 64)),
    "BIGINT +-": (lambda n: alternating(n, "b"), B, lambda t, v, i: wrapped(t + sign(i) * v, 64)),
    "BIGINT *": (lambda n: " * ".join(["b"] * n), B, lambda t, v, _: wrapped(t * v, 64)),
    "BIGINT /": (lambda n: " / ".join(["b"] * n), B, lambda t, v, _: quotient(t, v)),
    "DOUBLE +": (lambda n: " + ".join(["d"] * n), D, lambda t, v, _: t + v),
    "DOUBLE +-": (lambda n: alternating(n, "d"), D, lambda t, v, i: t + sign(i) * v),
    "DOUBLE *": (lambda n: " * ".join(["d"] * n), D, lambda t, v, _: t * v),
    "||": (lambda n: " || ".join(["s"] * n), ("x", "yz", None), lambda t, v, _: t + v),
    "||, then +": (lambda n: f"CHAR_LENGTH({' || '.join(['s'] * n)})", (1, 2, None), lambda t, v, _: t + v),
}


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES)
def test_value(case: str, spark: SparkSession) -> None:
    """Whole numbers wrap at every step, floating point rounds at every step, NULL is NULL: short, long and longest."""
    text, values, step = CASES[case]
    lengths = (LONG - 1, LONG + 1, LONG + 2, LONGEST)
    assert computed(spark, [text(n) for n in lengths]) == [folded(values, step, n) for n in lengths]


@pytest.mark.spark
def test_decimal_and_float(spark: SparkSession) -> None:
    """DECIMAL grows to 38 digits in a short chain and in a long one; FLOAT is added up as FLOAT."""
    short = computed(spark, [" + ".join(["e"] * (LONG - 1)), " + ".join(["g"] * (LONG - 1))])
    long = computed(
        spark, [f"({' + '.join(['e'] * 1000)}) / 1000 * {LONG - 1}", f"{' + '.join(['g'] * LONG)} + g - g - g"]
    )
    assert [float(v) for v in long[0][:2]] == [float(v) for v in short[0][:2]] == [38.75, -38.75]
    assert long[1] == pytest.approx(short[1])
    overflow = computed(spark, [" * ".join(["e"] * 20), " * ".join(["e * 1000000"] * 60)])
    assert overflow[1] == [None, None, None]


def computed(spark: SparkSession, texts: list[str]) -> list[list[Any]]:
    """Return the values of expressions over the rows, each in the rows' order."""
    catalog = Catalog(spark=spark, views=False)
    catalog.execute("SET 'execution.runtime-mode' = 'batch'")
    rows = catalog.execute(f"SELECT {', '.join(texts)} FROM {ROWS}").collect()
    return [[row[i] for row in rows] for i in range(len(texts))]
