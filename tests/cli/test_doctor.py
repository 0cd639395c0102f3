"""``flinkddl doctor``: each line is ok, or says what to do."""

from __future__ import annotations

import json
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.doctor import registries_of
from flinkddl.cli.main import main
from flinkddl.diagnostics import SourceText
from flinkddl.runtime.doctor import Finding, Subject, examine
from flinkddl.runtime.session.sessions import SparkOptions
from flinkddl.script.compile import compile_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flinkddl.runtime.broker.server import Broker

TABLES = """
CREATE TABLE src (id INT, name STRING) WITH ('connector' = 'kafka', 'topic' = '{source}',
  'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset', {format});
CREATE TABLE dst (id INT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{sink}', 'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO dst SELECT id, COUNT(*) FROM src GROUP BY id;
"""
JSON = "'format' = 'json'"


def script(folder: Path, servers: str, source: str = "a", sink: str = "b", format: str = JSON) -> str:
    path = folder / "job.sql"
    path.write_text(TABLES.format(servers=servers, source=source, sink=sink, format=format))
    return str(path)


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Return the exit code and the findings by subject (of several with one subject the worst)."""
    code = main(["doctor", "--no-spark", "--output", "json", *arguments])
    found = json.loads(capsys.readouterr().out)
    order = ["ok", "warn", "fail"]
    return code, {f["what"]: f for f in sorted(found, key=lambda f: order.index(f["state"]))}


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers, nobody else takes it
        yield held.getsockname()[1]


def test_without_a_script_it_looks_at_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    _, found = doctor(capsys)
    assert found["python"]["state"] == "ok"
    assert "UTC" in found["clock"]["text"]
    assert "kafka" not in found


@pytest.mark.long
def test_a_cluster_that_does_not_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path, closed_port: int) -> None:
    assert main(["doctor", "--no-spark", script(tmp_path, f"127.0.0.1:{closed_port}")]) == 3
    printed = capsys.readouterr().out
    assert re.search(
        r"^fail  kafka +FD811: .*: table '\S+' reads topic '\w+'.*\n +-> check 'properties\.bootstrap\.servers'",
        printed,
        re.M,
    )
    assert re.search(r"^warn  checkpoint +none is set", printed, re.M)
    assert re.search(r"^\d failed, \d to look at$", printed, re.M)


def test_mistakes_of_the_script_are_said_and_the_rest_is_looked_at(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "bad.sql"
    path.write_text("SELCT 1;")
    code = main(["doctor", "--no-spark", str(path)])
    said = capsys.readouterr()
    assert "FD101" in said.err
    assert "clock" in said.out
    assert code in (1, 3)  # 3 where this machine has no Java


def test_the_checkpoint_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "job.sql"
    path.write_text("CREATE TABLE g (a INT) WITH ('connector' = 'datagen'); SELECT * FROM g;")
    _, found = doctor(capsys, str(path), "--checkpoint", str(tmp_path / "new" / "state"))
    assert found["checkpoint"]["state"] == "ok"
    assert "will be made" in found["checkpoint"]["text"]
    (tmp_path / "file").touch()
    _, found = doctor(capsys, str(path), "--checkpoint", str(tmp_path / "file" / "state"))
    assert found["checkpoint"]["state"] == "fail"
    _, found = doctor(capsys, str(path), "--checkpoint", "s3://bucket/state")
    assert "not tried" in found["checkpoint"]["text"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "job.sql"]


class Registry(BaseHTTPRequestHandler):
    """A schema registry that wants a login."""

    def do_GET(self) -> None:
        known = self.headers.get("Authorization") == "Basic dXNlcjpwdw=="  # user:pw
        body = b'["a-value", "b-value"]' if known else b"{}"
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def ask_registry(tmp_path: Path, format: str) -> Finding:
    compiled = compile_script(SourceText("job.sql", Path(script(tmp_path, "b:1", format=format)).read_text()))
    registries = list(registries_of(compiled.catalog))
    return next(f for f in examine(Subject(SparkOptions(), registries=registries), False) if f.what == "registry")


@pytest.mark.parametrize(("login", "state"), [("user:pw", "ok"), ("user:other", "fail"), ("", "fail")])
def test_the_schema_registry(tmp_path: Path, registry: str, login: str, state: str) -> None:
    format = f"'format' = 'avro-confluent', 'avro-confluent.url' = '{registry}'"
    format += f", 'avro-confluent.basic-auth.user-info' = '{login}'" if login else ""
    found = ask_registry(tmp_path, format)
    assert found.state == state
    assert ("2 subjects" if state == "ok" else "401") in found.text
    assert "other" not in f"{found.text} {found.fix}"


def test_a_registry_that_is_not_there(tmp_path: Path, closed_port: int) -> None:
    found = ask_registry(
        tmp_path, f"'format' = 'avro-confluent', 'avro-confluent.url' = 'http://127.0.0.1:{closed_port}'"
    )
    assert found.state == "fail"
    assert found.fix is not None
    assert "url option" in found.fix


@pytest.mark.kafka
def test_topics_of_a_real_broker(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, broker: Broker, new_topic: Callable[..., str]
) -> None:
    import time

    from tests.runtime.jobs import produce

    source, servers = new_topic("doctor", 2), broker.bootstrap
    produce(servers, source, [{"id": 1}])
    code, found = doctor(capsys, script(tmp_path, servers, source, "nobody-made-this"))
    assert code == 0
    assert found["kafka"]["state"] == "ok"
    assert found["topic"]["state"] == "warn"
    assert "nobody-made-this: does not exist" in found["topic"]["text"]
    code, found = doctor(capsys, script(tmp_path, servers, source, source))
    assert found["topic"]["text"] == f"{source}: 2 partitions, about 1 records"
    produce(servers, source, [{"id": 1}], timestamp_ms=int(time.time() * 1000) + 3_600_000)
    _, found = doctor(capsys, script(tmp_path, servers, source, source))
    assert "1 records are more than a minute ahead" in found["clock"]["text"]
    code, found = doctor(capsys, script(tmp_path, servers, "never-made"))
    assert (code, found["topic"]["state"]) == (3, "fail")
    assert "FD812" in found["topic"]["text"]


@pytest.mark.spark
@pytest.mark.slow
def test_spark_is_started_for_a_try(capsys: pytest.CaptureFixture[str]) -> None:
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "flinkddl", "doctor"], capture_output=True, text=True, check=True)
    assert re.search(r"^ok    spark +Spark 4\.\S+ started in \d+ s$", done.stdout, re.M)
