"""EXPLAIN on each operator: mode in Flink, our kind, operator of Spark, its state, whether real-time mode takes it."""

from __future__ import annotations

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.operators import OnSpark, lines, operators
from tests.spark.test_realtime import TABLES

TOP_OF_JOIN = """
INSERT INTO s SELECT k, total FROM (
  SELECT k, total, ROW_NUMBER() OVER (PARTITION BY k ORDER BY total DESC) AS r FROM (
    SELECT o.k, o.v, SUM(c.n) AS total FROM o LEFT JOIN c ON o.k = c.k GROUP BY o.k, o.v)) WHERE r = 1;
"""


def found(sql: str, before: str = "") -> list[OnSpark]:
    tables = TABLES.replace("SET 'flinkddl.execution.mode' = 'realtime';", before)
    out = compile_script(SourceText("<t>", tables + sql))
    start = next(a for a in out.actions if isinstance(a, Start))
    return operators(start.job)


def test_join_aggregate_and_top() -> None:
    by_name = {o.here.node.name: o for o in found(TOP_OF_JOIN, "SET 'flinkddl.execution.state' = 'aggregate';")}
    join, group, top = by_name["Join"], by_name["Aggregate"], by_name["Rank"]
    assert "groupBy.agg flinkddl.retract_left" in join.operators
    assert (join.mode.words, join.here.form.kind, join.state) == ("I,UB,UA,D", "delta", "all rows of both sides")
    assert group.operators == ("groupBy.agg flinkddl.retract_aggregate",)
    assert (group.here.form.kind, group.state) == ("images", "one row of totals a group")
    assert top.operators == ("groupBy.agg flinkddl.retract_top",)
    assert all("compares each group" in o.blocked for o in (join, group, top))
    assert not by_name["Scan"].blocked


def test_the_same_by_key() -> None:
    by_name = {o.here.node.name: o for o in found(TOP_OF_JOIN)}
    join, group, top = by_name["Join"], by_name["Aggregate"], by_name["Rank"]
    assert "transformWithState flinkddl.stage_left_2" in join.operators
    assert group.operators == ("transformWithState flinkddl.stage_aggregate_3",)
    assert top.operators == ("transformWithState flinkddl.stage_top_4",)


def test_a_native_group_is_for_real_time_mode() -> None:
    out = found("INSERT INTO s SELECT k, COUNT(*) FROM o GROUP BY k;")
    group = next(o for o in out if o.here.node.name.startswith("Aggregate"))
    assert group.operators == ("groupBy.agg, Spark's own functions",)
    assert not any(o.blocked for o in out)
    assert "   real-time mode: yes" in lines(out)[2:]


def test_a_ttl_is_said() -> None:
    out = found(TOP_OF_JOIN, "SET 'table.exec.state.ttl' = '1 h';")
    assert [
        o.state.endswith("idle rows are forgotten") for o in out if o.here.node.name.startswith(("Join", "Rank"))
    ] == [True] * 2


LOOK_UP = """
CREATE TABLE d (k STRING, n INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:h2:mem:x', 'table-name' = 'd');
INSERT INTO p SELECT o.k, d.n FROM (SELECT *, PROCTIME() AS p FROM o) AS o
  JOIN d FOR SYSTEM_TIME AS OF o.p AS d ON o.k = d.k;
"""


def test_a_lookup_keeps_nothing() -> None:
    assert [o.state for o in found(LOOK_UP) if o.here.node.name.startswith("LookupJoin")] == [""]


def test_a_local_sink_is_not() -> None:
    out = found("INSERT INTO p SELECT k, v FROM o;")
    assert out[0].blocked == "writes through 'flinkddl.print'"
