"""The recorded reads and writes of Flink: what differs stands in ``differences.FORMATS`` with its reason."""

from __future__ import annotations

import pytest

from tests.conformance.differences import FORMATS, reason
from tests.conformance.formats import run
from tests.conformance.views import run as run_views

LISTED = {name for names in FORMATS.values() for name in names}
SOME = (
    "dec-upsert-sequence-except", "dec-upsert-key-missing-field-except", "dec-span-start-specific-p99",
    "dec-meta-timestamp-string", "dec-json-count", "enc-json-nullkey-literal-clash", "enc-avro-multiset",
    "enc-meta-headers-string", "enc-upsert-having-json", "enc-sink-debezium-json-cdc", "enc-key-prefix-whole-name",
    "enc-json-trim-pad", "enc-json-length-error", "enc-json-count-window",
)  # fmt: skip


@pytest.mark.kafka
def test_some_cases_of_each_kind(spark, broker):
    outcomes = list(run("formats", None, SOME, 1, spark=spark, bootstrap=broker.bootstrap))
    assert len(outcomes) >= len(SOME)
    assert [o.line() for o in outcomes if o.status != "passed"] == []


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.timeout(1800)  # 17 minutes measured, longer beside others
def test_every_table_that_is_read_is_the_same_as_a_view(spark, broker):
    outcomes = list(run_views("views", None, (), 2, spark=spark, bootstrap=broker.bootstrap))
    assert len(outcomes) > 500
    assert [o.line() for o in outcomes if o.status != "passed" and reason("views", o.id) is None] == []


@pytest.mark.slow
@pytest.mark.kafka
def test_every_case_but_the_listed_ones_is_as_recorded(spark, broker):
    outcomes = list(run("formats", None, (), 2, spark=spark, bootstrap=broker.bootstrap))
    wrong = {o.id: o.line() for o in outcomes if o.status != "passed"}
    assert len(outcomes) > 900
    assert set(wrong) == LISTED, "\n".join(line for name, line in wrong.items() if name not in LISTED)
