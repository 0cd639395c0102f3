# ruff: noqa: E501 - scripts read best on one line
"""Texts that public Flink SQL scripts are full of and that trip parsers: each has a case by name."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script

SRC = "CREATE TABLE src (id INT, name STRING, state STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1');\n"
SINK = "CREATE TABLE snk (id INT, name STRING) WITH ('connector' = 'print');\n"
INSERT = "INSERT INTO snk SELECT id, name FROM src"
KAFKA = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'h:1', 'scan.startup.mode' = 'earliest-offset'"
EVENTS = f"CREATE TABLE ev (k STRING, v INT, ts TIMESTAMP(3), pt AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ({KAFKA}, 'format' = 'json');\n"
DIM = "CREATE TABLE dim (k STRING, x INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'jdbc', 'url' = 'jdbc:x', 'table-name' = 'd');\n"
UPSERT = "'connector' = 'upsert-kafka', 'topic' = 'u', 'properties.bootstrap.servers' = 'h:1', 'key.format' = 'json', 'value.format' = 'json'"

# name: text, number of statements, codes of errors
CASES: dict[str, tuple[str, int, set[str]]] = {
    # comments, strings and where a statement ends
    "semicolon in a line comment": (f"-- first; second\n{SRC}{SINK}-- a; b\n{INSERT};", 3, set()),
    "semicolon in a block comment": (f"/* a; b;\n c */{SRC}{SINK}/* d; */{INSERT};", 3, set()),
    "semicolon in a string": (f"{SRC}SELECT 'a;b', 'c; -- d' FROM src;", 2, set()),
    "semicolon in a JAAS config": (
        f"CREATE TABLE t (id INT) WITH ({KAFKA}, 'format' = 'json', 'properties.sasl.jaas.config' = "
        "'org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" password=\"p\";');",
        1,
        set(),
    ),
    "quotes in comments": (f"-- it's Bob's \"table`\n{SRC}/* don't \" */ SELECT 1;", 2, set()),
    "no final semicolon": (f"{SRC}{SINK}{INSERT}", 3, set()),
    "doubled quotes": ("SELECT 'it''s', '''', '';", 1, set()),
    "a string over several lines": ("SELECT 'first\n  second;\n  -- third';", 1, set()),
    "a banner of dashes before a statement": (f"----------\n-- SOURCE\n----------\n{SRC}", 1, set()),
    "empty statements": (f";;\n{SRC};;", 1, set()),
    # statement sets
    "a statement set with comments and SETs around": (
        f"SET 'a.b' = 'c';\n{SRC}{SINK}EXECUTE STATEMENT SET BEGIN\n-- one;\n{INSERT};\n/* two; */ {INSERT};\nEND;\nRESET 'a.b';",
        5,
        set(),
    ),
    "the older statement set": (f"{SRC}{SINK}BEGIN STATEMENT SET; {INSERT}; {INSERT}; END;", 3, set()),
    # settings, variables, line ends
    "SET without quotes": ("SET parallelism.default = 2;\nSET execution.checkpointing.interval=10s;", 2, set()),
    "a variable of the shell": ("CREATE TABLE t (a INT) WITH ('connector' = '${CONNECTOR}');", 1, set()),
    "a placeholder of a template, which is text": ("CREATE TABLE t (a INT) WITH ('connector' = '{{ CONNECTOR }}');", 1, set()),
    "CRLF line ends": (f"{SRC}{SINK}{INSERT};".replace("\n", "\r\n"), 3, set()),
    "a byte order mark": (f"\ufeff{SRC}", 1, set()),
    # tables
    "leading commas": ("CREATE TABLE t (\n  a INT\n  , b STRING\n) WITH (\n  'connector' = 'print'\n  , 'print-identifier' = 'x'\n);", 1, set()),
    "nested types that close with >>": (
        f"CREATE TABLE t (r ROW<a ARRAY<ROW<b MAP<STRING, ARRAY<INT>>>>>) WITH ({KAFKA}, 'format' = 'json');",
        1,
        set(),
    ),
    "ROW with parentheses": (f"CREATE TABLE t (r ROW(a INT, b ROW(c STRING))) WITH ({KAFKA}, 'format' = 'json');", 1, set()),
    "CTAS without columns": (f"{SRC}CREATE TABLE c WITH ('connector' = 'print') AS SELECT id FROM src;", 2, set()),
    "LIKE without columns": (f"{SINK}CREATE TABLE l LIKE snk;\nCREATE TABLE m WITH ('print-identifier' = 'x') LIKE snk;", 3, set()),
    "an inline primary key": (f"CREATE TABLE t (id INT PRIMARY KEY NOT ENFORCED, v INT) WITH ({UPSERT});", 1, set()),
    "keywords as column names": (
        f"CREATE TABLE t (state STRING, status INT, location STRING, `value` INT, `user` STRING, `timestamp` BIGINT, type STRING, "
        f"data STRING, source STRING, version INT) WITH ({KAFKA}, 'format' = 'json');\n"
        "SELECT state, status, location, `value`, t.`user`, `timestamp`, type, data, source, version FROM t;",
        2,
        set(),
    ),
    "metadata with, without and after FROM and VIRTUAL": (
        f"CREATE TABLE t (`offset` BIGINT METADATA, ts TIMESTAMP(3) METADATA FROM 'timestamp', p INT METADATA FROM 'partition' VIRTUAL, "
        f"`topic` STRING METADATA VIRTUAL) WITH ({KAFKA}, 'format' = 'json');\nSELECT * FROM t;",
        2,
        set(),
    ),
    # expressions
    "plural units": (f"{EVENTS}SELECT ts + INTERVAL '5' SECONDS, ts - INTERVAL '2' DAYS, ts + INTERVAL '10' MINUTES FROM ev;", 2, set()),
    "element and key access": ("SELECT a[1], m['k'] FROM (SELECT ARRAY[1, 2] AS a, MAP['k', 1] AS m) AS t;", 1, set()),
    "constructors": ("SELECT MAP['a', 1], ARRAY['x', 'y'], ROW(1, 'a'), (1, 2);", 1, set()),
    "a cast to a nested row": (
        "SELECT CAST(ROW(1, ROW('a', ARRAY[1])) AS ROW<a BIGINT, b ROW<c STRING, d ARRAY<BIGINT>>>);",
        1,
        set(),
    ),
    "odd names in back-ticks": (
        f"CREATE TABLE `my-table.v1 $` (`a b` INT, `c-d` STRING, `e.f` INT, `$g` INT) WITH ({KAFKA}, 'format' = 'json');\n"
        "SELECT `a b`, `c-d`, `e.f`, `$g`, `my-table.v1 $`.`a b` FROM `my-table.v1 $`;",
        2,
        set(),
    ),
    # windows and joins
    "group windows through chained views": (
        f"{EVENTS}CREATE VIEW m AS SELECT k, TUMBLE_START(ts, INTERVAL '1' MINUTE) AS s, TUMBLE_END(ts, INTERVAL '1' MINUTE) AS e, "
        "TUMBLE_ROWTIME(ts, INTERVAL '1' MINUTE) AS rt, SUM(v) AS v FROM ev GROUP BY k, TUMBLE(ts, INTERVAL '1' MINUTE);\n"
        "CREATE VIEW h AS SELECT k, v, rt FROM m WHERE v > 0;\n"
        "SELECT k, TUMBLE_START(rt, INTERVAL '1' HOUR), SUM(v) FROM h GROUP BY k, TUMBLE(rt, INTERVAL '1' HOUR);",
        4,
        set(),
    ),
    "a lookup join, alias after": (f"{EVENTS}{DIM}SELECT ev.k, d.x FROM ev JOIN dim FOR SYSTEM_TIME AS OF ev.pt AS d ON ev.k = d.k;", 3, set()),
    "a lookup join, alias without AS": (f"{EVENTS}{DIM}SELECT e.k, d.x FROM ev e JOIN dim FOR SYSTEM_TIME AS OF e.pt d ON e.k = d.k;", 3, set()),
    "a lookup join without alias": (f"{EVENTS}{DIM}SELECT ev.k, dim.x FROM ev LEFT JOIN dim FOR SYSTEM_TIME AS OF ev.pt ON ev.k = dim.k;", 3, set()),
    "a lookup join, alias before": (f"{EVENTS}{DIM}SELECT ev.k, d.x FROM ev JOIN dim AS d FOR SYSTEM_TIME AS OF ev.pt ON ev.k = d.k;", 3, set()),
    # refused with a reason
    "the older connector.type": ("CREATE TABLE t (a INT) WITH ('connector.type' = 'kafka', 'format.type' = 'json');\nSELECT a FROM t;", 2, {"FD203"}),
    "no WITH clause": ("CREATE TABLE t (a INT);\nSELECT a FROM t;", 2, {"FD201"}),
    "a connector of someone else": ("CREATE TABLE t (a INT) WITH ('connector' = 'hbase-2.2', 'table-name' = 't', 'zookeeper.quorum' = 'z');\nSELECT a FROM t;", 2, {"FD203"}),
    "a Java function": (f"{SRC}CREATE FUNCTION f AS 'com.acme.F';\nSELECT f(id) FROM src;", 3, {"FD402"}),
    "CREATE MODEL": ("CREATE MODEL m INPUT (a INT) OUTPUT (b INT) WITH ('provider' = 'x');", 1, {"FD316"}),
    "a materialized table": ("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' MINUTE AS SELECT 1 AS a;", 1, {"FD316"}),
    "a primary key without NOT ENFORCED": (f"CREATE TABLE t (id INT, PRIMARY KEY (id)) WITH ({UPSERT});", 1, {"FD306"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    text, statements, codes = CASES[name]
    script = compile_script(SourceText("script", text), variables={"CONNECTOR": "print"})
    assert {d.code for d in script.diagnostics if d.severity == "error"} == codes, script.diagnostics
    assert script.statements == statements
