"""The page views of the seeds: from real Kafka to real Kafka, while records come in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from tests.e2e import support
from tests.support.spark import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize(
    ("sample", "sink", "expected"),
    [
        ("pageviews/job.sql", "pageviews_per_region", support.views_per_region),
        ("pageviews/quiet_pages.sql", "quiet_pages", support.quiet_pages),
    ],
    ids=["counts", "tombstones"],
)
def test_sample_follows_its_topic(
    spark: SparkSession,
    broker: Broker,
    new_topic: Callable[..., str],
    sample: str,
    sink: str,
    expected: Callable[[list[dict[str, Any]]], dict[bytes, bytes]],
) -> None:
    source, target = new_topic("pageviews", 3), new_topic(sink, 3)
    text = support.script(sample, {"pageviews": source, sink: target})
    views = support.pageviews(400, seed=1)
    support.send(broker.bootstrap, source, views, 3)
    job = Catalog(spark).execute(text, variables={"KAFKA_SERVERS": broker.bootstrap}).job
    assert job is not None
    try:
        assert job.await_input(timeout=120)
        more = support.pageviews(600, seed=2, first=400)
        support.send(broker.bootstrap, source, more, 3)
        assert job.await_input(timeout=120)
    finally:
        job.stop()
    records = support.read_topic(broker.bootstrap, target)
    assert support.upserted(records) == expected(views + more)
    if sink == "quiet_pages":
        gone = {r.key for r in records if r.value is None}
        assert gone, "a page that reaches ten views leaves a tombstone"
        first_seen: set[bytes] = set()
        for record in records:
            assert record.value is not None or record.key in first_seen, "a tombstone for a key that never was"
            first_seen.add(record.key)


@pytest.mark.slow  # tests/e2e/test_printed_programs.py runs others in every run
def test_printed_program_writes_the_same_table(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> None:
    """``flinkddl compile job.sql > out.py; python out.py`` gives the same table (bounded, so that it ends)."""
    source, target = new_topic("pageviews", 2), new_topic("out", 2)
    text = support.script("pageviews/job.sql", {"pageviews": source, "pageviews_per_region": target})
    text = text.replace("'scan.startup.mode'", "'scan.bounded.mode' = 'latest-offset',\n  'scan.startup.mode'")
    text = "SET 'execution.runtime-mode' = 'streaming';\nSET 'parallelism.default' = '2';\n" + text
    views = support.pageviews(500, seed=3)
    support.send(broker.bootstrap, source, views, 2)
    script, program = tmp_path / "job.sql", tmp_path / "out.py"
    script.write_text(text)
    command = [sys.executable, "-m", "flinkddl", "compile", str(script), "-D", f"KAFKA_SERVERS={broker.bootstrap}"]
    program.write_text(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    subprocess.run([sys.executable, str(program)], check=True, capture_output=True, text=True, timeout=500)
    assert support.upserted(support.read_topic(broker.bootstrap, target)) == support.views_per_region(views)


def test_killed_run_resumes_from_its_checkpoint(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> None:
    """``flinkddl run --checkpoint`` killed with SIGKILL and started again loses and repeats nothing."""
    source, target = new_topic("pageviews", 4), new_topic("out", 4)
    text = support.script("pageviews/job.sql", {"pageviews": source, "pageviews_per_region": target})
    text = "SET 'flinkddl.execution.max-offsets-per-trigger' = '1000';\n" + text
    script = tmp_path / "job.sql"
    script.write_text(text)
    views = support.pageviews(10000, seed=4)
    support.send(broker.bootstrap, source, views, 4)
    for kill in (True, False):
        run = run_command(script, broker.bootstrap, tmp_path / "checkpoint")
        try:
            wait_until(lambda kill=kill: seen(broker.bootstrap, target) > (2000 if kill else 9999), run)
            run.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            assert run.wait(60) == (-signal.SIGKILL if kill else 0)
        finally:
            run.kill()
    assert support.upserted(support.read_topic(broker.bootstrap, target)) == support.views_per_region(views)


def run_command(script: Path, servers: str, checkpoint: Path) -> subprocess.Popen[bytes]:
    """Start ``flinkddl run`` on a script in a process of its own."""
    command = [sys.executable, "-m", "flinkddl", "run", str(script), "--checkpoint", str(checkpoint)]
    command += ["--master", "local[2]", "-D", f"KAFKA_SERVERS={servers}"]
    for key, value in SHORT_LIVED.items():
        command += ["--conf", f"{key}={value}"]
    return subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def seen(servers: str, topic: str) -> int:
    """Return how many page views the counts of an upsert topic add up to."""
    import json

    table = support.upserted(support.read_topic(servers, topic))
    return sum(json.loads(v)["pv"] for v in table.values())


def wait_until(ready: Callable[[], bool], run: subprocess.Popen[bytes], timeout: float = 600) -> None:
    """Poll until the condition holds; a run that ends before that or a timeout (seconds) is an error."""
    end = time.monotonic() + timeout
    while not ready():
        assert run.poll() is None, run.stderr.read().decode() if run.stderr else "ended"
        assert time.monotonic() < end, "the job does not get on"
        time.sleep(0.2)
