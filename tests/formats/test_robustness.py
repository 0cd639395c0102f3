"""Bad input and round trips: only the documented error, good records always arrive, what is written reads back."""

from __future__ import annotations

import os
import random
import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flinkddl.formats import decoder, encoder
from flinkddl.formats.spec import spec_text, struct_type
from flinkddl.sqltypes import spark_type
from tests.formats.harness import IGNORE, chosen, fields
from tests.support.java_program import java_program
from tests.support.java_udf import needs_javac
from tests.support.kernels import kernel_session, messages
from tests.support.nightly import nightly
from tests.support.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
COLUMNS = "id INT, name STRING, tags ARRAY<STRING>"
ROW = '{"id":1,"name":"x","tags":["a","b"]}'
GOOD: dict[str, bytes] = {
    "json": ROW.encode(),
    "csv": b"1,x,a;b",
    "debezium-json": b'{"before":null,"after":%s,"op":"c"}' % ROW.encode(),
    "canal-json": b'{"data":[%s],"type":"INSERT"}' % ROW.encode(),
    "maxwell-json": b'{"data":%s,"type":"insert"}' % ROW.encode(),
    "ogg-json": b'{"after":%s,"op_type":"I"}' % ROW.encode(),
    "avro": bytes.fromhex("02020202780204020261020262" + "00"),
    "raw": b"\x00\x00\x00\x01",
}
RECORD = (
    '{"type":"record","name":"r","fields":[{"name":"id","type":["null","int"]},{"name":"name","type":["null","string"]},'
    '{"name":"tags","type":["null",{"type":"array","items":["null","string"]}]}]}'
)
SCHEMA = RECORD
ENVELOPE = (
    '["null",{"type":"record","name":"e","fields":[{"name":"before","type":["null",'
    + RECORD
    + ']},{"name":"after","type":["null","r"]},{"name":"op","type":["null","string"]}]}]'
)
CONFLUENT: dict[str, bytes] = {
    "avro-confluent": b"\0\0\0\0\x01" + GOOD["avro"],
    "debezium-avro-confluent": b"\0\0\0\0\x02\x02\x00\x02" + GOOD["avro"] + b"\x02\x02c",
}
SMALL = int(os.environ.get("FLINKDDL_BAD_RECORDS", "300"))
"""Bad records a format in ``make test``; the slow tests take 10,000."""
COUNTS = [SMALL, nightly(10_000)]
CHUNK = 4


def mutated(good: bytes, rng: random.Random) -> bytes:
    """Return random bytes, or a good message with bytes changed, cut or doubled: those reach the depths."""
    if rng.random() < 0.3:
        return rng.randbytes(rng.randrange(0, 40))
    out = bytearray(good)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(4):
            case 0:
                out[at : at + 1] = rng.randbytes(1)
            case 1:
                del out[at : at + rng.randrange(1, 8)]
            case 2:
                out[at:at] = out[at : at + 8]
            case _:
                out[at:at] = rng.choice([b"1e999999999", b'"', b"{", b"[" * 50, b"\\", b"\xff", b"null", b","])
    return bytes(out)


def answers(name: str, columns: str, options: dict[str, Any], values: list[bytes]) -> list[str]:
    """Return what the kernel says of each message: its rows as text, or the error's class and message."""
    typed = fields(columns)
    read = decoder(chosen(name, options), typed, owner="value of table 't'")
    spec = spec_text(chosen(name, options), typed, "value of table 't'", (), options)[1:-1]
    spec = re.sub(r"\\(.)", r"\1", spec)
    row = struct_type(read.fields, read.changelog == "delta")
    program = java_program(Path(__file__).with_name("BadInput.java"))
    return program.ask([spec, row, str(len(values)), *(v.hex() for v in values)], len(values))


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as running:
        running.reset([SCHEMA, ENVELOPE])
        yield running


def told(name: str, registry: Registry) -> dict[str, Any]:
    """Return the options that a format cannot do without."""
    return {"url": registry.url} if "confluent" in name else {}


@needs_javac
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", [*GOOD, *CONFLUENT])
@pytest.mark.timeout(600)
def test_bad_records_give_the_documented_error_alone(name: str, count: int, registry: Registry) -> None:
    columns = "id INT" if name == "raw" else COLUMNS
    rng = random.Random(name)
    good = (GOOD | CONFLUENT)[name]
    bad = [mutated(good, rng) for _ in range(count)]
    found = answers(name, columns, told(name, registry), bad)
    for at, (message, said) in enumerate(zip(bad, found, strict=True)):
        documented = said.startswith(
            f"IllegalArgumentException FD750: value of table 't', topic 't', partition 0, offset {at}:"
        )
        assert documented or said.startswith("["), (message, said)
    assert any(said.startswith("Illegal") for said in found)


LENIENT = ("json", "json tree", "csv", "debezium-json", "canal-json", "maxwell-json", "ogg-json")


@needs_javac
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", LENIENT)
@pytest.mark.timeout(600)
def test_good_records_between_bad_ones_all_arrive(name: str, count: int) -> None:
    rng = random.Random(name)
    options = IGNORE | ({"decode.json-parser.enabled": False} if "tree" in name else {})
    name = name.split()[0]
    (right,) = answers(name, COLUMNS, {}, [GOOD[name]])
    assert right.startswith("[")
    mixed = [m for _ in range(count) for m in (mutated(GOOD[name], rng), GOOD[name])]
    found = answers(name, COLUMNS, options, mixed)
    assert set(found[1::2]) == {right}
    assert [said for said in found[::2] if not said.startswith("[")] == []


@pytest.mark.parametrize("count", [16, nightly(60)])
@pytest.mark.parametrize("name", list(GOOD))
def test_bad_records_stop_a_query_with_the_documented_error(name: str, count: int) -> None:
    """That the kernel's error is the query's: what the kernel says of hundreds of records is tested above."""
    columns = "id INT" if name == "raw" else COLUMNS
    rng = random.Random(name)
    spec = decoder(chosen(name), fields(columns), owner="value of table 't'").expression
    bad = [{"value": mutated(GOOD[name], rng).hex()} for _ in range(count)]
    start = 0
    while start < count:  # a query stops at its first bad record; go on behind it
        chunk = bad[start : start + CHUNK]
        try:
            kernel_session().sql(f"SELECT {spec} FROM {messages(chunk)}").collect()
            start += CHUNK
        except Exception as error:  # noqa: BLE001 - any error at all is what this test is about
            text = str(error)
            assert "FD750: value of table 't', topic 't', partition 0, offset " in text, text[:2000]
            start += int(text.split("partition 0, offset ")[1].split(":")[0]) + 1


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TYPED = (
    "s STRING, i INT, l BIGINT, d DOUBLE, b BYTES, m MAP<STRING,BIGINT>, a ARRAY<INT>, r ROW<x STRING, y BOOLEAN>, "
    "p DECIMAL(10,2), t TIMESTAMP(3)"
)
ROWS = st.lists(
    st.tuples(
        TEXT,
        st.none() | st.integers(-(2**31), 2**31 - 1),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(allow_nan=False),
        st.none() | st.binary(max_size=8),
        st.none() | st.dictionaries(TEXT, st.none() | st.integers(-(2**40), 2**40), max_size=3),
        st.none() | st.lists(st.none() | st.integers(-100, 100), max_size=3),
        st.none() | st.tuples(st.none() | TEXT, st.none() | st.booleans()),
        st.none() | st.integers(-(10**9), 10**9).map(lambda n: Decimal(n).scaleb(-2)),
        st.none()
        | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(
            lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)
        ),
    ),
    min_size=1,
    max_size=20,
)
# csv has neither maps nor a difference between an empty and no text, array or row
FLAT = (0, 1, 2, 3, 8, 9)
DELTAS = ("debezium-json", "canal-json", "maxwell-json", "ogg-json")


def survives(name: str, columns: str, rows: list[tuple[Any, ...]], options: dict[str, Any]) -> None:
    typed = fields(columns)
    ddl = ", ".join(f"`{n}` {spark_type(t)}" for n, t in typed)
    frame = kernel_session().createDataFrame(rows, ddl).coalesce(1)
    frame = frame.selectExpr("*", "1 AS `__w`") if name in DELTAS else frame
    written = encoder(chosen(name, options), typed, owner="o").expression
    read = decoder(chosen(name, options), typed, owner="o").expression
    encoded = frame.selectExpr(f"{written} AS value", "'t' AS topic", "0 AS partition", "0L AS offset")
    back = [tuple(r)[: len(typed)] for r in encoded.selectExpr(f"inline({read})").collect()]
    assert [tuple(map(plain, r)) for r in back] == [tuple(map(plain, r)) for r in rows]


def plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, tuple) else bytes(value) if isinstance(value, bytearray) else value


PATIENT = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.mark.parametrize("name", ["json", "avro", *DELTAS])
@PATIENT
@given(rows=ROWS)
def test_what_is_written_reads_back(name: str, rows: list[tuple[Any, ...]]) -> None:
    survives(name, TYPED, rows, {"timestamp-format.standard": "SQL"})


# A NUL as the second byte of a line makes Flink's CSV reader (Jackson's bootstrapper) take the whole line for UTF-16:
# Flink does not read back what it wrote there either, so the property leaves NUL out.
@PATIENT
@given(rows=ROWS.map(lambda rows: [(row[0].replace("\0", ""), *row[1:]) for row in rows]))
def test_csv_reads_back(rows: list[tuple[Any, ...]]) -> None:
    columns = (
        ", ".join(c for i, c in enumerate(TYPED.split(", ")) if i in (0, 1, 2, 3)) + ", p DECIMAL(10,2), t TIMESTAMP(3)"
    )
    survives("csv", columns, [tuple(r[i] for i in FLAT) for r in rows], {"null-literal": "\\N"})
