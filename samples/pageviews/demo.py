"""make demo: the page views job on an embedded broker, fed while it runs, and recounted in plain Python at the end.

On a terminal the result table changes in place; otherwise plain lines. Exit code 1 when the recount differs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samples.topics import read_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flinkddl.api import Catalog, Job
    from flinkddl.runtime.broker.server import Broker

HERE = Path(__file__).parent
REGIONS = ("eu-north", "eu-south", "us-east", "us-west", "ap-south")


CLEAR = "\r\033[K"
NEXT = """
next:
  .venv/bin/flinkddl shell          type Flink SQL and watch its results change
  .venv/bin/flinkddl init my-job    a small project of your own ("Your first job" in README.md)
  make samples                      what else runs, folder by folder under samples/"""


def say(text: str = "") -> None:
    print(text, flush=True)


def pageview(random_: random.Random, now: float) -> bytes:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}"
    view = {
        "user_id": int(random_.paretovariate(0.6)) % 5000,
        "page_id": int(random_.paretovariate(0.8)) % 2000,
        "viewtime": stamp,
        "user_region": random_.choices(REGIONS, weights=(5, 3, 8, 2, 1))[0],
    }
    return json.dumps(view).encode()


def feed(servers: str, seconds: float, per_second: int, seed: int) -> None:
    """Write page views at a steady pace for some seconds."""
    from kafka import KafkaProducer

    producer, random_ = KafkaProducer(bootstrap_servers=servers, linger_ms=20), random.Random(seed)
    start, sent = time.time(), 0
    while (elapsed := time.time() - start) < seconds:
        while sent < elapsed * per_second:
            producer.send("pageviews", pageview(random_, time.time()))
            sent += 1
        time.sleep(0.02)
    producer.flush()
    producer.close()


def latest(records: list[Any]) -> dict[Any, Any]:
    """Apply keys, values and tombstones: what an upsert-kafka reader sees."""
    table: dict[Any, Any] = {}
    for record in records:
        key = tuple(json.loads(record.key).values())
        if record.value is None:
            table.pop(key, None)
        else:
            table[key] = json.loads(record.value)
    return table


def recount(views: list[Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Count the source topic in plain Python: per region (views, users), and the pages with fewer than ten views."""
    regions: dict[str, tuple[int, set[int]]] = {}
    pages: dict[int, int] = {}
    for record in views:
        view = json.loads(record.value)
        n, users = regions.get(view["user_region"], (0, set()))
        users.add(view["user_id"])
        regions[view["user_region"]] = (n + 1, users)
        pages[view["page_id"]] = pages.get(view["page_id"], 0) + 1
    per_region = {(r,): {"user_region": r, "pv": n, "uv": len(u)} for r, (n, u) in regions.items()}
    return per_region, {(p,): {"page_id": p, "pv": n} for p, n in pages.items() if n < 10}


class Steps:
    """What is being done, one line a step: on a terminal with seconds that move, elsewhere when it begins and ends."""

    def __init__(self, total: int) -> None:
        self._total, self._number = total, 0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Name a step, and say how long it took."""
        self._number += 1
        lead, start, done = f"[{self._number}/{self._total}] {name}", time.time(), threading.Event()
        moving = threading.Thread(target=self._move, args=(lead, start, done), daemon=True)
        if sys.stdout.isatty():
            moving.start()
        else:
            say(f"{lead} ...")
        try:
            yield
        finally:
            done.set()
            if moving.is_alive():
                moving.join()
        say(f"{CLEAR if sys.stdout.isatty() else ''}{lead}: {time.time() - start:.1f} s")

    def skip(self) -> None:
        """Count a step that shows itself."""
        self._number += 1

    @staticmethod
    def _move(lead: str, start: float, done: threading.Event) -> None:
        while not done.wait(0.1):
            print(f"{CLEAR}{lead} ... {time.time() - start:.0f} s", end="", flush=True)


def batches(jobs: list[Job]) -> str:
    """Return the last batch of each job in words."""
    shown = [
        f"{p.table.rpartition('.')[2]} batch {p.batch} in {p.batch_ms / 1000:.2f} s"
        for job in jobs
        for p in job.progress
    ]
    return " · ".join(shown)


def draw(table: dict[Any, Any], jobs: list[Job]) -> Any:
    """Return the table of regions as a rich renderable."""
    from rich.table import Table

    views = sum(r["pv"] for r in table.values())
    out = Table(title=f"pageviews_per_region after {views:,} page views", caption=batches(jobs))
    for name in ("user_region", "pv", "uv"):
        out.add_column(name, justify="left" if name == "user_region" else "right")
    for row in sorted(table.values(), key=lambda r: -r["pv"]):
        out.add_row(row["user_region"], f"{row['pv']:,}", f"{row['uv']:,}")
    return out


def watch(servers: str, seconds: float, jobs: list[Job], result: Callable[[], dict[Any, Any]]) -> None:
    """Show the sink table while it changes, until the time is over."""
    end = time.time() + seconds
    if sys.stdout.isatty():
        from rich.live import Live

        with Live(draw(result(), jobs), refresh_per_second=4) as live:
            while time.time() < end:
                time.sleep(0.5)
                live.update(draw(result(), jobs))
        return
    while time.time() < end:
        rows = sorted(result().values(), key=lambda r: -r["pv"])
        counts = "  ".join(f"{r['user_region']} {r['pv']}/{r['uv']}" for r in rows)
        say(f"      {time.strftime('%H:%M:%S')}  {counts}  ({batches(jobs)})")
        time.sleep(max(0.0, min(seconds / 6, end - time.time())))


def show_records(records: list[Any], topic: str, want_tombstone: bool) -> None:
    """Print the last few records of a sink topic as they lie in Kafka, tombstones preferred where asked for."""
    chosen = [r for r in records if r.value is None][-3:] if want_tombstone else []
    say(f"\nrecords of topic '{topic}' ({len(records)} in all):")
    for r in sorted([*records[-5:], *chosen], key=lambda r: (r.partition, r.offset)):
        say(f"  {r.partition}:{r.offset:<6} key={r.key.decode()}  value={r.value.decode() if r.value else 'null'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long page views are written")
    parser.add_argument("--rate", type=int, default=1500, help="page views per second")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()

    from flinkddl.api import Catalog
    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    steps = Steps(5)
    with ExitStack() as stack:
        with steps.step("a Kafka broker and Spark"):
            broker, catalog = started(stack, Broker(), Catalog())
        servers = broker.bootstrap
        with KafkaAdmin({"bootstrap.servers": servers}) as admin:
            for topic in ("pageviews", "pageviews_per_region", "quiet_pages"):
                admin.create_topic(topic, partitions=4)
        with steps.step(f"job.sql and quiet_pages.sql as Spark queries over {servers}"):
            jobs = [submitted(catalog, script, servers) for script in ("job.sql", "quiet_pages.sql")]
        feeder = threading.Thread(target=feed, args=(servers, args.seconds, args.rate, args.seed), daemon=True)
        feeder.start()

        def result() -> dict[Any, Any]:
            return latest(read_topic(servers, "pageviews_per_region"))

        with steps.step(f"{args.rate:,} page views a second go in; the first result"):
            while not result():
                time.sleep(0.2)
        say(f"[4/5] pageviews_per_region while it changes, {args.seconds:.0f} s")
        watch(servers, args.seconds, jobs, result)
        steps.skip()
        with steps.step("the jobs read what is left, then a recount in Python"):
            feeder.join()
            for job in jobs:
                if not job.await_input(timeout=120):
                    say(f"'{job.name}' still has a lag of {job.lag}")
                job.stop()
        code = compare(servers)
    say(NEXT)
    return code


def started(stack: ExitStack, broker: Broker, catalog: Catalog) -> tuple[Broker, Catalog]:
    """Start both at once; what fails first is raised."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(stack.enter_context, broker)
        stack.enter_context(catalog)
        _ = catalog.spark
        return running.result(), catalog


def submitted(catalog: Catalog, script: str, servers: str) -> Job:
    """Start the job of a script."""
    text, variables = (HERE / script).read_text(), {"KAFKA_SERVERS": servers}
    job = catalog.fork().execute(text, variables=variables, name=script).job
    assert job is not None
    return job


def compare(servers: str) -> int:
    """Print the result beside the recount; 0 when they agree."""
    regions, pages = read_topic(servers, "pageviews_per_region"), read_topic(servers, "quiet_pages")
    views = read_topic(servers, "pageviews")
    expected_regions, expected_pages = recount(views)
    say(f"\n{'user_region':<12} {'pv':>8} {'uv':>6}   recount in Python over {len(views):,} records")
    got = latest(regions)
    for key in sorted({*got, *expected_regions}):
        row, expected = got.get(key), expected_regions.get(key)
        values = f"{row['pv']:>8} {row['uv']:>6}" if row else f"{'-':>8} {'-':>6}"
        say(f"{key[0]:<12} {values}   {'same' if row == expected else f'DIFFERS: {expected}'}")
    show_records(regions, "pageviews_per_region", want_tombstone=False)
    show_records(pages, "quiet_pages", want_tombstone=True)
    tombstones = sum(r.value is None for r in pages)
    quiet_same = latest(pages) == expected_pages
    word = "agrees" if quiet_same else "DIFFERS"
    say(f"\nquiet pages: {len(latest(pages))} left, {tombstones} tombstones; recount {word}")
    agree = got == expected_regions and quiet_same
    say("the job and the recount agree" if agree else "THE JOB AND THE RECOUNT DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
