"""Windows over a table whose rows are taken back: one that is left without rows gives none, as a real Flink 2.3 has it.

``BEGINS`` is what the oracle gave for these very rows, of each window alike: of keys whose rows have all been taken
back nothing comes out, of a row that has moved to another window the one in which it is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from tests.support.topics import read, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka


def row(i: int, k: str, v: int, time: str) -> dict[str, Any]:
    return {"id": i, "k": k, "v": v, "ts": f"2024-03-01 {time}"}


GONE, KEPT = row(1, "gone", 5, "10:00:00"), row(2, "kept", 7, "10:00:01")
FIRST, SECOND = row(3, "two", 3, "10:00:02"), row(4, "two", 4, "10:00:03")
HERE, THERE, LAST = row(5, "moved", 3, "10:00:02"), row(5, "moved", 4, "10:05:03"), row(9, "end", 1, "10:10:00")
CHANGES = [
    (None, GONE), (GONE, None), (None, KEPT), (None, FIRST), (None, SECOND), (FIRST, None), (None, HERE), (HERE, THERE),
    (row(6, "never", 1, "10:00:04"), None), (None, LAST),
]  # fmt: skip
RESULTS = {"kept": "1,7", "two": "1,4", "moved": "1,4", "end": "1,1"}
BEGINS = {
    "tumble": {"kept": ["10:00:00"], "two": ["10:00:00"], "moved": ["10:05:00"], "end": ["10:10:00"]},
    "hop": {
        "kept": ["09:59:45", "10:00:00"], "two": ["09:59:45", "10:00:00"],
        "moved": ["10:04:45", "10:05:00"], "end": ["10:09:45", "10:10:00"],
    },
    "session": {"kept": ["10:00:01"], "two": ["10:00:02"], "moved": ["10:05:03"], "end": ["10:10:00"]},
    "sessionlist": {"kept": ["10:00:01"], "two": ["10:00:02"], "moved": ["10:05:03"], "end": ["10:10:00"]},
}  # fmt: skip
HALF = "INTERVAL '30' SECOND"
VALUE = "CAST(COUNT(*) AS STRING) || ',' || CAST(SUM(v) AS STRING)"
LISTED = "CAST(COUNT(*) AS STRING) || ',' || LISTAGG(CAST(v AS STRING))"
WINDOWS = {
    "tumble": (f"TUMBLE(TABLE s, DESCRIPTOR(ts), {HALF})", f"TUMBLE(ts, {HALF})", VALUE),
    "hop": (
        f"HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '15' SECOND, {HALF})", f"HOP(ts, INTERVAL '15' SECOND, {HALF})", VALUE
    ),
    "session": (f"SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), {HALF})", f"SESSION(ts, {HALF})", VALUE),
    "sessionlist": (f"SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), {HALF})", f"SESSION(ts, {HALF})", LISTED),
}  # fmt: skip


def inserts() -> str:
    """Return each window as a table function and as a group window."""
    out = []
    for name, (table, window, value) in WINDOWS.items():
        start = window.replace("(", "_START(", 1)
        out.append(
            f"INSERT INTO o SELECT '{name}', k, window_start, {value} FROM TABLE({table}) "
            "GROUP BY k, window_start, window_end;"
        )
        out.append(f"INSERT INTO o SELECT 'legacy {name}', k, {start}, {value} FROM s GROUP BY k, {window};")
    return "\n".join(out)


FORMS = {
    "chain": "SET 'flinkddl.execution.state' = 'chain'; SET 'execution.runtime-mode' = 'streaming';",
    "Spark's own": "SET 'execution.runtime-mode' = 'streaming';",
    "ends by itself": "",
}


@pytest.mark.parametrize("form", FORMS)
def test_windows_without_rows(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path, form: str
) -> None:
    topic, out = new_topic("s", 1), new_topic("o", 1)
    send(broker.bootstrap, topic, [{"before": b, "after": a, "op": op(b, a)} for b, a in CHANGES])
    servers = f"'properties.bootstrap.servers' = '{broker.bootstrap}'"
    Catalog(spark, views=False).execute_all(
        f"""{FORMS[form]}
        CREATE TABLE s (id BIGINT, k STRING, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
          WITH (
          'connector' = 'kafka', 'topic' = '{topic}', {servers}, 'scan.startup.mode' = 'earliest-offset',
          'scan.bounded.mode' = 'latest-offset', 'format' = 'debezium-json');
        CREATE TABLE o (name STRING, k STRING, begins TIMESTAMP(3), n STRING) WITH (
          'connector' = 'kafka', 'topic' = '{out}', {servers}, 'format' = 'json');
        EXECUTE STATEMENT SET BEGIN {inserts()} END;""",
        run={"checkpoint": str(tmp_path), "notice": lambda _: None},
    )[-1].job.await_termination(240)  # type: ignore[union-attr]
    found: dict[str, list[tuple[str, str, str]]] = {}
    for record in read(broker.bootstrap, out):
        one = json.loads(record.value)
        found.setdefault(one["name"], []).append((one["k"], one["begins"].split()[1], one["n"]))
    for name, begins in BEGINS.items():
        expected = sorted((k, begin, RESULTS[k]) for k, all_of in begins.items() for begin in all_of)
        assert sorted(found.get(name, [])) == expected, name
        assert sorted(found.get(f"legacy {name}", [])) == expected, name


def op(before: object, after: object) -> str:
    if before is None:
        return "c"
    return "d" if after is None else "u"
