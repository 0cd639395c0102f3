"""Scripts of Flink 1.9 and 1.10 in today's words: changes to their text, comments and layout kept.

The WITH clauses (``options.legacy``) and what is laid over them (``old_changes``), what they said of columns
(``old_columns``), PRIMARY KEYs without NOT ENFORCED, and the keys that the older planner took from the query
(``new_keys``). What has no equivalent stays, and is told of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.catalog.context import parts
from flinkddl.deep import deep
from flinkddl.diagnostics import Bag, Diagnostic, FlinkDdlError, SourceText
from flinkddl.dialect import nodes
from flinkddl.dialect.script import parse_tokens
from flinkddl.dialect.variables import lex_script
from flinkddl.dialect.words import RESERVED
from flinkddl.options.legacy import is_old, renew
from flinkddl.script import clauses
from flinkddl.script.edits import Edits
from flinkddl.script.new_keys import missing_keys
from flinkddl.script.old_changes import Changes, Name, Tables
from flinkddl.script.old_columns import OldColumns, columns_of, holds_timestamps
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.dialect.script import Script

_HARMLESS = ("FD106", "FD672")


@dataclass(frozen=True)
class Modern:
    """A script as it is written today, and what had no equivalent (FD673) or means something else (FD674)."""

    text: str
    diagnostics: tuple[Diagnostic, ...]


@deep
def modernize(source: SourceText, variables: Mapping[str, str] | None = None) -> Modern:
    """Return a script in today's words. Raises FlinkDdlError when it does not parse; it may be new already."""
    lexed = lex_script(source.text, variables)
    script = parse_tokens(source, lexed)
    if found := [d for d in script.diagnostics if d.code not in _HARMLESS]:
        raise FlinkDdlError(found)
    edits = Edits(source, lexed)
    bag = Bag()
    _quote_words(script, edits)
    tables = Tables(_read(script))
    changes = Changes(tables, edits, bag)
    upserted: set[Name] = set()
    for tree in (s.tree for s in script.statements):
        if isinstance(tree, nodes.CreateTable):
            name = parts(tree.this)
            tables.options[name] = _options(tree, tables, edits)
            if _table(tree, _Old(tables.options[name], tables.is_read(name)), edits, bag):
                upserted.add(name)
        elif isinstance(tree, nodes.AlterTable):
            changes.alter(tree)
        changes.hints(tree)
    text = edits.apply()
    if upserted:
        text = _with_keys(SourceText(source.name, text), upserted, variables)
    return Modern(text, tuple(bag))


def _options(table: nodes.CreateTable, tables: Tables, edits: Edits) -> dict[str, str]:
    """Return a table's options as written; below them, where they are older ones, those of the table it is LIKE."""
    written = clauses.values_of(table.args.get("options"), edits.text)
    like = table.args.get("like")
    return {**tables.of(parts(like.this)), **written} if like and _says_old(written) else written


def _says_old(options: Mapping[str, str]) -> bool:
    return any(key.startswith(("connector.", "format.")) for key in options)


def _quote_words(script: Script, edits: Edits) -> None:
    """Put names into back-ticks that have become words of the language: ``views`` and ``stream`` were none in 1.10."""
    for statement in script.statements:
        for name in statement.tree.find_all(exp.Identifier):
            if name._meta and (written := edits.text_of(clauses.place_of(name))).upper() in RESERVED:
                edits.replace(clauses.place_of(name), quote(written))


def _read(script: Script) -> set[Name]:
    """The names of the tables that queries read."""
    queries = [q for s in script.statements for q in s.tree.find_all(exp.Query)]
    return {parts(t) for q in queries for t in q.find_all(exp.Table) if not isinstance(t.this, exp.Func)}


@dataclass(frozen=True)
class _Old:
    """A table's options as written, with those of the one that it is LIKE; whether a query reads it."""

    options: Mapping[str, str]
    read: bool


def _table(table: nodes.CreateTable, old: _Old, edits: Edits, bag: Bag) -> bool:
    """Change one table; return whether it is an old one, whose key the query may have said."""
    elements = table.args.get("elements") or []
    for key in table.find_all(nodes.PrimaryKey):
        _not_enforced(key, edits)
    written = {o.this.name: o for o in table.args.get("options") or []}
    places = clauses.places_of(list(written.values()), edits.source)
    if clauses.unknown(old.options, places, bag):
        return False
    renewed = renew(old.options, holds_timestamps(columns_of(table), old.options), old.read)
    if renewed is None:
        return False
    columns = OldColumns(table, renewed, edits).run()
    pairs = {**renewed.pairs, **{key: ((key, old.options[key]),) for key in columns.lost}}
    clauses.rewrite(list(written.values()), pairs, edits)
    if columns.added and elements:
        found = [clauses.place_of(e) for e in elements]
        edits.renew(found, [True] * len(found), {len(found) - 1: columns.added})
    clauses.tell({**renewed.lost, **columns.lost}, {**renewed.differs, **columns.differs}, places, bag)
    return is_old(old.options)


# ---- keys --------------------------------------------------------------------------------------------------------


def _not_enforced(key: nodes.PrimaryKey, edits: Edits) -> None:
    if key.args.get("enforced") is None:
        edits.insert(clauses.place_of(key).end, " NOT ENFORCED")
    elif key.args["enforced"]:
        edits.insert(clauses.place_of(key).end - len("ENFORCED"), "NOT ")


def _with_keys(source: SourceText, names: set[Name], variables: Mapping[str, str] | None) -> str:
    """Return a script whose tables of these names have the PRIMARY KEYs that their queries update them by."""
    lexed = lex_script(source.text, variables)
    script = parse_tokens(source, lexed)
    edits = Edits(source, lexed)
    for table, columns in missing_keys(script, source, names):
        places = [clauses.place_of(e) for e in table.args["elements"]]
        key = f"PRIMARY KEY ({', '.join(columns)}) NOT ENFORCED"
        edits.renew(places, [True] * len(places), {len(places) - 1: [key]})
    return edits.apply()
