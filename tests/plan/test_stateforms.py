"""``flinkddl.execution.state`` = 'auto': by key where rows change or something is shared; what was begun goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.plan.nodes.grouping import Aggregate
from flinkddl.plan.stateforms import CHAIN, NEWER, OVERS, PAIRS
from flinkddl.runtime.job.supervising.begun import formed, kept
from flinkddl.runtime.storage.checkpoint import job_folder, open_checkpoint, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.dataflow import as_json, flow_of
from flinkddl.show.explain import explain
from flinkddl.spark.job import GroupBy, JoinStep, Read
from flinkddl.spark.partitions import one_as_begun
from flinkddl.spark.stages import keyed
from flinkddl.spark.ttl import kept_as_begun

if TYPE_CHECKING:
    from pathlib import Path

    from flinkddl.script.compile import Compiled
    from flinkddl.spark.job import SparkJob

KAFKA = "'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = 'b:9092', 'topic'"
UPSERT = """'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json',
  'properties.bootstrap.servers' = 'b:9092', 'topic'"""
TABLES = f"""
CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT) WITH ({KAFKA} = 'bid');
CREATE TABLE ask (auction BIGINT, seller BIGINT) WITH ({KAFKA} = 'ask');
CREATE TABLE timed (auction BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ({KAFKA} = 'timed');
CREATE TABLE item (id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ({UPSERT} = 'item');
CREATE TABLE s (a BIGINT, b BIGINT, PRIMARY KEY (a) NOT ENFORCED) WITH ({UPSERT} = 's');
CREATE TABLE t (a BIGINT, b BIGINT) WITH ('connector' = 'print');
CREATE VIEW counts AS SELECT auction, AVG(bidder) AS num FROM bid GROUP BY auction;
"""
NOTHING = "no row changes, nothing is shared, no group grows"
CASES: dict[str, tuple[str, bool, str]] = {
    "a count of inserts": ("SELECT * FROM counts", False, NOTHING),
    "a join of inserts": (
        "SELECT b.auction, a.seller FROM bid b JOIN ask a ON a.auction = b.auction", True, "Join keeps rows",
    ),
    "nothing is kept": ("SELECT auction, price FROM bid WHERE price > 3", False, NOTHING),
    "DISTINCT values": (
        "SELECT auction, COUNT(DISTINCT bidder) AS n FROM bid GROUP BY auction", True,
        "Aggregate keeps DISTINCT values",
    ),
    "a last row": (
        "SELECT auction, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY PROCTIME() DESC) AS r "
        "FROM bid) WHERE r = 1", True, "Deduplicate keeps rows",
    ),
    "the best rows": (
        "SELECT auction, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price) AS r FROM bid) "
        "WHERE r <= 10", False, NOTHING,
    ),
    "many best rows": (
        "SELECT auction, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price) AS r FROM bid) "
        "WHERE r <= 17", True, "Rank keeps rows",
    ),
    "as many best rows as a column says": (
        "SELECT auction, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price) AS r FROM bid) "
        "WHERE r <= auction", True, "Rank keeps rows",
    ),
    "the best of counts": (
        "SELECT auction, num FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY num ORDER BY auction) AS r FROM counts) "
        "WHERE r <= 10", True, "rows change below Rank",
    ),
    "an OVER": (
        "SELECT auction, SUM(price) OVER (PARTITION BY auction ORDER BY p) AS s "
        "FROM (SELECT *, PROCTIME() AS p FROM bid)",
        True, "Over keeps rows",
    ),
    "an outer join": (
        "SELECT b.auction, a.seller FROM bid b LEFT JOIN ask a ON a.auction = b.auction", True, "Join keeps rows",
    ),
    "a count of counts": (
        "SELECT num, COUNT(*) AS n FROM counts GROUP BY num", True, "rows change below Aggregate",
    ),
    "a table of updates": ("SELECT v, COUNT(*) AS n FROM item GROUP BY v", True, "rows change below Aggregate"),
    "two ways of a table": (
        "SELECT b.auction, c.price FROM bid b JOIN bid c ON b.auction = c.bidder", True,
        "bid read once; Join keeps rows",
    ),
    "equal parts": (
        "SELECT c.auction, d.num FROM counts c JOIN counts d ON c.num = d.auction", True,
        "equal parts run once; rows change below Join",
    ),
}  # fmt: skip
"""Queries: whether they keep their state by key, and why."""


def compiled(query: str, state: str = "auto", more: str = "", into: str = "t") -> Compiled:
    sets = f"SET 'execution.runtime-mode' = 'streaming'; SET 'flinkddl.execution.state' = '{state}'; {more}"
    out = compile_script(SourceText("<t>", f"{sets}{TABLES} INSERT INTO {into} {query};"))
    assert not out.has_errors, out.diagnostics
    return out


def job(query: str, state: str = "auto", more: str = "", into: str = "t") -> SparkJob:
    return next(a.job for a in compiled(query, state, more, into).actions if isinstance(a, Start))


@pytest.mark.parametrize("name", CASES)
def test_form(name: str) -> None:
    query, by_key, because = CASES[name]
    made = job(query)
    form = "state by key" if by_key else "state as aggregates"
    assert f"{made.writes[0].name}: {form}: {because}" in explain(made)
    told = as_json(flow_of(made))["writes"][0]
    assert (told["stateByKey"], told["stateBecause"]) == (by_key, because)
    same = job(query, "keyed" if by_key else "aggregate")
    assert made == same
    assert made.fingerprint == same.fingerprint
    assert same.as_begun is None
    assert "state by key:" not in explain(same)


def test_what_a_group_keeps_is_asked_only_where_nothing_else_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(Aggregate, "grows", property(lambda node: asked.append(node) or ""))
    job(CASES["a count of counts"][0])
    assert not asked
    job(CASES["a count of inserts"][0])
    assert asked


WINDOWS = """(SELECT auction, window_start, window_end, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end)"""
MEET = f"""SELECT x.auction, y.n FROM {WINDOWS} AS x JOIN {WINDOWS} AS y
  ON x.n = y.auction AND x.window_start = y.window_start AND x.window_end = y.window_end"""


def test_windows_over_a_table_that_is_read_twice_are_one_chain() -> None:
    made = job(MEET)
    assert (
        f"{made.writes[0].name}: state by key, one chain: timed read once, and what waits for event time is by key"
        in explain(made)
    )
    assert sum(isinstance(step, Read) for step in made.steps) == 1
    assert made.steps == job(MEET, "chain").steps


def test_what_waits_for_event_time_is_a_chain() -> None:
    within = (
        "SELECT x.auction, y.auction FROM timed x JOIN timed y ON x.auction = y.auction AND x.ts BETWEEN y.ts AND y.ts"
    )
    for query in (f"SELECT auction, n FROM {WINDOWS}", within):
        made = job(query)
        assert "state by key, one chain: " in (text := explain(made))
        assert "what waits for event time is by key" in text
        assert made.steps == job(query, "chain").steps
        assert CHAIN not in job(query, more="SET 'flinkddl.watermark.partitions' = '1';").forms.values()


ONE = "SET 'flinkddl.watermark.partitions' = '1';"


def test_one_watermark_a_table_is_not_what_a_chain_has(tmp_path: Path) -> None:
    """Where a chain is SET that is noted; where its checkpoint is one it is told."""
    query = f"SELECT auction, n FROM {WINDOWS}"
    for state, more, noted in (("chain", ONE, 1), ("auto", ONE, 0), ("chain", "", 0)):
        assert [d.code for d in compiled(query, state, more).diagnostics].count("FD886") == noted
    before, made = job(query), job(query, more=ONE)
    open_checkpoint(before, str(tmp_path))
    stored = stored_plan(LOCAL, job_folder(str(tmp_path), made))
    again = formed(kept(made, stored), stored, lambda: "")
    assert again.forms == before.forms != made.forms
    assert one_as_begun(made, again).startswith("FD886: 'flinkddl.watermark.partitions' = '1' has no effect: a chain")
    assert [one_as_begun(*of) for of in ((made, made), (before, before), (before, again))] == ["", "", ""]


def forms(inserts: str, more: str = "") -> list[bool | str]:
    """Return the forms of a set of INSERTs into t and s."""
    sets = "SET 'execution.runtime-mode' = 'streaming';"
    out = compile_script(SourceText("<t>", f"{sets}{TABLES}{more} EXECUTE STATEMENT SET BEGIN {inserts} END;"))
    assert not out.has_errors, out.diagnostics
    return [*next(a.job for a in out.actions if isinstance(a, Start)).forms.values()]


def test_what_cannot_wait_in_a_chain_keeps_no_other_from_it() -> None:
    """Nor is a table whose partitions can be idle waited for there."""
    window = f"INSERT INTO t SELECT auction, n FROM {WINDOWS};"
    other = window.replace("COUNT(*)", "COUNT(DISTINCT ts)").replace("TUMBLE(", "HOP(")
    other = other.replace("INTERVAL", "INTERVAL '5' SECOND, INTERVAL").replace("INTO t", "INTO s")
    rows = f"INSERT INTO s SELECT auction, auction FROM timed UNION ALL SELECT auction, n FROM {WINDOWS};"
    assert forms(window + other) == [CHAIN, CHAIN]
    assert forms(window + rows) == [CHAIN, False]
    idle = f"CREATE TABLE still WITH ({KAFKA} = 'still', 'scan.watermark.idle-timeout' = '5 s') LIKE timed;"
    assert forms(window + window.replace("timed", "still").replace("INTO t", "INTO s"), idle) == [CHAIN, False]


def test_tables_that_end_meet_in_a_chain() -> None:
    """Each tells its own end."""
    ends = " /*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */"
    query = (
        f"SELECT x.auction, y.auction FROM timed{ends} x JOIN later{ends} y "
        "ON x.auction = y.auction AND x.ts BETWEEN y.ts AND y.ts"
    )
    later = f"CREATE TABLE later (auction BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ({KAFKA} = 'later');"
    made = job(query, more=later)
    assert list(made.forms.values()) == [CHAIN]
    assert [step.of_topics for step in made.steps if isinstance(step, Read)] == [True, False, True, False]


def test_windows_are_as_they_were_where_no_chain_can_be_or_files_take_them(tmp_path: Path) -> None:
    sessions = "TABLE(SESSION(TABLE timed PARTITION BY auction, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
    hops = MEET.replace("TUMBLE(", "HOP(").replace("INTERVAL", "INTERVAL '5' SECOND, INTERVAL")
    rows = "SELECT auction, auction FROM timed"  # through a stage they would lose their order
    for query in (
        f"{MEET} UNION ALL {rows}",
        f"{MEET} UNION ALL SELECT auction, 1 FROM {sessions}",
        f"{hops.replace('COUNT(*)', 'COUNT(DISTINCT ts)')} UNION ALL {MEET}",
    ):
        assert CHAIN not in job(query).forms.values(), query
    files = f"CREATE TABLE f (a BIGINT, b BIGINT) WITH ('connector'='filesystem','path'='{tmp_path}','format'='json')"
    out = compile_script(
        SourceText("<t>", f"SET 'execution.runtime-mode' = 'streaming'; {TABLES} {files}; INSERT INTO f {MEET};")
    )
    made = next(a.job for a in out.actions if isinstance(a, Start))
    assert CHAIN not in made.forms.values()


def test_windows_that_were_begun_otherwise_go_on_so(tmp_path: Path) -> None:
    begun = job(MEET, "aggregate")
    open_checkpoint(begun, str(tmp_path))
    stored = stored_plan(LOCAL, job_folder(str(tmp_path), begun))
    assert kept(job(MEET), stored).steps == begun.steps
    missing = formed(job(MEET), None, lambda: "no stages here")
    assert CHAIN not in missing.forms.values()


def test_real_time_without_stages_is_refused() -> None:
    fast = "SET 'flinkddl.execution.mode' = 'realtime';"
    sink = TABLES.replace("'connector' = 'print'", f"{KAFKA} = 't'")
    out = compile_script(
        SourceText("<t>", f"{fast}{sink} INSERT INTO s SELECT auction, SUM(price) FROM bid GROUP BY auction;")
    )
    assert not out.has_errors, out.diagnostics
    made = next(a.job for a in out.actions if isinstance(a, Start))
    with pytest.raises(FlinkDdlError, match="FD893"):
        formed(made, None, lambda: "no stages here")


OVER = """SELECT x.auction, x.n FROM (SELECT auction, COUNT(*) OVER (PARTITION BY auction ORDER BY PROCTIME()) AS n
  FROM bid) AS x JOIN item ON x.auction = item.id"""


def test_an_over_stays_an_aggregate_where_a_version_without_its_form_by_key_began_it(tmp_path: Path) -> None:
    made = job(OVER)
    assert OVERS in made.newer
    assert made.apart is not None
    before = made.apart(NEWER - {OVERS})
    forms = [call.form for s in before.steps if isinstance(s, GroupBy) for call in s.state_calls]
    assert sorted(set(forms)) == ["keyed", "uncovered"]
    open_checkpoint(before, str(tmp_path))
    again = formed(made, stored_plan(LOCAL, job_folder(str(tmp_path), made)), lambda: "another Spark")
    assert again.fingerprint == before.fingerprint != made.fingerprint


def test_a_join_of_inserts_stays_sparks_own_where_a_version_without_its_form_by_key_began_it(tmp_path: Path) -> None:
    made = job(CASES["a join of inserts"][0], "keyed")
    assert PAIRS in made.newer
    assert made.apart is not None
    before = made.apart(NEWER - {PAIRS})
    assert any(isinstance(s, JoinStep) for s in before.steps)
    assert not any(isinstance(s, JoinStep) for s in made.steps)
    open_checkpoint(before, str(tmp_path))
    again = formed(made, stored_plan(LOCAL, job_folder(str(tmp_path), made)), lambda: "")
    assert again.fingerprint == before.fingerprint != made.fingerprint


@pytest.mark.parametrize("state", ["auto", "keyed"])
@pytest.mark.parametrize("name", ["a join of inserts", "two ways of a table"])
def test_files_take_inserts_that_come_out_once(state: str, name: str) -> None:
    """Spark writes files in output mode append alone, in which no operator by key runs."""
    sets = f"SET 'execution.runtime-mode' = 'streaming'; SET 'flinkddl.execution.state' = '{state}';"
    file = "CREATE TABLE f (a BIGINT, b BIGINT) WITH ('connector' = 'filesystem', 'path' = '/f', 'format' = 'json');"
    out = compile_script(SourceText("<t>", f"{sets}{TABLES}{file} INSERT INTO f {CASES[name][0]};"))
    assert not out.has_errors, out.diagnostics
    made = next(a.job for a in out.actions if isinstance(a, Start))
    assert [w.mode for w in made.writes] == ["append"]
    assert any(isinstance(s, JoinStep) for s in made.steps)
    assert "state as aggregates: files take what comes out once and for all" in explain(made)


@pytest.mark.parametrize(
    ("query", "own"),
    [
        pytest.param("SELECT b.auction, a.seller FROM bid b JOIN ask a ON a.auction = b.auction", False, id="inserts"),
        pytest.param(
            "SELECT w.auction, a.seller FROM (SELECT auction, window_end, COUNT(*) AS n FROM TABLE("
            "TUMBLE(TABLE timed, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY auction, window_start, window_end) w "
            "JOIN ask a ON a.auction = w.auction",
            True,
            id="a window below gives out once, which only Spark's own join can be above",
        ),
    ],
)
def test_spark_joins_itself_only_beside_windows(query: str, own: bool) -> None:
    assert any(isinstance(s, JoinStep) for s in job(query, "keyed").steps) == own


def test_a_query_that_comes_to_chains_is_as_it_can_be(tmp_path: Path) -> None:
    sets = "SET 'flinkddl.execution.state' = 'chain';"
    open_checkpoint(job(CASES["a table of updates"][0], more=sets), str(tmp_path))
    made = job(CASES["a table of updates"][0])
    stored = stored_plan(LOCAL, job_folder(str(tmp_path), made))
    assert stored is not None
    assert list(kept(made, stored).forms.values()) == ["chain"]
    other = stored | {"forms": {"another": "chain"}}
    assert kept(made, other).forms == made.forms


def test_it_is_the_default() -> None:
    made, said = (job(CASES["a count of counts"][0], more=more) for more in ("RESET 'flinkddl.execution.state';", ""))
    assert made == said
    assert made.as_begun is not None


def test_each_query_of_a_set_has_its_own() -> None:
    sets = "SET 'flinkddl.execution.state' = 'auto';"
    both = "INSERT INTO t SELECT * FROM counts; INSERT INTO s SELECT num, COUNT(*) FROM counts GROUP BY num;"
    out = compile_script(SourceText("<t>", f"{sets}{TABLES} EXECUTE STATEMENT SET BEGIN {both} END;"))
    made = next(a.job for a in out.actions if isinstance(a, Start))
    assert list(made.forms.values()) == [False, True]


@pytest.mark.parametrize(
    "name",
    [
        "a count of inserts",
        "a count of counts",
        "two ways of a table",
        "equal parts",
        "an OVER",
        "the best rows",
        "a join of inserts",
    ],
)
@pytest.mark.parametrize(
    ("state", "older"),
    [("aggregate", False), ("keyed", False), ("chain", False), ("aggregate", True), ("keyed", True)],
)
def test_what_was_begun_goes_on(name: str, state: str, older: bool, tmp_path: Path) -> None:
    """``older``: by a version that did not write down which form its queries have."""
    made, before = job(CASES[name][0]), job(CASES[name][0], state)
    open_checkpoint(before, str(tmp_path))
    stored = stored_plan(LOCAL, job_folder(str(tmp_path), made))
    assert stored is not None
    if older:
        stored["forms"] = None
    again = formed(kept(made, stored), stored, lambda: "")
    assert again == before
    assert again.fingerprint == before.fingerprint
    assert keyed(again.steps) == (state != "aggregate")
    open_checkpoint(again, str(tmp_path))
    if again.forms != made.forms:
        assert "its checkpoint was begun so" in explain(again)


def test_a_query_that_joins_the_others_goes_as_they_do(tmp_path: Path) -> None:
    made = job(CASES["a count of inserts"][0])
    stored = {"forms": {"another": True}, "plan": [], "merges": False}
    assert list(kept(made, stored).forms.values()) == [True]
    assert kept(made, {**stored, "forms": {"another": True, "third": False}}) is made
    assert kept(made, None) is made


COUNT = "SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction"
HOUR = "SET 'table.exec.state.ttl' = '1 h';"
REALTIME = "SET 'flinkddl.execution.mode' = 'realtime';"


def calls(made: SparkJob) -> list[str]:
    """Return the functions of a job's operators with state; Spark's own have none."""
    groups = [s for s in made.steps if isinstance(s, GroupBy)]
    assert groups
    return [call.function.removeprefix("flinkddl.") for s in groups for call in s.state_calls]


@pytest.mark.parametrize("state", ["auto", "keyed"])
@pytest.mark.parametrize("more", ["", REALTIME])
def test_what_spark_never_forgets_is_by_key_with_a_ttl(state: str, more: str) -> None:
    assert calls(job(COUNT, state, more, into="s")) == []
    made = job(COUNT, state, HOUR + more, into="s")
    assert calls(made) == ["stage_aggregate_1_ttl_3600000"]
    if not more and state == "auto":
        assert "state by key: a TTL is set" in explain(made)


def test_a_hint_is_a_ttl_and_one_of_nothing_is_none() -> None:
    hinted = COUNT.replace("SELECT", "SELECT /*+ STATE_TTL('bid' = '{}') */")
    assert calls(job(hinted.format("1 min"), into="s")) == ["stage_aggregate_1_ttl_60000"]
    assert calls(job(hinted.format("0 s"), more=HOUR, into="s")) == []


@pytest.mark.parametrize(("state", "more"), [("auto", ""), ("keyed", ""), ("auto", REALTIME), ("keyed", REALTIME)])
@pytest.mark.parametrize("ttl", ["comes", "goes"])
def test_a_ttl_that_comes_or_goes_leaves_the_operators_of_a_checkpoint(
    state: str, more: str, ttl: str, tmp_path: Path
) -> None:
    before, made = (job(COUNT, state, (HOUR if on else "") + more, into="s") for on in (ttl == "goes", ttl == "comes"))
    open_checkpoint(before, str(tmp_path))
    stored = stored_plan(LOCAL, job_folder(str(tmp_path), made))
    again = formed(kept(made, stored), stored, lambda: "")
    assert again.fingerprint == before.fingerprint != made.fingerprint
    assert calls(again) == ([] if ttl == "comes" else ["stage_aggregate_1"])
    told = kept_as_begun(made, again)
    assert told.startswith("FD660: the state of 'aggregate' is kept for ever") == (ttl == "comes")
    assert ("--fresh begins anew" in told) == (ttl == "comes")
    assert again.forms == before.forms
    open_checkpoint(again, str(tmp_path))


def test_state_by_key_that_was_begun_beside_sparks_own_goes_on_so(tmp_path: Path) -> None:
    """Of an earlier version: its sums are by key, since something else changes, its counts of inserts are not."""
    mixed = f"SELECT c.auction, c.n FROM ({COUNT}) c JOIN item ON c.auction = item.id"
    before, made = job(mixed, into="s"), job(mixed, more=HOUR, into="s")
    open_checkpoint(before, str(tmp_path))
    again = kept(made, stored_plan(LOCAL, job_folder(str(tmp_path), made)))
    assert again.fingerprint == before.fingerprint
