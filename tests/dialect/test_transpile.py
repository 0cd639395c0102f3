"""Queries printed for other systems are texts that those systems' parsers take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import sqlglot

from tests.dialect.helpers import CASES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = (CASES / "transpile.sql").read_text(encoding="utf-8").splitlines()


def transpiled(query: str, dialect: str) -> str:
    (text,) = sqlglot.transpile(query, read="flink", write=dialect)
    return text


@pytest.mark.parametrize("dialect", ["spark", "duckdb", "postgres"])
@pytest.mark.parametrize("query", QUERIES)
def test_sqlglot_reads_it_back(query: str, dialect: str) -> None:
    assert len(sqlglot.parse(transpiled(query, dialect), read=dialect)) == 1


def test_duckdb_reads_it() -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        for query in QUERIES:
            text = transpiled(query, "duckdb")
            (answer,) = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchone()
            assert not json.loads(answer)["error"], (query, text, answer)


@pytest.mark.spark
def test_spark_reads_it(spark: SparkSession) -> None:
    from pyspark.errors import AnalysisException, ParseException

    for query in QUERIES:
        text = transpiled(query, "spark")
        try:
            spark.sql(text)
        except ParseException as error:
            pytest.fail(f"{query}\n{text}\n{error}")
        except AnalysisException:
            pass  # the tables are not there
