"""Expressions on Spark with generated code: the kernels and the texts that the fast tests only look at."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from flinkddl.spark.expressions import to_spark
from tests.plan.test_expressions import COLUMNS, resolve

GOLDENS = Path(__file__).parents[1] / "data" / "goldens" / "expressions"

ROW = {
    "i": "CAST(NULL AS INT)",
    "n": "2147483647",
    "l": "9223372036854775807L",
    "d": "CAST(12.34 AS DECIMAL(10,2))",
    "x": "CAST('NaN' AS DOUBLE)",
    "f": "CAST(0.1 AS FLOAT)",
    "s": "'a,b😀'",
    "b": "true",
    "ts": "TIMESTAMP_NTZ '2024-02-29 10:11:12.345'",
    "rt": "TIMESTAMP '2024-02-29 10:11:12.345'",
    "d8": "DATE '2024-02-29'",
    "ltz": "TIMESTAMP '2024-02-29 10:11:12.345'",
    "arr": "array(1, NULL, 3)",
    "m": "map('k', 1)",
}


@pytest.fixture(scope="module")
def one(spark):
    # a cached row, so that nothing is folded while planning
    spark.range(1).selectExpr(*(f"{v} AS `{k}`" for k, v in ROW.items())).cache().createOrReplaceTempView("one")
    return spark


CASES = [
    ("n + 1", -2147483648),
    ("l + 1", -9223372036854775808),
    ("l * l", 1),
    ("n / 2", 1073741823),
    ("n / i", None),
    ("CAST(l AS INT)", -1),
    ("x = x", False),
    ("x < 1", False),
    ("x / 0", "NaN"),
    ("d + NULLIF(d, 12.34)", None),
    ("SPLIT_INDEX(s, ',', 1)", "b😀"),
    ("REGEXP_EXTRACT(s, '([a-z]),', 1)", "a"),
    ("REGEXP_EXTRACT(s, '(', 1)", None),
    ("REGEXP_REPLACE(s, ',', '$1\\')", "a$1\\b😀"),
    ("s LIKE 'a\\_%'", False),
    ("DATE_FORMAT(ts, 'yyyy-MM-dd''T''HH')", "2024-02-29T10"),
    ("CAST(ltz AS STRING)", "2024-02-29 10:11:12.345"),
    ("CAST(rt AS STRING)", "2024-02-29 10:11:12.345"),
    ("EXTRACT(MILLISECOND FROM rt)", 345),
    ("CAST(FLOOR(ts TO WEEK) AS STRING)", "2024-02-25 00:00:00.000"),
    ("TIMESTAMPDIFF(MONTH, TIMESTAMP '2024-01-31 00:00:00', ts)", 1),
    ("CAST(d8 + INTERVAL '1' MONTH AS STRING)", "2024-03-29"),
    ("arr[2]", None),
    ("arr[9]", None),
    ("ARRAY_CONTAINS(arr, CAST(NULL AS INT))", True),
    ("CAST(arr AS STRING)", "[1, NULL, 3]"),
    ("m['none']", None),
    ("JSON_VALUE('{\"a\":[{\"b\":1.50}]}', 'lax $.a[0].b')", "1.50"),
    ("JSON_OBJECT('b' VALUE d, 'a' VALUE JSON_ARRAY(n, i NULL ON NULL))", '{"a":[2147483647,null],"b":12.34}'),
    ("TRY_CAST(s AS INT)", None),
    ("CAST(f AS STRING)", "0.1"),
    ("PRINTF('%s-%d', s, n)", "a,b😀-2147483647"),
    ("s SIMILAR TO '[a-z],(b|c)%'", True),
    ("d8 = s", False),
    ("CAST('Yes' AS BOOLEAN)", True),
    ("TRY_CAST(s AS BOOLEAN)", None),
    ("CAST(INTERVAL '-1 02:03:04.5' DAY TO SECOND AS STRING)", "-1 02:03:04.500"),
    ("CAST(INTERVAL '1-2' YEAR TO MONTH AS STRING)", "+1-02"),
    ("INET_ATON('127.1')", 2130706433),
    ("INET_ATON('256.1.1.1')", None),
    ("REPLACE('ab', '', '-')", "-a-b-"),
    ("REGEXP_COUNT(s, '[a-z]')", 2),
]


@pytest.mark.spark
@pytest.mark.parametrize(("text", "expected"), CASES)
def test_value(one, text, expected):
    got = one.sql(f"SELECT {to_spark(resolve(text), list(COLUMNS))} FROM one").collect()[0][0]
    assert (str(got).replace("nan", "NaN") if isinstance(got, float) else got) == expected


@pytest.mark.spark
@pytest.mark.slow
def test_goldens():
    from tests.conformance import expressions

    counts = Counter(o.status for o in expressions.run("expressions", GOLDENS, (), 1))
    assert counts["passed"] / sum(counts.values()) >= 0.97, counts
