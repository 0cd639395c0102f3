"""Records Flink's rows of ``tests/functions/java_queries.py``: ``python -m tests.oracle.record_java_queries``.

Both ways, all queries in one job, each with the rows that stay in the end.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.functions.java_queries import ALL, DECLARED, JARS, LINES, QUERIES, RECORDED, named
from tests.oracle.record_java import ORACLE
from tests.support.java_udf import udf_jar

NOT_IN_BATCH = ("c_asked", "j_later", "over five minutes", "over distinct")
"""Flink's batch mode has no async functions and no DISTINCT in OVER, and fails to compile a frame of time."""


def asked(folder: Path, mode: str) -> list[tuple[str, str]]:
    """Return what is asked, each under its name."""
    events = folder / "events"
    events.mkdir(exist_ok=True)
    (events / "events.json").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    options = f"'connector' = 'filesystem', 'path' = '{events}', 'format' = 'json'"
    jars = [shutil.copyfile(udf_jar(jar), folder / f"{jar}.jar") for jar in JARS]  # Flink wants names that differ
    first = [f"ADD JAR '{jar}'" for jar in jars]
    first += [f"CREATE FUNCTION {name} AS '{cls}'" for name, cls in ALL.items()]
    first += [s.format(options=options) for s in DECLARED]
    names = [name for name in QUERIES if mode == "streaming" or name not in NOT_IN_BATCH]
    return [*((f"first {n}", s) for n, s in enumerate(first)), ("all", named(names))]


def answers(mode: str, folder: Path) -> dict[str, list[list[str | None]]]:
    """Return the rows by query. Raises RuntimeError where Flink refuses something."""
    lines = "".join(json.dumps({"id": n, "sql": s, "timeout_ms": 900_000}) + "\n" for n, s in asked(folder, mode))
    done = subprocess.run([str(ORACLE), "pipe", mode], input=lines, capture_output=True, text=True, check=False)
    answers = {a["id"]: a for a in (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))}
    if failed := [a for a in answers.values() if "error" in a] or "rows" not in answers["all"]:
        raise RuntimeError(failed)
    rows: Counter[tuple[str | None, ...]] = Counter()
    for kind, *row in answers["all"]["rows"]:
        rows[tuple(row)] += 1 if kind.startswith("+") else -1
    found: dict[str, list[list[str | None]]] = {}
    for name, *rest in sorted(rows.elements(), key=repr):
        found.setdefault(str(name), []).append(list(rest))
    return found


def main() -> None:
    """Ask, write the answers, and say where the two ways differ."""
    with tempfile.TemporaryDirectory() as folder:
        said = {mode: answers(mode, Path(folder)) for mode in ("batch", "streaming")}
    for name in QUERIES:
        one, other = (said[mode].get(name) for mode in ("batch", "streaming"))
        if one != other:
            print(f"{name}: batch {one}, streaming {other}")
    lines = {mode: ",\n".join(f"  {dumped(n)}: {dumped(r)}" for n, r in rows.items()) for mode, rows in said.items()}
    body = ",\n".join(f' "{mode}": {{\n{each}\n }}' for mode, each in lines.items())
    RECORDED.write_text("{\n" + body + "\n}\n", encoding="utf-8")


def dumped(value: Any) -> str:
    """Return a value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
