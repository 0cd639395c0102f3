"""A job that goes on under another name: its folder gets that name, with all that lies in it (``run --continue-job``).

The state must fit first, so that a start that is refused leaves everything as it was. From there on it is the new
name's: the old one finds no checkpoint any more, and a start that is killed is ended by the next one (``moves.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.run_options import continued
from flinkddl.runtime.job.supervising.recovering import fitting_savepoint
from flinkddl.runtime.storage.checkpoint import COPIES, PLAN_FILE, as_renamed, checked_at, stored_plan
from flinkddl.runtime.storage.hold import take
from flinkddl.runtime.storage.marks import exchanged, how_to_keep
from flinkddl.runtime.storage.moves import rename
from flinkddl.runtime.storage.neighbours import beside, has_read, names_beside
from flinkddl.runtime.storage.savepoints import came_from
from flinkddl.spark.meaning import plain_meanings

if TYPE_CHECKING:
    from flinkddl.runtime.job.run_options import RunOptions
    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.runtime.storage.file_systems import Storage
    from flinkddl.spark.job import SparkJob


def called_before(job: SparkJob, options: RunOptions) -> str:
    """Return the name under which a job has run so far, where the options say one (``OLD`` or ``NEW=OLD``); else ""."""
    told = [continued(text, job.name) for text in options.continue_job]
    told.sort(key=lambda one: not one[1])  # what names the job goes before what is said of any
    found = next((name for name, _ in told if name), "")
    return found if job.queries() and found != job.name else ""


def place_before(storage: Storage, folder: str, job: SparkJob, options: RunOptions) -> str | None:
    """Return the folder of another name from which a job is to go on, where it has no state under its own."""
    name = called_before(job, options)
    return beside(folder, name) if name and stored_plan(storage, folder) is None else None


def brought(storage: Storage, folder: str, job: SparkJob, options: RunOptions) -> bool:
    """Bring the state that a job has under another name to its folder, where that is asked for; return whether it is.

    Raises FD529 where that cannot be, FD823 where a run holds one of the two, FD820 and as ``checked_at`` where the
    state does not fit, and as ``recover``; nothing has changed then.
    """
    name = called_before(job, options)
    if not name:
        return False
    if options.fresh:
        message = f"job '{job.name}' cannot begin anew (fresh) and go on from the state of '{name}'"
        raise FlinkDdlError.of("FD529", message, help="leave --fresh or --continue-job out")
    stored = stored_plan(storage, folder)
    if stored is not None and name in stored["was"]:
        return True
    old = beside(folder, name)
    _check(storage, (folder, old), job, name)
    _check_savepoint(storage, (folder, old), job, options)
    holds = [take(storage, old, name, options.notice)]
    try:
        holds.append(take(storage, folder, job.name, options.notice))
        _check(storage, (folder, old), job, name)  # again: to take a hold may last, and nobody comes in now
        _check_kept_whole(checked_at(job, old, storage=storage, allow_dropped=options.allow_dropped), job, name)
    except BaseException:
        for hold in holds:
            hold.release()
        raise
    for hold in holds:
        hold.rest()
    try:
        plan = storage.read(f"{old}/{PLAN_FILE}")
        rename(storage, old, folder, as_renamed(plan or "{}", name, job.name))
    finally:
        for hold in holds:
            hold.let_go((old, folder))
    return True


def check_kept(job: SparkJob, options: RunOptions) -> None:
    """Raise FD529 where a job is to go on from a state and no checkpoint says where that lies."""
    if name := called_before(job, options):
        message = f"job '{job.name}' cannot go on from the state of '{name}': no checkpoint directory is set"
        help = "give --checkpoint DIR, or SET 'execution.checkpointing.dir', as that job had it"
        raise FlinkDdlError.of("FD529", message, help=help)


def _check_kept_whole(found: Checkpoint, job: SparkJob, name: str) -> None:
    """Raise FD820 where some of a state does not fit a job although its plan is the same.

    Such as what an exactly-once sink has written, where its transactional id is made of the job's name.
    """
    if not found.edit.refused:
        return
    stored = stored_plan(found.storage, found.root)
    sinks = how_to_keep(stored, job, exchanged(stored, job, plain_meanings(job))) if stored else ""
    message = f"job '{job.name}' cannot go on from the state of '{name}': {', '.join(found.edit.refused)}"
    help = sinks or f"keep the name: SET 'pipeline.name' = '{name}'"
    raise FlinkDdlError.of("FD820", message, help=help)


def _check_savepoint(storage: Storage, places: tuple[str, str], job: SparkJob, options: RunOptions) -> None:
    """Raise FD529 where a job is to begin with a savepoint that this state has not begun with, else as ``recover``."""
    if options.savepoint is None:
        return
    folder, old = places
    savepoint = fitting_savepoint(storage, folder, job, options.savepoint)
    if came_from(Path(old)) != savepoint.name:
        message = f"job '{job.name}' cannot begin with savepoint '{savepoint.name}' and go on from the state at '{old}'"
        help = "RESET 'execution.state-recovery.path', or leave --continue-job out"
        raise FlinkDdlError.of("FD529", message, help=help)


def _check(storage: Storage, places: tuple[str, str], job: SparkJob, name: str) -> None:
    """Raise FD529 where there is no such state, the job has some of its own, or its file system does not rename."""
    folder, old = places
    if stored_plan(storage, folder) is not None or has_read(storage, folder):
        message = f"job '{job.name}' has a checkpoint of its own at '{folder}', and cannot go on from that of '{name}'"
        help = (
            "give this job another name (SET 'pipeline.name'), or move its folder away; of several jobs say which goes"
            " on from it: --continue-job 'NEW=OLD'"
        )
        raise FlinkDdlError.of("FD529", message, help=help)
    if stored_plan(storage, old) is None:
        found = ", ".join(f"'{other}'" for other in names_beside(storage, folder)) or "none"
        message = f"there is no checkpoint of a job '{name}' at '{old}'"
        raise FlinkDdlError.of("FD529", message, help=f"jobs with a checkpoint there: {found}")
    if system := COPIES.match(old):
        message = f"the checkpoint '{old}' cannot get another name: {system[0]} copies folders instead of renaming them"
        help = f"keep the name: SET 'pipeline.name' = '{name}'"
        raise FlinkDdlError.of("FD529", message, help=help)
