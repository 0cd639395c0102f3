"""Which cases of the connector reference stand in a test: by name (``test_k31_...``), parameter id or comment."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
TABLE = TESTS / "data" / "reference-cases.txt"
_ID = re.compile(r"(?<![A-Za-z0-9])([KPRUBEFC]\d\d)(?![A-Za-z0-9])")
_NAME = re.compile(r"def (test_\w+)")


def wanted() -> dict[str, list[str]]:
    """Return letter -> its case ids."""
    rows = (line.split()[:3] for line in TABLE.read_text(encoding="utf-8").splitlines() if line[0] != "#")
    return {letter: [f"{letter}{n:02d}" for n in range(int(low), int(high) + 1)] for letter, low, high in rows}


def covered() -> set[str]:
    """Return the ids that stand in the sources of the tests."""
    found: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(_ID.findall(text))
        for name in _NAME.findall(text):
            found |= {part.upper() for part in name.split("_") if re.fullmatch(r"[kprubefc]\d\d", part)}
    return found


def summary() -> str:
    """Return ``K 41/41, P 7/7, ...``."""
    have = covered()
    return ", ".join(f"{letter} {len(have.intersection(ids))}/{len(ids)}" for letter, ids in wanted().items())
