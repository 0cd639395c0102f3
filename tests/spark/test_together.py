"""Which INSERTs of a statement set are one query, what that reads and writes, and how it is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.plan.stateforms import Begun
from flinkddl.runtime.job.reporting.blame import blamed
from flinkddl.runtime.job.reporting.progress import by_part, read_progress
from flinkddl.runtime.job.supervising.begun import formed, kept
from flinkddl.runtime.storage.checkpoint import job_folder, open_checkpoint, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.dataflow import as_json, flow_of
from flinkddl.show.explain import explain
from flinkddl.show.print_json import print_json
from flinkddl.show.printer import print_pyspark
from flinkddl.spark.job import PART, GroupBy, Read, Select, below
from flinkddl.spark.reported import foreseen

if TYPE_CHECKING:
    from pathlib import Path

    from flinkddl.spark.job import SparkJob, StateCall

KAFKA = "'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = 'b:9092'"
UPSERT = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"
UPSERT += ", 'properties.bootstrap.servers' = 'b:9092'"
ONCE = "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'x'"
TABLES = f"""
SET 'pipeline.name' = 'set';
CREATE TABLE orders (id INT, shop STRING, v INT, unread STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
  WITH ({KAFKA}, 'topic' = 'orders');
CREATE TABLE visits (id INT, v INT) WITH ({KAFKA}, 'topic' = 'visits');
CREATE TABLE ended (id INT, v INT) WITH ({KAFKA}, 'topic' = 'ended', 'scan.bounded.mode' = 'latest-offset');
CREATE TABLE prices (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ({UPSERT}, 'topic' = 'prices');
CREATE TABLE a (id INT, v INT) WITH ({KAFKA}, 'topic' = 'a');
CREATE TABLE b (id INT, h MAP<STRING, BYTES> METADATA FROM 'headers') WITH ({KAFKA}, 'topic' = 'b');
CREATE TABLE c (shop STRING, n BIGINT, PRIMARY KEY (shop) NOT ENFORCED) WITH ({UPSERT}, 'topic' = 'c');
CREATE TABLE d (shop STRING, n BIGINT, PRIMARY KEY (shop) NOT ENFORCED) WITH ({UPSERT}, 'topic' = 'd');
CREATE TABLE several (id INT, t STRING METADATA FROM 'topic') WITH ({KAFKA}, 'topic' = 'x;y');
CREATE TABLE once (id INT, v INT) WITH ({KAFKA}, 'topic' = 'once', {ONCE});
CREATE TABLE far (id INT, v INT) WITH ({KAFKA.replace("b:9092", "far:9092")}, 'topic' = 'far');
CREATE TABLE changes (shop STRING, n BIGINT) WITH ({KAFKA.replace("'json'", "'debezium-json'")}, 'topic' = 'z');
CREATE TABLE p (id INT, v INT) WITH ('connector' = 'print');
CREATE VIEW sold AS SELECT shop, id, COUNT(*) AS n FROM orders GROUP BY shop, id;
"""
A = "INSERT INTO a SELECT id, v FROM orders WHERE v > 3"
B = "INSERT INTO b SELECT id, MAP['k', CAST(shop AS BYTES)] FROM orders"
C = "INSERT INTO c SELECT shop, COUNT(DISTINCT v) FROM orders GROUP BY shop"
D = "INSERT INTO d SELECT shop, MAX(n) FROM sold GROUP BY shop"
MOST = "INSERT INTO c SELECT shop, MIN(n) FROM sold GROUP BY shop"
SELECT_V = "SELECT id, v FROM orders"
ORDERS = "orders-read-once"
CASES: dict[str, tuple[str, list[list[str]]]] = {
    "filters": (f"{A}; {B}", [["a", "b"]]),
    "states": (f"{C}; {D}", [["c", "d"]]),
    "rows that keep their order, and states": (f"{A}; {B}; {C}; {D}", [["a", "b"], ["c", "d"]]),
    "one of each shares nothing": (f"{A}; {C}", []),
    "twice into one table": (f"{A}; {A}", [["a", "a-2"]]),
    "topics of the rows": (f"{A}; INSERT INTO several SELECT id, shop FROM orders", [["a", "several"]]),
    "an equal part over updates": (
        "INSERT INTO c SELECT CAST(v AS STRING), COUNT(*) FROM prices GROUP BY v; "
        "INSERT INTO d SELECT CAST(v AS STRING), SUM(id) FROM prices GROUP BY v", [["c", "d"]],
    ),
    "through another one": (
        f"{A}; INSERT INTO b SELECT id, CAST(NULL AS MAP<STRING, BYTES>) FROM visits; "
        "INSERT INTO several SELECT id, 'x' FROM orders UNION ALL SELECT id, 'y' FROM visits",
        [["a", "b", "several"]],
    ),
    "one that makes many rows of one": (
        f"{A}; INSERT INTO several SELECT id, t FROM orders CROSS JOIN UNNEST(SPLIT(shop, ',')) AS x (t); {B}",
        [["a", "b"]],
    ),
    "other tables": (f"{A}; INSERT INTO b SELECT id, CAST(NULL AS MAP<STRING, BYTES>) FROM visits", []),
    "other options of the table": (f"{A}; {B} /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */", []),
    "totals of inserts, which are aggregates": (
        "INSERT INTO c SELECT shop, SUM(v) FROM orders GROUP BY shop; "
        "INSERT INTO d SELECT shop, SUM(id) FROM orders GROUP BY shop", [],
    ),
    "exactly-once": (f"{A}; INSERT INTO once {SELECT_V}", []),
    "other servers": (f"{A}; INSERT INTO far {SELECT_V}", []),
    "print": (f"{A}; INSERT INTO p {SELECT_V}", []),
    "an end": (
        "INSERT INTO a SELECT id, v FROM ended UNION ALL SELECT id, v FROM orders; "
        "INSERT INTO several SELECT id, 'x' FROM ended UNION ALL SELECT id, 'y' FROM orders",
        [],
    ),
    "a window": (
        f"{C}; INSERT INTO d SELECT shop, COUNT(DISTINCT v) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), "
        "INTERVAL '1' MINUTE)) GROUP BY shop, window_start, window_end", [],
    ),
    "a changelog": (f"{C}; INSERT INTO changes SELECT shop, COUNT(DISTINCT id) FROM orders GROUP BY shop", []),
    "real time": (f"{A}; {B}", []),
    "sources apart": (f"{A}; {B}; {C}; {D}", []),
    "parts apart": (f"{A}; {B}; {C}; {D}", [["a", "b"]]),
}  # fmt: skip
SETTINGS = {
    "real time": "SET 'flinkddl.execution.mode' = 'realtime';",
    "sources apart": "SET 'table.optimizer.reuse-source-enabled' = 'false';",
    "parts apart": "SET 'table.optimizer.reuse-sub-plan-enabled' = 'false';",
}
PATH = "default_catalog.default_database."


def job(inserts: str, sets: str = "") -> SparkJob:
    out = compile_script(SourceText("<t>", f"{sets} {TABLES} EXECUTE STATEMENT SET BEGIN {inserts}; END;"))
    assert out.actions, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


def parts(made: SparkJob) -> list[list[str]]:
    return [[name.removeprefix(PATH) for name in query.parts] for query in made.united]


@pytest.mark.parametrize("name", CASES)
def test_which(name: str) -> None:
    inserts, found = CASES[name]
    made = job(inserts, SETTINGS.get(name, ""))
    assert parts(made) == found
    assert len(made.runs) == len(made.writes) - sum(len(p) - 1 for p in found)
    steps = {s.name: s for s in made.steps}
    for query in made.united:
        reads = [s for s in below(steps[query.input], steps) if isinstance(s, Read)]
        assert len({s.table for s in reads}) == len(reads)
        assert "topic" not in query.options


def test_records_say_where_they_go() -> None:
    made = job(f"{A}; INSERT INTO several SELECT id, shop FROM orders; {B}")
    end = next(s for s in made.steps if s.name == made.united[0].input)
    assert isinstance(end, Select)
    assert [c for c, _ in end.columns] == ["value", "topic", "headers", PART]
    assert "decodes: id, shop, v, ts of 5" in explain(made)


def test_an_equal_part_runs_once() -> None:
    made = job(f"{MOST}; {D}")
    stages = [s for s in made.steps if isinstance(s, GroupBy)]
    assert [len(s.state_calls) for s in stages] == [1, 2]
    assert made.apart is not None
    assert [bool(run.parts) for run in made.apart(frozenset()).runs] == [False, False]


def test_rows_without_state_are_no_chain() -> None:
    assert job(f"{A}; {B}").apart is None


def test_a_checkpoint_must_match_it() -> None:
    """So that a version that knows of no such queries does not begin anew over it."""
    together, apart = job(f"{A}; {B}"), job(f"{A}; {B}", SETTINGS["sources apart"])
    assert together.fingerprint == (*apart.fingerprint, ("Query", f"{PATH}a, {PATH}b"))


def test_explain_says_it() -> None:
    made = job(f"{A}; {B}; {C}")
    text = explain(made)
    assert f"{PATH}a <- all_records: one query with others, {PATH}{ORDERS}, topic=a" in text
    assert f"{PATH}{ORDERS} <- all_records: kafka, append mode" in text
    assert text.count("read with the scan above") == 1
    flow = flow_of(made)
    assert flow.title.endswith("; one query for a, b")
    told = as_json(flow)
    assert [w["query"] for w in told["writes"]] == [PATH + ORDERS, PATH + ORDERS, f"{PATH}c"]


def test_json_and_the_printed_program_have_it() -> None:
    made = job(f"{A}; {B}; {C}")
    (told,) = json.loads(print_json([made]))
    assert [q["parts"] for q in told["united"]] == [[f"{PATH}a", f"{PATH}b"]]
    text = print_pyspark([made, made])
    compile(text, "<program>", "exec")
    assert text.count(".queryName(") == 4
    assert text.count(f'queryName("{PATH}{ORDERS}")') == text.count(f'queryName("{PATH}{ORDERS}-2")') == 1


def test_the_order_of_the_script_is_no_matter() -> None:
    one, other = job(f"{C}; {D}"), job(f"{D}; {C}")
    assert [q.parts for q in one.united] == [q.parts for q in other.united]
    assert [c.sql for c in calls(one)] == [c.sql for c in calls(other)]


def again(made: SparkJob, root: Path) -> SparkJob:
    """Return a job as it goes on from what lies in a folder."""
    stored = stored_plan(LOCAL, job_folder(str(root), made))
    found = formed(kept(made, stored), stored, lambda: "")
    open_checkpoint(found, str(root))
    return found


def test_a_set_that_was_begun_in_queries_of_their_own_goes_on_so(tmp_path: Path) -> None:
    open_checkpoint(job(f"{A}; {B}", SETTINGS["sources apart"]), str(tmp_path))
    assert parts(again(job(f"{A}; {B}"), tmp_path)) == []


def test_so_does_one_of_an_earlier_version(tmp_path: Path) -> None:
    made = job(f"{A}; {B}")
    apart = made.as_begun and made.as_begun(Begun(together={}))
    assert apart is not None
    checkpoint = open_checkpoint(apart, str(tmp_path))
    file = f"{checkpoint.root}/flinkddl-plan.json"
    told = json.loads(LOCAL.read(file) or "")
    del told["together"]
    LOCAL.write(file, json.dumps(told))
    assert parts(again(made, tmp_path)) == []


def test_what_comes_is_by_itself_and_what_goes_leaves_the_others(tmp_path: Path) -> None:
    several = "INSERT INTO several SELECT id, shop FROM orders"
    assert parts(again(job(f"{A}; {B}"), tmp_path)) == [["a", "b"]]
    assert parts(again(job(f"{several}; {B}; {A}"), tmp_path)) == [["a", "b"]]
    assert parts(again(job(f"{B}; {several}"), tmp_path)) == [["b"]]


@pytest.mark.parametrize(("one", "other"), [(A, B), (C, D)])
def test_a_sink_may_have_another_name(one: str, other: str, tmp_path: Path) -> None:
    first = again(job(f"{one}; {other}"), tmp_path)
    (name, second), is_a = parts(first)[0], one == A
    columns = "(id INT, v INT)" if is_a else "(shop STRING, n BIGINT, PRIMARY KEY (shop) NOT ENFORCED)"
    more = f"CREATE TABLE z {columns} WITH ({KAFKA if is_a else UPSERT}, 'topic' = '{name}');"
    made = again(job(f"{other}; {one.replace(f'INTO {name} ', 'INTO z ')}", more), tmp_path)
    assert parts(made) == [["z", second]]
    assert [s.sql for s in calls(made)] == [s.sql for s in calls(first)]


def calls(made: SparkJob) -> list[StateCall]:
    return [call for s in made.steps if isinstance(s, GroupBy) for call in s.state_calls]


def test_with_state_none_goes(tmp_path: Path) -> None:
    again(job(f"{C}; {D}"), tmp_path)
    with pytest.raises(FlinkDdlError, match="FD820"):
        again(job(C), tmp_path)


def test_figures_of_each_insert() -> None:
    made = job(f"{C}; {D}")
    (query,) = made.runs
    state = {"operatorName": "transformWithStateExec", "numRowsTotal": 5, "memoryUsedBytes": 7}
    event = {
        "batchId": 1, "timestamp": "2026-01-01T00:00:00Z", "sources": [{"numInputRows": 9}],
        "stateOperators": [state | {"numRowsTotal": 3}, state],
        "observedMetrics": {"flinkddl": {"values": [6, 1, 2, 0, 4, 1], "schema": {"fields": [
            {"name": n} for n in ("rows", "tombstones", "rows_0", "tombstones_0", "rows_1", "tombstones_1")]}}},
    }  # fmt: skip
    record = read_progress(query.name, query.table, event, foreseen=foreseen(made)[query.name])
    one, other = by_part(record, made.parts_of(query), event)
    assert [(p.write, p.rows_in, p.upserts, p.tombstones) for p in (one, other)] == [
        (f"{PATH}c", 9, 2, 0), (f"{PATH}d", 9, 3, 1),
    ]  # fmt: skip
    assert one.state_rows + other.state_rows == 8
    assert other.state_rows == 3


UNDERLINED = """[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012
== SQL (line 1, position 34) ==
...F(__chain_on, flinkddl.wrap_int(100 div `v`), NULL) AS `v`
                                   ^^^^^^^^^^^
"""
KERNEL = """java.lang.IllegalArgumentException: cannot read 'x' as 32 bit integer
\tat flinkddl.scalar.ScalarCast.checked(ScalarCast.java:44)
\tat flinkddl.scalar.ScalarCast$CastLong.invoke(ScalarCast.java:54)
"""


@pytest.mark.parametrize(
    ("bad", "error", "into"),
    [
        ("100 / v", UNDERLINED, "several"),
        ("CAST(shop AS INT)", KERNEL, "several"),
        ("v", UNDERLINED, "a, several"),
        ("100 / v", "TimeoutException: no answer", "a, several"),
    ],
)
def test_an_error_names_its_insert(bad: str, error: str, into: str) -> None:
    made = job(f"{A}; INSERT INTO several SELECT {bad}, shop FROM orders")
    assert blamed(made, made.united[0], error).replace(PATH, "") == into
