"""Messages as people get them: the cause once, at its place, with what to write, and nothing that follows from it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.options import elsewhere
from flinkddl.script.compile import compile_script

TABLES = (
    "CREATE TABLE t (id INT, name STRING, r ROW<a INT, b ROW<c STRING>>, ts TIMESTAMP(3), pt AS PROCTIME(),"
    " WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');\n"
    "CREATE TABLE p (id BIGINT) WITH ('connector' = 'print');\n"
)
HIVE = "CREATE CATALOG hive WITH ('type' = 'hive');\n"
OWN = "give a Python function for it with '--udf {0}=module:function', or declare it with CREATE FUNCTION"
ROWS_ONLY = "OVER, FILTER and IGNORE NULLS stand behind one; a function of rows is called without them"
HERE = "here or in a script given with -i"
LOG = "it reads the log of a database itself, and Spark has no source that does"
DEBEZIUM = (
    "let Debezium write the changes to Kafka and read them with 'connector' = 'kafka', 'format' = 'debezium-json'"
)
TO_FLINKS = "write these statements in Flink's own: CREATE TABLE ... WITH ('connector' = '...'), INSERT INTO ... SELECT"


@dataclass(frozen=True)
class Case:
    """A script (behind TABLES where they are wanted) and all its errors: code, text at the place, message, help."""

    name: str
    script: str
    errors: tuple[tuple[str, str, str, str | None], ...]
    tables: bool = True


def catalog(kind: str, uses: str = "") -> tuple[str, str, str, str | None]:
    refused = elsewhere.catalog(kind)
    assert refused is not None
    help = f"write 'type' = 'generic_in_memory' and {refused.instead}"
    return ("FD312", f"'{kind}'", f"catalog type '{kind}' is not available: {refused.cause}{uses}", help)


def connector(name: str, why: str, help: str) -> tuple[str, str, str, str | None]:
    return ("FD203", f"'{name}'", f"connector '{name}' is not available: {why}", help)


def missing(name: str, help: str | None = None) -> tuple[str, str, str, str | None]:
    return ("FD452", name, f"table or view '{name}' not found", help)


def unknown(text: str, name: str, help: str) -> tuple[str, str, str, str | None]:
    return ("FD400", text, f"unknown function '{name}'", help)


def not_field(text: str, message: str, help: str | None) -> tuple[str, str, str, str | None]:
    return ("FD450", text, message, help)


CASES = [
    # FD312: once, with what is not read and not written
    Case(
        "catalog",
        HIVE + "USE CATALOG hive; CREATE DATABASE ods; USE ods; USE never_made;\n"
        "INSERT INTO hive.ods.o SELECT id FROM hive.ods.a JOIN ods.b ON TRUE; SELECT * FROM c; SHOW TABLES;",
        (
            catalog(
                "hive", "; not read: 'hive.ods.a', 'hive.ods.b', 'hive.never_made.c'; not written: 'hive.ods.o'"
            ),
        ),
    ),
    Case(
        "functions below it, and modules",
        HIVE + "SELECT hive.d.f(id) FROM t; LOAD MODULE hive; USE MODULES hive, core;",
        (
            catalog("hive"),
            ("FD319", "hive", "module 'hive' is not available",
             "the functions of 'core' are always there; others can be added with CREATE FUNCTION"),
        ),
    ),
    Case("catalog that nobody uses", HIVE, (catalog("hive"),)),
    Case(
        "many tables",
        HIVE + "".join(f"SELECT * FROM hive.d.t{i};" for i in range(8)),
        (
            catalog(
                "hive", "; not read: 'hive.d.t0', 'hive.d.t1', 'hive.d.t2', 'hive.d.t3', 'hive.d.t4' and 3 more"
            ),
        ),
    ),
    Case(
        "tables without a connector belong to it",
        "CREATE CATALOG pm WITH ('type' = 'paimon'); USE CATALOG pm;\n"
        "CREATE TABLE stored (id INT) WITH ('bucket' = '4'); CREATE TEMPORARY TABLE s (id INT)"
        " WITH ('connector' = 'datagen');\n"
        "INSERT INTO stored SELECT id FROM s; CREATE TABLE made AS SELECT id FROM s; SELECT * FROM made;",
        (catalog("paimon", "; not written: 'pm.default.stored', 'pm.default.made'"),),
    ),
    Case(
        "what else is wrong below it is told",
        HIVE + "USE CATALOG hive; CREATE TABLE k (id INT) WITH ('connector' = 'kafak');\n"
        "INSERT INTO o SELECT UP(id) FROM k; CREATE VIEW v AS SELECT * FROM gone; SELECT * FROM v;",
        (
            catalog("hive", "; not read: 'hive.default.gone'; not written: 'hive.default.o'"),
            ("FD202", "'kafak'", "unknown connector 'kafak'", "did you mean 'kafka'?"),
            unknown("UP(id)", "UP", OWN.format("UP")),
        ),
        tables=False,
    ),
    Case(
        "catalog that nobody declared",
        "USE CATALOG lake; USE d; SELECT * FROM x; INSERT INTO lake.d.y SELECT id FROM default_catalog.d.t;",
        (
            (
                "FD301", "lake",
                "unknown catalog 'lake'; not read: 'lake.d.x'; not written: 'lake.d.y'",
                f"write CREATE CATALOG before it, {HERE}",
            ),
            (
                "FD302", "default_catalog.d.t", "unknown database 'default_catalog.d'",
                f"write CREATE DATABASE before it, {HERE}",
            ),
        ),
    ),
    Case(
        "database that nobody declared",
        "USE ods; SELECT * FROM x;",
        (
            (
                "FD302", "ods", "unknown database 'default_catalog.ods'; not read: 'default_catalog.ods.x'",
                f"write CREATE DATABASE before it, {HERE}",
            ),
        ),
    ),
    # FD452: of a table of its own database only
    Case("near name", "SELECT * FROM tt;", (missing("tt", None),)),
    Case(
        "name in a catalog that is not known",
        "SELECT * FROM default_catalg.default_database.t;",
        (
            (
                "FD301", "default_catalg.default_database.t", "unknown catalog 'default_catalg'",
                "did you mean 'default_catalog'?",
            ),
        ),
    ),
    Case(
        "a near name of another database is none",
        "CREATE DATABASE d; CREATE TABLE orders (a INT) WITH ('connector' = 'print'); SELECT * FROM d.order_s;",
        (missing("d.order_s"),),
    ),
    # FD400
    *(
        Case(f"function {name}", f"SELECT {name}(id) FROM t;", (unknown(f"{name}(id)", name, help),))
        for name, help in {
            "TO_TIMESTAMP_UDF": OWN.format("TO_TIMESTAMP_UDF"),
            "my_upper": OWN.format("my_upper"),
            "BIGINT_TO_TS": OWN.format("BIGINT_TO_TS"),
            "DATEFORMAT": "did you mean 'DATE_FORMAT'?",
            "UPERR": "did you mean 'UPPER'?",
        }.items()
    ),
    # FD408: what is written, not our tree
    Case("over", "SELECT UPPER(name) OVER (ORDER BY ts) FROM t;",
         (("FD408", "UPPER(name)", "'UPPER' is no aggregate function", ROWS_ONLY),)),
    Case("filter", "SELECT DATE_FORMAT(ts, 'y') FILTER (WHERE id > 1) FROM t;",
         (("FD408", "DATE_FORMAT(ts, 'y')", "'DATE_FORMAT' is no aggregate function", ROWS_ONLY),)),
    Case("ignore nulls", "SELECT UPPER(name) IGNORE NULLS FROM t;",
         (("FD408", "UPPER(name)", "'UPPER' is no aggregate function", ROWS_ONLY),)),
    Case("unknown over", "SELECT MYAGG(id) OVER (ORDER BY ts) FROM t;",
         (unknown("MYAGG(id)", "MYAGG", OWN.format("MYAGG")),)),
    # FD450 for fields of a ROW
    Case("field", "SELECT r.x FROM t;", (not_field("r.x", "'r' has no field 'x'", "its fields: a, b"),)),
    Case("field of a field", "SELECT t.r.b.cc FROM t;",
         (not_field("t.r.b.cc", "'t.r.b' has no field 'cc'", "its fields: c"),)),
    Case("near field", "SELECT r.A FROM t;", (not_field("r.A", "'r' has no field 'A'", "did you mean 'a'?"),)),
    Case("field of no row", "SELECT r.b.c.d FROM t;",
         (not_field("r.b.c.d", "'r.b.c' is of type STRING, which has no field 'd'", None),)),
    Case("bare field", "SELECT c FROM t;",
         (not_field("c", "column 'c' not found in any table", "'c' is a field of 'r.b': write r.b.c"),)),
    Case("qualified bare field", "SELECT b.c FROM t;",
         (not_field("b.c", "'b' is neither a table of this query nor a column", "'b' is a field of 'r': write r.b"),)),
    Case("one pair of backticks", "SELECT `r.a` FROM t;",
         (not_field("`r.a`", "column 'r.a' not found in any table",
                    "write r.a without backticks, or with a pair around each name"),)),
    Case("no table of the query", "SELECT q.id FROM t;",
         (not_field("q.id", "'q' is neither a table of this query nor a column", "tables here: t"),)),
    # FD645 at the window
    *(
        Case(f"proctime {at}", f"SET 'flinkddl.execution.state' = 'keyed'; INSERT INTO p SELECT COUNT(*) FROM {query};",
             (("FD645", at, "a window over processing time closes in a chain of operators by key alone, "
               "which this query is not",
               "SET 'flinkddl.execution.state' = 'chain' runs it in one or says why not; or window over event time"),))
        for at, query in {
            "DESCRIPTOR(pt)": "TABLE(TUMBLE(TABLE t, DESCRIPTOR(pt), INTERVAL '1' DAY))"
            " GROUP BY window_start, window_end",
            "TUMBLE(pt, INTERVAL '1' DAY)": "t GROUP BY TUMBLE(pt, INTERVAL '1' DAY)",
            "SESSION(pt, INTERVAL '1' DAY)": "t GROUP BY id, SESSION(pt, INTERVAL '1' DAY)",
        }.items()
    ),
    # the connector before what is wrong with the columns
    Case(
        "connector first",
        "CREATE TABLE m (id INT, a STRING METADATA FROM 'k', b STRING METADATA FROM 'k', PRIMARY KEY (id),"
        " WATERMARK FOR a AS a) WITH ('connector' = 'mysql-cdc');\nINSERT INTO p SELECT id FROM m;",
        (connector("mysql-cdc", LOG, DEBEZIUM),),
    ),
    Case(
        "unknown connector first",
        "CREATE TABLE m (WATERMARK FOR a AS a) WITH ('connector' = 'kafak');",
        (("FD202", "'kafak'", "unknown connector 'kafak'", "did you mean 'kafka'?"),),
    ),
    Case(
        "a known connector hides nothing",
        "CREATE TABLE m (id INT, PRIMARY KEY (idd) NOT ENFORCED) WITH ('connector' = 'print');",
        (
            (
                "FD306", "idd", "the PRIMARY KEY names an unknown column 'idd'",
                "did you mean 'id'?",
            ),
        ),
    ),
    Case(
        "any other reader of a database's log",
        "CREATE TABLE m (id INT) WITH ('connector' = 'db9-cdc');\nINSERT INTO p SELECT id FROM m;",
        (connector("db9-cdc", LOG, DEBEZIUM),),
    ),
    Case(
        "both tables of an INSERT",
        "CREATE TABLE m (id INT) WITH ('connector' = 'hive'); CREATE TABLE n (id INT) WITH ('connector' = 'pulsar');\n"
        "INSERT INTO n SELECT id FROM m;",
        (
            *(connector(n, c.cause, c.instead) for n in ("hive", "pulsar") if (c := elsewhere.connector(n))),
        ),
    ),
    # what a table lacks, at the table and once
    Case(
        "used three times",
        "CREATE TABLE lacks (id INT) WITH ('topic' = 'x');\n"
        "INSERT INTO p SELECT id FROM lacks; INSERT INTO lacks SELECT id FROM t; INSERT INTO p SELECT id FROM lacks;",
        (("FD201", "lacks", "the table has no option 'connector'", "add 'connector' = '...' to the WITH clause"),),
    ),
    Case(
        "read and written",
        "CREATE TABLE lacks (id INT) WITH ('connector' = 'kafka', 'topic' = 'x', 'scan.startup.mode' ="
        " 'earliest-offset', 'properties.bootstrap.servers' = 'b:1');\n"
        "INSERT INTO lacks SELECT id FROM lacks;",
        (("FD213", "lacks", "the required format 'value.format' is missing", "add 'format' = 'json'"),),
    ),
    # what was meant
    Case(
        "no comma between options",
        "CREATE TABLE g (id INT) WITH ('connector' = 'datagen'\n'number-of-rows' = '5');",
        (("FD102", "'number-of-rows'", "expected ',', found 'number-of-rows'", "is the comma before it missing?"),),
    ),
    Case(
        "all mistakes of a CREATE TABLE",
        "CREATE TABLE g (id INT, a STRNG, b TEXT NOT NULL, WATERMARK FOR tss AS ts, PRIMARY KEY (idd) NOT ENFORCED)"
        " WITH ('connector' = 'datagen');",
        (
            ("FD109", "STRNG", "'STRNG' is no type of Flink SQL", "did you mean 'STRING'?"),
            ("FD109", "TEXT", "'TEXT' is no type of Flink SQL", "did you mean 'STRING'?"),
            ("FD307", "tss", "the watermark names an unknown column 'tss'", "available columns: id, a, b"),
            ("FD306", "idd", "the PRIMARY KEY names an unknown column 'idd'", "did you mean 'id'?"),
        ),
    ),
    Case(
        "all clauses of a SELECT",
        "SELECT far FROM t WHERE wide > 1 GROUP BY odd, id;",
        tuple(
            ("FD450", name, f"column '{name}' not found in any table", "columns here: id, name, pt, r, ts")
            for name in ("far", "wide", "odd")
        ),
    ),
    Case(
        "a misspelt startup mode is no missing group",
        "CREATE TABLE g (id INT) WITH ('connector' = 'kafka', 'topic' = 'x', 'format' = 'json', 'scan.startup.mod' ="
        " 'earliest-offset', 'properties.bootstrap.servers' = 'b:1');\nINSERT INTO p SELECT id FROM g;",
        (
            (
                "FD212", "'scan.startup.mod'", "unknown option 'scan.startup.mod' for connector 'kafka'",
                "did you mean 'scan.startup.mode'?",
            ),
        ),
    ),
    Case(
        "a misspelt format key is no missing format",
        "CREATE TABLE g (id INT) WITH ('connector' = 'kafka', 'topic' = 'x', 'formt' = 'json', 'scan.startup.mode' ="
        " 'earliest-offset', 'properties.bootstrap.servers' = 'b:1');\nINSERT INTO p SELECT id FROM g;",
        (("FD212", "'formt'", "unknown option 'formt' for connector 'kafka'", "did you mean 'format'?"),),
    ),
    Case("no type and no end of it", "CREATE TABLE g (id STRNG FOO);",
         (("FD109", "STRNG", "'STRNG' is no type of Flink SQL", "did you mean 'STRING'?"),)),
    Case(
        "no such column",
        "SELECT far FROM t;",
        (("FD450", "far", "column 'far' not found in any table", "columns here: id, name, pt, r, ts"),),
    ),
    Case(
        "no cast",
        "CREATE TABLE w (a BIGINT) WITH ('connector' = 'print');\n"
        "INSERT INTO w SELECT TIMESTAMP '2024-01-01 00:00:00' FROM t;",
        (
            (
                "FD481",
                "SELECT TIMESTAMP '2024-01-01 00:00:00' FROM t",
                "column 'a' of 'default_catalog.default_database.w' is BIGINT, the query gives TIMESTAMP(0) at position"
                " 1",
                "no CAST makes one of the other (cannot cast TIMESTAMP(0) to BIGINT): give another expression, or the"
                " column another type",
            ),
        ),
    ),
    # Hive's dialect
    Case(
        "hive",
        "SET table.sql-dialect=hive;\nCREATE TABLE h (id INT) PARTITIONED BY (dt STRING) STORED AS ORC;\n"
        "SELECT $x FROM y LATERAL VIEW explode(z) zz;\n"
        "SET table.sql-dialect=default;\nINSERT INTO h SELECT id FROM t; SELECT * FROM h JOIN gone ON TRUE;",
        (
            ("FD330", "SET table.sql-dialect=hive", "Hive's dialect is not available; lines 4 to 5 are not read",
             TO_FLINKS),
            missing("gone"),
        ),
    ),
    Case(
        "hive to the end",
        "SET 'table.sql-dialect' = 'HIVE';\nshow partitions x;",
        (("FD330", "SET 'table.sql-dialect' = 'HIVE'", "Hive's dialect is not available; line 4 is not read",
          TO_FLINKS),),
    ),
    Case(
        "hive until RESET",
        "SET 'table.sql-dialect' = 'hive'; show partitions x; RESET 'table.sql-dialect'; SELECT * FROM gone;",
        (
            ("FD330", "SET 'table.sql-dialect' = 'hive'", "Hive's dialect is not available; line 3 is not read",
             TO_FLINKS),
            missing("gone"),
        ),
    ),
    # names whose own statement failed
    Case(
        "view over a view over nothing",
        "CREATE VIEW v AS SELECT * FROM gone; CREATE VIEW w AS SELECT * FROM v; INSERT INTO p SELECT id FROM w;\n"
        "DROP VIEW w; CREATE TABLE l (b INT) LIKE v;",
        (missing("gone"),),
    ),
    Case(
        "function whose language is none",
        "CREATE FUNCTION f AS 'a.B' LANGUAGE COBOL; SELECT f(id) FROM t;",
        (("FD102", "COBOL", "expected JAVA, SCALA or PYTHON, found 'COBOL'", None),),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_errors(case: Case) -> None:
    text = TABLES * case.tables + case.script
    found = [d for d in compile_script(SourceText("job.sql", text)).diagnostics if d.severity == "error"]
    assert tuple((d.code, d.span.text if d.span else "", d.message, d.help) for d in found) == case.errors


def test_a_catalog_that_is_declared_after_all_hides_nothing() -> None:
    text = f"{HIVE}CREATE CATALOG c WITH ('type' = 'generic_in_memory'); SELECT * FROM c.`default`.gone;"
    found = compile_script(SourceText("job.sql", text)).diagnostics
    assert [d.code for d in found] == ["FD312", "FD452"]
