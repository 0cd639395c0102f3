"""Flink SQL for Pygments, by the project's own tokens: the prompt, notebooks and pages colour the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pygments.lexer import Lexer
from pygments.token import Comment, Error, Keyword, Literal, Name, Number, Operator, Punctuation, String, Text

from flinkddl.dialect import tokens as t
from flinkddl.dialect.words import RESERVED, STATEMENTS
from flinkddl.functions.catalogue import AGGREGATES, FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.dialect.tokens import Token

TYPES = frozenset({"ARRAY", "BIGINT", "BINARY", "BOOLEAN", "BYTES", "CHAR", "DATE", "DECIMAL", "DOUBLE", "FLOAT"})
TYPES |= {"INT", "INTEGER", "INTERVAL", "MAP", "MULTISET", "NUMERIC", "ROW", "SMALLINT", "STRING", "TIME", "TIMESTAMP"}
TYPES |= {"TIMESTAMP_LTZ", "TINYINT", "VARBINARY", "VARCHAR", "VARIANT"}
_KEYWORDS = (
    RESERVED | frozenset(STATEMENTS) | {"CATALOG", "CHANGELOG_MODE", "DATABASE", "ENFORCED", "IF", "JOB", "JOBS"}
)
_KEYWORDS |= {"JOBS", "KEY", "METADATA", "OVERWRITE", "TEMPORARY", "VIEW", "VIRTUAL"}
_PUNCTUATION = frozenset("()[]{},;.")
_KINDS: dict[int, Any] = {
    t.NAME: Name.Variable,
    t.STRING: String.Single,
    t.NUMBER: Number,
    t.BINARY: Literal,
    t.HINT: Comment.Special,
    t.RAW: String.Other,
    t.DOUBLE_QUOTED: Error,
}


class FlinkSqlLexer(Lexer):  # type: ignore[misc]
    """Colours Flink SQL; what is no token is an error, everything keeps its place."""

    name = "Flink SQL"
    aliases = ("flinksql",)
    filenames = ()

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Yield place, kind and text of each piece, spaces and comments included."""
        lexed = t.lex(text)
        pieces = [(a, b, Comment) for a, b in lexed.comments]
        pieces += [(f.start, f.end, Error) for f in lexed.faults if f.code == "FD104"]
        following = [*lexed.tokens[1:], lexed.tokens[-1]]
        pieces += [
            (token.start, token.end, _kind(token, after.key))
            for token, after in zip(lexed.tokens, following, strict=True)
            if token.kind != t.END
        ]
        at = 0
        for start, end, kind in sorted(pieces, key=lambda p: p[:2]):
            if start < at:
                continue
            if start > at:
                yield at, Text, text[at:start]
            yield start, kind, text[start:end]
            at = end
        if at < len(text):
            yield at, Text, text[at:]


def _kind(token: Token, after: str) -> Any:
    if token.kind == t.SYMBOL:
        return Punctuation if token.key in _PUNCTUATION else Operator
    if token.kind != t.WORD:
        return _KINDS[token.kind]
    if after == "(" and (token.key in FUNCTIONS or token.key in AGGREGATES):
        return Name.Function
    if token.key in TYPES:
        return Keyword.Type
    return Keyword if token.key in _KEYWORDS else Name
