"""Each kind of state by key that the jar knows can be shown by `flinkddl state`."""

from __future__ import annotations

import re

import pytest

from flinkddl.jvm.build import SOURCES
from flinkddl.runtime.storage.heads import NO_NODE, NOTES, READERS, head_of
from flinkddl.runtime.storage.results import TELLING

STATE = next(SOURCES.rglob("Kinds.java")).parent
KINDS = dict(re.findall(r'Map\.entry\("(\w+)", (?:in -> new )?(\w+)', (STATE / "Kinds.java").read_text()))


def test_no_kind_is_forgotten() -> None:
    assert len(KINDS) > 30
    assert READERS.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_tells_its_results_where_it_is_said_to(kind: str) -> None:
    """Of a kind that is a subclass its base does."""
    source = (STATE / f"{KINDS[kind]}.java").read_text()
    base = re.search(r"class \w+ extends (\w+)", source)
    assert base is not None
    tells = " held(byte[] head" in source or (base[1] != "Kind" and " held(byte[] head" in base_of(base[1]))
    assert tells >= (kind in TELLING)


def base_of(name: str) -> str:
    return (STATE / f"{name}.java").read_text()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_head_that_cannot_be_read_is_bytes(kind: str) -> None:
    found = head_of(b"\x01" + bytes(7) + b"\xff", kind, [])
    assert (found["layout"], found["counter"]) == (1, 0)
    assert "error" in found or kind == "windowtop" or kind.startswith("window")


def test_numbers_that_are_no_nodes() -> None:
    """Whatever keeps state under a number of its own stands beyond those of nodes."""
    text = "".join(p.read_text() for p in STATE.glob("*.java"))
    found = re.findall(r"static final int (\w+) = (0xFF\w\w);", text)
    kept = [int(n, 16) for name, n in found if name != "TAKEN"]  # which is in no key of state
    assert len(kept) >= 5
    assert min(kept) == NO_NODE
    of = {p.stem: re.findall(r"int NODE = (0x\w+)", p.read_text()) for p in STATE.glob("*.java")}
    assert (int(of["Timers"][0], 16), int(of["Sweep"][0], 16)) == NOTES
