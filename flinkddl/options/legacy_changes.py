"""Options of the style of Flink 1.9 and 1.10 that are laid over those of a table: ALTER TABLE SET, OPTIONS hints.

Both were read as if they stood in the table's WITH clause (``CatalogTableImpl`` of Flink 1.10, ``TableFactoryUtil``
and FLIP-113 of 1.11), so what takes their place depends on the table's own options.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.options.legacy import is_old, renew

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.options.legacy import Pair, Renewed

_START = "scan.startup.mode"
_UNSAID = {_START: "group-offsets"}
"""What an option that falls away is, said as an option: no change can take one out of the table."""
_OTHER_TABLE = "a table of another connector or format is another table: say it in its CREATE TABLE"
_OF_COLUMNS = "say it in the CREATE TABLE, among the columns of the table"


def renew_change(table: Mapping[str, str], change: Mapping[str, str], read: bool = False) -> Renewed | None:
    """Return what a change to a table's options is today, or None where nothing in it is of an older style.

    ``pairs``, ``lost`` and ``differs`` speak of the keys of the change alone. ``table`` are the options that it is laid
    over, as written, empty where they are not known; ``read``: a query reads the table.
    """
    before = renew(table, read=read)
    whole = {**change, **{key: value for key, value in table.items() if key not in change}}
    after = renew(whole, read=read)
    if after is None:
        return None
    was = dict(before.options if before else table.items())
    now = dict(after.options)
    if table and (_kind(was, before) != _kind(now, after) or is_old(whole) != is_old(table)):
        return _kept(after, change, _OTHER_TABLE)
    if gone := [key for key in was if key not in now and key not in _UNSAID]:
        return _kept(after, change, f"'{gone[0]}' would have to go from the table: say it in its CREATE TABLE")
    said = {key: after.pairs[key] for key in change}
    more = _more(was, now, {key for pairs in said.values() for key, _ in pairs})
    first = next((key for key, pairs in said.items() if pairs), next(iter(change)))
    lost = {key: why for key, why in after.lost.items() if key in change}
    lost |= {key: _OF_COLUMNS for key in after.of_columns if key in change}
    pairs = {**said, first: (*said[first], *more), **{key: ((key, change[key]),) for key in lost}}
    differs = {key: what for key, what in after.differs.items() if key in change}
    return replace(after, pairs=pairs, lost=lost, differs=differs)


def told(table: Mapping[str, str]) -> dict[str, str]:
    """Return the connector and format of a table of today's style as the older style says them."""
    words = (("connector", "connector.type"), ("format", "format.type"))
    return {old: table[key] for key, old in words if key in table}


def _kind(options: Mapping[str, str], renewed: Renewed | None) -> tuple[str | None, str | None]:
    return options.get("connector"), renewed.format if renewed else options.get("format")


def _kept(after: Renewed, change: Mapping[str, str], why: str) -> Renewed:
    """Leave a change as it is."""
    return replace(after, pairs={k: ((k, v),) for k, v in change.items()}, lost=dict.fromkeys(change, why), differs={})


def _more(was: Mapping[str, str], now: Mapping[str, str], said: set[str]) -> list[Pair]:
    """The options that are others with a change than before it, and that none of its own keys has become."""
    out = [(key, value) for key, value in now.items() if key not in said and was.get(key) != value]
    return out + [(key, _UNSAID[key]) for key in was if key not in now and key in _UNSAID]
