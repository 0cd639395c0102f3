"""Nexmark, ours against a real Flink's over the same topic and cores: ``python -m tests.bench.nexmark``.

One topic holds all events. Each query runs from its first to its last offset into a topic of its own, in one Spark
session and in one Flink, in turn: ours, Flink with its state on a heap of 4 GB, Flink with RocksDB. Both JVMs are up;
the first round, in which code is made and compiled, is a column of its own, and the medians are of the rounds after it.
The results of the first round are compared: the table that an upsert topic holds, or the records of an append topic.
Queries that we refuse are run by Flink alone. ``--state aggregate,keyed`` runs ours in these forms of state in turn,
without Flink. ``--latency`` measures something else: see ``tests.bench.latency``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import uuid
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from tests.bench import latency
from tests.bench.against_flink import Flink
from tests.bench.nexmark.compare import Reader
from tests.bench.nexmark.engines import BACKENDS, HEAP, Engine, Ours, Theirs
from tests.bench.nexmark.fill import fill
from tests.bench.nexmark.generator import Events
from tests.bench.nexmark.queries import QUERIES, TOPIC, Query
from tests.bench.nexmark.report import Row, beside, markdown
from tests.support.java_udf import udf_jar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.nexmark.compare import Result

SIDE_ROWS = 10_000


@dataclass(frozen=True)
class Bench:
    """The engines over one broker. ``side_input``: the file in which q13 looks; ``jars``: q14's function."""

    servers: str
    reader: Reader
    engines: Sequence[Engine]
    side_input: Path
    partitions: int
    jars: Sequence[str]

    def row(self, query: Query, rounds: int) -> Row:
        """Run a query in turn, print what each run took, and compare the first round's results."""
        row, results = Row(query.name), dict[str, "Result"]()
        refused = query.refusal(self._variables("none"), self.jars)
        engines = [e for e in self.engines if not (query.flink if isinstance(e, Theirs) else refused)]
        for n in range(rounds + 1):
            for engine in engines:
                topic = f"{query.name}-{engine.name}-{n}-{uuid.uuid4().hex[:6]}"
                if self._run(engine, query, topic, row) and n == 0:
                    results[engine.name] = self.reader.result(query, topic)
        row.rows = next((r.rows for r in results.values()), None)
        told = [f"refused: {refused}"] if refused else []
        told += [query.flink] if query.flink else []
        row.said = "; ".join([*told, *row.failed.values(), *self._compared(query, results)])
        return row

    def _run(self, engine: Engine, query: Query, topic: str, row: Row) -> bool:
        from flinkddl.runtime.kafka.admin import KafkaAdmin

        if engine.name in row.failed:
            return False
        with KafkaAdmin({"bootstrap.servers": self.servers}) as admin:
            admin.create_topic(topic, self.partitions)
        try:
            took = engine.run(query, self._variables(topic))
        except (FlinkDdlError, RuntimeError) as error:
            row.failed[engine.name] = f"{engine.name} failed: {' '.join(str(error).split())[:300]}"
            print(f"{query.name} {row.failed[engine.name]}", flush=True)
            return False
        row.runs.setdefault(engine.name, []).append(took)
        print(f"{query.name} {engine.name}: {took.seconds:.1f} s, CPU {took.cpu:.1f} s", flush=True)
        return True

    def _compared(self, query: Query, results: dict[str, Result]) -> list[str]:
        """Say of each pair of neighbours whether they are equal; print rows in which they differ."""
        names = list(results)
        said = []
        for one, other in pairwise(names):
            if self.reader.equal(query, results[one], results[other]):
                continue
            said.append(f"{one} {results[one].rows:,} rows, {other} {results[other].rows:,}: not equal")
            for name, rows in zip(
                (one, other), self.reader.difference(query, results[one], results[other]), strict=True
            ):
                print(f"{query.name} only {name}: {rows}", flush=True)
        if query.clocked:
            return [f"by the clock, not compared: rows {', '.join(f'{n} {results[n].rows:,}' for n in names)}"]
        return said or (["equal"] if len(names) > 1 else [])

    def _variables(self, topic: str) -> dict[str, str]:
        return {"BOOTSTRAP_SERVERS": self.servers, "RESULT": topic, "SIDE_INPUT": str(self.side_input)}


@dataclass(frozen=True)
class Compared:
    """What runs in turn: ours in these forms of state, by themselves; without any, Flink with these backends too."""

    states: Sequence[str] = ()
    backends: Sequence[str] = tuple(BACKENDS)


def main(
    events: Events, queries: Sequence[str] = (), rounds: int = 3, turn: Compared = Compared(), partitions: int = 4
) -> None:
    """Run the queries, all by default, and print the table."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    conf = {"spark.driver.memory": HEAP, "spark.sql.shuffle.partitions": "2"}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker = stack.enter_context(Broker(BrokerOptions(heap="1g")))
        flink = stack.enter_context(nullcontext() if turn.states else Flink(HEAP))
        spark = build_session(SparkOptions(master="local[2]", conf=conf))
        stack.callback(spark.stop)
        side = folder / "side_input.txt"
        side.write_text("".join(f"{n},{n}\n" for n in range(SIDE_ROWS)), encoding="utf-8")
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            admin.create_topic(TOPIC, partitions, {"retention.ms": "-1"})
        fill(spark, broker.bootstrap, TOPIC, events, partitions)
        jars = [str(udf_jar("nexmark"))]
        engines: list[Engine] = [Ours(spark, state, jars) for state in turn.states]
        if flink is not None:
            engines = [Ours(spark, jars=jars), *(Theirs(flink, b, str(folder), jars) for b in turn.backends)]
        reader = Reader(spark, broker.bootstrap, partitions == 1)
        bench = Bench(broker.bootstrap, reader, engines, side, partitions, jars)
        rows = [bench.row(QUERIES[name], rounds) for name in queries or QUERIES]
    stream = f"{events.count:,} events, {events.rate:,} a second, seed {events.seed}"
    print(f"{stream}; {partitions} partitions, {rounds} rounds\n\n{beside(rows) if turn.states else markdown(rows)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.bench.nexmark", description=__doc__)
    parser.add_argument("--queries", type=lambda text: text.split(","), default=[], help="such as q0,q5; else all")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="after the first one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=10_000, help="events a second of event time")
    parser.add_argument("--partitions", type=int, default=4, help="with one, all columns of all queries are compared")
    parser.add_argument("--latency", action="store_true", help="milliseconds at 1,000 records a second instead")
    parser.add_argument("--backend", choices=BACKENDS, help="Flink's state; else both, in turn")
    help = "ours in these forms of state in turn, without Flink: such as aggregate,keyed"
    parser.add_argument("--state", type=lambda text: text.split(","), default=[], help=help)
    given = parser.parse_args()
    if unknown := set(given.queries) - set(QUERIES):
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    return given


if __name__ == "__main__":
    given = _arguments()
    if given.latency:
        latency.main()
        sys.exit()
    stream = Events(given.events, given.seed, given.rate)
    turn = Compared(given.state, [given.backend] if given.backend else tuple(BACKENDS))
    main(stream, given.queries, given.rounds, turn, given.partitions)
