"""The development broker: real Apache Kafka in KRaft mode as a child process, for demos and tests.

``with Broker() as broker:`` gives ``broker.bootstrap``; `flinkddl broker start|stop|status` uses the functions below.
"""

from __future__ import annotations

import base64
import contextlib
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.broker import watchdog
from flinkddl.runtime.broker.config import Listener, Security, server_properties, storage_arguments
from flinkddl.runtime.machine.cache import new_log
from flinkddl.runtime.machine.jars import resolve_jars
from flinkddl.runtime.machine.java import find_java

if TYPE_CHECKING:
    from collections.abc import Mapping

READY_SECONDS = 120.0
ATTEMPTS = 3
TAKEN = "Address already in use"
# below the ports that systems give to outgoing connections (Linux 32768 and up, others 49152 and up): those would take
# one of ours between its choice and Kafka's start, which is seconds later on a busy machine
PORTS = range(20000, 32768)
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.awt.headless=true")
LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)


@dataclass(frozen=True)
class BrokerOptions:
    """How the broker runs.

    ``port``: of the plain listener, 0 for a free one; ``heap``: of the JVM, as ``-Xmx`` takes it; ``jars``: a folder of
    jars instead of downloads; ``listeners``: further ones with security; ``properties``: lines for server.properties;
    ``keep``: a folder in which topics outlive the broker, None for data that goes with it.
    """

    port: int = 0
    heap: str = "512m"
    jars: str | None = None
    listeners: tuple[Listener, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    keep: str | None = None


class Broker:
    """A running broker. Start with ``start()`` or ``with``; it ends with this process, however that dies.

    A ``detached`` one lives on (see daemon.py). The folder with its data and keys goes when it ends, unless its data is
    kept elsewhere (``BrokerOptions.keep``).

    Raises FD801 (Java), FD802/FD803 (jars), FD804 (it did not come up; the end of its log is in the message).
    """

    def __init__(self, options: BrokerOptions = BrokerOptions(), *, detached: bool = False) -> None:
        self.options = options
        self.detached = detached
        self.log = new_log("broker")
        self._folder: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self.ports: Mapping[str, int] = {}
        self.security: Security | None = None
        self._cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A", 1)

    @property
    def bootstrap(self) -> str:
        """``host:port`` of the plain listener."""
        return self.address("PLAIN")

    def address(self, listener: str) -> str:
        """Return ``host:port`` of a listener by its name."""
        return f"127.0.0.1:{self.ports[listener]}"

    @property
    def variables(self) -> dict[str, str]:
        """What scripts (``samples/``) know it by: its address; address, user, trust store if secured."""
        found = {"KAFKA_SERVERS": self.bootstrap}
        listener = next((x for x in self.options.listeners if x.sasl and x.tls), None)
        if listener is not None and self.security is not None:
            ((user, password),) = listener.users
            found |= {"KAFKA_SECURE_SERVERS": self.address(listener.name), "KAFKA_USER": user}
            found |= {"KAFKA_PASSWORD": password, "KAFKA_TRUSTSTORE": str(self.security.truststore)}
            found |= {"KAFKA_TRUSTSTORE_PASSWORD": self.security.password}
        return found

    def start(self) -> Broker:
        """Start Kafka and wait until a client is answered; on other ports where another program was faster."""
        free_ports(1, self.options.port)  # before jars are fetched
        java, jars = find_java(), resolve_jars("broker", self.options.jars)
        run = [java, f"-Xmx{self.options.heap}", *JVM_FLAGS, *LOGGING, "-cp", os.pathsep.join(map(str, jars))]
        for _ in range(ATTEMPTS - 1):
            try:
                return self._start_once(run)
            except FlinkDdlError:
                if self.options.port or TAKEN not in self._logged():
                    raise
                self.log = new_log("broker")
        return self._start_once(run)

    def _start_once(self, run: list[str]) -> Broker:
        self._folder = Path(tempfile.mkdtemp(prefix="flinkddl-broker-"))
        names = ["PLAIN", "CONTROLLER", *(x.name for x in self.options.listeners)]
        try:
            self.ports = dict(zip(names, free_ports(len(names), self.options.port), strict=True))
            self._launch(run)
            self._await_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def _launch(self, run: list[str]) -> None:
        assert self._folder is not None
        self.security = Security.make(self._folder, self.options.listeners)
        config = self._folder / "server.properties"
        data = Path(self.options.keep) if self.options.keep else self._folder / "data"
        lines = server_properties(data, self.ports, self.options.listeners, self.security)
        lines |= dict(self.options.properties)
        config.write_text("".join(f"{key}={value}\n" for key, value in lines.items()), encoding="utf-8")
        with self.log.open("ab") as log:
            self._format(data, config, run, log)
            mode, stdin = ("detached", subprocess.DEVNULL) if self.detached else ("owned", subprocess.PIPE)
            guard = [sys.executable, watchdog.__file__, mode, str(self._folder), "--"]
            kafka = [*run, "kafka.Kafka", str(config)]
            self._guard = subprocess.Popen(
                [*guard, *kafka], stdin=stdin, stdout=log, stderr=log, start_new_session=True
            )

    def _format(self, data: Path, config: Path, run: list[str], log: BinaryIO) -> None:
        """Make the storage; one that was kept stays, and with it the cluster's id."""
        if kept := kept_cluster(data):
            self._cluster = kept
            return
        extra = storage_arguments(self.options.listeners)
        tool = ["kafka.tools.StorageTool", "format", "-t", self._cluster, "-c", str(config), *extra]
        if subprocess.run([*run, *tool], stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False).returncode:
            raise self._failed("its storage could not be formatted")

    def _await_ready(self) -> None:
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            if self._guard is None or self._guard.poll() is not None:
                raise self._failed("it ended while starting")
            # another broker may have been faster at the port: ours ends then, and the answer is not ours
            if _port_open(self.ports["PLAIN"]) and answers(self.bootstrap, self._cluster):
                return
            time.sleep(0.1)
        raise self._failed(f"no client was answered within {READY_SECONDS:.0f} s")

    def _logged(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def _failed(self, why: str) -> FlinkDdlError:
        telling = [
            line.strip()
            for line in self._logged().splitlines()
            if line.strip() and not re.match(r"\s*(at |\.\.\. )", line)
        ]
        end = "; ".join(telling[-3:]) or "its log is empty"
        return FlinkDdlError.of("FD804", f"the development broker did not start: {why} ({end})", help=f"see {self.log}")

    @property
    def pid(self) -> int | None:
        """The process id of the guard that runs Kafka, None when it does not run."""
        return self._guard.pid if self._guard is not None and self._guard.poll() is None else None

    def stop(self) -> None:
        """End Kafka and remove its data. Safe to call twice."""
        if self._guard is not None:
            self._guard.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._guard.wait(watchdog.GRACE_SECONDS + 5)
            if self._guard.poll() is None:
                self._guard.kill()
                self._guard.wait()
            if self._guard.stdin is not None:
                self._guard.stdin.close()
            self._guard = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def kept_cluster(data: Path) -> str | None:
    """Return the id of the cluster whose data lies in a folder, None where there is none. Raises FD804."""
    try:
        lines = (data / "meta.properties").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        if data.is_dir() and any(data.iterdir()):
            message = f"'{data}' holds files that are not a broker's"
            raise FlinkDdlError.of("FD804", message, help="give --keep an empty folder, or a new one") from None
        return None
    except OSError as error:
        raise FlinkDdlError.of("FD804", f"'{data}' cannot hold a broker's data: {error.strerror}") from error
    return dict(line.split("=", 1) for line in lines if "=" in line).get("cluster.id")


def free_ports(count: int, first: int = 0) -> list[int]:
    """Return distinct loopback ports that are free now; the first is ``first`` itself where that is not 0."""
    if first and not _is_free(first):
        message = f"port {first} is taken by another program"
        help = "give another --port, or none for a free one; what is sent to this one goes to that program"
        raise FlinkDdlError.of("FD804", message, help=help)
    given = [first] if first else []
    free = (p for p in random.sample(PORTS, len(PORTS)) if p != first and _is_free(p))
    return [*given, *islice(free, count - len(given))]


def _is_free(port: int) -> bool:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _port_open(port: int) -> bool:
    with socket.socket() as sock:
        sock.settimeout(0.5)
        return sock.connect_ex(("127.0.0.1", port)) == 0


def answers(bootstrap: str, cluster: str | None = None) -> bool:
    """Return whether a real client gets the topic list of a broker, and of that cluster if one is named."""
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    try:
        with KafkaAdmin({"bootstrap.servers": bootstrap}, timeout=2.0) as admin:
            admin.topics()
            return cluster in (None, admin.cluster_id())
    except FlinkDdlError:
        return False
