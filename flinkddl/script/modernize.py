"""Scripts of Flink 1.9 and 1.10 in today's words: changes to their text, comments and layout kept.

The WITH clauses (``options.legacy``), what they said of columns (``old_columns``), PRIMARY KEYs without NOT ENFORCED,
and the keys that the older planner took from the query (``new_keys``). What has no equivalent stays, and is told of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.catalog.context import parts
from flinkddl.catalog.printing import literal_of
from flinkddl.deep import deep
from flinkddl.diagnostics import Bag, Diagnostic, FlinkDdlError, SourceText, Span
from flinkddl.dialect import nodes
from flinkddl.dialect.script import parse_tokens
from flinkddl.dialect.variables import lex_script
from flinkddl.dialect.words import RESERVED
from flinkddl.options.legacy import is_old, renew
from flinkddl.script.edits import Edits, Place
from flinkddl.script.new_keys import missing_keys
from flinkddl.script.old_columns import OldColumns, columns_of, holds_timestamps
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.dialect.script import Script
    from flinkddl.options.legacy import Pair, Renewed

Name = tuple[str, ...]
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
    read = _read(script)
    known: dict[Name, dict[str, str]] = {}
    upserted: set[Name] = set()
    for table in _tables(script):
        name = parts(table.this)
        known[name] = _options(table, known, edits)
        if _table(table, _Old(known[name], name in read), edits, bag):
            upserted.add(name)
    text = edits.apply()
    if upserted:
        text = _with_keys(SourceText(source.name, text), upserted, variables)
    return Modern(text, tuple(bag))


def _options(table: nodes.CreateTable, known: Mapping[Name, dict[str, str]], edits: Edits) -> dict[str, str]:
    """Return a table's options as written; below them, where they are older ones, those of the table it is LIKE."""
    written = {o.this.name: _raw(o.expression, edits.text) for o in table.args.get("options") or []}
    like = table.args.get("like")
    return {**known.get(parts(like.this), {}), **written} if like and _says_old(written) else written


def _says_old(options: Mapping[str, str]) -> bool:
    return any(key.startswith(("connector.", "format.")) for key in options)


def _tables(script: Script) -> list[nodes.CreateTable]:
    return [s.tree for s in script.statements if isinstance(s.tree, nodes.CreateTable)]


def _quote_words(script: Script, edits: Edits) -> None:
    """Put names into back-ticks that have become words of the language: ``views`` and ``stream`` were none in 1.10."""
    for statement in script.statements:
        for name in statement.tree.find_all(exp.Identifier):
            if name._meta and (written := edits.text_of(_place(name))).upper() in RESERVED:
                edits.replace(_place(name), quote(written))


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
    places = {key: _span(option.this, edits.source) for key, option in written.items()}
    if _unknown(old.options, places, bag):
        return False
    renewed = renew(old.options, holds_timestamps(columns_of(table), old.options), old.read)
    if renewed is None:
        return False
    columns = OldColumns(table, renewed, edits)
    columns.run()
    pairs = {**renewed.pairs, **{key: ((key, old.options[key]),) for key in columns.lost}}
    _clause(list(written.values()), pairs, edits)
    if columns.added and elements:
        found = [columns.place(e) for e in elements]
        edits.renew(found, [True] * len(found), {len(found) - 1: columns.added})
    _tell(renewed, columns, places, bag)
    return is_old(old.options)


def _unknown(options: Mapping[str, str], places: Mapping[str, Span], bag: Bag) -> bool:
    """Tell of options that can not be rewritten here, and return whether there are some."""
    if hidden := next((place for place in places.values() if place.text.startswith("$")), None):
        bag.error("FD673", "a variable stands for options of this table", hidden, "write them out")
    elif not is_old(options) and (key := next((k for k in places if k.startswith("connector.")), None)):
        message = f"'{key}' is an option of the older style, and the table has no 'connector.type'"
        bag.error("FD673", message, places[key], "say which connector it is")
    else:
        return False
    return True


def _tell(renewed: Renewed, columns: OldColumns, places: Mapping[str, Span], bag: Bag) -> None:
    """Tell of the table's own options; those of a table that it is LIKE are told of there."""
    for key, instead in {**renewed.lost, **columns.lost}.items():
        if key in places:
            bag.error("FD673", f"nothing does the same as '{key}' today", places[key], instead)
    for key, what in {**renewed.differs, **columns.differs}.items():
        if key in places:
            bag.warning("FD674", f"'{key}' is not quite the same today: {what}", places[key])


# ---- a WITH clause -----------------------------------------------------------------------------------------------


def _clause(options: list[nodes.Option], pairs: Mapping[str, tuple[Pair, ...]], edits: Edits) -> None:
    kept = [bool(pairs[option.this.name]) for option in options]
    more = (pairs[option.this.name][1:] for option in options)
    added = {i: [f"{literal_of(k)} = {literal_of(v)}" for k, v in new] for i, new in enumerate(more)}
    for option in options:
        if new := pairs[option.this.name]:
            key, value = new[0]
            if key != option.this.name:
                edits.replace(_place(option.this), literal_of(key))
            if value != _raw(option.expression, edits.text):
                edits.replace(_place(option.expression), literal_of(value))
    places = [_place(o) for o in options]
    edits.renew(places, kept, {i: texts for i, texts in added.items() if kept[i]})


def _raw(node: exp.Expression, text: str) -> str:
    """Return a string's value with the variables in it as they are written."""
    place = _place(node)
    written = text[place.start : place.end]
    inner = written[1:-1]
    plain = written[:1] == "'" == written[-1:] and "'" not in inner.replace("''", "")
    return inner.replace("''", "'") if plain else node.name


# ---- keys --------------------------------------------------------------------------------------------------------


def _not_enforced(key: nodes.PrimaryKey, edits: Edits) -> None:
    if key.args.get("enforced") is None:
        edits.insert(_place(key).end, " NOT ENFORCED")
    elif key.args["enforced"]:
        edits.insert(_place(key).end - len("ENFORCED"), "NOT ")


def _with_keys(source: SourceText, names: set[Name], variables: Mapping[str, str] | None) -> str:
    """Return a script whose tables of these names have the PRIMARY KEYs that their queries update them by."""
    lexed = lex_script(source.text, variables)
    script = parse_tokens(source, lexed)
    edits = Edits(source, lexed)
    for table, columns in missing_keys(script, source, names):
        places = [_place(e) for e in table.args["elements"]]
        key = f"PRIMARY KEY ({', '.join(columns)}) NOT ENFORCED"
        edits.renew(places, [True] * len(places), {len(places) - 1: [key]})
    return edits.apply()


def _place(node: exp.Expression) -> Place:
    found = nodes.span_of(node)
    assert found is not None
    return Place(*found)


def _span(node: exp.Expression, source: SourceText) -> Span:
    place = _place(node)
    return Span(source, place.start, place.end)
