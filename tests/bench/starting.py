"""Seconds to the first result of ``run``, shell and notebook: ``python -m tests.bench starting --rounds 10``.

After: Java maps the archive of Spark's classes (``runtime/machine/class_archive.py``). Before: ``-Xshare:auto``, Java's
own default, stands in ``JDK_JAVA_OPTIONS``; where a user says so we leave our archive aside, and Java keeps to that of
its own classes. Both in turn, with one cache, over one broker with page views. A first job makes the archive, as a
user's does, and one round of both, which warms up, does not count.

``run`` counts from the command to the first record in its result's topic, the shell from the command to the first row
on its screen, the notebook from the import, in a kernel that is up, to the rows of a query over made data. What is
asked after that finds Java warm.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.runtime.broker.server import Broker
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.machine.cache import cache_dir
from flinkddl.runtime.machine.class_archive import SETTLED_SECONDS
from tests.bench import first_row
from tests.bench.first_hour import CELLS, ROOT, SECONDS, Hour, notebook
from tests.bench.processes import speaks_of
from tests.e2e.support import pageviews, script, send

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WAYS: Mapping[str, Mapping[str, str]] = {"before": {"JDK_JAVA_OPTIONS": "-Xshare:auto"}, "after": {}}
RUN, SHELL, NOTEBOOK = "run: to the first record", "shell: to the first rows", "notebook: import to the first rows"
AGAIN = {
    "shell: a second SELECT": ("UPPER(user_region)", "NORTH"),
    "shell: a third SELECT": ("'in ' || user_region", "in north"),
}
IMPORT, FIRST, *OTHERS = CELLS
LINES = (RUN, SHELL, NOTEBOOK, *AGAIN, *OTHERS)


def user(folder: Path, servers: str, told: Mapping[str, str]) -> Hour:
    """Return a user of this checkout whose cache holds nothing but jars. ``told``: of the environment."""
    cache = folder / "cache"
    if not cache.exists():
        cache.mkdir()
        (folder / "home").mkdir()
        (cache / "jars").symlink_to(cache_dir("jars"))
    hour = Hour(folder, Path(sys.executable).parent)
    hour.env |= {"PYTHONPATH": str(ROOT), "FLINKDDL_CACHE": str(cache), "KAFKA_SERVERS": servers, **told}
    return hour


def run(hour: Hour, servers: str) -> None:
    """Start the sample's job and stop it when its first record is there."""
    from kafka import KafkaConsumer

    topic = f"regions-{uuid.uuid4().hex[:6]}"
    job, checkpoint = hour.folder / "job.sql", hour.folder / topic
    job.write_text(script("pageviews/job.sql", {"pageviews_per_region": topic}), encoding="utf-8")
    with KafkaAdmin({"bootstrap.servers": servers}) as admin:
        admin.create_topic(topic, 1)
    ms = round(SECONDS * 1000)
    consumer = KafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest", consumer_timeout_ms=ms)
    command = [hour.bin / "flinkddl", "run", "--quiet", job, "--checkpoint", checkpoint]
    with hour.timed(RUN):
        process = subprocess.Popen(command, env=hour.env)
        next(consumer)
    process.terminate()
    process.wait(SECONDS)
    consumer.close()


def shell(hour: Hour, servers: str) -> None:
    """Ask in the shell, then twice more."""
    with ExitStack() as stack:
        with hour.timed(SHELL):
            opened = first_row.shell(hour.bin / "flinkddl", hour.folder, servers, hour.env)
            terminal = stack.enter_context(opened)
            first_row.ask(terminal, "user_region", "north")
        for what, (region, shown) in AGAIN.items():
            terminal.send("q")
            terminal.expect("Flink SQL>")
            with hour.timed(what):
                first_row.ask(terminal, region, shown)


def measure(hour: Hour, servers: str) -> dict[str, float]:
    """Start each of the three, one after the other; return what took how long."""
    hour.took.clear()
    run(hour, servers)
    gone(hour.folder)
    shell(hour, servers)
    gone(hour.folder)
    notebook(hour)
    gone(hour.folder)
    hour.took[NOTEBOOK] = hour.took[IMPORT] + hour.took[FIRST]
    return {what: hour.took[what] for what in LINES}


def gone(folder: Path) -> None:
    """Wait until Java has ended as well, which writes its archive after Python's end."""
    until = time.monotonic() + SECONDS
    while speaks_of(str(folder)):
        assert time.monotonic() < until, "what was started does not end"
        time.sleep(0.2)


def markdown(found: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Return a line for each of ``LINES``: median, least and most before and after, and how many times as long."""
    lines = ["| seconds | before: median, least, most | after: median, least, most | before / after |"]
    lines += ["| --- | --- | --- | --- |"]
    for what in LINES:
        took = [[one[what] for one in found[way]] for way in ("before", "after")]
        medians = [statistics.median(times) for times in took]
        cells = [f"{m:.1f}, {min(times):.1f}, {max(times):.1f}" for m, times in zip(medians, took, strict=True)]
        lines.append(f"| {what} | {' | '.join(cells)} | {medians[0] / medians[1]:.2f} |")
    return "\n".join(lines)


def main(records: int = 0, rounds: int = 10) -> None:
    """Measure in turn and print each round, then the table; ``records`` is not used."""
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="starting") as name, Broker() as broker:
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            admin.create_topic("pageviews", 1)
        send(broker.bootstrap, "pageviews", pageviews(first_row.VIEWS, seed=1), 1)
        users = {way: user(Path(name), broker.bootstrap, told) for way, told in WAYS.items()}
        run(users["after"], broker.bootstrap)
        gone(Path(name))
        time.sleep(SETTLED_SECONDS + 1)
        print("; ".join(LINES), flush=True)
        for n in range(rounds + 1):
            for way, hour in users.items():
                took = measure(hour, broker.bootstrap)
                found[way] += [took] if n else []
                print(f"round {n} {way}: {', '.join(f'{s:.1f}' for s in took.values())} s", flush=True)
        assert list((Path(name) / "cache" / "classes").glob("*.jsa")), "no archive was made"
    print(f"\n{markdown(found)}")


if __name__ == "__main__":
    main()
