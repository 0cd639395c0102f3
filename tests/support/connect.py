"""A real Spark Connect server for tests: a JVM of its own with a small heap, ended with whoever started it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.runtime.broker import watchdog
from flinkddl.runtime.machine.jars import resolve_jars
from flinkddl.runtime.session.connect import KAFKA_JARS
from tests.support.spark import QUICK, viewfs_conf

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 120
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def connect_server(heap: str = "600m", cores: int = 2) -> Iterator[str]:
    """Start a server with Spark's Kafka connector and none of our jars; yield its address (``sc://...``)."""
    import pyspark

    home = Path(pyspark.__file__).parent
    folder = Path(tempfile.mkdtemp(prefix="flinkddl-connect-"))
    port = _free_port()
    conf = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.jars": ",".join(str(p) for p in resolve_jars("spark") if p.name.startswith(KAFKA_JARS)),
        "spark.ui.enabled": "false",
        "spark.default.parallelism": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **viewfs_conf(),
    }
    submit = [
        str(home / "bin" / "spark-submit"),
        "--class",
        SERVER,
        "--master",
        f"local[{cores}]",
        "--driver-memory",
        heap,
    ]
    submit += ["--driver-java-options", QUICK]
    submit += [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    guard = [sys.executable, watchdog.__file__, "owned", str(folder), "--", *submit, "spark-internal"]
    log = folder / "server.log"
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_CONNECT_MODE": "0", "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as output:
        process = subprocess.Popen(
            guard, stdin=subprocess.PIPE, stdout=output, stderr=output, env=environment, cwd=folder
        )
    try:
        _await(port, process, log)
        yield f"sc://127.0.0.1:{port}"
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(watchdog.GRACE_SECONDS + 10)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(f"the Connect server did not start: {log.read_text(errors='replace')[-2000:]}")
