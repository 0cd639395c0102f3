"""Operators that come and go in a query that has begun: which state moves along, and what a new one begins with."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.plan.stateforms import Begun
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.carried import NEW
from flinkddl.spark.edits import Edit, compare, renumbered
from flinkddl.spark.job import KAFKA_SINK, GroupBy, Read, Where
from flinkddl.spark.meaning import meanings
from flinkddl.spark.seeds import SEED, Seeding, seeding

if TYPE_CHECKING:
    from flinkddl.spark.job import SparkJob

_UPSERT = "'connector' = 'upsert-kafka', 'topic' = '{0}', {1}, 'key.format' = 'json', 'value.format' = 'json'"
_SERVERS = "'properties.bootstrap.servers' = 'b:9092'"


def _table(name: str, columns: str, key: str) -> str:
    return f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({key}) NOT ENFORCED) WITH ({_UPSERT.format(name, _SERVERS)});"


TABLES = (
    "SET 'pipeline.name' = 'j';"
    + _table("orders", "id INT, cust STRING, region STRING, price INT", "id")
    + "CREATE TABLE seen (id INT, region STRING, v INT) WITH ('connector' = 'kafka', 'topic' = 'seen', "
    + f"{_SERVERS}, 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');"
    + _table("sums", "region STRING, cust STRING, total INT", "region, cust")
    + "".join(_table(name, "region STRING, n BIGINT", "region") for name in ("tops", "counts", "more"))
    + _table("ranks", "region STRING, rn BIGINT, total INT", "region, rn")
    + "CREATE VIEW x AS SELECT region, cust, SUM(price) AS total FROM orders GROUP BY region, cust;"
)
SUMS = "INSERT INTO sums SELECT * FROM x;"
TOPS = "INSERT INTO tops SELECT region, MAX(total) FROM x GROUP BY region;"
DISTINCT = "INSERT INTO tops SELECT region, COUNT(DISTINCT total) FROM x GROUP BY region;"
RANKS = (
    "INSERT INTO ranks SELECT region, rn, total FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY region"
    " ORDER BY total DESC) AS rn FROM x) WHERE rn <= 2;"
)
BEST = (
    "INSERT INTO sums SELECT x.region, x.cust, x.total FROM x JOIN (SELECT region, MAX(total) AS t FROM x"
    " GROUP BY region) AS y ON x.region = y.region AND x.total = y.t;"
)
FILTERED = "INSERT INTO tops SELECT region, MAX(total) FROM x WHERE total > 9 GROUP BY region HAVING MAX(total) > 10;"


@dataclass(frozen=True)
class Case:
    """Two queries, of which the second has more operators: how many, and words of those that are new."""

    before: str
    after: str
    new: tuple[str, ...]


CASES = {
    "an aggregate above a sum": Case(SUMS, TOPS, ("MAX(total)",)),
    "with filters above and below it": Case(SUMS, FILTERED, ("MAX(total)",)),
    "distinct values of sums": Case(SUMS, DISTINCT, ("COUNT(DISTINCT total)",)),
    "Top-N above a sum": Case(SUMS, RANKS, ("Rank(",)),
    "a sum joined with its maximum": Case(SUMS, BEST, ("Join(inner", "MAX(total)")),
}
FORMS = ("keyed", "chain")


def job(text: str, form: str = "keyed") -> SparkJob:
    out = compile_script(SourceText("<t>", f"SET 'flinkddl.execution.state' = '{form}';{TABLES}{text}"))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


def said(made: SparkJob) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(json.dumps(meanings(made)))
    return found


def edited(before: SparkJob, after: SparkJob) -> Edit:
    return compare(said(before), said(after))


def sets(*inserts: str) -> str:
    return f"EXECUTE STATEMENT SET BEGIN {''.join(inserts)} END;"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_operators_come_above_others(name: str, form: str) -> None:
    case = CASES[name]
    found = edited(job(case.before, form), job(case.after, form))
    (carried,) = found.carried.values()
    assert not found.refused
    assert not found.dropped
    assert all(any(words in new for new in found.new) for words in case.new)
    kept = [was for was in carried.order if was != NEW]
    assert kept == list(range(len(said(job(case.before, form))[0]["operators"])))
    assert carried.order[-len(kept) :] == tuple(kept)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_they_go_again(name: str, form: str) -> None:
    case = CASES[name]
    found = edited(job(case.after, form), job(case.before, form))
    (carried,) = found.carried.values()
    assert not found.refused
    assert not found.new
    assert all(any(words in gone for gone in found.dropped) for words in case.new)
    assert NEW not in carried.order


def test_as_many_operators_into_another_table() -> None:
    """One goes as another comes: below them state goes on. Of one into the same table nothing is guessed."""
    joined = OUTER.replace("LEFT JOIN", "JOIN")
    above = f"INSERT INTO tops SELECT region, MAX(price) + COUNT(DISTINCT cust) FROM ({joined[17:-1]}) GROUP BY region;"
    before, after = said(job(joined)), said(job(above))
    assert len(before[0]["operators"]) == len(after[0]["operators"])
    found = compare(before, after)
    assert "Join(" in "".join(found.kept)
    assert "MAX(price)" in "".join(found.new)
    assert found.dropped == ("sums (Sink(default_catalog.default_database.sums))",)
    assert compare([{**before[0], "write": after[0]["write"]}], after).refused


@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_never_given_twice(form: str) -> None:
    """One that goes leaves its number, and the next that comes has another; those that stay have theirs."""
    sums, tops = job(SUMS, form), job(TOPS, form)
    first = edited(sums, tops)
    there = numbered(tops, first)
    assert numbers(there) == {1, 2, 4}
    away = numbered(sums, compare(there, said(sums)))
    assert numbers(away) == {1, 2}
    again = compare(away, said(job(RANKS, form)))
    assert numbers(numbered(job(RANKS, form), again)) == {1, 2, 5}
    made = renumbered(job(RANKS, form), again.numbers)
    assert {c.node for s in made.steps if isinstance(s, GroupBy) for c in s.state_calls} == {1, 2, 5}


def numbered(made: SparkJob, edit: Edit) -> list[dict[str, Any]]:
    """Return what a checkpoint says once the edit is done."""
    queries = said(made)
    for query in queries:
        query["highest"] = edit.highest[query["write"]]
        query["operators"] = [[*o[:4], edit.numbers.get(o[5], o[4]), *o[5:]] for o in query["operators"]]
    return queries


def numbers(queries: list[dict[str, Any]]) -> set[int]:
    found = [o[4] for q in queries for o in q["operators"]]
    return {n for one in found for n in (one if isinstance(one, list) else [one])}


COUNTS = "INSERT INTO counts SELECT region, COUNT(DISTINCT v) FROM seen GROUP BY region;"
MORE = "INSERT INTO more SELECT region, MAX(n) FROM (SELECT region, v, COUNT(*) AS n FROM seen GROUP BY region, v)"
MORE += " GROUP BY region;"
PAIRS = "INSERT INTO tops SELECT a.region, MAX(b.id) FROM seen a JOIN seen b ON a.id = b.v GROUP BY a.region;"


@pytest.mark.parametrize("stay", [(COUNTS, MORE), (COUNTS, PAIRS), (MORE, PAIRS), (COUNTS,), (MORE,), (PAIRS,)])
def test_an_insert_leaves_those_that_are_one_query_with_it(stay: tuple[str, ...]) -> None:
    whole = job(sets(COUNTS, MORE, PAIRS), "auto")
    (query,) = whole.united
    now = job(sets(*stay), "auto")
    forms = dict(enumerate(whole.forms[name] for name in now.forms))
    if now.as_begun is not None:
        now = now.as_begun(Begun(forms, together={query.name: query.parts}))
    found = edited(whole, now)
    assert list(found.carried) == [query.name]
    assert (found.refused, found.new) == ((), ())
    gone = {"COUNT(DISTINCT v)": COUNTS, "MAX(n)": MORE, "Join(": PAIRS}
    for words, insert in gone.items():
        assert (words in "".join(found.dropped)) == (insert not in stay)
        assert (words in "".join(found.kept)) == (insert in stay)
    (carried,) = found.carried.values()
    many = [o[4] for o in said(whole)[0]["operators"] if isinstance(o[4], list) and len(o[4]) > 1]
    there = {n for given in carried.numbers.values() for n in (given if isinstance(given, list) else [given])}
    stays = [tuple(n for n in nodes if n in there) for nodes in many]
    lost = [left for left, nodes in zip(stays, many, strict=True) if 0 < len(left) < len(nodes)]
    assert [*carried.cleared.values()] == lost
    assert [place for place, was in enumerate(carried.places) if was == NEW] == [*carried.cleared]


def test_what_cannot_move_is_refused() -> None:
    """Nodes of one operator that another version puts into two, or that are joined by a new one."""
    old, new = said(job(sets(COUNTS, MORE), "auto")), said(job(sets(COUNTS, MORE), "auto"))
    (query,) = new
    two = next(o for o in query["operators"] if len(o[4]) == 2)
    at = query["operators"].index(two)
    apart = [[*two[:4], [two[4][i]], f"{two[5]}{i}", [two[6][i]]] for i in range(2)]
    more = [[*apart[0][:6], [["another", "more"]]], *apart]
    query["operators"][at : at + 1] = more
    assert "in other operators together" in compare(old, new).words
    query["operators"][at : at + len(more)] = [[*two[:4], [*two[4], 9], two[5], [*two[6], ["another", "more"]]]]
    query["tree"].append([9, "another", "more"])
    assert "the state of 'more' cannot be put into that of the others" in compare(old, new).words


def test_an_earlier_version_said_nothing_of_nodes() -> None:
    old = said(job(SUMS))
    for query in old:
        query["operators"] = [o[:6] for o in query["operators"]]
    found = compare(old, said(job(SUMS)))
    assert not found.refused
    edit = compare(old, [{**said(job(TOPS))[0], "write": old[0]["write"]}])
    assert "Spark takes neither one more nor one less" in edit.words


def begin(before: str, after: str, form: str) -> Seeding | None:
    old, new = job(before, form), job(after, form)
    edit = edited(old, new)
    ((write, carried),) = edit.carried.items()
    made = renumbered(new, edit.numbers)
    return seeding(made, next(r for r in made.runs if r.name == write), carried.order)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_new_operators_begin_with_the_rows_of_those_below(name: str, form: str) -> None:
    found = begin(CASES[name].before, CASES[name].after, form)
    assert found is not None
    (seed,) = found.seeds.values()
    assert [node.call.kind for node in seed.nodes] == ["aggregate"]
    assert "SUM(price)" in seed.nodes[0].what
    reads = [s for s in found.job.steps if isinstance(s, Read)]
    assert [s.format for s in reads] == [SEED]
    assert found.new == tuple(range(len(found.new)))


JOINED = "SELECT a.region, b.id AS n FROM seen a JOIN seen b ON a.id = b.v"
OUT = f"INSERT INTO out1 SELECT * FROM ({JOINED});"
PLAIN = f"INSERT INTO tops SELECT * FROM ({JOINED});"
COUNTED = f"INSERT INTO tops SELECT region, COUNT(DISTINCT n) FROM ({JOINED}) GROUP BY region;"
SINKS = "".join(
    f"CREATE TABLE {name} (region STRING, n BIGINT) WITH ('connector' = 'kafka', 'topic' = '{name}', {_SERVERS},"
    f" 'format' = '{format}');"
    for name, format in (("out1", "json"), ("changes", "debezium-json"))
)


def test_an_insert_that_has_not_changed_is_not_written_again() -> None:
    """Rows of an operator that goes on are in the table of the other INSERT: only those of new ones are written."""
    before, after = SINKS + sets(OUT, PLAIN), SINKS + sets(OUT, COUNTED)
    assert [len(query.parts) for query in job(after, "auto").united] == [2]
    found = begin(before, after, "auto")
    assert found is not None
    (last,) = (s for s in found.job.steps if s.name == found.result)
    assert isinstance(last, Where)
    assert last.condition == "`__insert` IN (1)"
    assert len(found.job.steps) == len({s.name for s in found.job.steps})


def test_all_is_written_where_no_other_insert_is() -> None:
    found = begin(SUMS, TOPS, "keyed")
    assert found is not None
    assert not any(isinstance(s, Where) and s.name == found.result for s in found.job.steps)


def test_rows_that_come_to_the_sink_beside_a_new_operator() -> None:
    sums = "INSERT INTO changes SELECT region, total FROM x"
    tops = f"{sums.replace('total', 'MAX(total)')} GROUP BY region"
    assert begin(f"{SINKS}{sums};", f"{SINKS}{tops};", "keyed") is not None
    with pytest.raises(FlinkDdlError, match=r"FD679.*would be written again"):
        begin(f"{SINKS}{sums};", f"{SINKS}{sums} UNION ALL {tops.partition('changes')[2]};", "keyed")


SINK: dict[str, tuple[dict[str, Any], str]] = {
    "files": ({"format": "parquet"}, "list of the files"),
    "exactly once": ({"format": KAFKA_SINK, "options": {"transactional-id": "p"}}, "takes each row once"),
}


@pytest.mark.parametrize("name", SINK)
def test_a_sink_that_tells_by_batches_what_it_has(name: str) -> None:
    """What fills is another query, and one more where a start is killed: the sink would drop it, or take it twice."""
    other, why = SINK[name]
    old, new = job(SUMS), job(TOPS)
    ((_, carried),) = edited(old, new).carried.items()
    with pytest.raises(FlinkDdlError, match=f"FD679.*{why}"):
        seeding(new, replace(new.runs[0], **other), carried.order)


def test_two_numbers_for_what_two_queries_share() -> None:
    """Two that were read apart, one of them in a query that has come to have an operator more."""
    apart, other = said(job(SUMS)), [{**said(job(SUMS))[0], "write": "other"}]
    for n, operator in enumerate(other[0]["operators"]):
        operator[4] = 7 + n
    above = [{**said(job(TOPS))[0], "write": "other"}]
    found = compare([*apart, *other], [*apart, *above])
    assert "which two queries share, was kept under two numbers" in "".join(found.refused)


def test_nothing_is_new_where_operators_only_go() -> None:
    assert begin(TOPS, SUMS, "keyed") is None


AGEING = "SET 'table.exec.state.ttl' = '1 h';"
OUTER = "INSERT INTO sums SELECT a.region, b.cust, a.price FROM orders a LEFT JOIN orders b ON a.id = b.price;"
REFUSED = {
    "an outer join": (OUTER, "INSERT INTO tops SELECT region, MAX(CHAR_LENGTH(cust) + price) FROM"
                      f" ({OUTER[17:-1]}) GROUP BY region, price;", "'Join.*' does not tell what it has given out"),
    "state that ages": (AGEING + SUMS, AGEING + TOPS, "does not tell what it has given out"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_rows_that_are_not_to_be_had(name: str) -> None:
    before, after, words = REFUSED[name]
    with pytest.raises(FlinkDdlError, match=f"FD679.*{words}"):
        begin(before, after, "keyed")


def test_what_reads_a_table_itself_is_not_filled() -> None:
    made = job(TOPS)
    with pytest.raises(FlinkDdlError, match=r"FD679.*it reads 'Scan.* itself"):
        seeding(made, made.runs[0], (NEW, NEW, NEW))
