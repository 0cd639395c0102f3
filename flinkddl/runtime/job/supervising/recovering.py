"""A job that begins with a savepoint: ``execution.state-recovery.path``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.checkpoint import fingerprint, first_difference
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.runtime.storage.savepoints import came_from, load, restore, savepoint_folder

if TYPE_CHECKING:
    from flinkddl.runtime.job.run_options import RunOptions
    from flinkddl.runtime.storage.file_systems import Storage
    from flinkddl.runtime.storage.savepoints import Savepoint
    from flinkddl.spark.job import SparkJob


def recover(storage: Storage, folder: str, job: SparkJob, options: RunOptions) -> None:
    """Bring the savepoint that a job begins with into its folder; where it has begun with that one it goes on.

    Raises FD857 (it cannot be read), FD858 (it does not fit), FD859 (the folder is none of this machine).
    """
    if options.savepoint is None:
        return
    savepoint = fitting_savepoint(storage, folder, job, options.savepoint)
    if came_from(Path(folder)) == savepoint.name:
        options.notice(f"the job has begun with savepoint '{savepoint.name}' before, and goes on from its checkpoint")
    else:
        restore(savepoint, Path(folder))
        options.notice(f"the job begins with savepoint '{savepoint.name}'")


def fitting_savepoint(storage: Storage, folder: str, job: SparkJob, path: str) -> Savepoint:
    """Return the savepoint that a job is to begin with. Raises as ``recover``."""
    if storage is not LOCAL:
        help = "copy it into the checkpoint's folder with that file system's own tools"
        raise FlinkDdlError.of("FD859", f"a savepoint cannot be restored into '{folder}'", help=help)
    savepoint = load(savepoint_folder(path))
    before, now = tuple((name, words) for name, words in savepoint.plan), fingerprint(job)
    if before != now:
        message = f"the savepoint '{savepoint.path}' belongs to another plan: {first_difference(before, now)}"
        help = f"it is of job '{savepoint.job}'; SET its path before that INSERT alone, and RESET it after"
        raise FlinkDdlError.of("FD858", message, help=help)
    return savepoint
