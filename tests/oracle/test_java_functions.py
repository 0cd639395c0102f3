"""The functions of ``tests/jvm/udf`` in a real Flink: what the cases of ``tests/jvm`` expect is what it gives."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.jvm.test_java_functions import AGGREGATES, SCALARS, TABLES
from tests.support.java_udf import needs_javac, udf_jar

ORACLE = Path(os.environ.get("FLINKDDL_ORACLE", Path(__file__).parents[3] / "shared" / "oracle" / "flink"))
pytestmark = [
    pytest.mark.flink,
    needs_javac,
    pytest.mark.skipif(not ORACLE.is_file(), reason="needs a real Flink"),
]
EXPECTED = {name: result for name, _, _, result in (*SCALARS, *TABLES, *AGGREGATES)}
SPECS = {name: json.loads(spec) for name, spec, _, _ in (*SCALARS, *TABLES, *AGGREGATES)}
AB = "CAST(ROW(1, 'x') AS ROW<a INT, b STRING>)"
TEXT = "CAST(NULL AS STRING)"
CALLS: dict[str, str] = {
    "overload": "'bob'",
    "null": TEXT,
    "other overload": "'o', 2",
    "nexmark": "'banana', 'a'",
    "primitive": "1, 2",
    "boxed": "1, CAST(NULL AS BIGINT)",
    "double": "CAST(1.5 AS DOUBLE), CAST(2 AS DOUBLE)",
    "varargs of anything": "'-', 1, 'x'",
    "varargs of one type": "1, CAST(NULL AS INT), 3",
    "decimal": "CAST(1.2345 AS DECIMAL(10, 4))",
    "date": "DATE '2024-02-28'",
    "timestamp": "TIMESTAMP '1969-12-31 00:00:00.123456'",
    "bytes": "X'010203'",
    "int[]": "ARRAY[1, 2]",
    "Integer[]": "ARRAY[1, CAST(NULL AS INT), 5]",
    "list": f"ARRAY['a', {TEXT}]",
    "map": "MAP['a', 1, 'b', CAST(NULL AS INT)]",
    "row": AB,
    "generic": "'four'",
}
ROWS: dict[str, str] = {"rows": "'a bcd'", "none": TEXT, "bare values": "4", "structured rows": f"'x', {TEXT}"}
GROUPED: dict[str, str] = {
    "merged": "CAST(v AS BIGINT), v",
    "without merge, a map view": "CAST(MOD(v, 4) AS STRING)",
    "row, decimals": "CAST(v AS DECIMAL(10, 2))",
    "tuple, generics": "CAST(v AS DOUBLE)",
}
TEN = ", ".join(f"({n})" for n in range(10))


def text(value: Any) -> Any:
    """Return a value as the oracle prints it."""
    match value:
        case None:
            return None
        case bytes():
            return "0x" + value.hex()
        case Decimal() | date() if not isinstance(value, datetime):
            return str(value)
        case datetime():
            return value.isoformat()
        case dict():
            return {str(k): text(v) for k, v in value.items()}
        case list() | tuple():
            return [text(v) for v in value]
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def statements() -> dict[str, str]:
    one = {name: f"SELECT f({arguments})" for name, arguments in CALLS.items()}
    rows = {name: f"SELECT * FROM (VALUES (1)) AS t(x), LATERAL TABLE(f({a})) AS r" for name, a in ROWS.items()}
    source = f"(VALUES {TEN}) AS t(v) GROUP BY MOD(v, 2)"
    groups = {name: f"SELECT MOD(v, 2), f({a}) FROM {source}" for name, a in GROUPED.items()}
    return one | rows | groups


@pytest.mark.slow
def test_flink_gives_the_same() -> None:
    lines: list[dict[str, Any]] = []
    for name, query in statements().items():
        class_ = SPECS[name]["class"]
        lines.append(
            {"id": "", "sql": f"CREATE TEMPORARY FUNCTION f AS '{class_}' USING JAR '{udf_jar()}'", "reset": True}
        )
        lines.append({"id": name, "sql": query})
    done = subprocess.run(
        [ORACLE, "pipe", "batch"], input="\n".join(map(json.dumps, lines)), capture_output=True, text=True, check=True
    )
    answers = {a["id"]: a for a in map(json.loads, done.stdout.splitlines())}
    answers.pop("")
    found = {name: a.get("error") or sorted((r[1:] for r in a["rows"]), key=repr) for name, a in answers.items()}
    assert found == {name: expected(name) for name in statements()}


def expected(name: str) -> list[Any]:
    value = EXPECTED[name]
    if name in CALLS:
        return [[text(value)]]
    return sorted(([*(["1"] if name in ROWS else []), *text(row)] for row in value), key=repr)
