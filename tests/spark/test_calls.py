"""The calls of each step kind: none is forgotten, and what need not be asked of a cluster is known."""

from __future__ import annotations

import inspect

import pytest

from flinkddl.spark import calls
from flinkddl.spark import job as J
from flinkddl.spark.calls import Chain, Frame, calls_of, known_positions


def kinds() -> list[type[J.Step]]:
    found = [k for _, k in inspect.getmembers(J, inspect.isclass) if issubclass(k, J.Step)]
    return [k for k in found if k is not J.Step and not k.__name__.startswith("_")]


def test_every_step_kind_has_its_calls() -> None:
    assert {k for k in kinds() if k is not J.Read} == set(calls._CALLS)


def test_unions_of_many_parts_are_no_deep_chain() -> None:
    def depth(value: object) -> int:
        return (
            1 + max(depth(value.start), *(depth(a) for c in value.calls for a in c.args))
            if isinstance(value, Chain)
            else 0
        )

    def leaves(value: object) -> list[str]:
        if isinstance(value, Frame):
            return [value.step]
        assert isinstance(value, Chain)
        return [x for v in (value.start, *(a for c in value.calls for a in c.args)) for x in leaves(v)]

    parts = tuple(f"p{i}" for i in range(2000))
    union = calls_of(J.UnionAll(name="u", parts=parts))
    assert leaves(union) == list(parts)
    assert depth(union) <= 12


def test_an_option_that_is_printed_says_no_secret() -> None:
    read = J.Read(name="r", format="jdbc", options={"password": "hunter2"}, streaming=False)
    opening = calls.read_calls(read, read.options)
    assert "hunter2" not in repr(opening)
    assert calls.Call("option", ("password", calls.Setting("password", "hunter2"))) in opening.calls


@pytest.mark.parametrize(
    ("start", "stop", "streaming", "known"),
    [
        ("earliest-offset", "unbounded", True, {"startingOffsets": "earliest"}),
        ("latest-offset", "unbounded", True, {"startingOffsets": "latest"}),
        ("latest-offset", "latest-offset", True, {"startingOffsets": "latest"}),
        ("timestamp", "unbounded", True, {}),
        ("earliest-offset", "latest-offset", False, {"startingOffsets": "earliest", "endingOffsets": "latest"}),
        ("latest-offset", "latest-offset", False, {}),  # Spark takes no such batch
        ("earliest-offset", "timestamp", False, {}),
        ("group-offsets", "latest-offset", False, {}),
    ],
)
def test_positions(start: str, stop: str, streaming: bool, known: dict[str, str]) -> None:
    assert known_positions({"mode": start}, {"mode": stop}, streaming) == known
