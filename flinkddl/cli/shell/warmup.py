"""The Spark session starts in the background while the user types; ``phase`` says what it waits for."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from flinkddl.api import Catalog

_POLL_SECONDS = 0.1


class SparkStart:
    """Builds the session of a catalog in a thread of its own, once."""

    def __init__(self, catalog: Catalog, jars: str | None = None, remote: str | None = None) -> None:
        self._catalog, self._jars, self._remote = catalog, jars, remote
        self._thread: threading.Thread | None = None
        self._over = threading.Event()  # not is_alive(): up to Python 3.12 a Ctrl-C in join() ends a thread in name
        self._error: BaseException | None = None
        self._since = time.monotonic()
        self.phase = "Spark is not started"
        self.ready = False
        self._wanted = False

    def begin(self) -> None:
        """Start the session, unless that is done or under way."""
        if self._thread is None:
            self._since = time.monotonic()
            self._over.clear()
            self._thread = threading.Thread(target=self._run, name="flinkddl spark start", daemon=True)
            self._thread.start()

    def status(self) -> str:
        """Return one line for a person: the phase, and for how long the session is being started."""
        if self.ready or self._thread is None or self._error is not None:
            return self.phase
        return f"{self.phase} ({time.monotonic() - self._since:.0f} s)"

    def wait(self) -> None:
        """Wait until the session is there, in short steps so that Ctrl-C is heard. Raises what the start raised."""
        self.begin()
        self._wanted = True
        while not self._over.is_set() and not self.ready:
            self._over.wait(_POLL_SECONDS)
        if self._error is not None:
            error, self._error, self._thread = self._error, None, None  # the next statement tries again
            raise error

    def _run(self) -> None:
        try:
            if self._remote is None:
                from flinkddl.runtime.machine.jars import spark_jars
                from flinkddl.runtime.machine.java import find_java

                self.phase = "looking for Java"
                find_java()
                self.phase = "looking for jars"
                spark_jars(self._jars)
            self.phase = f"connecting to {self._remote}" if self._remote else "starting Spark"
            version = self._catalog.spark.version
            self.phase, self.ready = f"Spark {version} is ready", True
            if not self._wanted:  # the first query loads half of Spark: better while the user still types
                self._catalog.spark.sql("SELECT flinkddl.decode(X'61', 'UTF-8')").collect()
        except FlinkDdlError as error:
            self._fail(error, error.diagnostics[0].message)
        except Exception as error:  # noqa: BLE001 - a thread's last word must reach the one who waits
            self._fail(error, str(error))
        finally:
            self._over.set()

    def _fail(self, error: Exception, reason: str) -> None:
        if not self.ready:  # otherwise it was only the warming up
            self._error, self.phase = error, f"Spark did not start: {reason}"
