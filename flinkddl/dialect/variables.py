"""``${name}`` in scripts: replaced from given variables and the environment, places kept.

``${name:-default}`` has a default. Comments are left alone. A variable stands for text, also inside a string.
``{{name}}`` and ``{{secret:..}}`` of templates are text, as they are to Flink; a note says so.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from flinkddl.diagnostics import did_you_mean
from flinkddl.dialect.tokens import NAME, STRING, Fault, Lexed, lex, shift

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flinkddl.dialect.tokens import Token

_VARIABLE = r"\$\{\s*(?P<name>[A-Za-z_][\w.-]*?)\s*(?::-(?P<default>[^}]*))?\}"
_TEMPLATE = re.compile(r"\{\{\s*[A-Za-z_][\w.:/-]*\s*\}\}")
_PIECE = re.compile(rf"--[^\n]*|//[^\n]*|/\*(?!\+)[\s\S]*?\*/|{_VARIABLE}|'(?:[^'])*'|`[^`]*`")
VARIABLE = re.compile(_VARIABLE)
"""One reference: its ``name``, and its ``default`` where it has one."""


def lex_script(text: str, variables: Mapping[str, str] | None = None) -> Lexed:
    """Replace the variables of a script and split it into tokens whose offsets point into the text as given."""
    if "${" not in text:
        return lex(text)
    known: dict[str, str] = {**os.environ, **(variables or {})}
    pieces: list[str] = []
    starts: list[int] = []
    places: list[tuple[int, int, int]] = []
    faults: list[Fault] = []
    length = at = 0

    def put(piece: str, origin: int, size: int, inserted: int) -> None:
        nonlocal length
        if piece:
            pieces.append(piece)
            starts.append(length)
            places.append((origin, size, inserted))
            length += len(piece)

    for found in variables_of(text):
        put(text[at : found.start()], at, found.start() - at, 0)
        put(_value(found, known, faults, variables or {}), found.start(), found.end() - found.start(), 1)
        at = found.end()
    put(text[at:], at, len(text) - at, 0)
    put(" ", len(text), 0, 1)
    lexed = lex("".join(pieces))
    shift(lexed, starts, places)
    lexed.faults.extend(faults)
    return lexed


def templates(lexed: Lexed) -> Iterator[tuple[Token, str]]:
    """Yield each token that holds ``{{name}}`` in quotes, or begins one outside, and that text."""
    for token, after in pairwise(lexed.tokens):
        if token.kind in (STRING, NAME) and (found := _TEMPLATE.search(token.text)):
            yield token, found.group()
        elif token.key == after.key == "{" and token.end == after.start:
            yield token, "{{"


def variables_of(text: str) -> list[re.Match[str]]:
    """Return the references of a script outside its comments, in their order."""
    out: list[re.Match[str]] = []
    for found in _PIECE.finditer(text):
        first = found.group()[0]
        if first in "'`":
            out.extend(VARIABLE.finditer(text, found.start(), found.end()))
        elif first == "$":
            out.append(found)
    return out


def _value(found: re.Match[str], known: Mapping[str, str], faults: list[Fault], given: Mapping[str, str]) -> str:
    name = found["name"]
    value: str | None = known.get(name) if name in known else found["default"]
    if value is None:
        help = did_you_mean(name, given) or f"give it with -D {name}=value or set it in the environment"
        faults.append(Fault("FD106", f"the variable '{name}' is not defined", found.start(), found.end(), help, name))
        # A name keeps the statement readable inside and outside of quotes.
        return "undefined_variable"
    return value
