"""Every type of Flink through operators by key, as keys, as arguments and in what comes out.

To the operator all is bytes (Rows.java): a type that one end reads otherwise than the other would be garbage, not an
error. So each type goes through a newest row, an aggregate, a join, a Top-N and OVER, and comes out as it went in.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import AggCall, Call, InputRef, SortKey
from flinkddl.spark.base import same, select
from flinkddl.spark.job import GroupBy
from flinkddl.spark.stream.base import HANDLERS
from flinkddl.sqltypes import DataType, Root, spark_type
from tests.spark.stream.harness import JOB, Feed, _lower_feed, feed, write
from tests.spark.stream.stages import Staged
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.plan.physical import Physical
    from flinkddl.spark.context import Lowering, Rel

# a type of each root that rows can hold, and two values
VALUES: dict[Root, tuple[DataType, str, str]] = {
    Root.CHAR: (T.CHAR(3), "'abc'", "''"),
    Root.VARCHAR: (T.STRING, "'eight by'", "'täglich, and more than a word'"),
    Root.BINARY: (T.BINARY(2), "X'007F'", "X'0102'"),
    Root.VARBINARY: (T.VARBINARY(9), "X''", "X'01020304050607087F'"),
    Root.BOOLEAN: (T.BOOLEAN, "true", "false"),
    Root.DECIMAL: (T.DECIMAL(38, 18), "-1.5", "12345678901234567890.123456789012345678"),
    Root.TINYINT: (T.TINYINT, "-128Y", "127Y"),
    Root.SMALLINT: (T.SMALLINT, "-1S", "2S"),
    Root.INT: (T.INT, "-1", "2147483647"),
    Root.BIGINT: (T.BIGINT, "-1L", "9223372036854775807L"),
    Root.FLOAT: (T.FLOAT, "-0.25F", "1.5F"),
    Root.DOUBLE: (T.DOUBLE, "DOUBLE('NaN')", "1e300D"),
    Root.DATE: (T.DATE, "DATE '1969-12-31'", "DATE '2024-02-29'"),
    Root.TIME: (T.TIME(3), "0", "86399999"),
    Root.TIMESTAMP: (T.TIMESTAMP(3), "TIMESTAMP_NTZ '1900-01-01 00:00:00.001'", "TIMESTAMP_NTZ '2024-02-29 23:59:59'"),
    Root.TIMESTAMP_LTZ: (T.TIMESTAMP_LTZ(3), "TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '2024-02-29 23:59:59.9'"),
    Root.INTERVAL_YEAR_MONTH: (T.INTERVAL_YM(), "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '-9' YEAR"),
    Root.INTERVAL_DAY_TIME: (T.INTERVAL_DT(), "INTERVAL '1' DAY", "INTERVAL '-1.5' SECOND"),
    Root.VARIANT: (DataType(Root.VARIANT), "parse_json('{\"a\": [1, null]}')", "parse_json('true')"),
    Root.NULL: (DataType(Root.NULL), "NULL", "NULL"),
}
NESTED = {Root.ARRAY, Root.MULTISET, Root.MAP, Root.ROW}
NOT_CARRIED = {Root.RAW, Root.SYMBOL, Root.DESCRIPTOR}
NO_KEYS = {Root.VARIANT, Root.NULL}
COLUMNS: dict[str, tuple[DataType, str]] = {}
"""Columns by name: their type, and their Spark text over ``n``, which is 0, 1 or, for NULL, 2."""
for _n, (_type, _one, _other) in enumerate(VALUES.values()):
    _v = f"CAST(CASE n WHEN 0 THEN {_one} WHEN 1 THEN {_other} END AS {spark_type(_type)})"
    _row = T.ROW(("i", T.INT), ("v", _type))
    COLUMNS |= {
        f"v{_n}": (_type, _v),
        f"r{_n}": (T.ARRAY(_row), f"IF(n = 2, NULL, array(named_struct('i', n, 'v', {_v}), NULL))"),
    }
    if _type.root in (Root.VARCHAR, Root.DECIMAL, Root.TIMESTAMP):
        COLUMNS |= {
            f"o{_n}": (_row, f"IF(n = 2, NULL, named_struct('i', n, 'v', {_v}))"),
            f"m{_n}": (T.MAP(T.STRING, _type), f"IF(n = 2, NULL, map('k', {_v}))"),
            f"k{_n}": (T.MAP(_type, T.STRING), f"IF(n = 2, NULL, map({_v}, 'v'))"),
            f"s{_n}": (T.MULTISET(_type), f"IF(n = 2, NULL, map({_v}, 3))"),
        }
KEYS = [name for name, (type, _) in COLUMNS.items() if name[0] == "v" and type.root not in NO_KEYS]
"""Columns by which rows can be grouped, joined and put in order."""


def test_every_type_is_here() -> None:
    assert VALUES.keys() | NESTED | NOT_CARRIED == set(Root)
    assert {type.root for type, _ in COLUMNS.values()} == VALUES.keys() | NESTED
    for root in NOT_CARRIED:
        with pytest.raises(KeyError):
            spark_type(DataType(root))


@dataclass(frozen=True, kw_only=True)
class Typed(Feed):
    """A source of ids and numbers, which makes a value of each type of a number."""


ID, NUMBER = N.Field("id", T.INT), N.Field("n", T.INT)
FIELDS = (ID, NUMBER, *(N.Field(name, type) for name, (type, _) in COLUMNS.items()))
AT = {f.name: i for i, f in enumerate(FIELDS)}
BY = tuple(AT[name] for name in KEYS)


def _lower_typed(node: Typed, ctx: Lowering, here: Physical) -> Rel:
    rel = _lower_feed(replace(node, fields=(ID, NUMBER)), ctx)
    named = [*same(("id", "n")), *((name, sql) for name, (_, sql) in COLUMNS.items()), *same(rel.reserved)]
    return rel.with_(step=select(rel.step, named, ctx, "typed"), columns=tuple(AT), fields=node.fields)


HANDLERS[Typed] = _lower_typed


def newest(table: N.Node) -> N.Node:
    return N.Deduplicate(fields=FIELDS, input=table, keys=(0,), order=1, keep_last=True, proctime=True)


def values(table: N.Node) -> N.Node:
    """Of each value of all keys the first of all columns, and the least and how many of each key."""
    kept = [*(i for i in range(2, len(FIELDS)) if FIELDS[i].type.root != Root.NULL)]
    calls = [AggCall("FIRST_VALUE", (i,), FIELDS[i].type) for i in kept]
    calls += [AggCall("MIN", (i,), FIELDS[i].type) for i in BY]
    calls += [AggCall("COUNT", (i,), T.BIGINT, distinct=True) for i in BY]
    fields = (*(FIELDS[i] for i in BY), *(N.Field(f"c{n}", c.type) for n, c in enumerate(calls)))
    return N.Aggregate(fields=fields, input=table, keys=BY, aggs=tuple(calls))


def beside(left: N.Node, right: N.Node) -> N.Node:
    """A left join by all keys."""
    width = len(left.fields)
    equal = tuple(
        Call(T.BOOLEAN, "=", (InputRef(left.fields[a].type, a), InputRef(right.fields[b].type, width + b)))
        for b, a in enumerate(BY)
    )
    fields = (*left.fields, *(N.Field(f"r_{f.name}", f.type) for f in right.fields))
    keys = tuple((a, b) for b, a in enumerate(BY))
    condition = Call(T.BOOLEAN, "AND", equal)
    return N.Join(fields=fields, left=left, right=right, kind="left", condition=condition, keys=keys)


def best(table: N.Node) -> N.Node:
    """Two rows of each value of all keys, by order of those and of their ids."""
    order = (*(SortKey(i) for i in BY), SortKey(0))
    return N.Rank(fields=FIELDS, input=table, partition=BY, order=order, start=1, end=2, with_rank=False)


def running(table: N.Node) -> N.Node:
    kept = [i for i in range(2, len(FIELDS)) if FIELDS[i].type.root != Root.NULL]
    calls = tuple(AggCall("LAST_VALUE", (i,), FIELDS[i].type) for i in kept)
    fields = (*FIELDS, *(N.Field(f"c{n}", c.type) for n, c in enumerate(calls)))
    return N.Over(fields=fields, input=table, partition=BY, order=(SortKey(0),), calls=calls, rows=True)


class Shown(Staged):
    """A query whose rows are counted as texts: ids, and one text of all other columns."""

    def _take(self, batch: Any, number: int) -> None:
        id, *others = (f"`{c}`" for c in self.rel.columns)
        kept = [f"`{c}`" for c in self.rel.reserved]
        whole = self.rel
        self.rel = replace(whole, columns=("id", "shown"), fields=(ID, N.Field("shown", T.STRING)))
        super()._take(batch.selectExpr(f"{id} AS id", f"{shown(others)} AS shown", *kept), number)
        self.rel = whole


def shown(values: list[str]) -> str:
    """Return a text of all these."""
    items = ", ".join(f"'{n}', {sql}" for n, sql in enumerate(values))
    return f"CAST(named_struct({items}) AS STRING)"


ROWS = [(1, 0), (2, 1), (3, 2), (4, 0), (1, 1), (5, 1), (2, 2), (4, 1), (6, 0), (7, 2), (5, 0)]  # ids and numbers


def left_of(rows: list[tuple[int, int]]) -> dict[int, int]:
    return dict(rows)


def texts(spark: SparkSession, columns: list[str]) -> list[str]:
    """Return what is shown of the numbers 0, 1, 2, of ``n`` and these columns."""
    child = spark.newSession()
    for key, value in JOB.items():
        child.conf.set(key, value)
    query = f"SELECT {shown(['n', *columns])} FROM VALUES (0), (1), (2) AS t (n) ORDER BY n"
    return [r[0] for r in child.sql(query).collect()]


def of(names: list[str]) -> list[str]:
    return [COLUMNS[name][1] for name in names]


NAMES = list(COLUMNS)
CARRIED = [n for n in NAMES if COLUMNS[n][0].root != Root.NULL]


def expected(spark: SparkSession, name: str) -> Counter[Any]:
    last = left_of(ROWS)
    if name == "newest":
        told = texts(spark, of(NAMES))
        return Counter((id, told[n]) for id, n in last.items())
    if name == "over":
        told = texts(spark, of([*NAMES, *CARRIED]))
        return Counter((id, told[n]) for id, n in ROWS)
    if name == "best":
        told = texts(spark, of(NAMES))
        ids = {n: sorted(id for id, m in last.items() if m == n)[:2] for n in range(3)}
        return Counter((id, told[n]) for n, found in ids.items() for id in found)
    joined = [*of(NAMES), *of([*KEYS, *CARRIED, *KEYS]), *["IF(n = 2, NULL, 1L)"] * len(KEYS)]
    told = texts(spark, joined)  # NULL meets nothing
    return Counter((id, told[n]) for id, n in last.items())


QUERIES = {
    "newest": (newest, {"latest"}),
    "best": (lambda table: best(newest(table)), {"latest", "top"}),
    "joined": (lambda table: beside(newest(table), values(newest(table))), {"latest", "aggregate", "left"}),
    "over": (running, {"over"}),
}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "codegen"),
    [
        ("joined", "CODEGEN_ONLY"),
        *(nightly(name, "CODEGEN_ONLY") for name in QUERIES if name != "joined"),
        *(nightly(name, "NO_CODEGEN") for name in QUERIES),
    ],
)
def test_what_goes_through_a_stage_comes_out(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, codegen: str
) -> None:
    monkeypatch.setitem(JOB, "spark.sql.codegen.factoryMode", codegen)
    made = feed(tmp_path / "t", (ID, NUMBER))
    table = Typed(fields=FIELDS, table=made.table, options=None, folder=made.folder)
    for n in range(3):
        rows = list(enumerate(ROWS))[n * 4 : n * 4 + 4]
        write(made.folder, n, [{"id": id, "n": number, "__seq": seq} for seq, (id, number) in rows])
    build, kinds = QUERIES[name]
    running = Shown(spark, build(table), config={"flinkddl.execution.state": "chain"})
    running.go()
    assert {c.kind for s in running.steps if isinstance(s, GroupBy) for c in s.state_calls} == kinds
    assert len({text for _, text in running.table}) == 3
    assert running.table == expected(spark, name)
    assert not running.wrong
    running.close()
