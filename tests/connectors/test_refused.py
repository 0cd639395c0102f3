# ruff: noqa: E501 (tables read better as one line a case)
"""Connectors and catalogs that do not run here: refused once a table, with the cause and a way on; CDC with its table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.catalog.model import Table
from flinkddl.cli.main import main
from flinkddl.diagnostics import Diagnostic, SourceText
from flinkddl.diagnostics.render import render_text
from flinkddl.options import elsewhere, installed, registry
from flinkddl.script import mistaken
from flinkddl.script.compile import compile_script
from flinkddl.script.unused import unused

if TYPE_CHECKING:
    from pathlib import Path

CONNECTORS = [(name, row) for row in elsewhere.families("connectors") for name in row.names]
CATALOGS = sorted(
    {name for row in elsewhere.families("catalogs") for name in row.names} | {"iceberg", "paimon", "hudi", "fluss"}
)
PRINT = (
    "CREATE TABLE p (a INT) WITH ('connector' = 'print');\nCREATE TABLE src (a INT) WITH ('connector' = 'datagen');\n"
)


def told(script: str) -> list[Diagnostic]:
    """All that ``check`` says of a script."""
    compiled = compile_script(SourceText("job.sql", script))
    return [*compiled.diagnostics, *unused(compiled)]


def the_one(script: str) -> Diagnostic:
    (found,) = told(script)
    return found


# ---- refused once --------------------------------------------------------------------------------------------------

USERS = """
CREATE VIEW v AS SELECT a, nope FROM t;
INSERT INTO p SELECT a FROM t;
INSERT INTO p SELECT a FROM v;
INSERT INTO p SELECT nope FROM t /*+ OPTIONS('x' = 'z') */;
INSERT INTO t SELECT a FROM src;
INSERT INTO t SELECT a FROM t;
SELECT p.a FROM t AS p JOIN v ON p.a = v.a;
CREATE TABLE made WITH ('connector' = 'print') AS SELECT a FROM t;
INSERT INTO made SELECT a FROM src;
INSERT INTO default_database.made SELECT a FROM src;
DESCRIBE made;
DESCRIBE t;
EXPLAIN SELECT * FROM t;
"""


@pytest.mark.parametrize(("name", "row"), CONNECTORS, ids=[name for name, _ in CONNECTORS])
def test_a_table_is_refused_once_at_its_connector(name: str, row: elsewhere.Refused) -> None:
    table = f"CREATE TABLE t (a INT, ts TIMESTAMP(6), WATERMARK FOR ts AS ts) WITH ('x' = 'y', 'connector' = '{name}');"
    found = the_one(PRINT + table + USERS)
    assert (found.code, found.severity) == ("FD203", "error")
    assert found.span is not None
    assert found.span.text == f"'{name}'"
    assert found.message == f"connector '{name}' is not available: {row.cause}"
    assert found.help


def test_each_name_is_refused_by_one_row_and_runs_nowhere() -> None:
    names = [name for name, _ in CONNECTORS]
    assert len(names) == len(set(names))
    assert not set(names) & set(registry.names("connector"))
    assert all(row.cause and row.instead for kind in ("connectors", "catalogs") for row in elsewhere.families(kind))


# script, the codes that are said and how often
HOW_OFTEN = {
    "never used": ("CREATE TABLE t (a INT) WITH ('connector' = 'hive');", ["FD203 warning"]),
    "two tables": (
        "CREATE TABLE t (a INT) WITH ('connector' = 'hive');\nCREATE TABLE u (a INT) WITH ('connector' = 'hive');\nINSERT INTO t SELECT a FROM u;",
        ["FD203 error", "FD203 error"],
    ),
    "one used, one not": (
        "CREATE TABLE t (a INT) WITH ('connector' = 'hive');\nCREATE TABLE u (a INT) WITH ('connector' = 'hive');\nSELECT a FROM t;",
        ["FD203 error", "FD203 warning"],
    ),
    "a sink that is wrong is not said to be unused": (
        "CREATE TABLE t (a STRING, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'redis', 'host' = 'h', 'command' = 'set');\nINSERT INTO t VALUES ('a');",
        ["FD212 error"],
    ),
    "what cannot be read may use it": (
        "CREATE TABLE t (a INT) WITH ('connector' = 'kafka');\nSELECT a FROM t WHERE;\nCREATE TABLE u (a INT) WITH ('connector' = 'hive');",
        ["FD102 error"],
    ),
    "a table LIKE it, not used": (
        "CREATE TABLE t (a INT) WITH ('connector' = 'hive');\nCREATE TABLE u LIKE t;\nSELECT a FROM t;",
        ["FD203 error"],
    ),
    "its own declaration is wrong as well: it would be another one elsewhere": (
        "CREATE TABLE t (a INT, PRIMARY KEY (b) NOT ENFORCED) WITH ('connector' = 'hive');\nCREATE TABLE u LIKE t;\nSELECT a FROM t;\nDROP TABLE t;",
        ["FD203 error"],
    ),
    "what is wrong beside it": (
        "CREATE TABLE t (a INT) WITH ('connector' = 'hive');\nSELECT nope(a) FROM t;\nSELECT a FROM other;",
        ["FD203 error", "FD400 error", "FD452 error"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("script", "codes"), HOW_OFTEN.values(), ids=HOW_OFTEN)
def test_how_often(script: str, codes: list[str]) -> None:
    assert [f"{d.code} {d.severity}" for d in told(script)] == codes


CATALOG_USERS = """
CREATE DATABASE i.db;
CREATE TABLE i.db.t (a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO i.db.t SELECT a FROM src;
INSERT INTO p SELECT a FROM i.db.t;
INSERT INTO p SELECT a FROM i.other.`t$snapshots`;
CREATE VIEW v AS SELECT * FROM i.db.other;
INSERT INTO p SELECT a FROM v;
ALTER TABLE i.db.other SET ('a' = 'b');
USE CATALOG i;
USE db;
CREATE TABLE u (a INT);
INSERT INTO u SELECT a FROM other;
INSERT INTO default_catalog.default_database.p SELECT a FROM u;
DROP TABLE other;
DESCRIBE other;
USE CATALOG default_catalog;
USE i.elsewhere;
SELECT * FROM other;
"""


@pytest.mark.parametrize("type_", CATALOGS)
def test_a_catalog_is_refused_once_at_its_type(type_: str) -> None:
    found = the_one(f"{PRINT}CREATE CATALOG i WITH ('type' = '{type_}', 'warehouse' = '/tmp');{CATALOG_USERS}")
    refused = elsewhere.catalog(type_)
    assert refused is not None
    assert found.code == "FD312"
    assert found.span is not None
    assert found.span.text == f"'{type_}'"
    assert refused.cause in found.message
    assert "'generic_in_memory' and declare each table with CREATE TABLE" in (found.help or "")


def test_what_is_wrong_beside_a_refused_catalog_is_said() -> None:
    script = """
    CREATE CATALOG i WITH ('type' = 'iceberg');
    USE CATALOG i;
    CREATE TABLE k (a INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
    SELECT a FROM k;
    SELECT a FROM default_catalog.default_database.missing;
    SELECT nope(1);
    """
    assert [d.code for d in told(script)] == ["FD312", "FD210", "FD452", "FD400"]


def test_options_of_a_refused_connector_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["options", "iceberg"]) == 2
    assert "IncompatibleClassChangeError" in capsys.readouterr().err


# ---- change data capture -------------------------------------------------------------------------------------------

LOGIN = "'hostname' = 'db.intern', 'port' = '3306', 'username' = 'u-ser', 'password' = 'pass-word', "
NAMES = "'database-name' = 'shop', 'table-name' = 'orders'"
PLACES = {  # connector: options that name its table, the topic
    "mysql-cdc": (NAMES, "shop.orders"),
    "oceanbase-cdc": (NAMES, "shop.orders"),
    "postgres-cdc": (f"{NAMES}, 'schema-name' = 'public', 'slot.name' = 's'", "public.orders"),
    "oracle-cdc": ("'database-name' = 'XE', 'schema-name' = 'SHOP', 'table-name' = 'ORDERS'", "SHOP.ORDERS"),
    "sqlserver-cdc": ("'database-name' = 'shop', 'table-name' = 'dbo.orders'", "shop.dbo.orders"),
    "db2-cdc": ("'database-name' = 'shop', 'table-name' = 'APP.ORDERS'", "APP.ORDERS"),
    "vitess-cdc": ("'keyspace' = 'commerce', 'table-name' = 'orders'", "commerce.orders"),
    "tidb-cdc": (f"'pd-addresses' = 'localhost:2379', {NAMES}", None),
    "mongodb-cdc": ("'hosts' = 'db.intern:27017', 'database' = 'shop', 'collection' = 'orders'", "shop.orders"),
}
COLUMNS = """
  `_id` STRING,
  `a``b` DECIMAL(10, 2) COMMENT 'it''s',
  tags ARRAY<STRING>,
  price ROW<amount DECIMAL(10, 2), currency STRING>,
  tbl STRING NOT NULL METADATA FROM 'table_name' VIRTUAL,
  `database_name` STRING METADATA,
  op_ts TIMESTAMP_LTZ(3) NOT NULL METADATA VIRTUAL,
  kind STRING METADATA FROM 'row_kind' VIRTUAL,
  twice AS `_id` || 'x',
  gone AS kind = '-D',
  day_ DATE,
  WATERMARK FOR op_ts AS op_ts - INTERVAL '5' SECOND,
  PRIMARY KEY (`_id`) NOT ENFORCED
"""


def cdc(connector: str, columns: str = COLUMNS, options: str | None = None) -> str:
    options = PLACES[connector][0] if options is None else options
    return f"CREATE TABLE orders ({columns}) WITH ('connector' = '{connector}', {LOGIN}{options});\n"


def proposed(connector: str, columns: str = COLUMNS, options: str | None = None) -> str:
    """The statement that the help holds."""
    found = the_one(cdc(connector, columns, options) + "SELECT * FROM orders;")
    first, _, text = (found.help or "").partition("\n")
    assert first.endswith("and declare:")
    return text


def declared(text: str) -> Table:
    """The table of a script that is right, and whose table can be read."""
    compiled = compile_script(SourceText("job.sql", f"{text}\nSELECT * FROM orders;"))
    assert [d for d in compiled.diagnostics if d.severity != "note"] == []
    found = compiled.catalog.find(("orders",))
    assert isinstance(found, Table)
    return found


def test_every_cdc_connector_has_a_table() -> None:
    assert set(PLACES) == {name for name, _ in CONNECTORS if name.endswith("-cdc")}
    assert all(elsewhere.capture(name) for name in PLACES)


@pytest.mark.parametrize("connector", PLACES)
def test_the_table_for_it_is_right_and_the_same(connector: str) -> None:
    text = proposed(connector)
    table = declared(text)
    of_source = compile_script(SourceText("job.sql", cdc(connector))).catalog.find(("orders",))
    assert isinstance(of_source, Table)
    assert [(c.name, c.type, c.comment) for c in table.physical] == [
        (c.name, c.type, c.comment) for c in of_source.physical
    ]
    assert table.primary_key is not None
    assert table.primary_key.columns == ("_id",)
    lost = {c.name for c in of_source.columns} - {c.name for c in table.columns}
    said = {name for line in text.splitlines() if "left out" in line for name in re.findall(r"`(\w+)`", line)}
    assert lost == said
    assert {"kind", "gone"} <= lost
    topic = PLACES[connector][1]
    assert table.options["topic"].value == (f"<topic.prefix>.{topic}" if topic else "<topic>")
    assert table.options["properties.bootstrap.servers"].value == "<host>:9092"


@pytest.mark.parametrize("connector", PLACES)
def test_no_secret_and_no_address_of_the_database_is_repeated(connector: str) -> None:
    found = the_one(cdc(connector) + "SELECT * FROM orders;")
    assert not re.search("u-ser|pass-word|db[.]intern", f"{found.message}{found.help}")


MYSQL = """\
CREATE TABLE orders (
  -- `kind` is left out: 'debezium-json' has no 'row_kind'
  -- `gone` is left out: it is computed of what is
  -- Debezium has its own forms of dates and times: let a converter write `day_` as text that 'debezium-json' reads, such as 2026-01-31 10:00:00
  `_id` STRING NOT NULL,
  `a``b` DECIMAL(10, 2) COMMENT 'it''s',
  `tags` ARRAY<STRING>,
  `price` ROW<`amount` DECIMAL(10, 2), `currency` STRING>,
  `tbl` STRING NOT NULL METADATA FROM 'value.source.table' VIRTUAL,
  `database_name` STRING METADATA FROM 'value.source.database' VIRTUAL,
  `op_ts` TIMESTAMP_LTZ(3) NOT NULL METADATA FROM 'value.source.timestamp' VIRTUAL,
  `twice` AS `_id` || 'x',
  `day_` DATE,
  WATERMARK FOR `op_ts` AS `op_ts` - INTERVAL '5' SECOND,
  PRIMARY KEY (`_id`) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = '<topic.prefix>.shop.orders',
  'properties.bootstrap.servers' = '<host>:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'debezium-json'
);"""  # fmt: skip


def test_the_whole_text() -> None:
    found = the_one(cdc("mysql-cdc") + "SELECT * FROM orders;")
    does = "let Debezium's MySQL connector write the changes to Kafka (value.converter.schemas.enable=false, decimal.handling.mode=string), and declare:"
    assert (found.help or "").split("\n", 1) == [does, MYSQL]


KEYS = "id INT, PRIMARY KEY (id) NOT ENFORCED"
TABLE = {
    "table_name": "value.source.table",
    "database_name": "value.source.database",
    "op_ts": "value.source.timestamp",
}
SCHEMA = {**TABLE, "schema_name": "value.source.schema"}
# connector, metadata key -> the key that is read instead (None: none, and that is said); keys: Flink CDC's ReadableMetadata
METADATA = [
    ("mysql-cdc", {**TABLE, "row_kind": None}),
    ("postgres-cdc", {**SCHEMA, "row_kind": None}),
    ("oracle-cdc", SCHEMA),
    ("sqlserver-cdc", SCHEMA),
    ("db2-cdc", SCHEMA),
    ("oceanbase-cdc", {**TABLE, "row_kind": None, "tenant_name": None}),
    ("tidb-cdc", {"table_name": "value.table", "database_name": "value.database", "op_ts": "value.event-timestamp"}),
    ("mongodb-cdc", {"collection_name": None, "database_name": None, "op_ts": None, "row_kind": None}),
]


@pytest.mark.parametrize(("connector", "keys"), METADATA, ids=[c for c, _ in METADATA])
def test_metadata(connector: str, keys: dict[str, str | None]) -> None:
    types = {key: "TIMESTAMP_LTZ(3)" if key == "op_ts" else "STRING" for key in keys}
    columns = ", ".join(f"m_{key} {types[key]} NOT NULL METADATA FROM '{key}' VIRTUAL" for key in keys)
    text = proposed(connector, f"{columns}, {KEYS}")
    read = {c.name.removeprefix("m_"): c.metadata_key for c in declared(text).columns if c.kind == "metadata"}
    assert read == {key: new for key, new in keys.items() if new is not None}
    for key in (key for key, new in keys.items() if new is None):
        assert re.search(rf"-- `m_{key}` is left out: '[a-z-]+' has no '{key}'", text)


# connector, options, the option that says where the table is
TOPICS = [
    ("mysql-cdc", "'database-name' = 'shop', 'table-name' = 'order$s ü'", ("topic", "<topic.prefix>.shop.order_s__")),
    ("mysql-cdc", "'database-name' = 'db.1', 'table-name' = '^orders_[0-9]+$'", ("topic-pattern", r"<topic.prefix>\.db\.1\.orders_[0-9]+")),
    ("mysql-cdc", "'database-name' = 'a|b', 'table-name' = '.*'", ("topic-pattern", r"<topic.prefix>\.(?:a|b)\..*")),
    ("mysql-cdc", "'database-name' = '(^(test).*|^tpc|a[^b])', 'table-name' = '(?:t$|u$)|v$'", ("topic-pattern", r"<topic.prefix>\.(?:((test).*|tpc|a[^b]))\.(?:(?:t|u)|v)")),
    ("mysql-cdc", "'table-name' = 'orders'", ("topic", "<topic.prefix>.<database>.orders")),
    ("postgres-cdc", "'database-name' = 'd', 'table-name' = 'orders'", ("topic", "<topic.prefix>.<schema>.orders")),
    ("sqlserver-cdc", "'database-name' = 'd', 'table-name' = 'orders'", ("topic", "<topic.prefix>.d.<schema>.orders")),
    ("sqlserver-cdc", "'database-name' = 'd', 'schema-name' = 'dbo', 'table-name' = 'orders'", ("topic", "<topic.prefix>.d.dbo.orders")),
    ("mongodb-cdc", "'collection' = 'shop.orders'", ("topic", "<topic.prefix>.shop.orders")),
    ("mongodb-cdc", "'database' = 'shop'", ("topic", "<topic.prefix>.shop.<collection>")),
]  # fmt: skip


@pytest.mark.parametrize(("connector", "options", "topic"), TOPICS)
def test_topic(connector: str, options: str, topic: tuple[str, str]) -> None:
    given = declared(proposed(connector, KEYS, options)).options
    assert {key: text.value for key, text in given.items() if key.startswith("topic")} == dict([topic])


# the CDC table's option, those of the new one, and whether something is to be said of it
STARTS = [
    ("", {"scan.startup.mode": "earliest-offset"}, False),
    (", 'scan.startup.mode' = 'initial'", {"scan.startup.mode": "earliest-offset"}, False),
    (", 'scan.startup.mode' = 'latest-offset'", {"scan.startup.mode": "latest-offset"}, False),
    (
        ", 'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '1667232000000'",
        {"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "1667232000000"},
        False,
    ),
    (", 'scan.startup.mode' = 'specific-offset'", {"scan.startup.mode": "earliest-offset"}, True),
    (", 'scan.startup.mode' = 'snapshot'", {"scan.startup.mode": "earliest-offset"}, True),
]


@pytest.mark.parametrize(("option", "start", "said"), STARTS)
def test_start(option: str, start: dict[str, str], said: bool) -> None:
    text = proposed("mysql-cdc", KEYS, NAMES + option)
    assert {k: v.value for k, v in declared(text).options.items() if k.startswith("scan.")} == start
    assert ("has no equal" in text) is said


# id: connector, words that its help has
WORDS = {
    "TiCDC picks the table out of its topic": ("tidb-cdc", "let TiCDC write the changes to Kafka (protocol=canal-json)", "'canal-json.database.include' = 'shop',\n  'canal-json.table.include' = 'orders'"),
    "documents are unwrapped, their key is called _id": ("mongodb-cdc", "ExtractNewDocumentState", "transforms.key.renames=id:_id", "'connector' = 'upsert-kafka'", "the WATERMARK is left out"),
    "PostgreSQL's old rows": ("postgres-cdc", "REPLICA IDENTITY FULL"),
    "Oracle's names": ("oracle-cdc", "upper case"),
}  # fmt: skip


@pytest.mark.parametrize("case", WORDS.values(), ids=WORDS)
def test_what_else_to_mind(case: tuple[str, ...]) -> None:
    connector, *words = case
    text = the_one(cdc(connector) + "SELECT * FROM orders;").help or ""
    assert [w for w in words if w not in text] == []


@pytest.mark.parametrize(
    ("watermark", "kept"), [("made AS made", True), ("made AS op_ts", False), ("op_ts AS made", False)]
)
def test_a_watermark_needs_its_columns(watermark: str, kept: bool) -> None:
    columns = f"made TIMESTAMP_LTZ(3), op_ts TIMESTAMP_LTZ(3) METADATA VIRTUAL, WATERMARK FOR {watermark}, {KEYS}"
    text = proposed("mongodb-cdc", columns)
    assert (declared(text).watermark is not None) is kept
    assert ("the WATERMARK is left out" in text) is not kept


def test_names_comments_and_temporary_stay() -> None:
    script = f"CREATE DATABASE d;\nCREATE TEMPORARY TABLE d.`or ders` ({KEYS}) COMMENT 'a ''b''' WITH ('connector' = 'mysql-cdc', {NAMES});\nSELECT * FROM d.`or ders`;"
    text = the_one(script).help or ""
    assert "\nCREATE TEMPORARY TABLE d.`or ders` (\n" in text
    assert "\n) COMMENT 'a ''b''' WITH (\n" in text


def test_a_renamed_table_has_its_new_name() -> None:
    text = the_one(f"{cdc('mysql-cdc', KEYS)}ALTER TABLE orders RENAME TO sales;\nSELECT * FROM sales;").help or ""
    assert "CREATE TABLE `default_catalog`.`default_database`.`sales` (" in text


def test_a_table_like_another_is_a_table_of_its_own() -> None:
    script = f"{cdc('mysql-cdc', KEYS)}CREATE TABLE more (x INT) WITH ('table-name' = 'more') LIKE orders;\nSELECT orders.id FROM orders JOIN more ON orders.id = more.id;"
    found = told(script)
    assert [d.code for d in found] == ["FD203", "FD203"]
    assert ["more (" in (d.help or "") for d in found] == [False, True]


def test_a_hint_makes_no_second_finding() -> None:
    use = "SELECT id FROM orders"
    assert the_one(f"{cdc('mysql-cdc', KEYS)}{use};\n{use} /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */;")


def test_the_statement_stands_without_a_margin() -> None:
    lines = render_text([the_one(cdc("mysql-cdc", KEYS) + "SELECT * FROM orders;")]).splitlines()
    assert lines[0].startswith("job.sql:1:")
    assert lines[2].startswith("      |")
    assert lines[2].endswith("and declare:")
    assert lines[3] == "        CREATE TABLE orders ("
    assert lines[-1] == "        );"


def test_an_assessment_has_a_line_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.sql").write_text(cdc("mysql-cdc", KEYS) + "SELECT * FROM orders;", encoding="utf-8")
    main(["assess", str(tmp_path)])
    said = capsys.readouterr().out
    assert "and declare: ...\n" in said
    assert "CREATE TABLE" not in said


def test_a_package_may_bring_a_connector_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "_others", lambda: {"iceberg": ("some.package",)})
    assert elsewhere.connector("iceberg") is None
    assert elsewhere.connector("hudi") is not None


def test_what_a_job_uses_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its use has said what there is to say; of the others each is looked at in both roles."""
    looked: list[str] = []
    before = mistaken.use_table
    kafka = "'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = 'b:1', 'topic' = 't'"
    names = ("read", "written", "told", "other")
    tables = "".join(f"CREATE TABLE {name}_ (a INT) WITH ({kafka});" for name in names)
    script = f"{tables} INSERT INTO written_ SELECT a FROM read_; EXPLAIN SELECT a FROM told_;"
    compiled = compile_script(SourceText("<t>", script))

    def seen(table: Table, *rest: Any) -> Any:
        looked.append(table.path.name)
        return before(table, *rest)

    monkeypatch.setattr(mistaken, "use_table", seen)
    assert not list(unused(compiled))
    assert looked == ["other_", "other_"]
