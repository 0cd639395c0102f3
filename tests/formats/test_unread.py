"""Fields that nobody reads: they are checked as if they were read, and not built.

``Unread.java`` reads each message sparingly and as a whole. Rows, as far as they are read, and errors must be the same,
whatever is wrong with a message and wherever it is wrong.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.formats.spec import spec_text
from tests.formats.harness import IGNORE, chosen, fields
from tests.support.java_program import java_program
from tests.support.java_udf import needs_javac
from tests.support.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flinkddl.formats.spec import Parts

pytestmark = [pytest.mark.spark, needs_javac]
TREE = {"decode.json-parser.enabled": False}
MISSING = {"fail-on-missing-field": True}
GROUPS, MESSAGES, CHANGES = 12, 6, 20

# type -> values that fit, values that may not
TYPES: Mapping[str, tuple[list[Any], list[Any]]] = {
    "BOOLEAN": ([True, False], ["yes", 1, {}, [1]]),
    "TINYINT": ([1, -128], [300, "x", 1.5, " 7 ", {"a": 1}]),
    "SMALLINT": ([300], [70000, "12", []]),
    "INT": ([5, -7], [2**40, "q", "3", 1.5, {"c0": 1}, [[1]]]),
    "BIGINT": ([2**40], [2**70, "z", 1e30, True]),
    "FLOAT": ([1.5], ["1.5", "x", 7, {}]),
    "DOUBLE": ([2.25, 1e300], ["1e5", "nan?", 3, [1.5]]),
    "DECIMAL(10,2)": ([12.25, 3], ["1.5", " 2 ", "e", 12345678901234.5]),
    "STRING": (["text", "", "q\"\\\u00e9\u4e2d\U0001f600"], [1.10, {"a": [1, {"b": 2.50}]}, [1e5], False]),
    "BYTES": (["AQID"], ["?", "A", 5, {}]),
    "DATE": (["2024-02-03"], ["2024-02-31", "20240203", 1]),
    "TIME": (["10:11:12"], ["25:00:00", 5]),
    "TIMESTAMP(3)": (["2024-02-03 04:05:06.789", "2024-12-31 00:00:00"], ["2024-02-30 00:00:00", "x", 17, []]),
    "TIMESTAMP_LTZ(3)": (["2024-02-03 04:05:06Z"], ["2024-02-03 04:05:06", "Z", 17]),
    "ARRAY<INT>": ([[1, None], []], [["x"], 5, {"a": 1}, [[1]], [[[2]], 3]]),
    "ARRAY<ROW<k STRING, v INT>>": ([[{"k": "a", "v": 1}]], [[{"v": "b"}], [5], {}]),
    "MAP<STRING,BIGINT>": ([{"a": 1, "b": None}], [{"a": "x"}, [1], 5]),
}  # fmt: skip


FLAT = [t for t in TYPES if "<" not in t]


ALL = [list(TYPES)] * 3
LINE = [[*FLAT, "ARRAY<INT>", "ARRAY<STRING>"], FLAT]


def column(rng: random.Random, levels: list[list[str]]) -> tuple[str, Any]:
    """Return a type, and its fields where it is a ROW; ``levels`` are the types to choose from, by depth."""
    kinds, *below = levels
    if below and rng.random() < 0.3:
        inside = [(f"c{i}", *column(rng, below)) for i in range(rng.randrange(1, 4))]
        return f"ROW<{', '.join(f'{n} {t}' for n, t, _ in inside)}>", inside
    return rng.choice(kinds), None


def value(rng: random.Random, kind: str, inside: Any, bad: float) -> Any:
    if rng.random() < 0.1:
        return None
    if rng.random() < bad:
        return rng.choice(TYPES[kind][1] if inside is None else [[], 5, "x", {"zz": {"c0": 1}}])
    if inside is None:
        return rng.choice(TYPES[kind][0])
    return record(rng, inside, bad)


def record(rng: random.Random, columns: list[Any], bad: float) -> dict[str, Any]:
    out = {n: value(rng, t, inside, bad) for n, t, inside in columns if not bad or rng.random() < 0.9}
    if bad:
        out |= {"unknown": rng.choice([1, "x", {"c0": [1, {"c1": 2}]}, [{"c0": 1}]])} if rng.random() < 0.3 else {}
        out = dict(rng.sample(list(out.items()), len(out))) if rng.random() < 0.3 else out
    return out


def parts(rng: random.Random, columns: list[Any]) -> Parts:
    """Choose what is read; never all of it."""
    out: dict[str, Any] = {}
    for n, _, inside in columns:
        if rng.random() < 0.5:
            out[n] = parts(rng, inside) or None if inside and rng.random() < 0.6 else None
    if all(out.get(n, 0) is None for n, _, _ in columns):
        out.pop(columns[-1][0])
    return out


def text_of(rng: random.Random, row: dict[str, Any]) -> str:
    """Return a row as JSON, sometimes with a name twice or with spaces."""
    text = json.dumps(row, ensure_ascii=rng.random() < 0.5, separators=(",", ":"))
    return text[:-1] + ',"c0":1}' if row and rng.random() < 0.1 else text


def spec(name: str, columns: str, options: dict[str, Any], read: Parts | None) -> str:
    text = spec_text(chosen(name, options), fields(columns), "value of table 't'", (), options, read)[1:-1]
    return re.sub(r"\\(.)", r"\1", text)


def compared(lines: list[str]) -> list[list[int]]:
    """Return the numbers of each group: messages, refused ones, those read again, and of the well-formed those."""
    program = java_program(Path(__file__).with_name("Unread.java"))
    found, group = [], list[str]()
    for line in lines:
        group.append(line)
        if line.startswith("E "):
            found += program.ask(group)
            group = []
    assert not group
    different = [f for f in found if not f.startswith("ok ")]
    assert not different, different[0][:3000]
    return [[int(n) for n in f.split()[1:]] for f in found]


def groups(name: str, options: dict[str, Any], seed: str, messages: Callable[..., list[str]]) -> list[str]:
    rng = random.Random(seed)
    levels = LINE if name == "csv" else ALL
    lines = []
    for _ in range(GROUPS):
        columns = [(f"c{i}", *column(rng, levels)) for i in range(rng.randrange(2, 7))]
        ddl = ", ".join(f"{n} {t}" for n, t, _ in columns)
        read = parts(rng, columns)
        lines += [f"G {spec(name, ddl, options, read)}", f"J {spec('json', ddl, {}, None)}"]
        lines += [*messages(rng, columns), f"E {CHANGES}"]
    return lines


def hexed(text: str) -> str:
    return f"M {text.encode(errors='surrogatepass').hex()}"


def made(rng: random.Random, columns: list[Any]) -> list[str]:
    """Return rows that the format itself writes."""
    return [f"S {json.dumps(record(rng, columns, 0))}" for _ in range(MESSAGES)]


def of_json(rng: random.Random, columns: list[Any]) -> list[str]:
    out = made(rng, columns)
    out += [hexed(text_of(rng, record(rng, columns, 0.2))) for _ in range(MESSAGES)]
    return [*out, hexed(f"[{text_of(rng, record(rng, columns, 0.1))},{text_of(rng, record(rng, columns, 0.1))}]")]


JSON: list[dict[str, Any]] = [{}, IGNORE, MISSING, IGNORE | MISSING, TREE, TREE | IGNORE, TREE | MISSING]


@pytest.mark.parametrize("options", JSON, ids=lambda o: "-".join(o) or "none")
def test_json(options: dict[str, Any]) -> None:
    found = compared(groups("json", options, f"json{options}", of_json))
    assert sum(f[1] for f in found) > 50 or options.get("ignore-parse-errors")
    if "fail-on-missing-field" not in options:
        assert [f[3] for f in found] == [0] * len(found), "well-formed messages are read once"


ENVELOPES: Mapping[str, Callable[[str, str, str, str], str]] = {
    "debezium-json": lambda op, old, new, more: f'{{"before":{old},"source":{more},"after":{new},"op":"{op[0]}"}}',
    "canal-json": lambda op, old, new, more: f'{{"data":[{new}],"x":{more},"old":[{old}],"type":"{op.upper()}"}}',
    "maxwell-json": lambda op, old, new, more: f'{{"type":"{op}","data":{new},"x":{more},"old":{old}}}',
    "ogg-json": lambda op, old, new, more: f'{{"before":{old},"op_type":"{op[0].upper()}","after":{new},"x":{more}}}',
}


def of_changes(name: str) -> Callable[[random.Random, list[Any]], list[str]]:
    def messages(rng: random.Random, columns: list[Any]) -> list[str]:
        out = made(rng, columns)
        for _ in range(2 * MESSAGES):
            old, new = (text_of(rng, record(rng, columns, rng.choice([0, 0.15]))) for _ in range(2))
            more = rng.choice(['{"a":1.5}', '{"b":1e999999999}', "null", '[{"c0":{}}]', '"x"', "7"])
            op = rng.choice(["update", "insert", "delete", "create", "c"])
            out.append(hexed(ENVELOPES[name](op, rng.choice([old, old, "null"]), new, more)))
        return out

    return messages


@pytest.mark.parametrize("options", [{}, IGNORE, {"schema-include": True}], ids=lambda o: "-".join(o) or "none")
@pytest.mark.parametrize("name", list(ENVELOPES))
def test_changes(name: str, options: dict[str, Any]) -> None:
    found = compared(groups(name, options, f"{name}{options}", of_changes(name)))
    if "schema-include" not in options:
        assert [f[3] for f in found] == [0] * len(found), "well-formed messages are read once"


def test_changes_beside_their_schema() -> None:
    def messages(rng: random.Random, columns: list[Any]) -> list[str]:
        plain = [m for m in of_changes("debezium-json")(rng, columns) if m.startswith("M")]
        wrapped = (f'{{"schema":{{"x":[1.5]}},"payload":{bytes.fromhex(m[2:]).decode()}}}' for m in plain)
        return list(map(hexed, wrapped))

    found = compared(groups("debezium-json", {"schema-include": True}, "payload", messages))
    assert sum(f[2] for f in found) < sum(f[0] for f in found)


CELLS = ["1", "x", "", "2.5", "2024-02-03", '"a,b"', '"q""q"', "1;2", "a;1;2", " 7 ", "\\n", '"', "n/a"]


def cell(rng: random.Random, kind: str, inside: Any) -> str:
    if rng.random() < 0.05:
        return rng.choice(CELLS)
    if inside is not None:
        return ";".join(cell(rng, *column[1:]) for column in inside)
    if kind == "STRING":
        return rng.choice(["text", '"a,b"', '"say ""x"""', "", " padded "])
    found = rng.choice(TYPES[kind][0]) if kind in TYPES else ["a", "b"]
    return ";".join(map(str, found)) if isinstance(found, list) else str(found)


def of_csv(rng: random.Random, columns: list[Any]) -> list[str]:
    """Return lines of cells, some of them with a cell too many or too few."""
    lines = [[cell(rng, *column[1:]) for column in columns] for _ in range(3 * MESSAGES)]
    return [hexed(",".join(rng.choice([line, line, line, line, [*line, "x"], line[:-1]]))) for line in lines]


CSV: list[dict[str, Any]] = [
    {}, IGNORE, {"escape-character": "\\", "null-literal": "n/a"}, {"trim-spaces": True, "empty-string-as-null": True},
    {"ignore-trailing-unmappable": True, "fail-on-missing-columns": True},
]  # fmt: skip


@pytest.mark.parametrize("options", CSV, ids=lambda o: "-".join(o) or "none")
def test_csv(options: dict[str, Any]) -> None:
    found = compared(groups("csv", options, f"csv{options}", of_csv))
    assert options == IGNORE or sum(f[1] for f in found) > 50


def test_avro() -> None:
    found = compared(groups("avro", {"timestamp_mapping.legacy": False}, "avro", made))
    assert [f[3] for f in found] == [0] * len(found), "well-formed messages are read once"
    assert sum(f[1] for f in found) > 50


@pytest.mark.parametrize("kind", ["STRING", "INT", "BIGINT", "DOUBLE", "BOOLEAN"])
def test_raw(kind: str) -> None:
    lines = [f"G {spec('raw', f'c0 {kind}', {}, {})}"]
    lines += [f"M {'00' * n}" for n in (1, 2, 4, 8)] + ["M e4b8ad", "M ff", "E 5"]
    ((tried, refused, again, _),) = compared(lines)
    assert (tried, again) == (36, refused)


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as running:
        yield running


FIELDS = "id INT, name STRING, tags ARRAY<STRING>, r ROW<x INT, y STRING>, d DECIMAL(6,2), t TIMESTAMP(3)"
INNER = (
    '{"type":"record","name":"other","fields":[{"name":"x","type":["null","int"]},'
    '{"name":"y","type":["null","string"]}]}'
)
WRITER = (
    '{"type":"record","name":"w","fields":[{"name":"gone","type":{"type":"array","items":"string"}},'
    '{"name":"name","type":["null",{"type":"string","avro.java.string":"String"}]},{"name":"id","type":"int"},'
    '{"name":"tags","type":["null",{"type":"array","items":["null","string"]}]},'
    f'{{"name":"r","type":["null",{INNER}]}},'
    '{"name":"d","type":["null",{"type":"bytes","logicalType":"decimal","precision":6,"scale":2}]},'
    '{"name":"t","type":["null","long"]}]}'
)


def avro_message() -> bytes:
    """Return a record of WRITER: gone ["a"], name "x", id 2, tags ["a", null], r (1, "y"), d 1.25, t 5."""
    gone, name, number = b"\x02\x02a\x00", b"\x02\x02x", b"\x04"
    tags, row, decimal, time = b"\x02\x04\x02\x02a\x00\x00", b"\x02\x02\x02\x02\x02y", b"\x02\x02\x7d", b"\x02\x0a"
    return gone + name + number + tags + row + decimal + time


@pytest.mark.parametrize(
    "read", [{}, {"id": None}, {"r": {"x": None}}, {"name": None, "t": None}, {"r": {"y": None}, "d": None}]
)
def test_avro_of_a_registry(read: Parts, registry: Registry) -> None:
    registry.reset([WRITER])
    message = (b"\0\0\0\0\x01" + avro_message()).hex()
    options = {"url": registry.url}
    ((tried, refused, again, _),) = compared(
        [f"G {spec('avro-confluent', FIELDS, options, read)}", f"M {message}", "E 400"]
    )
    assert tried == 401
    assert 0 < refused < tried
    assert again == refused


def test_changes_in_avro(registry: Registry) -> None:
    envelope = (
        '{"type":"record","name":"e","fields":[{"name":"before","type":["null",' + WRITER + "]},"
        '{"name":"after","type":["null","w"]},{"name":"op","type":"string"}]}'
    )
    registry.reset([envelope])
    row = b"\x02" + avro_message()
    changes = [b"\0\0\0\0\x01" + m for m in (b"\x00" + row + b"\x02c", row + row + b"\x02u", row + b"\x00\x02d")]
    options = {"url": registry.url}
    lines = [f"G {spec('debezium-avro-confluent', FIELDS, options, {'id': None, 'r': {'x': None}})}"]
    ((tried, refused, again, _),) = compared([*lines, *(f"M {m.hex()}" for m in changes), "E 200"])
    assert 0 < refused < tried
    assert again == refused
