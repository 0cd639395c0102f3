"""Mutated scripts give our own diagnostics and nothing else, each with a place inside the text."""

from __future__ import annotations

import random

import pytest

from tests.dialect.helpers import CASES, GOLDENS, json_lines, script

PIECES = (
    *(
        "'",
        "`",
        '"',
        "(",
        ")",
        ",",
        ";",
        ".",
        "<",
        ">",
        "[",
        "]",
        "/*",
        "*/",
        "/*+ X */",
        "--",
        "//",
        "=>",
        "\n",
        "\r\n",
    ),
    *("SELECT", "FROM", "WHERE", "CASE", "END", "BEGIN", "AS", "NOT", "NULL", "INTERVAL", "TABLE", "SET ", "1", "''"),
    *("${a}", "{{b}}", "${", "é", "\x00", "\ufeff", "EXECUTE STATEMENT SET BEGIN", "INSERT INTO", "U&'\\00'", "E'\\"),
)


def pool() -> list[str]:
    lines = (CASES / "identity.sql").read_text(encoding="utf-8").splitlines()
    goldens = json_lines(GOLDENS / "queries/select.jsonl") + json_lines(GOLDENS / "queries/sink.jsonl")
    return lines + [c[k] for c in goldens for k in ("query", "sink_ddl", "sink_statement") if isinstance(c.get(k), str)]


def mutate(text: str, texts: list[str], dice: random.Random) -> str:
    for _ in range(dice.randint(1, 4)):
        start = dice.randrange(len(text) + 1)
        end = min(len(text), start + dice.randint(1, 12))
        match dice.randrange(5):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:start] + dice.choice(PIECES) + text[start:]
            case 2:
                text = f"{text[:start]} {dice.choice(PIECES)} {text[end:]}"
            case 3:
                text = text[:start] + text[start:end] * 2 + text[end:]
            case _:
                other = dice.choice(texts)
                at = dice.randrange(len(other) + 1)
                text = text[:start] + other[at : at + dice.randint(1, 60)] + text[start:]
    return text


def run(count: int, seed: int) -> None:
    dice, texts = random.Random(seed), pool()
    for _ in range(count):
        text = mutate(dice.choice(texts), texts, dice)
        for finding in script(text).diagnostics:
            assert finding.code.startswith("FD1") or finding.code == "FD672", text
            assert finding.span is not None
            assert 0 <= finding.span.start <= finding.span.end <= len(text), text
            assert finding.message
            assert not finding.message.endswith(".")


def test_two_thousand_mutations() -> None:
    run(2_000, seed=7)


@pytest.mark.slow
def test_a_hundred_thousand_mutations() -> None:
    run(100_000, seed=11)


@pytest.mark.parametrize("text", ["(" * 3000, "SELECT " + "(" * 500 + "1" + ")" * 500, "SELECT " + "NOT " * 2000 + "a"])
def test_deep_nesting_is_a_finding(text: str) -> None:
    assert {d.code for d in script(text).diagnostics} & {"FD117", "FD101", "FD102"}


def test_long_chains_are_no_nesting() -> None:
    assert script("SELECT " + " + ".join(["1"] * 3000)).ok
    assert script("SELECT * FROM t WHERE " + " OR ".join(["a = 1"] * 2000)).ok
