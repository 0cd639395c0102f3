"""How a job is run, beside what its SQL says."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from flinkddl.runtime.job.reporting.progress import Progress
    from flinkddl.runtime.job.topics.flow import Flow
    from flinkddl.runtime.job.writers import Rows


def to_stderr(text: str) -> None:
    """Say something to the user where nobody else takes it."""
    sys.stderr.write(f"flinkddl: {text}\n")


def continued(text: str, job: str) -> tuple[str, bool]:
    """Return the name that a job had by a text of ``continue_job``, "" where it is of another, and whether it is named.

    A job's name may have a "=" in it: ``=OLD`` names none, ``NEW=OLD`` one that has the name up to there.
    """
    if text.startswith(f"{job}="):
        return text[len(job) + 1 :], True
    return ("", False) if text.find("=") > 0 else (text.removeprefix("="), False)


@dataclass(frozen=True)
class RunOptions:
    """How a job is run, beside what its SQL says.

    ``checkpoint``: folder that outlives the run (a path or URI), None for a temporary one; ``fresh`` sets an old one
    aside; ``allow_dropped`` removes the state of queries that the script no longer has. ``from_first``: topics that
    were created again and are read from their first offset or written on, the state kept. ``continue_job``: names under
    which jobs have run so far (``OLD``, or ``NEW=OLD`` for one job alone): their state goes on under the name of now.
    ``on_rows`` takes the changes of ``flinkddl.collect`` writes, ``on_progress`` each finished batch, ``on_flow`` each
    look at the topics of a real-time job, ``notice`` a line for the user, ``warning`` one that must not be overlooked
    (by default a notice as well). ``max_offsets_per_trigger`` bounds a batch of each Kafka source. ``frames`` are the
    views that hold DataFrames of the user's own, by the name that the job reads them under. ``asked`` ends the waiting
    of a job that is being started. ``script_jobs`` are the names of all jobs that belong together: state that lies
    under one of them is not taken for this job's own. ``savepoint``: the folder of one that the job begins
    with, where it has no state yet. ``script`` is where the job's script was, and the SHA-256 of its text: a savepoint
    says both. ``until_read``: it is stopped once it has read what is there.
    """

    checkpoint: str | None = None
    fresh: bool = False
    allow_dropped: bool = False
    from_first: tuple[str, ...] = ()
    continue_job: tuple[str, ...] = ()
    on_rows: Callable[[Rows], None] | None = None
    on_progress: Callable[[Progress], None] | None = None
    on_flow: Callable[[Flow], None] | None = None
    notice: Callable[[str], None] = to_stderr
    warning: Callable[[str], None] | None = None
    max_offsets_per_trigger: int | None = None
    frames: Mapping[str, str] = field(default_factory=dict)
    asked: Callable[[], bool] = lambda: False
    script_jobs: Collection[str] = ()
    savepoint: str | None = None
    until_read: bool = False
    script: tuple[str, str] = ("", "")
