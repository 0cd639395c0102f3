"""Clusters that a job needs and that do not answer: the tables that need them, and where those name them."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText, Span
from flinkddl.runtime.kafka.admin import REFUSES_LOGIN
from flinkddl.runtime.kafka.sink_needs import naming_tables
from flinkddl.script.compile import compile_script

SCRIPT = """
CREATE TABLE a (id INT) WITH ('connector' = 'kafka', 'topic' = 'one;two', 'format' = 'json',
  'properties.bootstrap.servers' = 'here:1', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE p (id INT) WITH ('connector' = 'kafka', 'topic-pattern' = 'x.*', 'format' = 'json',
  'properties.bootstrap.servers' = 'here:1', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE b (id INT) WITH ('connector' = 'kafka', 'topic' = 'out', 'format' = 'json',
  'properties.bootstrap.servers' = 'there:1');
INSERT INTO b SELECT id FROM a UNION ALL SELECT id FROM p UNION ALL SELECT id FROM a;
"""
(JOB,) = compile_script(SourceText("job.sql", SCRIPT)).jobs
PLACE = Span(SourceText("job.sql", "here"), 0, 4)
DEFAULT = "default_catalog.default_database"

# code, message -> message as it is told
TOLD = {
    ("FD811", "nobody at 'here:1'"): f"nobody at 'here:1': table '{DEFAULT}.a' reads topic 'one,two', "
    f"table '{DEFAULT}.p' reads topic '^(?:x.*)$'",
    ("FD814", "no entry at 'there:1'"): f"no entry at 'there:1': table '{DEFAULT}.b' writes topic 'out'",
    ("FD814", f"'there:1' {REFUSES_LOGIN}"): f"'there:1' {REFUSES_LOGIN}: table '{DEFAULT}.b' writes topic 'out'",
    ("FD811", "nobody at 'elsewhere:1'"): "nobody at 'elsewhere:1'",
    ("FD812", "no topic at 'here:1'"): "no topic at 'here:1'",
    ("FD812", "the topic 'two' does not exist at 'here:1'"): "the topic 'two' does not exist at 'here:1': "
    f"table '{DEFAULT}.a' reads topic 'one,two'",
    ("FD812", "the topic 'out' does not exist at 'here:1'"): "the topic 'out' does not exist at 'here:1'",
}


@pytest.mark.parametrize(("code", "message"), TOLD)
def test_the_tables_that_need_a_cluster_are_named(code: str, message: str) -> None:
    asked: list[str] = []

    def place(table: str, option: str) -> Span | None:
        asked.append(option)
        return {f"{DEFAULT}.p": PLACE}.get(table)

    with pytest.raises(FlinkDdlError) as raised, naming_tables([JOB, JOB], place):
        raise FlinkDdlError.of(code, message)
    (found,) = raised.value.diagnostics
    assert found.message == TOLD[code, message]
    assert found.span == (PLACE if ".p'" in found.message else None)
    about = "topic" if code == "FD812" else "properties.sasl.jaas.config" if REFUSES_LOGIN in message else ""
    assert set(asked) <= {about or "properties.bootstrap.servers"}


def test_what_has_a_place_keeps_it() -> None:
    other = Span(SourceText("x", "x"), 0, 1)
    with pytest.raises(FlinkDdlError) as raised, naming_tables([JOB], lambda table, option: PLACE):
        raise FlinkDdlError.of("FD811", "nobody at 'here:1'", other)
    assert str(raised.value) == "x:1:1: error FD811: nobody at 'here:1'"


# what stands at the place, what was known -> what is told to do
ADVISED = {
    ("${HERE}", "look there"): "${HERE} is the environment's 'here:1'; look there",
    ("a${ HERE :-x},b${HERE}", None): "${HERE} is the environment's 'here:1'",
    ("${OF_THE_COMMAND_LINE}", "look there"): "look there",
    ("${OVERRULED}", "look there"): "look there",
    ("here:1", None): None,
}


@pytest.mark.parametrize(("text", "known"), ADVISED)
def test_an_address_that_is_the_environments_is_told_so(
    text: str, known: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERE", "here:1")
    monkeypatch.setenv("OVERRULED", "elsewhere:1")
    place = Span(SourceText("job.sql", text), 0, len(text))
    with pytest.raises(FlinkDdlError) as raised, naming_tables([JOB], lambda table, option: place):
        raise FlinkDdlError.of("FD811", "nobody at 'here:1'", help=known)
    (found,) = raised.value.diagnostics
    assert found.help == ADVISED[text, known]
