"""encode.jsonl: the case's INSERT into its topic; the bytes of key, value and headers compared with those of Flink.

What an insert-only sink gets is compared record by record in order. A sink that takes changes is compared by what its
records leave, because a bounded run writes a key's last state where Flink writes each step: the last value of a key
(upsert-kafka), or the images added less those taken away (change formats). Every record left is byte-equal.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from io import BytesIO
from typing import TYPE_CHECKING, Any

from tests.conformance.formats import Difference

if TYPE_CHECKING:
    from tests.conformance.formats import Case

Record = dict[str, Any]
_CHANGES = re.compile(r"'(?:value\.)?format'\s*=\s*'(debezium-json|canal-json|maxwell-json|ogg-json|debezium-avro\S*)'")


def encode(case: Case) -> None:
    """Run one case; raises Difference, or what the product raises."""
    data, topics, product = case.data, case.world.topics, case.world.product
    for table in data.get("setup", ()):
        topics.fill(table["ddl"], table["records"])
    names = topics.fill(data["ddl"], [], data.get("partitions", 1))
    catalog = case.session()
    for sql in (*(s["ddl"] for s in data.get("setup", ())), data["ddl"], data["insert"]):
        product.execute(catalog, sql)
    if "error" in data:
        return
    found = [_shown(r, data) for name in names for r in topics.read(name)]
    expected = [_sorted_headers(r) for r in data["records"]]
    if found != expected:
        _compare_states(data, expected, found, case)
    registered = [tuple(r) for r in data.get("registered", ())]
    if registered and registered != case.registry.registered:
        raise Difference(registered, case.registry.registered)


def _shown(record: Record, data: dict[str, Any]) -> Record:
    """Return a record with what the case's own records tell."""
    told = {k for r in data["records"] for k in r}
    return _sorted_headers({k: v for k, v in record.items() if k in told})


def _sorted_headers(record: Record) -> Record:
    """Return a record with its headers by name: those of a map have no order."""
    return {**record, "headers": sorted(record.get("headers", ()), key=lambda h: h[0])}


def _compare_states(data: dict[str, Any], expected: list[Record], found: list[Record], case: Case) -> None:
    change_format = _CHANGES.search(data["ddl"])
    if change_format:
        left, right = (_net(rs, change_format[1], case.registry.schemas) for rs in (expected, found))
    elif "'upsert-kafka'" in data["ddl"]:
        left, right = _last(expected), _last(found)
    else:
        left, right = expected, found
    if left != right:
        raise Difference(_readable(expected), _readable(found))


def _last(records: list[Record]) -> dict[str, Record]:
    table: dict[str, Record] = {}
    for r in records:
        table[r["key"]] = r
    return {k: {n: v for n, v in r.items() if n != "timestamp"} for k, r in table.items() if r["value"] is not None}


def _net(records: list[Record], name: str, schemas: list[str]) -> Counter[str]:
    """Return how often each (key, image) stands at the end. Numbers stay texts, so that their digits count."""
    counts: Counter[str] = Counter()
    for r in records:
        for image, sign in _images(bytes.fromhex(r["value"]), name, schemas):
            counts[f"{r['key']} {image}"] += sign
    return +counts


def _images(value: bytes, name: str, schemas: list[str]) -> list[tuple[str, int]]:
    if "avro" in name:
        import fastavro

        schema = fastavro.parse_schema(json.loads(schemas[int.from_bytes(value[1:5], "big") - 1]))
        message: Any = fastavro.schemaless_reader(BytesIO(value[5:]), schema)
    else:
        message = json.loads(value, parse_float=str, parse_int=str, object_pairs_hook=lambda pairs: dict(pairs))
    kind = str(message.get("op") or message.get("op_type") or message.get("type")).upper()[0]
    minus = kind == "D"
    if "data" in message:
        images = message["data"] if isinstance(message["data"], list) else [message["data"]]
        rest = {k: v for k, v in message.items() if k not in ("data", "type")}
    else:
        images = [message.get("before") if minus else message.get("after")]
        rest = {}
    return [(json.dumps([image, rest], default=str), -1 if minus else 1) for image in images]


def _readable(records: list[Record]) -> list[Any]:
    return [
        [*(_text(r[k]) for k in ("key", "value")), *(r[k] for k in r if k not in ("key", "value"))] for r in records
    ]


def _text(data: str | None) -> Any:
    return None if data is None else bytes.fromhex(data)
