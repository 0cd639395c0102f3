"""Rows that pass a stage on their way to the sink keep their order, in micro-batches and in real time."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.support import read_topic, send
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka

PARTITIONS, KEYS, ROWS = 2, 7, 200
SCRIPT = """
SET 'parallelism.default' = '2';
CREATE TABLE t (n INT, k INT, part INT METADATA FROM 'partition' VIRTUAL) WITH ('connector' = 'kafka',
  'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset');
CREATE TABLE found (what STRING, k INT, n INT) WITH ('connector' = 'kafka', 'topic' = '{sink}',
  'properties.bootstrap.servers' = '{servers}', 'format' = 'debezium-json');
CREATE VIEW counts AS SELECT k, CAST(COUNT(*) AS INT) AS n FROM t GROUP BY k;
INSERT INTO found
SELECT 'row', part, n FROM t
UNION ALL
SELECT 'rows of a key', k, n FROM counts
UNION ALL
SELECT 'keys of a number', n, CAST(COUNT(*) AS INT) FROM counts GROUP BY n;
"""
SETS = {
    "auto": "SET 'flinkddl.execution.max-offsets-per-trigger' = '60';",
    "micro-batches": "SET 'flinkddl.execution.state' = 'chain';"
    "SET 'flinkddl.execution.max-offsets-per-trigger' = '60';",
    "real time": "SET 'flinkddl.execution.mode' = 'realtime';",
}
Change = tuple[str, int]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["auto", nightly("micro-batches"), "real time"])
def test_in_the_order_of_their_partition_and_of_their_group(
    broker: Broker, new_topic: Callable[..., str], tmp_path: Path, mode: str
) -> None:
    """Rows of a table pass two stages, changes of a count one: what undoes a row comes before what stands for it.

    'auto' reads the table once for both counts, and by itself for its rows.
    """
    source, sink = new_topic("t", PARTITIONS), new_topic("found")
    send(broker.bootstrap, source, [{"n": n, "k": n % KEYS} for n in range(ROWS)], PARTITIONS)
    path, log = tmp_path / "job.sql", tmp_path / "log"
    path.write_text(SETS[mode] + SCRIPT.format(source=source, sink=sink, servers=broker.bootstrap))
    command = [sys.executable, "-m", "flinkddl", "run", str(path), "--master", "local[16]"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        end = time.monotonic() + 300
        while True:
            found = changes(broker.bootstrap, sink)
            totals = {k: n for op, k, n in found["rows of a key"] if op == "c"}
            if len(found["row"]) == sum(totals.values()) == ROWS:
                break
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < end, ({k: len(v) for k, v in found.items()}, log.read_text()[-3000:])
            time.sleep(0.5)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    for part in range(PARTITIONS):
        assert [n for _, k, n in found["row"] if k == part] == list(range(part, ROWS, PARTITIONS))
    for key in range(KEYS):
        one = [(op, n) for op, k, n in found["rows of a key"] if k == key]
        assert one == undone_first([n for op, n in one if op == "c"])
        assert one[-1] == ("c", len(range(key, ROWS, KEYS)))


def undone_first(values: list[int]) -> list[Change]:
    """Return the changes of a row that has had these values in turn."""
    return [c for n, v in enumerate(values) for c in ([("d", values[n - 1])] if n else []) + [("c", v)]]


def changes(servers: str, topic: str) -> dict[str, list[tuple[str, int, int]]]:
    """Return what was written: of each kind of row the operation, key and number, in the topic's order."""
    out: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for record in read_topic(servers, topic):
        change: dict[str, Any] = json.loads(record.value)
        row = change["after"] or change["before"]
        out[row["what"]].append((change["op"], row["k"], row["n"]))
    return out
