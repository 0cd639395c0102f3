"""``kill -9`` against an exactly-once job: ``python -m tests.exactly_once --kills 100 --records 200000``.

A topic is filled once. `flinkddl run` copies it (or counts it per key, ``--query counts``) into another topic with
``'sink.delivery-guarantee' = 'exactly-once'``, in small batches; its whole process group is killed at a random moment
after it planned its next batch, and it is started again on the same checkpoint, until the kills are used up. The last
run may end. A ``read_committed`` reader then counts what is lost and what is doubled; exit code 1 if there is any.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tests.support.spark import QUICK
from tests.support.topics import committed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

H = TypeVar("H", bound="Harness")
PARTITIONS = 4
KEYS = 97
START_SECONDS = 240.0
SCRIPT = """
SET 'execution.runtime-mode' = 'streaming';
SET 'flinkddl.execution.max-offsets-per-trigger' = '{limit}';
CREATE TABLE src (id BIGINT, k BIGINT) WITH ('connector' = 'kafka', 'topic' = 'src', 'format' = 'json',
  'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset');
CREATE TABLE snk (id BIGINT, k BIGINT{key}) WITH ({sink}, 'topic' = 'snk',
  'properties.bootstrap.servers' = '{servers}', 'properties.transaction.timeout.ms' = '600000',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'kills');
INSERT INTO snk {query};
"""
QUERIES = {"rows": "SELECT id, k FROM src", "counts": "SELECT COUNT(*), k FROM src GROUP BY k"}
SINKS = {
    "rows": ("", "'connector' = 'kafka', 'format' = 'json'"),
    "counts": (
        ", PRIMARY KEY (k) NOT ENFORCED",
        "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'",
    ),
}
JAVA = f"spark.driver.extraJavaOptions={QUICK}"


@dataclass
class Harness:
    """One copy job and its killer. ``window``: seconds within which a kill falls, after a batch was planned."""

    servers: str
    records: int
    query: str
    limit: int
    folder: Path
    window: float
    random: random.Random
    master: str = "local[2]"
    kills: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    lost: int = -1
    doubled: int = -1

    def fill(self) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers, linger_ms=50, batch_size=1 << 18)
        for i in range(self.records):
            producer.send("src", json.dumps({"id": i, "k": i % KEYS}).encode(), partition=i % PARTITIONS)
        producer.flush()
        producer.close()

    def start(self, limit: int) -> subprocess.Popen[bytes]:
        """Start the job in a process group of its own."""
        script = self.folder / "job.sql"
        key, sink = SINKS[self.query]
        names = {"limit": limit, "servers": self.servers, "key": key, "sink": sink, "query": QUERIES[self.query]}
        script.write_text(SCRIPT.format(**names))
        entry = "from flinkddl.cli.main import entry; entry()"
        command = [sys.executable, "-c", entry, "run", str(script), "--quiet", "--master", self.master]
        command += ["--checkpoint", str(self.folder / "checkpoint"), "--conf", JAVA]
        command += ["--conf", "spark.driver.memory=1g"]
        log = (self.folder / "run.log").open("ab")
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def batches(self, what: str) -> int:
        """Return the newest batch that Spark has planned ("offsets") or noted as done ("commits")."""
        found = self.folder.glob(f"checkpoint/**/{what}/[0-9]*")
        return max((int(p.name) for p in found), default=-1)

    def kill_one(self) -> bool:
        """Run the job until a random moment; False when it ended by itself before."""
        before, job = self.batches("offsets"), self.start(self.limit)
        try:
            if not self.goes_on(job, before):
                return self._ended(job)
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
                job.wait()
        self.kills += 1
        self.moments["batch open" if self.batches("offsets") > self.batches("commits") else "between batches"] += 1
        return True

    def goes_on(self, job: subprocess.Popen[bytes], before: int) -> bool:
        """Wait for a batch after ``before`` and a random moment more; False when the job ended meanwhile."""
        end = time.monotonic() + START_SECONDS
        # a batch that was planned before is run again first; its end shows in the commits alone
        done = self.batches("commits")
        while self.batches("offsets") == before and self.batches("commits") == done:
            if job.poll() is not None:
                return False
            if time.monotonic() > end:
                raise RuntimeError(f"the job did not start; see {self.folder / 'run.log'}")
            time.sleep(0.02)
        time.sleep(self.random.uniform(0, self.window))
        return job.poll() is None

    def _ended(self, job: subprocess.Popen[bytes]) -> bool:
        if job.returncode != 0:
            raise RuntimeError(f"the job failed: {(self.folder / 'run.log').read_text()[-2000:]}")
        return False

    def finish(self) -> None:
        """Let the job come to its end, in larger batches."""
        self.await_end(self.start(max(self.limit, self.records // 4)))

    def await_end(self, job: subprocess.Popen[bytes]) -> None:
        """Wait until the job has ended by itself. Raises RuntimeError when it failed."""
        try:
            job.wait(600)
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
                job.wait()
        self._ended(job)

    def lost_and_doubled(self) -> tuple[int, int]:
        """Return how many records (or counts) are missing, and how many are there more than once."""
        values: list[dict[str, Any]] = [json.loads(r.value) for r in committed(self.servers, "snk")]
        seen = Counter((v["id"], v["k"]) for v in values)
        doubled = sum(n - 1 for n in seen.values())
        if self.query == "rows":
            return self.records - len(seen), doubled
        last = {v["k"]: v["id"] for v in values}
        wanted = Counter(i % KEYS for i in range(self.records))
        return sum(abs(n - last.get(k, 0)) for k, n in wanted.items()), doubled


def run(
    kills: int, records: int, query: str = "rows", window: float = 2.0, seed: int = 1, minutes: float = 1e9
) -> Harness:
    """Kill the job; return the harness with ``lost`` and ``doubled`` counted."""
    end = time.monotonic() + minutes * 60
    limit = max(8, records // max(1, kills * 8))
    with filled(Harness, records, query, limit, window, seed) as harness:
        while harness.kills < kills and time.monotonic() < end and harness.kill_one():
            print(f"kill {harness.kills}: batch {harness.batches('commits')}", flush=True)
        harness.finish()
        harness.lost, harness.doubled = harness.lost_and_doubled()
        return harness


@contextmanager
def filled(kind: type[H], records: int, query: str, limit: int, window: float, seed: int) -> Iterator[H]:
    """Yield a harness of that kind on a broker of its own, its topic filled."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    options = BrokerOptions(heap="400m")
    with tempfile.TemporaryDirectory(prefix="flinkddl-kills-") as folder, Broker(options) as broker:
        harness = kind(broker.bootstrap, records, query, limit, Path(folder), window, random.Random(seed))
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            admin.create_topic("src", PARTITIONS)
            admin.create_topic("snk", PARTITIONS)
        harness.fill()
        yield harness


def arguments(prog: str, about: str | None, kills: int, records: int) -> argparse.ArgumentParser:
    """Return a parser of what every killer takes, with its defaults."""
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--records", type=int, default=records)
    parser.add_argument("--query", choices=list(QUERIES), default="rows")
    parser.add_argument("--window", type=float, default=2.0, help="seconds within which a kill falls")
    parser.add_argument("--seed", type=int, default=1)
    return parser


def report(killed: str, runs: Callable[..., Harness], args: argparse.Namespace) -> int:
    """Run, print what came of it, and return the exit code."""
    begin = time.monotonic()
    done = runs(**vars(args))
    print(
        f"{done.kills} {killed} ({dict(done.moments)}), {args.records} records, query {args.query}: "
        f"{done.lost} lost, {done.doubled} doubled; {time.monotonic() - begin:.0f} s"
    )
    return int(bool(done.lost or done.doubled))


def main() -> int:
    parser = arguments("tests.exactly_once", __doc__, 100, 200_000)
    parser.add_argument("--minutes", type=float, default=1e9, help="no further kills after that time")
    return report("kills", run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
