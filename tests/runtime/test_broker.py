from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.broker import daemon as broker_daemon
from flinkddl.runtime.broker.server import Broker, BrokerOptions, free_ports
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.machine.cache import cache_dir

if TYPE_CHECKING:
    from collections.abc import Callable

OWNER = """
import sys, time
from flinkddl.runtime.broker.server import Broker, BrokerOptions
broker = Broker(BrokerOptions(heap="300m")).start()
print(broker.pid, broker._folder, flush=True)
time.sleep(600)
"""


def _alive(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(shown.strip()) and not shown.strip().startswith("Z")


def _children(pid: int) -> list[int]:
    table = subprocess.run(["ps", "-Ao", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return [int(p) for p, parent in (line.split() for line in table.splitlines()) if int(parent) == pid]


def _until(condition: Callable[[], bool], seconds: float = 25) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.kafka
@pytest.mark.parametrize("victim", ["owner", "guard"])
def test_no_orphan_after_sigkill(victim: str) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    guard_text, folder = owner.stdout.readline().split()
    guard = int(guard_text)
    (kafka,) = _children(guard)
    try:
        assert _alive(guard)
        assert _alive(kafka)
        assert Path(folder).is_dir()
        os.kill(owner.pid if victim == "owner" else guard, signal.SIGKILL)
        assert _until(lambda: not _alive(kafka)), "Kafka lives on"
        if victim == "owner":
            assert _until(lambda: not _alive(guard)), "the guard lives on"
            assert _until(lambda: not Path(folder).exists()), "the data folder was left behind"
    finally:
        owner.kill()
        owner.wait()


@pytest.mark.kafka
def test_a_port_that_another_program_took_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        lost = [[other.getsockname()[1], *free_ports(1)]]  # chosen before the other program came
        monkeypatch.setattr(
            "flinkddl.runtime.broker.server.free_ports", lambda *a: lost.pop() if lost else free_ports(*a)
        )
        with Broker(BrokerOptions(heap="300m")) as broker:
            assert not lost
            assert broker.bootstrap != f"127.0.0.1:{other.getsockname()[1]}"
            with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
                assert admin.topics() == []


def _secured(known: dict[str, str]) -> dict[str, str]:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    return {
        "bootstrap.servers": known["KAFKA_SECURE_SERVERS"],
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{module} username="{known["KAFKA_USER"]}" password="{known["KAFKA_PASSWORD"]}";',
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": known["KAFKA_TRUSTSTORE"],
        "ssl.truststore.password": known["KAFKA_TRUSTSTORE_PASSWORD"],
    }


@pytest.mark.kafka
def test_background_broker_starts_once_reports_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jars").symlink_to(cache_dir("jars"))
    monkeypatch.setenv("FLINKDDL_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "20")  # `ps` cuts what it prints to that
    assert broker_daemon.status() is None
    assert main(["broker", "start", "--security"]) == 0
    state = broker_daemon.status()
    assert state is not None
    try:
        assert capsys.readouterr().out.startswith(f"broker at {state.bootstrap}\n")
        file = tmp_path / "broker.env"
        assert state.environment == str(file)
        assert file.stat().st_mode & 0o777 == 0o600  # there are passwords in it
        known = dict(
            line.removeprefix("export ").split("=", 1) for line in file.read_text(encoding="utf-8").splitlines()
        )
        with KafkaAdmin(_secured(known)) as admin:
            assert admin.topics() == []
        with pytest.raises(FlinkDdlError, match=f"FD805: a development broker runs already at {state.bootstrap}"):
            broker_daemon.start()
        with KafkaAdmin({"bootstrap.servers": state.bootstrap}) as admin:
            admin.create_topic("t")
            assert admin.topics() == ["t"]
    finally:
        assert broker_daemon.stop() == state
    assert not _alive(state.pid)
    assert broker_daemon.status() is None
    assert not file.exists()
    with pytest.raises(FlinkDdlError, match="FD805: no development broker runs"):
        broker_daemon.stop()


@pytest.mark.kafka
def test_kept_topics_outlive_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jars").symlink_to(cache_dir("jars"))
    monkeypatch.setenv("FLINKDDL_CACHE", str(tmp_path))
    keep = tmp_path / "kept"
    for n, port in enumerate(free_ports(2)):
        assert main(["broker", "start", "--port", str(port), "--keep", str(keep)]) == 0
        try:
            assert capsys.readouterr().out == f"broker at 127.0.0.1:{port}; its topics are kept in {keep}\n"
            with KafkaAdmin({"bootstrap.servers": f"127.0.0.1:{port}"}) as admin:
                assert admin.topics() == ["t"] * n
                admin.create_topic("t")
        finally:
            assert main(["broker", "stop"]) == 0
        assert capsys.readouterr().out == f"stopped the broker at 127.0.0.1:{port}; its topics are kept in {keep}\n"
    assert main(["broker", "start", "--keep", str(keep), "--security"]) == 2
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").touch()
    assert main(["broker", "start", "--keep", str(other)]) == 3
    assert "holds files that are not a broker's" in capsys.readouterr().err


@pytest.mark.kafka
def test_a_broker_that_cannot_start_shows_the_end_of_its_log() -> None:
    options = BrokerOptions(properties=(("log.retention.ms", "never"),))
    with pytest.raises(
        FlinkDdlError, match=r"FD804: .*did not start: .*Invalid value never for configuration log\.retention\.ms"
    ):
        Broker(options).start()


def test_a_taken_port_is_named(broker_port: int) -> None:
    with pytest.raises(FlinkDdlError, match=f"FD804: port {broker_port} is taken"):
        free_ports(2, broker_port)


@pytest.fixture
def broker_port() -> object:
    import socket

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        yield sock.getsockname()[1]
