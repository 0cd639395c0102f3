"""Where statements end in a text that is still being typed or read."""

from __future__ import annotations

from dataclasses import dataclass

from flinkddl.dialect import tokens as t
from flinkddl.dialect.tokens import lex

CLIENT_WORDS = frozenset({"QUIT", "EXIT", "HELP", "CLEAR", "\\X"})
"""Commands of the client, which need no semicolon."""


@dataclass(frozen=True)
class Pieces:
    """Whole statements, and what follows the last of them; ``blank`` says that nothing but comments does."""

    statements: tuple[str, ...]
    rest: str
    blank: bool


def split(text: str) -> Pieces:
    """Cut a text into statements. A semicolon inside a statement set, a string or a comment ends none."""
    lexed = lex(text)
    unclosed = min((f.start for f in lexed.faults if f.code == "FD103"), default=len(text))
    statements: list[str] = []
    words: list[str] = []
    begun = last = 0
    for token in lexed.tokens:
        if token.kind == t.END or token.start >= unclosed:
            break
        if token.key == ";" and not _in_set(words):
            statements.append(text[begun : token.end].strip())
            begun, words = token.end, []
        else:
            words.append(token.key)
        last = token.end
    rest = text[begun:]
    blank = last <= begun and unclosed == len(text)
    return Pieces(tuple(s for s in statements if s.strip("; \n")), rest, blank)


def _in_set(words: list[str]) -> bool:
    """Whether these words have opened a statement set that is not closed: its INSERTs end in semicolons."""
    opened = next((i + 3 for i in range(6) if words[i : i + 3] in (_OPEN, _OPEN_OLD)), None)
    if opened is None:
        return False
    cases = sum(w == "CASE" for w in words[opened:])
    return words[opened:].count("END") <= cases


_OPEN = ["STATEMENT", "SET", "BEGIN"]
_OPEN_OLD = ["BEGIN", "STATEMENT", "SET"]


def is_client_word(text: str) -> bool:
    """Whether a text is one of the client's own commands, with or without its semicolon."""
    return text.strip().rstrip(";").strip().upper() in CLIENT_WORDS


def is_complete(text: str) -> bool:
    """Whether Enter runs what is typed: it ends with a statement's semicolon, or is a command of the client.

    An empty last line runs it too, so that a quotation mark that was forgotten does not hold the prompt for ever.
    """
    if not text.strip() or is_client_word(text):
        return True
    pieces = split(text)
    if pieces.statements and pieces.blank:
        return True
    return "\n" in text and not text.rpartition("\n")[2].strip() and "'" in pieces.rest
