"""Mode 'auto' at a start: what the checkpoint was begun with, and whether each task has a core."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.run_options import RunOptions
from flinkddl.runtime.job.supervising import fitting, slots
from flinkddl.runtime.job.supervising.fitting import fitted
from flinkddl.runtime.job.supervising.slots import give_back, known_cores, needed, take_cores, taken
from flinkddl.runtime.storage.checkpoint import job_folder, open_checkpoint, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL
from tests.spark.test_realtime import BLOCKED, CHAINED, TAKEN, compiled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.spark.job import SparkJob

COUNT, DISTINCT = TAKEN["count per key"], CHAINED["distinct"][0]


def made(mode: str, sql: str = DISTINCT) -> SparkJob:
    job, errors = compiled(f"SET 'flinkddl.execution.mode' = '{mode}'; SET 'parallelism.default' = '3';{sql}")
    assert job is not None, errors
    return job


def session(cores: int = 0, **conf: str) -> SparkSession:
    """A session that says no more than what it is asked; ``cores`` of its cluster."""
    known = {key.replace("_", "."): value for key, value in conf.items()}
    context = SimpleNamespace(defaultParallelism=cores)
    get = SimpleNamespace(get=lambda key, default=None: known.get(key, default))
    return cast("SparkSession", SimpleNamespace(conf=get, sparkContext=context))


@pytest.fixture(autouse=True)
def _four_partitions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each topic has four partitions, and the session operators by key."""
    monkeypatch.setattr(slots, "_partitions", lambda read: 4)
    monkeypatch.setattr(fitting, "stages_missing", lambda spark: "")
    monkeypatch.setattr(fitting, "stored_run", stored_here)
    yield
    assert taken() == 0


def stored_here(spark: SparkSession, job: SparkJob, options: RunOptions) -> dict[str, Any] | None:
    """What is asked of Spark otherwise: which file system a folder lies in."""
    return None if options.checkpoint is None else stored_plan(LOCAL, job_folder(options.checkpoint, job))


def start(job: SparkJob, spark: SparkSession, checkpoint: Path | None = None, **run: Any) -> tuple[SparkJob, str]:
    told: list[str] = []
    found = fitted(spark, job, RunOptions(notice=told.append, checkpoint=checkpoint and str(checkpoint), **run))
    assert found.choice is None
    return found, "; ".join(told)


ENOUGH = {7: False, 8: True}
"""Cores: whether seven tasks run beside one that is left free."""


@pytest.mark.parametrize("cores", ENOUGH)
def test_each_task_has_a_core_and_one_is_free(cores: int) -> None:
    found, told = start(made("auto"), session(spark_master=f"local[{cores}]"))
    assert found == made("realtime" if ENOUGH[cores] else "micro-batch")
    words = f"7 tasks, each on a core of its own, and {cores} cores"
    said = f"real time: {words}" if ENOUGH[cores] else f"micro-batches: it would be {words}; 1 is left free"
    assert told == f"mode auto: {said}"


def test_what_real_time_jobs_have_taken_is_not_free() -> None:
    spark = session(spark_master="local[14]")
    take_cores(run := Run(), spark, made("realtime"))
    assert taken() == needed(spark, made("realtime")) == 7
    found, told = start(made("auto"), spark)
    assert found.trigger[0] == "processingTime"
    assert "7 of them taken by other jobs" in told
    give_back(run)
    assert start(made("auto"), spark)[0].trigger[0] == "realTime"


class Run:
    """Whose the cores are."""


def test_too_few_cores_take_none() -> None:
    with pytest.raises(FlinkDdlError, match=r"FD663.*all 7 tasks.*has 6 cores"):
        take_cores(Run(), session(spark_master="local[6]"), made("realtime"))
    take_cores(first := Run(), session(spark_master="local[13]"), made("realtime"))
    with pytest.raises(FlinkDdlError, match=r"FD663.*all 7 tasks.*has 13 cores, 7 of them taken"):
        take_cores(Run(), session(spark_master="local[13]"), made("realtime"))
    give_back(first)
    take_cores(run := Run(), session(spark_master="local[1]"), made("micro-batch"))
    assert taken() == 0
    give_back(run)


CLUSTERS: list[tuple[int, dict[str, str], Any]] = [
    (12, {}, 12),
    (12, {"spark_task_cpus": "2"}, 6),
    (2, {}, "not known yet"),
    (12, {"spark_dynamicAllocation_enabled": "true"}, "executors come and go"),
    (12, {"spark_default_parallelism": "12"}, "spark.default.parallelism is set"),
    (12, {"spark_master": "local[4]", "spark_task_cpus": "2"}, 2),
]


@pytest.mark.parametrize(("cores", "conf", "known"), CLUSTERS)
def test_cores_of_a_cluster(cores: int, conf: dict[str, str], known: int | str) -> None:
    found = known_cores(session(cores, **{"spark_master": "spark://h:7077"} | conf))
    assert found == known if isinstance(known, int) else known in str(found)


def test_what_is_not_known_is_not_enough() -> None:
    found, told = start(made("auto"), session(spark_master="yarn", spark_dynamicAllocation_enabled="true"))
    assert found == made("micro-batch")
    assert told.startswith("mode auto: micro-batches: executors come and go")


def test_a_topic_that_is_not_there_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(read: object) -> int:
        raise FlinkDdlError.of("FD812", "topic 'o' is not there")

    monkeypatch.setattr(slots, "_partitions", gone)
    found, told = start(made("auto"), session(spark_master="local[9]"))
    assert found.trigger[0] == "processingTime"
    assert told == "mode auto: micro-batches: topic 'o' is not there"


def test_without_operators_by_key_there_is_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "stages_missing", lambda spark: "another Spark")
    spark = session(spark_master="local[99]")
    assert start(made("auto"), spark)[1] == "mode auto: micro-batches: another Spark"
    assert start(made("auto", COUNT), spark)[0].trigger[0] == "realTime"


CHAIN = "SET 'flinkddl.execution.state' = 'chain';"
BEGUN = {
    "micro-batches": ("micro-batch", DISTINCT, 99, "processingTime", "micro-batches: its checkpoint was begun so"),
    "micro-batches without state": ("micro-batch", TAKEN["filter"], 99, "processingTime", "begun so"),
    "a chain": ("micro-batch", CHAIN + DISTINCT, 8, "realTime", "real time: 7 tasks"),
    "a chain, few cores": ("micro-batch", CHAIN + DISTINCT, 7, "processingTime", "micro-batches: it would be"),
    "real time": ("realtime", DISTINCT, 7, "realTime", "real time: its checkpoint was left so"),
    "real time, no chain": ("realtime", COUNT, 1, "realTime", "real time: its checkpoint was left so"),
    "auto": ("auto", COUNT, 1, "realTime", "real time: its checkpoint was left so"),
}
"""What a checkpoint was begun with, how many cores there are now: in which mode it goes on, and what is said."""


@pytest.mark.parametrize("name", BEGUN)
def test_a_checkpoint_goes_on(name: str, tmp_path: Path) -> None:
    mode, sql, cores, trigger, words = BEGUN[name]
    open_checkpoint(made(mode, sql), str(tmp_path))
    found, told = start(made("auto", sql.removeprefix(CHAIN)), session(spark_master=f"local[{cores}]"), tmp_path)
    assert found.trigger[0] == trigger
    assert words in told


@pytest.mark.parametrize("run", [{"until_read": True}, {"max_offsets_per_trigger": 9}])
def test_how_a_job_is_run_may_ask_for_batches(run: dict[str, Any]) -> None:
    spark = session(spark_master="local[99]")
    assert start(made("auto"), spark)[0].trigger[0] == "realTime"
    assert start(made("auto"), spark, **run)[0].trigger[0] == "processingTime"


def test_of_an_older_run_the_chain_can_be_both() -> None:
    """It did not note its trigger."""
    plan: dict[str, Any] = {"trigger": "", "meaning": [{"mode": "update chain"}]}
    assert fitting.begun_in(plan) == "chain"
    assert fitting.begun_in(plan | {"meaning": None}) == "micro-batches"
    assert fitting.begun_in(plan | {"meaning": [{"mode": "update chain"}, {"mode": "append False"}]}) == "micro-batches"


def test_what_cannot_be_is_said_of_inserts() -> None:
    found, told = start(made("auto", BLOCKED["session"][0]), session())
    assert found.trigger[0] == "processingTime"
    assert told.startswith("mode auto: micro-batches: n3 ")
    assert "gives a window out once" in told
    assert start(made("auto", "SELECT k FROM o;"), session())[1] == ""
    assert start(made("micro-batch"), session()) == (made("micro-batch"), "")
