"""The grammar files and the parser say the same: what the one writes the other reads, and each cites each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.dialect.ebnf import Writer, grammar
from tests.dialect.helpers import printed, script, tree

ROOM = Path(__file__).parents[2] / "flinkddl/dialect"
PARSERS = [ROOM / "cursor.py", *sorted(ROOM.glob("parse_*.py"))]
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in PARSERS)


def test_every_production_is_cited_by_the_parser() -> None:
    cited = set(re.findall(r"``([a-z_]+)``", SOURCE))
    assert grammar().keys() - cited == set()


def test_every_citation_is_a_production() -> None:
    leading = set(re.findall(r'"""``([a-z_]+)``', SOURCE))
    assert leading - grammar().keys() == set()


def check(text: str) -> None:
    parsed = script(text)
    assert parsed.ok, (text, parsed.diagnostics)
    assert len(parsed.statements) == 1, text
    node = parsed.statements[0].tree
    assert tree(printed(node)) == node, text


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"\w+", "create drop alter insert show describe explain execute")))
)
def test_texts_of_a_statement_rule(name: str) -> None:
    writer = Writer(seed=len(name), depth=9)
    for _ in range(30):
        check(writer.text(name))


# Small frames around the inner rules, so that deep productions are reached by short texts.
FRAMES = (
    ("statement", "{}"),
    ("query", "{}"),
    ("create", "{}"),
    ("alter", "{}"),
    ("expression", "SELECT {}"),
    ("from", "SELECT * {}"),
    ("type", "SELECT CAST(a AS {})"),
    ("call", "SELECT {}"),
)


def test_texts_of_every_rule() -> None:
    """Two hundred texts, then those with a production that none before had, until every one was used."""
    used: set[str] = set()
    for seed in range(3_000):
        writer = Writer(seed, depth=9 + seed // len(FRAMES) % 10)
        rule, frame = FRAMES[seed % len(FRAMES)]
        text = frame.replace("{}", writer.text(rule))
        if seed < 200 or writer.used - used:
            check(text)
        used |= writer.used
        if seed >= 200 and used >= grammar().keys():
            return
    assert grammar().keys() - used == set()


@pytest.mark.slow
def test_many_texts() -> None:
    for seed in range(20_000):
        check(Writer(seed, depth=12).text("statement"))
