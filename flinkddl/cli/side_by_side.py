"""Several scripts in one process and one Spark: each on its own, whatever becomes of its neighbours."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, exit_code, open_catalog
from flinkddl.cli.running import WAIT_SECONDS, Running, report
from flinkddl.diagnostics import Diagnostic, FlinkDdlError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from flinkddl.api import Catalog
    from flinkddl.cli.running import Run
    from flinkddl.script.compile import Compiled


class SideBySide:
    """A thread a script, each with its own tables and jobs; ``base`` has the Spark that they share."""

    def __init__(self, args: argparse.Namespace, base: Catalog, run: Run) -> None:
        self._args, self._base, self._run = args, base, run
        self._lock, self._telling = threading.Lock(), threading.Lock()
        self._shared = False
        self._codes: dict[str, int] = {}
        self._ended: dict[str, str] = {}

    def perform(self, scripts: Sequence[tuple[str, Compiled]], wrong: Sequence[tuple[str, int]]) -> int:
        """Run the scripts to their ends, say what became of each, and return the worst exit code."""
        self._codes |= dict(wrong)
        threads = [
            threading.Thread(target=self._one, args=script, name=f"flinkddl {script[0]}", daemon=True)
            for script in scripts
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():  # short waits, so that a signal is taken
                thread.join(WAIT_SECONDS)
        for script, code in self._codes.items():
            self._run.shown.notice(f"{script}: {self._ended.get(script, f'failed ({code})')}")
        return max(self._codes.values())

    def _one(self, script: str, compiled: Compiled) -> None:
        catalog = open_catalog(self._args)
        try:
            Running(catalog, self._run, lambda: self._share(catalog)).perform(compiled)
            self._codes[script] = OK
            stopped = any(job.status == "stopped" for job in catalog.jobs)
            self._ended[script] = "stopped" if stopped and not self._run.until_read else "finished"
        except FlinkDdlError as error:
            self._failed(script, error)
        except Exception as error:  # noqa: BLE001 - the neighbours go on, and this must be told
            self._failed(script, FlinkDdlError([Diagnostic("FD901", f"'{script}' broke off: {error!r}")]))
        finally:
            catalog.stop()

    def _share(self, catalog: Catalog) -> None:
        """Give a catalog the common Spark; the first one's settings (Kerberos) are those that it is started with."""
        with self._lock:
            if not self._shared:
                self._base.state, self._shared = catalog.state, True
            catalog.join(self._base)

    def _failed(self, script: str, error: FlinkDdlError) -> None:
        self._codes[script] = exit_code(error)
        with self._telling:
            self._run.shown.notice(f"{script} has failed; the other scripts go on")
            report(self._args, error)
