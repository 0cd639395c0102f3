"""The edits of scripts over checkpoints: what they are in every run, a few of them with Kafka in the nightly one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script
from tests.upgrades.__main__ import Place, expected, upgrades
from tests.upgrades.edits import EDITS, Edit
from tests.upgrades.shapes import BEST, ORDERS, TOTALS, VISITS, closed, joined, left_joined, top2
from tests.upgrades.tables import Span, Table, gone_on, read

if TYPE_CHECKING:
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker


def test_there_are_enough_of_each() -> None:
    assert len({e.name for e in EDITS}) == len(EDITS) >= 24
    assert sum(e.answer.refused for e in EDITS) >= 10
    same = [e for e in EDITS if e.script == e.shape.script]
    assert [e.name for e in same] == [e.name for e in EDITS if (e.by or e.shape.by) and "edited" not in e.name]
    assert len(same) == 14


@pytest.mark.parametrize("edit", EDITS, ids=lambda e: e.name)
def test_both_scripts_are_planned(edit: Edit) -> None:
    for script in (edit.shape.script, edit.script):
        text = script.replace("${SERVERS}", "b:9092").replace("${P}", "p-")
        out = compile_script(SourceText("<upgrade>", text))
        assert not out.has_errors, out.diagnostics


@pytest.mark.parametrize("edit", EDITS, ids=lambda e: e.name)
def test_the_second_start_has_something_to_do(edit: Edit) -> None:
    shape, tables = edit.shape, expected(edit)
    first = {name: results(shape.before) for name, results in shape.results.items()}
    assert all(first.values())
    same = {name: tables[name] == table for name, table in first.items()}
    left_alone = first.keys() if edit.answer.refused else {*edit.elsewhere, *edit.gone}
    assert same == {name: name in left_alone for name in first}


def test_what_changed_passes_the_new_filter_or_stays() -> None:
    one, two, three = {"n": 1}, {"n": 2}, {"n": 3}
    was: Table = {("a",): one, ("b",): three, ("c",): one, ("d",): one}
    now: Table = {("a",): two, ("b",): one, ("d",): one, ("e",): three}
    left = gone_on(was, Span(was, now), lambda r: r if r["n"] > 1 else None)
    # b leaves the filter, c never passed it and stays, d did not change
    assert left == {("a",): {"n": 2}, ("c",): {"n": 1}, ("d",): {"n": 1}, ("e",): {"n": 3}}


def test_a_sink_is_the_last_value_of_each_key() -> None:
    key, other = b'{"k": 1}', b'{"k": 2}'
    assert read([(key, b'{"k": 1, "n": 1}'), (other, b'{"k": 2}'), (key, b'{"n": 2, "k": 1}'), (other, None)]) == {
        (1,): {"k": 1, "n": 2}
    }


def test_the_recounts_by_hand() -> None:
    assert TOTALS.results["totals"](ORDERS)["south",] == {"region": "south", "n": 2, "total": 13}
    assert BEST.results["best"](ORDERS) == {("c1",): {"cust": "c1", "total": 23}, ("c2",): {"cust": "c2", "total": 23}}
    assert [(k, r["price"]) for k, r in top2(ORDERS).items() if k[0] == "north"] == [
        (("north", 1), 20),
        (("north", 2), 10),
    ]
    assert joined(ORDERS) == {}
    assert left_joined(ORDERS)[1,] == {"id": 1, "price": 10, "name": None}
    assert closed(VISITS) == {("2026-01-02 10:00:00", "home"): {"start": "2026-01-02 10:00:00", "page": "home", "n": 3}}


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_edits_over_checkpoints(broker: Broker, tmp_path: Path) -> None:
    edits = [e for e in EDITS if e.name in {"having-added", "key-changed", "insert-less-allowed"}]
    with Place(broker.bootstrap, tmp_path) as place:
        outcomes = upgrades(place, edits)
    assert [o.line() for o in outcomes if o.wrong] == []
    # and the unedited script over what was refused
    assert len(outcomes) == 4
