"""What a head of state by key holds (package ``flinkddl.state`` of the jar: Store, and each kind of Kinds.java).

A head is a word (layout's version, counter), then the kind's own bytes, with a TTL the time of its last change. A small
group is in its head whole; of a larger one the head has the root of a tree whose pages lie in map 0. Of those the ones
with the first entries are read: a group may be larger than memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import partial
from itertools import islice
from struct import pack, unpack
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.storage.unsafe_rows import fields_of, row_of
from flinkddl.spark.stages import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

BODY = 8
"""Bytes of a head before the kind's own (Store.BODY)."""
KEY = 10
"""Bytes of a group's key before its struct: a hash and the node's number (Rows.KEY)."""
NODE = slice(8, KEY)
"""Of these the node's number."""
NO_NODE = 0xFFF9
"""From here on no number of a node: notes of when groups were touched (Sweep) and are to fire (Timers), event time
(Clocks, Rows.TIME and Rows.LAST), rows that pass (Rows.PASS), the end of a batch (Overlay)."""
NOTES = (0xFFFD, 0xFFFE)
"""Of these the notes (Timers, Sweep): the number of the node whose they are stands behind."""
FIRST = 100
"""So many of the rows that a window's join holds are read."""
TIMED = 0x80
"""In a head's first byte: it ends with a time (Store.TIMED)."""
_PAGED = (kind for kind in KINDS if kind.startswith("window") and kind not in ("window", "windowtop"))
_LAYOUTS = dict.fromkeys(("top", *_PAGED), (1, 2))  # those that this module reads, of other kinds 1


def node_of(key: bytes) -> int:
    """Return the number of the node that a group's key is of."""
    return int.from_bytes(key[NODE], "big")


def key_of(key: bytes, fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a group's key by names. Raises ValueError for bytes that are none of these types."""
    return row_of(key[KEY:], fields)


@dataclass
class Paged:
    """What lies in map 0 of a group, as far as it is known, and which entries of it are asked for beside that."""

    pages: dict[bytes, bytes] = field(default_factory=dict)
    wanted: set[bytes] = field(default_factory=set)

    def get(self, name: bytes) -> bytes | None:
        """Return an entry; None where it is not known, and is asked for."""
        found = self.pages.get(name)
        self.wanted |= {name} if found is None else set()
        return found


def head_of(head: bytes, kind: str, arguments: Sequence[Any], paged: Paged | None = None) -> dict[str, Any]:
    """Return what a head of a kind holds, its ``layout`` and ``counter`` first; ``arguments`` are types of the call's.

    ``touched``: the time of its last change in ms, where it has a TTL. Of a kind or a layout that is not known here the
    bytes are given as they are. What of ``paged`` is not known is left out, and asked for there.
    """
    layout, body = head[0] & ~TIMED, head[BODY:]
    found = {"layout": layout, "counter": int.from_bytes(head[1:BODY], "big")}
    if head[0] & TIMED:
        found["touched"] = int.from_bytes(body[-8:], "big")
        body = body[:-8]
    read = READERS.get(kind)
    if read is None or layout not in _LAYOUTS.get(kind, (1,)):
        return found | {"bytes": body.hex()}
    try:
        return found | read(_Bytes(body, paged or Paged(), found["counter"], layout), arguments)
    except (ValueError, IndexError, TypeError, KeyError) as error:
        return found | {"bytes": body.hex(), "error": f"not read: {error}"}


class _Bytes:
    """Bytes that are read from the front, numbers as Retract.writeLong wrote them; the group's counter and layout."""

    def __init__(self, data: bytes, paged: Paged, counter: int = 0, layout: int = 1) -> None:
        self.rest, self.paged, self.counter, self.layout = data, paged, counter, layout

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

    def long(self) -> int:
        """Return a number of eight bytes."""
        return int.from_bytes(self.take(8), "big", signed=True)

    def bytes(self) -> bytes:
        return self.take(max(0, self.number()))


# ---- trees -----------------------------------------------------------------------------------------------------------


def _tree(data: _Bytes, number: int, entry: Callable[[bytes, bytes], Any]) -> dict[str, Any]:
    """Return the entries of a tree (Tree.java): of one that has more pages how many its root points to, and the first.

    ``number`` parts it from others of its group; ``entry`` makes an entry of its key and its value.
    """
    data.number()  # the next page's
    page = _page(data)
    found: dict[str, Any] = {"pages": len(page)} if _inner(page) else {}
    while _inner(page):
        stored = data.paged.get(pack("<hi", number, page[0][1]))
        if stored is None:
            return found
        page = _page(_Bytes(stored, data.paged))
    return found | {"entries": [entry(key, value) for key, value in page]}


def _page(data: _Bytes) -> list[tuple[bytes, Any]]:
    """Return keys with their values, of an inner page with the numbers of the pages below."""
    count = data.number()
    return [(data.bytes(), data.bytes() if count > 0 else data.number()) for _ in range(abs(count))]


def _inner(page: list[tuple[bytes, Any]]) -> bool:
    return bool(page) and isinstance(page[0][1], int)


def _copies(shown: Callable[[bytes], Any], counted: bool = False) -> Callable[[bytes, bytes], dict[str, Any]]:
    """Return what makes an entry of a row with copies, where they are ``counted`` with how many match it."""

    def entry(key: bytes, value: bytes) -> dict[str, Any]:
        kept = _Bytes(value, Paged())
        copies = {"entry": shown(key), "copies": kept.number() if kept.rest else 1}
        return copies | ({"matches": kept.number()} if counted else {})

    return entry


def _row(type: Any, skip: int = 0) -> Callable[[bytes], dict[str, Any]]:
    fields = fields_of(type)
    return lambda data: row_of(data[skip:], fields)


# ---- aggregates ------------------------------------------------------------------------------------------------------

_EXACT = Context(prec=100)
_NONE = (-(1 << 63), (1 << 63) - 1)  # of rows that have no order but that of their turns


def _aggregate(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    rows, sequence = data.number(), data.number()
    found: dict[str, Any] = {"rows": rows, "sequence": None if sequence in _NONE else sequence}
    calls: dict[str, Any] = {}
    for n, (name, type) in enumerate(fields_of(arguments[2]) if data.rest else ()):
        kind = name.partition(":")[0]
        if kind.startswith("java_"):  # an accumulator of the user's
            return found | {"calls": calls, "bytes": data.rest.hex()}
        calls[name] = _CALLS.get(kind, _whole)(data, n, type)
    return found | {"calls": calls}


def _count(data: _Bytes, _: int, __: Any) -> dict[str, Any]:
    """Return a number of values; beside each number is what was to come, which is nothing in what is kept."""
    data.number(), data.number()
    return {"values": data.number() + data.number()}


def _sum(data: _Bytes, _: int, type: Any) -> dict[str, Any]:
    if type == "long":
        total: Any = data.number() + data.number()
    elif type == "double":
        total = sum(unpack(">dd", data.take(16)))
    else:
        parts = [(int.from_bytes(data.bytes(), "big", signed=True), data.number()) for _ in range(2)]
        total = str(_EXACT.add(*(Decimal(number).scaleb(-scale, _EXACT) for number, scale in parts)))
    return {"sum": total, "values": data.number() + data.number()}


def _distinct(data: _Bytes, n: int, type: Any, sums: bool = False) -> dict[str, Any]:
    """Return values of which each has a place in a tree (Call.Values)."""
    found = _tree(data, 2 * n, _copies(_row(type))) | {"distinct": data.number()}
    return found | (_sum(data, n, fields_of(type)[0][1]) if sums else {})


def _edge(data: _Bytes, n: int, type: Any) -> dict[str, Any]:
    """Return values by themselves; a second tree has them by when they came (Call.Edge)."""
    found = _tree(data, 2 * n, _copies(_row(type)))
    data.number(), _page(data)
    return found


def _whole(data: _Bytes, _: int, type: Any, ordered: bool = True) -> dict[str, Any]:
    """Return values in one piece, where they are ``ordered`` each with when its copies came (RetractMultiset)."""
    shown, entries = _row(type), []
    for _ in range(data.number()):
        entries.append({"entry": shown(data.bytes()), "copies": data.number() + data.number()})
        for _ in range(2 if ordered else 0):
            for _ in range(data.number()):
                data.number()
    return {"entries": entries}


_CALLS: Mapping[str, Callable[[_Bytes, int, Any], dict[str, Any]]] = {
    "count": _count,
    "sum": _sum,
    **dict.fromkeys(("dcount", "min", "max"), _distinct),
    "dsum": partial(_distinct, sums=True),
    **dict.fromkeys(("first", "last"), _edge),
    **dict.fromkeys(("collect", "dcollect", "only_max", "only_min"), partial(_whole, ordered=False)),
}
"""By the kind of a call (Call.java); all others keep values in order, in one piece."""


# ---- the other kinds -------------------------------------------------------------------------------------------------


def _latest(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    (version, _), (row, _) = change = fields_of(arguments[1])
    found = row_of(data.rest[:-1], change)
    return {"version": found[version], "row": found[row], "deleted": data.rest[-1] == 1}


_SIDES = ("left", "right")


def _join(data: _Bytes, arguments: Sequence[Any], counted: Sequence[str] = ()) -> dict[str, Any]:
    """Return both sides; rows of those that are ``counted`` are kept with the number of their matches."""
    sides = {}
    for n, side in enumerate(_SIDES):
        rows = data.number()
        sides[side] = {"rows": rows} | _tree(data, n, _copies(_row(arguments[2 + n]), side in counted))
    return sides


def _interval(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    """Return the rows that wait, with their times, until when they do and whether they have met another (ms)."""
    found: dict[str, Any] = {"fires": data.long()}
    for n, side in enumerate(_SIDES):
        shown = _row(arguments[2 + n])

        def entry(key: bytes, value: bytes, shown: Callable[[bytes], Any] = shown) -> dict[str, Any]:
            time = int.from_bytes(key[:8], "big") - (1 << 63)
            until = int.from_bytes(value[1:9], "big", signed=True)
            return {"time": time, "until": until, "matched": value[0] == 1, "entry": shown(value[9:])}

        found[side] = _tree(data, n, entry)
    return found


def _temporal(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    """Return the rows that wait and the versions, by their times (ms), and when the group fires."""
    found: dict[str, Any] = {"fires": data.long()}
    for n, (name, skip) in enumerate((("left", 8), ("versions", 0))):
        shown = _row(arguments[2 + n], skip)

        def entry(key: bytes, value: bytes, shown: Callable[[bytes], Any] = shown) -> dict[str, Any]:
            return {"time": int.from_bytes(key[:8], "big") - (1 << 63), "entry": shown(value)}

        found[name] = _tree(data, n, entry)
    return found


def _window_join(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    """Return the rows of both sides, whose pages lie in map 0 by the number of their turn, and how many there are."""
    fields = [(f"c{i}", type) for i, type in enumerate(arguments)]
    paged = data.layout > 1
    found: dict[str, Any] = {"rows": data.long() if paged else data.counter, "left": [], "right": []}
    turns = range(1, min(data.counter, FIRST) + 1)
    pages = (page for turn in turns if (page := data.paged.get(turn.to_bytes(8, "big"))) is not None)
    for stored in islice((row for page in pages for row in (_rows_of(page) if paged else (page,))), FIRST):
        row = row_of(stored, fields)
        side = 0 if row["c2"] is not None else 1
        found[_SIDES[side]].append(row[f"c{2 + side}"])
    return found


def _rows_of(page: bytes) -> Iterator[bytes]:
    """Yield the rows of a page, each behind its size."""
    rest = _Bytes(page, Paged())
    while rest.rest:
        yield rest.take(rest.long())


def _session(data: _Bytes, arguments: Sequence[Any], listed: bool = False) -> dict[str, Any]:
    """Return sessions: their bounds, when they ask whether they are over (ms), and of some kinds their rows."""
    sessions = []
    for _ in range(data.number()):
        one: dict[str, Any] = {"start": data.long(), "end": data.long(), "fires": data.long()}
        if listed:
            fields = [(f"c{i}", type) for i, type in enumerate(arguments)]
            rows = (row_of(data.bytes(), fields) for _ in range(data.number()))
            one["rows"] = [{"weight": row["c0"], "values": row["c2"]} for row in rows]
        else:
            data.bytes()  # what the aggregate function keeps: its result says what that is
        sessions.append(one)
    return {"sessions": sessions}


def _slices(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    """Return when the next window ends (ms), and slices: the bounds of the window that rows name, and an aggregate."""
    found: dict[str, Any] = {"next": data.long()}
    bounds = [(data.long(), data.long(), data.bytes()) for _ in range(data.number())]
    read = [(start, end, _aggregate(_Bytes(kept, data.paged), arguments)) for end, start, kept in bounds]
    return found | {"slices": [{"start": start, "end": end} | one for start, end, one in read]}


def _kept(_: _Bytes, __: Sequence[Any]) -> dict[str, Any]:
    """Of what an aggregate function keeps the result says all."""
    return {}


def _top(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    return {"places": data.number()} | _tree(data, 0, _copies(_row(arguments[6], 8)))


def _over(data: _Bytes, arguments: Sequence[Any]) -> dict[str, Any]:
    return {"lag": data.number()} | _tree(data, 0, _copies(_row(arguments[4], 8)))


_PLAIN: Mapping[str, Callable[[_Bytes, Sequence[Any]], dict[str, Any]]] = {
    "aggregate": _aggregate,
    "latest": _latest,
    "over": _over,
    "session": _session,
    "sessionlist": partial(_session, listed=True),
    "slices": _slices,
    "top": _top,
    "window": _aggregate,
    "windowtop": _kept,
    **dict.fromkeys(("inner", "left", "full", "semi", "anti"), _join),
    **dict.fromkeys(("leftif", "semiif", "antiif"), partial(_join, counted=("left",))),
    "fullif": partial(_join, counted=_SIDES),
}
_BEGINNINGS = {"interval": _interval, "temporal": _temporal, "window": _window_join}


def _reader(kind: str) -> Callable[[_Bytes, Sequence[Any]], dict[str, Any]]:
    found = _PLAIN.get(kind)
    return found or next(read for beginning, read in _BEGINNINGS.items() if kind.startswith(beginning))


READERS: Mapping[str, Callable[[_Bytes, Sequence[Any]], dict[str, Any]]] = {kind: _reader(kind) for kind in KINDS}
"""How the head of a kind is read, for all kinds that there are."""
