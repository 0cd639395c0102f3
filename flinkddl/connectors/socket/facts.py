"""The connector ``socket``: lines of a server, for demos; what was sent while nobody listened is gone.

Source: the example of Flink's documentation, "User-defined Sources & Sinks", whose options it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors import common
from flinkddl.connectors.base import Connector, of_format
from flinkddl.connectors.filesystem.facts import LINES

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions


def _check_source(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    common.check_source(connector, table, resolved, bag, use)
    form = resolved.value_format
    if form is not None and form.name not in LINES:
        message = f"format '{form.name}' has no lines, which are all that can be read from a socket"
        bag.error("FD216", message, resolved.span("format"), f"take one of {', '.join(sorted(LINES))}")


CONNECTOR = Connector(
    name="socket",
    source_mode=of_format,
    read="flinkddl.connectors.socket.read",
    check_source=_check_source,
    formats=tuple(LINES),
)
