"""What Flink 2.3 says of the old scripts once ``modernize`` has rewritten them: kept in tests/cases/old_style.

Of each script: the text that was asked about (its SHA-256), and the mode in which Flink took all of its statements, or
the first one that it did not take in streaming and why. INSERTs and SELECTs are planned (EXPLAIN), not run.

    python -m tests.oracle.old_style JAR ...    ask and write the file anew; the jars are connectors and formats that
                                                 the oracle lacks (flink-connector-jdbc-core and its databases, parquet)
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import SourceText
from flinkddl.dialect.variables import VARIABLE
from flinkddl.script.modernize import modernize
from tests.oracle.seeds import ORACLE, reason, statements

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[1] / "cases" / "old_style"
VERDICTS = FOLDER / "oracle.jsonl"
MODES = ("streaming", "batch")
_PLANNED = re.compile(r"(?i)\A(?:(?:INSERT|SELECT|WITH)\b|CREATE TABLE\b[\s\S]*\)\s*AS\s+SELECT\b)")
_SET_OF = re.compile(r"(?i)\A(BEGIN STATEMENT SET|EXECUTE STATEMENT SET\s+BEGIN|END)\b;?")
_LEADING = re.compile(r"\A(?:\s|--[^\n]*\n|/\*(?!\+)[\s\S]*?\*/)*")


def today(path: Path) -> str:
    """Return an old script in today's words, its variables replaced by their defaults."""
    text = modernize(SourceText(path.name, path.read_bytes().decode())).text
    return VARIABLE.sub(lambda found: found["default"] or "", text)


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def questions(path: Path, jars: list[str]) -> Iterator[dict[str, Any]]:
    yield {"id": None, "sql": "SHOW TABLES", "reset": True}
    for jar in jars:
        yield {"id": None, "sql": f"ADD JAR '{jar}'"}
    for statement in statements(today(path)):
        for one in statements(_SET_OF.sub("", statement)) if _SET_OF.match(statement) else [statement]:
            sql = _LEADING.sub("", one)
            if sql and not _SET_OF.match(sql):
                plan = "EXPLAIN " if _PLANNED.match(sql) else ""
                yield {"id": [path.name, sql.split("\n")[0].strip()], "sql": plan + sql}


def ask(jars: list[str]) -> list[dict[str, Any]]:
    """Return a line a script; needs Java and the oracle."""
    paths = sorted(FOLDER.glob("*.sql"))
    asked = "".join(json.dumps(q) + "\n" for path in paths for q in questions(path, jars))
    refused: dict[tuple[str, str], str] = {}
    for mode in MODES:
        done = subprocess.run([str(ORACLE), "pipe", mode], input=asked, capture_output=True, text=True, check=True)
        for answer in map(json.loads, done.stdout.splitlines()):
            if answer["id"] is not None and (said := reason(answer)) is not None:
                name, statement = answer["id"]
                refused.setdefault((name, mode), f"{statement}: {said}")
    return [
        {
            "script": path.name,
            "sha256": digest(today(path)),
            "taken": (taken := next((mode for mode in MODES if (path.name, mode) not in refused), None)),
            "refused": None if taken else refused[path.name, "streaming"],
        }
        for path in paths
    ]


def kept() -> list[dict[str, Any]]:
    return [json.loads(line) for line in VERDICTS.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    VERDICTS.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in ask(sys.argv[1:])), encoding="utf-8"
    )
