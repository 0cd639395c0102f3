"""Every sample on one broker and one Spark session, against its expected output."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.shell.split import split
from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script
from samples import run as samples
from tests.support.seeds import meant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker


GROUPS = 4  # each a test of its own, whose samples run side by side


@pytest.mark.kafka
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_sample_gives_what_it_promises(spark: SparkSession, broker: Broker, group: int) -> None:
    outcomes = list(samples.run_all(samples.names()[group::GROUPS], Catalog(spark), broker.variables))
    wrong = {o.name: o.difference() for o in outcomes if not o.ok}
    assert not wrong


@pytest.mark.parametrize("name", samples.names())
def test_sample_is_complete(name: str) -> None:
    sample = samples.Sample(name)
    assert sample.sql.startswith("-- "), "its first line says what it shows"
    assert sample.expected
    compiled = compile_script(SourceText(name, sample.sql), variables=samples.VARIABLES)
    assert not compiled.has_errors, compiled.diagnostics


OWN = {
    "upsert_baidu": "baidu_3_result_table",
    "upsert_streampark": "streampark_1_example",
    "upsert_source": "streampark_2_formats",
    "upsert_oceanus": "oceanus_2_example",
    "metadata_written": "kafka_2_metadata",
    "cdc_metadata": "kafka_3_format_metadata",
    "value_format": "kafka_4_value_format",
    "key_and_value": "kafka_5_key_and_value",
    "key_prefix": "kafka_6_prefix",
}


@pytest.mark.parametrize(("name", "block"), OWN.items())
def test_a_sample_has_the_documents_own_statements(name: str, block: str) -> None:
    """Topics and brokers apart."""
    assert set(bare(meant(block))) <= set(bare(samples.Sample(name).sql))


def bare(text: str) -> list[str]:
    """Return statements without comments and blanks, and without the names of their topics and brokers."""
    words = [re.sub(r"\s|--.*", "", statement) for statement in split(f"{text.rstrip().rstrip(';')};").statements]
    return [re.sub(r"('(?:topic|properties\.bootstrap\.servers)'=)'[^']*'", r"\1", w).rstrip(";") for w in words]


def test_samples_share_no_topic() -> None:
    owners: dict[str, set[str]] = {}
    for name in samples.names():
        sample = samples.Sample(name)
        for record in [r for step in sample.steps() for r in step] + sample.expected:
            if "topic" in record:
                owners.setdefault(record["topic"], set()).add(name)
    assert {t: found for t, found in owners.items() if len(found) > 1} == {}


def test_there_are_enough_of_them() -> None:
    assert len(samples.names()) >= 20
