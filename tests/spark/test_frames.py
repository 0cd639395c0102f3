"""Tables, views and queries as frames: what mode they take, what their columns are, what they never do."""

from __future__ import annotations

import json

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.script.compile import compile_script
from flinkddl.script.views import print_views, views_of_jobs
from flinkddl.spark import job as J
from flinkddl.spark.frames import frame_of

KAFKA = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b:1', 'properties.group.id' = 'g'"
JSON = f"{KAFKA}, 'format' = 'json'"
UPSERT = (
    "'connector' = 'upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', "
    "'value.format' = 'json'"
)
DDL = f"""
CREATE TABLE orders (id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ({JSON});
CREATE TABLE latest (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ({UPSERT});
CREATE TABLE cdc (id BIGINT, v STRING) WITH ({KAFKA}, 'format' = 'debezium-json');
CREATE TABLE ended (id BIGINT) WITH ({JSON}, 'scan.bounded.mode' = 'latest-offset');
CREATE TABLE named (`_row_kind` STRING, PRIMARY KEY (`_row_kind`) NOT ENFORCED) WITH ({UPSERT});
CREATE TABLE uneven (ts TIMESTAMP(3), n INT, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND * n) WITH ({JSON});
CREATE TABLE timed (ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts) WITH ({JSON}, 'scan.startup.mode' = 'timestamp',
  'scan.startup.timestamp-millis' = '5');
CREATE TABLE sink (id BIGINT) WITH ('connector' = 'blackhole');
CREATE VIEW counted AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;
CREATE VIEW cheap AS SELECT id FROM cdc WHERE id > 1;
CREATE VIEW constant AS SELECT 1 AS one;
"""


def catalog(more: str = ""):
    compiled = compile_script(SourceText("t.sql", DDL + more))
    assert not compiled.has_errors, compiled.diagnostics
    return compiled.catalog


def frame(name: str, mode=None, more: str = ""):
    state = catalog(more)
    return frame_of(state, state.path((name,)), mode)


BATCH = "SET 'execution.runtime-mode' = 'batch';"
CASES = [
    # table, mode, SET, streaming, updating, output mode
    ("orders", None, "", True, False, "append"),
    ("orders", "batch", "", False, False, "append"),
    ("orders", None, BATCH, False, False, "append"),
    ("orders", "streaming", BATCH, True, False, "append"),
    ("latest", None, "", True, True, "update"),
    ("latest", "batch", "", False, False, "append"),
    ("cdc", None, "", True, True, "append"),
    ("cdc", "batch", "", False, False, "append"),
    ("cheap", None, "", True, True, "append"),
    ("ended", None, "", False, False, "append"),
    ("ended", "streaming", "", True, False, "append"),
    ("counted", None, "", True, True, "update"),
    ("counted", "batch", "", False, False, "append"),
    ("constant", None, "", False, False, "append"),
    ("named", "batch", "", False, False, "append"),
]


@pytest.mark.parametrize(("name", "mode", "settings", "streaming", "updating", "output"), CASES)
def test_the_session_or_the_caller_decides(name, mode, settings, streaming, updating, output):
    made = frame(name, mode, settings)
    assert (made.streaming, made.updating, made.output_mode) == (streaming, updating, output)
    assert not made.job.writes


@pytest.mark.parametrize(
    ("name", "mode", "code"),
    [("named", "streaming", "FD664"), ("uneven", None, "FD656"), ("sink", None, "FD204")],
)
def test_what_has_no_frame_says_why(name, mode, code):
    with pytest.raises(FlinkDdlError) as refused:
        frame(name, mode)
    assert refused.value.diagnostics[0].code == code


POSITIONS = [
    ("orders", "streaming", {"mode": "group-offsets", "group": "g"}),
    ("orders", "batch", {"mode": "earliest-offset"}),  # all that the topic holds
    ("timed", "batch", {"mode": "timestamp", "timestamp": "5", "group": "g"}),  # where it was told to begin
    ("ended", None, {"mode": "group-offsets", "group": "g"}),
]


@pytest.mark.parametrize(("name", "mode", "start"), POSITIONS)
def test_positions_are_left_to_the_reader(name, mode, start):
    (read,) = (s for s in frame(name, mode).job.steps if isinstance(s, J.Read))
    assert read.format == J.KAFKA_SOURCE
    assert json.loads(read.options["flinkddl.start"]) == start
    assert "commit-group" not in read.options["flinkddl.start"]


@pytest.mark.parametrize("name", ["orders", "timed"])
def test_a_rowtime_keeps_its_mark(name):
    last = frame(name).job.steps[-1]
    assert isinstance(last, J.WithMetadata)
    assert set(last.columns) == {"ts"}


def test_a_frame_is_the_same_until_something_changes():
    state = catalog()
    path = state.path(("counted",))
    assert frame_of(state, path) == frame_of(catalog(), path)
    assert frame_of(state, path) != frame_of(catalog("ALTER TABLE orders SET ('topic' = 'other');"), path)


def test_printed_views_are_all_that_can_be_read():
    text = print_views(catalog("CREATE DATABASE db; CREATE TABLE db.more (a INT) WITH ('connector' = 'datagen');"))
    compile(text, "views.py", "exec")
    registered = [line for line in text.splitlines() if ".createOrReplaceTempView(" in line]
    named = {line.partition("createOrReplaceTempView(")[2].strip('")`') for line in registered if "df." not in line}
    assert named == {"orders", "latest", "cdc", "ended", "timed", "counted", "cheap", "constant", "db.more"}
    assert "# no temp view named: FD664" in text
    assert "sink" not in text


def test_a_printed_program_registers_each_table_it_reads_once():
    insert = (
        "INSERT INTO sink SELECT id FROM orders; INSERT INTO sink SELECT id FROM counted; INSERT INTO sink SELECT 1;"
    )
    text = views_of_jobs(compile_script(SourceText("t.sql", DDL + insert)))
    assert text.count("# ---- temp view") == text.count("# ---- temp view orders: a stream") == 1


def test_no_secret_is_printed():
    secret = f"""CREATE TABLE private (id INT) WITH ({JSON}, 'properties.sasl.jaas.config' = 'x password="hunter2";',
      'properties.security.protocol' = 'SASL_SSL');"""
    assert "hunter2" not in print_views(catalog(secret))
