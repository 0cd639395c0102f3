"""Where a streaming job keeps its progress, and whether the plan it belongs to is still the same."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.lower import job as J
from flinkddl.lower.folders import folder_inside, folder_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PLAN_FILE = "flinkddl-plan.json"
PARTITIONS_FILE = "flinkddl-partitions.json"
Fingerprint = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint of one job: its folder (a path or URI), and whether it goes when the run ends."""

    root: str
    temporary: bool

    @property
    def local(self) -> Path | None:
        """The folder as a local path, None where it lies in another file system."""
        parsed = urlparse(self.root)
        if parsed.scheme == "file":
            return Path(unquote(parsed.path))
        return Path(self.root) if not parsed.scheme else None

    def location(self, write: str) -> str:
        """Return ``checkpointLocation`` of one write's query."""
        return f"{self.root}/{folder_inside(write)}"

    def control(self, step: str) -> str:
        """Return the folder of a control stream (see changelog.md, "End of input")."""
        return f"{self.root}/control/{folder_inside(step)}"

    def frame(self, step: str) -> str:
        """Return the folder into which a batch DataFrame of a streaming job is written."""
        return f"{self.root}/frames/{folder_inside(step)}"

    def started(self, write: str) -> bool:
        """Whether a query of that name has planned a batch here before: then its offsets win over any start mode."""
        folder = self.local
        if folder is None:
            return False
        offsets = folder / folder_inside(write) / "offsets"
        return offsets.is_dir() and any(p.name.isdigit() for p in offsets.iterdir())

    def remove(self) -> None:
        """Remove a temporary checkpoint; a lasting one stays."""
        if self.temporary:
            shutil.rmtree(self.root, ignore_errors=True)


def job_folder(root: str, job: J.SparkJob) -> str:
    """Return the folder of a job below ``root`` (a path or URI)."""
    return f"{root.rstrip('/')}/{folder_name(job.name)}"


def open_checkpoint(job: J.SparkJob, folder: str | None, *, fresh: bool = False) -> Checkpoint:
    """Return the checkpoint of a job below ``folder``, or a temporary one.

    Raises FD820 when it was written by another plan and FD821 when that run was drained to its end; ``fresh`` sets an
    old one aside (``NAME.old-<time>``) instead.
    """
    if folder is None:
        return Checkpoint(tempfile.mkdtemp(prefix=f"flinkddl-{folder_name(job.name)[:40]}-"), temporary=True)
    checkpoint = Checkpoint(job_folder(folder, job), temporary=False)
    path = checkpoint.local
    if path is None:
        return checkpoint
    if fresh and path.exists():
        path.rename(path.with_name(f"{path.name}.old-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1000:03d}"))
    file = path / PLAN_FILE
    if file.is_file():
        stored = json.loads(file.read_text(encoding="utf-8"))
        _check(checkpoint, stored, fingerprint(job))
    path.mkdir(parents=True, exist_ok=True)
    _store(checkpoint, job, drained=False)
    return checkpoint


def holds_positions(job: J.SparkJob, folder: str) -> bool:
    """Whether a checkpoint below ``folder`` has planned a batch of this job before."""
    checkpoint = Checkpoint(job_folder(folder, job), temporary=False)
    return any(checkpoint.started(w.name) for w in job.writes)


def changed_partitions(
    checkpoint: Checkpoint, places: Mapping[str, Mapping[str, list[int]]], *, known: bool
) -> set[str]:
    """Return the partitions (``topic-0``) that this run and the one before do not share; note those of this run.

    ``known`` says that the run before has planned a batch. Sources without names are known to Spark by their order.
    """
    if checkpoint.local is None:
        return set()
    file = checkpoint.local / PARTITIONS_FILE
    now = {f"{topic}-{p}" for read in places.values() for topic, numbers in read.items() for p in numbers}
    if known and file.is_file():
        return now ^ set(json.loads(file.read_text(encoding="utf-8")))
    file.write_text(json.dumps(sorted(now)), encoding="utf-8")
    return set()


def mark_drained(checkpoint: Checkpoint, job: J.SparkJob) -> None:
    """Note that the run ended with a last watermark, after which it cannot go on."""
    if checkpoint.local is not None and not checkpoint.temporary:
        _store(checkpoint, job, drained=True)


def _store(checkpoint: Checkpoint, job: J.SparkJob, *, drained: bool) -> None:
    assert checkpoint.local is not None
    text = json.dumps({"drained": drained, "plan": fingerprint(job)}, indent=1, ensure_ascii=False)
    part = checkpoint.local / f"{PLAN_FILE}.part"
    part.write_text(text, encoding="utf-8")
    part.replace(checkpoint.local / PLAN_FILE)


def _check(checkpoint: Checkpoint, stored: dict[str, object], now: Fingerprint) -> None:
    again = "start anew with --fresh (the old checkpoint is set aside, not deleted)"
    if stored["drained"]:
        message = f"the run of checkpoint '{checkpoint.root}' was drained: all its windows were closed, it cannot go on"
        raise FlinkDdlError.of("FD821", message, help=again)
    plan = stored["plan"]
    assert isinstance(plan, list)
    before: Fingerprint = tuple((str(name), str(text)) for name, text in plan)
    if before != now:
        raise FlinkDdlError.of(
            "FD820",
            f"the checkpoint '{checkpoint.root}' belongs to another plan: {first_difference(before, now)}",
            help=f"go back to the old query, or {again}",
        )


_COLUMNS = frozenset({"Project", "Sink", "state"})


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
