"""The end of input that is told with all its rows: where that is so, and what a run before has left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.job.topics.sources import Sources
from flinkddl.runtime.storage.checkpoint import Checkpoint, open_checkpoint
from flinkddl.script.compile import Start, compile_script

if TYPE_CHECKING:
    from flinkddl.spark.job import SparkJob

CHAIN = "SET 'flinkddl.execution.state' = 'chain';"
BATCHES = "SET 'flinkddl.execution.max-offsets-per-trigger' = '9';"
OPTIONS = """WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b:1', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')"""
SQL = f"""
SET 'execution.runtime-mode' = 'streaming'; SET 'pipeline.name' = 'both';
CREATE TABLE t (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) {OPTIONS};
CREATE TABLE u (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) {OPTIONS};
CREATE TABLE one (k INT, n BIGINT) WITH ('connector' = 'print');
CREATE TABLE two (k INT, n BIGINT) WITH ('connector' = 'print');
EXECUTE STATEMENT SET BEGIN
INSERT INTO one SELECT k, COUNT(*) FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTE))
  GROUP BY k, window_start, window_end;
INSERT INTO two SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY k, window_start, window_end;
END;
"""


def job(sets: str = CHAIN, sql: str = SQL) -> SparkJob:
    compiled = compile_script(SourceText("<t>", sets + sql))
    assert not compiled.has_errors, compiled.diagnostics
    found = next(a.job for a in compiled.actions if isinstance(a, Start))
    assert found is not None
    return found


class Stage:
    """A checkpoint, and runs over it."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint = Checkpoint(str(folder), temporary=False)

    def ends(self, sets: str = CHAIN, *, most: int | None = None, sql: str = SQL) -> bool:
        """Return whether a run tells the end with all rows."""
        return Sources(job(sets, sql), self.checkpoint, max_offsets_per_trigger=most).end_with_all()

    def told(self) -> list[str]:
        """Return the control streams that have the end."""
        storage, control = self.checkpoint.storage, f"{self.checkpoint.root}/control"
        return sorted(step for step in storage.names(control) if storage.names(f"{control}/{step}") == ["all.json"])

    def plan(self, *places: int) -> None:
        """Let queries have planned their first batch."""
        for place in places:
            run = job().runs[place]
            self.checkpoint.storage.write(f"{self.checkpoint.location(run.name)}/offsets/0", "")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_before_and_after_a_kill(stage: Stage) -> None:
    assert len(job().runs) == 2
    assert stage.ends()
    assert stage.told() == ["t_end", "u_end"]
    assert stage.ends()
    stage.plan(0)
    assert stage.ends()
    stage.plan(1)
    assert stage.ends()


def test_killed_between_two_files(stage: Stage) -> None:
    stage.ends()
    stage.checkpoint.storage.remove(f"{stage.checkpoint.control('u_end')}/all.json")
    assert stage.ends()
    assert len(stage.told()) == 2


@pytest.mark.parametrize("begun", [(0,), (0, 1)])
def test_a_run_that_was_begun_without_it(stage: Stage, begun: tuple[int, ...]) -> None:
    stage.plan(*begun)
    assert not stage.ends()
    assert stage.told() == []


@pytest.mark.parametrize(("sets", "most"), [(CHAIN + BATCHES, None), (CHAIN, 9)])
def test_a_limit(stage: Stage, sets: str, most: int | None) -> None:
    assert not stage.ends(sets, most=most)
    assert stage.told() == []
    assert stage.ends()
    assert not stage.ends(sets, most=most)  # nothing was read yet
    assert stage.told() == []
    stage.ends()
    stage.plan(0)
    with pytest.raises(FlinkDdlError, match=r"FD820.*'flinkddl.execution.max-offsets-per-trigger' would part it"):
        stage.ends(sets, most=most)
    assert len(stage.told()) == 2
    stage.plan(1)
    assert stage.ends(sets, most=most)  # all was read with it


def test_windows_of_spark_and_input_without_end_have_none(stage: Stage) -> None:
    assert not stage.ends("SET 'flinkddl.execution.state' = 'keyed';")
    assert not stage.ends(sql=SQL.replace(", 'scan.bounded.mode' = 'latest-offset'", ""))
    assert stage.told() == []


def test_any_limit_of_a_stream_counts(stage: Stage) -> None:
    whole = job()
    steps = tuple(
        replace(s, options={**s.options, "maxFilesPerTrigger": "1"}) if s.name == "u" else s for s in whole.steps
    )
    assert not Sources(replace(whole, steps=steps), stage.checkpoint).end_with_all()


HALF = ".0.7a11.tmp"
STATE = "state/0/0/1.zip"


@pytest.mark.parametrize(
    ("there", "left", "in_real_time"),
    [
        ([f"offsets/{HALF}"], [], []),
        ([f"offsets/{HALF}", STATE], [], []),
        ([STATE], [], []),
        (["offsets/0", f"offsets/{HALF}.crc", STATE], ["offsets/0", f"offsets/{HALF}.crc", STATE], []),
        (["offsets/0", f"commits/{HALF}", STATE], ["offsets/0", STATE], []),
        (["offsets/0", "commits/0", f"commits/{HALF}"], ["offsets/0", "commits/0", f"commits/{HALF}"], None),
        (["offsets/0", "offsets/1", "commits/0", STATE], ["offsets/0", "offsets/1", "commits/0", STATE], None),
    ],
)
def test_what_a_kill_has_left_of_a_first_batch_goes(
    tmp_path: Path, there: list[str], left: list[str], in_real_time: list[str] | None
) -> None:
    """Spark begins a query over no file in its folders; its real-time mode does so over a batch without an end."""
    made = job()
    for name, job_, wanted in (("b", made, left), ("r", replace(made, trigger=("realTime", "1 minute")), in_real_time)):
        checkpoint = open_checkpoint(job_, str(tmp_path / name))
        place, other = (Path(checkpoint.location(run.name)) for run in job_.runs)
        kept = ["commits/0", "offsets/0", STATE]
        for folder, names in ((place, there), (other, kept)):
            for file in (folder / n for n in names):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
        open_checkpoint(job_, str(tmp_path / name))
        assert files(place) == sorted(left if wanted is None else wanted), name
        assert files(other) == kept, name


def files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
