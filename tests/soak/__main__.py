"""``python -m tests.soak --queries 20 --records 1000000``: kill -9 in the middle, resume, and compare.

The queries run twice over the same topics: once to the end, and once killed when about half of the batches are
committed and then resumed from its checkpoint. The last value of every key in every sink topic must be the same.
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
from pathlib import Path
from typing import Any

from samples.topics import read_topic
from tests.soak.queries import script

BATCHES = 4


def fill(servers: str, records: int) -> None:
    """Write the three topics: six tenths orders, two tenths customers, two tenths stock changes."""
    from kafka import KafkaProducer

    r = random.Random(11)
    regions = ("north", "south", "east", "west")
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=100, batch_size=1 << 19)
    stock: dict[int, dict[str, Any]] = {}
    for i in range(records):
        kind = i % 5
        if kind < 3:
            row = {"id": i, "cust": r.randrange(400), "region": r.choice(regions), "price": r.randrange(1000)}
            producer.send("orders", json.dumps(row).encode())
        elif kind == 3:
            cust = r.randrange(300)
            row = {"cust": cust, "tier": r.choice("abc"), "credit": r.randrange(1000)}
            value = None if r.random() < 0.1 else json.dumps(row).encode()
            producer.send("custs", key=json.dumps({"cust": cust}).encode(), value=value)
        else:
            producer.send("stock", json.dumps(_stock(stock, r, regions)).encode())
    producer.flush()
    producer.close()


def _stock(stock: dict[int, dict[str, Any]], r: random.Random, regions: tuple[str, ...]) -> dict[str, Any]:
    item = r.randrange(500)
    before = stock.get(item)
    if before is not None and r.random() < 0.2:
        del stock[item]
        return {"before": before, "after": None, "op": "d"}
    stock[item] = after = {"item": item, "region": r.choice(regions), "n": r.randrange(1000)}
    return {"before": before, "after": after, "op": "c" if before is None else "u"}


def start(job: Path, checkpoint: Path) -> subprocess.Popen[bytes]:
    """Start the job as a user does, in a process group of its own."""
    command = [sys.executable, "-m", "flinkddl", "run", str(job), "--checkpoint", str(checkpoint)]
    command += ["--master", "local[2]", "--conf", "spark.driver.memory=2g", "--conf", "spark.sql.shuffle.partitions=2"]
    log = (job.parent / "run.log").open("ab")
    return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def commits(checkpoint: Path) -> int:
    """Return how many batches all queries have committed."""
    return sum(1 for f in checkpoint.rglob("commits/*") if f.name.isdigit())


def tables(servers: str, count: int, prefix: str) -> list[dict[bytes, bytes]]:
    """Return the last value per key of each sink topic."""
    out = []
    for i in range(count):
        table: dict[bytes, bytes] = {}
        for record in read_topic(servers, f"{prefix}-{i}"):
            if record.value is None:
                table.pop(record.key, None)
            else:
                table[record.key] = record.value
        out.append(table)
    return out


def soak(servers: str, admin: Any, queries: int, records: int, folder: Path) -> str:
    """Run both ways and compare; return a line. Raises AssertionError at a difference."""
    for topic in ("orders", "custs", "stock"):
        admin.create_topic(topic, 1)
    fill(servers, records)
    pace = max(1, records * 3 // 5 // BATCHES)
    for prefix in ("whole", "killed"):
        for i in range(queries):
            admin.create_topic(f"{prefix}-{i}", 1)
        (folder / prefix).mkdir()
        (folder / prefix / "job.sql").write_text(script(servers, queries, prefix, pace), encoding="utf-8")
    whole = start(folder / "whole" / "job.sql", folder / "whole" / "checkpoint")
    assert whole.wait() == 0, (folder / "whole" / "run.log").read_text()[-3000:]
    total = commits(folder / "whole" / "checkpoint")
    assert total >= queries, "batches are counted where they are not"
    at = _killed(folder / "killed", total)
    again = start(folder / "killed" / "job.sql", folder / "killed" / "checkpoint")
    assert again.wait() == 0, (folder / "killed" / "run.log").read_text()[-3000:]
    expected, found = tables(servers, queries, "whole"), tables(servers, queries, "killed")
    different = [i for i in range(queries) if expected[i] != found[i]]
    assert not different, f"queries {different} differ: {[(expected[i], found[i]) for i in different[:1]]}"
    assert all(expected), [i for i in range(queries) if not expected[i]]
    rows = sum(map(len, expected))
    return (
        f"{queries} queries over {records:,} records, killed -9 after {at} of {total} batches and resumed: "
        f"{rows:,} keys equal to the uninterrupted run"
    )


def _killed(folder: Path, total: int) -> int:
    run = start(folder / "job.sql", folder / "checkpoint")
    while commits(folder / "checkpoint") < total // 2:
        assert run.poll() is None, (folder / "run.log").read_text()[-3000:]
        time.sleep(0.1)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait(60)
    return commits(folder / "checkpoint")


def main() -> None:
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--records", type=int, default=1_000_000)
    args = parser.parse_args()
    begin = time.monotonic()
    with (
        Broker(BrokerOptions(heap="700m")) as broker,
        KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin,
        tempfile.TemporaryDirectory(prefix="soak") as folder,
    ):
        line = soak(broker.bootstrap, admin, args.queries, args.records, Path(folder))
    print(f"{line}, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
