"""Aggregate functions in Java over rows that come, change and go, in several batches with restarts between them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.functions.java.call import fit
from flinkddl.functions.java.classpath import ClassPath
from flinkddl.functions.java.load import load
from flinkddl.plan import nodes as N
from flinkddl.plan.expressions import cast
from flinkddl.plan.rex import AggCall, Call, InputRef, SortKey
from flinkddl.runtime.session.java_jars import ship_java
from tests.spark.stream.harness import Running
from tests.spark.stream.stages import Row, expected, run, source
from tests.spark.stream.test_operators import BATCHES, Changes, groups
from tests.spark.stream.test_stages import EQUAL, both, join
from tests.support.java_udf import needs_javac, udf_jar
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, needs_javac]


def java(name: str, *args: tuple[int, T.DataType]) -> AggCall:
    """Return the call of an aggregate function over fields of these types."""
    function = load(f"acme.Aggregates${name}", ClassPath((str(udf_jar("acme")),)))
    fitted = fit(name, function, [t for _, t in args])
    options = (("name", name), ("call", fitted.call), ("script_jars", ()), ("retracts", function.retracts))
    return AggCall("JAVA", tuple(i for i, _ in args), fitted.result, options=options)


def below(input: N.Node) -> N.Project:
    """Return ``k`` and what the functions take."""
    key, v, weight = InputRef(T.STRING, 1), InputRef(T.INT, 2), InputRef(T.INT, 0)
    exprs = (key, cast(v, T.BIGINT), weight, cast(v, T.DOUBLE), cast(v, T.STRING))
    shape = tuple(N.Field(n, e.type) for n, e in zip("kvwdt", exprs, strict=True))
    return N.Project(input=input, exprs=exprs, fields=shape)


def calls() -> tuple[AggCall, ...]:
    """Return a weighted mean, a mean, and how many different texts there are."""
    return (
        java("WeightedAvg", (1, T.BIGINT), (2, T.INT)),
        java("Average", (3, T.DOUBLE)),
        java("Distinct", (4, T.STRING)),
    )


def results() -> tuple[N.Field, ...]:
    return tuple(N.Field(n, c.type) for n, c in zip("xyz", calls(), strict=True))


def query(input: N.Node) -> N.Node:
    """Group by ``k``."""
    return N.Aggregate(fields=(N.Field("k", T.STRING), *results()), input=below(input), keys=(0,), aggs=calls())


def running_query(input: N.Node) -> N.Node:
    """The same up to each row, by ``v``."""
    rows = below(input)
    frame: dict[str, Any] = {"partition": (0,), "order": (SortKey(1),), "rows": True}
    return N.Over(fields=(*rows.fields, *results()), input=rows, calls=calls(), **frame)


def model(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    out = []
    for k, group in groups(rows, lambda r: r[1]).items():
        both = [(v, w) for w, _, v in group if v is not None and w is not None]
        weight, total = sum(w for _, w in both), sum(v * w for v, w in both)
        values = [v for _, _, v in group if v is not None]
        mean = sum(values) / len(values) if values else None
        out.append((k, int(total / weight) if weight else None, mean, len(set(values))))
    return out


@pytest.mark.parametrize("kind", ["append", "delta", "upsert"])
def test_groups(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    ship_java(spark, [str(udf_jar("acme"))])
    changes = Changes(tmp_path / "t", kind, seed=11)
    running = Running(spark, query(changes.node))
    for n in range(BATCHES):
        changes.batch(n)
        if n % 2 or n == 0:
            running.go()
            assert running.table == Counter(model(changes.order)), f"batch {n}"
            assert not running.wrong
    running.close()


def test_a_join_tests_a_condition_with_a_function(spark: SparkSession, tmp_path: Path) -> None:
    """The function is part of the operator's state by key, where a task finds and opens it."""
    ship_java(spark, [str(udf_jar("acme"))])
    function = load("acme.Scalars$Boxed", ClassPath((str(udf_jar("acme")),)))  # -1 of NULL, one more of a number
    fitted = fit("Boxed", function, [T.INT])
    options = (("name", "Boxed"), ("call", fitted.call), ("script_jars", ()))
    one, two = (Call(fitted.result, "JAVA", (InputRef(T.INT, i),), options=options) for i in (3, 7))
    (left, ls), (right, rs) = (source(tmp_path / f"t{n}", "delta", seed=n) for n in (1, 2))
    running = run(spark, join("full", both(*EQUAL.args, Call(T.BOOLEAN, "<", (one, two))))(left, right))

    def fits(a: Row, b: Row) -> bool:
        return a[1] is not None and a[1] == b[1] and (-1 if a[2] is None else a[2]) < (-1 if b[2] is None else b[2])

    rows = [a + b for a in ls for b in rs if fits(a, b)]
    rows += [(*a, None, None, None) for a in ls if not any(fits(a, b) for b in rs)]
    rows += [(None, None, None, *b) for b in rs if not any(fits(a, b) for a in ls)]
    assert running.forms == ["keyed"]
    assert running.table == expected(rows, False)
    assert not running.wrong
    running.close()


def running_model(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    out = []
    for k, group in groups(rows, lambda r: r[1]).items():
        ordered = sorted(group, key=lambda r: (r[2] is not None, r[2] or 0))
        for n, (w, _, v) in enumerate(ordered):
            ((_, *values),) = model(ordered[: n + 1])
            out.append((k, v, w, None if v is None else float(v), None if v is None else str(v), *values))
    return out


@pytest.mark.parametrize("state", ["keyed", nightly("aggregate")])
def test_over(spark: SparkSession, tmp_path: Path, state: str) -> None:
    """Rows come and go in the middle of partitions."""
    ship_java(spark, [str(udf_jar("acme"))])
    changes = Changes(tmp_path / "t", "delta", seed=12)
    running = Running(spark, running_query(changes.node), config={"flinkddl.execution.state": state})
    for n in range(BATCHES):
        changes.batch(n)
        if n % 2 or n == 0:
            running.go()
            assert running.table == Counter(running_model(changes.order)), f"batch {n}"
            assert not running.wrong
    running.close()
