"""The connector ``datagen``: rows by random or by sequence, insert-only, endless unless something ends it.

Which ``fields.*`` options a column takes depends on its type and generator (Flink's DataGenTableSourceFactory).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.connectors.base import Connector, inserts
from flinkddl.connectors.common import check_batch, check_no_metadata
from flinkddl.diagnostics import did_you_mean
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions
    from flinkddl.sqltypes import DataType

_OPTION = re.compile(r"fields\.(?P<path>.+)\.(?P<what>kind|min|max|max-past|length|var-len|null-rate|start|end)")
_SEQUENCE = T.NUMERIC | T.CHARACTER
_BYTES = T.CHARACTER | T.BYTES_FAMILY
_RANDOM: tuple[tuple[frozenset[Root], frozenset[str]], ...] = (
    (T.NUMERIC, frozenset({"min", "max", "null-rate"})),
    (_BYTES, frozenset({"length", "var-len", "null-rate"})),
    (T.TIMESTAMPS, frozenset({"max-past", "null-rate"})),
    (T.COLLECTION, frozenset({"length", "null-rate"})),
    (frozenset(Root), frozenset({"null-rate"})),
)


def rows(table: Table, resolved: ResolvedOptions) -> int | None:
    """Return how many rows a table has: ``number-of-rows``, or where its first sequence ends; None: without end."""
    ends = [resolved["number-of-rows"]]
    for column in table.physical:
        if resolved[f"fields.{column.name}.kind"] == "sequence":
            start, end = (int(resolved[f"fields.{column.name}.{k}"]) for k in ("start", "end"))
            ends.append(end - start + 1)
    return min((e for e in ends if e is not None), default=None)


def _bounded(table: Table, resolved: ResolvedOptions) -> bool:
    """Whether the source ends: a number of rows is given, or a sequence runs out."""
    sequences = (resolved[f"fields.{c.name}.kind"] == "sequence" for c in table.physical)
    return resolved["number-of-rows"] is not None or any(sequences)


def field_options(resolved: ResolvedOptions) -> dict[str, dict[str, object]]:
    """Return the ``fields.<column>.<what>`` options by column path, such as ``address.city`` for a field of a ROW."""
    out: dict[str, dict[str, object]] = {}
    for key in resolved.given:
        if found := _OPTION.fullmatch(key):
            out.setdefault(found["path"], {})[found["what"]] = resolved[key]
    return out


def _check_source(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    check_no_metadata(table, resolved, bag)
    paths = {path: kind for c in table.physical if c.type for path, kind in _paths(c.name, c.type)}
    for path, options in field_options(resolved).items():
        if path in paths:
            _column(path, paths[path], options, resolved, bag)
            continue
        place = resolved.key_span(*(f"fields.{path}.{what}" for what in options))
        bag.error("FD212", f"'fields.{path}.*' names an unknown column '{path}'", place, did_you_mean(path, paths))
    check_batch(connector, table, resolved, bag, use)


def _paths(path: str, kind: DataType) -> Iterator[tuple[str, DataType]]:
    """Yield the paths that options may name: columns, fields of rows, ``element``, ``key`` and ``value``."""
    yield path, kind
    match kind.root:
        case Root.ROW:
            parts = [(f.name, f.type) for f in kind.fields]
        case Root.ARRAY | Root.MULTISET:
            parts = [("element", kind.element)]
        case Root.MAP:
            parts = [("key", kind.key), ("value", kind.value)]
        case _:
            parts = []
    for name, part in parts:
        yield from _paths(f"{path}.{name}", part)


def _column(path: str, kind: DataType, options: dict[str, object], resolved: ResolvedOptions, bag: Bag) -> None:
    generator = str(options.get("kind", "random"))
    if generator == "sequence" and not kind.is_a(_SEQUENCE):
        place = resolved.span(f"fields.{path}.kind")
        bag.error("FD211", f"column '{path}' of type {kind.summary} can not be a sequence", place, "use 'random'")
        return
    allowed = _allowed(kind, generator)
    for what in sorted(options.keys() - allowed - {"kind"}):
        message = f"'fields.{path}.{what}' does not fit the {generator} column '{path}' of type {kind.summary}"
        help = f"it takes: {', '.join(sorted(allowed))}"
        bag.error("FD212", message, resolved.key_span(f"fields.{path}.{what}"), help)
    if generator == "sequence" and (missing := [w for w in ("start", "end") if w not in options]):
        named = " and ".join(f"'fields.{path}.{w}'" for w in missing)
        bag.error("FD218", f"a sequence needs {named}", resolved.key_span(f"fields.{path}.kind"), f"add {named}")
    for what in sorted(options.keys() & allowed & {"min", "max", "start", "end"}):
        _number(str(options[what]), kind, f"fields.{path}.{what}", resolved, bag)


def _allowed(kind: DataType, generator: str) -> frozenset[str]:
    if generator == "sequence":
        return frozenset({"start", "end"})
    return next(words for roots, words in _RANDOM if kind.is_a(roots))


def _number(text: str, kind: DataType, key: str, resolved: ResolvedOptions, bag: Bag) -> None:
    whole = kind.is_a(T.INTEGER | T.CHARACTER)
    try:
        int(text) if whole else float(text)
    except ValueError:
        help = "expected a whole number" if whole else "expected a number"
        bag.error("FD211", f"invalid value '{text}' for '{key}'", resolved.span(key), help)


CONNECTOR = Connector(
    name="datagen",
    source_mode=inserts,
    read="flinkddl.connectors.datagen.read",
    bounded=_bounded,
    check_source=_check_source,
)
