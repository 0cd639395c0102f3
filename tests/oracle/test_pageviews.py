"""The page views job by Flink and by us over the same topic: the last value per key must be equal byte for byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from tests.e2e import support

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = [pytest.mark.flink, pytest.mark.kafka]
ORACLE = Path(os.environ.get("FLINKDDL_ORACLE", Path(__file__).parents[3] / "shared" / "oracle" / "flink"))


@pytest.mark.parametrize(
    ("sample", "sink"), [("pageviews/job.sql", "pageviews_per_region"), ("pageviews/quiet_pages.sql", "quiet_pages")]
)
def test_same_bytes_as_flink(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path, sample: str, sink: str
) -> None:
    if not ORACLE.exists():
        pytest.skip(f"no Flink at {ORACLE}")
    source, ours, theirs = new_topic("pageviews", 3), new_topic("ours", 3), new_topic("theirs", 3)
    support.send(broker.bootstrap, source, support.pageviews(5000, seed=11), 3)
    tables = []
    for target in (ours, theirs):
        text = support.script(sample, {"pageviews": source, sink: target}).replace(
            "'scan.startup.mode'", "'scan.bounded.mode' = 'latest-offset',\n  'scan.startup.mode'"
        )
        text = text.replace("${KAFKA_SERVERS}", broker.bootstrap)
        if target == ours:
            Catalog(spark).execute(f"SET 'execution.runtime-mode' = 'streaming';\n{text}").await_termination()
        else:
            script = tmp_path / "job.sql"
            script.write_text(f"SET 'table.dml-sync' = 'true';\n{text}")
            done = subprocess.run([str(ORACLE), "sql", str(script)], capture_output=True, text=True, timeout=300)
            assert "[ERROR]" not in done.stdout, done.stdout
            assert done.returncode == 0, done.stderr
        records = support.read_topic(broker.bootstrap, target)
        tables.append(support.upserted(records))
        places = {r.key: r.partition for r in records}
        tables.append({k: str(places[k]).encode() for k in tables[-1]})
    assert tables[0], "nothing was written"
    assert tables[0] == tables[2], "values differ from Flink's"
    assert tables[1] == tables[3], "partitions differ from Flink's"
