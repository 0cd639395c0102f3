"""What a real Flink accepted parses here, and what it refused as no SQL is refused here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.dialect.helpers import GOLDENS, json_lines, printed, script, tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = sorted(GOLDENS.glob("*/*.jsonl"))
KEYS = ("setup", "ddl", "use", "query", "sql", "insert", "sink_ddl", "sink_statement")


def texts(case: dict[str, Any]) -> Iterator[str]:
    for key in KEYS:
        value = case.get(key)
        values = value if isinstance(value, list) else [value]
        yield from (v for v in values if isinstance(v, str))


def refusal(case: dict[str, Any]) -> str:
    return json.dumps(case.get("error") or case.get("sink_error") or "")


def accepted(path: Path) -> list[tuple[str, str]]:
    """(text, id) of every text in the cases without an error, each text once."""
    return list({t: c["id"] for c in json_lines(path) if refusal(c) == '""' for t in texts(c)}.items())


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_accepted_by_flink_parses(path: Path) -> None:
    for text, case in accepted(path):
        assert script(text).ok, (case, script(text).diagnostics)


def check_prints(cases: list[tuple[str, str]]) -> None:
    for text, case in cases:
        for statement in script(text).statements:
            for pretty in (False, True):
                assert tree(printed(statement.tree, pretty)) == statement.tree, case


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_some_print_and_read_back(path: Path) -> None:
    check_prints(accepted(path)[::25])


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_all_print_and_read_back(path: Path) -> None:
    check_prints(accepted(path))


NO_SQL = ('"ParseException"', "Bang equal", "LIMIT start, count", "Incorrect syntax near")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_refused_by_flinks_parser_is_refused_here(path: Path) -> None:
    for case in json_lines(path):
        if any(mark in refusal(case) for mark in NO_SQL):
            assert not all(script(text).ok for text in texts(case)), case["id"]
