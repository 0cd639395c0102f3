"""Tables that no query of a script reads or writes: Flink looks at them when one does, ``check`` looks now."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.catalog.model import Table
from flinkddl.connectors import Use, use_table
from flinkddl.diagnostics import Bag, Diagnostic
from flinkddl.options.legacy import is_old

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.catalog.state import Catalog
    from flinkddl.script.compile import Compiled


def unused(compiled: Compiled) -> Iterator[Diagnostic]:
    """Yield warnings for tables that could neither be read nor written, and that nothing was said of yet."""
    known = {(d.code, d.message) for d in compiled.diagnostics}
    for table in _tables(compiled.catalog):
        if _is_pattern(table):
            continue
        found = _mistakes(table)
        if any((d.code, d.message) in known for d in found):
            continue
        # A query may well use an old table, and have ended at another one.
        more = "" if is_old(table.options) else f" (no query uses table '{table.path.name}' yet)"
        for d in found:
            yield replace(d, severity="warning", message=d.message + more)


def _tables(catalog: Catalog) -> Iterator[Table]:
    for name in catalog.catalogs:
        for database in catalog.catalogs[name].databases:
            yield from (o for o in catalog.objects_in(name, database) if isinstance(o, Table))


def _is_pattern(table: Table) -> bool:
    """Whether another table is declared LIKE this one: it may be left incomplete."""
    name = rf"\bLIKE\s+(?:[\w`]+\s*\.\s*)*`?{re.escape(table.path.name)}\b"
    return table.span is not None and re.search(name, table.span.source.text, re.I) is not None


def _mistakes(table: Table) -> list[Diagnostic]:
    """Return what is wrong with a table however it is used: nothing where one way is right."""
    ways = []
    for role in ("source", "sink"):
        bag = Bag()
        use_table(table, role, None, bag, Use(table.span))
        ways.append([d for d in bag if d.severity == "error"])
    if not all(ways):
        return []
    both = {(d.code, d.message) for d in ways[1]}
    return [d for d in ways[0] if (d.code, d.message) in both] or ways[0]
