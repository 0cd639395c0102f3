"""State of other jobs beside a checkpoint: is it this job's own, under the name that it had before?

A job's folder is its name. Under another name (a sink is renamed, ``pipeline.name`` is set, an INSERT moves into a
statement set) it would begin anew beside its state, and write everything again, without a word.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.checkpoint import fingerprint, job_folder, stored_plan
from flinkddl.runtime.storage.hold import holder
from flinkddl.spark.edits import compare
from flinkddl.spark.folders import folder_name
from flinkddl.spark.meaning import plain_meanings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from flinkddl.runtime.storage.file_systems import Storage
    from flinkddl.spark.job import SparkJob

_ASIDE = re.compile(r"\.old-\d{8}-\d{6}-\d{3}")


def check_neighbours(storage: Storage, root: str, job: SparkJob, others: Collection[str]) -> None:
    """Raise FD825 when a job that has no state below ``root`` reads and asks for the same as one that has.

    ``others``: the names of this script's jobs; what lies under them is theirs. State that a live run holds is that
    run's, a drained one cannot be gone on from, and a run that read nothing has none. But what was this job's until it
    got another name is so whoever runs on it, and whatever was edited since.
    """
    folder = job_folder(root, job)
    if not job.queries() or stored_plan(storage, folder) is not None:
        return
    claimed = {folder_name(name) for name in others}
    found = []
    for name, place in _beside(storage, folder):
        stored = None if name in claimed or _ASIDE.search(name) else stored_plan(storage, place)
        if stored is not None and job.name in stored["was"]:
            raise _renamed(job, stored, place, _flag(job, stored["job"], others))
        if stored is None or stored["drained"] or not _alike(stored, job):
            continue
        if has_read(storage, place) and holder(storage, place) is None:
            found.append((stored, place))
    if found:
        raise _refusal(job, found, others)


def _beside(storage: Storage, folder: str) -> Iterator[tuple[str, str]]:
    """Yield folder name and folder of the other jobs."""
    above, _, own = folder.rpartition("/")
    root, _, again = above.rpartition("/")
    for name in sorted(storage.names(root if again == own else above)):
        if name != own:
            yield name, beside(folder, name)


def beside(folder: str, name: str) -> str:
    """Return the folder of another job beside that of one; a script's job lies in a folder of its name, twice."""
    above, _, own = folder.rpartition("/")
    root, _, again = above.rpartition("/")
    other = folder_name(name)
    return f"{root}/{other}/{other}" if again == own else f"{above}/{other}"


def names_beside(storage: Storage, folder: str) -> list[str]:
    """Return the names of the other jobs that have a checkpoint beside that of one."""
    stored = (stored_plan(storage, place) for name, place in _beside(storage, folder) if not _ASIDE.search(name))
    return [str(plan["job"]) for plan in stored if plan is not None]


def _alike(stored: Mapping[str, Any], job: SparkJob) -> bool:
    wanted = {query for _, query in job.queries()}
    if stored["queries"]:
        return any(query in wanted for _, query in stored["queries"])
    return _below_sinks(stored["plan"]) == _below_sinks(fingerprint(job))  # written before plans held queries


def _below_sinks(plan: Any) -> list[Any]:
    return [entry for entry in plan if entry[0] != "Sink"]


def has_read(storage: Storage, folder: str) -> bool:
    """Whether a query of a job has planned a batch."""
    return any(n.isdigit() for write in storage.names(folder) for n in storage.names(f"{folder}/{write}/offsets"))


def _renamed(job: SparkJob, stored: Mapping[str, Any], place: str, flag: str) -> FlinkDdlError:
    now = str(stored["job"])
    message = (
        f"job '{job.name}' would start anew, beside the state of job '{now}' at '{place}', which was its own"
        " until it got that name"
    )
    how = f"{_keep_the_name(now)}; to go on under this one, end that job and run with {flag}"
    return FlinkDdlError.of("FD825", message, help=f"{how}; to start anew beside it, run with --fresh")


def _flag(job: SparkJob, old: str, others: Collection[str]) -> str:
    """Return what to run with: of several jobs it must say which, and a name with a "=" in it would say another."""
    named = "=" in old or bool({*others} - {job.name})
    return f"--continue-job {shlex.quote(f'{job.name}={old}' if named else old)}"


def _keep_the_name(old: str) -> str:
    return f"to keep the name, SET 'pipeline.name' = '{old.replace(chr(39), chr(39) * 2)}'"


def _refusal(job: SparkJob, found: list[tuple[dict[str, Any], str]], others: Collection[str]) -> FlinkDdlError:
    stored, place = found[0]
    message = (
        f"job '{job.name}' would start anew, beside the state of job '{stored['job']}' at '{place}', "
        "which reads the same sources with the same query"
    )
    fits = [str(plan["job"]) for plan, _ in found if _goes_on(plan, job)]
    if fits:
        which = " or of ".join(f"'{name}'" for name in fits)
        how = f"to go on under this name with the state of {which}, run with {_flag(job, fits[0], others)}"
        how += f"; {_keep_the_name(fits[0])}"
    else:
        how = _how_to_adopt(job, stored)
    return FlinkDdlError.of("FD825", message, help=f"{how}; to start anew beside it, run with --fresh")


def _goes_on(stored: Mapping[str, Any], job: SparkJob) -> bool:
    """Whether all that a checkpoint keeps would go on in a job."""
    if tuple(stored["plan"]) == fingerprint(job):
        return True
    if not stored["meaning"]:
        return False
    edit = compare(stored["meaning"], plain_meanings(job), stored["left"])
    return not edit.refused and not edit.dropped


def _how_to_adopt(job: SparkJob, stored: Mapping[str, Any]) -> str:
    before, now = [sink for sink, _ in stored["queries"]], [sink for sink, _ in job.queries()]
    if len(before) == len(now) == 1:
        return f"to go on from that state, keep the sink's name '{before[0]}'"
    return "to go on from that state, keep the INSERTs of that job together as they were, and no others with them"
