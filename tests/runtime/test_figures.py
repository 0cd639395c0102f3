"""The plan of a query with what its nodes have done, from a report of Spark's."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.runtime.job.reporting.figures import figure_lines, figures, open_windows, plan_nodes
from flinkddl.runtime.job.reporting.kept import Kept
from flinkddl.runtime.job.reporting.progress import RowTotals, read_progress
from flinkddl.runtime.job.supervising.queries import Queries
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.dataflow import flow_of
from flinkddl.spark.job import JoinStep
from flinkddl.spark.operators import lines, operators
from flinkddl.spark.partitions import apart, split
from flinkddl.spark.reported import foreseen
from flinkddl.spark.stateful import stateful

if TYPE_CHECKING:
    from flinkddl.spark.job import SparkJob

TABLES = """
CREATE TABLE o (k STRING, v INT, p AS PROCTIME()) WITH ('connector' = 'kafka', 'topic' = 'o', 'format' = 'json',
  'properties.bootstrap.servers' = 'b:9092', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE s (k STRING NOT NULL, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = 's', 'properties.bootstrap.servers' = 'b:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE b (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
"""
COUNT = "SELECT k, COUNT(*) AS n FROM o GROUP BY k"
NEWEST = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS r FROM o"
VALUES = "VALUES ('a', 1)) AS t(k, n"
OTHER_KEY = f"INSERT INTO s SELECT CAST(n AS STRING), n FROM ({COUNT});"
SET = f"""EXECUTE STATEMENT SET BEGIN
INSERT INTO b SELECT x.k, y.n FROM ({COUNT}) AS x JOIN ({COUNT}) AS y ON x.k = y.k;
INSERT INTO s SELECT k, MAX(v) FROM ({NEWEST}) WHERE r = 1 GROUP BY k;
END;"""


def compiled(sql: str) -> SparkJob:
    out = compile_script(SourceText("<t>", TABLES + sql))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


def event(operators: list[tuple[str, int]], sources: list[int]) -> dict[str, Any]:
    return {
        "batchId": 0,
        "timestamp": "2026-11-21T12:00:04.123Z",
        "stateOperators": [
            {"operatorName": o, "numRowsTotal": n, "memoryUsedBytes": n * 1_000_000} for o, n in operators
        ],
        "sources": [{"numInputRows": n} for n in sources],
        "sink": {"numOutputRows": 9},
    }


def told(job: SparkJob, write: int, data: dict[str, Any]) -> list[str]:
    name = job.writes[write].name
    p = read_progress(name, "t", data, foreseen=foreseen(job)[name])
    totals = RowTotals()
    totals.add(p)
    return list(figure_lines([asdict(n) for n in figures(plan_nodes(job, name), totals, p.state_by_node)]))


def test_the_nodes_of_a_query_have_the_numbers_of_explain_and_their_figures() -> None:
    job = compiled(f"SET 'flinkddl.execution.state' = 'aggregate'; {SET}")
    keeping = [("stateStoreSave", 7), ("stateStoreSave", 2), ("stateStoreSave", 3)]
    assert told(job, 0, event(keeping, [100, 10])) == [
        "n8 Sink(default_catalog.default_database.b)   [9 rows in]",
        "   n7 Project(k, n)",
        "      n6 Join(inner, (k = k#1))   [state 7 rows, 7.0 MB]",
        "         n3 Aggregate(by=[k])   [state 2 rows, 2.0 MB]",
        "            n2 Project(k)",
        "               n1 Scan(default_catalog.default_database.o)   [110 rows out]",
        "         n5 Project(k, EXPR$1 AS n)",
        "            n4 Aggregate(by=[k], COUNT(*))   [state 3 rows, 3.0 MB]",
        "               n2 Project   [as above]",
    ]
    explained = [line.strip() for line in lines(operators(job))]
    for line in ("n6 Join(inner, (k = k#1))", "n3 Aggregate(by=[k])", "n4 Aggregate(by=[k], COUNT(*))"):
        assert line in explained
    boxes = {o.id: o.name for o in flow_of(job).operators}
    assert (boxes["n6"], boxes["n1"], boxes["n13"]) == ("Join", "Scan", "Sink")


def test_the_second_insert_has_its_own_sink_and_shares_the_numbers_of_equal_scans() -> None:
    found = told(compiled(SET), 1, event([("stateStoreSave", 4), ("stateStoreSave", 5)], [100]))
    assert [line.split("(")[0] for line in found] == [
        "n13 Sink",
        "   n12 Project",
        "      n11 Aggregate",
        "         n10 Project",
        "            n9 Deduplicate",
        "               n1 Scan",
    ]
    assert [line.partition("   [")[2] for line in found if "state" in line] == [
        "state 4 rows, 4.0 MB]",
        "state 5 rows, 5.0 MB]",
    ]


def test_the_nodes_of_a_stage_are_told_with_the_sum_that_spark_reports() -> None:
    sums, counts = "SELECT k, SUM(v) AS n FROM o GROUP BY k", "SELECT v, COUNT(*) AS n FROM o GROUP BY v"
    sets = "SET 'flinkddl.execution.state' = 'chain';"
    job = compiled(f"{sets} INSERT INTO b SELECT x.k, y.n FROM ({sums}) AS x JOIN ({counts}) AS y ON x.n = y.v;")
    ((join, stage),) = (f.stateful for f in foreseen(job).values())
    assert (join.place.name, stage.place.name) == ("Join", "Aggregate+Aggregate")
    found = told(job, 0, event([("transformWithStateExec", 7), ("transformWithStateExec", 5)], [100]))
    assert [line.partition("   [")[2] for line in found if "state" in line] == [
        "state 7 rows, 7.0 MB]",
        *[f"state of {stage.place.node} 5 rows, 5.0 MB]"] * 2,
    ]


def test_the_nodes_of_a_stage_are_told_apart_where_they_count_themselves() -> None:
    sums, counts = "SELECT k, SUM(v) AS n FROM o GROUP BY k", "SELECT v, COUNT(*) AS n FROM o GROUP BY v"
    sets = "SET 'flinkddl.execution.state' = 'chain';"
    job = compiled(f"{sets} INSERT INTO b SELECT x.k, y.n FROM ({sums}) AS x JOIN ({counts}) AS y ON x.n = y.v;")
    ((name, found),) = foreseen(job).items()
    assert [(k.operator, k.place.node, k.inputs) for k in found.keyed.values()] == [
        ("aggregate_1", "n3", ("n2",)),
        ("aggregate_2", "n6", ("n5",)),
        ("inner_3", "n8", ("n4", "n7")),
    ]
    keeping = [("transformWithStateExec", 7), ("transformWithStateExec", 5)]
    counted = {"1_in0": 100, "1_out": 4, "1_groups": 2, "2_in0": 100, "2_out": 3, "2_groups": 3, "3_out": 1}
    counted |= {"3_in0": 4, "3_in1": 3, "3_groups": 6, "3_bytes": 2_000_000}
    data = event(keeping, [100]) | {"observedMetrics": {"flinkddl.stage9": counted}, "durationMs": {"addBatch": 7}}
    p = Kept().add("q", "id", read_progress(name, "t", data, foreseen=found))
    totals = RowTotals()
    totals.add(p)
    lines = list(figure_lines([asdict(n) for n in figures(plan_nodes(job, name), totals, p.state_by_node)]))
    assert [line.strip().partition(" ")[0] + line.partition("  [")[2] for line in lines if "state" in line] == [
        "n84 rows in from n4, 3 rows in from n7 · 1 rows out · state 6 rows, 2.0 MB]",
        "n3100 rows in · 4 rows out · state 2 rows, 0.0 MB]",
        "n6100 rows in · 3 rows out · state 3 rows, 0.0 MB]",
    ]


def test_rows_that_pass_a_stage_are_told_with_its_first_node() -> None:
    sums, counts = "SELECT k, SUM(v) AS n FROM o GROUP BY k", "SELECT v, COUNT(*) AS n FROM o GROUP BY v"
    joined = f"({sums}) AS x JOIN ({counts}) AS y ON x.n = y.v JOIN o ON o.v = y.n"
    job = compiled(f"SET 'flinkddl.execution.state' = 'chain'; INSERT INTO b SELECT x.k, y.n FROM {joined};")
    ((name, found),) = foreseen(job).items()
    stages = {k.operator: k.stage for k in found.keyed.values()}
    assert {operator: stage.node for operator, stage in stages.items() if stage} == {
        "aggregate_1": "n3+n6",
        "inner_3": "n8",
    }
    counted = {"1_in0": 100, "1_out": 4, "2_in0": 100, "2_out": 3, "1_passed2": 60, "1_passed3": 40}
    counted |= {"3_in0": 4, "3_in1": 3, "3_out": 1, "3_passed1": 50, "4_in0": 1, "4_in1": 50, "4_out": 0}
    data = event([], [100]) | {"observedMetrics": {"flinkddl.stage9": counted}}
    lines = told(job, 0, data)
    assert {line.strip().partition(" ")[0]: line.partition(" out · ")[2] for line in lines if " pass " in line} == {
        "n3": "100 rows pass n3+n6]",
        "n8": "50 rows pass n8]",
    }
    assert read_progress(name, "t", event([], [100]), foreseen=found).keyed == ()


def test_a_scan_that_keeps_newest_rows_says_what_it_read_and_what_it_gave() -> None:
    job = compiled(
        "SET 'flinkddl.execution.state' = 'keyed'; INSERT INTO b SELECT x.k, y.n FROM s AS x JOIN s AS y ON x.n = y.n;"
    )
    data = event([], [100]) | {"observedMetrics": {"flinkddl.stage9": {"1_in0": 100, "1_out": 60}}}
    (scan, *_) = [line for line in told(job, 0, data) if "n1 Scan(" in line]
    assert scan.endswith("(default_catalog.default_database.s)   [100 rows read · 100 rows in · 60 rows out]")


# job, and its operators by key: name, node, the nodes that rows come from, whether its rows are the node's
OPERATORS = {
    "newest rows, then their sums": (
        "SET 'flinkddl.execution.state' = 'keyed'; "
        f"INSERT INTO s SELECT k, MAX(v) FROM ({NEWEST}) WHERE r = 1 GROUP BY k;",
        [("latest_1", "Deduplicate", 1, True), ("aggregate_2", "Aggregate", 1, True)],
    ),
    "a join of inserts": (
        "SET 'flinkddl.execution.state' = 'keyed'; INSERT INTO b SELECT x.k, y.v FROM o AS x JOIN o AS y ON x.k = y.k;",
        [("inner_1", "Join", 2, True)],
    ),
    "an input that is needed as changes": (
        "SET 'flinkddl.execution.state' = 'keyed'; INSERT INTO b SELECT k, SUM(n) FROM s GROUP BY k;",
        [("latest_1", "Aggregate", 1, False), ("aggregate_2", "Aggregate", 1, True)],
    ),
    "newest rows of a table that is read once": (
        "SET 'flinkddl.execution.state' = 'keyed'; INSERT INTO b SELECT x.k, y.n FROM s AS x JOIN s AS y ON x.n = y.n;",
        [("latest_1", "Scan", 0, True), ("inner_2", "Join", 2, True)],
    ),
    "a sink that arbitrates between rows": (
        f"SET 'flinkddl.execution.state' = 'keyed'; {OTHER_KEY}",
        [("aggregate_1", "Aggregate", 1, True), ("aggregate_2", "Sink", 1, True)],
    ),
    "aggregates count nothing": (f"SET 'flinkddl.execution.state' = 'aggregate'; INSERT INTO b {COUNT};", []),
}


@pytest.mark.parametrize(("sql", "expected"), OPERATORS.values(), ids=OPERATORS)
def test_operators_by_key_are_known_by_their_numbers(sql: str, expected: list[tuple[str, str, int, bool]]) -> None:
    (found,) = foreseen(compiled(sql)).values()
    assert [(k.operator, k.place.name, len(k.inputs), k.last) for k in found.keyed.values()] == expected


def test_a_sink_that_keeps_rows_is_a_node_of_its_own() -> None:
    job = compiled(f"EXECUTE STATEMENT SET BEGIN\nINSERT INTO b {COUNT};\n{OTHER_KEY}\nEND;")
    sink, count = (s.place for s in foreseen(job)[job.writes[1].name].stateful)
    assert (sink.name, count.name) == ("Sink", "Aggregate")
    assert [bool(o.operators) for o in operators(job) if f"n{o.number}" == sink.node] == [True]


def test_operators_that_are_not_foreseen_have_no_figures() -> None:
    job = compiled(f"SET 'flinkddl.execution.state' = 'aggregate'; {SET}")
    found = told(job, 0, event([("stateStoreSave", 7), ("stateStoreSave", 2)], [100, 10, 1]))
    assert [line for line in found if "[" in line.replace("by=[", "")] == [found[0], found[-1]]


def test_a_join_with_a_table_that_is_no_stream_keeps_nothing() -> None:
    job = compiled(f"INSERT INTO b SELECT o.k, t.n FROM o JOIN ({VALUES}) ON o.k = t.k;")
    (write,) = job.writes
    assert any(isinstance(step, JoinStep) for step in job.steps)
    assert (stateful(job, write), foreseen(job)[write.name].stateful) == ([], ())


def test_nothing_is_foreseen_of_a_batch_run() -> None:
    assert (
        foreseen(compiled(f"SET 'execution.runtime-mode' = 'batch'; INSERT INTO b SELECT k, n FROM ({VALUES});")) == {}
    )


TIMED = """
SET 'flinkddl.execution.state' = 'aggregate';
CREATE TABLE t (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = 't',
  'format' = 'json', 'properties.bootstrap.servers' = 'b:9092', 'scan.startup.mode' = 'earliest-offset');
INSERT INTO b SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY k, window_start, window_end;
"""


def test_a_source_for_each_partition_is_of_one_scan() -> None:
    job = compiled(TIMED)
    run = split(job, {read.name: {"t": [0, 1, 2]} for read, _ in apart(job)})
    (found,) = foreseen(run).values()
    assert [(name.partition("@")[2], place.node) for name, place in found.reads] == [(f"t-{n}", "n1") for n in range(3)]
    assert [s.place.name for s in found.stateful] == ["WindowAggregate"]
    told_lines = told(run, 0, event([("stateStoreSave", 4)], [1, 2, 4]))
    assert told_lines[-1].endswith("n1 Scan(default_catalog.default_database.t, watermark=ts)   [7 rows out]")


WINDOWS = TIMED.partition("INSERT")[0]
ONCE = (
    "SELECT k, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
    "GROUP BY k, window_start, window_end"
)
SESSIONS = ONCE.replace("TUMBLE(TABLE t,", "SESSION(TABLE t PARTITION BY k,")
MARK = "2026-11-21T12:00:05.000Z"
CLOSES = "later records close windows, and so does the end of tables with 'scan.bounded.mode' = 'latest-offset'"
# query, rows of each operator, watermark, what is told
OPEN: dict[str, tuple[str, list[int], str, list[str]]] = {
    "three windows of keys": (
        ONCE,
        [3],
        MARK,
        [
            "b: 3 groups or rows wait in windows that are not over; "
            f"the watermark is at 2026-11-21 12:00:05 UTC: {CLOSES}"
        ],
    ),
    "one, and no watermark": (
        ONCE,
        [1],
        "1970-01-01T00:00:00.000Z",
        [
            "b: 1 group or row waits in windows that are not over; "
            f"there is no watermark yet, which a partition without records may hold back: {CLOSES}"
        ],
    ),
    "all are closed": (ONCE, [0], MARK, []),
    "windows that come out early keep rows too": (f"SELECT k, SUM(n) FROM ({ONCE}) GROUP BY k", [2, 3], MARK, []),
    "rows of no window": ("SELECT k, COUNT(*) FROM t GROUP BY k", [3], MARK, []),
    "other operators than foreseen": (ONCE, [3, 3], MARK, []),
    "sessions are kept twice": (SESSIONS, [3, 3], MARK, []),
}


@pytest.mark.parametrize(("query", "rows", "mark", "lines"), OPEN.values(), ids=OPEN)
def test_what_waits_in_open_windows_is_told(query: str, rows: list[int], mark: str, lines: list[str]) -> None:
    job = compiled(f"{WINDOWS} INSERT INTO b {query};")
    (write,) = job.writes
    data = event([("stateStoreSave", n) for n in rows], [7]) | {"eventTime": {"watermark": mark}}
    p = read_progress(write.name, write.table, data, foreseen=foreseen(job)[write.name])
    assert open_windows(job, [p]) == lines


def test_what_waits_in_a_chain_is_told() -> None:
    """A window comes out once there, so what is above it keeps nothing of open ones."""
    job = compiled(f"{WINDOWS.replace('aggregate', 'auto')} INSERT INTO b SELECT k, SUM(n) FROM ({ONCE}) GROUP BY k;")
    (write,) = job.writes
    data = event([("transformWithStateExec", n) for n in (2, 3)], [7]) | {"eventTime": {"watermark": MARK}}
    p = read_progress(write.name, write.table, data, foreseen=foreseen(job)[write.name])
    (line,) = open_windows(job, [p])
    assert line.startswith("b: 3 groups or rows wait in windows that are not over")


BUSY, QUIET = ({"isTriggerActive": active, "isDataAvailable": False, "message": ""} for active in (True, False))
# job, what its query does, its last batch where batch 3 has read all there was, whether its windows are closed
SETTLED = {
    "the next batch runs": (TIMED, BUSY, 3, False),
    "the next batch is over": (TIMED, BUSY, 4, True),
    "there is no next batch": (TIMED, QUIET, 3, True),
    "the query is gone": (TIMED, None, 3, True),
    "they close in a chain": (TIMED.replace("aggregate", "auto"), BUSY, 3, True),
    "there are no windows": (f"INSERT INTO b {COUNT};", BUSY, 3, True),
}


@pytest.mark.parametrize(("sql", "status", "batch", "settled"), SETTLED.values(), ids=SETTLED)
def test_windows_close_in_the_batch_after_the_last_rows(
    sql: str, status: dict[str, Any] | None, batch: int, settled: bool
) -> None:
    job = compiled(sql)
    queries, name = Queries(cast("Any", None), job, None), job.writes[0].name
    queries.latest[name] = read_progress(name, "b", event([], []) | {"batchId": batch})
    if status is not None:
        queries.running[name] = cast("Any", SimpleNamespace(status=status))
    assert queries.settled({name: 3}) is settled
