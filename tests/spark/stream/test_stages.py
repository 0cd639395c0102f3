"""State by key: the same table whatever the order of delivery and the batches; a batch run again gives the same."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import AggCall, Call, InputRef, Rex, SortKey
from flinkddl.runtime.session.stages import stages_missing, tell_missing
from flinkddl.runtime.storage.checkpoint import open_checkpoint
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.fingerprint import BY_KEY
from flinkddl.spark.job import GroupBy
from flinkddl.spark.operators import operators
from tests.spark.stream.harness import JOB
from tests.spark.stream.stages import FIELDS, Row, expected, forget_commit, run, source
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.spark.job import SparkJob


@dataclass(frozen=True)
class Query:
    """A query over tables of these kinds whose operators with state are all of one kind, and its model."""

    kind: str
    inputs: tuple[str, ...]
    build: Callable[..., N.Node]
    model: Callable[..., list[Row]]
    operators: int = 1
    by_trial: bool = True  # whether the result says of which trial its rows are


def same(node: N.Node) -> N.Node:
    return node


def rows_as_they_are(rows: list[Row]) -> list[Row]:
    return rows


def dedup(keep_last: bool, by_time: bool = False) -> Callable[[N.Node], N.Node]:
    def build(input: N.Node) -> N.Node:
        order = 3 if by_time else 1
        return N.Deduplicate(
            fields=FIELDS, input=input, keys=(0, 2), order=order, keep_last=keep_last, proctime=not by_time
        )

    return build


def groups(rows: list[Row], at: int = 1) -> dict[Any, list[Row]]:
    out: dict[Any, list[Row]] = {}
    for row in rows:
        out.setdefault(row[at], []).append(row)
    return out


def dedup_model(keep_last: bool, by_time: bool = False) -> Callable[[list[Row]], list[Row]]:
    def time(row: Row) -> int:
        if not by_time:
            return 0
        return (-1 if keep_last else 9) if row[2] is None else row[2]  # a row without a time never wins

    def model(rows: list[Row]) -> list[Row]:
        # of equal times the row that came last, or first
        ordered = [sorted(g, key=time) for g in groups(rows).values()]
        return [g[-1] if keep_last else g[0] for g in ordered]

    return model


NAMES = ("n", "s", "a", "mi", "ma", "d", "ds", "l", "f", "la", "c", "ar")


def aggregates(input: N.Node) -> N.Node:
    calls = (
        AggCall("COUNT", (), T.BIGINT),
        AggCall("SUM", (3,), T.INT),
        AggCall("AVG", (3,), T.INT),
        AggCall("MIN", (3,), T.INT),
        AggCall("MAX", (1,), T.INT),
        AggCall("COUNT", (3,), T.BIGINT, distinct=True),
        AggCall("SUM", (3,), T.INT, distinct=True),
        AggCall("LISTAGG", (2,), T.STRING),
        AggCall("FIRST_VALUE", (1,), T.INT),  # of equal values the oldest copy is taken back
        AggCall("LAST_VALUE", (1,), T.INT),
        AggCall("COUNT", (1,), T.BIGINT, distinct=True),
        AggCall("ARRAY_AGG", (1,), T.ARRAY(T.INT)),
    )
    fields = (FIELDS[0], FIELDS[2], *(N.Field(n, c.type) for n, c in zip(NAMES, calls, strict=True)))
    return N.Aggregate(fields=fields, input=input, keys=(0, 2), aggs=calls)


def aggregates_model(rows: list[Row]) -> list[Row]:
    out = []
    for k, members in groups(rows).items():
        ids = [r[0] for r in members]
        v = [r[2] for r in members if r[2] is not None]
        total, avg = (sum(v), sum(v) // len(v)) if v else (None, None)
        numbers = (len(members), total, avg, min(v, default=None), max(ids), len(set(v)), sum(set(v)) if v else None)
        listed = None if k is None else ",".join(k for _ in members)
        out.append((k, *numbers, listed, ids[0], ids[-1], len(ids), tuple(ids)))
    return out


TOTALS = (0, 1, 2, 3, 4, 5, 6, 10)
"""Of ``aggregates`` those that do not ask when a row came: a task brings their rows together before the exchange."""


def totals(input: N.Node) -> N.Node:
    whole = aggregates(input)
    assert isinstance(whole, N.Aggregate)
    fields = (*whole.fields[:2], *(whole.fields[2 + n] for n in TOTALS))
    return N.Aggregate(fields=fields, input=input, keys=(0, 2), aggs=tuple(whole.aggs[n] for n in TOTALS))


def totals_model(rows: list[Row]) -> list[Row]:
    return [(row[0], *(row[1 + n] for n in TOTALS)) for row in aggregates_model(rows)]


def sizes(input: N.Node) -> N.Node:
    """Over a GROUP BY: a size is taken back and another one given in the same batch."""
    counts = N.Aggregate(
        fields=(FIELDS[0], FIELDS[2], FIELDS[3], N.Field("n", T.BIGINT)),
        input=input,
        keys=(0, 2, 3),
        aggs=(AggCall("COUNT", (1,), T.BIGINT),),
    )
    fields = (FIELDS[0], N.Field("n", T.BIGINT), N.Field("m", T.BIGINT))
    calls = (AggCall("COUNT", (3,), T.BIGINT), AggCall("MAX", (3,), T.BIGINT))
    return N.Aggregate(fields=fields, input=counts, keys=(0,), aggs=calls)


def sizes_model(rows: list[Row]) -> list[Row]:
    found = Counter((r[1], r[2]) for r in rows).values()
    return [(len(found), max(found))]


def ref(index: int) -> InputRef:
    return InputRef(FIELDS[index % 4].type, index)


def both(*conditions: Rex) -> Call:
    return Call(T.BOOLEAN, "AND", conditions)


EQUAL = both(Call(T.BOOLEAN, "=", (ref(0), ref(4))), Call(T.BOOLEAN, "=", (ref(2), ref(6))))
BEYOND = both(*EQUAL.args, Call(T.BOOLEAN, "<", (ref(3), ref(7))))


def join(kind: Any, condition: Rex = EQUAL) -> Callable[[N.Node, N.Node], N.Node]:
    """A join by trial and k, without the trials: they are NULL on the side that is padded."""

    def build(left: N.Node, right: N.Node) -> N.Node:
        half = kind in ("semi", "anti")
        wide = FIELDS if half else (*FIELDS, *(N.Field(f"{f.name}2", f.type) for f in FIELDS))
        keys = ((0, 0), (2, 2))
        node = N.Join(fields=wide, left=left, right=right, kind=kind, condition=condition, keys=keys)
        kept = [i for i in range(len(wide)) if i % 4]
        return N.Project(fields=tuple(wide[i] for i in kept), input=node, exprs=tuple(map(ref, kept)))

    return build


def join_model(kind: str, beyond: bool = False) -> Callable[[list[Row], list[Row]], list[Row]]:
    def fits(a: Row, b: Row) -> bool:
        less = a[2] is not None and b[2] is not None and a[2] < b[2]
        return a[1] is not None and a[1] == b[1] and (less or not beyond)

    def model(left: list[Row], right: list[Row]) -> list[Row]:
        pairs = [(a, b) for a in left for b in right if fits(a, b)]
        matched = {a for a, _ in pairs}, {b for _, b in pairs}
        if kind in ("semi", "anti"):
            return [a for a in left if (a in matched[0]) == (kind == "semi")]
        out = [a + b for a, b in pairs]
        out += [(*a, None, None, None) for a in left if kind in ("left", "full") and a not in matched[0]]
        return out + [(None, None, None, *b) for b in right if kind in ("right", "full") and b not in matched[1]]

    return model


def top(start: int, end: int, ranked: bool = False) -> Callable[[N.Node], N.Node]:
    def build(input: N.Node) -> N.Node:
        fields = (*FIELDS, N.Field("rn", T.BIGINT)) if ranked else FIELDS
        places: dict[str, Any] = {"partition": (0, 2), "order": (SortKey(3),), "start": start, "end": end}
        return N.Rank(fields=fields, input=input, with_rank=ranked, **places)

    return build


def top_model(start: int, end: int, ranked: bool = False) -> Callable[[list[Row]], list[Row]]:
    """NULLs first; of equal rows the one that came first."""

    def model(rows: list[Row]) -> list[Row]:
        out = []
        for g in groups(rows).values():
            ordered = sorted(g, key=lambda r: (r[2] is not None, r[2] or 0))
            out += [(*r, n) if ranked else r for n, r in enumerate(ordered[start - 1 : end], start)]
        return out

    return model


RUNNING = (
    AggCall("SUM", (1,), T.INT),
    AggCall("COUNT", (3,), T.BIGINT),
    AggCall("MAX", (1,), T.INT),
    AggCall("COUNT", (3,), T.BIGINT, distinct=True),
    AggCall("FIRST_VALUE", (1,), T.INT),
    AggCall("LAST_VALUE", (1,), T.INT),
    AggCall("LISTAGG", (2,), T.STRING),
)
PLACED = (AggCall("ROW_NUMBER", (), T.BIGINT), AggCall("LAG", (1,), T.INT), AggCall("MIN", (1,), T.INT))


def over(calls: tuple[AggCall, ...], by_rows: bool) -> Callable[[N.Node], N.Node]:
    def build(input: N.Node) -> N.Node:
        fields = (*FIELDS, *(N.Field(f"c{n}", c.type) for n, c in enumerate(calls)))
        return N.Over(fields=fields, input=input, partition=(0, 2), order=(SortKey(3),), calls=calls, rows=by_rows)

    return build


def running(frame: list[Row]) -> Row:
    ids, v = [r[0] for r in frame], [r[2] for r in frame if r[2] is not None]
    listed = None if frame[0][1] is None else ",".join(r[1] for r in frame)
    return (sum(ids), len(v), max(ids), len(set(v)), ids[0], ids[-1], listed)


def placed(frame: list[Row]) -> Row:
    return (len(frame), frame[-2][0] if len(frame) > 1 else None, min(r[0] for r in frame))


def over_model(values: Callable[[list[Row]], Row], by_rows: bool) -> Callable[[list[Row]], list[Row]]:
    """NULLs first; by range with all that are equal."""

    def model(rows: list[Row]) -> list[Row]:
        out = []
        for g in groups(rows).values():
            ordered = sorted(g, key=lambda r: (r[2] is not None, r[2] or 0))
            for n, row in enumerate(ordered):
                last = n if by_rows else max(i for i, other in enumerate(ordered) if other[2] == row[2])
                out.append((*row, *values(ordered[: last + 1])))
        return out

    return model


JOINS = {
    f"join-{kind}": Query(
        "left" if kind == "right" else kind, ("upsert", "delta"), join(kind), join_model(kind), 2, False
    )
    for kind in ("inner", "left", "right", "full", "semi", "anti")
}
BEYONDS = {
    f"join-{kind}-beyond": Query(
        {"right": "leftif", "inner": "inner"}.get(kind, f"{kind}if"),
        ("delta", "delta"),
        join(kind, BEYOND),
        join_model(kind, True),
        1,
        False,
    )
    for kind in ("inner", "left", "right", "full", "semi", "anti")
}


def copies(kind: Any) -> Callable[[N.Node, N.Node], N.Node]:
    """A join of rows without their ids: of many there are several copies."""

    def without_ids(node: N.Node) -> N.Node:
        kept = (0, 2, 3)
        return N.Project(fields=tuple(FIELDS[i] for i in kept), input=node, exprs=tuple(map(ref, kept)))

    def build(left: N.Node, right: N.Node) -> N.Node:
        fields = (FIELDS[0], *FIELDS[2:])
        wide = fields if kind in ("semi", "anti") else (*fields, *(N.Field(f"{f.name}2", f.type) for f in fields))
        pairs = [(InputRef(fields[i].type, i), InputRef(fields[i].type, 3 + i)) for i in range(3)]
        tests = [Call(T.BOOLEAN, sql, pair) for sql, pair in zip(("=", "=", "<="), pairs, strict=True)]
        node = N.Join(
            fields=wide,
            left=without_ids(left),
            right=without_ids(right),
            kind=kind,
            condition=both(*tests),
            keys=((0, 0), (1, 1)),
        )
        shown = [i for i in range(len(wide)) if i % 3]
        exprs = tuple(InputRef(wide[i].type, i) for i in shown)
        return N.Project(fields=tuple(wide[i] for i in shown), input=node, exprs=exprs)

    return build


def copies_model(kind: str) -> Callable[[list[Row], list[Row]], list[Row]]:
    def fits(a: Row, b: Row) -> bool:
        return None not in (*a, *b) and a[0] == b[0] and a[1] <= b[1]

    def model(left: list[Row], right: list[Row]) -> list[Row]:
        ls, rs = [a[1:] for a in left], [b[1:] for b in right]
        if kind in ("semi", "anti"):
            return [a for a in ls if any(fits(a, b) for b in rs) == (kind == "semi")]
        out = [a + b for a in ls for b in rs if fits(a, b)]
        out += [(*a, None, None) for a in ls if not any(fits(a, b) for b in rs)]
        return out + [(None, None, *b) for b in rs if kind == "full" and not any(fits(a, b) for a in ls)]

    return model


COPIES = {
    f"join-{kind}-copies": Query(f"{kind}if", ("upsert", "delta"), copies(kind), copies_model(kind), 2, False)
    for kind in ("left", "full", "semi", "anti")
}
QUERIES: dict[str, Query] = {
    "normalise": Query("latest", ("upsert",), same, rows_as_they_are),
    "keep-last": Query("latest", ("append",), dedup(True), dedup_model(True)),
    "keep-last-by-time": Query("latest", ("append",), dedup(True, True), dedup_model(True, True)),
    "keep-first-by-time": Query("latest", ("append",), dedup(False, True), dedup_model(False, True)),
    "aggregates-append": Query("aggregate", ("append",), aggregates, aggregates_model),
    "aggregates-upsert": Query("aggregate", ("upsert",), aggregates, aggregates_model, 2),
    "aggregates-delta": Query("aggregate", ("delta",), aggregates, aggregates_model),
    "totals-append": Query("aggregate", ("append",), totals, totals_model),
    "totals-upsert": Query("aggregate", ("upsert",), totals, totals_model, 2),
    "totals-delta": Query("aggregate", ("delta",), totals, totals_model),
    "aggregates-nested": Query("aggregate", ("delta",), sizes, sizes_model, 2),
    **JOINS,
    **BEYONDS,
    **COPIES,
    "top-append": Query("top", ("append",), top(1, 2), top_model(1, 2)),
    "top-upsert": Query("top", ("upsert",), top(1, 2), top_model(1, 2), 2),
    "top-delta-second": Query("top", ("delta",), top(2, 3), top_model(2, 3)),
    "top-ranked-append": Query("top", ("append",), top(1, 3, True), top_model(1, 3, True)),
    "top-ranked-delta": Query("top", ("delta",), top(1, 3, True), top_model(1, 3, True)),
    "over-rows-append": Query("over", ("append",), over(RUNNING, True), over_model(running, True)),
    "over-rows-delta": Query("over", ("delta",), over(RUNNING, True), over_model(running, True)),
    "over-range-upsert": Query("over", ("upsert",), over(RUNNING, False), over_model(running, False), 2),
    "over-places-delta": Query("over", ("delta",), over(PLACED, True), over_model(placed, True)),
}


def made(query: Query, folder: Path) -> tuple[N.Node, list[Row]]:
    tables = [source(folder / f"t{n}", kind, seed=n + 1) for n, kind in enumerate(query.inputs)]
    return query.build(*(node for node, _ in tables)), query.model(*(rows for _, rows in tables))


IN_CI = (
    "normalise",
    "aggregates-delta",
    "join-full",
    "join-full-beyond",
    "join-semi-copies",
    "top-append",
    "over-rows-delta",
)
"""Some in every run; test_kinds.py has each kind in each run, the nightly one takes all: half a minute each."""


@pytest.mark.spark
@pytest.mark.parametrize("name", [n if n in IN_CI else nightly(n) for n in QUERIES])
def test_order_of_delivery_and_batches_change_nothing(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Eight trials at once; then the last batch runs again over the same state, and leaves the same."""
    query = QUERIES[name]
    node, rows = made(query, tmp_path)
    running = run(spark, node)
    assert running.forms
    assert set(running.forms) == {"keyed"}
    assert query.kind in {call.kind for s in running.steps if isinstance(s, GroupBy) for call in s.state_calls}
    assert running.table == expected(rows, query.by_trial)
    assert not running.wrong
    last, state = max(running.given), running.state(query.operators)
    assert state
    forget_commit(running.checkpoint, last)
    running.go()
    assert [len(running.given[n]) for n in sorted(running.given)][last] == 2
    assert running.given[last][0] == running.given[last][1]
    assert running.state(query.operators) == state
    running.close()


# ---- the setting ---------------------------------------------------------------------------------------------------

TABLES = """
CREATE TABLE o (id INT, k STRING, v INT) WITH ('connector' = 'kafka', 'topic' = 'o', 'format' = 'json',
  'properties.bootstrap.servers' = 'b:9092', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE s (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 's',
  'properties.bootstrap.servers' = 'b:9092', 'key.format' = 'json', 'value.format' = 'json');
"""
NEWEST = """INSERT INTO s SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS r
  FROM (SELECT *, PROCTIME() AS p FROM o)) WHERE r = 1;"""
TOP = """INSERT INTO s SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS r FROM o)
  WHERE r <= {};"""
OVER = """INSERT INTO s SELECT k, COUNT(v) OVER (PARTITION BY k ORDER BY p)
  FROM (SELECT *, PROCTIME() AS p FROM o);"""
SET = "SET 'flinkddl.execution.state' = '{}';"


def job(sql: str, state: str) -> SparkJob:
    out = compile_script(SourceText("<t>", TABLES + SET.format(state) + sql))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


def spark_words(sql: str, state: str) -> set[str]:
    return {word for o in operators(job(sql, state)) for word in o.operators if "flinkddl." in word}


def test_explain_says_which_form_runs() -> None:
    assert spark_words(NEWEST, "aggregate") == {"groupBy.agg flinkddl.retract_latest"}
    assert spark_words(NEWEST, "keyed") == {"transformWithState flinkddl.stage_latest_1"}
    ttl = "SET 'table.exec.state.ttl' = '1 h';"
    assert spark_words(ttl + NEWEST, "keyed") == {"transformWithState flinkddl.stage_latest_1_ttl_3600000"}
    assert spark_words(OVER, "keyed") == {"transformWithState flinkddl.stage_over_1"}
    assert spark_words(OVER, "aggregate") == {"groupBy.agg flinkddl.retract_over"}


def test_a_checkpoint_keeps_to_its_form(tmp_path: Path) -> None:
    open_checkpoint(job(NEWEST, "aggregate"), str(tmp_path))
    open_checkpoint(job(NEWEST, "aggregate"), str(tmp_path))
    with pytest.raises(FlinkDdlError, match=r"FD887.*'Deduplicate: last row per key' as an aggregate"):
        open_checkpoint(job(NEWEST, "keyed"), str(tmp_path))
    open_checkpoint(job(NEWEST, "keyed"), str(tmp_path), fresh=True)
    with pytest.raises(FlinkDdlError, match=r"FD887.*'Deduplicate: last row per key' by key"):
        open_checkpoint(job(NEWEST, "aggregate"), str(tmp_path))
    with pytest.raises(FlinkDdlError, match="FD820"):
        open_checkpoint(job(TOP.format(3), "keyed"), str(tmp_path))


def test_a_checkpoint_of_before_over_had_a_form_by_key(tmp_path: Path) -> None:
    """Beside operators by key it was an aggregate: neither form of the whole goes on with that."""
    counts = "(SELECT k, v, COUNT(*) AS n FROM o GROUP BY k, v)"
    made = job(f"INSERT INTO s SELECT k, SUM(n) OVER (PARTITION BY k ORDER BY v) FROM {counts};", "keyed")
    ours = "OverAggregate"
    before = tuple((n, w.removesuffix(BY_KEY) if w.startswith(ours) else w) for n, w in made.fingerprint)
    open_checkpoint(replace(made, identity=lambda: before), str(tmp_path))
    with pytest.raises(
        FlinkDdlError, match=r"FD887.*'OverAggregate: rows of a partition in order' as an aggregate"
    ) as e:
        open_checkpoint(made, str(tmp_path))
    assert "SET" not in str(e.value.diagnostics[0].help)
    assert "--fresh" in str(e.value.diagnostics[0].help)


# ---- the operator in Spark's plan -----------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.parametrize("state", ["keyed", "chain"])
def test_time_of_each_stage_is_event_time(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], state: str
) -> None:
    """Spark notes it with the state, and goes on with no other: with processing time batches would never end."""
    node, _ = made(QUERIES["aggregates-upsert"], tmp_path)
    running = run(spark, node, config={"flinkddl.execution.state": state})
    capsys.readouterr()
    running.query.explain()
    operators = [line for line in capsys.readouterr().out.splitlines() if " TransformWithState " in line]
    assert len(operators) == 2
    assert all(re.search(r"\bEventTime\b.*, Update, ", line) for line in operators), operators
    noted = spark.read.format("state-metadata").load(running.checkpoint).select("operatorProperties").distinct()
    assert {json.loads(r[0])["timeMode"] for r in noted.collect()} == {"EventTime"}
    running.close()


# ---- where it cannot be ---------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_another_spark_keeps_the_aggregates(spark: SparkSession, tmp_path: Path) -> None:
    """A version that was not tested: the job says so and runs as before, to the same table."""
    child = spark.newSession()
    for key, value in JOB.items():
        child.conf.set(key, value)
    assert stages_missing(child) == ""
    other = spark.newSession()
    for key, value in (JOB | {"spark.flinkddl.stages.spark": "9.9."}).items():
        other.conf.set(key, value)
    told: list[str] = []
    for state in ("keyed", "aggregate"):
        tell_missing(other, job(NEWEST, state), told.append)
    assert len(told) == 1
    assert told[0].startswith("FD888: state is kept by aggregates: the operators by key were tested with Spark 9.9.x")
    node, rows = made(QUERIES["normalise"], tmp_path)
    running = run(Fixed(other, {"spark.flinkddl.stages.spark": "9.9."}), node)
    assert running.table == expected(rows)
    plan = open_plan(running)
    assert "stateStoreSave" in plan
    assert "transformWithState" not in plan
    running.close()


@pytest.mark.spark
def test_another_spark_does_not_run_a_join_that_tests_its_condition(spark: SparkSession, tmp_path: Path) -> None:
    """Jobs plan it otherwise there (``runtime/job/supervising/begun.py``); a plan from elsewhere fails."""
    from pyspark.errors import StreamingQueryException

    node, _ = made(QUERIES["join-left-beyond"], tmp_path)
    with pytest.raises(StreamingQueryException, match="FD893: this Spark has no operators by key"):
        run(Fixed(spark, {"spark.flinkddl.stages.spark": "9.9."}), node)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["normalise", "join-left", "join-full-beyond"])
def test_without_generated_code(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """As where Spark gives code generation up: a struct and an array as results of a stage."""
    node, rows = made(QUERIES[name], tmp_path)
    told = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    running = run(Fixed(spark, told), node)
    assert set(running.forms) == {"keyed"}
    assert running.table == expected(rows, QUERIES[name].by_trial)
    running.close()


@dataclass
class Fixed:
    """A session whose children have settings more."""

    session: Any
    settings: dict[str, str]

    def newSession(self) -> Any:
        child = self.session.newSession()
        for key, value in self.settings.items():
            child.conf.set(key, value)
        return child


def open_plan(running: Any) -> str:
    """Return what the checkpoint says of its operators."""
    from pathlib import Path

    return "".join(
        p.read_bytes().decode(errors="ignore")
        for p in (Path(running.checkpoint) / "state").glob("*/_metadata/**/*")
        if p.is_file()
    )
