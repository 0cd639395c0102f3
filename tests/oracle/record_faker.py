# ruff: noqa: E501 (tables read better as one line a case)
"""What Flink-faker 0.5.3 itself makes of texts of each type, in a real Flink 2.3: tests/data/goldens/faker.jsonl.

    python -m tests.oracle.record_faker FAKER.jar DATAFAKER.jar ...    ask and write the file anew

FAKER.jar is https://github.com/knaufk/flink-faker built against Flink 2.3 (``open`` takes an OpenContext there, and
``getTaskInfo()`` says which of how many tasks it is); the others are Datafaker and what it needs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from flinkddl.catalog.printing import literal_of
from tests.oracle.seeds import ORACLE, reason

KEPT = Path(__file__).parents[1] / "data" / "goldens" / "faker.jsonl"
# type of the column -> texts, each its whole expression
VALUES: dict[str, tuple[str, ...]] = {
    "BOOLEAN": ("TRUE", "yes", "1", ""),
    "TINYINT": ("-128", "+5", "128", "1.0"),
    "SMALLINT": ("007", "32768"),
    "INT": ("42", " 42", "2147483648", "#{regexify '(17)'}"),
    "BIGINT": ("-9223372036854775808", "1L"),
    "FLOAT": ("1e3", "NaN", "-Infinity", " 1.5 ", "1,5"),
    "DOUBLE": ("0x1p3", "1d", "1e400", "x"),
    "DECIMAL(5, 2)": ("1.005", "-0.005", "1E2", "123456", "1,5", " 1"),
    "STRING": ("", "a'b", "#{regexify '(x|x){3}'}", "ü #{", "#{options.option 'a','a'}"),
    "CHAR(3)": ("abcdef", "a"),
    "VARCHAR(2)": ("abcdef", "a"),
    "DATE": ("2020-01-02 23:59:59", "1969-12-31 00:00:00", "1969-12-31 12:00:00", "1950-06-01 06:00:00", "2020-13-01 00:00:00"),
    "TIME": ("3600000000000", "1999999", "-1", "x"),
    "TIMESTAMP(3)": ("2020-01-02 10:00:00.123456789", "2020-01-02 10:00:00", "2020-02-30 10:00:00", "1950-01-01 00:00:00.5"),
    "TIMESTAMP(0)": ("2020-01-02 10:00:00.9",),
    "TIMESTAMP(6)": ("2020-01-02 10:00:00.123456789",),
    "TIMESTAMP_LTZ(3)": ("2020-01-02 10:00:00.123456789", "2020-02-30 10:00:00"),
    "ARRAY<INT>": ("3", "x"),
    "MULTISET<STRING>": ("a",),
}  # fmt: skip
# columns, options behind the connector; what is read
TABLES: tuple[tuple[str, str, str], ...] = (
    ("c ARRAY<INT>", "'fields.c.expression' = '3', 'fields.c.length' = '3'", "CAST(c AS STRING)"),
    ("c ARRAY<INT>", "'fields.c.expression' = '3', 'fields.c.null-rate' = '1.0'", "CAST(c AS STRING)"),
    ("c MULTISET<STRING>", "'fields.c.expression' = 'a', 'fields.c.length' = '3'", "CAST(c AS STRING)"),
    ("c MAP<STRING, INT>", "'fields.c.key.expression' = 'k', 'fields.c.value.expression' = '7', 'fields.c.length' = '2'",
     "CAST(c AS STRING)"),
    ("c ROW<x INT, y STRING>", "'fields.c.x.expression' = '1', 'fields.c.y.expression' = 'z'", "CAST(c AS STRING)"),
    ("c INT", "'fields.c.expression' = '1', 'fields.c.null-rate' = '1'", "CAST(c AS STRING)"),
    ("c INT", "'fields.c.expression' = '1', 'fields.c.null-rate' = '1.1'", "c"),
    ("c INT", "'fields.c.expression' = '1', 'fields.c.null-rate' = '-0.1'", "c"),
    ("c INT", "'fields.c.expression' = '1', 'fields.c.length' = '2'", "c"),
    ("c ARRAY<INT>", "'fields.c.expression' = '1', 'fields.c.length' = '0'", "c"),
    ("c INT", "'fields.d.expression' = '1'", "c"),
    ("c MAP<STRING, INT>", "'fields.c.key.expression' = 'k'", "c"),
    ("c BYTES", "'fields.c.expression' = '1'", "c"),
    ("c INTERVAL DAY", "'fields.c.expression' = '1'", "c"),
    ("c STRING", "'fields.c.expression' = '#{Nope.x}'", "c"),
    ("c STRING", "'fields.c.expression' = '#{Name.fulName}'", "c"),
    ("c INT, d AS c + 1, e INT", "'fields.c.expression' = '1', 'fields.e.expression' = '5'", "CAST(c + d + e AS STRING)"),
)  # fmt: skip


def cases() -> list[tuple[str, str, str]]:
    """Return columns, options and what is selected, of each table."""
    of_values = [
        (f"c {kind}", f"'fields.c.expression' = {literal_of(text)}", "CAST(c AS STRING)")
        for kind, texts in VALUES.items()
        for text in texts
    ]
    return [*of_values, *TABLES]


def ask(jars: list[str]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [{"id": None, "sql": "SHOW TABLES", "reset": True}]
    lines += [{"id": None, "sql": f"ADD JAR '{jar}'"} for jar in jars]
    for i, (columns, options, selected) in enumerate(cases()):
        lines.append({"id": None, "sql": f"CREATE TABLE f{i} ({columns}) WITH ('connector' = 'faker', "
                      f"'number-of-rows' = '2', {options})"})  # fmt: skip
        lines.append({"id": i, "sql": f"SELECT {selected} FROM f{i}"})
    asked = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([str(ORACLE), "pipe", "batch"], input=asked, capture_output=True, text=True, check=True)
    found = {a["id"]: a for a in map(json.loads, done.stdout.splitlines()) if a["id"] is not None}
    return [
        {"columns": c, "options": o, "select": s, "rows": found[i].get("rows"), "error": reason(found[i])}
        for i, (c, o, s) in enumerate(cases())
    ]


def kept() -> list[dict[str, Any]]:
    return [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in ask(sys.argv[1:]))
    KEPT.write_text(text, encoding="utf-8")
