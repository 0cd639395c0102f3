"""The console blocks of README, line by line and in their order, at the port that they name: minutes, for the night.

``Your first job`` and the samples have tests of their own, ``Two commands`` is CI. LEFT_OUT says what is not typed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flinkddl.runtime.kafka.admin import KafkaAdmin
from tests.e2e import support
from tests.support.newcomer import environment
from tests.support.spark import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SERVERS = "localhost:9092"
LEFT_OUT = {
    "make": "CI, the demo and the samples",
    "job/submit.sh": "tests/e2e/test_packages.py has clusters for it",
    "python": "the nightly run, the soak and the benchmarks themselves",
    "flinkddl broker": "the blocks stand on one that runs already",
}
ORDERS = f"""
CREATE TABLE orders (id INT, v STRING) WITH ('connector' = 'kafka', 'topic' = 'orders', 'format' = 'json',
  'properties.bootstrap.servers' = '{SERVERS}', 'properties.group.id' = 'orders',
  'scan.startup.mode' = 'group-offsets');
CREATE TABLE orders_spark (id INT, v STRING) WITH ('connector' = 'kafka', 'topic' = 'orders_spark', 'format' = 'json',
  'properties.bootstrap.servers' = '{SERVERS}');
INSERT INTO orders_spark SELECT id, v FROM orders;
"""
TOTALS = "".join(
    f"""CREATE TABLE {name} (id INT, n INT, updated_at STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
    'connector' = 'upsert-kafka', 'topic' = '{name}', 'properties.bootstrap.servers' = '{SERVERS}',
    'key.format' = 'json', 'value.format' = 'json');
"""
    for name in ("totals", "totals_new")
)
BLOCKS = [
    (re.findall(r"^#+ (.*)$", README[: m.start()], re.M)[-1], m[1].replace("$ ", "").splitlines())
    for m in re.finditer(r"^```console\n(.*?)^```$", README, re.M | re.S)
]


def lines_of(heading: str, word: str) -> list[str]:
    """Return the lines of the block below a heading in which a word stands."""
    (found,) = [lines for name, lines in BLOCKS if name == heading and any(word in line for line in lines)]
    return [line for line in found if not line.startswith(tuple(LEFT_OUT))]


class Reader:
    """Somebody who types what stands in README, with folders of their own where it says /var/lib and /srv."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("samples", "tests"):
            (folder / name).symlink_to(ROOT / name)
        conf = folder / "conf"
        conf.mkdir()
        confs = "".join(f"{key} {value}\n" for key, value in (SHORT_LIVED | {"spark.driver.memory": "900m"}).items())
        (conf / "spark-defaults.conf").write_text(confs)
        own = {"FLINKDDL_JOBS": str(folder / "jobs"), "SPARK_CONF_DIR": str(conf)}
        self.environment = environment(folder) | own
        self.names: dict[str, str] = {}

    def line(self, text: str) -> str:
        """Return a line with this reader's folders in it, and the names that came of earlier lines."""
        for old, new in ({"/var/lib": str(self.folder), "/srv": str(self.folder / "srv")} | self.names).items():
            text = text.replace(old, new)
        return text

    def type(self, text: str, code: int = 0, given: str | None = None) -> str:
        """Carry out a line that ends; return all that it printed."""
        asked = {"cwd": self.folder, "env": self.environment, "timeout": 300, "input": given}
        done = subprocess.run(["bash", "-c", self.line(text)], capture_output=True, text=True, check=False, **asked)
        assert done.returncode == code, f"{text}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout + done.stderr

    @contextmanager
    def runs(self, text: str, number: signal.Signals | None = signal.SIGTERM) -> Iterator[Path]:
        """Carry out a line that goes on until it gets a signal, or with None is stopped otherwise, and then ends well.

        Gives the file of what it says.
        """
        log = self.folder / f"log-{time.monotonic_ns()}"
        command = ["bash", "-c", "exec " + self.line(text)]
        with log.open("wb") as out:
            run = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=out, stderr=out, start_new_session=True
            )
        try:
            yield log
            if number is not None and run.poll() is None:
                run.send_signal(number)
            assert run.wait(90) in ((0, 130) if number == signal.SIGINT else (0,)), log.read_text()[-3000:]
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)

    def until(self, condition: Callable[[], bool], log: Path, seconds: float = 200) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, log.read_text()[-3000:]
            time.sleep(1)

    def jobs(self) -> list[dict[str, object]]:
        listed = json.loads(self.type("flinkddl jobs list --output json 2> /dev/null"))
        return [j for j in listed if j["state"] == "RUNNING"]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """README's reader, with the broker of the first job at its port and the samples' topics."""
    made = Reader(tmp_path_factory.mktemp("reader"))
    made.type("flinkddl broker start --port 9092 --keep kafka-data")
    try:
        with KafkaAdmin({"bootstrap.servers": SERVERS}) as admin:
            topics = ["pageviews", "pageviews_per_region", "join_orders", "join_customers", "join_named_orders"]
            for topic in (*topics, "orders", "orders_spark", "orders_flink", "totals", "totals_new"):
                admin.create_topic(topic, 1)
        support.send(SERVERS, "pageviews", support.pageviews(200, seed=1), 1)
        yield made
    finally:
        made.type("flinkddl broker stop")


pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(1500)]


def counted(topic: str) -> int:
    return len(support.read_topic(SERVERS, topic))


def test_every_line_has_a_test() -> None:
    told = {"Two commands", "Your first job", "Samples", "Conformance", "Deploying", *(name for name, _ in WALKS)}
    assert {name for name, _ in BLOCKS} <= told


def command_line(reader: Reader) -> None:
    for line in lines_of("From the command line", "assess"):
        if " run " in line:
            with reader.runs(line) as log:
                reader.until(lambda: counted("pageviews_per_region") > 0, log)
        else:
            # some of the collected jobs are refused: that is what assess is for
            assert reader.type(line, code=1 if " assess " in line else 0) or "> job.html" in line
    assert "<html" in (reader.folder / "job.html").read_text()
    assert json.loads((reader.folder / "assessment.json").read_text())


def shell(reader: Reader) -> None:
    (reader.folder / "tables.sql").write_text((ROOT / "samples/pageviews/job.sql").read_text().partition("INSERT")[0])
    bare, tables, file = lines_of("At the terminal", "shell")
    assert "default_database" in reader.type(bare, given="SHOW CURRENT DATABASE;\nQUIT;\n")
    assert "pageviews_per_region" in reader.type(tables, given="SHOW TABLES;\nQUIT;\n")
    with reader.runs(file, signal.SIGINT) as log:  # Ctrl-C
        reader.until(lambda: "Job ID" in log.read_text(), log)


def metrics(reader: Reader) -> None:
    run, doctor = lines_of("At the terminal", "doctor")
    with reader.runs(run) as log:
        reader.until(lambda: bool(reader.jobs()), log)
        assert "flinkddl_" in reader.type("curl -s http://localhost:9249/metrics")
    assert "ok" in reader.type(doctor)


def moving(reader: Reader) -> None:
    (reader.folder / "job.sql").write_text(ORDERS)
    support.send(SERVERS, "orders", [{"id": n, "v": "x"} for n in range(5)], 1)
    with KafkaAdmin({"bootstrap.servers": SERVERS}) as admin:
        admin.commit("orders", {"orders": {0: 2}})
    dry, handover, run = lines_of("Moving a job from Flink", "handover")
    assert "orders" in reader.type(dry)
    with reader.runs(handover) as log:
        reader.until(lambda: counted("orders_spark") == 3, log)
    support.send(SERVERS, "orders", [{"id": 5, "v": "x"}], 1)
    with reader.runs(run) as log:
        reader.until(lambda: counted("orders_spark") == 4, log)
    support.send(SERVERS, "orders_flink", [{"id": n, "v": "x"} for n in range(2, 6)], 1)
    (reader.folder / "job.sql").write_text(TOTALS)
    for line in lines_of("Moving a job from Flink", "verify"):
        reader.type(line)


def savepoints(reader: Reader) -> None:
    run = "flinkddl run samples/pageviews/job.sql -D KAFKA_SERVERS=localhost:9092 --checkpoint /var/lib/checkpoints"
    create, stop, ended, listed, *others = lines_of("Savepoints", "drop")
    support.send(SERVERS, "pageviews", support.pageviews(20, seed=2), 1)  # an earlier run may have read the others
    with reader.runs(run, None) as log:
        reader.until(lambda: any(j["rows_in"] for j in reader.jobs()), log)
        reader.type(create)
        reader.type(stop)
    reader.type(ended)
    shown = reader.type(listed)
    name = re.search(r"savepoint-\S+-\d+-\d+", shown)
    assert name, shown
    told = re.search(r"savepoint-\S+-\d+-\d+", others[0])
    assert told, others
    reader.names[told[0]] = name[0]
    for line in others:
        reader.type(line)


def state(reader: Reader) -> None:
    *listed, entries = lines_of("Looking at state", "state")
    for line in listed:
        assert "pageviews_per_region" in reader.type(line)
    assert '"user_region"' in reader.type(entries)


def jobs(reader: Reader) -> None:
    for name, sample in (("pageviews", "pageviews"), ("orders", "join")):
        (reader.folder / f"{name}.sql").write_text((ROOT / f"samples/{sample}/job.sql").read_text())
    run, *others, logs, stop = lines_of("Jobs of other processes", "logs")
    with reader.runs(run) as log:
        reader.until(lambda: len(reader.jobs()) == 2, log)
        for line in others:
            assert "pageviews" in reader.type(line)
        with reader.runs(logs, signal.SIGINT) as said:  # Ctrl-C
            reader.until(lambda: said.stat().st_size > 0, said)
        reader.type(stop)
        assert len(reader.jobs()) == 1


def deploying(reader: Reader) -> None:
    for line in lines_of("Deploying", "package"):
        reader.type(line)
    assert (reader.folder / "job/submit.sh").exists()


WALKS = [
    ("From the command line", command_line),
    ("At the terminal", shell),
    ("At the terminal", metrics),
    ("Moving a job from Flink", moving),
    ("Savepoints", savepoints),
    ("Looking at state", state),
    ("Jobs of other processes", jobs),
    ("Deploying", deploying),
]


@pytest.mark.parametrize("walk", [walk for _, walk in WALKS], ids=lambda walk: walk.__name__)
def test_line_by_line(reader: Reader, walk: Callable[[Reader], None]) -> None:
    walk(reader)
