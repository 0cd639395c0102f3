"""Idle partitions: which watermarks are moved, by what the batches said and the clock shows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.runtime.job.topics.idle import IdlePartitions
from flinkddl.runtime.job.topics.sources import Sources, other_partitions
from flinkddl.runtime.storage.checkpoint import Checkpoint, changed_partitions
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.partitions import split

if TYPE_CHECKING:
    from pathlib import Path

SQL = """
CREATE TABLE t (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = 't',
  'properties.bootstrap.servers' = 'b:1', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset',
  'scan.watermark.idle-timeout' = '10 s');
SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end
"""
Batch = tuple[float, dict[int, int]]  # second at which it starts, latest event second of each partition that had rows


class Stage:
    """Three partitions, a clock, and the control rows that were written."""

    def __init__(self, folder: Path) -> None:
        compiled = compile_script(SourceText("<t>", SQL))
        job = next(a.job for a in compiled.actions if isinstance(a, Start))
        self.sources = Sources(job, Checkpoint(str(folder), temporary=False))
        self.sources.run = split(job, {"t": {"t": [0, 1, 2]}})
        for read in self.sources.control_reads:
            (folder / "control" / read.name).mkdir(parents=True)
        self.folder, self.now = folder, 0.0
        self.idle = IdlePartitions(self.sources, lambda: self.now)

    def batch(self, second: float, latest: dict[int, int]) -> None:
        self.now = second
        event: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "sources": [
                {"endOffset": json.dumps({"t": {str(p): 1}}), "numInputRows": int(p in latest)} for p in range(3)
            ],
            "observedMetrics": {f"t_watermark@t-{p}": {"latest": s * 1_000_000} for p, s in latest.items()},
        }
        self.idle.batch("sink", event)

    def moved(self, second: float, *, quiet: bool) -> dict[int, float]:
        """Return partition -> event second of the rows written at that moment."""
        self.now = second
        self.idle.move(quiet=quiet)
        out = {}
        for p in range(3):
            for file in (self.folder / "control").glob(f"*@t-{p}/*.json"):
                out[p] = datetime.fromisoformat(json.loads(file.read_text())["ts"]).timestamp()
                file.unlink()
        return out


@pytest.mark.parametrize(
    ("batches", "second", "quiet", "expected"),
    [
        pytest.param([(1, {0: 50, 1: 40})], 9, True, {}, id="none is idle yet"),
        pytest.param([(1, {0: 50, 1: 40}), (10, {0: 60, 1: 45})], 10.5, True, {2: 45}, id="the least of the active"),
        pytest.param([(1, {0: 50, 1: 40}), (9, {0: 60})], 12, True, {1: 60, 2: 60}, id="two are idle"),
        pytest.param([(1, {0: 50, 1: 40})], 60, True, {1: 50, 2: 50}, id="all are idle: the largest"),
        pytest.param([(1, {0: 50, 1: 40})], 60, False, {}, id="a long batch is no silence"),
        pytest.param([(9, {1: 40})], 10.5, True, {0: 40, 2: 40}, id="silent since the start"),
        pytest.param([], 60, True, {}, id="nothing was ever read"),
        pytest.param([(1, {2: 90}), (12, {0: 60, 1: 40})], 12.5, True, {}, id="it is ahead already"),
    ],
)
def test_moves(tmp_path: Path, batches: list[Batch], second: float, quiet: bool, expected: dict[int, float]) -> None:
    stage = Stage(tmp_path)
    for batch in batches:
        stage.batch(*batch)
    assert stage.moved(second, quiet=quiet) == expected


def test_a_partition_counts_again_once_it_has_records(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.batch(1, {0: 50, 1: 50})
    stage.batch(11, {0: 70, 1: 70})
    assert stage.moved(11, quiet=True) == {2: 70}
    stage.batch(12, {0: 90, 1: 90, 2: 71})
    assert stage.moved(13, quiet=True) == {}
    stage.batch(20, {0: 100, 1: 95})
    assert stage.moved(25, quiet=True) == {2: 95}
    assert stage.moved(25.5, quiet=True) == {}  # once


def test_a_checkpoint_of_sources_without_names_knows_its_partitions(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path), temporary=False)
    assert changed_partitions(checkpoint, {"t": {"a": [0, 1]}}, known=False) == set()
    assert changed_partitions(checkpoint, {"t": {"a": [0, 1]}}, known=True) == set()
    assert changed_partitions(checkpoint, {"t": {"a": [0, 1, 2]}}, known=True) == {"a-2"}
    assert "FD817: there are other partitions than at the start" in str(other_partitions(["a-2"]))
