"""UnsafeRow in Python, against bytes laid out as UnsafeRow.java says; broken ones are refused."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from flinkddl.runtime.storage.heads import Paged, head_of, node_of
from flinkddl.runtime.storage.unsafe_rows import row_of

INT = struct.pack("<q", 7)


def row(*values: bytes | tuple[bytes] | None) -> bytes:
    """Lay out a row: bytes of a word, None for NULL, and ``(bytes,)`` for a value that lies behind the words."""
    missing, words, behind = 0, b"", b""
    start = 8 + 8 * len(values)
    for i, value in enumerate(values):
        if value is None:
            missing |= 1 << i
            words += bytes(8)
        elif isinstance(value, tuple):
            words += struct.pack("<Q", start + len(behind) << 32 | len(value[0]))
            behind += value[0] + bytes(-len(value[0]) % 8)
        else:
            words += value.ljust(8, b"\0")
    return struct.pack("<q", missing) + words + behind


def array(size: int, *values: bytes | None) -> bytes:
    missing = sum(1 << i for i, v in enumerate(values) if v is None)
    return struct.pack("<qq", len(values), missing) + b"".join((v or b"").ljust(size, b"\0") for v in values)


INNER = {"type": "struct", "fields": [{"name": "x", "type": "long"}]}
VALUES: list[tuple[Any, Any, Any]] = [
    ("long", INT, 7),
    ("integer", struct.pack("<i", -1), -1),
    ("boolean", b"\1", True),
    ("double", struct.pack("<d", 0.5), 0.5),
    ("string", ("täglich".encode(),), "täglich"),
    ("binary", (b"\xff\0",), "ff00"),
    ("date", struct.pack("<i", 20_000), "2024-10-04"),
    ("timestamp_ntz", struct.pack("<q", 1_500_000), "1970-01-01 00:00:01.500000"),
    ("timestamp", struct.pack("<q", 0), "1970-01-01 00:00:00Z"),
    ("decimal(10,2)", struct.pack("<q", -150), "-1.50"),
    ("decimal(38,2)", ((10**20).to_bytes(9, "big"),), "1000000000000000000.00"),
    ("interval year to month", struct.pack("<i", 14), 14),
    ("time(3)", INT, 7),
    (INNER, (row(INT),), {"x": 7}),
    ({"type": "array", "elementType": "integer"}, (array(4, struct.pack("<i", 3), None),), [3, None]),
    ("string", None, None),
]


@pytest.mark.parametrize(("type", "laid", "shown"), VALUES, ids=[str(v[0])[:20] for v in VALUES])
def test_a_value_of_each_type(type: Any, laid: Any, shown: Any) -> None:
    assert row_of(row(INT, laid), [("a", "long"), ("b", type)]) == {"a": 7, "b": shown}


def test_a_map() -> None:
    keys, values = array(4, struct.pack("<i", 1)), array(8, struct.pack("<q", 2))
    data = struct.pack("<q", len(keys)) + keys + values
    type = {"type": "map", "keyType": "integer", "valueType": "long"}
    assert row_of(row((data,)), [("m", type)]) == {"m": [[1, 2]]}


@pytest.mark.parametrize("data", [b"", row(INT)[:-1], struct.pack("<QQ", 0, 99 << 32 | 9)])
def test_what_is_no_row_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="bytes"):
        row_of(data, [("a", "string")])


def test_a_head_of_an_unknown_kind_or_layout_is_bytes() -> None:
    assert node_of(bytes(8) + b"\1\2") == 258
    assert head_of(b"\1" + bytes(6) + b"\5ab", "teapot", ()) == {"layout": 1, "counter": 5, "bytes": "6162"}
    assert head_of(b"\2" + bytes(7) + b"ab", "aggregate", ())["bytes"] == "6162"
    assert "error" in head_of(b"\1" + bytes(7) + b"\xff", "aggregate", ())


def test_heads_of_a_join_and_an_aggregate() -> None:
    """Varints as Retract.writeLong: zigzag, seven bits a byte."""
    head = b"\1" + bytes(7)
    of_user = [None, None, calls(("java_ff:0", INNER))]
    assert head_of(head + b"\4\xac\4\x99", "aggregate", of_user) == {
        "layout": 1, "counter": 0, "rows": 2, "sequence": 278, "calls": {}, "bytes": "99",
    }  # fmt: skip
    timed = b"\x81" + bytes(7) + b"\4\xac\4\x99" + bytes(6) + b"\1\2"
    assert head_of(timed, "aggregate", of_user) == {
        "layout": 1, "counter": 0, "touched": 258, "rows": 2, "sequence": 278, "calls": {}, "bytes": "99",
    }  # fmt: skip
    key = row(INT)
    leaf = b"\2\2\2" + bytes([len(key) * 2]) + key + b"\2\4"  # 1 row, next page 1, 1 entry, key, copies: 2
    found = head_of(head + leaf + b"\0\0\0", "inner", [None, None, INNER, INNER])
    assert found["left"] == {"rows": 1, "entries": [{"entry": {"x": 7}, "copies": 2}]}
    assert found["right"] == {"rows": 0, "entries": []}
    counted = leaf[:-2] + b"\4\4\6"  # copies: 2, matches: 3
    found = head_of(head + counted + leaf, "leftif", [None, None, INNER, INNER])
    assert found["left"] == {"rows": 1, "entries": [{"entry": {"x": 7}, "copies": 2, "matches": 3}]}
    assert found["right"] == {"rows": 1, "entries": [{"entry": {"x": 7}, "copies": 2}]}
    assert head_of(head + counted + counted, "fullif", [None, None, INNER, INNER])["right"] == found["left"]


def test_the_first_page_of_a_large_group() -> None:
    """A root of two pages, of which the first one has two again: each leads to the next that is asked for."""
    key = row(INT)
    long = bytes([len(key) * 2]) + key
    root = b"\1" + bytes(7) + b"\2\2\3" + (long + b"\2") + (long + b"\4") + b"\0\0\0"  # 1 row, next 1, -2: 1 and 2
    kind: Any = ("inner", [None, None, INNER, INNER])
    known = Paged()
    assert head_of(root, *kind, known)["left"] == {"rows": 1, "pages": 2}
    assert known.wanted == {b"\0\0\1\0\0\0"}
    known = Paged({b"\0\0\1\0\0\0": b"\1" + long + b"\6"})
    head_of(root, *kind, known)
    assert known.wanted == {b"\0\0\3\0\0\0"}
    known.pages[b"\0\0\3\0\0\0"] = b"\2" + long + b"\2\2"
    known.wanted.clear()
    found = head_of(root, *kind, known)
    assert found["left"] == {"rows": 1, "pages": 2, "entries": [{"entry": {"x": 7}, "copies": 1}]}
    assert not known.wanted


def calls(*each: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": type} for name, type in each]}


def test_calls_of_an_aggregate() -> None:
    key = row(INT)
    tree = b"\2\2" + bytes([len(key) * 2]) + key + b"\2\4"  # next page 1, 1 entry, key, copies: 2
    number = (1234).to_bytes(2, "big")
    shown = {"entries": [{"entry": {"x": 7}, "copies": 2}]}
    each: list[tuple[str, Any, bytes, Any]] = [
        ("count:0", "integer", b"\0\0\4\2", {"values": 3}),
        ("sum:1", "long", b"\x0e\2\4\0", {"sum": 8, "values": 2}),
        ("sum:2", "double", struct.pack(">dd", 0.5, 1) + b"\4\0", {"sum": 1.5, "values": 2}),
        ("sum:3", "decimal(10,2)", b"\4" + number + b"\4\2\0\0\4\0", {"sum": "12.34", "values": 2}),
        ("dcount:4", INNER, tree + b"\2", shown | {"distinct": 1}),
        ("dsum:5", INNER, tree + b"\2" + b"\x0e\0\2\0", shown | {"distinct": 1, "sum": 7, "values": 1}),
        ("max:6", INNER, tree + b"\2", shown | {"distinct": 1}),
        ("first:7", INNER, tree + b"\2\2" + bytes([len(key) * 2]) + key + b"\0", shown),
        ("only_min:8", INNER, b"\2" + bytes([len(key) * 2]) + key + b"\2\2", shown),
        ("array:9", INNER, b"\2" + bytes([len(key) * 2]) + key + b"\4\0" + b"\4\2\2" + b"\0", shown),
    ]
    head = b"\1" + bytes(7) + b"\4\xac\4" + b"".join(laid for _, _, laid, _ in each)
    found = head_of(head, "window", [None, None, calls(*((name, type) for name, type, _, _ in each)), None])
    assert "error" not in found
    assert found["calls"] == {name: value for name, _, _, value in each}


def test_a_head_of_over() -> None:
    """How far LAG looks back, then the places: when a row came, before the row."""
    place = b"\x80" + bytes(6) + b"\3" + row(INT)
    leaf = b"\4\2\2" + bytes([len(place) * 2]) + place + b"\2\2"  # LAG 2, next page 1, 1 entry, key, copies: 1
    found = head_of(b"\1" + bytes(7) + leaf, "over", [None, None, None, None, INNER])
    assert found == {"layout": 1, "counter": 0, "lag": 2, "entries": [{"entry": {"x": 7}, "copies": 1}]}
