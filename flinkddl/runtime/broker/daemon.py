"""`flinkddl broker start|stop|status`: one broker in the background, known by a file in the cache folder."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.broker import watchdog
from flinkddl.runtime.broker.server import Broker, BrokerOptions, answers
from flinkddl.runtime.machine.cache import cache_dir, locked

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STOP_SECONDS = watchdog.GRACE_SECONDS + 10


@dataclass(frozen=True)
class BrokerState:
    """The background broker: process id of its guard, address, log file, start time (epoch seconds).

    ``environment``: a file of shell variables that scripts know it by, where it is secured; ``keep``: the folder in
    which its topics outlive it.
    """

    pid: int
    bootstrap: str
    log: str
    started: float
    environment: str | None = None
    keep: str | None = None


def start(options: BrokerOptions = BrokerOptions()) -> BrokerState:  # noqa: B008 - frozen value
    """Start the background broker and return when it answers. Raises FD804, FD805 when one runs already."""
    with locked(cache_dir() / ".broker.lock"):
        running = _running()
        if running is not None:
            message = f"a development broker runs already at {running.bootstrap} (process {running.pid})"
            raise FlinkDdlError.of("FD805", message, help="use it, or end it with `flinkddl broker stop`")
        broker = Broker(options, detached=True).start()
        assert broker.pid is not None
        environment = _write_environment(broker.variables) if options.listeners else None
        state = BrokerState(broker.pid, broker.bootstrap, str(broker.log), time.time(), environment, options.keep)
        _file().write_text(json.dumps(asdict(state)), encoding="utf-8")
        return state


def stop() -> BrokerState:
    """End the background broker; data that is not kept goes with it. Raises FD805 when none runs."""
    with locked(cache_dir() / ".broker.lock"):
        state = _running()
        if state is None:
            _file().unlink(missing_ok=True)
            raise FlinkDdlError.of("FD805", "no development broker runs", help="start one: `flinkddl broker start`")
        os.kill(state.pid, signal.SIGTERM)
        end = time.monotonic() + STOP_SECONDS
        while _is_guard(state.pid):
            if time.monotonic() > end:
                os.kill(state.pid, signal.SIGKILL)
            time.sleep(0.1)
        _file().unlink(missing_ok=True)
        _environment().unlink(missing_ok=True)
        return state


def status() -> BrokerState | None:
    """Return the background broker, or None when none runs or it does not answer."""
    state = _running()
    return state if state is not None and answers(state.bootstrap) else None


def _file() -> Path:
    return cache_dir() / "broker.json"


def _environment() -> Path:
    return cache_dir() / "broker.env"


def _write_environment(variables: Mapping[str, str]) -> str:
    """Write variables where only their owner reads them: there are passwords among them."""
    _environment().unlink(missing_ok=True)
    handle = os.open(_environment(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        file.writelines(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    return str(_environment())


def _running() -> BrokerState | None:
    try:
        state = BrokerState(**json.loads(_file().read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):  # no file, or one that another version wrote
        return None
    return state if _is_guard(state.pid) else None


def _is_guard(pid: int) -> bool:
    """Whether a process is one of our guards: a process id alone may have been given to someone else."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # where this very process started it, a finished one must be collected
    command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]  # whole, whatever COLUMNS says
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return watchdog.__file__ in shown and "defunct" not in shown
