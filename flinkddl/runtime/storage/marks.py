"""What Kafka knows an exactly-once sink by: its transactional id, under which it marks which batches are written.

Under another id a batch that is run again does not find that it was written, and what the run before left open is
neither ended nor fenced. Between two batches nothing hangs on it. An id that is made for a sink (FD228) begins with the
job's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from flinkddl.spark.job import SparkJob

_ID = "transactional-id"
_MADE = " (where none was given, 'NAME-TOPIC' of its 'pipeline.name', or 'flinkddl-TOPIC' without one)"


def ids_of(job: SparkJob) -> dict[str, str]:
    """Return the transactional id of each write that has one."""
    return {write.name: write.options[_ID] for write in job.writes if _ID in write.options}


def exchanged(stored: Mapping[str, Any], job: SparkJob, said: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the writes of a job, whose tables are the same, that had another transactional id before.

    ``said`` is what its queries mean: an earlier version did not note the ids, but what its sinks are remembered by.
    """
    given, noted = ids_of(job), stored["ids"]
    before = {query["write"]: query.get("sink") for query in stored["meaning"] or ()}
    now = {query["write"]: query["sink"] for query in said}
    differ = [write for write in given if before.get(write) and before[write] != now.get(write)]
    return [write for write in differ if noted.get(write) != given[write]]


def check_marks(root: str, writes: Sequence[str], help: Callable[[], str], whole: Callable[[str], bool]) -> None:
    """Raise FD820 where one of these writes, whose ids are others now, has a batch to run again."""
    for write in writes:
        if not whole(write):
            message = (
                f"the checkpoint '{root}' has a batch that may be written already, which sink '{write}' cannot tell: it"
                " has another transactional id now"
            )
            raise FlinkDdlError.of("FD820", message, help=help())


def how_to_keep(stored: Mapping[str, Any], job: SparkJob, writes: Sequence[str]) -> str:
    """Return what to write for sinks to have the transactional ids that they had; "" for no sink."""
    given = ids_of(job)
    told = []
    for write in (w for w in writes if w in given):
        before = stored["ids"].get(write, "").removesuffix(f"-{write}")
        value = f"'{before}'" if before else f"what it was{_MADE}"
        told.append(f"give table '{write}' 'sink.transactional-id-prefix' = {value}")
    return "; ".join(told)
