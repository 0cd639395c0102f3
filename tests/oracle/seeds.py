"""What Flink 2.3 says of the documents' SQL blocks: asked once, kept beside them in tests/cases/seeds/oracle.jsonl.

Of each block: its statements as they stand (``written``) and without the page's slips (``meant``), null where Flink
takes one, else its reason; and whether a table that it made can be read (``read``), as options are looked at only then.
Queries are planned (EXPLAIN), not run: nothing listens at the documents' addresses.

    python -m tests.oracle.seeds    ask and write the file anew
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.cli.shell.split import split
from tests.support.seeds import NAMES, SEEDS, meant, seed

if TYPE_CHECKING:
    from collections.abc import Iterator

ORACLE = Path(os.environ.get("FLINKDDL_ORACLE", Path(__file__).parents[3] / "shared" / "oracle" / "flink"))
VERDICTS = SEEDS / "oracle.jsonl"
MORE = re.compile(
    r",? (Was expecting one of:|Available fields:|the supported precision|Primary key:).*"
)  # what Flink would have taken


def statements(text: str) -> list[str]:
    """Return the statements of a block, without the comments before them and their semicolons."""
    pieces = split(f"{text.rstrip().rstrip(';')};").statements
    return [re.sub(r"\A(\s*--.*\n)+", "", piece).strip().rstrip(";") for piece in pieces]


def tables(text: str) -> dict[str, str]:
    """Return table -> the statement that declares it."""
    found = ((re.match(r"CREATE TABLE `?(\w+)", s), s) for s in statements(text))
    return {match[1]: statement for match, statement in found if match}


def questions() -> Iterator[dict[str, Any]]:
    for name in NAMES:
        for way, text in (("written", seed(name)), ("meant", meant(name))):
            for i, statement in enumerate(statements(text)):
                plan = "" if statement.startswith("CREATE") else "EXPLAIN "
                yield {"id": [name, way, i], "sql": plan + statement, "reset": i == 0}
        for table in tables(meant(name)):
            yield {"id": [name, "read", table], "sql": f"EXPLAIN SELECT * FROM `{table}`"}


def ask() -> list[dict[str, Any]]:
    """Return a line a block; needs Java and the oracle."""
    asked = "".join(json.dumps(q) + "\n" for q in questions())
    done = subprocess.run([str(ORACLE), "pipe"], input=asked, capture_output=True, text=True, timeout=500, check=True)
    lines: dict[str, dict[str, Any]] = {n: {"block": n, "written": [], "meant": [], "read": {}} for n in NAMES}
    for answer in map(json.loads, done.stdout.splitlines()):
        name, way, which = answer["id"]
        said = reason(answer)
        if way != "read":
            lines[name][way].append(said)
        elif said is None or f"Object '{which}' not found" not in said:
            lines[name][way][which] = said
    return list(lines.values())


def reason(answer: dict[str, Any]) -> str | None:
    """Return the innermost reason in one line, or None where the statement was taken."""
    if "error" not in answer:
        return None
    words = " ".join(str(answer["error"][1]).split())
    parse = any("SQL parse failed" in text for _, text in answer["chain"])
    return MORE.sub("", f"SQL parse failed. {words}" if parse else words)


def kept() -> list[dict[str, Any]]:
    return [json.loads(line) for line in VERDICTS.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    VERDICTS.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in ask()), encoding="utf-8")
