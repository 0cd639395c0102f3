"""Every statement and construct: it parses, prints as the table says, and reads back as the same tree."""

from __future__ import annotations

import pytest

from tests.dialect.helpers import CASES, json_lines, printed, script, tree

LINES = [line for line in (CASES / "identity.sql").read_text(encoding="utf-8").splitlines() if line[:2] != "--"]
VARIANTS = json_lines(CASES / "variants.jsonl")


def test_the_tables_hold_hundreds_of_lines() -> None:
    assert len(LINES) + len(VARIANTS) > 250


@pytest.mark.parametrize("line", LINES)
def test_prints_as_it_stands(line: str) -> None:
    assert printed(tree(line)) == line


@pytest.mark.parametrize("case", VARIANTS, ids=lambda c: c["read"][:40])
def test_prints_the_canonical_form(case: dict[str, str]) -> None:
    node = tree(case["read"])
    assert printed(node) == case["print"]
    assert tree(case["print"]) == node


@pytest.mark.parametrize("line", LINES + [c["read"] for c in VARIANTS])
def test_pretty_text_means_the_same(line: str) -> None:
    node = tree(line)
    assert tree(printed(node, pretty=True)) == node


@pytest.mark.parametrize("line", LINES)
def test_places_lie_in_the_text(line: str) -> None:
    """A statement spans its text; every part with a place lies inside the place of what holds it."""
    from flinkddl.dialect.nodes import span_of

    node = tree(line)
    assert span_of(node) == (0, len(line))
    for part in node.walk():
        inner, outer = span_of(part), span_of(part.parent) if part.parent else None
        assert inner is None or 0 <= inner[0] < inner[1] <= len(line)
        if inner and outer:
            assert outer[0] <= inner[0]
            assert inner[1] <= outer[1]


def test_keywords_in_any_case() -> None:
    for line in LINES:
        if "'" not in line and "`" not in line and line.startswith(("SHOW", "USE", "DESCRIBE", "DROP", "RESET")):
            assert script(line.lower()).ok, line
