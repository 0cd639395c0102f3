"""``${name}`` and ``{{name}}`` in scripts: replaced from given variables and the environment, places kept.

``${name:-default}`` has a default. Comments are left alone. A variable stands for text, also inside a string.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from flinkddl.diagnostics import did_you_mean
from flinkddl.dialect.tokens import Fault, Lexed, lex, shift

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLE = r"\$\{\s*(?P<a>[A-Za-z_][\w.-]*?)\s*(?::-(?P<default>[^}]*))?\}|\{\{\s*(?P<b>[A-Za-z_][\w.-]*)\s*\}\}"
_PIECE = re.compile(rf"--[^\n]*|//[^\n]*|/\*(?!\+)[\s\S]*?\*/|{_VARIABLE}|'(?:[^'])*'|`[^`]*`")
_INNER = re.compile(_VARIABLE)


def lex_script(text: str, variables: Mapping[str, str] | None = None) -> Lexed:
    """Replace the variables of a script and split it into tokens whose offsets point into the text as given."""
    if "${" not in text and "{{" not in text:
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

    for found in _variables(text):
        put(text[at : found.start()], at, found.start() - at, 0)
        put(_value(found, known, faults, variables or {}), found.start(), found.end() - found.start(), 1)
        at = found.end()
    put(text[at:], at, len(text) - at, 0)
    put(" ", len(text), 0, 1)
    lexed = lex("".join(pieces))
    shift(lexed, starts, places)
    lexed.faults.extend(faults)
    return lexed


def _variables(text: str) -> list[re.Match[str]]:
    out: list[re.Match[str]] = []
    for found in _PIECE.finditer(text):
        first = found.group()[0]
        if first in "'`":
            out.extend(_INNER.finditer(text, found.start(), found.end()))
        elif first in "${":
            out.append(found)
    return out


def _value(found: re.Match[str], known: Mapping[str, str], faults: list[Fault], given: Mapping[str, str]) -> str:
    name = found["a"] or found["b"]
    value: str | None = known.get(name) if name in known else found["default"]
    if value is None:
        help = did_you_mean(name, given) or f"give it with -D {name}=value or set it in the environment"
        faults.append(Fault("FD106", f"the variable '{name}' is not defined", found.start(), found.end(), help))
        # A name keeps the statement readable inside and outside of quotes.
        return "undefined_variable"
    return value
