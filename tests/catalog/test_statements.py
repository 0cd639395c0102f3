# ruff: noqa: E501 (tables read better as one line a case)
"""Statements through the parser: columns, keys, watermarks, LIKE, ALTER, CTAS. Verdicts are those of Flink 2.3."""

import pytest

from flinkddl.catalog import Catalog
from flinkddl.catalog.apply import apply
from flinkddl.catalog.context import Hooks
from flinkddl.diagnostics import SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.plan.builder.hooks import hooks

BASE = """CREATE TABLE src (a INT NOT NULL, ts TIMESTAMP(3), `o p` BIGINT METADATA FROM 'offset' VIRTUAL, pt AS PROCTIME(),
b AS a + 1, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (a) NOT ENFORCED)
PARTITIONED BY (a) WITH ('connector' = 'datagen', 'rows-per-second' = '1')"""


def run(script, typed=False):
    """Apply a script, with the planner's hooks or without; return the catalog and the last statement's errors."""
    catalog, findings = Catalog(), ()
    source = SourceText("t.sql", script)
    parsed = parse_script(source)
    assert parsed.ok, parsed.diagnostics
    for statement in parsed.statements:
        catalog, findings = apply(catalog, statement.tree, source, hooks(source) if typed else None)
    return catalog, [(d.code, f"{d.message} | {d.help}", d.span) for d in findings if d.severity == "error"]


def columns(catalog, name="t"):
    return [f"{c.name} {c.type}" for c in catalog.find((name,)).columns]


CREATE = [
    ("V57-enforced", "a INT, PRIMARY KEY (a)", "FD306", "NOT ENFORCED"),
    ("V57-twice", "a INT, PRIMARY KEY (a, a) NOT ENFORCED", "FD306", "'a'"),
    ("V57-unknown", "order_id INT, PRIMARY KEY (orderid) NOT ENFORCED", "FD306", "did you mean 'order_id'?"),
    ("V57-metadata", "a INT METADATA, PRIMARY KEY (a) NOT ENFORCED", "FD306", "metadata column"),
    ("V57-computed", "a INT, b AS a, PRIMARY KEY (b) NOT ENFORCED", "FD306", "computed column"),
    ("two-keys", "a INT PRIMARY KEY NOT ENFORCED, b INT, PRIMARY KEY (b) NOT ENFORCED", "FD306", "more than one"),
    ("unique", "a INT, UNIQUE (a)", "FD306", "UNIQUE"),
    ("V58-precision", "ts TIMESTAMP, WATERMARK FOR ts AS ts", "FD307", "TIMESTAMP(6)"),
    ("V58-missing", "ts TIMESTAMP(3), WATERMARK FOR tss AS ts", "FD307", "did you mean 'ts'?"),
    ("V58-type", "ts STRING, WATERMARK FOR ts AS ts", "FD307", "STRING"),
    ("V46", "x BIGINT METADATA FROM 'offset', y BIGINT METADATA FROM 'offset'", "FD308", "'x' and 'y'"),
    ("V46-name", "`offset` BIGINT METADATA, y BIGINT METADATA FROM 'offset'", "FD308", "'offset' and 'y'"),
    ("column-twice", "a INT, a STRING", "FD305", "'a'"),
    ("decimal-scale", "a DECIMAL(5, 6)", "FD109", "scale 6"),
    ("decimal-none", "a DECIMAL(0)", "FD109", "below 1"),
    ("field-twice", "a ARRAY<ROW<b INT, b INT>>", "FD109", "two fields"),
]


@pytest.mark.parametrize(("elements", "code", "words"), [c[1:] for c in CREATE], ids=[c[0] for c in CREATE])
def test_refused_columns(elements, code, words):
    _, errors = run(f"SET 'flinkddl.strict' = 'true'; CREATE TABLE t ({elements}) WITH ('connector' = 'datagen')")
    assert [e[0] for e in errors] == [code]
    assert words in errors[0][1]
    assert errors[0][2] is not None


def test_key_columns_become_not_null_and_options_keep_their_places():
    script = "CREATE TABLE t (a INT NULL, b VARCHAR, PRIMARY KEY (b, a) NOT ENFORCED) WITH ('connector' = 'x')"
    catalog, errors = run(script)
    assert errors == []
    assert columns(catalog) == ["a INT NOT NULL", "b STRING NOT NULL"]
    table = catalog.find(("t",))
    assert table.primary_key.columns == ("b", "a")
    assert table.options["connector"].value_span.text == "'x'"
    assert table.options["connector"].key_span.text == "'connector'"
    assert table.span.text == "t"


def test_the_last_value_of_an_option_counts():
    catalog, errors = run("CREATE TABLE t (a INT) WITH ('connector' = 'x', 'connector' = 'datagen')")
    assert errors == []
    assert catalog.find(("t",)).options["connector"].value == "datagen"


LIKE = [
    ("all", "CREATE TABLE t LIKE src (EXCLUDING OPTIONS)", None, ["a", "ts", "o p", "pt", "b"]),
    ("column-again", "CREATE TABLE t (a INT) LIKE src", "FD310", "rename"),
    ("generated-again", "CREATE TABLE t (b AS a + 2) LIKE src", "FD310", "OVERWRITING GENERATED"),
    (
        "generated-overwritten",
        "CREATE TABLE t (b AS a + 2) LIKE src (OVERWRITING GENERATED)",
        None,
        ["a", "ts", "o p", "pt", "b"],
    ),
    ("generated-by-physical", "CREATE TABLE t (b STRING) LIKE src (OVERWRITING GENERATED)", "FD310", "'b'"),
    ("excluding", "CREATE TABLE t LIKE src (EXCLUDING GENERATED EXCLUDING METADATA)", None, ["a", "ts"]),
    (
        "options-including",
        "CREATE TABLE t WITH ('connector' = 'print') LIKE src (INCLUDING ALL)",
        "FD310",
        "OVERWRITING OPTIONS",
    ),
    (
        "options-overwriting",
        "CREATE TABLE t WITH ('connector' = 'print') LIKE src",
        None,
        ["a", "ts", "o p", "pt", "b"],
    ),
    ("key-again", "CREATE TABLE t (z INT, PRIMARY KEY (z) NOT ENFORCED) LIKE src", "FD310", "EXCLUDING CONSTRAINTS"),
    (
        "key-excluded",
        "CREATE TABLE t (z INT, PRIMARY KEY (z) NOT ENFORCED) LIKE src (EXCLUDING CONSTRAINTS)",
        None,
        ["a", "ts", "o p", "pt", "b", "z"],
    ),
    ("watermark-again", "CREATE TABLE t (WATERMARK FOR ts AS ts) LIKE src", "FD310", "watermark"),
    ("partitions-again", "CREATE TABLE t (z INT) PARTITIONED BY (z) LIKE src", "FD310", "partitioning"),
    ("overwriting-all", "CREATE TABLE t LIKE src (OVERWRITING ALL)", "FD311", "OVERWRITING ALL"),
    ("feature-twice", "CREATE TABLE t LIKE src (INCLUDING ALL EXCLUDING ALL)", "FD311", "twice"),
    ("missing", "CREATE TABLE t LIKE sr", "FD303", "did you mean 'src'?"),
    ("view", "CREATE TABLE t LIKE v", "FD310", "view"),
]


@pytest.mark.parametrize(("sql", "code", "expected"), [c[1:] for c in LIKE], ids=[c[0] for c in LIKE])
def test_like(sql, code, expected):
    catalog, errors = run(f"{BASE}; CREATE VIEW v AS SELECT 1 AS o; {sql}")
    if code is None:
        assert errors == []
        assert [c.name for c in catalog.find(("t",)).columns] == expected
    else:
        assert [e[0] for e in errors] == [code]
        assert expected in errors[0][1]


ALTER = [
    ("add", "ADD (z INT FIRST, y STRING AFTER ts)", None, ["z", "a", "ts", "y", "o p", "pt", "b"]),
    ("add-after-unknown", "ADD z INT AFTER tt", "FD314", "'tt'"),
    ("add-again", "ADD a INT", "FD305", "'a'"),
    ("modify", "MODIFY ts TIMESTAMP(2) FIRST", None, ["ts", "a", "o p", "pt", "b"]),
    ("modify-unknown", "MODIFY z INT", "FD314", "'z'"),
    ("drop", "DROP (`o p`, b)", None, ["a", "ts", "pt"]),
    ("drop-used", "DROP a", "FD314", "computed column 'b'"),
    ("drop-watermarked", "DROP ts", "FD314", "watermark"),
    ("drop-missing", "DROP bb", "FD314", "'bb'"),
    ("rename", "RENAME `o p` TO op", None, ["a", "ts", "op", "pt", "b"]),
    ("rename-used", "RENAME a TO a2", "FD314", "computed column 'b'"),
    ("constraint", "DROP CONSTRAINT pp", "FD314", "PK_a"),
    ("constraint-found", "DROP CONSTRAINT PK_a", None, ["a", "ts", "o p", "pt", "b"]),
    ("watermark-again", "ADD WATERMARK FOR ts AS ts", "FD307", "already"),
    ("watermark-modified", "MODIFY WATERMARK FOR ts AS ts", None, ["a", "ts", "o p", "pt", "b"]),
    ("key-again", "ADD PRIMARY KEY (ts) NOT ENFORCED", "FD306", "more than one"),
    ("set", "SET ('rows-per-second' = '2')", None, ["a", "ts", "o p", "pt", "b"]),
    ("reset-connector", "RESET ('connector')", "FD314", "'connector'"),
    ("reset-unknown", "RESET ('nope')", None, ["a", "ts", "o p", "pt", "b"]),
    ("watermark-missing", "ADD WATERMARK FOR tx AS tx", "FD307", "already"),
]


@pytest.mark.parametrize(("action", "code", "expected"), [c[1:] for c in ALTER], ids=[c[0] for c in ALTER])
def test_alter_table(action, code, expected):
    catalog, errors = run(f"{BASE}; ALTER TABLE src {action}")
    if code is None:
        assert errors == []
        assert [c.name for c in catalog.find(("src",)).columns] == expected
    else:
        assert [e[0] for e in errors] == [code]
        assert expected in errors[0][1]


def test_alter_changes_parts():
    catalog, _ = run(
        f"{BASE}; ALTER TABLE src DROP WATERMARK; ALTER TABLE src DROP PRIMARY KEY; ALTER TABLE src RENAME TO s2"
    )
    table = catalog.find(("s2",))
    assert (table.watermark, table.primary_key, catalog.find(("src",))) == (None, None, None)


def test_create_table_as_takes_the_schema_of_the_query():
    catalog, errors = run(
        "CREATE TABLE t (z INT, b BIGINT) WITH ('connector' = 'print') AS SELECT 1 AS a, 2 AS b", typed=True
    )
    assert errors == []
    assert columns(catalog) == ["z INT", "a INT NOT NULL", "b BIGINT"]
    catalog, errors = run("CREATE TABLE t (b, a) WITH ('connector' = 'print') AS SELECT 1 AS a, 2 AS b", typed=True)
    assert errors == []
    assert columns(catalog) == ["b INT NOT NULL", "a INT NOT NULL"]
    assert (
        run("CREATE TABLE t (b, c) WITH ('connector' = 'print') AS SELECT 1 AS a, 2 AS b", typed=True)[1][0][0]
        == "FD318"
    )


def test_computed_columns_are_typed_at_creation():
    _, errors = run("CREATE TABLE t (a INT, b AS c + 1) WITH ('connector' = 'print')", typed=True)
    assert errors
    assert errors[0][2].text == "c"


def test_without_hooks_nothing_is_typed():
    source = SourceText("t.sql", "CREATE TABLE t (a INT, b AS c + 1) WITH ('connector' = 'print')")
    _, findings = apply(Catalog(), parse_script(source).statements[0].tree, source, Hooks())
    assert findings == ()
