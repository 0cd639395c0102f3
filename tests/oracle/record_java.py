"""Records what Flink says of the calls in ``tests/functions/java_calls.py``: ``python -m tests.oracle.record_java``.

A type and values a call, or the innermost message of what is wrong. The oracle gets the jar that the tests compile.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.functions.java_calls import ANSWERS, FUNCTIONS, ROWS, SCALAR_CALLS, TABLE_CALLS, scalar_query, table_query
from tests.support.java_udf import udf_jar

ORACLE = Path(os.environ.get("FLINKDDL_ORACLE", Path(__file__).parents[3] / "shared" / "oracle" / "flink"))


def statements() -> list[tuple[str, str]]:
    """Return what is asked, each under its name."""
    asked = [("jar", f"ADD JAR '{udf_jar('acme')}'")]
    asked += [(f"create {name}", f"CREATE FUNCTION {name} AS '{cls}'") for name, cls in FUNCTIONS.items()]
    asked.append(("rows", ROWS))
    for call in SCALAR_CALLS:
        asked += [(f"type {call}", f"SELECT {call} AS v FROM given"), (f"values {call}", scalar_query(call))]
    return [*asked, *((f"table {call}", table_query(call)) for call in TABLE_CALLS)]


def answer(said: dict[str, dict[str, Any]], call: str, what: str, typed: str) -> dict[str, Any]:
    """Return what Flink said of one call."""
    entry: dict[str, Any] = {"call": call}
    if "error" in said[typed]:
        first = [c[1].partition("\n")[0] for c in said[typed]["chain"]]
        return entry | {"error": first[-1]}
    columns = [type_ for name, type_ in said[typed]["columns"]]
    rows = sorted((row[1:] for row in said[what]["rows"]), key=str) if "rows" in said[what] else None
    failed = {"failed": said[what]["error"][1].partition("\n")[0]} if "error" in said[what] else {"rows": rows}
    return entry | {"columns": said[typed]["columns"] if what == typed else columns} | failed


def main() -> None:
    """Ask, and write the answers."""
    lines = "".join(json.dumps({"id": name, "sql": sql, "timeout_ms": 60000}) + "\n" for name, sql in statements())
    done = subprocess.run([str(ORACLE), "pipe", "batch"], input=lines, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    said = {d["id"]: d for d in found}
    for name, _ in statements()[: len(FUNCTIONS) + 2]:
        assert said[name].get("ok"), said[name]
    scalars = [answer(said, c, f"values {c}", f"type {c}") for c in SCALAR_CALLS]
    tables = [answer(said, c, f"table {c}", f"table {c}") for c in TABLE_CALLS]
    entries = ",\n  ".join(json.dumps(e, ensure_ascii=False) for e in (*scalars, None, *tables))
    ANSWERS.write_text("[\n  " + entries + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
