"""What a run leaves behind, Spark's event log, the checkpoint, logs and the failure file included: no secret in it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from flinkddl.runtime.machine.jars import resolve_jars
from tests.e2e.support import send
from tests.support.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka

CLIENT = (  # not used by a client without TLS, but given to it; the names are those of Kafka's PASSWORD settings
    "ssl.key.password", "ssl.keystore.password", "ssl.truststore.password", "ssl.keystore.key",
    "ssl.keystore.certificate.chain", "ssl.truststore.certificates",
    "sasl.oauthbearer.client.credentials.client.secret",
)  # fmt: skip
SCRIPT = """
SET 'execution.runtime-mode' = 'streaming';
CREATE TABLE numbers (id INT) WITH ('connector' = 'kafka', 'topic' = '{source}', 'format' = 'json', {client},
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
  'properties.bootstrap.servers' = '{servers}');
CREATE TABLE numbered (id INT) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'format' = 'avro-confluent',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
  'avro-confluent.url' = '{url}', 'properties.bootstrap.servers' = '{servers}', {client},
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'x');
CREATE TABLE token_out (id INT) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'format' = 'avro-confluent',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
  'avro-confluent.url' = '{url}', 'avro-confluent.basic-auth.user-info' = '{login}',
  'properties.bootstrap.servers' = '{servers}', {client});
CREATE TABLE db (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'jdbc', 'table-name' = 'missing',
  'url' = 'jdbc:derby:memory:{topic};create=true;password=Pl4nted-url', 'username' = 'u', 'password' = 'Pl4nted-jdbc',
  'driver' = 'org.apache.derby.jdbc.EmbeddedDriver', 'properties.sslPassword' = 'Pl4nted-ssl');
CREATE TABLE own (id INT) WITH ('connector' = 'print');
SHOW CREATE TABLE numbered;
EXPLAIN INSERT INTO numbered SELECT id FROM numbers;
INSERT INTO numbered SELECT id FROM numbers;
INSERT INTO token_out SELECT id FROM numbers;
INSERT INTO own SELECT id FROM numbered;
INSERT INTO db SELECT id FROM numbers;
"""


def test_a_run_leaves_no_secret_behind(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    with Registry(user="me:Pl4nted-registry") as registry:
        url = registry.url.replace("//", "//me:Pl4nted-registry@")
        client = ", ".join(f"'properties.{k}' = 'Pl4nted-{k}'" for k in CLIENT)
        topic, source = new_topic("secrets"), new_topic("numbers")
        send(broker.bootstrap, source, [{"id": i} for i in range(5)], 1)
        places = {"topic": topic, "source": source, "servers": broker.bootstrap}
        script = tmp_path / "job.sql"
        script.write_text(
            SCRIPT.format(url=url, login="me:Pl4nted-registry", client=client, **places),
            encoding="utf-8",
        )
        jars = {str(path.parent) for path in resolve_jars("spark")}
        conf = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.driver.memory": "700m",
        }
        command = [sys.executable, "-m", "flinkddl", "run", str(script), "--checkpoint", str(tmp_path / "state")]
        command += ["--master", "local[2]", *(a for k, v in conf.items() for a in ("--conf", f"{k}={v}"))]
        environment = {**os.environ, "FLINKDDL_CACHE": str(tmp_path / "cache"), "FLINKDDL_JARS": jars.pop()}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240, check=False)
        assert registry.registered, done.stderr[-3000:]
    assert "FD830: the query into 'db' failed" in done.stderr, done.stderr[-3000:]
    assert done.returncode == 3
    script.unlink()
    found = {"stdout": done.stdout, "stderr": done.stderr}
    found |= {str(p.relative_to(tmp_path)): p.read_text("latin-1") for p in tmp_path.rglob("*") if p.is_file()}
    assert any(name.startswith("events/") and "KafkaSink" in text for name, text in found.items())
    for kind in ("state/", "cache/logs/spark-", "cache/logs/failure-"):
        assert any(name.startswith(kind) for name in found), sorted(found)
    leaks = {n: text[max(0, text.index("Pl4nted") - 300) :][:600] for n, text in found.items() if "Pl4nted" in text}
    assert leaks == {}
