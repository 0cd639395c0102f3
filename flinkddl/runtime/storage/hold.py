"""Who runs on a checkpoint: one run at a time. A run holds its folder; another is refused, until the hold has ended.

A hold is a numbered file in the job's folder (``flinkddl-owner-000007.json``): who, where, since when, and a time that
is written anew every BEAT_SECONDS. Whoever comes next makes the next number with ``Storage.create``, which one of
several can, and only where the last one has ended:

- it says so: the run let go;
- its process is gone: on the same machine that is seen at once;
- its time stands still: on another machine for EXPIRY_SECONDS, and also while it is watched for two beats more, for the
  clocks of two machines may differ.

A number is never used twice. A run that was thought dead and comes back (a laptop that slept) finds the next number at
its next beat and stops with FD824.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.machine.process import began, machine_name, user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flinkddl.runtime.storage.file_systems import Storage

BEAT_SECONDS = 10.0
EXPIRY_SECONDS = 60.0
_PREFIX, _SUFFIX = "flinkddl-owner-", ".json"
_ATTEMPTS = 5
_runs: set[str] = set()  # the holds of this process


@dataclass(frozen=True)
class Owner:
    """A run. ``machine`` tells machines and process spaces apart, ``began`` processes of one number; ``beat`` in s."""

    run: str
    job: str
    host: str
    user: str
    pid: int
    machine: str
    began: str
    since: str
    beat: float
    ended: bool = False

    def __str__(self) -> str:
        return f"process {self.pid} of user '{self.user}' on host '{self.host}', run {self.run}, since {self.since}"


class Hold:
    """This run's hold of a folder, renewed by a thread until ``release``."""

    def __init__(self, storage: Storage, folder: str, number: int, owner: Owner) -> None:
        self._storage, self._folder, self._number = storage, folder, number
        self._owner = owner
        self._lost: FlinkDdlError | None = None
        self._over, self._writing = threading.Event(), threading.Lock()
        threading.Thread(target=self._renew, name=f"flinkddl hold of {owner.job}", daemon=True).start()

    def check(self) -> None:
        """Raise FD824 when another run has taken the folder over."""
        if self._lost is not None:
            raise self._lost

    def release(self) -> None:
        """Let go. Where that cannot be written the hold ends with this process, or by its time."""
        ours = not self._over.is_set() and self._lost is None
        self.forget()
        if ours:
            with suppress(FlinkDdlError), self._writing:
                self._write(replace(self._owner, ended=True))

    def forget(self) -> None:
        """Let go without a word: the folder has another name now."""
        self._over.set()
        _runs.discard(self._owner.run)

    def rest(self) -> None:
        """Write nothing more: the folder is about to get another name. It is held until ``let_go``."""
        with self._writing:
            self._over.set()

    def let_go(self, folders: Iterable[str]) -> None:
        """Let go after ``rest``, in that of these folders in which this hold lies now."""
        _runs.discard(self._owner.run)
        for path in (_path(folder, self._number) for folder in folders):
            with suppress(FlinkDdlError):
                text = self._storage.read(path)
                if text is not None and _parsed(text, path).run == self._owner.run:
                    self._storage.write(path, _text(replace(self._owner, ended=True)))

    def _renew(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            with suppress(FlinkDdlError):  # the file system is away: the next beat may find it back
                self._beat()
            if self._lost is not None:
                return

    def _beat(self) -> None:
        _, owner = _last(self._storage, self._folder)
        if owner is None or owner.run != self._owner.run:
            by = "nobody: its file is gone" if owner is None else str(owner)
            message = f"the checkpoint '{self._folder}' is not this run's any more; it is held by {by}"
            help = "this run had shown no sign of life and was taken for dead; it ends, the other goes on"
            self._lost = FlinkDdlError.of("FD824", message, help=help)
            return
        with self._writing:
            if not self._over.is_set():
                self._write(replace(self._owner, beat=time.time()))

    def _write(self, owner: Owner) -> None:
        self._storage.write(_path(self._folder, self._number), _text(owner))


def take(storage: Storage, folder: str, job: str, notice: Callable[[str], None] = lambda _: None) -> Hold:
    """Hold a job's folder for this run. Raises FD823 when another run holds it, FD822 when it cannot be written."""
    me = _myself(job)
    _runs.add(me.run)  # before its file is there, which other threads of this process look at
    try:
        return Hold(storage, folder, _claim(storage, folder, me, notice), me)
    except BaseException:
        _runs.discard(me.run)
        raise


def _claim(storage: Storage, folder: str, me: Owner, notice: Callable[[str], None]) -> int:
    """Write the next number where the last one has ended; return it."""
    for _ in range(_ATTEMPTS):
        number, owner = _last(storage, folder)
        if owner is not None and not _is_over(owner, lambda: _last(storage, folder)[1], notice):
            raise _held(folder, owner)
        if storage.create(_path(folder, number + 1), _text(me)):
            break
    last, owner = _last(storage, folder)
    if owner is None or owner.run != me.run:  # somebody was quicker, on a file system that lets two create one file
        raise _held(folder, owner or me)
    for n in _numbers(storage, folder):
        if n < last:
            storage.remove(_path(folder, n))
    return last


def holder(storage: Storage, folder: str) -> Owner | None:
    """Return the run that holds a folder, as far as can be told at once."""
    owner = _last(storage, folder)[1]
    return None if owner is None or (_process_over(owner) if _is_near(owner) else _stale(owner)) else owner


def _is_over(owner: Owner, again: Callable[[], Owner | None], notice: Callable[[str], None]) -> bool:
    if owner.ended:
        return True
    if _is_near(owner):
        return _process_over(owner)
    if not _stale(owner):
        return False
    notice(f"the checkpoint was held by {owner}; looking for {2 * BEAT_SECONDS:.0f} s whether it lives")
    time.sleep(2.5 * BEAT_SECONDS)
    now = again()
    return now is not None and (now.run, now.beat) == (owner.run, owner.beat)


def _stale(owner: Owner) -> bool:
    return owner.ended or abs(time.time() - owner.beat) > EXPIRY_SECONDS


def _is_near(owner: Owner) -> bool:
    """Whether the owner's process can be looked for here, and would be known again."""
    return owner.ended or (owner.machine == machine_name() and bool(owner.began))


def _process_over(owner: Owner) -> bool:
    if owner.pid == os.getpid() and owner.began == began(owner.pid):
        return owner.ended or owner.run not in _runs
    return owner.ended or began(owner.pid) != owner.began


def _held(folder: str, owner: Owner) -> FlinkDdlError:
    if owner.run in _runs:
        message = f"the checkpoint '{folder}' is held by a job of this process that still runs, since {owner.since}"
        help = "stop that job first; of two jobs with one name give one another: SET 'pipeline.name'"
        return FlinkDdlError.of("FD823", message, help=help)
    age = max(0, time.time() - owner.beat)
    message = f"the checkpoint '{folder}' is held by {owner} (last sign of life {age:.0f} s ago)"
    help = (
        f"stop that run first, or use another --checkpoint; a dead run's hold ends by itself in {EXPIRY_SECONDS:.0f} s"
    )
    return FlinkDdlError.of("FD823", message, help=help)


# ---- the files -----------------------------------------------------------------------------------------------------


def _path(folder: str, number: int) -> str:
    return f"{folder}/{_PREFIX}{number:06d}{_SUFFIX}"


def _text(owner: Owner) -> str:
    return json.dumps(asdict(owner), indent=1, ensure_ascii=False)


def _numbers(storage: Storage, folder: str) -> list[int]:
    middles = (n[len(_PREFIX) : -len(_SUFFIX)] for n in storage.names(folder) if n.startswith(_PREFIX))
    return sorted(int(m) for m in middles if m.isdigit())


def _last(storage: Storage, folder: str) -> tuple[int, Owner | None]:
    for _ in range(_ATTEMPTS):
        numbers = _numbers(storage, folder)
        if not numbers:
            return 0, None
        text = storage.read(_path(folder, numbers[-1]))
        if text is not None:  # else the next owner has taken it away meanwhile
            return numbers[-1], _parsed(text, _path(folder, numbers[-1]))
    return numbers[-1], None


def _parsed(text: str, path: str) -> Owner:
    try:
        return Owner(**json.loads(text))
    except (ValueError, TypeError) as error:
        message = f"'{path}' does not say who holds the checkpoint: {error}"
        help = "remove that file when no run uses the checkpoint"
        raise FlinkDdlError.of("FD822", message, help=help) from error


# ---- this process --------------------------------------------------------------------------------------------------


def _myself(job: str) -> Owner:
    since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00") + " UTC"
    pid, host = os.getpid(), socket.gethostname()
    return Owner(uuid.uuid4().hex[:12], job, host, user_name(), pid, machine_name(), began(pid), since, time.time())
