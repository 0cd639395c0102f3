"""What the documents promise (tests/data/promises.toml): each promise has a proof, each proof runs in ``make test``."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from samples.run import names
from tests.support.seeds import NAMES

TESTS = Path(__file__).parent
TABLE = tomllib.loads((TESTS / "data" / "promises.toml").read_text(encoding="utf-8"))
DOCUMENTS = TABLE.pop("documents")
PROOFS = {f"{document}/{id}": line["proof"] for document, lines in TABLE.items() for id, line in lines.items()}


@cache
def running() -> frozenset[str]:
    """Return the tests of ``make test``: its selection, collected by pytest over the files that promises name."""
    marks = re.search(r'^test: .*\n.*-m "(.+)"', (TESTS.parent / "Makefile").read_text(encoding="utf-8"), re.M)
    assert marks
    files = {proof.partition("::")[0] for proofs in PROOFS.values() for proof in proofs if "::" in proof}
    files.add("samples/test_samples.py")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", marks[1]]
    command += sorted(f"tests/{f}" for f in files)
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [line.removeprefix("tests/") for line in done.stdout.splitlines() if "::" in line]
    return frozenset(found + [re.sub(r"\[.*", "", name) for name in found])


def test_each_document_is_here_and_each_line_says_something() -> None:
    assert list(DOCUMENTS) == list(TABLE)
    lines = [line for lines in TABLE.values() for line in lines.values()]
    assert all(set(line) == {"says", "proof"} and line["says"] and line["proof"] for line in lines)
    assert len(lines) >= 128


def test_each_block_has_a_line() -> None:
    blocks = {f"{document}_{n}" for document, n in (re.findall(r"^([a-z]+)_(\d)", name)[0] for name in NAMES)}
    lines = {f"{i.partition('/')[0]}_{i.rpartition('-')[2]}" for i in PROOFS if "/block-" in i}
    assert not blocks - lines


@pytest.mark.parametrize("id", PROOFS)
def test_a_promise_is_held(id: str) -> None:
    for proof in PROOFS[id]:
        if proof.startswith("samples/"):
            assert proof.removeprefix("samples/") in names()
            assert "samples/test_samples.py::test_every_sample_gives_what_it_promises" in running()
        else:
            assert proof in running()
