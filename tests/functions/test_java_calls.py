"""Java functions give Flink's types, values and refusals: the answers were recorded with the same jar."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script
from tests.functions.java_calls import ANSWERS, FUNCTIONS, ROWS, table_query
from tests.support.java_udf import needs_javac, udf_jar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = needs_javac
_FOUND = json.loads(ANSWERS.read_text(encoding="utf-8"))
SCALARS: list[dict[str, Any]] = _FOUND[: _FOUND.index(None)]
TABLES: list[dict[str, Any]] = _FOUND[_FOUND.index(None) + 1 :]
ONE_GROUP = ("j_weightedavg", "j_distinct", "j_longest", "j_average")


def declared(catalog: Catalog) -> Catalog:
    catalog.execute(f"{ROWS};" + ";".join(f"CREATE FUNCTION {name} AS '{cls}'" for name, cls in FUNCTIONS.items()))
    return catalog


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return declared(Catalog(jars=[str(udf_jar("acme"))]))


def columns(catalog: Catalog, query: str) -> list[list[str]] | None:
    """Return names and types of a query's columns as the oracle writes them, None where it is refused."""
    compiled = compile_script(SourceText("query", query), catalog.state)
    if compiled.has_errors:
        assert {d.code for d in compiled.diagnostics} <= {"FD401", "FD521", "FD522", "FD523", "FD526"}
        return None
    (job,) = compiled.jobs
    return [[f.name, str(f.type)] for f in job.plan[0].sink.fields]


@pytest.mark.parametrize("entry", SCALARS, ids=lambda e: e["call"])
def test_the_type_of_a_call(entry: dict[str, Any], catalog: Catalog) -> None:
    found = columns(catalog, f"SELECT {entry['call']} AS v FROM given")
    assert found == (None if "error" in entry else [["v", entry["columns"][0]]])


@pytest.mark.parametrize("entry", TABLES, ids=lambda e: e["call"])
def test_the_columns_of_a_table_function(entry: dict[str, Any], catalog: Catalog) -> None:
    found = columns(catalog, table_query(entry["call"]))
    assert found == (None if "error" in entry else entry["columns"])


@pytest.fixture(scope="module")
def running(spark: SparkSession) -> Iterator[Catalog]:
    catalog = declared(Catalog(spark, jars=[str(udf_jar("acme"))]))
    catalog.execute("SET 'execution.runtime-mode' = 'batch'")
    yield catalog
    catalog.stop()


def rows_of(catalog: Catalog, query: str) -> list[list[Any]]:
    return sorted(([*row] for row in catalog.execute(query).collect()), key=str)


@pytest.mark.spark
def test_values_of_scalar_and_aggregate_functions(running: Catalog) -> None:
    """All in two queries: a job for each would be a hundred."""
    for grouped in (False, True):
        asked = [e for e in SCALARS if "rows" in e and e["call"].startswith(ONE_GROUP) is grouped]
        texts = ", ".join(f"CAST({e['call']} AS STRING)" for e in asked)
        found = rows_of(running, f"SELECT {texts} FROM given")
        for i, e in enumerate(asked):
            assert sorted(([row[i]] for row in found), key=str) == e["rows"], e["call"]


@pytest.mark.spark
def test_rows_of_table_functions(running: Catalog) -> None:
    asked = [e for e in TABLES if "rows" in e]
    queries = []
    for n, e in enumerate(asked):
        names = [f"`c{i}`" for i in range(len(e["columns"]) - 1)]
        given = [*(f"CAST({name} AS STRING)" for name in names), *["CAST(NULL AS STRING)"] * (3 - len(names))]
        table = f"LATERAL TABLE({e['call']}) AS t ({', '.join(names)})"
        queries.append(f"SELECT {n} AS q, given.i, {', '.join(given)} FROM given LEFT JOIN {table} ON TRUE")
    found = rows_of(running, " UNION ALL ".join(queries))
    for n, e in enumerate(asked):
        width = len(e["columns"])
        mine = sorted(([str(row[1]), *row[2 : 1 + width]] for row in found if row[0] == n), key=str)
        assert mine == e["rows"], e["call"]
