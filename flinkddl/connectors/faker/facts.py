"""The connector ``faker``: rows of Datafaker's expressions, insert-only, endless unless ``number-of-rows`` ends it.

Options, types and rules: Flink-faker's FlinkFakerTableSourceFactory (0.5.3). It ignores options that it does not know:
of columns that there are not, they are warned of here, else refused. Expressions in nested rows and null rates of parts
are more than it has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.catalog.printing import literal_of
from flinkddl.connectors.base import Connector, always, inserts
from flinkddl.connectors.common import check_batch, check_no_metadata
from flinkddl.connectors.faker.expressions import RENAMED, modern, plain_path, wrong
from flinkddl.connectors.faker.parts import part_of
from flinkddl.diagnostics import did_you_mean
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from flinkddl.catalog.model import Column, Table
    from flinkddl.connectors.base import Use
    from flinkddl.connectors.faker.parts import Part
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions

_OPTION = re.compile(r"fields\.(?P<path>.+)\.(?P<what>expression|null-rate|length)")
_VALUES = T.CHARACTER | T.NUMERIC | T.DATETIME | {Root.BOOLEAN}
_NO_END = -1  # what Flink-faker takes for no number


def rows(resolved: ResolvedOptions) -> int | None:
    """Return how many rows a table has, None for no end."""
    total = resolved["number-of-rows"]
    return None if total in (None, _NO_END) else int(total)


def _bounded(table: Table, resolved: ResolvedOptions) -> bool:
    return rows(resolved) is not None


def _check_source(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    check_no_metadata(table, resolved, bag)
    columns = [(c, part_of(c.name, c.type)) for c in table.physical if c.type]
    known = {p.path: p for _, column in columns for p in reversed(list(column.walk()))}
    for key in sorted(resolved.given):
        if found := _OPTION.fullmatch(key):
            _check_option(key, found["path"], found["what"], known, resolved, bag)
    for column, whole in columns:
        for part in whole.walk():
            if part.is_value:
                _check_value(column, part, resolved, bag)
    check_batch(connector, table, resolved, bag, use)


def _check_option(key: str, path: str, what: str, known: dict[str, Part], resolved: ResolvedOptions, bag: Bag) -> None:
    """Check that an option is one of a part that there is, and a rate or a length in its bounds."""
    part = known.get(path)
    if part is None:
        help = did_you_mean(path, known) or "remove the option"
        bag.warning("FD478", f"'{key}' makes nothing: there is no column '{path}'", resolved.key_span(key), help)
        return
    value = resolved[key]
    takes = {word for p in part.walk() if p.path == path for word in p.takes}
    if what not in takes:
        message = f"'{key}' does not fit column '{path}' of type {part.type.summary}"
        if what == "expression":
            inside = (f"'fields.{p.path}.expression'" for p in part.walk() if p.is_value)
            help = f"write {', '.join(inside)}"
        else:
            help = f"it takes: {', '.join(sorted(takes)) or 'nothing'}"
        bag.error("FD212", message, resolved.key_span(key), help)
    elif what == "null-rate" and not 0 <= float(value) <= 1:
        bag.error("FD211", f"'{key}' must be from 0 to 1, but is {value}", resolved.span(key))
    elif what == "null-rate" and float(value) and not part.type.nullable:
        bag.error("FD211", f"'{key}' must be 0, as '{path}' is NOT NULL", resolved.span(key), "remove the option")
    elif what == "length" and int(value) < 1:
        bag.error("FD211", f"'{key}' must be greater than zero, but is {value}", resolved.span(key))


def _check_value(column: Column, part: Part, resolved: ResolvedOptions, bag: Bag) -> None:
    """Check that a part has a type that is made of text, and an expression that Datafaker can read."""
    key = f"fields.{part.path}.expression"
    if not part.type.is_a(_VALUES):
        message = f"faker makes no values of type {part.type.summary}, which column '{part.path}' has"
        bag.error("FD238", message, column.span, "declare STRING and CAST it in the query")
        return
    text = resolved[key]
    if text is None:
        message = f"column '{part.path}' has no expression"
        bag.error("FD218", message, column.span, f"add '{key}' = '#{{...}}'")
        return
    new, old = modern(str(text))
    if old:
        message = f"Datafaker has no '{old[0]}', which java-faker had; its '{RENAMED[plain_path(old[0])]}' is taken"
        bag.warning("FD478", message, resolved.span(key), f"write {literal_of(new)}")
    if found := wrong(new):
        message = f"column '{part.path}' has an expression that can not be evaluated: {found.message}"
        bag.error("FD478", message, resolved.span(key), found.help)


CONNECTOR = Connector(
    name="faker",
    source_mode=inserts,
    read="flinkddl.connectors.faker.read",
    bounded=_bounded,
    lookup=always,
    made=True,
    check_source=_check_source,
)
