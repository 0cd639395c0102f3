"""A packaged job on a standalone cluster: a Python without any package of ours, workers with folders of their own."""

from __future__ import annotations

import json
import os
import subprocess
import time
import venv
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.main import main
from flinkddl.runtime.kafka.reader import TopicReader
from tests.e2e import support
from tests.executor_kills import cluster
from tests.support.java_udf import udf_jar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flinkddl.runtime.broker.server import Broker

JOB = """
CREATE TABLE clicks (user_id BIGINT, page_id BIGINT) WITH ('connector' = 'kafka', 'topic' = '${CLICKS}',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE pages (page_id BIGINT, n BIGINT, PRIMARY KEY (page_id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '${PAGES}', 'properties.bootstrap.servers' = '${KAFKA_SERVERS}', 
  'key.format' = 'json', 'value.format' = 'json');
CREATE FUNCTION twice AS 'shop_rules.twice' LANGUAGE PYTHON;
INSERT INTO pages SELECT twice(page_id), COUNT(*) FROM clicks GROUP BY twice(page_id);
"""
JAVA = """
ADD JAR '{jar}';
CREATE FUNCTION plus AS 'com.acme.Scalars$Plus';
CREATE FUNCTION counted AS 'com.acme.Aggregates$Count' USING JAR '{jar}';
"""
ENDLESS = """
CREATE TABLE ticks (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '100');
CREATE TABLE nowhere (id INT) WITH ('connector' = 'blackhole');
INSERT INTO nowhere SELECT id FROM ticks;
"""
SMALL = ("--driver-memory", "512m", "--executor-memory", "512m", "--conf", "spark.sql.shuffle.partitions=2")
SMALL += ("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1")


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a machine that has Spark and a Python with nothing in it."""
    import pyspark

    folder = tmp_path_factory.mktemp("python")
    venv.create(folder, with_pip=False)
    kept = {key: os.environ[key] for key in ("PATH", "JAVA_HOME") if key in os.environ}
    asked = "import sys, importlib.util; sys.exit(importlib.util.find_spec('sqlglot') is not None)"
    assert subprocess.run([folder / "bin/python", "-c", asked], env=kept, cwd=folder, check=False).returncode == 0
    return kept | {
        "SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": str(folder / "bin/python"),
        "HOME": str(folder), "SPARK_LOCAL_IP": "127.0.0.1",
    }  # fmt: skip


def packaged(folder: Path, broker: Broker, clicks: str, pages: str) -> Path:
    """Package the job; its function is run by the Python of the executors, out of the archive.

    With a scalar and an aggregate function in Java, out of a jar that is nowhere but in the package.
    """
    jar = folder / "acme-functions.jar"
    if java := which("javac") is not None:
        jar.write_bytes(udf_jar().read_bytes())
    called = JOB.replace("COUNT(*)", "plus(counted(), CAST(0 AS BIGINT))")
    (folder / "job.sql").write_text(JAVA.format(jar=jar) + called if java else JOB)
    (folder / "shop_rules.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    given = {"CLICKS": clicks, "PAGES": pages, "KAFKA_SERVERS": broker.bootstrap}
    variables = [word for key, value in given.items() for word in ("-D", f"{key}={value}")]
    out = folder / "package"
    command = ["package", str(folder / "job.sql"), *variables, "--out", str(out), "--allow-python", "shop_rules"]
    command += ["--py-files", str(folder / "shop_rules.py"), "--allow-jar", str(jar)]
    assert main([*command, "--checkpoint", str(folder / "state")]) == 0
    jar.unlink(missing_ok=True)
    return out


def submit(
    package: Path, env: dict[str, str], mode: str, master: str, *options: str
) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(package / "submit.sh"), mode, master, *SMALL, *options, "--", "--until-read"]
    # not from the package's folder: nothing may be found there by chance
    done = subprocess.run(
        command, env=env, cwd=package.parent, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def counted(broker: Broker, topic: str) -> dict[int, int]:
    with TopicReader({"bootstrap.servers": broker.bootstrap}, [topic]) as reader:
        records = list(reader.new_records())
    return {json.loads(record.value)["page_id"]: json.loads(record.value)["n"] for record in records}


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_a_bare_python_runs_it(
    mode: str, master: str, bare: dict[str, str], broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    clicks, pages = new_topic("clicks", 2), new_topic("pages")
    rows = support.pageviews(500, seed=1)
    support.send(broker.bootstrap, clicks, rows, 2)
    wait = ("--conf", "spark.standalone.submit.waitAppCompletion=true") if mode == "cluster" else ()
    submit(packaged(tmp_path, broker, clicks, pages), bare, mode, master, *wait)
    expected: dict[int, int] = {}
    for row in rows:
        expected[2 * row["page_id"]] = expected.get(2 * row["page_id"], 0) + 1
    assert counted(broker, pages) == expected


@pytest.mark.spark
def test_sigterm_lets_the_running_batch_end(bare: dict[str, str], tmp_path: Path) -> None:
    """Python's own signal, forwarded by submit.sh, while the Java process above it is deaf; nobody is left over."""
    (tmp_path / "job.sql").write_text(ENDLESS)
    out, state = tmp_path / "package", tmp_path / "state"
    assert main(["package", str(tmp_path / "job.sql"), "--out", str(out), "--checkpoint", str(state)]) == 0
    command = ["bash", str(out / "submit.sh"), "client", "local[1]", *SMALL]
    with (tmp_path / "log").open("wb") as log:
        job = subprocess.Popen(command, env=bare, cwd=tmp_path, stdout=log, stderr=log)
    end = time.monotonic() + 120
    while not list(state.glob("**/commits/0")) and job.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    job.terminate()
    assert job.wait(60) == 0, (tmp_path / "log").read_text()
    offsets, commits = ({p.name for p in state.glob(f"**/{kind}/[0-9]*")} for kind in ("offsets", "commits"))
    # a next batch may be planned in the moment between: it is done by the next run; none before it is left
    assert offsets >= commits != set()
    assert len(offsets - commits) <= 1
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(out).encode() in p.read_bytes()]
