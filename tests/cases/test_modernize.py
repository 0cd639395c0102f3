# ruff: noqa: E501 (tables read better as one line a case)
"""`flinkddl modernize`: old tables and their new texts, and whole scripts in the shape of those that lie about."""

from __future__ import annotations

from pathlib import Path

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.dialect.tokens import lex
from flinkddl.script.compile import compile_script
from flinkddl.script.modernize import modernize
from flinkddl.script.unused import unused
from tests.oracle.old_style import digest, kept, today

SCRIPTS = sorted((Path(__file__).parent / "old_style").glob("*.sql"))
K = "'connector.type' = 'kafka', 'connector.topic' = 't', 'connector.properties.group.id' = 'g'"
N = "'connector' = 'kafka', 'topic' = 't', 'properties.group.id' = 'g'"
ISO = "'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'"
BOUNDED = "'schema.1.rowtime.watermarks.type' = 'periodic-bounded', 'schema.1.rowtime.watermarks.delay'"
OF_FIELD = "'schema.1.rowtime.timestamps.type' = 'from-field', 'schema.1.rowtime.timestamps.from'"
AVRO = "'format.type' = 'avro', 'format.avro-schema' = '{\"type\": \"record\", \"fields\": [%s]}'"

# name -> old text, new text
CASES: dict[str, tuple[str, str]] = {
    "in one line": (
        f"CREATE TABLE a (x INT) WITH ({K}, 'connector.version' = '0.11', 'format.type' = 'csv', 'update-mode' = 'append');",
        f"CREATE TABLE a (x INT) WITH ({N}, 'format' = 'csv');",
    ),
    "the first goes": (
        f"CREATE TABLE a (x INT) WITH ('update-mode' = 'append', {K}, 'format.type' = 'csv');",
        f"CREATE TABLE a (x INT) WITH ({N}, 'format' = 'csv');",
    ),
    "comments stay": (
        "CREATE TABLE a (x INT) WITH (\n"
        "  -- where\n  'connector.type' = 'kafka', -- here\n  'connector.version' = '0.11', -- old\n"
        "  'connector.topic' = 't', /* which */\n  'format.type' = 'json' -- how\n  , 'update-mode' = 'append' -- what\n);",
        "CREATE TABLE a (x INT) WITH (\n"
        "  -- where\n  'connector' = 'kafka', -- here\n  -- old\n"
        "  'topic' = 't', /* which */\n  'format' = 'json' -- how\n  -- what\n);",
    ),
    "commas lead": (
        "CREATE TABLE a (t TIMESTAMP(3)) WITH (\n  'connector.version' = '0.11'\n  ,'connector.type' = 'kafka'\n"
        "  ,'format.type' = 'json' -- how\n  ,'connector.topic' = 't'\n  ,'update-mode' = 'append'\n);",
        "CREATE TABLE a (t TIMESTAMP_LTZ(3)) WITH (\n  'connector' = 'kafka'\n"
        "  ,'format' = 'json' -- how\n  ,'json.timestamp-format.standard' = 'ISO-8601'\n  ,'topic' = 't'\n);",
    ),
    "one more at the end": (
        f"CREATE TABLE a (t TIMESTAMP(3)) WITH (\n  {K},\n  'format.type' = 'json' -- how\n);",
        f"CREATE TABLE a (t TIMESTAMP_LTZ(3)) WITH (\n  {N},\n  'format' = 'json', -- how\n"
        "  'json.timestamp-format.standard' = 'ISO-8601'\n);",
    ),
    "timestamps inside": (
        f"CREATE TABLE a (r ROW<t TIMESTAMP WITHOUT TIME ZONE, `timestamp` INT>, l TIMESTAMP_LTZ(3)) WITH ({K}, 'format.type' = 'json');",
        f"CREATE TABLE a (r ROW<t TIMESTAMP_LTZ, `timestamp` INT>, l TIMESTAMP_LTZ(3)) WITH ({N}, {ISO});",
    ),
    "a rowtime": (
        f"CREATE TABLE a (x INT, t TIMESTAMP) WITH ({K}, 'format.type' = 'csv', {OF_FIELD} = 't', {BOUNDED} = '90000');",
        f"CREATE TABLE a (x INT, t TIMESTAMP(3), WATERMARK FOR t AS t - INTERVAL '90' SECOND) WITH ({N}, 'format' = 'csv');",
    ),
    "a rowtime of another field": (
        f"CREATE TABLE a (x INT, t TIMESTAMP(3)) WITH ({K}, 'format.type' = 'csv', {OF_FIELD} = 'at', {BOUNDED} = '1500');",
        "CREATE TABLE a (x INT, `at` TIMESTAMP(3),\nt AS `at`, WATERMARK FOR t AS t - INTERVAL '1.500' SECOND) "
        f"WITH ({N}, 'format' = 'csv');",
    ),
    "a rowtime of a column that counts": (
        f"CREATE TABLE a (ms BIGINT, t TIMESTAMP(3)) WITH ({K}, 'format.type' = 'csv', {OF_FIELD} = 'ms', {BOUNDED} = '0');",
        "CREATE TABLE a (ms BIGINT, t AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR t AS t - INTERVAL '0' SECOND) "
        f"WITH ({N}, 'format' = 'csv');",
    ),
    "a rowtime of the record": (
        f"CREATE TABLE a (x INT, t TIMESTAMP(3)) WITH ({K}, 'schema.1.rowtime.timestamps.type' = 'from-source', "
        "'schema.1.rowtime.watermarks.type' = 'periodic-ascending', 'format.type' = 'json');",
        "CREATE TABLE a (x INT, t TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, "
        f"WATERMARK FOR t AS t - INTERVAL '0.001' SECOND) WITH ({N}, 'format' = 'json');",
    ),
    "a processing time": (
        f"CREATE TABLE a (x INT, pt TIMESTAMP(3) COMMENT 'now') WITH ({K}, 'schema.1.proctime' = 'true', 'format.type' = 'json');",
        f"CREATE TABLE a (x INT, pt AS PROCTIME() COMMENT 'now') WITH ({N}, 'format' = 'json');",
    ),
    "a name in the records": (
        f"CREATE TABLE a (\n  x INT\n) WITH ({K}, 'schema.0.from' = 'X', 'format.type' = 'json');",
        f"CREATE TABLE a (\n  X INT,\n  x AS X\n) WITH ({N}, 'format' = 'json');",
    ),
    "columns in the clause": (
        f"CREATE TABLE a WITH ({K}, 'format.type' = 'csv', 'schema.0.name' = 'x', 'schema.0.type' = 'LONG', "
        "'schema.1.name' = 'user', 'schema.1.data-type' = 'VARCHAR(5)', 'schema.2.name' = 'p', "
        "'schema.2.type' = 'TIMESTAMP', 'schema.2.proctime' = 'true');",
        f"CREATE TABLE a (\n  x BIGINT,\n  `user` VARCHAR(5),\n  p AS PROCTIME()\n) WITH ({N}, 'format' = 'csv');",
    ),
    "the fields of lines": (
        f"CREATE TABLE a (x INT, y STRING) WITH ({K}, 'format.type' = 'csv', 'format.fields.0.name' = 'x', "
        "'format.fields.0.type' = 'INT', 'format.fields.1.name' = 'y', 'format.fields.1.data-type' = 'STRING');",
        f"CREATE TABLE a (x INT, y STRING) WITH ({N}, 'format' = 'csv');",
    ),
    "a schema of JSON": (
        f"CREATE TABLE a (x INT) WITH ({K}, 'format.type' = 'json', 'format.json-schema' = '{{\"properties\": {{\"y\": 1, \"x\": 1}}}}');",
        f"CREATE TABLE a (x INT) WITH ({N}, 'format' = 'json');",
    ),
    "a schema of a row": (
        f"CREATE TABLE a (x INT, r ROW<b INT>) WITH ({K}, 'format.type' = 'csv', 'format.schema' = 'ROW<x INT, r ROW<b INT, c INT>>');",
        f"CREATE TABLE a (x INT, r ROW<b INT>) WITH ({N}, 'format' = 'csv');",
    ),
    "a schema of Avro": (
        f"CREATE TABLE a (x INT, y STRING) WITH ({K}, " +
        AVRO % '{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "string"]}' + ");",
        f"CREATE TABLE a (x INT NOT NULL, y STRING) WITH ({N}, 'format' = 'avro');",
    ),
    "keys": (
        "CREATE TABLE a (x INT PRIMARY KEY) WITH ('connector' = 'print');\n"
        "CREATE TABLE b (x INT, CONSTRAINT c PRIMARY KEY (x) ENFORCED) WITH ('connector' = 'print');",
        "CREATE TABLE a (x INT PRIMARY KEY NOT ENFORCED) WITH ('connector' = 'print');\n"
        "CREATE TABLE b (x INT, CONSTRAINT c PRIMARY KEY (x) NOT ENFORCED) WITH ('connector' = 'print');",
    ),
    "the key of the query": (
        f"CREATE TABLE a (x INT, y STRING) WITH ({K}, 'connector.properties.bootstrap.servers' = 'b:1', 'format.type' = 'csv');\n"
        "CREATE TABLE s (\n  n BIGINT, -- how many\n  y STRING\n) WITH ('connector.type' = 'jdbc', 'connector.url' = 'u', 'connector.table' = 's');\n"
        "INSERT INTO s (y, n) SELECT y, COUNT(*) FROM a GROUP BY y;",
        f"CREATE TABLE a (x INT, y STRING) WITH ({N}, 'properties.bootstrap.servers' = 'b:1', 'format' = 'csv');\n"
        "CREATE TABLE s (\n  n BIGINT, -- how many\n  y STRING,\n  PRIMARY KEY (y) NOT ENFORCED\n) WITH ('connector' = 'jdbc', 'url' = 'u', 'table-name' = 's');\n"
        "INSERT INTO s (y, n) SELECT y, COUNT(*) FROM a GROUP BY y;",
    ),
    "no key where nothing is updated": (
        "CREATE TABLE a (x INT) WITH ('connector' = 'datagen');\n"
        "CREATE TABLE s (x INT) WITH ('connector.type' = 'jdbc', 'connector.url' = 'u', 'connector.table' = 's');\nINSERT INTO s SELECT x FROM a;",
        "CREATE TABLE a (x INT) WITH ('connector' = 'datagen');\n"
        "CREATE TABLE s (x INT) WITH ('connector' = 'jdbc', 'url' = 'u', 'table-name' = 's');\nINSERT INTO s SELECT x FROM a;",
    ),
    "a table like an old one": (
        f"CREATE TABLE d.a (x INT) WITH ({K}, 'format.type' = 'csv', 'connector.startup-mode' = 'group-offsets');\n"
        "CREATE TABLE d.b WITH ('connector.topic' = 'u', 'connector.properties.group.id' = 'h', 'format.field-delimiter' = ';') LIKE d.a;",
        f"CREATE TABLE d.a (x INT) WITH ({N}, 'format' = 'csv', 'scan.startup.mode' = 'group-offsets');\n"
        "CREATE TABLE d.b WITH ('topic' = 'u', 'properties.group.id' = 'h', 'csv.field-delimiter' = ';') LIKE d.a;",
    ),
    "options laid over a table": (
        f"CREATE TABLE a (x INT) WITH ({K}, 'connector.properties.0.key' = 'bootstrap.servers', 'connector.properties.0.value' = 'b:1');\n"
        "ALTER TABLE a SET (\n  'update-mode' = 'append', -- old\n  'connector.properties.0.value' = 'c:1'\n);\n"
        "SELECT x FROM a /*+ OPTIONS('connector.startup-mode' = 'earliest-offset', 'connector.version' = '0.11') */;",
        f"CREATE TABLE a (x INT) WITH ({N}, 'properties.bootstrap.servers' = 'b:1');\n"
        "ALTER TABLE a SET (\n  -- old\n  'properties.bootstrap.servers' = 'c:1'\n);\n"
        "SELECT x FROM a /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */;",
    ),
    "options laid over a table, and nothing left of them": (
        f"CREATE TABLE a (x INT) WITH ({K}, 'format.type' = 'csv');\n"
        "ALTER TABLE a SET (/* why */ 'update-mode' = 'append'); -- nothing\nSELECT 1;\n"
        "SELECT x FROM a /*+ OPTIONS('update-mode' = 'append') */ AS b;\n"
        "SELECT x FROM a /*+ OPTIONS('update-mode' = 'append'), OTHER(a) */, (SELECT 1 FROM a /*+ OTHER(a), OPTIONS('connector.version' = '0') */);",
        f"CREATE TABLE a (x INT) WITH ({N}, 'format' = 'csv');\n"
        "/* why */ -- nothing\nSELECT 1;\nSELECT x FROM a AS b;\n"
        "SELECT x FROM a /*+ OTHER(a) */, (SELECT 1 FROM a /*+ OTHER(a) */);",
    ),
    "a group of options that stands in a hint": (
        f"CREATE TABLE d.a (x INT) WITH ({K}, 'connector.startup-mode' = 'latest-offset');\nUSE d;\n"
        "SELECT x FROM a /*+ OPTIONS('connector.startup-mode' = 'specific-offsets',\n  'connector.specific-offsets.0.partition' = '0',\n"
        "  'connector.specific-offsets.0.offset' = '42') */;",
        f"CREATE TABLE d.a (x INT) WITH ({N}, 'scan.startup.mode' = 'latest-offset');\nUSE d;\n"
        "SELECT x FROM a /*+ OPTIONS('scan.startup.mode' = 'specific-offsets',\n"
        "  'scan.startup.specific-offsets' = 'partition:0,offset:42'\n  ) */;",
    ),
    "a change that takes another option with it": (
        "CREATE TABLE a (x INT) WITH ('connector.type' = 'kafka', 'connector.topic' = 't');\n"
        "ALTER TABLE a SET ('connector.properties.group.id' = 'g');\nSELECT x FROM a;",
        "CREATE TABLE a (x INT) WITH ('connector' = 'kafka', 'topic' = 't', 'scan.startup.mode' = 'latest-offset');\n"
        "ALTER TABLE a SET ('properties.group.id' = 'g', 'scan.startup.mode' = 'group-offsets');\nSELECT x FROM a;",
    ),
    "old options over a table of today": (
        "CREATE TABLE a (x INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'csv');\nALTER TABLE a RENAME TO b;\n"
        "ALTER TABLE b SET ('connector.topic' = 'u', 'format.field-delimiter' = ';');",
        "CREATE TABLE a (x INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'csv');\nALTER TABLE a RENAME TO b;\n"
        "ALTER TABLE b SET ('topic' = 'u', 'csv.field-delimiter' = ';');",
    ),
    "a table that the script does not create": (
        "ALTER TABLE hive.d.t SET ('connector.type' = 'filesystem', 'connector.path' = '/x');",
        "ALTER TABLE hive.d.t SET ('connector' = 'filesystem', 'path' = '/x');",
    ),
    "words that are reserved now": (
        "CREATE TABLE stream (views INT, `date` INT) WITH ('connector' = 'datagen');\nSELECT s.views FROM stream AS s;",
        "CREATE TABLE `stream` (`views` INT, `date` INT) WITH ('connector' = 'datagen');\nSELECT s.`views` FROM `stream` AS s;",
    ),
    "variables": (
        "CREATE TABLE a (x INT) WITH ('connector.type' = 'kafka', 'connector.topic' = '${T}', 'connector.properties.0.value' = "
        "'${S:-h:1}', 'connector.properties.0.key' = 'bootstrap.servers', 'format.type' = 'json');",
        "CREATE TABLE a (x INT) WITH ('connector' = 'kafka', 'topic' = '${T}', 'properties.bootstrap.servers' = '${S:-h:1}', 'format' = 'json');",
    ),
    "nothing to do": (
        "-- new\nCREATE TABLE a (t TIMESTAMP(3)) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json');",
        "-- new\nCREATE TABLE a (t TIMESTAMP(3)) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json');",
    ),
}  # fmt: skip

# name -> a table, what is said of it: code and the text at its place
TOLD: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "a class for the time": (
        f"CREATE TABLE a (t TIMESTAMP(3)) WITH ({K}, 'format.type' = 'csv', 'schema.0.rowtime.watermarks.type' = 'custom');",
        [("FD673", "'schema.0.rowtime.watermarks.type'")],
    ),
    "a second watermark": (
        f"CREATE TABLE a (x INT, t TIMESTAMP(3), WATERMARK FOR t AS t) WITH ({K}, 'format.type' = 'csv', {BOUNDED} = '1');",
        [("FD673", "'schema.1.rowtime.watermarks.type'"), ("FD673", "'schema.1.rowtime.watermarks.delay'")],
    ),
    "no such column": (
        f"CREATE TABLE a (x INT) WITH ({K}, 'format.type' = 'csv', 'schema.3.proctime' = 'true');",
        [("FD673", "'schema.3.proctime'")],
    ),
    "lines of other fields": (
        f"CREATE TABLE a (x INT, y INT) WITH ({K}, 'format.type' = 'csv', 'format.fields.0.name' = 'y', 'format.fields.1.name' = 'x');",
        [("FD673", "'format.fields.0.name'"), ("FD673", "'format.fields.1.name'")],
    ),
    "a schema of JSON that lacks a column": (
        f"CREATE TABLE a (x INT) WITH ({K}, 'format.type' = 'json', 'format.json-schema' = '{{\"properties\": {{\"y\": 1}}}}');",
        [("FD673", "'format.json-schema'")],
    ),
    "a schema of Avro with null behind": (
        f"CREATE TABLE a (x INT) WITH ({K}, " + AVRO % '{"name": "x", "type": ["int", "null"]}' + ");",
        [("FD673", "'format.avro-schema'")],
    ),
    "a schema of Avro of another type": (
        f"CREATE TABLE a (x INT) WITH ({K}, " + AVRO % '{"name": "x", "type": "long"}' + ");",
        [("FD673", "'format.avro-schema'")],
    ),
    "times of JSON": (
        f"CREATE TABLE a (t TIMESTAMP(3)) WITH ({K}, 'format.type' = 'json');", [("FD674", "'format.type'")]
    ),
    "times without a date": (
        f"CREATE TABLE a (t TIME, u ROW<v TIME>) WITH ({K}, 'format.type' = 'json');", [("FD674", "'format.type'")]
    ),
    "the end of lines": (
        f"CREATE TABLE a (x INT) WITH ({K}, 'format.type' = 'csv', 'format.line-delimiter' = U&'\\000A');",
        [("FD674", "'format.line-delimiter'")],
    ),
    "no connector": (
        "CREATE TABLE b (x INT) WITH ('connector.topic' = 'u', 'format.field-delimiter' = ';');",
        [("FD673", "'connector.topic'")],
    ),
    "another connector": (
        f"CREATE TABLE a (x INT) WITH ({K});\nALTER TABLE a SET ('connector.type' = 'jdbc', 'connector.url' = 'u');",
        [("FD673", "'connector.type'"), ("FD673", "'connector.url'")],
    ),
    "another format": (
        f"CREATE TABLE a (x INT) WITH ({K}, 'format.type' = 'csv');\nSELECT x FROM a /*+ OPTIONS('format.type' = 'json') */;",
        [("FD673", "'format.type'")],
    ),
    "columns of a change": (
        f"CREATE TABLE a (x INT) WITH ({K});\nALTER TABLE a SET ('schema.0.from' = 'X');", [("FD673", "'schema.0.from'")]
    ),
    "a change that takes out an option": (
        "CREATE TABLE a (x INT) WITH ('connector.type' = 'kafka', 'connector.topic' = 't', 'connector.properties.0.key' = 'k', "
        "'connector.properties.0.value' = 'v');\nALTER TABLE a SET ('connector.properties.0.key' = 'l');",
        [("FD673", "'connector.properties.0.key'")],
    ),
    "old options over a table that is not there": (
        "SELECT x FROM a /*+ OPTIONS('connector.topic' = 'u') */;", [("FD673", "'connector.topic'")]
    ),
    "options that are reset": (
        f"CREATE TABLE a (x INT) WITH ({K});\nALTER TABLE a RESET ('connector.startup-mode', 'update-mode');",
        [("FD673", "'connector.startup-mode'")],
    ),
    "options of a variable": (
        "CREATE TABLE a (x INT) WITH ('connector.type' = 'kafka', ${SURELY_UNKNOWN:-'format.type' = 'json'});",
        [("FD673", "${SURELY_UNKNOWN:-'format.type' = 'json'}")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_table_of_today(name: str) -> None:
    old, new = CASES[name]
    crlf = (old.replace("\n", "\r\n"), new.replace("\n", "\r\n"))
    for text, meant in ((old, new), crlf if "\n" in old else (old, new), (new, new)):
        modern = modernize(SourceText("x.sql", text))
        assert modern.text == meant
        assert [d for d in modern.diagnostics if d.severity == "error"] == []


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told(name: str) -> None:
    text, told = TOLD[name]
    modern = modernize(SourceText("x.sql", text))
    assert [(d.code, d.span.text) for d in modern.diagnostics if d.span] == told
    for code, place in told:
        assert (place in modern.text) is (code == "FD673" or place == "'connector.type'")


def test_a_script_that_does_not_parse_is_left() -> None:
    with pytest.raises(FlinkDdlError, match="FD101"):
        modernize(SourceText("x.sql", "CRATE TABLE t (x INT) WITH ('connector.type' = 'kafka');"))


def test_there_are_forty() -> None:
    assert len(SCRIPTS) >= 40


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_a_script_runs_once_it_is_modern(path: Path) -> None:
    old = path.read_bytes().decode()
    modern = modernize(SourceText(path.name, old))
    before = compile_script(SourceText(path.name, old)).diagnostics
    after = compile_script(SourceText(path.name, modern.text)).diagnostics
    assert {d.code for d in before if d.severity == "error"} & {"FD203", "FD306"}
    assert [d for d in modern.diagnostics if d.severity == "error"] == []
    assert [d for d in after if d.severity == "error"] == []
    assert {d.code for d in after} <= {"FD225"}, after
    assert modernize(SourceText(path.name, modern.text)).text == modern.text
    assert comments(modern.text) == comments(old)
    assert "\r\n" not in modern.text or "\r\n" in old


def test_flink_takes_every_script_once_it_is_modern() -> None:
    """The verdicts are of these very texts; where one changes: ``python -m tests.oracle.old_style``."""
    verdicts = {line["script"]: line for line in kept()}
    assert list(verdicts) == [path.name for path in SCRIPTS]
    for path in SCRIPTS:
        assert verdicts[path.name]["sha256"] == digest(today(path)), path.name
    assert {line["script"]: line["refused"] for line in verdicts.values() if line["taken"] is None} == {}


def test_check_says_one_thing_of_each_table() -> None:
    text = (Path(__file__).parent / "old_style" / "01_visits_per_hour_to_mysql.sql").read_text(encoding="utf-8")
    compiled = compile_script(SourceText("x.sql", text))
    found = [d for d in (*compiled.diagnostics, *unused(compiled)) if d.severity == "error" or d.code == "FD203"]
    assert [(d.code, d.message) for d in found] == [
        ("FD203", f"options of table '{t}' in the style 'connector.type' are no longer read")
        for t in ("visits", "visits_per_hour")
    ]
    assert "TIMESTAMP columns are TIMESTAMP_LTZ" in (found[0].help or "")
    modern = modernize(SourceText("x.sql", text)).text
    for d in found:
        options = (d.help or "").partition("write WITH (")[2].partition(")")[0].split(", ")
        assert len(options) > 5
        assert all(option in modern for option in options if "******" not in option)


def comments(text: str) -> list[str]:
    return [text[start:end].rstrip() for start, end in lex(text).comments]
