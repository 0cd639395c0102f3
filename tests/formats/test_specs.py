"""What the planner gets from a format: expressions, metadata, and refusals. No JVM."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flinkddl import sqltypes as ty
from flinkddl.diagnostics import Bag, FlinkDdlError
from flinkddl.diagnostics.codes import all_codes
from flinkddl.formats import Wanted, columns, decoder, encoder, metadata_types
from flinkddl.options.resolved import FormatOptions

FORMATS = (
    "json", "csv", "raw", "avro", "avro-confluent", "debezium-avro-confluent", "debezium-json", "canal-json",
    "maxwell-json", "ogg-json",
)  # fmt: skip
CDC = FORMATS[-5:]


def fmt(name: str, **options: Any) -> FormatOptions:
    given = {k.replace("_", "-"): v for k, v in options.items()}
    return FormatOptions(name, "format", f"{name}.", given, frozenset(given))


def spec_of(expression: str) -> dict[str, Any]:
    text = expression[expression.index("'{") + 1 : expression.rindex("}'") + 1]
    return json.loads(text.replace("\\'", "'").replace("\\\\", "\\"))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_reads_and_writes_a_string(name: str) -> None:
    read = decoder(fmt(name), [("a", ty.STRING)], owner="value of table 't'")
    written = encoder(fmt(name, subject="t-value"), [("a", ty.STRING)], owner="value of table 't'")
    delta = name in CDC or name == "debezium-avro-confluent"
    assert read.expression.startswith(f"flinkddl.{name.replace('-', '_')}_decode(value, CAST(NULL AS STRUCT<`a`:STRING")
    assert read.expression.endswith(", topic, partition, offset)")
    assert written.expression.startswith(f"flinkddl.{name.replace('-', '_')}_encode(struct(`a` AS `f0`")
    assert (read.changelog, written.accepts) == (("delta", "delta") if delta else ("insert-only", "insert-only"))
    assert read.names == (("a", "__w") if delta else ("a",))
    assert spec_of(read.expression)["type"] == ["ROW!", ["a", "VARCHAR"]]


def test_types_reach_the_kernel_whole() -> None:
    fields = [
        ("a", ty.DECIMAL(10, 2).not_null()),
        ("b", ty.MAP(ty.STRING, ty.ARRAY(ty.INT.not_null()))),
        ("c", ty.ROW(("x", ty.TIMESTAMP(3)), ("y", ty.MULTISET(ty.CHAR(3))))),
    ]
    spec = spec_of(decoder(fmt("json"), fields, owner="o").expression)
    assert spec["type"][1:] == [
        ["a", ["DECIMAL!", 10, 2]],
        ["b", ["MAP", "VARCHAR", ["ARRAY", "INT!"]]],
        ["c", ["ROW", ["x", ["TIMESTAMP", 3]], ["y", ["MULTISET", "CHAR"]]]],
    ]


def test_quotes_and_backslashes_survive_the_literal() -> None:
    name = "it's \\ `odd`"
    assert spec_of(decoder(fmt("json"), [(name, ty.INT)], owner="o").expression)["type"][1] == [name, "INT"]


def test_options_reach_the_kernel() -> None:
    spec = spec_of(decoder(fmt("json", ignore_parse_errors=True), [("a", ty.INT)], owner="o").expression)
    assert spec["options"] == {"ignore-parse-errors": "true"}


def test_scientific_decimals_of_csv_count_only_where_written() -> None:
    option = "write-bigdecimal-in-scientific-notation"
    default = FormatOptions("csv", "format", "csv.", {option: True})
    written = FormatOptions("csv", "format", "csv.", {option: True}, frozenset({option}))
    assert option not in spec_of(encoder(default, [("a", ty.INT)], owner="o").expression)["options"]
    assert spec_of(encoder(written, [("a", ty.INT)], owner="o").expression)["options"] == {option: "true"}


def test_metadata_follows_the_columns() -> None:
    read = decoder(
        fmt("debezium-json"), [("a", ty.INT)], owner="o", wanted=Wanted(["source.table", "ingestion-timestamp"])
    )
    assert read.names == ("a", "value.source.table", "value.ingestion-timestamp", "__w")
    assert metadata_types(fmt("ogg-json"))["event-timestamp"] == ty.TIMESTAMP_LTZ(6)
    assert metadata_types(fmt("json")) == {}


def test_secrets_are_settings_and_never_text() -> None:
    options = {"url": "http://r", "basic-auth.user-info": "u:topsecret"}
    read = decoder(FormatOptions("avro-confluent", "format", "avro-confluent.", options), [("a", ty.INT)], owner="o")
    assert "topsecret" not in read.expression
    assert "topsecret" not in repr(read)
    (setting,) = read.secrets
    assert setting in read.expression
    assert setting.startswith("spark.flinkddl.secret.")
    assert read.secrets[setting] == "u:topsecret"


def test_nanoseconds_are_noted() -> None:
    bag = Bag()
    nested = ty.ARRAY(ty.TIMESTAMP(9))
    columns.check(
        fmt("json"),
        [("a", ty.TIMESTAMP_LTZ(7), None), ("b", ty.TIMESTAMP(6), None), ("c", nested, None)],
        "source",
        bag,
        None,
    )
    assert [(d.code, d.severity, d.message[:10]) for d in bag] == [
        ("FD710", "note", "column 'a'"),
        ("FD710", "note", "column 'c'"),
    ]


REFUSED = [
    ("json", {}, [("a", ty.MAP(ty.INT, ty.INT))], "FD238", "column 'a'"),
    ("csv", {}, [("a", ty.ARRAY(ty.ARRAY(ty.INT)))], "FD238", "ARRAY<INT>"),
    ("raw", {}, [("a", ty.STRING), ("b", ty.INT)], "FD239", "'raw'"),
    ("avro", {}, [("a", ty.TIMESTAMP(6))], "FD238", "precision above 3"),
    ("parquet", {}, [("a", ty.INT)], "FD709", "'parquet'"),
]


@pytest.mark.parametrize(("name", "options", "fields", "code", "words"), REFUSED)
def test_refusals_name_what_is_wrong(
    name: str, options: dict[str, Any], fields: list[tuple[str, ty.DataType]], code: str, words: str
) -> None:
    with pytest.raises(FlinkDdlError) as caught:
        decoder(FormatOptions(name, "format", f"{name}.", options), fields, owner="o")
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert words in found.message
    assert code in all_codes()


def test_every_bad_column_is_reported_at_once() -> None:
    with pytest.raises(FlinkDdlError) as caught:
        encoder(fmt("avro"), [("a", ty.TIMESTAMP(6)), ("b", ty.INT), ("c", ty.TIMESTAMP_LTZ(3))], owner="o")
    assert [d.code for d in caught.value.diagnostics] == ["FD238", "FD238"]


def test_a_sink_names_the_subject() -> None:
    written = encoder(fmt("avro-confluent"), [("a", ty.INT)], owner="o", subject="t-value")
    assert spec_of(written.expression)["options"]["subject"] == "t-value"


@pytest.mark.parametrize("t", [ty.TIMESTAMP(3), ty.TIMESTAMP(6), ty.TIMESTAMP_LTZ(3), ty.TIMESTAMP_LTZ(6)])
def test_the_new_timestamp_mapping_takes_six_digits(t: ty.DataType) -> None:
    options = FormatOptions("avro", "format", "avro.", {"timestamp_mapping.legacy": False})
    assert decoder(options, [("a", t)], owner="o").fields == (("a", t),)
