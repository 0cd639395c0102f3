"""The sqlglot dialect ``flink``: ``sqlglot.transpile(sql, read="flink", write="spark")``.

Reading goes through our own parser; sqlglot's tokens are not used. Importing this module also teaches the generators of
all other dialects to print the nodes that only Flink has (``portable``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokens import Tokenizer

from flinkddl.diagnostics import SourceText
from flinkddl.dialect import portable
from flinkddl.dialect import tokens as t
from flinkddl.dialect.cursor import ParseFailure
from flinkddl.dialect.generator import FlinkGenerator
from flinkddl.dialect.parse_session import StatementParser
from flinkddl.dialect.script import Script, compiled, parse_script

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from flinkddl.diagnostics import Diagnostic


class FlinkTokenizer(Tokenizer):
    """Quoting of Flink SQL, for sqlglot's own use; the parser has its own lexer."""

    IDENTIFIERS = ["`"]
    STRING_ESCAPES = ["'"]
    COMMENTS = ["--", "//", ("/*", "*/")]


_STATEMENT_STARTS = frozenset({"SELECT", "WITH", "INSERT", "CREATE", "DROP", "ALTER", "("})


def _anything(parser: StatementParser) -> exp.Expression:
    return parser.statement() if parser.tok.key in _STATEMENT_STARTS else parser.select_item()


_INTO: dict[str, Callable[[StatementParser], exp.Expression]] = {
    "DataType": StatementParser.type_,
    "Table": lambda p: p.from_item(),
    "Identifier": StatementParser.identifier,
    "Column": StatementParser.expression,
    "Condition": StatementParser.expression,
    "Expression": _anything,
    "Expr": _anything,
}


class FlinkParser(Parser):
    """Hands the text to our parser."""

    def parse(self, raw_tokens: Any, sql: str | None = None) -> list[exp.Expr | None]:
        """Return the trees of a script; raise sqlglot's ParseError with all our findings."""
        text = sql or ""
        script = parse_script(SourceText("<sql>", text))
        bare = self._bare(script, text) if script.diagnostics else None
        if script.diagnostics and bare is None:
            self._raise(script.diagnostics)
        return [bare] if bare is not None else [s.tree for s in script.statements]

    def _bare(self, script: Script, text: str) -> exp.Expression | None:
        """sqlglot reads a bare expression where a statement is expected; so do we."""
        if [d.code for d in script.diagnostics] != ["FD101"] or script.statements:
            return None
        try:
            return _whole(text, StatementParser.select_item)
        except ParseFailure:
            return None

    def parse_into(self, expression_types: Any, raw_tokens: Any, sql: str | None = None) -> list[exp.Expr | None]:
        """Return one tree of a wanted kind."""
        kinds = expression_types if isinstance(expression_types, list | tuple) else [expression_types]
        name = kinds[0] if isinstance(kinds[0], str) else kinds[0].__name__
        read = _INTO.get(name)
        if read is None:
            return self.parse(raw_tokens, sql)
        try:
            return [_whole(sql or "", read)]
        except ParseFailure as failure:
            self._raise((failure.diagnostic,))
        return []

    def _raise(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        if self.error_level == ErrorLevel.IGNORE:
            return
        errors = []
        for d in diagnostics:
            line, column = d.span.position if d.span else (None, None)
            errors.append({"description": d.message, "line": line, "col": column, "highlight": d.span and d.span.text})
        message = "\n".join(f"{d.span}: {d.message}" for d in diagnostics)
        raise ParseError(message, errors)


def _whole(text: str, read: Callable[[StatementParser], exp.Expression]) -> exp.Expression:
    parser = StatementParser(SourceText("<sql>", text), t.lex(text).tokens)
    node = read(parser)
    if parser.tok.kind != t.END:
        parser.fail_expected(what="the end of the text")
    if parser.notes:
        raise ParseFailure(parser.notes[0])
    return node


class Flink(Dialect):
    """Flink SQL 2.x for sqlglot."""

    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_SENSITIVE
    NULL_ORDERING = "nulls_are_small"
    INDEX_OFFSET = 1
    TYPED_DIVISION = True
    STRINGS_SUPPORT_ESCAPED_SEQUENCES = False

    Tokenizer = FlinkTokenizer
    Parser = FlinkParser
    Generator = FlinkGenerator

    def __init__(self, *args: Any, **settings: Any) -> None:
        if unusable := compiled():
            raise SqlglotError(f"{unusable.code}: {unusable.message}; {unusable.help}")
        super().__init__(*args, **settings)


portable.install(FlinkGenerator)
