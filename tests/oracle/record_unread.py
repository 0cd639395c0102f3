"""Records ``tests/data/goldens/kafka/unread.jsonl`` from a real Flink: what a malformed field that no query reads does.

python -m tests.oracle.record_unread
"""

from __future__ import annotations

import json
from typing import Any

from flinkddl.runtime.broker.server import Broker, BrokerOptions
from tests.conformance.formats import GOLDENS, _filled
from tests.conformance.topics import Topics
from tests.oracle.record_partitions import Flink

FITS = {"a": 1, "b": 2, "s": "x", "t": "2024-01-02 03:04:05", "r": {"x": 3, "y": 4}, "d": 1.5, "l": [1, 2]}
COLUMNS = "a INT, b INT, s STRING, t TIMESTAMP(3), r ROW<x INT, y INT>, d DECIMAL(5, 2), l ARRAY<INT>"
WRONG: dict[str, dict[str, Any]] = {
    "int": {"b": "q"},
    "range": {"b": 2**40},
    "container": {"b": {"x": 9}},
    "array": {"b": [5]},
    "time": {"t": "2024-13-01"},
    "nested": {"r": {"x": 3, "y": "q"}},
    "row": {"r": 5},
    "exponent": {"d": "1e", "s": {"k": [1.50, {"a": 2}]}},
    "element": {"l": [1, "q"]},
    "text": {"s": 1.10, "d": 123456.5},
}
CDC = {
    "debezium-json": '{{"before":null,"after":{0},"op":"c"}}',
    "canal-json": '{{"data":[{0}],"type":"INSERT"}}',
    "maxwell-json": '{{"data":{0},"type":"insert"}}',
    "ogg-json": '{{"after":{0},"op_type":"I"}}',
}
CSV_COLUMNS = "a INT, b INT, s STRING, t TIMESTAMP(3), r ROW<x INT, y INT>"
CSV = {
    "int": "2,q,x,2024-01-02 03:04:05,3;4",
    "time": "2,2,x,2024-13-01,3;4",
    "nested": "2,2,x,2024-01-02 03:04:05,3;q",
    "row": "2,2,x,2024-01-02 03:04:05,3",
    "short": "2,2",
    "long": "2,2,x,2024-01-02 03:04:05,3;4,5",
    "quote": '2,2,"x,2024-01-02 03:04:05,3;4',
}
LINE = "{},2,x,2024-01-02 03:04:05,3;4"


def case(
    name: str, format: str, columns: str, query: str, values: list[bytes | None], **options: str
) -> dict[str, Any]:
    """Return a case without its answer. Options of the format are given without its name, ``_`` for ``-``."""
    known = {"connector": "kafka", "topic": "{topic}", "properties.bootstrap.servers": "{servers}", "format": format}
    known |= {"scan.startup.mode": "earliest-offset", "scan.bounded.mode": "latest-offset"}
    known |= {f"{format}.{k.replace('__', '.').replace('_', '-')}": v for k, v in options.items()}
    inside = ",\n".join(f"  '{k}' = '{v}'" for k, v in known.items())
    records = [{"key": None, "value": None if v is None else v.hex()} for v in values]
    ddl = f"CREATE TABLE t (\n  {columns}\n) WITH (\n{inside}\n)"
    return {"id": f"unread-{format}-{name}", "ddl": ddl, "records": records, "query": query}


def rows(wrong: dict[str, Any], envelope: str = "{0}") -> list[bytes | None]:
    """Return a row that fits, one with what is wrong, and one that fits."""
    some = (FITS | {"a": 1}, FITS | {"a": 2} | wrong, FITS | {"a": 3})
    return [envelope.format(json.dumps(row, separators=(",", ":"))).encode() for row in some]


def cases() -> list[dict[str, Any]]:
    """Return all cases, strict and with errors ignored."""
    out = []
    for how, options in (("strict", {}), ("ignore", {"ignore_parse_errors": "true"})):
        for name, wrong in WRONG.items():
            query = "SELECT r.x FROM t" if name == "nested" else "SELECT a FROM t"
            out.append(case(f"{name}-{how}", "json", COLUMNS, query, rows(wrong), **options))
            tree = {"decode__json_parser__enabled": "false"} | options
            out.append(case(f"tree-{name}-{how}", "json", COLUMNS, query, rows(wrong), **tree))
            for format, envelope in CDC.items():
                if name in ("int", "container", "nested", "text"):
                    out.append(case(f"{name}-{how}", format, COLUMNS, query, rows(wrong, envelope), **options))
        for name, line in CSV.items():
            lines: list[bytes | None] = [LINE.format(1).encode(), line.encode(), LINE.format(3).encode()]
            query = "SELECT r.x FROM t" if name == "nested" else "SELECT a FROM t"
            out.append(case(f"{name}-{how}", "csv", CSV_COLUMNS, query, lines, **options))
    out.append(case("missing", "json", COLUMNS, "SELECT a FROM t", [b'{"a":1}'], fail_on_missing_field="true"))
    out.append(case("size", "raw", "b INT, p INT METADATA FROM 'partition'", "SELECT p FROM t", [b"\0\0\0\1", b"xx"]))
    out.append(case("null", "raw", "b INT, p INT METADATA FROM 'partition'", "SELECT p FROM t", [b"\0\0\0\1", None]))
    text = "b STRING, p INT METADATA FROM 'partition'"
    out.append(case("utf8", "raw", text, "SELECT p FROM t", [b"x", b"\xff\xfe"]))
    three = "a INT NOT NULL, s STRING NOT NULL, t TIMESTAMP(3) NOT NULL, d DECIMAL(5, 2) NOT NULL"
    good = b"\x02\x02x\x0a\x02\x7d"
    out.append(case("cut", "avro", three, "SELECT a FROM t", [good, good[:-1]]))
    out.append(case("length", "avro", three, "SELECT a FROM t", [good, b"\x02\x7f"]))
    out.append(case("decimal", "avro", three, "SELECT a FROM t", [good, b"\x04\x02x\x0a\x00"]))
    out.append(case("wide", "avro", three, "SELECT a FROM t", [good, b"\x04\x02x\x0a\x0a\x7d\x7d\x7d\x7d\x7d"]))
    out.append(case("utf8", "avro", three, "SELECT a FROM t", [good, b"\x04\x04\xff\xfe\x0a\x02\x7d"]))
    return out


def answered(data: dict[str, Any], flink: Flink, topics: Topics) -> dict[str, Any]:
    """Return a case with what Flink says: columns and rows, or the error."""
    filled = json.loads(_filled(json.dumps(data), topics.bootstrap, ""))
    topics.fill(filled["ddl"], filled["records"], 1)
    flink.ask("SET 'table.local-time-zone'='UTC'", reset=True)
    flink.ask(filled["ddl"])
    answer = flink.ask(filled["query"])
    said = {k: answer[k] for k in ("columns", "rows") if "error" not in answer} | (
        {"error": answer["error"][:2], "chain": answer["chain"]} if "error" in answer else {}
    )
    print(data["id"], str(said.get("rows") or said.get("error"))[:160], flush=True)
    return data | said


def main() -> None:
    """Ask about every case."""
    flink = Flink()
    with Broker(BrokerOptions(heap="400m")) as broker, Topics(broker.bootstrap) as topics:
        lines = [json.dumps(answered(c, flink, topics), ensure_ascii=False) for c in cases()]
    flink.close()
    (GOLDENS / "unread.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
