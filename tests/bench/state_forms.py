"""State of a group in one piece against state by key, in one JVM and in turn: ``python -m tests.bench state-forms``.

Each case is one INSERT from bounded Kafka topics into a Kafka topic, with ``flinkddl.execution.state`` as 'aggregate'
and as 'keyed'; where a topic is mentioned twice also with a reading for each mention, where a part is there twice also
each by itself. q3, q5 and q20 have the shape of Nexmark's queries. A warm-up of each, then ``ROUNDS``; the last values
per key (of inserts: their number) must be equal. CPU seconds are those of Spark's process.
"""

from __future__ import annotations

import os
import statistics
import time
import uuid
from typing import Any

from tests.bench.against_flink import CASES as FLINK_CASES
from tests.bench.against_flink import LATEST, PARTITIONS, Bench, Case
from tests.bench.processes import spark_cpu
from tests.e2e import support

FORMS = {
    "aggregate": {"flinkddl.execution.state": "aggregate"},
    "keyed": {"flinkddl.execution.state": "keyed"},
    "keyed, read twice": {"flinkddl.execution.state": "keyed", "table.optimizer.reuse-source-enabled": "false"},
    "keyed, apart": {"flinkddl.execution.state": "keyed", "table.optimizer.reuse-sub-plan-enabled": "false"},
}
ROUNDS = 2
TWICE = {
    "q20": Case(
        "SELECT B.auction, B.bidder, B.price, A.itemName, A.seller FROM bid B JOIN auction A ON B.auction = A.id "
        "WHERE A.category = 10",
        "auction BIGINT, bidder BIGINT, price BIGINT, item STRING, seller BIGINT",
    ),
    "q3": Case(
        "SELECT P.name, P.city, P.state, A.id FROM auction A JOIN person P ON A.seller = P.id "
        "WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA')",
        "name STRING, city STRING, state STRING, id BIGINT",
    ),
}
"""Queries over two views of one topic, of which 46 of 50 records are bids, three auctions, one a person."""
EVENTS = """CREATE TABLE events (event_type INT,
  person ROW<id BIGINT, name STRING, emailAddress STRING, city STRING, state STRING, extra STRING>,
  auction ROW<id BIGINT, itemName STRING, initialBid BIGINT, seller BIGINT, category BIGINT, extra STRING>,
  bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, extra STRING>
) WITH ('connector' = 'kafka', 'format' = 'json', 'topic' = 'events', 'scan.startup.mode' = 'earliest-offset',
  'properties.bootstrap.servers' = '{servers}', 'scan.bounded.mode' = 'latest-offset')"""
PERSON = (
    "named_struct('id', id div 50, 'name', concat('name ', id div 50), 'emailAddress', 'someone@example.org', "
    "'city', 'Portland', "
    "'state', element_at(array('OR', 'ID', 'CA', 'NY', 'WA', 'AZ'), CAST(id div 50 % 6 AS INT) + 1), "
    "'extra', repeat('p', 60))"
)
AUCTION = (
    "named_struct('id', id div 50 * 3 + id % 50 - 1, 'itemName', concat('item ', id), 'initialBid', id % 1000, "
    "'seller', greatest(id div 50 - id * 7919 % 40, 0), 'category', 10 + id div 50 % 5, 'extra', repeat('a', 200))"
)
BID = (
    "named_struct('auction', greatest(id div 50 * 3 - id * 7919 % 100, 0), 'bidder', id * 31 % 1000, "
    "'price', id % 10000, 'channel', 'channel-7', 'url', 'https://www.nexmark.com/item.htm?query=1', "
    "'extra', repeat('b', 40))"
)
EVENT = (
    f"named_struct('event_type', CAST(CASE WHEN id % 50 = 0 THEN 0 WHEN id % 50 < 4 THEN 1 ELSE 2 END AS INT), "
    f"'person', IF(id % 50 = 0, {PERSON}, NULL), 'auction', IF(id % 50 IN (1, 2, 3), {AUCTION}, NULL), "
    f"'bid', IF(id % 50 > 3, {BID}, NULL))"
)
COUNTS = "SELECT auction, MOD(bidder, 100) AS w, COUNT(*) AS num FROM bid GROUP BY auction, MOD(bidder, 100)"
PARTS = {
    "q5": Case(
        f"SELECT C.auction, C.w, C.num FROM ({COUNTS}) C JOIN "
        f"(SELECT w, MAX(num) AS most FROM ({COUNTS}) GROUP BY w) M ON C.w = M.w AND C.num >= M.most",
        "auction BIGINT, w BIGINT, num BIGINT",
        "auction, w",
    ),
    "outer": Case(
        "SELECT A.id, COUNT(B.bidder) FROM auction A LEFT JOIN bid B ON A.id = B.auction AND B.price > A.initialBid "
        "GROUP BY A.id",
        "id BIGINT, n BIGINT",
        "id",
    ),
}
"""Counts beside their maximum, where a part is there twice, and an outer join with a condition, where it once was."""
CASES = {name: FLINK_CASES[name] for name in ("sum-upsert", "max-upsert", "distinct", "top10")} | {
    "join-upserts": Case(
        "SELECT l.k, l.amount, n.region FROM latest l JOIN newest n ON l.k = n.k",
        "k BIGINT, amount BIGINT, region STRING",
        "k",
    ),
    **TWICE,
    **PARTS,
}


class Forms(Bench):
    """A bench without Flink."""

    def fill(self, topics: set[str]) -> None:
        """Write the sources with Spark."""
        super().fill(topics - {"events"})
        self.put("events", [f"CAST(to_json({EVENT}) AS BINARY) AS value"])

    def sources(self) -> list[str]:
        newest = LATEST.replace("TABLE latest", "TABLE newest").replace("'topic' = 'latest'", "'topic' = 'newest'")
        views = [
            f"CREATE VIEW {name} AS SELECT {name}.* FROM events WHERE event_type = {n}"
            for n, name in enumerate(("person", "auction", "bid"))
        ]
        return [*super().sources(), newest.format(servers=self.servers), EVENTS.format(servers=self.servers), *views]

    def run(self, case: Case, topic: str, form: str) -> tuple[float, float]:
        """Return wall and CPU seconds of a run."""
        from flinkddl.api import Catalog

        catalog = Catalog(self.spark, views=False)
        sets = [f"SET '{k}' = '{v}'" for k, v in ({"execution.runtime-mode": "streaming"} | FORMS[form]).items()]
        script = ";\n".join([*sets, *self.sources(), case.sink(topic, self.servers)])
        catalog.execute(f"{script};")
        wall, cpu = time.perf_counter(), spark_cpu()
        catalog.execute(f"INSERT INTO `{topic}` {case.query}").await_termination()
        return time.perf_counter() - wall, spark_cpu() - cpu


def compare(bench: Forms, name: str) -> None:
    """Run a case in both forms, in turn, and print a line."""
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    case = CASES[name]
    forms = [f for f in FORMS if (name in TWICE) >= ("twice" in f) and (name in PARTS) >= ("apart" in f)]
    found: dict[str, list[tuple[float, float]]] = {form: [] for form in forms}
    results: list[Any] = []
    for n in range(ROUNDS + 1):
        for number, form in enumerate(forms):
            topic = f"{name}-{number}-{n}-{uuid.uuid4().hex[:6]}"
            with KafkaAdmin({"bootstrap.servers": bench.servers}) as admin:
                admin.create_topic(topic, PARTITIONS)
            found[form].append(bench.run(case, topic, form))
            if n == 0:
                records = support.read_topic(bench.servers, topic)
                results.append(support.upserted(records) if case.key else len(records))
    assert all(result == results[0] for result in results), f"{name}: the forms disagree"
    parts = []
    for form in forms:
        wall, cpu = (statistics.median(r[i] for r in found[form][1:]) for i in (0, 1))
        parts.append(f"{form} {wall:.1f} s, CPU {cpu:.1f} s")
    print(f"{name}: {bench.records:,} records a topic, {'; '.join(parts)}", flush=True)


def main(records: int = 500_000) -> None:
    """Print one line a case; ``FLINKDDL_BENCH_CASES`` names some of them."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    conf = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"}
    with Broker(BrokerOptions(heap="700m")) as broker:
        spark = build_session(SparkOptions(master="local[2]", conf=conf))
        bench = Forms(spark, None, broker.bootstrap, records)  # type: ignore[arg-type]
        topics = {"visits", "latest", "newest", "events"}
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            for topic in topics:
                admin.create_topic(topic, PARTITIONS, {"retention.ms": "-1"})
        bench.fill(topics)
        for name in filter(None, os.environ.get("FLINKDDL_BENCH_CASES", ",".join(CASES)).split(",")):
            compare(bench, name)
        spark.stop()
