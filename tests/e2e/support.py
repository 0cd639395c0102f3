"""What end-to-end tests share: page views, a topic's content, and the table an upsert topic holds."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samples.topics import read_topic
from tests.support.lent import lending

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_topic"]

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
REGIONS = ("north", "south", "east", "west")


def pageviews(count: int, seed: int, first: int = 0) -> list[dict[str, Any]]:
    """Make page views; some regions and users are much more frequent than others."""
    random_ = random.Random(seed)
    return [
        {
            "user_id": int(random_.paretovariate(0.7)) % 3000,
            "page_id": int(random_.paretovariate(0.9)) % 500,
            "viewtime": f"2024-03-01 10:{i // 60 % 60:02d}:{i % 60:02d}.{i % 1000:03d}",
            "user_region": random_.choice(REGIONS),
        }
        for i in range(first, first + count)
    ]


def send(servers: str, topic: str, rows: list[dict[str, Any]], partitions: int) -> None:
    """Write rows as JSON, spread over the partitions in turn."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=50, batch_size=1 << 18)
    for i, row in enumerate(rows):
        producer.send(topic, json.dumps(row).encode(), partition=i % partitions)
    producer.flush()
    producer.close()


def upserted(records: list[Any]) -> dict[bytes, bytes]:
    """Return the last value per key, without deleted keys."""
    table: dict[bytes, bytes] = {}
    for record in records:
        if record.value is None:
            table.pop(record.key, None)
        else:
            table[record.key] = record.value
    return table


def views_per_region(views: list[dict[str, Any]]) -> dict[bytes, bytes]:
    """Return what job.sql must have written, byte for byte."""
    count: dict[str, int] = {}
    users: dict[str, set[int]] = {}
    for view in views:
        region = view["user_region"]
        count[region] = count.get(region, 0) + 1
        users.setdefault(region, set()).add(view["user_id"])
    return {
        f'{{"user_region":"{r}"}}'.encode(): f'{{"user_region":"{r}","pv":{n},"uv":{len(users[r])}}}'.encode()
        for r, n in count.items()
    }


def quiet_pages(views: list[dict[str, Any]]) -> dict[bytes, bytes]:
    """Return what quiet_pages.sql must have left, byte for byte."""
    count: dict[int, int] = {}
    for view in views:
        count[view["page_id"]] = count.get(view["page_id"], 0) + 1
    return {f'{{"page_id":{p}}}'.encode(): f'{{"page_id":{p},"pv":{n}}}'.encode() for p, n in count.items() if n < 10}


def script(name: str, topics: dict[str, str]) -> str:
    """Return a sample's text with its topics renamed, so that tests do not meet on one topic."""
    text = (SAMPLES / name).read_text(encoding="utf-8")
    for old, new in topics.items():
        text = text.replace(f"'topic' = '{old}'", f"'topic' = '{new}'")
    return text


def passed_cases(broker: Any, kind: str, files: list[str], names: Sequence[str] = ()) -> int:
    """Run cases in a process that has another kind of Spark session; return how many have passed, none failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    command += ["-k", " or ".join(names)] if names else []
    environment = {**lending(broker), "FLINKDDL_SESSION": kind}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=560, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-6000:]
    found = re.search(r"(\d+) passed", done.stdout)
    assert found, done.stdout[-3000:]
    return int(found[1])
