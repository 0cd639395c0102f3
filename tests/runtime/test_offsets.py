from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.job.reporting.failures import brief, job_failed, records_in_question
from flinkddl.runtime.kafka.offsets import assigned, parse_specific, spark_options, stop_condition
from flinkddl.runtime.session.errors import reason
from flinkddl.runtime.storage.checkpoint import (
    fingerprint,
    first_difference,
    forget_stops,
    kept_stops,
    mark_drained,
    open_checkpoint,
)
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.script.compile import compile_script
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from pathlib import Path


def test_specific_offsets_are_read() -> None:
    assert parse_specific("partition:0,offset:42;partition:1,offset:300;") == {0: 42, 1: 300}


@pytest.mark.parametrize(
    ("start", "stop", "streaming", "expected"),
    [
        ({"mode": "earliest-offset"}, {}, True, {"startingOffsets": "earliest"}),
        ({"mode": "latest-offset"}, {"mode": "latest-offset"}, True, {"startingOffsets": "latest"}),
        ({}, {"mode": "latest-offset"}, False, {"startingOffsets": "earliest", "endingOffsets": "latest"}),
    ],
)
def test_simple_positions_ask_no_broker(start: Any, stop: Any, streaming: bool, expected: dict[str, str]) -> None:
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}
    assert spark_options(options, start, stop, streaming) == expected


def test_assigned_partitions_take_the_place_of_topics() -> None:
    for key in ("subscribe", "subscribePattern", "assign"):
        found = assigned({key: "t", "failOnDataLoss": "false"}, {"b": [1, 0], "a": [0]})
        assert found == {"failOnDataLoss": "false", "assign": '{"a": [0], "b": [0, 1]}'}


def test_stop_conditions_name_partitions_and_where_needed_topics() -> None:
    assert stop_condition({"t": {1: 7, 0: 5}}) == (
        "`offset` < CASE `partition` WHEN 0 THEN 5L WHEN 1 THEN 7L ELSE 0L END"
    )
    assert stop_condition({"b": {}, "a'x": {0: 5}}) == (
        "`offset` < CASE `topic` WHEN 'a\\'x' THEN CASE `partition` WHEN 0 THEN 5L ELSE 0L END"
        " WHEN 'b' THEN 0L ELSE 0L END"
    )


READ = J.Read(
    name="src",
    format="kafka",
    options={"subscribe": "t", "kafka.sasl.jaas.config": "password"},
    streaming=True,
    start={"mode": "earliest-offset"},
)
GROUP = J.GroupBy(name="g", input="src", keys=(("k", "k"),), aggs=(("n", "count(1)"),))
WRITE = J.Write(name="w", input="g", format="noop", options={}, mode="update")


def _job(*steps: J.Step, **changes: Any) -> J.SparkJob:
    return J.SparkJob(**{"name": "j", "steps": steps, "writes": (WRITE,), "settings": {}, "streaming": True} | changes)


def test_a_derived_fingerprint_leaves_out_positions_and_secrets() -> None:
    moved = J.Read(name="src", format="kafka", options={"subscribe": "t"}, streaming=True, start={"mode": "timestamp"})
    assert fingerprint(_job(READ, GROUP)) == fingerprint(_job(moved, GROUP))
    other = J.GroupBy(name="g", input="src", keys=(("k", "k"),), aggs=(("n", "sum(x)"),))
    assert fingerprint(_job(READ, GROUP)) != fingerprint(_job(READ, other))


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        ((("a", "1"),), (("a", "2"),), "operator 'a' was '1' and is '2'"),
        ((("a", "1"),), (("b", "1"),), "operator 'a' is now 'b'"),
        ((("a", "1"), ("b", "1")), (("a", "1"),), "operator 'b' is gone"),
        ((("a", "1"),), (("a", "1"), ("b", "1")), "operator 'b' is new"),
    ],
)
def test_the_first_difference_is_said(before: Any, now: Any, text: str) -> None:
    assert first_difference(before, now) == text


def test_a_checkpoint_is_checked_drained_and_set_aside(tmp_path: Path) -> None:
    job = _job(READ, GROUP)
    checkpoint = open_checkpoint(job, str(tmp_path))
    assert open_checkpoint(job, f"file://{tmp_path}").local == tmp_path / "j"
    with pytest.raises(FlinkDdlError, match=r"FD820.*operator 'g' is now 'w'"):
        open_checkpoint(_job(READ), str(tmp_path))
    mark_drained(checkpoint, job)
    with pytest.raises(FlinkDdlError, match=r"FD821.*--fresh"):
        open_checkpoint(job, str(tmp_path))
    open_checkpoint(job, str(tmp_path), fresh=True)
    assert sorted(p.name[:6] for p in tmp_path.iterdir()) == ["j", "j.old-"]


def test_a_drain_that_was_cut_off_is_not_gone_on_from(tmp_path: Path) -> None:
    endless, bounded = (replace(_job(READ), trigger=(t, "true")) for t in ("processingTime", "availableNow"))
    checkpoint = open_checkpoint(endless, str(tmp_path))
    LOCAL.write(f"{checkpoint.control('src_end')}/end.json", "{}")
    with pytest.raises(FlinkDdlError, match=r"FD821.*ended while it was drained"):
        open_checkpoint(endless, str(tmp_path))
    open_checkpoint(bounded, str(tmp_path))  # it has stops, and comes to its end again


def test_an_end_that_was_told_with_all_rows_is_gone_on_from_where_no_batch_has_begun(tmp_path: Path) -> None:
    endless, bounded = (replace(_job(READ), trigger=(t, "true")) for t in ("processingTime", "availableNow"))
    checkpoint = open_checkpoint(bounded, str(tmp_path))
    told = f"{checkpoint.control('src_end')}/all.json"
    LOCAL.write(told, "{}")
    open_checkpoint(bounded, str(tmp_path))
    assert LOCAL.read(told) is not None
    open_checkpoint(endless, str(tmp_path))
    assert LOCAL.read(told) is None  # its rows would all be late
    LOCAL.write(told, "{}")
    LOCAL.write(f"{checkpoint.location(endless.runs[0].name)}/offsets/0", "")
    with pytest.raises(FlinkDdlError, match=r"FD821.*ended while it was drained"):
        open_checkpoint(endless, str(tmp_path))
    open_checkpoint(bounded, str(tmp_path))


def test_stops_are_those_of_the_first_run(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(_job(READ), str(tmp_path))
    first, second = ({"src": {"t": {0: n, 1: n}}} for n in (5, 9))
    assert kept_stops(checkpoint, first, known=False) == first
    assert kept_stops(checkpoint, second, known=True) == first
    assert kept_stops(checkpoint, second, known=False) == second  # nothing was read yet
    forget_stops(checkpoint)
    assert kept_stops(checkpoint, first, known=True) == first
    assert kept_stops(checkpoint, {}, known=True) == {}


def test_a_temporary_checkpoint_goes_with_the_run() -> None:
    checkpoint = open_checkpoint(_job(READ), None)
    assert checkpoint.local is not None
    assert checkpoint.local.is_dir()
    checkpoint.remove()
    assert not checkpoint.local.exists()


SPARK_FAILURE = """\
[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted SQLSTATE: XXKST
=== Streaming Query ===
Identifier: sink [id = 1]
Current Committed Offsets: {KafkaV2[Subscribe[orders]]: {"orders":{"1":3,"0":40}}}
Current Available Offsets: {KafkaV2[Subscribe[orders]]: {"orders":{"1":3,"0":53}}}
Current State: ACTIVE
org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times
Caused by: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows
\tat org.apache.spark.Nowhere(Nowhere.scala:1)
Caused by: java.lang.ArithmeticException: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012
"""


PYTHON_FAILURE = """\
Caused by: org.apache.spark.api.python.PythonException: An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/here/f.py", line 3, in f
    raise ValueError(f"no number: {text!r}")
ValueError: no number: 'x'

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException
"""  # noqa: E501


def test_a_failure_is_told_by_its_records_and_innermost_cause() -> None:
    assert records_in_question(SPARK_FAILURE) == "topic 'orders' partition 0, offsets 40 to 52"
    assert reason(SPARK_FAILURE) == "Division by zero"
    assert reason("something else") == "something else"
    assert reason(PYTHON_FAILURE) == "the Python function failed: ValueError: no number: 'x'"
    assert records_in_question("nothing") == ""


def test_a_record_that_does_not_fit_is_told_in_the_words_of_its_format() -> None:
    job = J.SparkJob(name="copy", steps=(), writes=(), settings={}, streaming=True)
    write = J.Write(
        name="w", input="x", table="default_catalog.default_database.copy", format="kafka", options={}, mode="append"
    )
    where = "value of table 'orders', topic 'orders', partition 0, offset 41: column 'a.b': For input string: \"x\""
    text = f"{SPARK_FAILURE}Caused by: java.lang.IllegalArgumentException: FD750: {where}\n\tat flinkddl.format.Formats"
    failed = job_failed(job, write, RuntimeError(text))
    (diagnostic,) = failed.diagnostics
    assert diagnostic.message == f"the query into 'copy' failed (FD750): {where}"
    assert diagnostic.help == f"`flinkddl error FD750` is about this cause; the whole error is in '{failed.log}'"
    assert failed.of_records
    assert failed.log.read_text().endswith(f"{text}\n")


FORMATS = {
    "json": ("'format' = 'json'", "value", "'json.ignore-parse-errors' = 'true'"),
    "csv": ("'format' = 'csv'", "value", "'csv.ignore-parse-errors' = 'true'"),
    "prefixed": ("'value.format' = 'csv'", "value", "'value.csv.ignore-parse-errors' = 'true'"),
    "key": (
        "'value.format' = 'csv', 'key.format' = 'json', 'key.fields' = 'a'",
        "key",
        "'key.json.ignore-parse-errors' = 'true'",
    ),
    "avro": ("'format' = 'avro'", "value", ""),
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_takes_such_a_record_is_an_option_of_its_format(name: str) -> None:
    options, part, way = FORMATS[name]
    kafka = "'connector' = 'kafka', 'properties.bootstrap.servers' = 'b:1', 'topic' = 't'"
    sql = f"""
        CREATE TABLE orders (a INT, b INT) WITH ({kafka}, 'scan.startup.mode' = 'earliest-offset', {options});
        CREATE TABLE copy (a INT, b INT) WITH ({kafka}, 'format' = 'json');
        INSERT INTO copy SELECT a, b FROM orders;"""
    (job,) = compile_script(SourceText("<t>", sql)).jobs
    text = f"IllegalArgumentException: FD750: {part} of table 'orders', topic 't', partition 0, offset 41: column 'a'"
    help = job_failed(job, job.writes[0], RuntimeError(text)).diagnostics[0].help
    assert help is not None
    told = f"{way} makes such a field NULL and skips what is no record; " if way else ""
    assert help.startswith(f"{told}`flinkddl error FD750` is about this cause")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Division by zero", "Division by zero"),
        (f"cannot read '{'a' * 299}' as INT", f"cannot read '{'a' * 299}' as INT"),
        (f"cannot read '{'a' * 2_000_000}' as INT", f"cannot read '{'a' * 200}...' as INT"),
        (f"value \"{'b' * 301}\" of 'x'", f"value \"{'b' * 200}...\" of 'x'"),
    ],
)
def test_a_long_value_is_quoted_with_its_beginning(text: str, shown: str) -> None:
    assert brief(text) == shown


def test_whatever_a_long_sentence_quotes_it_is_cut() -> None:
    shown = brief("it's {" + "'\"" * 1_000_000 + "} that broke")
    assert len(shown) == 1905
    assert shown.endswith("} that broke")
