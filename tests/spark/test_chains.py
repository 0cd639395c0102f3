"""Equal parts of a query that keep state are one operator, where their rows meet again: plans, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.plan.stateforms import INSIDE, MERGES
from flinkddl.plan.stateforms import TABLES as ONCE
from flinkddl.runtime.job.supervising.begun import formed
from flinkddl.runtime.storage.checkpoint import job_folder, open_checkpoint, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.edits import compare, renumbered
from flinkddl.spark.job import GroupBy, Read
from flinkddl.spark.meaning import meanings
from flinkddl.spark.operators import operators
from flinkddl.spark.realtime import reads_of
from flinkddl.spark.stateful import stateful
from tests.support.steps import assert_in_order

if TYPE_CHECKING:
    from pathlib import Path

    from flinkddl.spark.job import SparkJob

KAFKA = "'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = 'b:9092', 'topic'"
TABLES = f"""
SET 'flinkddl.execution.state' = 'keyed';
CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, tag STRING) WITH ({KAFKA} = 'bid');
CREATE TABLE item (id BIGINT, v BIGINT, w STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = 'item', 'properties.bootstrap.servers' = 'b:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE VIEW counts AS SELECT auction, bidder, COUNT(*) AS num FROM bid GROUP BY auction, bidder;
CREATE VIEW tops AS SELECT bidder, MAX(num) AS m FROM counts GROUP BY bidder;
CREATE VIEW lows AS SELECT bidder, MIN(num) AS l FROM counts GROUP BY bidder;
"""
HOT = "SELECT c.auction, c.num FROM counts c JOIN tops t ON c.bidder = t.bidder AND c.num >= t.m"
CASES: dict[str, tuple[str, int, int, int]] = {
    "q5": (HOT, 4, 3, 1),
    "a part beside itself": (
        "SELECT a.num, b.num FROM counts a LEFT JOIN counts b ON a.bidder = b.bidder AND a.auction <> b.auction",
        3, 2, 1,
    ),
    "UNION ALL": ("SELECT auction, num FROM counts WHERE num > 3 UNION ALL SELECT bidder, m FROM tops", 3, 2, 1),
    "two of one depth": (
        "SELECT l.bidder, l.l, t.m FROM lows l JOIN tops t ON l.bidder = t.bidder", 5, 3, 1,
    ),
    "over two stages": (
        "SELECT c.auction, x.n FROM counts c JOIN (SELECT m, COUNT(*) AS n FROM tops GROUP BY m) x ON c.num = x.m",
        5, 4, 1,
    ),
    "an upsert table": (
        "SELECT i.id, s.n FROM item i JOIN (SELECT v, COUNT(*) AS n FROM item GROUP BY v) s ON i.v = s.v", 4, 3, 1,
    ),
    "outer, with a condition": (
        "SELECT a.num, t.m FROM counts a FULL JOIN tops t ON a.bidder = t.bidder AND a.num < t.m", 4, 3, 1,
    ),
    "NOT IN": (
        "SELECT auction, num FROM counts WHERE num NOT IN (SELECT m FROM tops)", 4, 3, 1,
    ),
    "EXISTS, with a condition": (
        "SELECT auction, num FROM counts c WHERE EXISTS "
        "(SELECT 1 FROM tops t WHERE t.bidder = c.bidder AND t.m > c.num)",
        4, 3, 1,
    ),
    "nothing twice": ("SELECT bidder, m FROM tops", 2, 2, 1),
    "RAND() is not the same twice": (
        "SELECT a.n, b.n FROM (SELECT bidder, COUNT(*) AS n FROM bid WHERE RAND() < 0.5 GROUP BY bidder) a JOIN "
        "(SELECT bidder, COUNT(*) AS n FROM bid WHERE RAND() < 0.5 GROUP BY bidder) b ON a.bidder = b.bidder", 3, 2, 1,
    ),
    "many rows of one, after its parts have parted": (
        "SELECT a.num, b.g FROM counts a JOIN (SELECT num, bidder, e AS g FROM counts "
        "CROSS JOIN UNNEST(ARRAY[1, 2]) AS t (e)) b ON a.bidder = b.bidder", 3, 3, 2,
    ),
}  # fmt: skip
"""Queries: operators with state where each part runs by itself, where equal ones are one, and readings then."""


def job(query: str, more: str = "") -> SparkJob:
    sink = "SET 'table.exec.sink.upsert-materialize' = 'NONE';"
    columns = "a BIGINT, b BIGINT, c BIGINT" if query.startswith("SELECT l.bidder") else "a BIGINT, b BIGINT"
    table = f"CREATE TABLE s ({columns}) WITH ('connector' = 'print');"
    out = compile_script(SourceText("<t>", f"{TABLES}{more}{sink}{table} INSERT INTO s {query};"))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


APART = """SET 'table.optimizer.reuse-sub-plan-enabled' = 'false';
SET 'table.optimizer.reuse-source-enabled' = 'false';"""


def counted(made: SparkJob) -> tuple[int, int]:
    (write,) = made.writes
    return len(stateful(made, write)), len(reads_of(made, write))


@pytest.mark.parametrize("name", CASES)
def test_operators_and_readings(name: str) -> None:
    query, apart, together, reads = CASES[name]
    made = job(query)
    assert counted(made) == (together, reads)
    other = job(query, APART)
    assert counted(other)[0] == apart
    assert bool({MERGES, ONCE} & made.newer) == (apart != together)
    if made.apart is not None:
        assert made.apart(other.newer) == other
        assert made.apart(other.newer).fingerprint == other.fingerprint
        assert (made.fingerprint == other.fingerprint) == (apart == together)


def test_each_step_reads_earlier_ones_and_is_read() -> None:
    for query, *_ in CASES.values():
        assert_in_order(job(query).steps)


def test_explain_says_what_runs_once() -> None:
    words = [" ".join(o.operators) for o in operators(job(HOT))]
    assert words.count("transformWithState flinkddl.stage_aggregate_1") == 1
    assert "transformWithState flinkddl.stage_aggregate_2 in 'stage', which others pass" in words
    numbers = {o.number for o in operators(job(HOT)) if o.operators == (f"runs once, as the other n{o.number}",)}
    assert len(numbers) == 2


def test_nodes_of_a_stage_keep_their_numbers() -> None:
    """An INSERT before it in the set would give them others."""
    query = CASES["two of one depth"][0]
    old = job(query)
    said = meanings(old)
    for one in said:
        for o in one["operators"]:
            o[4] = [n + 7 for n in o[4]] if isinstance(o[4], list) else o[4] + 7
    edit = compare(said, meanings(old))
    assert not edit.refused
    made = renumbered(old, edit.numbers)
    calls = {c.node for s in made.steps if isinstance(s, GroupBy) for c in s.state_calls}
    assert calls == {c.node + 7 for s in old.steps if isinstance(s, GroupBy) for c in s.state_calls}


@pytest.mark.parametrize("name", CASES)
def test_the_whole_query_as_one_chain(name: str) -> None:
    made = job(CASES[name][0], "SET 'flinkddl.execution.state' = 'chain';")
    assert list(made.forms.values()) == ["chain"]
    stages = [s for s in made.steps if isinstance(s, GroupBy)]
    assert all(s.stage for s in stages)
    reads = [s.topics for s in made.steps if isinstance(s, Read)]
    assert len(set(reads)) == len(reads)
    calls = [(n.keys, n.call.kind, n.call.args) for s in stages if s.stage for n in s.stage.nodes]
    twice = {"RAND() is not the same twice": 1}  # two counts, by chance
    assert len(calls) - len(set(calls)) == twice.get(name, 0)


def test_a_chain_notes_that_equal_parts_run_once_only_where_they_do(tmp_path: Path) -> None:
    """Over a checkpoint that says nothing of it the parts stay by themselves, also at the starts after that."""
    chain = "SET 'flinkddl.execution.state' = 'chain';"
    made, apart = job(HOT, chain), job(HOT, f"{chain} SET 'table.optimizer.reuse-sub-plan-enabled' = 'false';")
    assert MERGES in made.newer
    assert MERGES not in apart.newer
    assert made.apart is not None
    before = made.apart(frozenset())
    assert before.fingerprint == apart.fingerprint != made.fingerprint
    open_checkpoint(before, str(tmp_path))
    for _ in range(2):
        again = formed(made, stored_plan(LOCAL, job_folder(str(tmp_path), made)), lambda: "")
        assert again.fingerprint == before.fingerprint
        open_checkpoint(again, str(tmp_path))


def test_a_query_that_is_one_chain_does_not_begin_without_stages() -> None:
    made = job(HOT, "SET 'flinkddl.execution.state' = 'chain';")
    assert list(made.forms.values()) == ["chain"]
    assert formed(made, None, lambda: "") is made
    with pytest.raises(FlinkDdlError, match=r"FD893.*another Spark"):
        formed(made, None, lambda: "another Spark")


def test_a_checkpoint_goes_on_in_the_form_that_it_was_begun_in(tmp_path: Path) -> None:
    made, before = job(HOT), job(HOT, APART)

    def again(missing: str = "") -> SparkJob:
        return formed(made, stored_plan(LOCAL, job_folder(str(tmp_path), made)), lambda: missing)

    assert again() is made
    assert again("another Spark") == before
    open_checkpoint(before, str(tmp_path))
    assert again() == before
    open_checkpoint(again(), str(tmp_path))
    assert again("another Spark") == before
    open_checkpoint(made, str(tmp_path), fresh=True)
    assert again() is made
    with pytest.raises(FlinkDdlError, match=r"FD893.*another Spark"):
        again("another Spark")


OLDER: dict[str, tuple[frozenset[str], tuple[int, int]]] = {
    "by themselves, a second operator counts pairs": (frozenset(), (17, 8)),
    "in a chain, a second operator counts pairs": (frozenset({MERGES}), (4, 1)),
    "by themselves, the join tests": (frozenset({INSIDE}), (4, 2)),
    "in a chain, the join tests": (frozenset({MERGES, INSIDE}), (3, 1)),
}


@pytest.mark.parametrize("name", OLDER)
def test_a_join_that_tests_its_condition_goes_on_as_it_was_begun(tmp_path: Path, name: str) -> None:
    together, size = OLDER[name]
    made = job(CASES["outer, with a condition"][0])
    assert made.newer == {MERGES, INSIDE}
    assert made.apart is not None
    before = made.apart(together)
    assert (before.newer, counted(before)) == (together, size)
    open_checkpoint(before, str(tmp_path))
    stored = stored_plan(LOCAL, job_folder(str(tmp_path), made))
    again = formed(made, stored, lambda: "")
    assert again == before
    assert again.fingerprint == before.fingerprint
    open_checkpoint(again, str(tmp_path))
    if not together:
        assert formed(made, stored, lambda: "another Spark") == before
        return
    with pytest.raises(FlinkDdlError, match=r"FD893.*(chain|condition).*another Spark"):
        formed(made, stored, lambda: "another Spark")


FUNCTION = "CREATE FUNCTION f AS 'tests.functions.udfs.annotated' LANGUAGE PYTHON;"
LEFT = "SELECT a.num, b.price FROM counts a LEFT JOIN bid b ON a.bidder = b.bidder"
TESTED: dict[str, tuple[str, set[str]]] = {
    "LEFT": (f"{LEFT} AND a.num < b.price", {"leftif"}),
    "RIGHT": (
        "SELECT a.num, b.price FROM bid b RIGHT JOIN counts a ON a.bidder = b.bidder AND a.num < b.price", {"leftif"},
    ),
    "no equality": ("SELECT a.num, b.price FROM counts a FULL JOIN bid b ON a.num < b.price", {"fullif"}),
    "NOT IN": ("SELECT auction, num FROM counts WHERE num NOT IN (SELECT price FROM bid)", {"antiif"}),
    "IN": (
        "SELECT auction, num FROM counts c WHERE num IN (SELECT price FROM bid b WHERE b.auction < c.auction)",
        {"semiif"},
    ),
    "equalities alone": (LEFT, {"left"}),
    "of one side": (f"{LEFT} AND a.num < 3", {"leftif"}),
    "an inner join": (f"{LEFT.replace('LEFT', '')} AND a.num < b.price", {"inner"}),
    "the time of a batch": (f"{LEFT} AND a.num < UNIX_TIMESTAMP() + b.price", {"inner", "aggregate"}),
    "a Python function": (f"{LEFT} AND f(CAST(a.num AS INT), CAST(b.price AS DOUBLE)) <> '1'", {"inner", "aggregate"}),
}  # fmt: skip
"""Queries: the kinds of what joins them."""


@pytest.mark.parametrize("name", TESTED)
@pytest.mark.parametrize("state", ["keyed", "aggregate"])
def test_which_joins_test_their_conditions(name: str, state: str) -> None:
    query, kinds = TESTED[name]
    made = job(query, f"SET 'flinkddl.execution.state' = '{state}'; {FUNCTION}")
    calls = [c for s in made.steps if isinstance(s, GroupBy) for c in s.state_calls]
    inside = {c.kind for c in calls if c.condition}
    assert (INSIDE in made.newer) == bool(inside)
    assert inside == ({k for k in kinds if k.endswith("if")} if state == "keyed" else set())
    words = " ".join(word for o in operators(made) for word in o.operators)
    assert all(f"transformWithState flinkddl.stage_{kind}_" in words for kind in inside)
    if state == "keyed":
        assert {c.kind for c in calls} == {*kinds, "aggregate"}
    else:
        assert all(c.form == "aggregate" and not c.kind.endswith("if") for c in calls)
