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
    from flinkddl.options.registry import Role
    from flinkddl.script.compile import Compiled


def unused(compiled: Compiled) -> Iterator[Diagnostic]:
    """Yield warnings for tables that could neither be read nor written, and that nothing was said of yet.

    None for a script with a statement that could not be read: it may be the one that uses them.
    """
    if not compiled.whole:
        return
    known = {(d.code, d.message, d.span) for d in compiled.diagnostics}
    absent = {(code, message) for code, message, _ in known}  # what a table lacks is told at its use
    for table in _tables(compiled.catalog):
        if _is_pattern(table):
            continue
        reading, writing = _errors(table, "source"), _errors(table, "sink")
        every = [*reading, *writing]
        if any((d.code, d.message, d.span) in known for d in every):
            continue
        if any(d.span == table.span and (d.code, d.message) in absent for d in every):
            continue
        # A query may well use an old table, and have ended at another one.
        more = "" if is_old(table.options) else f" (no query uses table '{table.path.name}' yet)"
        for d in _mistakes(reading, writing):
            yield replace(d, severity="warning", message=d.message + more)


def _tables(catalog: Catalog) -> Iterator[Table]:
    for name, entry in catalog.catalogs.items():
        for database in entry.databases:
            tables = (o for o in catalog.objects_in(name, database) if isinstance(o, Table))
            # The tables of a catalog that was refused need no connector in Flink.
            yield from (t for t in tables if not entry.absent or "connector" in t.options)


def _is_pattern(table: Table) -> bool:
    """Whether another table is declared LIKE this one: it may be left incomplete."""
    name = rf"\bLIKE\s+(?:[\w`]+\s*\.\s*)*`?{re.escape(table.path.name)}\b"
    return table.span is not None and re.search(name, table.span.source.text, re.I) is not None


def _errors(table: Table, role: Role) -> list[Diagnostic]:
    bag = Bag()
    use_table(table, role, None, bag, Use(table.span))
    return [d for d in bag if d.severity == "error"]


def _mistakes(reading: list[Diagnostic], writing: list[Diagnostic]) -> list[Diagnostic]:
    """Return what is wrong with a table however it is used: nothing where one way is right."""
    if not reading or not writing:
        return []
    both = {(d.code, d.message) for d in writing}
    return [d for d in reading if (d.code, d.message) in both] or reading
