"""Where a streaming job keeps its progress, and whether the plan it belongs to is still the same."""

from __future__ import annotations

import json
import re
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeGuard

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.physical import numbers
from flinkddl.plan.stateforms import MERGES, NEWER, TABLES
from flinkddl.runtime.storage.file_systems import LOCAL, local_path
from flinkddl.runtime.storage.marks import check_marks, exchanged, how_to_keep, ids_of
from flinkddl.runtime.storage.moves import Move, begin, clear, finish, pending_plan
from flinkddl.show.dataflow import flow_of
from flinkddl.spark import job as J
from flinkddl.spark.edits import NOTHING, Edit, compare
from flinkddl.spark.fingerprint import BY_KEY
from flinkddl.spark.folders import folder_inside, folder_name, fresh_folder
from flinkddl.spark.meaning import meanings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from flinkddl.runtime.kafka.admin import Offsets
    from flinkddl.runtime.storage.file_systems import Storage

PLAN_FILE = "flinkddl-plan.json"
PARTITIONS_FILE = "flinkddl-partitions.json"
STOPS_FILE = "flinkddl-stops.json"
END_FILE = "end.json"  # in the folder of a control stream: the row that ends the input
WITH_ALL_FILE = "all.json"  # the same, where it was there before the batch that has all of the input
Fingerprint = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint of one job: its folder, whether it goes when the run ends, and the file system it lies in.

    ``changed`` says which operator is another one than when it was written, where that does not touch what it holds;
    ``edit`` where the state of each query is, and under which numbers; ``left`` are folders that queries had before,
    ``was`` names that the job had.
    """

    root: str
    temporary: bool
    storage: Storage = LOCAL
    changed: str = ""
    edit: Edit = NOTHING
    left: frozenset[str] = frozenset()
    was: tuple[str, ...] = ()

    @property
    def local(self) -> Path | None:
        """The folder as a local path, None where it lies in another file system."""
        return local_path(self.root)

    def location(self, write: str) -> str:
        """Return ``checkpointLocation`` of one write's query."""
        return f"{self.root}/{self.edit.folders.get(write) or folder_inside(write)}"

    def control(self, step: str) -> str:
        """Return the folder of a control stream (see changelog.md, "End of input")."""
        return f"{self.root}/control/{folder_inside(step)}"

    def frame(self, step: str) -> str:
        """Return the folder into which a batch DataFrame of a streaming job is written."""
        return f"{self.root}/frames/{folder_inside(step)}"

    def started(self, write: str) -> bool:
        """Whether a query of that name has planned a batch here before: then its offsets win over any start mode."""
        return self._batches(write, "offsets") != []

    def ended(self, write: str) -> bool:
        """Whether a batch of a query has ended here before: it is committed."""
        return self._batches(write, "commits") != []

    def whole(self, write: str) -> bool:
        """Whether each batch that a query has planned is committed."""
        planned, committed = (max(self._batches(write, log), default=-1) for log in ("offsets", "commits"))
        return planned == committed

    def _batches(self, write: str, log: str) -> list[int]:
        """Return the batches that one of Spark's two logs of a query has whole."""
        return [int(name) for name in self.storage.names(f"{self.location(write)}/{log}") if name.isdigit()]

    def remove(self) -> None:
        """Remove a temporary checkpoint; a lasting one stays."""
        if self.temporary:
            with suppress(FlinkDdlError):
                self.storage.remove(self.root)


def job_folder(root: str, job: J.SparkJob) -> str:
    """Return the folder of a job below ``root`` (a path or URI)."""
    return f"{root.rstrip('/')}/{folder_name(job.name)}"


def open_checkpoint(
    job: J.SparkJob,
    folder: str | None,
    *,
    fresh: bool = False,
    storage: Storage = LOCAL,
    script: tuple[str, str] = ("", ""),
    allow_dropped: bool = False,
) -> Checkpoint:
    """Return the checkpoint of a job below ``folder``, or a temporary one.

    Raises FD820 when it was written by another plan, FD821 when that run was drained to its end, FD887 when it has its
    state in another form and FD822 when its file system refuses; ``fresh`` sets an old one aside
    (``NAME.old-<time>``) instead. ``allow_dropped``: the state of queries that are gone is taken away.
    """
    if folder is None:
        return Checkpoint(temporary_folder(job), temporary=True)
    if storage is LOCAL:
        folder = str(local_path(folder) or folder)
    if fresh and storage.names(job_folder(folder, job)):
        set_aside(storage, job_folder(folder, job))
    checkpoint = checked(job, folder, storage=storage, allow_dropped=allow_dropped)
    return note_plan(checkpoint, job, script)


def checked(job: J.SparkJob, folder: str, *, storage: Storage = LOCAL, allow_dropped: bool = False) -> Checkpoint:
    """Return a job's checkpoint below ``folder``, whose plan is not this job's yet. Raises as ``open_checkpoint``."""
    return checked_at(job, job_folder(folder, job), storage=storage, allow_dropped=allow_dropped)


def checked_at(job: J.SparkJob, root: str, *, storage: Storage = LOCAL, allow_dropped: bool = False) -> Checkpoint:
    """Return the checkpoint in a folder, which need not have the job's name. Raises as ``open_checkpoint``."""
    checkpoint = Checkpoint(root, temporary=False, storage=storage)
    finish(storage, checkpoint.root, PLAN_FILE)
    stored = stored_plan(storage, checkpoint.root)
    if stored is not None:
        checkpoint = replace(checkpoint, left=stored["left"], was=stored["was"])
        _sweep(checkpoint, stored)
        checkpoint = _check(checkpoint, stored, (job, meanings(job)), allow_dropped=allow_dropped)
        _sweep_unplanned(checkpoint, job)
        if job.trigger[0] != "availableNow":
            _check_no_end(checkpoint, job)
    else:
        _sweep_unbegun(storage, root)
    return checkpoint


def note_plan(checkpoint: Checkpoint, job: J.SparkJob, script: Sequence[str]) -> Checkpoint:
    """Write down that the checkpoint is this job's, and return it as it is then.

    Its operators lie where they are looked for from now on. ``job`` is as it was checked. Those that are new must have
    been made (``moves.py``).
    """
    storage, root, edit = checkpoint.storage, checkpoint.root, checkpoint.edit
    was = {write: checkpoint.location(write)[len(root) + 1 :] for write in edit.carried}
    now = {write: fresh_folder(folder) for write, folder in was.items()}
    left = frozenset({*checkpoint.left, *edit.gone, *was.values()})
    checkpoint = replace(checkpoint, edit=replace(edit, folders={**edit.folders, **now}), left=left)
    text = _plan_text(checkpoint, (job, meanings(job)), script, drained=False)
    if edit.carried:
        begin(storage, root, [Move(was[w], now[w], c.places) for w, c in edit.carried.items()], text)
        finish(storage, root, PLAN_FILE)
    else:
        storage.write(f"{root}/{PLAN_FILE}", text)
    for folder in edit.gone:
        storage.remove(f"{root}/{folder}")
    return checkpoint


def _sweep(checkpoint: Checkpoint, stored: Mapping[str, Any]) -> None:
    """Take away what starts that were killed have left, and what ended queries have uploaded where they lay."""
    folders = {str(query["folder"]) for query in stored["meaning"] or () if query.get("folder")}
    clear(checkpoint.storage, checkpoint.root, folders)
    for folder in checkpoint.left - folders:
        checkpoint.storage.remove(f"{checkpoint.root}/{folder}")


def _sweep_unplanned(checkpoint: Checkpoint, job: J.SparkJob) -> None:
    """Take away what a kill has left of a first batch: Spark begins a query in empty folders alone.

    In micro-batches that is half a file of its plan, or of its end. Real-time mode writes both when the batch is over,
    and has state before; over a plan without an end Spark begins anew, with where its sources are to start.
    """
    for run in job.runs:
        if not checkpoint.ended(run.name):
            goes_on = checkpoint.started(run.name) and job.trigger[0] != "realTime"
            for left in ("commits",) if goes_on else ("offsets", "commits", "state"):
                checkpoint.storage.remove(f"{checkpoint.location(run.name)}/{left}")


def _sweep_unbegun(storage: Storage, root: str) -> None:
    """Take away what stores of a job that has another name by now have uploaded where it was."""
    for place in (f"{root}/{name}" for name in storage.names(root) if not name.startswith("flinkddl-")):
        if storage.names(f"{place}/state") and not storage.names(f"{place}/offsets"):
            storage.remove(f"{place}/state")


def set_aside(storage: Storage, folder: str) -> None:
    """Give a job's folder a name with the time, under which nobody looks for it."""
    storage.move(folder, f"{folder}.old-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1000:03d}")


def temporary_folder(job: J.SparkJob) -> str:
    """Make a folder of this machine that only this user reads. Raises FD822."""
    try:
        return tempfile.mkdtemp(prefix=f"flinkddl-{folder_name(job.name)[:40]}-")
    except OSError as error:
        message = f"no temporary checkpoint can be made: {error.strerror or error}"
        raise FlinkDdlError.of("FD822", message, help="point TMPDIR to a folder that this user may write") from error


def stored_plan(storage: Storage, folder: str) -> dict[str, Any] | None:
    """Return what a job's folder says about the run that wrote it; None where none did. Raises FD822."""
    text = pending_plan(storage, folder) or storage.read(f"{folder}/{PLAN_FILE}")
    if text is None:
        return None
    try:
        stored: dict[str, Any] = json.loads(text)
        return {"drained": stored["drained"], "plan": [(str(name), str(words)) for name, words in stored["plan"]]} | {
            "job": stored.get("job", folder.rpartition("/")[2]),
            "queries": [(str(sink), str(query)) for sink, query in stored.get("queries", ())],
            "script": [str(text) for text in stored.get("script", ("", ""))],
            "nodes": [[str(identity), str(words)] for identity, words in stored.get("nodes", ())],
            "transactional": bool(stored.get("transactional", True)),
            "ids": {str(write): str(name) for write, name in stored.get("ids", {}).items()},
            "essence": stored.get("essence"),
            "meaning": stored.get("meaning"),
            "newer": frozenset(form for form in NEWER if stored.get(form)),
            "forms": stored.get("forms"),
            "trigger": str(stored.get("trigger", "")),
            "left": frozenset(map(str, stored.get("left", ()))),
            "was": tuple(map(str, stored.get("was", ()))),
            "renamed": str(stored.get("renamed", "")),
            "together": {str(query): tuple(map(str, parts)) for query, parts in stored.get("together", {}).items()},
        }
    except (ValueError, KeyError, TypeError) as error:
        message = f"'{folder}/{PLAN_FILE}' is no plan of ours: {error}"
        raise FlinkDdlError.of("FD822", message, help="start anew with --fresh, or with another folder") from error


def as_renamed(text: str, old: str, new: str) -> str:
    """Return the text of a job's plan once it has another name: what it was called is told at its next start."""
    stored = json.loads(text)
    return json.dumps(stored | {"job": new, "was": [*stored.get("was", ()), old], "renamed": old}, indent=1)


def holds_positions(job: J.SparkJob, folder: str, storage: Storage = LOCAL) -> bool:
    """Whether a checkpoint below ``folder`` has planned a batch of this job before."""
    checkpoint = Checkpoint(job_folder(folder, job), temporary=False, storage=storage)
    return any(checkpoint.started(run.name) for run in job.runs)


def changed_partitions(
    checkpoint: Checkpoint, places: Mapping[str, Mapping[str, list[int]]], *, known: bool
) -> set[str]:
    """Return the partitions (``topic-0``) that this run and the one before do not share; note those of this run.

    ``known`` says that the run before has planned a batch. Sources without names are known to Spark by their order.
    """
    file = f"{checkpoint.root}/{PARTITIONS_FILE}"
    now = {f"{topic}-{p}" for read in places.values() for topic, numbers in read.items() for p in numbers}
    before = checkpoint.storage.read(file) if known else None
    if before is not None:
        return now ^ set(json.loads(before))
    checkpoint.storage.write(file, json.dumps(sorted(now)))
    return set()


def kept_stops(checkpoint: Checkpoint, stops: dict[str, Offsets], *, known: bool) -> dict[str, Offsets]:
    """Return the stop offsets per read: those of the run that this one goes on from, else ``stops``, which are noted.

    As in Flink, whose checkpoints hold a bounded source's stop: what came in since is not read. ``known`` says that a
    batch was planned.
    """
    if checkpoint.temporary or not stops:
        return stops
    file = f"{checkpoint.root}/{STOPS_FILE}"
    before = checkpoint.storage.read(file) if known else None
    if before is None:
        checkpoint.storage.write(file, json.dumps(stops))
        return stops
    kept = {read: _numbered(topics) for read, topics in json.loads(before).items()}
    return {read: kept.get(read, offsets) for read, offsets in stops.items()}


def _numbered(topics: Mapping[str, Mapping[str, int]]) -> Offsets:
    return {topic: {int(p): offset for p, offset in places.items()} for topic, places in topics.items()}


def is_kept(checkpoint: Checkpoint | None) -> TypeGuard[Checkpoint]:
    """Whether a job has a checkpoint that outlives its run."""
    return checkpoint is not None and not checkpoint.temporary


def forget_stops(checkpoint: Checkpoint) -> None:
    """Note that the run came to its end: the next one has stops of its own."""
    if not checkpoint.temporary:
        checkpoint.storage.remove(f"{checkpoint.root}/{STOPS_FILE}")


def mark_drained(checkpoint: Checkpoint, job: J.SparkJob) -> None:
    """Note that the run ended with a last watermark, after which it cannot go on."""
    if not checkpoint.temporary:
        stored = stored_plan(checkpoint.storage, checkpoint.root)
        text = _plan_text(checkpoint, (job, meanings(job)), stored["script"] if stored else ("", ""), drained=True)
        checkpoint.storage.write(f"{checkpoint.root}/{PLAN_FILE}", text)


Said = tuple["J.SparkJob", list[dict[str, Any]]]
"""A job, and what its queries mean."""


def _plan_text(checkpoint: Checkpoint, of: Said, script: Sequence[str], *, drained: bool) -> str:
    job, said = of
    nodes = [(o.identity, f"{o.name}: {o.state}") for o in flow_of(job).operators if o.state]
    what = {"job": job.name, "drained": drained, "plan": fingerprint(job), "queries": job.queries()}
    what |= {"script": script, "nodes": nodes}
    what["transactional"] = any("transactional-id" in write.options for write in job.writes)
    what |= {"essence": job.essence(), "ids": ids_of(job)}
    newer = job.newer | ({MERGES, TABLES} if _nothing_twice(job) else set())
    what |= {form: form in newer for form in sorted(NEWER)} | {"forms": job.forms}
    what["trigger"] = job.trigger[0]
    what["together"] = {query.name: query.parts for query in job.united}
    what |= {"left": sorted(checkpoint.left), "was": checkpoint.was}
    what["meaning"] = [
        {**query, "folder": checkpoint.location(query["write"])[len(checkpoint.root) + 1 :]}
        for query in _as_numbered(said, checkpoint.edit)
    ]
    return json.dumps(what, indent=1, ensure_ascii=False)


def _nothing_twice(job: J.SparkJob) -> bool:
    """Whether no part of a plan is there twice: what an edit puts there twice then runs once, as in a new job."""
    places = numbers(job.plan)
    return len({*places.values()}) == len(places)


def _as_numbered(found: list[dict[str, Any]], edit: Edit) -> list[dict[str, Any]]:
    """Return what queries mean, with the numbers that their nodes have in the checkpoint."""
    for query in found:
        query["highest"] = edit.highest.get(query["write"], 0)
        query["operators"] = [[*o[:4], edit.numbers.get(o[5], o[4]), *o[5:]] for o in query["operators"]]
    return found


def _check(checkpoint: Checkpoint, stored: Mapping[str, Any], of: Said, *, allow_dropped: bool) -> Checkpoint:
    """Return the checkpoint with what has changed that may change. Raises FD820, FD821, FD887."""
    job, said = of
    again = "start anew with --fresh (the old checkpoint is set aside, not deleted)"
    if stored["drained"]:
        message = f"the run of checkpoint '{checkpoint.root}' was drained: all its windows were closed, it cannot go on"
        raise FlinkDdlError.of("FD821", message, help=again)
    before: Fingerprint = tuple(stored["plan"])
    now = fingerprint(job)
    told = stored["meaning"]
    edit = compare(told, json.loads(json.dumps(said)), stored["left"]) if told else NOTHING
    if old := stored["renamed"]:
        edit = replace(edit, kept=(f"{', '.join(edit.kept) or 'its state'} (was job {old})",))
    if before == now:
        _check_marks(replace(checkpoint, edit=edit), stored, of)
        return replace(checkpoint, edit=edit, changed=f"the job's name. State: {edit.words}" if old else "")
    if _formless(before) == _formless(now):
        raise _other_form(checkpoint, before, now, again)
    changed = first_difference(before, now)
    if _fits(stored["essence"], json.loads(json.dumps(job.essence()))):
        _check_marks(replace(checkpoint, edit=edit), stored, of)
        fates = f". State: {edit.words}" if edit.kept and not (edit.refused or edit.dropped) else ""
        return replace(checkpoint, changed=f"{changed}{fates}", edit=edit)
    message = f"the checkpoint '{checkpoint.root}' belongs to another plan: {changed}"
    if not told or edit.refused:
        words = f". State: {edit.words}" if edit.refused else ""
        raise FlinkDdlError.of("FD820", f"{message}{words}", help=f"{_way_back(stored, of)}, or {again}")
    if edit.dropped and not allow_dropped:
        help = f"--allow-dropped-state takes it away, or {again}"
        raise FlinkDdlError.of("FD820", f"{message}. State would be lost: {edit.words}", help=help)
    if edit.carried and (system := COPIES.match(checkpoint.root)):
        why = f"state would have to be moved to its operators, and {system[0]} copies folders instead of renaming them"
        raise FlinkDdlError.of("FD820", f"{message}; {why}", help=f"{_OLD_QUERY}, or {again}")
    return replace(checkpoint, changed=f"{changed}. State: {edit.words}", edit=edit)


def _way_back(stored: Mapping[str, Any], of: Said) -> str:
    """Return what to do for a job to go on: its sinks may lack the transactional ids alone that they had."""
    return how_to_keep(stored, of[0], [w for w in exchanged(stored, *of) if w in stored["ids"]]) or _OLD_QUERY


_OLD_QUERY = "go back to the old query"


def _check_marks(checkpoint: Checkpoint, stored: Mapping[str, Any], of: Said) -> None:
    """Raise FD820 where what an exactly-once sink has written would not be known any more (``marks.py``)."""
    writes = exchanged(stored, *of)
    check_marks(checkpoint.root, writes, lambda: how_to_keep(stored, of[0], writes), checkpoint.whole)


COPIES = re.compile(r"(s3|s3a|s3n|gs|oss|cos|cosn|swift|wasbs?)://")
"""Object stores, in which a folder that is given another name may be left half there and half here."""


def _formless(plan: Fingerprint) -> Fingerprint:
    return tuple((name, words.removesuffix(BY_KEY)) for name, words in plan)


def _other_form(checkpoint: Checkpoint, before: Fingerprint, now: Fingerprint, again: str) -> FlinkDdlError:
    """Return FD887: the plan is the same, and an operator would look for its state where it is not."""
    old = next(a for (_, a), (_, b) in zip(before, now, strict=True) if a != b)
    was, told = ("by key", "keyed") if old.endswith(BY_KEY) else ("as an aggregate", "aggregate")
    what = old.removesuffix(BY_KEY).rpartition(" #")[0]
    message = f"the checkpoint '{checkpoint.root}' has the state of '{what}' {was}, which this run would keep otherwise"
    # an older version had no form by key of this operator, beside others that it kept by key
    mixed = told == "aggregate" and any(words.endswith(BY_KEY) for _, words in before)
    help = again if mixed else f"SET 'flinkddl.execution.state' = '{told}', or {again}"
    return FlinkDdlError.of("FD887", message, help=help)


def _fits(before: Any, now: Any) -> bool:
    """Whether two essences are one: the same plan over tables of which one has the other's columns, and more behind."""
    if not before or not before[0] or before[0] != now[0] or len(before[1]) != len(now[1]):
        return False
    return all(old[: len(new)] == new[: len(old)] for old, new in zip(before[1], now[1], strict=True))


def _check_no_end(checkpoint: Checkpoint, job: J.SparkJob) -> None:
    """Refuse what a drain has begun with: rows behind the end of time would all be late, and dropped without a word.

    What a bounded run left there that did not come to its first batch is taken away.
    """
    storage, control = checkpoint.storage, f"{checkpoint.root}/control"
    ends = [(step, name) for step in storage.names(control) for name in storage.names(f"{control}/{step}")]
    started = any(checkpoint.started(run.name) for run in job.runs)
    if any(name == END_FILE or (started and name == WITH_ALL_FILE) for _, name in ends):
        message = f"the run of checkpoint '{checkpoint.root}' ended while it was drained: it cannot go on"
        help = "start anew with --fresh (the old checkpoint is set aside); its last windows may not have been written"
        raise FlinkDdlError.of("FD821", message, help=help)
    for step in (step for step, name in ends if name == WITH_ALL_FILE):
        storage.remove(f"{control}/{step}/{WITH_ALL_FILE}")


_COLUMNS = frozenset({"Project", "Sink", "Union", "state"})


def first_difference(before: Fingerprint, now: Fingerprint) -> str:
    """Say in words where two plans part: the operator, what it was and what it is.

    Of several changes in plans of one shape, the first of an operator that is not a mere list of columns.
    """
    if [name for name, _ in before] == [name for name, _ in now]:
        changed = [(name, old, new) for (name, old), (_, new) in zip(before, now, strict=True) if old != new]
        name, old, new = next((c for c in changed if c[0] not in _COLUMNS), changed[0])
        return f"operator '{name}' was '{old}' and is '{new}'"
    for (old_name, _), (name, _) in zip(before, now, strict=False):
        if old_name != name:
            return f"operator '{old_name}' is now '{name}'"
    if len(before) > len(now):
        return f"operator '{before[len(now)][0]}' is gone"
    return f"operator '{now[len(before)][0]}' is new"


def fingerprint(job: J.SparkJob) -> Fingerprint:
    """Return what a checkpoint must match: the job's own list, or else its steps without positions and secrets."""
    return job.fingerprint or tuple(_derived(job))


_LEFT_OUT = {"name", "note", "start", "stop", "table", "options"}
_TELLING_OPTIONS = ("subscribe", "subscribePattern", "assign", "topic", "path")


def _derived(job: J.SparkJob) -> Iterator[tuple[str, str]]:
    items: tuple[J.Step | J.Write, ...] = (*job.steps, *job.writes)
    for item in items:
        parts = [f"{f.name}={getattr(item, f.name)!r}" for f in fields(item) if f.name not in _LEFT_OUT]
        if isinstance(item, J.Read | J.Write):
            parts += [f"{key}={item.options[key]}" for key in _TELLING_OPTIONS if key in item.options]
        yield item.name, f"{type(item).__name__} {', '.join(parts)}"
