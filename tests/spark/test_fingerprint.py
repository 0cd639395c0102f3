"""A checkpoint belongs to a plan: what may change over it, and which operator a refusal names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.runtime.storage.checkpoint import Fingerprint, _fits, first_difference
from flinkddl.script.compile import Start, compile_script

if TYPE_CHECKING:
    from flinkddl.spark.job import SparkJob

TABLES = """
CREATE TABLE o (id INT, k STRING, v INT) WITH
  ('connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
   'scan.startup.mode' = '{start}');
CREATE TABLE s (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 's', 'properties.bootstrap.servers' = 'b:9092',
   'key.format' = 'json', 'value.format' = 'json');
"""
COUNT = "INSERT INTO s SELECT k, COUNT(v) FROM o WHERE id > 1 GROUP BY k;"
TOP = "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM o) WHERE n <= {};"


def fingerprint(sql: str, topic: str = "o", servers: str = "b:9092", start: str = "earliest-offset") -> Fingerprint:
    return job(TABLES.format(topic=topic, servers=servers, start=start) + sql).fingerprint


def job(text: str) -> SparkJob:
    out = compile_script(SourceText("<t>", text))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


@pytest.mark.parametrize(
    "changes",
    [
        {"servers": "c:9093"},
        {"start": "latest-offset"},
        {"sql": "\n-- a remark\n" + COUNT.replace(" ", "  ")},
    ],
)
def test_what_does_not_touch_the_state_may_change(changes: dict[str, str]) -> None:
    sql = changes.pop("sql", COUNT)
    assert fingerprint(sql, **changes) == fingerprint(COUNT)


def test_a_ttl_may_change() -> None:
    ttl = "SET 'table.exec.state.ttl' = '{} h';"
    assert fingerprint(ttl.format(1) + COUNT) == fingerprint(ttl.format(2) + COUNT)
    for state in ("keyed", "aggregate"):
        form = f"SET 'flinkddl.execution.state' = '{state}';"
        assert fingerprint(form + ttl.format(1) + COUNT) == fingerprint(form + COUNT)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (COUNT, COUNT.replace("COUNT(v)", "SUM(v)"), "operator 'Aggregate' was 'by=[k], COUNT(v) #"),
        (COUNT, COUNT.replace("> 1", "> 2"), "operator 'Filter' was '(id > 1) #"),
        (COUNT, COUNT.replace("WHERE id > 1", ""), "operator 'Filter' is now 'Scan'"),
        (TOP.format(2), TOP.format(3), "operator 'Rank' was 'ROW_NUMBER 1..2, by=[k], order=[v] #"),
        (COUNT, COUNT.replace("COUNT(v)", "COUNT(DISTINCT v)"), "and is 'by=[k], COUNT(DISTINCT v) #"),
    ],
)
def test_a_changed_operator_is_named(before: str, after: str, words: str) -> None:
    assert words in first_difference(fingerprint(before), fingerprint(after))


def test_another_topic_is_another_state() -> None:
    assert "operator 'Scan' was" in first_difference(fingerprint(COUNT), fingerprint(COUNT, topic="p"))


def test_the_way_an_operator_keeps_its_rows_counts() -> None:
    join = "SET 'table.optimizer.reuse-source-enabled' = 'false';"
    join += "SELECT a.id FROM (SELECT k, COUNT(*) AS id FROM o GROUP BY k) AS a JOIN o AS c ON a.k = c.k;"
    other = fingerprint("SET 'flinkddl.join.strategy' = 'bilinear';" + join)
    assert "operator 'state' was 'Join inner" in first_difference(fingerprint(join), other)


COPY = "INSERT INTO d SELECT id, k FROM o;"
WIDER = "id INT, k STRING, v INT, x STRING"
UPSERT = "id INT, k STRING PRIMARY KEY NOT ENFORCED, v INT"


def essence(sql: str, columns: str = "id INT, k STRING, v INT", **options: str) -> Any:
    tables = TABLES.format(topic="o", servers="b:9092", start="earliest-offset")
    if "PRIMARY" in columns:
        keyed = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value."
        tables = tables.replace("'connector' = 'kafka'", keyed.rpartition(",")[0]).replace("'format'", "'value.format'")
        tables = tables.replace(",\n   'scan.startup.mode' = 'earliest-offset'", "")
    tables = tables.replace("id INT, k STRING, v INT", columns).replace(
        "'topic' = 'o'", f"'topic' = '{options.get('o', 'o')}'"
    )
    sink = """CREATE TABLE d (id INT, k STRING) WITH ('connector' = 'kafka', 'topic' = 'd', 'format' = 'json',
      'properties.bootstrap.servers' = 'b:9092');"""
    return json.loads(json.dumps(job(tables + sink + sql).essence()))


@pytest.mark.parametrize(
    ("before", "after", "fits"),
    [
        ((COUNT,), (COUNT, WIDER), True),
        ((COUNT, WIDER), (COUNT,), True),
        ((COUNT,), (COUNT, "id INT, k STRING, v INT, p INT METADATA FROM 'partition', w AS v + 1"), True),
        ((COUNT,), (COUNT, "id INT, x STRING, k STRING, v INT"), False),
        ((COUNT,), (COUNT, "id INT, k STRING, v BIGINT"), False),
        ((COUNT, "id INT, k STRING, w INT, v AS w + 1"), (COUNT, "id INT, k STRING, w INT, v AS w + 2"), False),
        ((COUNT,), (COUNT.replace("COUNT(v)", "COUNT(x)"), WIDER), False),
        ((COUNT,), (COUNT.replace("> 1", "> 2"),), False),
        ((COUNT, UPSERT), (COUNT, UPSERT), True),
        ((COUNT, UPSERT), (COUNT, f"{UPSERT}, x INT"), False),
        ((COPY,), (COPY.replace("id, k", "v, x"), "x STRING, v INT"), True),
        ((COPY,), (COPY.replace(";", " WHERE v > 1 UNION ALL SELECT v, k FROM o;"),), False),
        (
            (COPY,),
            (COPY.replace("id, k", "id, UPPER(k)").replace(";", " WHERE id > 7;"),),
            True,
        ),
        ((COPY,), (COUNT,), False),
        (
            (COPY.replace(";", " UNION ALL VALUES (1, 'a');"),),
            (COPY.replace(";", " UNION ALL VALUES (2, 'a');"),),
            False,
        ),
    ],
)
def test_columns_come_and_go_where_no_state_holds_them(before: Any, after: Any, fits: bool) -> None:
    assert _fits(essence(*before), essence(*after)) == fits


def test_another_topic_is_no_other_column() -> None:
    assert not _fits(essence(COPY), essence(COPY, o="p"))
