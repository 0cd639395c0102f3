"""``python -m tests.soak.hour --minutes 60``: a job with state under load for an hour, looked at each minute.

Each tenth minute the load rests for a moment, and ``flinkddl verify`` holds both sinks against topics into which the
producer has written what it computed itself. A line a minute says rows, batches, memory, state and checkpoint. Each
user has a profile and a view before the first minute: from then on the keys are all there, and what still grows leaks.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

USERS, PAGES, VERIFIED = 20_000, 200, 10  # keys; minutes from one look of verify to the next
VIEWED, PROFILES, TOTALS, READERS = "views", "users", "totals", "readers"
JOB = """
SET 'parallelism.default' = '2';
SET 'table.exec.mini-batch.enabled' = 'true'; SET 'table.exec.mini-batch.allow-latency' = '5 s';
SET 'table.exec.mini-batch.size' = '100000';
CREATE TABLE views (user_id INT, page INT, ms INT) WITH ('connector' = 'kafka', 'topic' = 'views', {servers},
  'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE users (user_id INT NOT NULL, tier STRING, PRIMARY KEY (user_id) NOT ENFORCED) WITH ({upsert}, {servers},
  'topic' = 'users');
CREATE TABLE totals (user_id INT NOT NULL, tier STRING, n BIGINT, s BIGINT, m INT, PRIMARY KEY (user_id) NOT ENFORCED)
  WITH ({upsert}, {servers}, 'topic' = 'totals');
CREATE TABLE readers (page INT NOT NULL, n BIGINT, PRIMARY KEY (page) NOT ENFORCED) WITH ({upsert}, {servers},
  'topic' = 'readers');
EXECUTE STATEMENT SET BEGIN
INSERT INTO totals SELECT v.user_id, u.tier, v.n, v.s, v.m FROM (SELECT user_id, COUNT(*) AS n, SUM(CAST(ms AS BIGINT))
  AS s, MAX(ms) AS m FROM views GROUP BY user_id) AS v LEFT JOIN users AS u ON u.user_id = v.user_id;
INSERT INTO readers SELECT page, COUNT(DISTINCT user_id % 100) FROM views GROUP BY page;
END;
"""
UPSERT = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"


class World:
    """The load and what must come of it."""

    def __init__(self, servers: str) -> None:
        from kafka import KafkaProducer

        self.producer = KafkaProducer(bootstrap_servers=servers, linger_ms=50, batch_size=1 << 17)
        self.random = random.Random(23)
        self.tiers: dict[int, str] = {}
        self.totals: dict[int, list[int]] = {}
        self.pages: dict[int, Counter[int]] = {}
        self.written = 0

    def begin(self) -> None:
        """Write a profile and a view of each user."""
        for user in range(USERS):
            self._profile(user)
            self._view(user)
        self.producer.flush()
        self.written += 2 * USERS

    def second(self, rate: int) -> None:
        """Write a second's records, evenly, one of ten a profile (of which a tenth is deleted)."""
        begin = time.perf_counter()
        for i in range(rate):
            user = self.random.randrange(USERS)
            if i % 10 == 0:
                self._profile(user)
            else:
                self._view(user)
            time.sleep(max(0.0, begin + i / rate - time.perf_counter()))
        self.written += rate

    def _profile(self, user: int) -> None:
        if self.random.random() < 0.1:
            self.tiers.pop(user, None)
        else:
            self.tiers[user] = self.random.choice("abc")
        tier = self.tiers.get(user)
        self._send(PROFILES, {"user_id": user}, None if tier is None else {"user_id": user, "tier": tier})
        self._expect(user)

    def _view(self, user: int) -> None:
        page, ms = self.random.randrange(PAGES), self.random.randrange(100_000)
        self.producer.send(VIEWED, json.dumps({"user_id": user, "page": page, "ms": ms}).encode())
        n, s, m = self.totals.get(user, [0, 0, 0])
        self.totals[user] = [n + 1, s + ms, max(m, ms)]
        seen = self.pages.setdefault(page, Counter())
        seen[user % 100] += 1
        self._send(f"expected-{READERS}", {"page": page}, {"page": page, "n": len(seen)})
        self._expect(user)

    def _expect(self, user: int) -> None:
        if user in self.totals:
            row = {"user_id": user, "tier": self.tiers.get(user)} | dict(zip("nsm", self.totals[user], strict=True))
            self._send(f"expected-{TOTALS}", {"user_id": user}, row)

    def _send(self, topic: str, key: dict[str, Any], value: dict[str, Any] | None) -> None:
        self.producer.send(topic, key=json.dumps(key).encode(), value=json.dumps(value).encode() if value else None)


class Looked:
    """What is looked at: counters of /metrics less their last values, processes, the checkpoint's folder."""

    def __init__(self, run: subprocess.Popen[bytes], port: int, checkpoint: Path) -> None:
        self.run, self.port, self.checkpoint = run, port, checkpoint
        self.last = defaultdict[str, float](float)

    def line(self) -> str:
        """Return the figures of the minute that has passed."""
        now, gauges = defaultdict[str, float](float), defaultdict[str, float](float)
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10).read().decode()
        for name, value in re.findall(r"^flinkddl_(\w+)(?:\{[^}]*\})? (\S+)$", text, re.MULTILINE):
            (now if name.endswith("_total") else gauges)[name] += float(value)
        batches = now["batches_total"] - self.last["batches_total"]
        took = now["batch_duration_seconds_total"] - self.last["batch_duration_seconds_total"]
        rows = now["rows_in_total"] - self.last["rows_in_total"]
        self.last = now
        files = [f.stat().st_size for f in self.checkpoint.rglob("*") if f.is_file()]
        python, java = (sum(map(resident, pids)) for pids in ([self.run.pid], children(self.run.pid)))
        return (
            f"{rows:8,.0f} rows in {batches:4.0f} batches of {took / max(batches, 1):.2f} s; state "
            f"{gauges['state_rows']:7,.0f} rows {gauges['state_bytes'] / 1e6:5.1f} MB; "
            f"java {java:5.0f} MB, python {python:4.0f} MB; checkpoint "
            f"{sum(files) / 1e6:5.1f} MB in {len(files):5d} files; load {os.getloadavg()[0]:.1f}"
        )


def children(pid: int) -> list[int]:
    """Return a process's children, theirs included."""
    own = [int(c) for f in Path(f"/proc/{pid}/task").glob("*/children") for c in _text(f).split()]
    return own + [c for child in own for c in children(child)]


def resident(pid: int) -> float:
    """Return the megabytes that a process holds in memory."""
    found = re.search(r"VmRSS:\s+(\d+) kB", _text(Path(f"/proc/{pid}/status")))
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended meanwhile: Spark starts small processes for its files
        return ""


def verified(servers: str, table: str) -> str:
    """Return what verify says of one sink; it goes on reading for 40 s at most until both are the same."""
    command = [sys.executable, "-m", "flinkddl", "verify", f"expected-{table}", table, "--bootstrap", servers]
    done = subprocess.run([*command, "--wait", "40"], capture_output=True, text=True, check=False)
    return "same" if done.returncode == 0 else f"DIFFERS ({(done.stdout + done.stderr).strip()[-300:]})"


def minutes(servers: str, looked: Looked, count: int, rate: int) -> None:
    """Print a line a minute."""
    world = World(servers)
    world.begin()
    begin = time.monotonic()
    for minute in range(1, count + 1):
        while time.monotonic() < begin + minute * 60:
            world.second(rate)
        print(f"{minute:3d} {world.written:9,d} written;{looked.line()}", flush=True)
        if minute % VERIFIED == 0 or minute == count:
            world.producer.flush()
            print("    verify: " + ", ".join(f"{table} {verified(servers, table)}" for table in (TOTALS, READERS)))
            begin = time.monotonic() - minute * 60


def main() -> None:
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    parser = argparse.ArgumentParser(prog="python -m tests.soak.hour", description=__doc__)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--rate", type=int, default=1000, help="records a second")
    parser.add_argument("--port", type=int, default=9311, help="where the job serves its figures")
    parser.add_argument("--java", default="", help="options of the job's JVM, to look into it")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the job ends with this
    with (
        Broker(BrokerOptions(heap="500m")) as broker,
        KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin,
        tempfile.TemporaryDirectory(prefix="hour") as folder,
    ):
        for topic in (VIEWED, PROFILES, TOTALS, READERS, f"expected-{TOTALS}", f"expected-{READERS}"):
            admin.create_topic(topic, 2)
        job, checkpoint = Path(folder) / "job.sql", Path(folder) / "checkpoint"
        servers = f"'properties.bootstrap.servers' = '{broker.bootstrap}'"
        job.write_text(JOB.format(servers=servers, upsert=UPSERT), encoding="utf-8")
        command = [sys.executable, "-m", "flinkddl", "run", str(job), "--checkpoint", str(checkpoint)]
        command += ["--metrics-port", str(args.port), "--master", "local[2]", "--conf", "spark.driver.memory=1g"]
        command += ["--conf", f"spark.driver.extraJavaOptions={args.java}"] if args.java else []
        with (Path(folder) / "log").open("wb") as log:
            run = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            minutes(broker.bootstrap, Looked(run, args.port, checkpoint), args.minutes, args.rate)
        finally:
            run.terminate()
            run.wait(60)


if __name__ == "__main__":
    main()
