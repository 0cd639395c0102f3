"""Windows over processing time: for which batches the driver asks, by what the batches said and the clock shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.runtime.job.topics.sources import Sources
from flinkddl.runtime.job.topics.walls import WallClock
from flinkddl.runtime.storage.checkpoint import Checkpoint
from flinkddl.script.compile import Start, compile_script

if TYPE_CHECKING:
    from pathlib import Path

SQL = """
CREATE TABLE t (k INT, pt AS PROCTIME()) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
  'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE s (k INT, n BIGINT) WITH ('connector' = 'kafka', 'topic' = 's', 'format' = 'json',
  'properties.bootstrap.servers' = 'b:1');
CREATE VIEW threes AS SELECT k, window_time AS w, COUNT(*) AS c
  FROM TUMBLE(TABLE t, DESCRIPTOR(pt), INTERVAL '3' SECOND) GROUP BY k, window_start, window_end, window_time;
INSERT INTO s SELECT k, COUNT(*) FROM {} GROUP BY k, window_start, window_end
"""
TUMBLE = "TUMBLE(TABLE t, DESCRIPTOR(pt), INTERVAL '10' SECOND)"
HOP = "HOP(TABLE t, DESCRIPTOR(pt), INTERVAL '10' SECOND, INTERVAL '30' SECOND)"
SESSION = "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(pt), INTERVAL '3' SECOND)"
OFFSET = "TUMBLE(TABLE t, DESCRIPTOR(pt), INTERVAL '10' SECOND, INTERVAL '4' SECOND)"


UPPER = "TUMBLE(TABLE threes, DESCRIPTOR(w), INTERVAL '4' SECOND)"


class Stage:
    """A clock, and a query whose batches begin at once when something is there: rows, or a control row."""

    def __init__(self, folder: Path, window: str, *, resumes: bool = False, sets: str = "") -> None:
        compiled = compile_script(SourceText("<t>", sets + SQL.format(window)))
        job = next(a.job for a in compiled.actions if isinstance(a, Start))
        self.sources = Sources(job, Checkpoint(str(folder), temporary=False))
        (read,) = self.sources.control_reads
        self.name, self.now, self.told = job.writes[0].name, 0.0, list[float]()
        self.control = folder / "control" / read.name
        self.control.mkdir(parents=True)
        if resumes:
            offsets = folder / self.sources.checkpoint.location(self.name) / "offsets"  # type: ignore[union-attr]
            offsets.mkdir(parents=True)
            (offsets / "0").touch()
        self.wall = WallClock(self.sources, lambda: self.now)

    def batch(self, start: float, lasted: float = 0.0, *, rows: int = 0, asked: int = 0, topic: str = "t") -> None:
        event: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "durationMs": {"triggerExecution": int(lasted * 1000)},
            "sources": [
                {"description": f"KafkaV2[Subscribe[{topic}]]", "numInputRows": rows},
                {"description": f"FileStreamSource[file:{self.control}]", "numInputRows": asked},
            ],
        }
        self.wall.batch(self.name, event)

    def until(self, end: float, *, skew: float = 0.0) -> list[float]:
        """Let time pass, a quarter of a second at a time; returns when a batch was asked for."""
        out = []
        while self.now < end:
            self.now += 0.25
            self.wall.move()
            if files := list(self.control.glob("tick-*.json")):
                out.append(self.now)
                for file in files:
                    file.unlink()
                self.batch(self.now + skew, asked=1)
        return out


@pytest.mark.parametrize(
    ("window", "rows", "asked"),
    [
        pytest.param(TUMBLE, [], [], id="no rows, no windows"),
        pytest.param(TUMBLE, [101], [110], id="its end"),
        pytest.param(OFFSET, [101], [104], id="with an offset"),
        pytest.param(TUMBLE, [101, 112], [110, 120], id="one after the other"),
        pytest.param(HOP, [101], [110, 120, 130], id="each window of a row"),
        pytest.param(SESSION, [101], [104], id="a session after its gap"),
        pytest.param(SESSION, [101, 102.5], [104, 105.5], id="each time that one may be over"),
        pytest.param(TUMBLE, [101, 300], [110, 310], id="nothing is asked for meanwhile"),
        # the lower one fires at 132, into the upper one's [132, 136); it could have at 133
        pytest.param(UPPER, [129], [130, 131, 132, 133, 134, 135, 136, 137], id="a window over a window"),
    ],
)
def test_it_asks_where_a_window_ends_that_has_rows(
    tmp_path: Path, window: str, rows: list[float], asked: list[float]
) -> None:
    stage, found = Stage(tmp_path, window), list[float]()
    stage.now = 90.0
    for at in rows:
        found += stage.until(at - 0.25)
        stage.now = at
        stage.batch(at, rows=1)
    assert [*found, *stage.until(400)] == asked


def test_rows_of_a_long_batch_are_of_windows_up_to_its_end(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TUMBLE)
    stage.now = 125.0
    stage.batch(101, lasted=24.0, rows=1)
    assert stage.until(200) == [125.25, 130]


def test_what_an_earlier_run_left_open_comes_out_at_the_start(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TUMBLE, resumes=True)
    stage.now = 103.0
    assert stage.until(200) == [103.25, 110]


def test_a_query_that_is_started_again_is_asked_at_once(tmp_path: Path) -> None:
    """It runs a batch again whose time is another than that of its start, and not while it waits for its start."""
    stage = Stage(tmp_path, TUMBLE)
    stage.now = 101.0
    stage.batch(101, rows=1)
    stage.now = 111.0
    stage.wall.move({stage.name})
    assert not list(stage.control.iterdir())
    stage.wall.wake([stage.name])
    stage.batch(111, rows=1)
    assert stage.until(200) == [111.25, 120]


def test_it_asks_again_where_the_clock_of_spark_is_behind(tmp_path: Path) -> None:
    """The batch that was asked for told a time before the end of the window."""
    stage = Stage(tmp_path, TUMBLE)
    stage.now = 101.0
    stage.batch(101 - 2.5, rows=1)
    assert stage.until(130, skew=-2.5) == [101.25, 102.25, 103.25]


def test_rows_of_a_topic_that_is_called_like_the_control_stream_are_rows(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TUMBLE)
    stage.now = 101.0
    stage.batch(101, rows=1, topic=stage.control.name)
    assert stage.until(200) == [110]


def test_records_that_told_nothing_leave_a_window_open(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TUMBLE)
    stage.now = 101.0
    stage.batch(101, rows=1)
    stage.now = 110.25
    stage.batch(110.1, rows=1)
    assert stage.until(200) == [110.5, 120]


BERLIN = "SET 'table.local-time-zone' = 'Europe/Berlin';"
HOURS = TUMBLE.replace("'10' SECOND", "'1' HOUR")
BACK = datetime(2026, 10, 25, 0, 10, tzinfo=UTC).timestamp()  # 02:10, and 02:10 again an hour later


def test_a_window_in_a_zone_is_asked_for_where_offsets_can_put_its_end(tmp_path: Path) -> None:
    """The window of a row at 02:10 summer time ends at 03:00, 1 h 50 min later."""
    stage = Stage(tmp_path, HOURS, sets=BERLIN)
    stage.now = BACK
    stage.batch(BACK, rows=1)
    asked = [(at - BACK) / 60 for at in stage.until(BACK + 4 * 3600)]
    assert 110.0 in asked
    assert asked == [5.0 + 15 * n for n in range(12)]
    stage.now = BACK + 86_400
    stage.batch(stage.now, rows=1)
    assert len(stage.until(BACK + 90_000)) == 4
