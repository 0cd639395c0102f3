"""The reading head over a list of tokens: looking, taking, marking places, and failing with a good sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn, TypeVar

from sqlglot import exp

from flinkddl.diagnostics import Diagnostic, SourceText, Span, suggest, taken
from flinkddl.dialect import tokens as t
from flinkddl.dialect.nodes import Node, Option
from flinkddl.dialect.tokens import Token
from flinkddl.dialect.words import LENIENT, RESERVED, STRICT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

N = TypeVar("N", bound=exp.Expression)
T = TypeVar("T")

MAX_DEPTH = 100
"""How deep expressions, types and queries may nest."""

PLAIN_NAME = re.compile(r"[^\W\d][\w$]*")


class ParseFailure(Exception):
    """Ends the reading of one statement; the script parser catches it and goes on with the next.

    ``comma``: the index of the token before which a comma of a SELECT list or of VALUES may be missing, -1 for none.
    """

    def __init__(self, diagnostic: Diagnostic, comma: int = -1) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic
        self.comma = comma


class Cursor:
    """Base of the parser: ``tok`` is the token looked at, ``prev`` the one taken last."""

    def __init__(self, source: SourceText, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.index = 0
        self.tok = tokens[0]
        self.prev = tokens[0]
        self.depth = 0
        self.loose_alias: Token | None = None
        self.list_end = -1
        self.notes: list[Diagnostic] = []
        self.taken: list[Diagnostic] = []

    # ---- moving --------------------------------------------------------------------------------------------------

    def advance(self) -> Token:
        """Take the current token."""
        taken = self.prev = self.tok
        if taken.kind != t.END:
            self.index += 1
            self.tok = self.tokens[self.index]
        return taken

    def peek(self, n: int = 1) -> Token:
        """Return the token ``n`` places ahead."""
        return self.tokens[min(self.index + n, len(self.tokens) - 1)]

    def at(self, *keys: str) -> bool:
        """Whether the next tokens are these keywords or symbols."""
        if self.tok.key != keys[0]:
            return False
        return all(self.peek(i).key == key for i, key in enumerate(keys[1:], 1))

    def take(self, *keys: str) -> bool:
        """Take these keywords or symbols when they come next."""
        if not self.at(*keys):
            return False
        for _ in keys:
            self.advance()
        return True

    def take_one(self, keys: Iterable[str]) -> str | None:
        """Take one of several keywords; return it in upper case."""
        return self.advance().key if self.tok.key and self.tok.key in keys else None

    def need(self, *keys: str) -> Token:
        """Take these keywords or symbols, or fail."""
        for key in keys:
            if self.tok.key != key:
                self.fail_expected(key)
            self.advance()
        return self.prev

    def need_one(self, keys: Iterable[str], what: str | None = None) -> str:
        """Take one of several keywords, or fail."""
        names = tuple(keys)
        return self.take_one(names) or self.fail_expected(*names, what=what)

    # ---- marking -------------------------------------------------------------------------------------------------

    def mark(self, node: N, start: int) -> N:
        """Note that ``node`` reaches from ``start`` to the end of the token taken last."""
        end = self.prev.end
        node._meta = {"start": start, "end": end if isinstance(node, Node) else end - 1}
        return node

    def place(self, node: N, token: Token) -> N:
        """Note that ``node`` is ``token``."""
        node._meta = {"start": token.start, "end": token.end if isinstance(node, Node) else token.end - 1}
        return node

    def span(self, token: Token) -> Span:
        """The range of a token; at the end of the text, the last character before it."""
        if token.kind == t.END or token.start == token.end:
            return Span(self.source, self.prev.end - 1 if self.prev.end else 0, self.prev.end)
        return Span(self.source, token.start, token.end)

    # ---- failing -------------------------------------------------------------------------------------------------

    def fail(self, code: str, message: str, at: Token | Span | None = None, help: str | None = None) -> NoReturn:
        """Give up the statement."""
        span = at if isinstance(at, Span) else self.span(at or self.tok)
        raise ParseFailure(Diagnostic(code, message, span, help))

    def restart(self, first: int, comma: int) -> None:
        """Go back to a token, with a comma put in before another one."""
        end = self.tokens[comma - 1].end
        self.tokens.insert(comma, Token(t.SYMBOL, ",", ",", "", end, end))
        self.index, self.tok, self.list_end = first, self.tokens[first], -1

    def take_note(self, what: str, at: Token | Span, help: str, fix: str | None = None) -> None:
        """Note that Flink 2.3 refuses what stands at a place, which is taken; ``fix`` is what to write there."""
        span = at if isinstance(at, Span) else self.span(at)
        as_written = span.text == at.text  # else it came out of a variable
        self.taken.append(taken(what, span, help, fix if as_written else None))

    def found(self, token: Token | None = None) -> str:
        """What stands at a token, for messages."""
        token = token or self.tok
        if token.kind == t.END:
            return "the end of the text"
        if token.key == ";":
            return "the end of the statement"
        if token.kind == t.STRING:
            return "a string"
        text = token.text if len(token.text) <= 40 else token.text[:37] + "..."
        return f"'{text}'"

    def fail_expected(self, *keys: str, what: str | None = None, code: str = "FD102") -> NoReturn:
        """Fail because none of ``keys`` came next; ``what`` names the thing when the list is long."""
        if self.tok.kind == t.DOUBLE_QUOTED:
            self.fail_double_quoted()
        expected = what or _list_of([k if k.isalpha() or "_" in k else f"'{k}'" for k in keys])
        comma = self._comma_missing()
        help = self._before(comma) if comma >= 0 else None
        loose = self.loose_alias
        meant = near(loose.text, [*keys, *_CLAUSES]) if help is None and loose and self.prev is loose else None
        if loose is not None and meant is not None:
            self.fail("FD102", f"'{loose.text}' is not expected here", loose, f"did you mean '{meant}'?")
        words = [k for k in keys if k[0].isalpha()]
        if help is None and self.tok.kind == t.WORD and (meant := near(self.tok.text, words)):
            help = f"did you mean '{meant}'?"
        another = self.tok.kind in (t.STRING, t.NUMBER) or (self.is_name() and self.peek().kind == t.WORD)
        if help is None and "," in keys and another:
            help = COMMA
        raise ParseFailure(
            Diagnostic(code, f"expected {expected}, found {self.found()}", self.span(self.tok), help), comma
        )

    def _before(self, comma: int) -> str:
        return COMMA if comma == self.index else f"is the comma before '{self.tokens[comma].text}' missing?"

    def _comma_missing(self) -> int:
        """Return before which token a SELECT list or VALUES (``list_end``) goes on without a comma, else -1."""
        if self.index != self.list_end:
            return -1
        if self.prev.key == ")" and self.at("("):
            return self.index
        if not self._from_follows():
            return -1
        if self.loose_alias is not None and self.prev is self.loose_alias and self.tok.key in _GOES_ON:
            return self.index - 1
        begins = self.is_name() or self.tok.kind in (t.STRING, t.NUMBER) or self.tok.key in _BEGINS
        return self.index if begins else -1

    def _from_follows(self) -> bool:
        """Whether the FROM of the SELECT that is being read lies ahead."""
        depth = 0
        for token in self.tokens[self.index :]:
            depth += {"(": 1, ")": -1}.get(token.key, 0)
            if depth == 0 and token.key in ("FROM", "SELECT", ";"):
                return token.key == "FROM"
            if depth < 0:
                break
        return False

    def fail_double_quoted(self) -> NoReturn:
        """Fail at a double-quoted text: no quoting in Flink SQL."""
        self.fail(
            "FD105",
            f"double quotes are no quoting in Flink SQL: {self.tok.text}",
            help=f"write `{self.tok.value}` for a name or '{self.tok.value}' for a text",
        )

    # ---- small parts ---------------------------------------------------------------------------------------------

    def is_name(self, token: Token | None = None) -> bool:
        """Whether a token can be a bare or quoted name."""
        token = token or self.tok
        return token.kind == t.NAME or (token.kind == t.WORD and token.key not in STRICT)

    def identifier(self, what: str = "a name", after_dot: bool = False) -> exp.Identifier:
        """Take a name. After a dot every word is one."""
        token = self.tok
        if token.kind == t.WORD:
            if token.key in STRICT and not after_dot:
                self.fail(
                    "FD107",
                    f"'{token.text}' is a reserved word and no name, expected {what}",
                    help=f"put it in back-ticks: `{token.text}`",
                )
        elif token.kind != t.NAME:
            self.fail_expected(what=what)
        self.advance()
        quoted = token.kind == t.NAME
        if not quoted and token.key in RESERVED:
            # A reserved word that we take bare is a quoted name from here on: so it prints as Flink reads it.
            quoted, name = True, f"`{token.text}`"
            self.take_note(f"'{token.text}' is a reserved word and no bare name", token, f"write {name}", name)
        return self.place(exp.Identifier(this=token.value, quoted=quoted), token)

    def string(self, what: str = "a string") -> exp.Literal:
        """Take a string literal; pieces on separate lines are one."""
        token = self.tok
        if token.kind != t.STRING:
            if token.kind in (t.WORD, t.NUMBER, t.DOUBLE_QUOTED, t.RAW) and token.text:
                self.fail(
                    "FD114" if token.kind != t.DOUBLE_QUOTED else "FD105",
                    f"expected {what} in single quotes, found {self.found()}",
                    help=f"write '{token.value}'",
                )
            self.fail_expected(what=what)
        self.advance()
        value = token.value
        if token.text[0] in "uU" and token.text[1:2] == "&":
            value = self._unicode(token)
        while self.tok.kind == t.STRING and "\n" in self.source.text[self.prev.end : self.tok.start]:
            value += self.advance().value
        return self.mark(exp.Literal(this=value, is_string=True), token.start)

    def _unicode(self, token: Token) -> str:
        escape = "\\"
        if self.take("UESCAPE"):
            escape = self.advance().value
        value = t.decode_unicode(token.value, escape) if len(escape) == 1 else None
        if value is None:
            self.fail("FD112", f"the unicode escapes of {token.text} are malformed", token, r"write U&'\00E9'")
        return value

    def number(self, what: str = "a number") -> int:
        """Take a whole number."""
        if self.tok.kind != t.NUMBER or not self.tok.text.isdigit():
            self.fail_expected(what=what)
        return int(self.advance().text)

    def comma_list(self, item: Callable[[], T], close: str = ")") -> list[T]:
        """Read ``item, item, ... )``; the opening parenthesis is taken already."""
        out = [item()]
        while self.take(","):
            if self.at(close):
                self.fail("FD102", f"a comma before '{close}' is one too many", self.prev, "remove it")
            out.append(item())
        if not self.take(close):
            self.fail_expected(",", close)
        return out

    def several(self, item: Callable[[], T]) -> list[T]:
        """Read ``item, item, ...``: one, and another behind each comma."""
        out = [item()]
        while self.take(","):
            out.append(item())
        return out

    def names(self) -> list[exp.Identifier]:
        """Read ``(a, b, ...)``."""
        self.need("(")
        return self.comma_list(lambda: self.identifier("a column name"))

    def dotted(self, node: exp.Expression, start: int, what: str = "a field name") -> exp.Expression:
        """Take what follows a name by dots: ``a.b.c`` is an exp.Dot of ``a.b`` and ``c``."""
        while self.take("."):
            node = self.mark(exp.Dot(this=node, expression=self.identifier(what, after_dot=True)), start)
        return node

    def nested(self, what: str = "a column name") -> exp.Expression:
        """Read the name of a column, or of a field in it."""
        start = self.tok.start
        return self.dotted(self.identifier(what), start)

    def table_name(self, what: str = "a table name") -> exp.Table:
        """``table_name``: ``[[catalog.]database.]name``."""
        start = self.tok.start
        parts = [self.identifier(what)]
        while self.at(".") and len(parts) < 3:
            self.advance()
            parts.append(self.identifier(what, after_dot=True))
        names = dict(zip(("this", "db", "catalog"), reversed(parts), strict=False))
        return self.mark(exp.Table(**names), start)

    def simple_table(self, what: str) -> exp.Table:
        """Read a one-part name as an exp.Table."""
        start = self.tok.start
        return self.mark(exp.Table(this=self.identifier(what)), start)

    def options(self) -> list[Option]:
        """Read ``('k' = 'v', ...)``, also empty and with leading commas at line starts."""
        self.need("(")
        if self.take(")"):
            return []
        return self.comma_list(self.option)

    def option(self) -> Option:
        """Read ``'k' = 'v'``."""
        start = self.tok.start
        key = self.string("an option key")
        self.need("=")
        value = self.string("an option value")
        if self.at("="):  # two strings side by side are one, as everywhere
            self.fail("FD102", f"expected ',', found {self.prev.text}", self.prev, COMMA)
        return self.mark(Option(this=key, expression=value), start)


COMMA = "is the comma before it missing?"
_GOES_ON = frozenset({"(", "[", ".", "+", "-", "*", "/", "%", "||", "=", "<>", "<", ">", "<=", ">="})
"""What goes on with a name that was taken for an alias."""
_BEGINS = frozenset(
    {"CASE", "CAST", "TRY_CAST", "COALESCE", "NOT", "INTERVAL", "NULL", "TRUE", "FALSE", "ARRAY", "ROW"}
)
"""Reserved words that begin an expression, as far as they are met in a SELECT list."""
_CLAUSES = (
    *("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "FETCH", "WINDOW", "QUALIFY", "UNION"),
    *("INTERSECT", "EXCEPT", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "ON", "USING", "AS", "WITH", "FOR"),
)


def is_bare_alias(token: Token) -> bool:
    """Whether a token may be an alias without AS."""
    return token.kind == t.NAME or (token.kind == t.WORD and (token.key not in RESERVED or token.key in LENIENT))


def near(word: str, keys: list[str]) -> str | None:
    """Return the keyword meant: first one with the same letters (FORM for FROM), else the nearest."""
    letters = sorted(word.upper())
    return next((k for k in keys if sorted(k) == letters and k != word.upper()), None) or suggest(word, keys)


def _list_of(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"
