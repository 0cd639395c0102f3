"""Records Flink's rows of ``tests/functions/java_queries.py``: ``python -m tests.oracle.record_java_queries``.

Both ways, each with the rows that stay in the end.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.functions.java_queries import ALL, DECLARED, JARS, LINES, QUERIES, RECORDED
from tests.oracle.record_java import ORACLE
from tests.support.java_udf import udf_jar


def asked(folder: Path) -> list[tuple[str, str]]:
    """Return what is asked, each under its name."""
    (folder / "events.json").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    options = f"'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'json'"
    first = [f"ADD JAR '{udf_jar(jar)}'" for jar in JARS]
    first += [f"CREATE FUNCTION {name} AS '{cls}'" for name, cls in ALL.items()]
    first += [s.format(options=options) for s in DECLARED]
    return [*((f"first {n}", s) for n, s in enumerate(first)), *QUERIES.items()]


def answers(mode: str, folder: Path) -> dict[str, list[list[str | None]]]:
    """Return the rows by query; say which Flink does not run."""
    lines = "".join(json.dumps({"id": n, "sql": s, "timeout_ms": 300000}) + "\n" for n, s in asked(folder))
    done = subprocess.run([str(ORACLE), "pipe", mode], input=lines, capture_output=True, text=True, check=False)
    found: dict[str, list[list[str | None]]] = {}
    for said in (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")):
        name = said["id"]
        if "rows" not in said and (name in QUERIES or "error" in said):
            print(f"{mode} {name}: {said.get('chain', said)}")
        if name in QUERIES and "rows" in said:
            found[name] = table(said["rows"])
    return found


def table(changes: list[list[Any]]) -> list[list[str | None]]:
    """Return the rows that stay."""
    rows: Counter[tuple[str | None, ...]] = Counter()
    for kind, *row in changes:
        rows[tuple(row)] += 1 if kind.startswith("+") else -1
    return [list(row) for row in sorted(rows.elements(), key=repr)]


def main() -> None:
    """Ask, and write the answers."""
    with tempfile.TemporaryDirectory() as folder:
        found = {mode: answers(mode, Path(folder)) for mode in ("batch", "streaming")}
    for name in QUERIES:
        one, other = (found[mode].get(name) for mode in ("batch", "streaming"))
        if one != other:
            print(f"{name}: batch {one}, streaming {other}")
    text = {mode: {name: rows[name] for name in QUERIES if name in rows} for mode, rows in found.items()}
    body = ",\n".join(
        f' "{mode}": {{\n'
        + ",\n".join(f"  {json.dumps(n)}: {json.dumps(r, ensure_ascii=False)}" for n, r in rows.items())
        + "\n }"
        for mode, rows in text.items()
    )
    RECORDED.write_text("{\n" + body + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
