"""``kill -9`` against a job: ``python -m tests.exactly_once --query changes --kills 100 --records 200000``.

Topics are filled once. `flinkddl run` reads them (``tests/support/killed.py`` has the queries: a copy, a count per key,
and what keeps state by key) in small batches into others, with ``'sink.delivery-guarantee' = 'exactly-once'`` or
without; its whole process group is killed at a random moment after it planned its next batch, and it is started again
on the same checkpoint, until the kills are used up. The last run may end. Readers of both isolation levels then count
what is lost, wrong or there again. Exit code 1 when a sink does not hold what Python counts from the topics or, where
the sink is exactly-once, when a ``read_committed`` reader sees a change again, and when there were fewer kills than
asked for, unless the time was up.

With ``--mode realtime`` the job has no end: topics are filled while it runs, the kill comes at a random moment after
something came out, and the last run ends by SIGTERM once the sinks hold what they must.
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
from typing import TYPE_CHECKING, TypeVar

from tests.support import killed
from tests.support.spark import QUICK
from tests.support.topics import ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.support.killed import Judged, Record

H = TypeVar("H", bound="Harness")
START_SECONDS = 600.0
END_SECONDS = 600.0  # without a batch
READERS = ("read_committed", "read_uncommitted")
JAVA = f"spark.driver.extraJavaOptions={QUICK}"
MODES = {
    # on a cluster a stage would have 200 tasks else
    "micro-batch": {"execution.runtime-mode": "streaming", "parallelism.default": "2"},
    # checkpoints as often as can be: some kills fall before the first of a run, some after
    "realtime": {
        "flinkddl.execution.mode": "realtime",
        "execution.checkpointing.interval": "5s",
        "parallelism.default": "1",
    },
}
WINDOWS = {"micro-batch": 2.0, "realtime": 8.0}
# a query in real-time mode holds a core for each partition that it reads and each of its stages
MASTERS = {"micro-batch": "local[2]", "realtime": "local[96]"}


@dataclass(frozen=True)
class Work:
    """What a job does. ``window``: seconds within which a kill falls, after a batch was planned."""

    query: str = "rows"
    records: int = 200_000
    delivery: str = "exactly-once"
    mode: str = "micro-batch"
    window: float = WINDOWS["micro-batch"]
    seed: int = 1
    fails: str = ""


@dataclass
class Harness:
    """One job and its killer."""

    servers: str
    work: Work
    limit: int
    folder: Path
    random: random.Random
    master: str
    kills: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    judged: dict[str, dict[str, Judged]] = field(default_factory=dict)

    @property
    def mistakes(self) -> int:
        """How much is lost, wrong or, where that is promised, there again."""
        found = [j for judged in self.judged.values() for j in judged.values()]
        again = self.judged["read_committed"].values() if self.work.delivery == "exactly-once" else ()
        return sum(j.lost + j.wrong for j in found) + sum(j.repeated for j in again)

    def fill(self) -> None:
        """Write all records before the job begins."""
        self.send(self.made())

    def made(self) -> Iterator[Record]:
        return killed.records(killed.sources(self.work.query), self.work.records, random.Random(self.work.seed))

    def send(self, records: Iterable[Record], pause: float = 0.0) -> None:
        """Write records, with a pause after each."""
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers, linger_ms=50, batch_size=1 << 18)
        for topic, partition, *parts in records:
            key, value = (None if part is None else json.dumps(part).encode() for part in parts)
            producer.send(topic, key=key, value=value, partition=partition)
            if pause:
                time.sleep(pause)
        producer.flush()
        producer.close()

    def start(self, limit: int) -> subprocess.Popen[bytes]:
        """Start the job in a process group of its own."""
        script = self.folder / "job.sql"
        settings = {"pipeline.name": "kills"} | MODES[self.work.mode]
        if self.work.mode != "realtime":
            settings["flinkddl.execution.max-offsets-per-trigger"] = str(limit)
        script.write_text(killed.script(self.work.query, self.servers, settings, self.work.delivery, self.work.fails))
        entry = "from flinkddl.cli.main import entry; entry()"
        command = [sys.executable, "-c", entry, "run", str(script), "--quiet", "--master", self.master]
        command += ["--checkpoint", str(self.folder / "checkpoint"), "--conf", JAVA]
        command += ["--conf", "spark.driver.memory=1g", *self.conf()]
        command += ["--allow-jar", self.work.fails] if self.work.fails else []
        log = (self.folder / "run.log").open("ab")
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def conf(self) -> list[str]:
        """Return what else the job is started with."""
        return []

    def batches(self, what: str) -> Counter[str]:
        """Return how many batches Spark has planned ("offsets") or noted as done ("commits"), by query."""
        found: Counter[str] = Counter()
        for folder, inside, names in os.walk(self.folder / "checkpoint"):
            inside[:] = [name for name in inside if name != "state"]  # which has thousands of files
            if os.path.basename(folder) == what:
                found[os.path.dirname(folder)] = max((int(n) + 1 for n in names if n.isdigit()), default=0)
        return +found

    def kill_one(self) -> bool:
        """Run the job until a random moment; False when it ended by itself before."""
        before, job = self.batches("offsets"), self.start(self.limit)
        try:
            if not self.goes_on(job, before):
                return self._ended(job)
        finally:
            self.stop(job)
        self.note(self.moment())
        return True

    def stop(self, job: subprocess.Popen[bytes]) -> None:
        """Kill the job, its Java and its Python workers."""
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()

    def moment(self) -> str:
        return "batch open" if self.batches("offsets") > self.batches("commits") else "between batches"

    def note(self, moment: str) -> None:
        """Note a kill."""
        self.kills += 1
        self.moments[moment] += 1
        print(f"kill {self.kills}: {self.batches('commits').total()} batches done", flush=True)

    def goes_on(self, job: subprocess.Popen[bytes], before: Counter[str]) -> bool:
        """Wait for a batch after ``before`` and a random moment more; False when the job ended meanwhile."""
        # a batch that was planned before is run again first; its end shows in the commits alone
        done = self.batches("commits")
        if not self.until(job, lambda: self.batches("offsets") != before or self.batches("commits") != done):
            return False
        time.sleep(self.random.uniform(0, self.work.window))
        return job.poll() is None

    def until(self, job: subprocess.Popen[bytes], condition: Callable[[], bool]) -> bool:
        """Wait for a condition; False when the job ended meanwhile."""
        end = time.monotonic() + START_SECONDS
        while not condition():
            if job.poll() is not None:
                return False
            if time.monotonic() > end:
                raise RuntimeError(f"the job does not get there: {self.log()}")
            time.sleep(0.02)
        return True

    def _ended(self, job: subprocess.Popen[bytes]) -> bool:
        if job.returncode != 0:
            raise RuntimeError(f"the job failed: {self.log()}")
        return False

    def log(self) -> str:
        return (self.folder / "run.log").read_text(errors="replace")[-2000:]

    def finish(self) -> None:
        """Let the job come to its end, in larger batches."""
        self.await_end(self.start(max(self.limit, self.work.records // 4)))

    def await_end(self, job: subprocess.Popen[bytes]) -> None:
        """Wait until the job has ended by itself, as long as it gets on. Raises RuntimeError when it failed."""
        done, since = self.batches("commits"), time.monotonic()
        try:
            while job.poll() is None:
                if (now := self.batches("commits")) != done:
                    done, since = now, time.monotonic()
                if time.monotonic() - since > END_SECONDS:
                    raise RuntimeError(f"the job does not end: {self.log()}")
                time.sleep(0.2)
        finally:
            self.stop(job)
        self._ended(job)

    def judge(self) -> None:
        judge = killed.Judge(self.servers, self.work.query)
        self.judged = {reader: judge.judged(reader) for reader in READERS}


@dataclass
class Endless(Harness):
    """A job in real-time mode; ``limit`` records are written for each of its runs."""

    rest: list[Record] = field(default_factory=list)

    def fill(self) -> None:
        """Make the records; they are written while the job runs."""
        self.rest = list(self.made())

    def kill_one(self) -> bool:
        """Run the job until something came out and a random moment more, in which records come all the time."""
        before, job = self.out(), self.start(self.limit)
        try:
            self.send(self.take(self.limit // 2))
            if not self.until(job, lambda: self.out() > before):
                return self.ended_early(job)
            done, more = self.batches("commits"), self.take(self.limit - self.limit // 2)
            self.send(more, self.random.uniform(0, self.work.window) / max(1, len(more)))
            if job.poll() is not None:
                return self.ended_early(job)
        finally:
            self.stop(job)
        self.note("before a checkpoint" if self.batches("commits") == done else "after a checkpoint")
        return True

    def take(self, count: int) -> list[Record]:
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def out(self) -> int:
        """Return how many records the sinks' topics have, with those of transactions."""
        return ends(self.servers, map(killed.sink, killed.QUERIES[self.work.query]))

    def finish(self) -> None:
        """Run until the sinks hold what they must, as far as they get there; then end the job in order."""
        job = self.start(self.limit)
        try:
            self.send(self.take(len(self.rest)))
            judge, end = killed.Judge(self.servers, self.work.query), time.monotonic() + START_SECONDS
            while not judge.exact("read_uncommitted") and time.monotonic() < end:
                if job.poll() is not None:
                    self.ended_early(job)
                time.sleep(0.5)
            os.killpg(job.pid, signal.SIGTERM)
        except BaseException:
            self.stop(job)
            raise
        self.await_end(job)

    def ended_early(self, job: subprocess.Popen[bytes]) -> bool:
        raise RuntimeError(f"the job ended with {job.returncode}: {self.log()}")


def run(kills: int, work: Work, minutes: float = 1e9) -> Harness:
    """Kill the job; return the harness with its sinks judged."""
    end = time.monotonic() + minutes * 60
    endless = work.mode == "realtime"
    limit = work.records // (kills + 1) if endless else max(8, work.records // max(1, kills * 8))
    with filled(Endless if endless else Harness, work, limit) as harness:
        while harness.kills < kills and time.monotonic() < end and harness.kill_one():
            pass
        harness.finish()
        harness.judge()
        return harness


@contextmanager
def filled(kind: type[H], work: Work, limit: int) -> Iterator[H]:
    """Yield a harness of that kind on a broker of its own, its topics filled."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    options = BrokerOptions(heap="400m")
    with tempfile.TemporaryDirectory(prefix="flinkddl-kills-") as folder, Broker(options) as broker:
        harness = kind(broker.bootstrap, work, limit, Path(folder), random.Random(work.seed), MASTERS[work.mode])
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            for name in (*killed.sources(work.query), *map(killed.sink, killed.QUERIES[work.query])):
                admin.create_topic(name, killed.PARTITIONS)
        harness.fill()
        yield harness


def arguments(prog: str, about: str | None, kills: int, records: int) -> argparse.ArgumentParser:
    """Return a parser of what every killer takes, with its defaults."""
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--records", type=int, default=records)
    parser.add_argument("--query", choices=list(killed.QUERIES), default="rows")
    parser.add_argument("--delivery", choices=["exactly-once", "at-least-once"], help="exactly-once where it can be")
    parser.add_argument("--window", type=float, help="seconds within which a kill falls")
    parser.add_argument("--seed", type=int, default=1)
    return parser


def asked(args: argparse.Namespace, mode: str = "micro-batch", fails: str = "") -> Work:
    """Return what the command line asks for; what it leaves open is the mode's."""
    # INSERTs share the cores: with more of them each has less done after the same time
    window = WINDOWS[mode] + len(killed.QUERIES[args.query]) - 1 if args.window is None else args.window
    delivery = args.delivery or ("at-least-once" if mode == "realtime" else "exactly-once")
    return Work(args.query, args.records, delivery, mode, window, args.seed, fails)


def too_few(done: Harness, kills: int) -> list[str]:
    """Return what is to be said where the job has ended before so many kills."""
    return [f"{done.kills} of {kills} kills: the job had ended by then"] if done.kills < kills else []


def report(what: str, done: Harness, seconds: float, short: Sequence[str]) -> int:
    """Print what came of it, and how it falls short of what was asked for; return the exit code."""
    work = done.work
    print(f"{done.kills} {what} ({dict(done.moments)}), {work.records} records, {work.mode}, {work.delivery}, "
          f"query {work.query}: {done.mistakes} mistakes; {seconds:.0f} s")  # fmt: skip
    for reader, judged in done.judged.items():
        for name, found in judged.items():
            print(f"  {reader} of {name}: {found.lost} lost, {found.wrong} wrong, {found.repeated} repeated")
    for line in short:
        print(f"  falls short: {line}")
    return int(bool(done.mistakes or short))


def main() -> int:
    parser = arguments("tests.exactly_once", __doc__, 100, 200_000)
    parser.add_argument("--mode", choices=list(MODES), default="micro-batch")
    parser.add_argument("--minutes", type=float, default=1e9, help="no further kills after that time")
    args, begin = parser.parse_args(), time.monotonic()
    done = run(args.kills, asked(args, args.mode), args.minutes)
    seconds = time.monotonic() - begin
    return report("kills", done, seconds, too_few(done, args.kills) if seconds < args.minutes * 60 else [])


if __name__ == "__main__":
    sys.exit(main())
