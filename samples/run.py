"""Runs every sample on one development broker and one Spark session, and compares what comes out.

A sample is a folder: ``job.sql`` (its first comment says what it shows), ``input.jsonl`` and ``expected.jsonl``.
Input lines are records (topic, value, and if wanted key, partition, timestamp, headers), offsets that a consumer group
has committed, or ``{"step": ...}``: what follows is sent when the running job has taken all before it.
Expected lines are records of the sinks (of an upsert table the last one a key); of a SELECT the changes, as the result
modes ``changelog`` and ``tableau`` show them, and where they take rows back those that the mode ``table`` shows at the
end.

    python -m samples.run [NAME ...] [--update]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.api import Catalog
from flinkddl.cli.shell.results import TableResult
from flinkddl.cli.tables import Columns
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.payloads import kafka_table, plain
from flinkddl.script.compile import Start, compile_script
from samples.topics import read_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flinkddl.api import Job
    from flinkddl.runtime.job.writers import Rows

FOLDER = Path(__file__).parent
SECONDS = 300.0
SIDE_BY_SIDE = 3  # samples that run at the same time
Lines = list[dict[str, Any]]
VARIABLES = {
    "KAFKA_SERVERS": "broker:9092",
    "KAFKA_SECURE_SERVERS": "broker:9093",
    "KAFKA_USER": "flink",
    "KAFKA_PASSWORD": "x",
    "KAFKA_TRUSTSTORE": "trust.p12",
    "KAFKA_TRUSTSTORE_PASSWORD": "x",
}
"""Values of the variables of all scripts, for who only compiles them."""


def names() -> list[str]:
    """Return the names of all samples."""
    return sorted(p.parent.name for p in FOLDER.glob("*/input.jsonl"))


@dataclass
class Sample:
    """One folder."""

    name: str

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def sql(self) -> str:
        return (self.folder / "job.sql").read_text(encoding="utf-8")

    @property
    def intent(self) -> str:
        return self.sql.splitlines()[0].removeprefix("-- ")

    @property
    def expected(self) -> Lines:
        path = self.folder / "expected.jsonl"
        return lines(path.read_text(encoding="utf-8")) if path.exists() else []

    def steps(self) -> list[Lines]:
        """Return the input, cut at its step lines."""
        out: list[Lines] = [[]]
        for line in lines((self.folder / "input.jsonl").read_text(encoding="utf-8")):
            if "step" in line:
                out.append([])
            else:
                out[-1].append(line)
        return out


def lines(text: str) -> Lines:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


@dataclass
class Broker:
    """What a sample needs of Kafka."""

    servers: str

    def prepare(self, sample: Sample, sinks: list[str]) -> None:
        """Make the topics, and commit the offsets of groups."""
        records = [r for step in sample.steps() for r in step]
        partitions: dict[str, int] = dict.fromkeys(sinks, 1)
        for r in records:
            partitions[r["topic"]] = max(partitions.get(r["topic"], 1), r.get("partition", 0) + 1)
        with KafkaAdmin({"bootstrap.servers": self.servers}) as admin:
            for topic, count in partitions.items():
                admin.create_topic(topic, count, {"retention.ms": "-1"})

    def send(self, records: Lines) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers)
        for r in (r for r in records if "group" not in r):
            headers = [(k, v.encode()) for k, v in r.get("headers", {}).items()]
            producer.send(
                r["topic"],
                key=message(r.get("key")),
                value=message(r["value"]),
                partition=r.get("partition", 0),
                timestamp_ms=r.get("timestamp"),
                headers=headers,
            )
        producer.flush()
        producer.close()
        with KafkaAdmin({"bootstrap.servers": self.servers}) as admin:
            for r in (r for r in records if "group" in r):
                admin.commit(r["group"], {r["topic"]: {int(p): o for p, o in r["offsets"].items()}})


def message(value: Any) -> bytes | None:
    """Return text as it is and anything else as JSON."""
    if value is None:
        return None
    return (value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))).encode()


def run_sample(sample: Sample, catalog: Catalog, variables: Mapping[str, str]) -> Lines:
    """Run a sample and return what came out, in the form of its expected lines."""
    servers = variables["KAFKA_SERVERS"]
    compiled = compile_script(SourceText(f"{sample.name}/job.sql", sample.sql), None, variables)
    if compiled.has_errors:
        raise FlinkDdlError(compiled.diagnostics)
    start = one_partition(next(a for a in compiled.actions if isinstance(a, Start)))
    tables = [kafka_table(s.table) for s in start.sinks if s.table is not None]
    broker = Broker(servers)
    broker.prepare(sample, [t for table in tables for t in table.topics])
    catalog.state = compiled.catalog
    shown = Shown(start, catalog)
    feed(sample, broker, lambda: _started(catalog, start, shown))
    if start.is_query:
        return shown.lines()
    return [line for table in tables for topic in table.topics for line in content(servers, topic, table)]


def one_partition(start: Start) -> Start:
    """Return the job with one task a stage: a handful of records needs no more."""
    settings = {**start.job.settings, "spark.sql.shuffle.partitions": "1"}
    return replace(start, job=replace(start.job, settings=settings))


class Shown:
    """What a SELECT shows, in every result mode."""

    def __init__(self, start: Start, catalog: Catalog) -> None:
        self._changes: list[str] = []
        self._table = TableResult(Columns.of_query(start, catalog.state), 1000) if start.is_query else None

    def add(self, rows: Rows) -> None:
        self._changes += rows.lines()
        assert self._table is not None
        self._table.add(rows.changes)

    def lines(self) -> Lines:
        assert self._table is not None
        updates = any(not line.startswith("+I") for line in self._changes)
        rows = self._table.page(0, len(self._table)) if updates else []
        return [*({"change": line} for line in self._changes), *({"row": row} for row in rows)]


def _started(catalog: Catalog, start: Start, shown: Shown) -> Job:
    run: dict[str, Any] = {"notice": lambda _: None}
    if start.is_query:
        run["on_rows"] = shown.add
    return catalog.start(start, **run)


def feed(sample: Sample, broker: Broker, started: Callable[[], Job]) -> None:
    first, *others = sample.steps()
    broker.send(first)
    job = started()
    try:
        _taken(sample, job)
        for step in others:
            broker.send(step)
            _taken(sample, job)
    finally:
        job.stop()
    job.await_termination()


def _taken(sample: Sample, job: Job) -> None:
    if not job.await_input(SECONDS) and job.status == "running":
        raise TimeoutError(f"{sample.name} has not taken its input in {SECONDS:.0f} s")


def content(servers: str, topic: str, table: Any) -> Iterator[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for i, r in enumerate(read_topic(servers, topic)):
        line: dict[str, Any] = {"topic": topic, "key": plain(table.payloads.read_key(r.key))}
        line["value"] = plain(table.payloads.read_value(r.value))
        if table.timed:
            line["timestamp"] = r.timestamp
        if r.headers:
            line["headers"] = {k: v.decode() for k, v in sorted(r.headers)}
        found[json.dumps(line["key"]) if table.upsert else str(i)] = line
    yield from found.values()


def in_order(found: Lines) -> list[str]:
    """Return lines as comparable texts, sorted: partitions and tasks have no order among each other."""
    texts = [json.dumps(line, sort_keys=True, ensure_ascii=False) for line in found]
    return sorted(texts)


@dataclass
class Outcome:
    """How a sample did."""

    name: str
    seconds: float = 0.0
    found: Lines = field(default_factory=list)
    expected: Lines = field(default_factory=list)
    error: str = ""

    @property
    def ok(self) -> bool:
        return not self.error and in_order(self.found) == in_order(self.expected)

    def difference(self) -> str:
        """Return what is missing and what is too much."""
        found, wanted = in_order(self.found), in_order(self.expected)
        missing = [f"    missing  {t}" for t in wanted if t not in found]
        more = [f"    surplus  {t}" for t in found if t not in wanted]
        return "\n".join([f"    {self.error}"] if self.error else missing + more) or "    repeated lines differ"


def outcome(name: str, catalog: Catalog, variables: Mapping[str, str]) -> Outcome:
    """Run one sample; a failure is part of the outcome."""
    sample, begin = Sample(name), time.monotonic()
    out = Outcome(name, expected=sample.expected)
    try:
        out.found = run_sample(sample, catalog, variables)
    except (FlinkDdlError, TimeoutError) as error:
        out.error = str(error)
    out.seconds = time.monotonic() - begin
    return out


def run_all(chosen: list[str], catalog: Catalog, variables: Mapping[str, str]) -> Iterator[Outcome]:
    """Run samples, a few at a time, and yield the outcomes in order."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        yield from pool.map(lambda name: outcome(name, catalog.fork(), variables), chosen)


def main() -> int:
    from flinkddl.runtime.broker.config import secure_listener
    from flinkddl.runtime.broker.server import Broker as KafkaBroker
    from flinkddl.runtime.broker.server import BrokerOptions
    from flinkddl.runtime.session.sessions import SparkOptions

    parser = argparse.ArgumentParser(description="run the samples")
    parser.add_argument("names", nargs="*", default=names(), help="all by default")
    parser.add_argument("--update", action="store_true", help="write what came out as expected")
    args = parser.parse_args()
    begin = time.monotonic()
    options = BrokerOptions(listeners=(secure_listener(),))
    with KafkaBroker(options) as broker, Catalog(options=SparkOptions()) as catalog:
        outcomes = []
        print(f"{'sample':<18}{'':<5}{'s':>5}  what it shows")
        for o in run_all(args.names, catalog, broker.variables):
            outcomes.append(o)
            if args.update and not o.error:
                text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in o.found)
                (FOLDER / o.name / "expected.jsonl").write_text(text, encoding="utf-8")
            print(f"{o.name:<18}{'ok' if o.ok else 'NOT':<5}{o.seconds:>5.1f}  {Sample(o.name).intent}", flush=True)
            if not o.ok:
                print(o.difference())
    good = sum(o.ok for o in outcomes)
    print(f"{good} of {len(outcomes)} samples are as expected, {time.monotonic() - begin:.0f} s with broker and Spark")
    return 0 if good == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
