"""Keys and values of topics as plain values, and the comparison of what two topics hold."""

from __future__ import annotations

import io
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import fastavro
import pytest

from flinkddl import sqltypes as t
from flinkddl.catalog.model import Table
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.kafka import payloads
from flinkddl.runtime.kafka.payloads import Payloads
from flinkddl.runtime.kafka.reader import TopicTable, differences
from flinkddl.script.compile import compile_script

JSON = Payloads(payloads.json_reader, payloads.json_reader)


def table(ddl: str) -> payloads.KafkaTable:
    compiled = compile_script(SourceText("t.sql", ddl))
    assert not compiled.has_errors, compiled.diagnostics
    found = compiled.catalog.find(("t",))
    assert isinstance(found, Table)
    return payloads.kafka_table(found)


def kafka(options: str, columns: str = "id INT, name STRING") -> str:
    return f"CREATE TABLE t ({columns}) WITH ('connector' = 'kafka', 'topic' = 'a', {options})"


SERVERS = "'properties.bootstrap.servers' = 'b:1', 'properties.security.protocol' = 'PLAINTEXT'"


def test_table_says_where_and_how() -> None:
    found = table(kafka(f"{SERVERS}, 'format' = 'json'"))
    assert (found.topics, found.upsert) == (("a",), False)
    assert found.properties == {"bootstrap.servers": "b:1", "security.protocol": "PLAINTEXT"}
    assert found.payloads.read_value(b'{"id":1.50}') == {"id": Decimal("1.50")}
    assert found.payloads.read_key(b"k") == b"k"


@pytest.mark.parametrize(
    ("format", "data", "value"),
    [
        ("'format' = 'csv', 'csv.field-delimiter' = '|'", b'1|"a,b"', ["1", "a,b"]),
        ("'format' = 'raw'", "h\u00e9".encode(), "h\u00e9"),
        ("'format' = 'json'", b"no json", b"no json"),
        ("'format' = 'debezium-json'", b'{"op":"c"}', {"op": "c"}),
    ],
)
def test_formats(format: str, data: bytes, value: Any) -> None:
    columns = "name STRING" if "raw" in format else "id INT, name STRING"
    assert table(kafka(f"{SERVERS}, {format}", columns)).payloads.read_value(data) == value


def test_avro_of_every_type() -> None:
    fields = [
        ("a", t.INT),
        ("b", t.DECIMAL(6, 2).not_null()),
        ("c", t.TIMESTAMP(3)),
        ("d", t.ARRAY(t.MAP(t.STRING, t.BIGINT))),
        ("e", t.ROW(("x", t.DATE), ("y", t.ROW(("z", t.DOUBLE))))),
        ("f", t.MULTISET(t.STRING)),
        ("g", t.TIME(3)),
        ("h", t.BYTES),
    ]
    schema = payloads.avro_schema(fields)
    assert schema["name"] == "org.apache.flink.avro.generated.record"
    row = {
        "a": 1,
        "b": Decimal("1.25"),
        "c": 0,
        "d": [{"k": 1}],
        "e": {"x": 3, "y": {"z": 1.5}},
        "f": {"a": 2},
        "g": 5,
        "h": b"x",
    }
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    found = payloads.avro_reader(schema)(out.getvalue())
    assert (found["b"], str(found["e"]["x"]), found["d"]) == (Decimal("1.25"), "1970-01-04", [{"k": 1}])


def test_another_connector_is_refused() -> None:
    with pytest.raises(FlinkDdlError, match="FD845"):
        table("CREATE TABLE t (id INT) WITH ('connector' = 'datagen')")


# ---- comparison --------------------------------------------------------------------------------------------------


def record(key: str | None, value: str | None) -> Any:
    return SimpleNamespace(key=key and key.encode(), value=None if value is None else value.encode())


def held(*records: tuple[str | None, str | None]) -> TopicTable:
    found = TopicTable(JSON)
    found.take(record(k, v) for k, v in records)
    return found


def test_last_value_of_a_key_counts_and_a_tombstone_removes_it() -> None:
    a = held(('{"k":1}', '{"k":1,"n":1}'), ('{"k":1}', '{"k":1,"n":2}'), ('{"k":2}', '{"n":1}'), ('{"k":2}', None))
    b = held(('{"k": 1}', '{"n": 2, "k": 1}'))
    assert differences(a, b) == []
    assert (a.records, a.tombstones) == (4, 1)


def test_differences_say_what_each_side_holds() -> None:
    a = held(('{"k":1}', '{"n":1}'), ('{"k":2}', '{"n":2}'))
    b = held(('{"k":2}', '{"n":3}'), ('{"k":3}', '{"n":3}'))
    assert [(d.key, d.a, d.b) for d in differences(a, b)] == [
        ('{"k":1}', '{"n":1}', None),
        ('{"k":2}', '{"n":2}', '{"n":3}'),
        ('{"k":3}', None, '{"n":3}'),
    ]


def test_columns_may_be_left_out() -> None:
    a, b = held(('{"k":1}', '{"n":1,"at":5}')), held(('{"k":1}', '{"n":1,"at":6}'))
    assert len(differences(a, b)) == 1
    assert differences(a, b, ["at"]) == []


def test_a_number_is_its_amount() -> None:
    assert differences(held(('{"k":1}', '{"n":1.50}')), held(('{"k":1}', '{"n":1.5}'))) == []


def test_rows_without_keys_are_counted() -> None:
    a, b = held((None, '{"n":1}'), (None, '{"n":1}')), held((None, '{"n":1}'))
    assert [(d.a, d.b) for d in differences(a, b)] == [("2 times", "1 times")]


def test_empty_topics_are_the_same() -> None:
    assert differences(held(), held()) == []


def test_a_keyed_topic_and_an_empty_one_differ() -> None:
    a = held(('{"k":1}', '{"n":1}'))
    assert [(d.key, d.b) for d in differences(a, held())] == [('{"k":1}', None)]
    assert [(d.key, d.a) for d in differences(held(), a)] == [('{"k":1}', None)]


def test_keys_on_one_side_only_are_no_comparison_but_by_row() -> None:
    keyed, bare = [('{"k":1}', '{"n":1}'), ('{"k":1}', '{"n":2}')], [(None, '{"n":1}'), (None, '{"n":2}')]
    with pytest.raises(FlinkDdlError, match="FD869"):
        differences(held(*keyed), held(*bare))
    a, b = TopicTable(JSON, by_key=False), TopicTable(JSON, by_key=False)
    a.take(record(k, v) for k, v in keyed)
    b.take(record(k, v) for k, v in bare[1:])
    assert [(d.key, d.a, d.b) for d in differences(a, b)] == [('{"n":1}', "1 times", None)]
    assert differences(held(), held(*bare)) != []  # an empty topic has neither
