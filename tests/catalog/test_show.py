# ruff: noqa: E501 (tables read better as one line a case)
"""SHOW and DESCRIBE: rows as Flink 2.3 gave them for the same statements, secrets apart."""

import pytest

from flinkddl.catalog import Catalog, show
from flinkddl.catalog.apply import apply
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.plan.builder.hooks import hooks

SETUP = """
CREATE TABLE src (a INT NOT NULL COMMENT 'it''s', ts TIMESTAMP(3), `o p` BIGINT METADATA FROM 'offset' VIRTUAL,
  `partition` STRING METADATA, pt AS PROCTIME(), b AS a + 1 COMMENT 'x', d AS UPPER(CAST(a AS VARCHAR)) || 'x''y',
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (a) NOT ENFORCED)
  COMMENT 'tbl' PARTITIONED BY (a) WITH ('connector' = 'datagen', 'properties.password' = 'x');
CREATE TABLE plain (a INT NOT NULL COMMENT 'it''s', ts TIMESTAMP(3), `o p` BIGINT METADATA FROM 'offset' VIRTUAL,
  `partition` STRING METADATA, b AS a + 1 COMMENT 'x', WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
  PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'datagen');
CREATE TABLE s2 (a VARCHAR, b VARBINARY, c CHAR, d BINARY, PRIMARY KEY (a, c) NOT ENFORCED)
  DISTRIBUTED BY HASH(a) INTO 3 BUCKETS WITH ('connector' = 'datagen');
CREATE VIEW v (x, y) AS SELECT a, COUNT(*) FROM s2 WHERE a > 'b' GROUP BY a;
CREATE CATALOG c2 COMMENT 'cc' WITH ('type' = 'generic_in_memory', 'default-database' = 'dd');
CREATE TEMPORARY SYSTEM FUNCTION ff AS 'a.b' LANGUAGE PYTHON;
SET 'pipeline.name' = 'n';
"""


def answer(sql):
    """Return the rows of the last statement after the set-up."""
    catalog, source = Catalog(), SourceText("t.sql", SETUP + sql)
    parsed = parse_script(source)
    assert parsed.ok, parsed.diagnostics
    for statement in parsed.statements[:-1]:
        catalog, findings = apply(catalog, statement.tree, source)
        assert not [d for d in findings if d.severity == "error"]
    found = show.answer(catalog, parsed.statements[-1].tree, source, hooks(source))
    assert all(len(row) == len(found.columns) for row in found.rows)
    return [list(row) for row in found.rows]


DESCRIBED = [
    ["a", "INT", "false", "PRI(a)", None, None, "it's"],
    ["ts", "TIMESTAMP(3) *ROWTIME*", "true", None, None, "`ts` - INTERVAL '5' SECOND", None],
    ["o p", "BIGINT", "true", None, "METADATA FROM 'offset' VIRTUAL", None, None],
    ["partition", "STRING", "true", None, "METADATA", None, None],
    ["b", "INT", "false", None, "AS `a` + 1", None, "x"],
]
CASES = [
    ("describe", "DESCRIBE plain", DESCRIBED),
    (
        "describe-no-comment",
        "DESC s2",
        [
            ["a", "STRING", "false", "PRI(a, c)", None, None],
            ["b", "BYTES", "true", None, None, None],
            ["c", "CHAR(1)", "false", "PRI(a, c)", None, None],
            ["d", "BINARY(1)", "true", None, None, None],
        ],
    ),
    (
        "describe-view",
        "DESCRIBE v",
        [["x", "STRING", "false", None, None, None], ["y", "BIGINT", "false", None, None, None]],
    ),
    ("columns", "SHOW COLUMNS FROM plain LIKE '%p%'", [r for r in DESCRIBED if "p" in r[0]]),
    ("catalogs", "SHOW CATALOGS LIKE 'c%'", [["c2"]]),
    ("catalogs-not", "SHOW CATALOGS NOT LIKE 'c%'", [["default_catalog"]]),
    ("databases", "SHOW DATABASES FROM c2", [["dd"]]),
    ("tables", "SHOW TABLES", [["plain"], ["s2"], ["src"], ["v"]]),
    ("tables-like", "SHOW TABLES LIKE 's_'", [["s2"]]),
    ("views", "SHOW VIEWS", [["v"]]),
    ("functions", "SHOW USER FUNCTIONS ILIKE 'F%'", [["ff"]]),
    ("current", "SHOW CURRENT DATABASE", [["default_database"]]),
    ("modules", "SHOW FULL MODULES", [["core", "true"]]),
    (
        "catalog",
        "DESCRIBE CATALOG EXTENDED c2",
        [["name", "c2"], ["type", "generic_in_memory"], ["comment", "cc"], ["option:default-database", "dd"]],
    ),
]


@pytest.mark.parametrize(("sql", "rows"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_rows(sql, rows):
    assert answer(sql) == rows


SHOWN = [
    (
        "SHOW CREATE TABLE s2",
        "CREATE TABLE `default_catalog`.`default_database`.`s2` (\n  `a` VARCHAR(2147483647) NOT NULL,\n  `b` VARBINARY(2147483647),\n  `c` CHAR(1) NOT NULL,\n  `d` BINARY(1),\n  CONSTRAINT `PK_a_c` PRIMARY KEY (`a`, `c`) NOT ENFORCED\n)\nDISTRIBUTED BY HASH(`a`) INTO 3 BUCKETS\nWITH (\n  'connector' = 'datagen'\n)\n",
    ),
    (
        "SHOW CREATE CATALOG c2",
        "CREATE CATALOG `c2`\nCOMMENT 'cc'\nWITH (\n  'default-database' = 'dd',\n  'type' = 'generic_in_memory'\n)\n",
    ),
    (
        "SHOW CREATE TABLE src",
        "CREATE TABLE `default_catalog`.`default_database`.`src` (\n  `a` INT NOT NULL COMMENT 'it''s',\n  `ts` TIMESTAMP(3),\n  `o p` BIGINT METADATA FROM 'offset' VIRTUAL,\n  `partition` VARCHAR(2147483647) METADATA,\n  `pt` AS PROCTIME(),\n  `b` AS `a` + 1 COMMENT 'x',\n  `d` AS UPPER(CAST(`a` AS VARCHAR)) || 'x''y',\n  WATERMARK FOR `ts` AS `ts` - INTERVAL '5' SECOND,\n  CONSTRAINT `PK_a` PRIMARY KEY (`a`) NOT ENFORCED\n)\nCOMMENT 'tbl'\nPARTITIONED BY (`a`)\nWITH (\n  'connector' = 'datagen',\n  'properties.password' = '******'\n)\n",
    ),
]


@pytest.mark.parametrize(("sql", "text"), SHOWN, ids=[s[0] for s in SHOWN])
def test_show_create(sql, text):
    assert answer(sql) == [[text]]


REFUSED = [
    ("DESCRIBE nope", "FD303"),
    ("SHOW CREATE TABLE v", "FD303"),
    ("SHOW TABLES FROM nope", "FD302"),
    ("SHOW DATABASES FROM nope", "FD301"),
]


@pytest.mark.parametrize(("sql", "code"), REFUSED)
def test_refused(sql, code):
    with pytest.raises(FlinkDdlError) as error:
        answer(sql)
    assert [d.code for d in error.value.diagnostics] == [code]


def test_a_bare_set_lists_settings():
    rows = dict(answer("SET"))
    assert rows["pipeline.name"] == "n"
    assert rows["table.exec.state.ttl"] == "0"
