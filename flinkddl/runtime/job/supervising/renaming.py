"""A job that goes on under another name: its folder gets that name, with all that lies in it (``run --continue-job``).

The state must fit first, so that a start that is refused leaves everything as it was. From there on it is the new
name's: the old one finds no checkpoint any more, and a start that is killed is ended by the next one (``moves.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.checkpoint import COPIES, PLAN_FILE, as_renamed, checked_at, stored_plan
from flinkddl.runtime.storage.hold import take
from flinkddl.runtime.storage.moves import rename
from flinkddl.runtime.storage.neighbours import beside, has_read, names_beside

if TYPE_CHECKING:
    from flinkddl.runtime.job.run_options import RunOptions
    from flinkddl.runtime.storage.file_systems import Storage
    from flinkddl.spark.job import SparkJob


def called_before(job: SparkJob, options: RunOptions) -> str:
    """Return the name under which a job has run so far, where the options say one (``OLD`` or ``NEW=OLD``); else ""."""
    told = [text.partition("=") for text in options.continue_job]
    own = [old for new, equals, old in told if equals and new == job.name]
    found = next(iter([*own, *(name for name, equals, _ in told if not equals)]), "")
    return found if job.queries() and found != job.name else ""


def place_before(storage: Storage, folder: str, job: SparkJob, options: RunOptions) -> str | None:
    """Return the folder of another name from which a job is to go on, where it has no state under its own."""
    name = called_before(job, options)
    return beside(folder, name) if name and stored_plan(storage, folder) is None else None


def brought(storage: Storage, folder: str, job: SparkJob, options: RunOptions) -> bool:
    """Bring the state that a job has under another name to its folder, where that is asked for; return whether it is.

    Raises FD529 where that cannot be, FD823 where a run holds one of the two, and as ``checked_at`` where the state
    does not fit; nothing has changed then.
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
    holds = [take(storage, old, name, options.notice)]
    try:
        holds.append(take(storage, folder, job.name, options.notice))
        checked_at(job, old, storage=storage, allow_dropped=options.allow_dropped)
    except BaseException:
        for hold in holds:
            hold.release()
        raise
    for hold in holds:
        hold.forget()
    plan = storage.read(f"{old}/{PLAN_FILE}")
    rename(storage, old, folder, as_renamed(plan or "{}", name, job.name))
    return True


def check_kept(job: SparkJob, options: RunOptions) -> None:
    """Raise FD529 where a job is to go on from a state and no checkpoint says where that lies."""
    if name := called_before(job, options):
        message = f"job '{job.name}' cannot go on from the state of '{name}': no checkpoint directory is set"
        help = "give --checkpoint DIR, or SET 'execution.checkpointing.dir', as that job had it"
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
