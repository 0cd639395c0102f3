"""Statements in Hive's dialect: a script that changes over to it is read on where it changes back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkddl.diagnostics import About
from flinkddl.diagnostics.kinds import DIALECT
from flinkddl.dialect import nodes
from flinkddl.dialect import tokens as t

if TYPE_CHECKING:
    from sqlglot import exp

    from flinkddl.diagnostics import Bag, Span
    from flinkddl.dialect.parse_session import StatementParser

KEY = "table.sql-dialect"
_AGAIN = re.compile(rf"(?:SET\s+'?{re.escape(KEY)}'?\s*=\s*'?(?!hive\b)\w|RESET\b\s*(?:;|'?{re.escape(KEY)}))", re.I)


def is_hive(tree: exp.Expression) -> bool:
    """Whether a statement changes over to Hive's dialect."""
    if not isinstance(tree, nodes.Set) or tree.this is None:
        return False
    return bool(tree.this.name == KEY and tree.expression is not None and tree.expression.name.lower() == "hive")


def skip(parser: StatementParser, at: Span, bag: Bag) -> list[int]:
    """Skip what is written in Hive's dialect, with one finding for all of it. ``at`` is the SET.

    Returns where the skipped statements begin among the tokens. Flink hands them to Hive's own parser (``HiveParser``):
    nothing can be said of them.
    """
    source, begins = parser.source, list[int]()
    while parser.tok.kind != t.END and not _AGAIN.match(source.text, parser.tok.start):
        if parser.prev.key == ";" and not parser.at(";"):
            begins.append(parser.index)
        parser.advance()
    end = parser.prev.end if begins else at.end
    bag.items = [d for d in bag.items if d.span is None or not at.end <= d.span.start < end]
    lines = ""
    if begins:
        start, stop = source.position(parser.tokens[begins[0]].start)[0], source.position(end - 1)[0]
        lines = f"; line {start} is not read" if start == stop else f"; lines {start} to {stop} are not read"
    help = "write these statements in Flink's own: CREATE TABLE ... WITH ('connector' = '...'), INSERT INTO ... SELECT"
    bag.error("FD330", f"Hive's dialect is not available{lines}", at, help, about=About(kind=DIALECT))
    return begins
