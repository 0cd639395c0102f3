"""Whatever a script becomes by mutation, planning it gives findings and never an exception."""

from __future__ import annotations

import random
import re

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script
from tests.cases.test_jobs import JOBS, VARIABLES
from tests.dialect.test_fuzz import mutate

TEXTS = [path.read_text(encoding="utf-8") for path in JOBS]
TOKEN = re.compile(r"[A-Za-z_]\w*|'[^']*'|\d+")
TOKENS = sorted({token for text in TEXTS for token in TOKEN.findall(text)})


def swapped(text: str, dice: random.Random) -> str:
    """Put words, strings and numbers of any script in place of others: most of what comes out still parses."""
    for _ in range(dice.randint(1, 3)):
        place = dice.choice(list(TOKEN.finditer(text)))
        text = text[: place.start()] + dice.choice(TOKENS) + text[place.end() :]
    return text


def run(count: int, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(count):
        text = dice.choice(TEXTS)
        text = swapped(text, dice) if dice.random() < 0.7 else mutate(text, TEXTS, dice)
        script = compile_script(SourceText("mutated", text), variables=VARIABLES)
        for finding in script.diagnostics:
            assert re.fullmatch(r"FD[1-8]\d\d", finding.code), (finding, text)


def test_three_hundred_mutations() -> None:
    run(300, seed=3)


@pytest.mark.slow
def test_twenty_thousand_mutations() -> None:
    run(20_000, seed=4)
