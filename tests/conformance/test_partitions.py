"""Flink's own partitions: the same key bytes lie in the same partition, whatever the partitioner and the key format."""

from __future__ import annotations

import json

import pytest

from tests.conformance.encoding import encode
from tests.conformance.formats import GOLDENS, cases, run
from tests.conformance.partitions import place
from tests.support.nightly import nightly

KINDS = ("part-json", "part-csv", "part-raw", "part-avro", "part-fixed", "part-null", "part-upsert", "spread")


def test_each_kind_of_key_and_partitioner_is_recorded() -> None:
    lines = cases(GOLDENS / "partitions.jsonl")
    recorded = "\n".join(lines)
    assert len(lines) >= 40
    assert [kind for kind in KINDS if kind not in recorded] == []


@pytest.mark.kafka
@pytest.mark.parametrize("part", [slice(0, None, 2), nightly(slice(1, None, 2))])
def test_records_lie_where_flink_puts_them(spark, broker, part):
    some = tuple(json.loads(line)["id"] for line in cases(GOLDENS / "partitions.jsonl"))[part]
    outcomes = list(
        run("formats", None, some, 2, spark=spark, bootstrap=broker.bootstrap, attempts={"partitions": place})
    )
    assert len(outcomes) >= 20
    assert [o.line() for o in outcomes if o.status != "passed"] == []


@pytest.mark.kafka
def test_and_so_do_those_of_the_recorded_writes(spark, broker):
    some = ("enc-partition", "enc-conflict-off-partition")
    outcomes = list(run("formats", None, some, 2, spark=spark, bootstrap=broker.bootstrap, attempts={"encode": encode}))
    assert len(outcomes) >= 10
    assert [o.line() for o in outcomes if o.status != "passed"] == []
