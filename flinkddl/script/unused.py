"""Tables that no query of a script reads or writes: Flink looks at them when one does, ``check`` looks now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.catalog.model import Table
from flinkddl.options.legacy import is_old
from flinkddl.plan.nodes import scans
from flinkddl.script.mistaken import errors, is_pattern, mistakes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.catalog.state import Catalog
    from flinkddl.diagnostics import Diagnostic
    from flinkddl.script.compile import Compiled


def unused(compiled: Compiled) -> Iterator[Diagnostic]:
    """Yield warnings for tables that could neither be read nor written, and that nothing was said of yet.

    None for a script with a statement that could not be read: it may be the one that uses them.
    """
    if not compiled.whole:
        return
    known = {(d.code, d.message, d.span) for d in compiled.diagnostics}
    absent = {(code, message) for code, message, _ in known}  # what a table lacks is told at its use
    used = _used(compiled)
    for table in _tables(compiled.catalog):
        if id(table) in used or is_pattern(table):
            continue
        reading, writing = errors(table, "source"), errors(table, "sink")
        every = [*reading, *writing]
        if any((d.code, d.message, d.span) in known for d in every):
            continue
        if any(d.span == table.span and (d.code, d.message) in absent for d in every):
            continue
        # A query may well use an old table, and have ended at another one.
        more = "" if is_old(table.options) else f" (no query uses table '{table.path.name}' yet)"
        for d in mistakes(reading, writing):
            yield replace(d, severity="warning", message=d.message + more)


def _used(compiled: Compiled) -> set[int]:
    """Return the tables (their identity) that a job reads or writes: it could, so there is nothing to say of them."""
    sinks = [sink for start in compiled.starts for sink in start.sinks]
    tables = [scan.table for sink in sinks for scan in scans(sink)]
    return {id(table) for table in (*tables, *(sink.table for sink in sinks))}


def _tables(catalog: Catalog) -> Iterator[Table]:
    for name, entry in catalog.catalogs.items():
        for database in entry.databases:
            tables = (o for o in catalog.objects_in(name, database) if isinstance(o, Table))
            # The tables of a catalog that was refused need no connector in Flink.
            yield from (t for t in tables if not entry.absent or "connector" in t.options)
