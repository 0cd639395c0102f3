"""Jobs as other processes see them: a small file a job in a folder of the user, and the requests put beside it.

A run writes ``ID.json`` anew while its job goes on (``Entry.publish``); ``flinkddl jobs`` reads it. Whether the process
lives is asked of the machine: its number and when it began, so that a dead process and a number used again are told.
A request (stop, savepoint) is a file ``ID.request``, which the run takes away and acts on: no signal goes to a number
that may be somebody else's. Files are 0600 in a folder of 0700, and hold no secret.
"""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.diagnostics.secrets import scrub
from flinkddl.runtime.machine.process import began, machine_name, user_name

ENDED = frozenset({"FINISHED", "CANCELED", "FAILED", "LOST"})
KEPT = 50  # jobs that have ended, the latest
SILENCE_SECONDS = 60.0  # after which a run on another machine counts as lost
LOG_BYTES = 1_000_000  # of a log; the one before it is kept too


@dataclass(frozen=True)
class Record:
    """One job. ``state`` is Flink's word, times are epoch seconds, ``lag`` records by topic.

    ``sinks``, ``sources`` and ``batches`` are for people: what ``status`` prints. ``answer`` is what became of the
    last request: its id, a text, and whether it is an error.
    """

    id: str
    name: str
    job: str
    script: str
    pid: int = field(default_factory=os.getpid)
    machine: str = field(default_factory=machine_name)
    began: str = field(default_factory=lambda: began(os.getpid()))
    host: str = field(default_factory=socket.gethostname)
    user: str = field(default_factory=user_name)
    started: float = field(default_factory=time.time)
    updated: float = 0.0
    ended: float | None = None
    state: str = "INITIALIZING"
    waiting: str = ""
    restarts: int = 0
    failure: str = ""
    checkpoint: str | None = None
    mode: str = ""
    batches: int = 0
    rows_in: int = 0
    rows_out: int = 0
    lag: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    sources: list[dict[str, Any]] = field(default_factory=list)
    sinks: list[dict[str, Any]] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self.state in ENDED

    @property
    def seconds(self) -> float:
        """How long it has run; of a lost one, until it was heard of last."""
        return max(0.0, (self.ended or (self.updated if self.over else time.time())) - self.started)

    @property
    def told_apart(self) -> str:
        """The name and what tells it from others of that name."""
        return f"{self.id} ({self.name}, {self.state}, process {self.pid})"


@dataclass(frozen=True)
class Request:
    """What another process asks of a job: ``op`` is stop or savepoint; ``now`` cuts the running batch off."""

    op: str
    now: bool = False
    drain: bool = False
    savepoint: str | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:8])


def jobs_dir(given: str | None = None) -> Path:
    """Return the folder of jobs: ``given``, else ``$FLINKDDL_JOBS``, else ``$XDG_STATE_HOME/flinkddl/jobs``."""
    if given or (given := os.environ.get("FLINKDDL_JOBS")):
        return Path(given)
    return Path(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")) / "flinkddl/jobs"


# ---- who runs ------------------------------------------------------------------------------------------------------


class Entry:
    """A job of this process in the folder. Raises OSError where the folder cannot be used."""

    def __init__(self, folder: Path, name: str, job: str, script: str) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = folder
        self.record = _published(folder, Record(_free(folder, name), name, job, script))
        self.log = Log(log_path(folder, self.record.id))
        _forget_old(folder)

    def publish(self, **changes: Any) -> None:
        """Write what has changed, and once in a while that the process lives."""
        now = replace(self.record, **changes)
        if now != self.record or time.time() - self.record.updated > SILENCE_SECONDS / 4:
            self.record = _published(self.folder, now)

    def requested(self) -> Request | None:
        """Take the request that lies there, if any."""
        path = self.folder / f"{self.record.id}.request"
        with suppress(OSError, ValueError, TypeError):
            text = path.read_text(encoding="utf-8")
            path.unlink()
            return Request(**json.loads(text))
        return None


def _free(folder: Path, name: str) -> str:
    """Return ``<pid>-<n>``: one that a dead process had is used again only once that has been forgotten."""
    for n in range(1, 100_000):
        id = f"{os.getpid()}-{n}"
        with suppress(FileExistsError):
            os.close(os.open(folder / f"{id}.json", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return id
    raise OSError(f"no place for '{name}'")


def _published(folder: Path, record: Record) -> Record:
    record = replace(record, updated=time.time())
    _write(folder / f"{record.id}.json", json.dumps(asdict(record), ensure_ascii=False))
    return record


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


class Log:
    """A job's log as a stream: no passwords of URLs, and never longer than LOG_BYTES and the log before it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, text: str) -> int:
        """Append a text; a log that cannot be written is no reason to end a job."""
        with suppress(OSError):
            if self._path.exists() and self._path.stat().st_size + len(text) > LOG_BYTES:
                self._path.replace(self._path.with_suffix(".log.1"))
            flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY
            with os.fdopen(os.open(self._path, flags, 0o600), "a", encoding="utf-8") as file:
                file.write(scrub(text, ()))
        return len(text)

    def flush(self) -> None:
        """Each text is written when it comes."""


def log_path(folder: Path, id: str) -> Path:
    """Return where a job's log lies; the one before it has ``.1`` behind."""
    return folder / f"{id}.log"


# ---- who looks -----------------------------------------------------------------------------------------------------


def records(folder: Path) -> list[Record]:
    """Return all jobs of the folder, in the order of their start; those whose process is gone are LOST."""
    found = (_read(path) for path in folder.glob("*.json"))
    return sorted((_looked_at(r) for r in found if r is not None), key=lambda r: (r.started, r.id))


def find(folder: Path, name: str) -> Record:
    """Return the job of an id, or of a name: the one that runs, else the last one. Raises FD854 and FD855."""
    every = records(folder)
    named = [r for r in every if r.id == name] or [r for r in every if name in (r.name, r.job)]
    live = [r for r in named if not r.over]
    if len(live) > 1:
        ids = ", ".join(r.told_apart for r in live)
        raise FlinkDdlError.of("FD855", f"{len(live)} jobs named '{name}' run: {ids}", help="say which one by its id")
    if not named:
        near = get_close_matches(name, list(dict.fromkeys([r.name for r in every] + [r.id for r in every])), 1)
        help = f"did you mean '{near[0]}'?" if near else "`flinkddl jobs list` has them all"
        raise FlinkDdlError.of("FD854", f"there is no job '{name}' in '{folder}'", help=help)
    return (live or named)[-1]


def ask(folder: Path, record: Record, request: Request) -> None:
    """Put a request to a job's process. Raises FD856 where that runs on another machine or cannot be asked."""
    if record.machine != machine_name():
        message = f"job '{record.name}' runs on host '{record.host}', and is asked there"
        raise FlinkDdlError.of("FD856", message, help=f"run this on '{record.host}'")
    try:
        _write(folder / f"{record.id}.request", json.dumps(asdict(request)))
    except OSError as error:
        message = f"job '{record.name}' cannot be asked: {error.strerror or error}"
        raise FlinkDdlError.of("FD856", message, help=f"look who may write '{folder}'") from error


def _read(path: Path) -> Record | None:
    known = {f.name for f in fields(Record)}
    with suppress(OSError, ValueError, TypeError, AttributeError):
        return Record(**{k: v for k, v in json.loads(path.read_text(encoding="utf-8")).items() if k in known})
    return None


def _looked_at(record: Record) -> Record:
    if record.over:
        return record
    if record.machine == machine_name() and record.began:
        gone = began(record.pid) != record.began
    else:
        gone = time.time() - record.updated > SILENCE_SECONDS
    return replace(record, state="LOST") if gone else record


def _forget_old(folder: Path) -> None:
    for record in [r for r in records(folder) if r.over][:-KEPT]:
        for path in folder.glob(f"{record.id}.*"):
            path.unlink(missing_ok=True)
