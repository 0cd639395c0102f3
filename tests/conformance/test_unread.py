"""What a malformed field that no query reads does in Flink, it does here: recorded by tests/oracle/record_unread.py."""

from __future__ import annotations

import json

import pytest

from tests.conformance.decoding import decode
from tests.conformance.formats import GOLDENS, cases, run
from tests.support.nightly import nightly

FORMATS = ("json", "csv", "raw", "avro", "debezium-json", "canal-json", "maxwell-json", "ogg-json")


def test_each_format_is_recorded_with_and_without_an_error() -> None:
    recorded = [json.loads(line) for line in cases(GOLDENS / "unread.jsonl")]
    assert len(recorded) > 80
    for name in FORMATS:
        found = [c for c in recorded if c["id"].startswith(f"unread-{name}-")]
        assert {"error" in c for c in found} == {True, False}


@pytest.mark.kafka
@pytest.mark.parametrize("part", [slice(0, None, 2), nightly(slice(1, None, 2))])
def test_what_nobody_reads_is_checked_as_in_flink(spark, broker, part):
    some = tuple(json.loads(line)["id"] for line in cases(GOLDENS / "unread.jsonl"))[part]
    outcomes = list(run("formats", None, some, 2, spark=spark, bootstrap=broker.bootstrap, attempts={"unread": decode}))
    assert len(outcomes) > 40
    assert [o.line() for o in outcomes if o.status != "passed"] == []
