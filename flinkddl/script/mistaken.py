"""What is wrong with a table whatever uses it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkddl.connectors import Use, use_table
from flinkddl.diagnostics import Bag

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.diagnostics import Diagnostic
    from flinkddl.options.registry import Role


def wrong_options(table: Table) -> list[Diagnostic]:
    """Return what is wrong with a table that nothing can use for another reason, however it were used."""
    return [] if is_pattern(table) else mistakes(errors(table, "source"), errors(table, "sink"))


def is_pattern(table: Table) -> bool:
    """Whether another table is declared LIKE this one: it may be left incomplete."""
    name = rf"\bLIKE\s+(?:[\w`]+\s*\.\s*)*`?{re.escape(table.path.name)}\b"
    return table.span is not None and re.search(name, table.span.source.text, re.I) is not None


def errors(table: Table, role: Role) -> list[Diagnostic]:
    """Return what is wrong with a table that is read or written."""
    bag = Bag()
    use_table(table, role, None, bag, Use(table.span))
    return [d for d in bag if d.severity == "error"]


def mistakes(reading: list[Diagnostic], writing: list[Diagnostic]) -> list[Diagnostic]:
    """Return what is wrong with a table however it is used: nothing where one way is right."""
    if not reading or not writing:
        return []
    both = {(d.code, d.message) for d in writing}
    return [d for d in reading if (d.code, d.message) in both] or reading
