"""A script to statements: one pass, every mistake of a file in one go, all places in the text as given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.diagnostics import About, Bag, Diagnostic, SourceText, Span
from flinkddl.dialect import hive, nodes
from flinkddl.dialect import tokens as t
from flinkddl.dialect.cursor import ParseFailure
from flinkddl.dialect.parse_query import TAIL
from flinkddl.dialect.parse_session import STARTS, StatementParser
from flinkddl.dialect.variables import lex_script, templates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlglot import exp

    from flinkddl.dialect.tokens import Lexed


@dataclass(frozen=True)
class ParsedStatement:
    """One statement: its tree (a ``nodes.Statement`` or a query) and the text it was read from.

    ``taken`` are warnings (FD477) of what Flink 2.3 refuses in it; ``strictly`` makes errors of them.
    """

    tree: exp.Expression
    span: Span
    taken: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class Script:
    """What a text holds: the statements that could be read, in order, and everything that was wrong, by place."""

    statements: tuple[ParsedStatement, ...]
    diagnostics: tuple[Diagnostic, ...]
    unread: tuple[tuple[str, ...], ...] = ()
    """The names of tables, views and functions whose own statements could not be read."""
    whole: bool = True
    """Whether every statement could be read."""

    @property
    def ok(self) -> bool:
        """Whether nothing was wrong."""
        return all(d.severity == "note" for d in self.diagnostics)


@deep
def parse_script(source: SourceText, variables: Mapping[str, str] | None = None) -> Script:
    """Read a script. Never raises for what stands in the text: ``diagnostics`` says what is wrong with it.

    ``variables`` give ``${name}`` a text; names not among them are looked up in the environment.
    """
    if unusable := compiled():
        return Script((), (unusable,))
    return parse_tokens(source, lex_script(source.text, variables))


def compiled() -> Diagnostic | None:
    """Return FD476 where sqlglot's classes take no subclass in Python; only the first value of one says that."""
    try:
        nodes.Set()
    except TypeError:
        message = "sqlglot's classes are compiled ones (sqlglot[c]), which take no nodes of Flink's statements"
        help = "pip uninstall sqlglotc: sqlglot goes on with the same classes in Python"
        return Diagnostic("FD476", message, help=help)
    return None


def parse_tokens(source: SourceText, lexed: Lexed) -> Script:
    """Read statements from tokens."""
    bag = Bag()
    for fault in lexed.faults:
        place = Span(source, fault.start, max(fault.end, fault.start))
        bag.error(fault.code, fault.message, place, fault.help, about=About(fault.name))
    statements: list[ParsedStatement] = []
    unread: list[tuple[str, ...]] = []
    whole = True
    parser = StatementParser(source, lexed.tokens)
    while True:
        while parser.take(";"):
            pass
        if parser.tok.kind == t.END:
            break
        first = parser.index
        if not _one(parser, bag, statements):
            unread += _declared(parser, first)
            whole = False
        elif hive.is_hive(statements[-1].tree):
            skipped = hive.skip(parser, statements.pop().span, bag)
            unread += (name for index in skipped for name in _declared(parser, index))
            whole = False
    bag.extend(parser.notes)
    if "{{" in source.text:
        _note_templates(source, lexed, bag)
    return Script(tuple(statements), tuple(_without_echoes(bag, lexed)), tuple(unread), whole)


def _note_templates(source: SourceText, lexed: Lexed, bag: Bag) -> None:
    for token, text in templates(lexed):
        help = "write ${name} for a variable of flinkddl, or have the template's own tool fill it in before"
        bag.note("FD672", f"{text} is plain text here, as in Flink", Span(source, token.start, token.end), help)


def _declared(parser: StatementParser, first: int) -> Iterator[tuple[str, ...]]:
    """Yield the name of the table, view or function that the statement beginning at a token declares."""
    tokens = iter(parser.tokens[first : first + 12])
    if next(tokens).key != "CREATE":
        return
    for token in tokens:
        if token.key in ("TABLE", "VIEW", "FUNCTION"):
            break
    name: list[str] = []
    last = ""
    for token in tokens:
        if token.key in ("IF", "NOT") or (not name and token.text.upper().startswith("EXIST")):
            continue
        if token.key != ".":
            if token.kind not in (t.WORD, t.NAME) or (name and last != "."):
                break
            name.append(token.value)
        last = token.key or ""
    if name:
        yield tuple(name)


def _one(parser: StatementParser, bag: Bag, statements: list[ParsedStatement]) -> bool:
    """Read one statement; return whether it could be read.

    Where a comma is missing it is read again with one, for what else is wrong with it: nothing of it is carried out.
    """
    first, start = parser.index, parser.tok.start
    notes, missing = len(parser.notes), list[Diagnostic]()
    try:
        while (failure := _read(parser, bag, statements)) is not None:
            if failure.comma < 0 or len(missing) == MOST_COMMAS:
                break
            missing.append(failure.diagnostic)
            parser.restart(first, failure.comma)
            del parser.notes[notes:]
        # what is wrong behind a comma may follow from where that was put
        bag.items += missing if failure is None or failure.comma >= 0 else (*missing, failure.diagnostic)[:1]
        if failure is None:
            return True
        _recover(parser, first)
    except RecursionError:
        span = Span(parser.source, start, parser.prev.end)
        bag.error("FD117", "this statement nests too deeply", span, "split it with views")
        _recover(parser, first)
    return False


def _read(parser: StatementParser, bag: Bag, statements: list[ParsedStatement]) -> ParseFailure | None:
    """Read a statement once; return why it could not be read."""
    start = parser.tok.start
    parser.depth = 0
    parser.loose_alias = None
    parser.taken = []
    try:
        tree = parser.statement()
        _check_end(parser, bag)
    except ParseFailure as failure:
        return failure
    statements.append(ParsedStatement(tree, Span(parser.source, start, parser.prev.end), tuple(parser.taken)))
    return None


def _check_end(parser: StatementParser, bag: Bag) -> None:
    """After a statement: a semicolon, the end, or, with one message, the next statement on a new line."""
    token = parser.tok
    if token.kind == t.END or token.key == ";":
        return
    if _starts_line(parser) and token.key in STARTS:
        place = Span(parser.source, parser.prev.end - 1, parser.prev.end)
        bag.error("FD108", "the semicolon after this statement is missing", place, "write ; here")
        return
    if token.key == "END":
        parser.fail(
            "FD113", "END without a statement set", token, "write EXECUTE STATEMENT SET BEGIN before the INSERTs"
        )
    if token.kind == t.HINT:
        parser.fail("FD115", "a hint stands only after SELECT or a table name", token, "move it there")
    parser.fail_expected(*_FOLLOWERS, what="the end of the statement")


MOST_COMMAS = 20
"""So many of a statement are told of: it is read again for each."""
_FOLLOWERS = (*TAIL, "ON", "WITH", "LIKE", "COMMENT")


def _starts_line(parser: StatementParser) -> bool:
    return "\n" in parser.source.text[parser.prev.end : parser.tok.start]


def _recover(parser: StatementParser, first: int) -> None:
    """Go on after a mistake: behind the next semicolon, or at a statement word that begins a line unindented."""
    in_set = _is_set(parser, first)
    if parser.index == first:
        parser.advance()
    while parser.tok.kind != t.END:
        if parser.at(";") and not in_set:
            return
        if in_set and parser.at("END"):
            parser.advance()
            return
        if _begins_statement(parser) and parser.index > first:
            return
        parser.advance()


def _is_set(parser: StatementParser, first: int) -> bool:
    """Whether the statement that begins at ``first`` is a statement set whose END still lies ahead."""
    keys = [parser.tokens[i].key for i in range(first, min(first + 4, len(parser.tokens)))]
    head = keys[1:] if keys[:1] == ["EXECUTE"] else keys
    opened = head[:3] == ["STATEMENT", "SET", "BEGIN"] or keys[:3] == ["BEGIN", "STATEMENT", "SET"]
    return opened and parser.prev.key != "END"


def _begins_statement(parser: StatementParser) -> bool:
    key = parser.tok.key
    if key not in _UNMISTAKABLE or not _starts_line(parser):
        return False
    line = parser.source.text.rfind("\n", 0, parser.tok.start) + 1
    return parser.tok.start == line and parser.peek().kind in (t.WORD, t.NAME)


_UNMISTAKABLE = frozenset({"CREATE", "INSERT", "DROP", "ALTER", "EXECUTE"})


def _without_echoes(bag: Bag, lexed: Lexed) -> list[Diagnostic]:
    """Drop what only follows from a broken token: a second finding inside the same place."""
    faults = {(f.start, f.end) for f in lexed.faults}
    out: list[Diagnostic] = []
    for d in bag:
        where = (d.span.start, d.span.end) if d.span else (-1, -1)
        known = any(a <= where[0] < b for a, b in faults) and d.code not in _FAULTS
        if not known and d not in out:
            out.append(d)
    return out


_FAULTS = frozenset({"FD103", "FD104", "FD106", "FD112"})
