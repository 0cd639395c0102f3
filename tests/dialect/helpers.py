"""What the tests of the dialect share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import SourceText
from flinkddl.dialect import Script, parse_script
from flinkddl.dialect.flink import Flink

if TYPE_CHECKING:
    from sqlglot import exp

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests/cases/dialect"
GOLDENS = ROOT / "tests/data/goldens"
FLINK = Flink()


def script(text: str, **variables: str) -> Script:
    return parse_script(SourceText("<sql>", text), variables)


def tree(text: str) -> exp.Expression:
    parsed = script(text)
    assert parsed.diagnostics == (), parsed.diagnostics
    assert len(parsed.statements) == 1
    return parsed.statements[0].tree


def printed(node: exp.Expression, pretty: bool = False) -> str:
    return str(node.sql(dialect=FLINK, pretty=pretty))


def expression(text: str) -> exp.Expression:
    return tree(f"SELECT {text}").expressions[0]


def json_lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
