"""What a job's size depends on: ``python -m tests.bench.sizing [PART ...]``, each part in Spark processes of its own.

``partitions``: start and batch duration by source partitions with a watermark each, in a chain and as Spark's own
windows, and with one watermark for all. ``shuffle``: batch duration by shuffle partitions. ``cores``: rates on one and
two cores, and on one and two workers of a standalone cluster, with the sink that one task writes (exactly-once) beside
the one that all write. ``state``: bytes a row of state, in RocksDB, in the process and on disk. Broker and producer are
on the same two cores: take ratios, not rates.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.guarantees import copy
from tests.bench.pageviews import PARTITIONS, fill, ours

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from flinkddl.api import Catalog

RATE, WATCHED = 1000, 40  # records a second of a live topic; seconds of it that are looked at
CASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "partitions": tuple((n, w) for n in ("16", "64", "128") for w in ("chain", "each", "one")),
    "shuffle": (("1",), ("2",), ("8",), ("32",)),
    "cores": (("local[1]",), ("local[2]",), ("workers", "1"), ("workers", "2")),
    "state": (("100000",), ("1000000",)),
}
KAFKA = "'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = '{servers}'"
LIVE = (
    "SET 'flinkddl.watermark.partitions' = '{allowed}'; SET 'parallelism.default' = '{shuffle}';\n"
    "SET 'flinkddl.execution.state' = '{state}';\n"
    "CREATE TABLE src (k INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR ts AS ts) WITH ("
    + KAFKA
    + ", 'topic' = '{topic}', 'scan.startup.mode' = 'latest-offset', 'scan.watermark.idle-timeout' = '5 s');\n"
    "CREATE TABLE snk (s TIMESTAMP(3), n BIGINT) WITH (" + KAFKA + ", 'topic' = '{topic}-out');"
)
WINDOW = "INSERT INTO snk SELECT CAST(window_start AS TIMESTAMP(3)), COUNT(*) FROM TABLE(TUMBLE(DATA => TABLE src, \
TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' SECOND)) GROUP BY window_start, window_end"
GROUPS = (
    "SET 'execution.runtime-mode' = 'streaming'; SET 'execution.checkpointing.dir' = '{folder}';"
    "SET 'flinkddl.execution.max-offsets-per-trigger' = '250000';\n"
    "CREATE TABLE src (k BIGINT, v BIGINT) WITH (" + KAFKA + ", 'topic' = 'keys', 'scan.startup.mode' = "
    "'earliest-offset', 'scan.bounded.mode' = 'latest-offset');\n"
    "CREATE TABLE snk WITH ('connector' = 'blackhole') AS SELECT k, COUNT(*) AS n, SUM(v) AS v FROM src GROUP BY k"
)


@contextmanager
def world(heap: str = "1g") -> Iterator[str]:
    """Yield the servers of a broker of its own."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions

    with Broker(BrokerOptions(heap=heap)) as broker:
        yield broker.bootstrap


def session(master: str, **conf: str) -> SparkSession:
    """Return a session of small memory."""
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    own = {"spark.driver.memory": "1500m", "spark.sql.shuffle.partitions": "2", "spark.executor.memory": "700m"}
    return build_session(SparkOptions(master=master, conf=own | conf))


def create(servers: str, **topics: int) -> None:
    """Create topics, given as name and number of partitions."""
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    with KafkaAdmin({"bootstrap.servers": servers}) as admin:
        for name, partitions in topics.items():
            admin.create_topic(name.replace("_", "-"), partitions)


def live(servers: str, topic: str, partitions: int, done: threading.Event) -> None:
    """Write records at an even pace, one partition after the other, until told to stop."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=20)
    begin, i = time.perf_counter(), 0
    while not done.is_set():
        producer.send(topic, json.dumps({"k": i}).encode(), partition=i % partitions)
        i += 1
        time.sleep(max(0.0, begin + i / RATE - time.perf_counter()))
    producer.close()


def watched(catalog: Catalog, servers: str, topic: str, partitions: int) -> dict[str, Any]:
    """Run the windows over the live topic; return the seconds to the first batch and what the later ones took."""
    done = threading.Event()
    producer = threading.Thread(target=live, args=(servers, topic, partitions, done))
    producer.start()
    begin = time.perf_counter()
    job = catalog.execute(WINDOW).job
    assert job is not None
    while not job.progress:
        time.sleep(0.02)
    first = time.perf_counter() - begin
    seen: dict[int, int] = {}
    while time.perf_counter() - begin < first + WATCHED:
        seen |= {p.batch: p.batch_ms for p in job.progress}
        time.sleep(0.2)
    done.set()
    job.stop()
    producer.join()
    later = [ms for batch, ms in seen.items() if batch > max(seen) // 2]
    return {"first batch s": round(first, 1), "batch ms": statistics.median(later), "batches": len(seen)}


def partitions(count: str, watermarks: str, shuffle: str = "2") -> dict[str, Any]:
    """Windows over a topic of so many partitions, with a watermark each (in a chain or not) or one for all."""
    from flinkddl.api import Catalog

    with world() as servers:
        spark = session("local[2]")
        for name in ("warm", "live"):  # the first warms the process up
            n = 2 if name == "warm" else int(count)
            create(servers, **{name: n, f"{name}_out": 1})
            catalog = Catalog(spark)
            allowed = "1" if watermarks == "one" else "128"
            state = "chain" if watermarks == "chain" else "aggregate"
            catalog.execute(LIVE.format(servers=servers, topic=name, allowed=allowed, state=state, shuffle=shuffle))
            figures = watched(catalog, servers, name, n)
        spark.stop()
    return figures


def shuffle(count: str) -> dict[str, Any]:
    """Windows over four partitions, with so many shuffle partitions."""
    return partitions("4", "chain", count)


def cores(master: str, workers: str = "") -> dict[str, Any]:
    """Records a second of a copy into either sink and of the page views."""
    from tests.executor_kills import cluster

    records = 400_000
    with ExitStack() as stack:
        servers = stack.enter_context(world())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if workers:
            master = stack.enter_context(cluster(folder, int(workers)))
        create(servers, pageviews=PARTITIONS)
        fill(servers, "pageviews", records)
        spark = session(master)
        times: dict[str, list[float]] = {"at-least-once": [], "exactly-once": [], "page views": []}
        for _ in range(3):
            for name, found in times.items():
                target = f"out-{uuid.uuid4().hex[:8]}"
                found.append(
                    ours(spark, servers, "pageviews", target)
                    if name == "page views"
                    else copy(spark, servers, name, records)
                )
        spark.stop()
    return {f"{name}, records/s": round(records / statistics.median(found[1:])) for name, found in times.items()}


def state(groups: str) -> dict[str, Any]:
    """What so many groups of COUNT and SUM weigh: Spark's figure, the process, the checkpoint."""
    from kafka import KafkaProducer

    from flinkddl.api import Catalog

    with world() as servers, tempfile.TemporaryDirectory() as folder:
        create(servers, keys=2)
        producer = KafkaProducer(bootstrap_servers=servers, linger_ms=100, batch_size=1 << 19)
        for i in range(int(groups)):
            producer.send("keys", b'{"k":%d,"v":%d}' % (i, i % 1000), partition=i % 2)
        producer.close()
        spark = session("local[2]")
        job = Catalog(spark).execute(GROUPS.format(servers=servers, folder=folder)).job
        assert job is not None
        job.await_termination()
        last = [p for p in job.progress if p.state_rows][-1]
        disk = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())
        figures = {"state rows": last.state_rows, "Spark's state MB": round(sum(s.memory for s in last.state) / 1e6)}
        figures |= {
            "java resident MB": round(resident()),
            "checkpoint MB": round(disk / 1e6),
            "batch ms": last.batch_ms,
        }
        spark.stop()
    return figures


def resident() -> float:
    """Return the megabytes of the Java process with a Spark in it."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if b"SparkSubmit" in (entry / "cmdline").read_bytes():
                line = next(s for s in (entry / "status").read_text().splitlines() if s.startswith("VmRSS"))
                return int(line.split()[1]) / 1024
        except OSError:
            continue
    return 0.0


def main(records: int = 0) -> None:
    """Print a line a case."""
    run([*CASES])


def run(parts: list[str]) -> None:
    """Run each case of the parts in a process of its own."""
    for part in parts:
        for case in CASES[part]:
            code = f"from tests.bench import sizing; import json; print(json.dumps(sizing.{part}(*{case!r})))"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
            print(
                part,
                *case,
                done.stdout.strip().splitlines()[-1] if done.returncode == 0 else done.stderr[-900:],
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.bench.sizing", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*CASES, []], help="which parts")
    run(parser.parse_args().parts or [*CASES])
