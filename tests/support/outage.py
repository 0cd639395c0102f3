"""A broker that goes away and comes back with its data: killed and started again, or frozen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from flinkddl.runtime.broker import watchdog
from flinkddl.runtime.broker.server import JVM_FLAGS, LOGGING, Broker, BrokerOptions
from flinkddl.runtime.machine.jars import resolve_jars
from flinkddl.runtime.machine.java import find_java


class Outages(Broker):
    """A broker to be stopped and started. Its guard is killed, so that nobody sweeps the data; Kafka dies with it."""

    def __init__(self) -> None:
        super().__init__(BrokerOptions(heap="400m"))

    def down(self) -> None:
        """Kill Kafka at once, as a crash does."""
        assert self._guard is not None
        self._guard.kill()
        self._guard.wait()

    def up(self) -> None:
        """Start Kafka again, at the same address over the same data, and wait until a client is answered."""
        assert self._folder is not None
        jars = os.pathsep.join(map(str, resolve_jars("broker")))
        kafka = [find_java(), "-Xmx400m", *JVM_FLAGS, *LOGGING, "-cp", jars, "kafka.Kafka"]
        guard = [sys.executable, watchdog.__file__, "owned", str(self._folder), "--"]
        with self.log.open("ab") as log:
            self._guard = subprocess.Popen(
                [*guard, *kafka, str(self._folder / "server.properties")],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._await_ready()

    def freeze(self, *, thaw: bool = False) -> None:
        """Let Kafka hang: it takes connections and answers nothing; ``thaw`` ends that."""
        assert self._guard is not None
        (kafka,) = _children(self._guard.pid)
        os.kill(kafka, signal.SIGCONT if thaw else signal.SIGSTOP)


def _children(pid: int) -> list[int]:
    from pathlib import Path

    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]
