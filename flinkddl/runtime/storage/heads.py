"""What a head of state by key holds (package ``flinkddl.state`` of the jar: Store, Aggregate, Latest, Join, Over, Top).

A head is a word (layout's version, counter), then the kind's own bytes, with a TTL the time of its last change. A small
group is in its head whole; of a larger one the head has the root of a tree whose pages lie in map 0.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.storage.unsafe_rows import fields_of, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

BODY = 8
"""Bytes of a head before the kind's own (Store.BODY)."""
KEY = 10
"""Bytes of a group's key before its struct: a hash and the node's number (Rows.KEY)."""
NODE = slice(8, KEY)
"""Of these the node's number."""
NO_NODE = 0xFFFE
"""From here on no number of a node: notes of when groups were touched (Sweep), rows that pass (Rows.PASS)."""
_TIMED = 0x80  # in a head's first byte: it ends with a time (Store.TIMED)
_LAYOUTS = {"top": (1, 2)}  # those that this module reads, of other kinds 1


def node_of(key: bytes) -> int:
    """Return the number of the node that a group's key is of."""
    return int.from_bytes(key[NODE], "big")


def key_of(key: bytes, fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a group's key by names. Raises ValueError for bytes that are none of these types."""
    return row_of(key[KEY:], fields)


def head_of(head: bytes, kind: str, arguments: Sequence[Any]) -> dict[str, Any]:
    """Return what a head of a kind holds, its ``layout`` and ``counter`` first; ``arguments`` are types of the call's.

    ``touched``: the time of its last change in ms, where it has a TTL. Of a kind or a layout that is not known here the
    bytes are given as they are.
    """
    layout, body = head[0] & ~_TIMED, head[BODY:]
    found = {"layout": layout, "counter": int.from_bytes(head[1:BODY], "big")}
    if head[0] & _TIMED:
        found["touched"] = int.from_bytes(body[-8:], "big")
        body = body[:-8]
    read = _KINDS.get(kind)
    if read is None or layout not in _LAYOUTS.get(kind, (1,)):
        return found | {"bytes": body.hex()}
    try:
        return found | read(_Bytes(body), arguments)
    except (ValueError, IndexError, TypeError, KeyError) as error:
        return found | {"bytes": body.hex(), "error": f"not read: {error}"}


class _Bytes:
    """Bytes that are read from the front, numbers as Retract.writeLong wrote them."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, size: int) -> bytes:
        if size > len(self.rest):
            raise ValueError(f"{size} bytes of {len(self.rest)}")
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def number(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value >> 1 ^ -(value & 1)

    def bytes(self) -> bytes:
        return self.take(max(0, self.number()))


_NONE = (-(1 << 63), (1 << 63) - 1)  # of rows that have no order but that of their turns


def _aggregate(data: _Bytes, _: Sequence[Any]) -> dict[str, Any]:
    rows, sequence = data.number(), data.number()
    return {"rows": rows, "sequence": None if sequence in _NONE else sequence, "calls": data.rest.hex()}


def _latest(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    (version, _), (row, _) = change = fields_of(arguments[1])
    found = row_of(data.rest[:-1], change)
    return {"version": found[version], "row": found[row], "deleted": data.rest[-1] == 1}


def _join(data: _Bytes, arguments: Sequence[Any], counted: Sequence[str] = ()) -> dict[str, Any]:
    """Return both sides; rows of those that are ``counted`` are kept with the number of their matches."""
    sides = {}
    for side, type in zip(("left", "right"), arguments[2:4], strict=True):
        fields = fields_of(type)
        rows = data.number()
        entries = _tree(data, lambda key, fields=fields: row_of(key, fields), side in counted)  # type: ignore[misc]
        sides[side] = {"rows": rows} | entries
    return sides


def _top(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    entry = fields_of(arguments[6])
    return {"places": data.number()} | _tree(data, lambda key: row_of(key[8:], entry))


def _over(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    entry = fields_of(arguments[4])
    return {"lag": data.number()} | _tree(data, lambda key: row_of(key[8:], entry))


def _tree(data: _Bytes, shown: Callable[[bytes], Any], counted: bool = False) -> dict[str, Any]:
    """Return the entries of a tree that is one page, else how many pages its root points to (Tree.java)."""
    data.number()  # the next page's
    count = data.number()
    if count < 0:
        for _ in range(-count):
            data.bytes(), data.number()
        return {"pages": -count}
    entries = []
    for _ in range(count):
        key, kept = data.bytes(), _Bytes(data.bytes())
        copies = {"entry": shown(key), "copies": kept.number() if kept.rest else 1}
        entries.append(copies | ({"matches": kept.number()} if counted else {}))
    return {"entries": entries}


_KINDS: Mapping[str, Callable[[_Bytes, Sequence[Any]], dict[str, Any]]] = {
    "aggregate": _aggregate,
    "latest": _latest,
    "over": _over,
    "top": _top,
    "window": _aggregate,
    **dict.fromkeys(("inner", "left", "full", "semi", "anti"), _join),
    **dict.fromkeys(("leftif", "semiif", "antiif"), partial(_join, counted=("left",))),
    "fullif": partial(_join, counted=("left", "right")),
}
