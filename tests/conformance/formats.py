"""Area ``formats``: decode.jsonl and encode.jsonl of the Kafka goldens through the whole product.

Each case runs its real statements over real topics of a development broker: the table is declared, then read by its
query or written by its INSERT. Every case counts; whatever has no answer of ours is a failure.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from tests.conformance.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from tests.conformance.product import Product
    from tests.conformance.topics import Topics
    from tests.support.registry import Registry

GOLDENS = Path(__file__).parents[1] / "data" / "goldens" / "kafka"
# observed.md: Flink 2 refuses what Flink 1 accepted unless this is off; ours is the other way round.
STRICT = "SET 'flinkddl.strict' = 'true'"  # refuse whatever Flink 2.3 refuses
ONE = "SET 'parallelism.default' = '1'"  # as the oracle's; with more, the order of a sink's records is open
# What may stop a case that Flink fails as well: a refusal while planning, or a job that says which record is bad.
_DEFECTS = ("FD831", "FD832", "FD9")


@dataclass
class Difference(Exception):
    """An answer of ours that is not Flink's."""

    expected: Any
    got: Any


@dataclass(frozen=True)
class World:
    """What the cases share: one Spark session and one broker."""

    product: Product
    topics: Topics


@dataclass(frozen=True)
class Case:
    """One recorded case with its placeholders filled in; ``registry`` is its own."""

    data: dict[str, Any]
    world: World
    registry: Registry

    def session(self, *first: str) -> Any:
        """Return a catalog with the case's settings."""
        catalog = self.world.product.catalog()
        zone = f"SET 'table.local-time-zone' = '{self.data.get('zone', 'UTC')}'"
        for sql in (STRICT, ONE, zone, *first, *(f"SET {s}" for s in self.data.get("set", ()))):
            self.world.product.execute(catalog, sql)
        return catalog


def cases(path: Path) -> list[str]:
    """Return the lines of a file of cases, one JSON text each."""
    return path.read_text(encoding="utf-8").splitlines()


def run(
    area: str,
    data: Path | None,
    only: tuple[str, ...],
    jobs: int,
    *,
    spark: SparkSession | None = None,
    bootstrap: str | None = None,
    attempts: Mapping[str, Callable[[Case], None]] | None = None,
) -> Iterator[Outcome]:
    """Run the cases of both files whose id begins with one of ``only``, ``jobs`` at once.

    ``spark`` and ``bootstrap`` are a session and a broker that are there already; others are started. ``attempts`` are
    what is done with the cases of each file, here read them and write them.
    """
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from tests.conformance.decoding import decode
    from tests.conformance.encoding import encode
    from tests.conformance.product import Product
    from tests.conformance.topics import Topics

    os.environ["TZ"] = "UTC"
    time.tzset()
    attempts = attempts or {"decode": decode, "encode": encode}
    lines = [(attempts[name], line) for name in attempts for line in cases((data or GOLDENS) / f"{name}.jsonl")]
    chosen = [(a, line) for a, line in lines if not only or json.loads(line)["id"].startswith(only)]
    with ExitStack() as stack:
        if bootstrap is None:
            bootstrap = stack.enter_context(Broker(BrokerOptions(heap="500m"))).bootstrap
        topics = stack.enter_context(Topics(bootstrap))
        if spark is None:
            product = stack.enter_context(Product())
        else:
            product = Product()
            product.spark = spark
        pool = stack.enter_context(ThreadPoolExecutor(max(1, jobs)))
        yield from pool.map(lambda pair: outcome(pair[0], pair[1], World(product, topics)), chosen)


def outcome(attempt: Callable[[Case], None], line: str, world: World) -> Outcome:
    """Run one case and say how it ended."""
    from tests.support.registry import Registry

    with Registry() as registry:
        text = _filled(line, world.topics.bootstrap, registry.url)
        data = json.loads(text)
        registry.reset(data.get("schemas", ()))
        return _verdict(data, attempt, Case(data, world, registry))


def _filled(line: str, servers: str, registry: str) -> str:
    topic = f"f-{uuid.uuid4().hex[:10]}"
    known = {
        "{topic}": topic,
        "{topic2}": f"{topic}b",
        "{topic_src0}": f"{topic}-src",
        "{servers}": servers,
        "{group}": f"g-{topic}",
        "{registry}": registry,
    }
    for name, value in known.items():
        line = line.replace(name, value)
    return line


def _verdict(data: dict[str, Any], attempt: Callable[[Case], None], case: Case) -> Outcome:
    error = data.get("error")
    try:
        attempt(case)
    except Difference as found:
        return Outcome(data["id"], "failed", found.expected, found.got)
    except FlinkDdlError as refused:
        code = refused.diagnostics[0].code
        said = f"{code} {' '.join(str(refused).split())[:400]}"
        if error is not None and not code.startswith(_DEFECTS):
            return Outcome(data["id"], "passed")
        planned = not code.startswith(("FD8", "FD9"))
        return Outcome(data["id"], "refused" if planned else "failed", error or "an answer", said)
    except Exception as crash:  # noqa: BLE001 - a crash is a wrong answer, and the other cases still count
        said = f"{type(crash).__name__}: {' '.join(str(crash).split())[:400]}"
        return Outcome(data["id"], "failed", error or "an answer", said)
    if error is not None:
        return Outcome(data["id"], "failed", f"error {' '.join(str(error[1]).split())[:200]}", "an answer")
    return Outcome(data["id"], "passed")
