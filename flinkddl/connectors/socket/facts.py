"""The connector ``socket``: lines of a server, for demos; what was sent while nobody listened is gone.

Source: the example of Flink's documentation, "User-defined Sources & Sinks", whose options it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.connectors import common
from flinkddl.connectors.base import Connector, of_format
from flinkddl.connectors.filesystem.facts import LINES

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions


_UTF8 = ("UTF-8", "UTF8")


def _check_source(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    common.check_source(connector, table, resolved, bag, use)
    form = resolved.value_format
    if form is not None and form.name not in LINES:
        message = f"format '{form.name}' has no lines, which are all that can be read from a socket"
        bag.error("FD216", message, resolved.span("format"), f"take one of {', '.join(sorted(LINES))}")
    elif form is not None and form.name == "raw":
        _check_text(table, resolved, bag)


def _check_text(table: Table, resolved: ResolvedOptions, bag: Bag) -> None:
    """Check that the lines are text: Spark's source reads UTF-8, and of other bytes makes U+FFFD."""
    for column in table.physical:
        if column.type is not None and not column.type.is_a(T.CHARACTER):
            message = f"a line of a socket is text, and column '{column.name}' is {column.type.summary}"
            bag.error("FD224", message, column.span, "declare STRING and CAST it in the query")
    charset = resolved.texts.get("raw.charset")
    if charset is not None and charset.value.upper().replace("_", "-") not in _UTF8:
        message = f"'raw.charset' = '{charset.value}' can not be: Spark's socket source reads UTF-8"
        bag.error("FD224", message, charset.value_span, "let the server write UTF-8")


CONNECTOR = Connector(
    name="socket",
    source_mode=of_format,
    read="flinkddl.connectors.socket.read",
    check_source=_check_source,
    formats=tuple(LINES),
)
