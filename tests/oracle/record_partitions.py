"""Records ``tests/data/goldens/kafka/partitions.jsonl`` from a real Flink.

Each case of the table below is run by Flink on a development broker; what lies in the topic then is the answer.

    python -m tests.oracle.record_partitions [ID ...]    without an id all; else those alone, the others are kept
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from flinkddl.runtime.broker.server import Broker, BrokerOptions
from tests.conformance.formats import GOLDENS, Case, World, _filled, cases
from tests.conformance.partitions import written
from tests.conformance.topics import Topics
from tests.support.registry import Registry

ORACLE = Path(os.environ.get("FLINKDDL_ORACLE", Path(__file__).parents[3] / "shared" / "oracle" / "flink"))

NAMES = ("plain", "Grüße", "a,b", 'say "x"', "back\\slash", "日本", "😀", "", " padded ", "line\nbreak")
ROWS = [(i * 7919 - 100, NAMES[i % len(NAMES)], i) for i in range(30)]
VALUES = ", ".join(f"({i}, '{n}', {v})" for i, n, v in ROWS)  # no name has a quote of SQL
TYPED = (
    "CAST(id AS BIGINT), name, CAST(id AS DECIMAL(10, 2)), CAST(id AS DOUBLE) / 8, MOD(n, 2) = 0, "
    "TIMESTAMPADD(SECOND, id, TIMESTAMP '2020-02-29 12:00:00.123'), "
    "CAST(TIMESTAMPADD(DAY, n, DATE '1999-12-31') AS DATE), CAST(name AS BYTES)"
)
TYPES = "i BIGINT, s STRING, d DECIMAL(10, 2), f DOUBLE, b BOOLEAN, ts TIMESTAMP(3), dt DATE, x BYTES"


def table(columns: str, connector: str = "kafka", **options: str) -> str:
    known = {"connector": connector, "topic": "{topic}", "properties.bootstrap.servers": "{servers}"}
    named = {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
    inside = ",\n".join(f"  '{k}' = '{v}'" for k, v in (known | named).items())
    return f"CREATE TABLE t (\n  {columns}\n) WITH (\n{inside}\n)"


def typed(name: str, fields: str, key: str, **options: str) -> dict[str, Any]:
    """A kafka table with every type, keyed by some of its columns."""
    ddl = table(TYPES, key_format=key, key_fields=fields, value_format="json", **options)
    insert = f"INSERT INTO t SELECT {TYPED} FROM (VALUES {VALUES}) AS v(id, name, n)"
    return {"id": f"part-{name}", "partitions": 7, "ddl": ddl, "insert": insert}


def nulls(name: str, key: str, **options: str) -> dict[str, Any]:
    """Keys of which some are NULL."""
    ddl = table("k STRING, n INT", key_format=key, key_fields="k", value_format="json", **options)
    rows = ", ".join(f"('{'~' if i % 3 == 0 else f'key-{i}'}', {i})" for i in range(20))
    insert = f"INSERT INTO t SELECT CAST(NULLIF(k, '~') AS STRING), n FROM (VALUES {rows}) AS v(k, n)"
    return {"id": f"part-null-{name}", "partitions": 5, "ddl": ddl, "insert": insert}


def upsert(name: str, keys: str, key: str, **options: str) -> dict[str, Any]:
    columns = f"id BIGINT, name STRING, n INT, PRIMARY KEY ({keys}) NOT ENFORCED"
    ddl = table(columns, "upsert-kafka", key_format=key, value_format="json", **options)
    insert = f"INSERT INTO t SELECT CAST(id AS BIGINT), name, n FROM (VALUES {VALUES}) AS v(id, name, n)"
    off = ["'table.exec.sink.require-on-conflict'='false'"]
    return {"id": f"part-upsert-{name}", "set": off, "partitions": 7, "ddl": ddl, "insert": insert}


def deletes(key: str) -> dict[str, Any]:
    """Changes of a database: an upsert topic gets a tombstone, which must lie where the key's records do."""
    changes = [{"op": "c", "before": None, "after": {"id": i, "name": NAMES[i % 10], "n": 1}} for i in range(12)]
    changes += [{"op": "d", "before": {"id": i, "name": NAMES[i % 10], "n": 1}, "after": None} for i in range(0, 12, 2)]
    records = [{"key": None, "value": json.dumps(c).encode().hex()} for c in changes]
    source = (
        "CREATE TABLE src (\n  id BIGINT, name STRING, n INT, PRIMARY KEY (id) NOT ENFORCED\n) WITH (\n"
        "  'connector' = 'kafka', 'topic' = '{topic_src0}',\n  'properties.bootstrap.servers' = '{servers}',\n"
        "  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',\n"
        "  'format' = 'debezium-json'\n)"
    )
    case = upsert(f"deletes-{key}", "id", key)
    return case | {
        "setup": [{"ddl": source, "records": records}],
        "insert": "INSERT INTO t SELECT id, name, n FROM src",
    }


def spread(name: str, partitions: int, rows: int, width: int, **options: str) -> dict[str, Any]:
    """So many bytes without a key that the producer goes on to other partitions, or so many writers."""
    ddl = table("id BIGINT, text STRING", format="json", **options)
    source = (
        "CREATE TABLE src (\n  id BIGINT\n) WITH (\n  'connector' = 'datagen', 'fields.id.kind' = 'sequence', "
        f"'fields.id.start' = '1', 'fields.id.end' = '{rows}'\n)"
    )
    insert = f"INSERT INTO t SELECT id, REPEAT('x', {width}) FROM src"
    setup = [{"ddl": source, "records": []}]
    return {"id": f"part-{name}", "partitions": partitions, "ddl": ddl, "insert": insert, "setup": setup, "spread": []}


CASES = [
    typed("json-bigint", "i", "json"),
    typed("json-string", "s", "json"),
    typed("json-decimal-double", "d;f", "json"),
    typed("json-boolean-times", "b;ts;dt", "json"),
    typed("json-bytes", "x", "json"),
    typed("json-explicit-default", "i;s", "json", sink_partitioner="default"),
    typed("csv-bigint", "i", "csv"),
    typed("csv-string", "s", "csv"),
    typed("csv-several", "s;i;dt", "csv", key_csv_field__delimiter=";"),
    typed("raw-bigint", "i", "raw"),
    typed("raw-bigint-little", "i", "raw", key_raw_endianness="little-endian"),
    typed("raw-string", "s", "raw"),
    typed("raw-string-utf16", "s", "raw", key_raw_charset="UTF-16"),
    typed("raw-double", "f", "raw"),
    typed("raw-boolean", "b", "raw"),
    typed("raw-bytes", "x", "raw"),
    typed("avro-bigint", "i", "avro"),
    typed("avro-string", "s", "avro"),
    typed("avro-several", "s;d;ts;b", "avro"),
    typed("avro-confluent", "i;s", "avro-confluent", key_avro__confluent_url="{registry}"),
    typed("fixed-json", "i", "json", sink_partitioner="fixed"),
    typed("fixed-avro", "s", "avro", sink_partitioner="fixed"),
    nulls("json", "json"),
    nulls("csv", "csv"),
    nulls("raw", "raw"),
    nulls("avro", "avro"),
    nulls("raw-fixed", "raw", sink_partitioner="fixed"),
    nulls("json-fixed", "json", sink_partitioner="fixed"),
    upsert("json", "id", "json"),
    upsert("json-several", "name, id", "json"),
    upsert("csv", "name", "csv"),
    upsert("raw", "name", "raw"),
    upsert("avro", "id", "avro"),
    upsert("avro-several", "name, id", "avro"),
    deletes("json"),
    deletes("avro"),
    spread("unset-spread", 3, 4000, 1000),
    spread("default-spread", 3, 4000, 1000, sink_partitioner="default"),
    spread("round-robin-spread", 3, 4000, 1000, sink_partitioner="round-robin"),
    spread("fixed-one-writer", 3, 300, 10, sink_partitioner="fixed", sink_parallelism="1"),
    spread("fixed-two-writers", 3, 300, 10, sink_partitioner="fixed", sink_parallelism="2"),
    spread("fixed-more-writers", 3, 300, 10, sink_partitioner="fixed", sink_parallelism="5"),
]  # fmt: skip


class Flink:
    """A real Flink as the thing that executes."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([str(ORACLE), "pipe", "streaming"], stdin=pipe, stdout=pipe, text=True)

    def session(self, case: Case) -> Flink:
        self._ask("SET 'table.local-time-zone'='UTC'", reset=True)
        for setting in case.data.get("set", ()):
            self._ask(f"SET {setting}")
        return self

    def execute(self, session: Flink, sql: str) -> None:
        session._ask(sql)

    def _ask(self, sql: str, reset: bool = False) -> None:
        answer = self.ask(sql, reset)
        if not answer.get("ok"):
            raise RuntimeError(f"{sql}: {answer}")

    def ask(self, sql: str, reset: bool = False) -> Any:
        """Return the oracle's answer to a statement."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"id": 0, "sql": sql, "reset": reset, "timeout_ms": 60000}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def answered(case: dict[str, Any], flink: Flink, world: World) -> dict[str, Any]:
    """Return the case with what Flink wrote."""
    with Registry() as registry:
        registry.reset(())
        filled = json.loads(_filled(json.dumps(case), world.topics.bootstrap, registry.url))
        records = written(Case(filled, world, registry), flink)
    used = sorted({r["partition"] for r in records})
    print(case["id"], len(records), used, flush=True)
    return case | ({"spread": used, "count": len(records), "records": []} if "spread" in case else {"records": records})


def main() -> None:
    path, chosen = GOLDENS / "partitions.jsonl", sys.argv[1:]
    known = {json.loads(line)["id"]: line for line in cases(path)} if chosen else {}
    flink = Flink()
    with Broker(BrokerOptions(heap="400m")) as broker, Topics(broker.bootstrap) as topics:
        world = World(None, topics)  # type: ignore[arg-type]
        for case in CASES:
            if not chosen or case["id"] in chosen:
                known[case["id"]] = json.dumps(answered(case, flink, world), ensure_ascii=False)
    flink.close()
    path.write_text("".join(f"{line}\n" for line in known.values()), encoding="utf-8")


if __name__ == "__main__":
    main()
