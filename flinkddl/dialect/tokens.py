"""Text to tokens: one regular expression, absolute offsets, every fault collected and none raised.

Source of the rules: the lexical states of Calcite (back-tick quoting): ``''`` is the only escape of a string, ``//``
begins a comment, ``/*+`` a hint, ``U&'..'`` and ``E'..'`` are decoded here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WORD, NAME, STRING, NUMBER, BINARY, SYMBOL, HINT, RAW, DOUBLE_QUOTED, END = range(10)


class Token:
    """A token: its kind, its text, what it is compared by and what it means.

    ``key`` is the upper-case word or the symbol, and empty for everything that is no keyword or symbol; ``value`` the
    decoded text of a string, name or number; ``tokens`` the inside of a hint.
    """

    __slots__ = ("end", "key", "kind", "start", "text", "tokens", "value")

    def __init__(self, kind: int, text: str, key: str, value: str, start: int, end: int) -> None:
        self.kind = kind
        self.text = text
        self.key = key
        self.value = value
        self.start = start
        self.end = end
        self.tokens: list[Token] = []

    def __repr__(self) -> str:
        return f"Token({self.text!r}, {self.start}, {self.end})"


@dataclass(frozen=True)
class Fault:
    """A place where the text is no token."""

    code: str
    message: str
    start: int
    end: int
    help: str | None = None
    name: str = ""


@dataclass
class Lexed:
    """The tokens of a text, ending in an END token; the comments; what was wrong."""

    tokens: list[Token] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


_TOKEN = re.compile(
    r"""
    (?P<space>[\s\ufeff\u200b]+)
  | (?P<comment>--[^\n]*|//[^\n]*|/\*(?!\+)(?:[^*]|\*(?!/))*\*/)
  | (?P<escaped>[eE]'(?:[^'\\]|\\[\s\S]|'')*')
  | (?P<prefixed>(?:[uU]&|[xXnN]|_[A-Za-z][\w-]*)'(?:[^']|'')*')
  | (?P<word>[^\W\d][\w$]*)
  | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<string>'(?:[^']|'')*')
  | (?P<name>`(?:[^`]|``)+`)
  | (?P<double>"(?:[^"]|"")*")
  | (?P<hint>/\*\+(?:[^*]|\*(?!/))*\*/)
  | (?P<symbol>=>|->|\|\||<>|!=|<=|>=|==|[][(){},;.+\-*/%=<>?:^|&~!@$])
    """,
    re.VERBOSE,
)
_SET_RAW = re.compile(r"(\s+)([^\s'=;`]+)(\s*=[ \t]*)([^;\n]*)")
_RESET_RAW = re.compile(r"(\s+)([^\s'=;`]+)(?=\s*(?:;|--|$))")
_OPENERS = frozenset({";", "BEGIN"})


def lex(text: str, base: int = 0) -> Lexed:
    """Split a text into tokens; offsets count from ``base``."""
    out = Lexed()
    at, size = 0, len(text)
    match = _TOKEN.match
    tokens = out.tokens
    while at < size:
        found = match(text, at)
        if found is None or (found.lastgroup == "symbol" and text.startswith("/*", at)):
            at = _broken(text, at, base, out)
            continue
        kind, end = found.lastgroup, found.end()
        if kind == "word":
            word = found.group()
            token = Token(WORD, word, word.upper(), word, base + at, base + end)
            opening = not tokens or tokens[-1].key in _OPENERS
            tokens.append(token)
            if opening and token.key in _RAW:
                end = _raw(text, end, base, token.key, tokens)
        elif kind == "symbol":
            symbol = found.group()
            tokens.append(Token(SYMBOL, symbol, symbol, symbol, base + at, base + end))
        elif kind == "comment":
            out.comments.append((base + at, base + end))
        elif kind != "space":
            tokens.append(_token(str(kind), found.group(), base + at, base + end, out))
        at = end
    tokens.append(Token(END, "", "", "", base + size, base + size))
    return out


def shift(lexed: Lexed, starts: list[int], places: list[tuple[int, int, int]]) -> None:
    """Move all offsets from a substituted text back into the original.

    ``starts`` are offsets in the substituted text where a piece begins, ``places`` for each piece (offset in the
    original, length there, 1 when the piece is a value put in: then every offset inside means the whole variable).
    """

    def back(offset: int, is_end: bool) -> int:
        i = bisect_right(starts, offset - 1 if is_end else offset) - 1
        origin, length, inserted = places[max(i, 0)]
        if inserted:
            return origin + length if is_end else origin
        return origin + offset - starts[max(i, 0)]

    for token in _all(lexed.tokens):
        token.start, token.end = back(token.start, False), back(token.end, True)
    lexed.comments = [(back(a, False), back(b, True)) for a, b in lexed.comments]
    lexed.faults = [replace(f, start=back(f.start, False), end=back(f.end, True)) for f in lexed.faults]


def _all(tokens: list[Token]) -> list[Token]:
    return tokens + [inner for t in tokens for inner in t.tokens]


def _raw(text: str, at: int, base: int, key: str, tokens: list[Token]) -> int:
    """Take an unquoted ``SET k = v`` or ``RESET k`` whose value holds any characters. Returns the new offset."""
    found = _RAW[key].match(text, at)
    if found is None:
        return at
    start, end = base + found.start(2), base + found.end(2)
    tokens.append(Token(RAW, found[2], "", found[2], start, end))
    if key == "RESET":
        return found.end()
    equals = found.start(3) + found[3].index("=")
    tokens.append(Token(SYMBOL, "=", "=", "=", base + equals, base + equals + 1))
    value = re.split(r"\s--|\s/\*", " " + found[4], maxsplit=1)[0][1:].rstrip()
    if value.startswith("'") and value.endswith("'") and len(value) > 1:
        return found.start(4)
    start = found.start(4)
    tokens.append(Token(RAW, value, "", value, base + start, base + start + len(value)))
    return start + len(value)


_RAW = {"SET": _SET_RAW, "RESET": _RESET_RAW}


def _hint(text: str, start: int, end: int, out: Lexed) -> Token:
    token = Token(HINT, text, "/*+", text, start, end)
    inner = lex(text[3:-2], start + 3)
    token.tokens = inner.tokens
    out.faults.extend(inner.faults)
    return token


def _prefixed(text: str, start: int, end: int, out: Lexed) -> Token:
    prefix, _, rest = text.partition("'")
    value = rest[:-1].replace("''", "'")
    if prefix not in "xX":  # after U& UESCAPE may follow and change the escape character: the parser decodes it
        return Token(STRING, text, "", value, start, end)
    if not re.fullmatch(r"(?:[0-9A-Fa-f]{2})*", value):
        message = f"the binary literal {text} is not made of pairs of hexadecimal digits"
        out.faults.append(Fault("FD112", message, start, end))
    return Token(BINARY, text, "", value.upper(), start, end)


_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|([\s\S]))|''")


def _unescaped(text: str) -> str:
    def decode(m: re.Match[str]) -> str:
        if m[0] == "''":
            return "'"
        for group in (1, 2, 3):
            if m[group]:
                return _character(int(m[group], 16))
        if m[4]:
            return _character(int(m[4], 8))
        return _SIMPLE_ESCAPES.get(m[5], m[5])

    return _ESCAPE.sub(decode, text[2:-1])


def _character(point: int) -> str:
    return chr(point) if point < 0x110000 else "\ufffd"


def decode_unicode(value: str, escape: str) -> str | None:
    """Decode the inside of ``U&'..'``: ``\\XXXX`` and ``\\+XXXXXX``. Returns None when an escape is malformed."""
    e = re.escape(escape)
    pattern = re.compile(rf"{e}(?:({e})|([0-9A-Fa-f]{{4}})|\+([0-9A-Fa-f]{{6}})|())")
    bad = False

    def decode(m: re.Match[str]) -> str:
        nonlocal bad
        if m[1]:
            return escape
        if m[2] or m[3]:
            return _character(int(m[2] or m[3], 16))
        bad = True
        return ""

    out = pattern.sub(decode, value)
    return None if bad else out


_PLAIN: Mapping[str, tuple[int, Callable[[str], str]]] = {
    "string": (STRING, lambda text: text[1:-1].replace("''", "'")),
    "name": (NAME, lambda text: text[1:-1].replace("``", "`")),
    "number": (NUMBER, lambda text: text),
    "double": (DOUBLE_QUOTED, lambda text: text[1:-1]),
    "escaped": (STRING, _unescaped),
}


def _token(group: str, text: str, start: int, end: int, out: Lexed) -> Token:
    if group in _PLAIN:
        kind, value = _PLAIN[group]
        return Token(kind, text, "", value(text), start, end)
    return (_hint if group == "hint" else _prefixed)(text, start, end, out)


_UNCLOSED = {
    "'": "this string is never closed",
    "`": "this quoted name is never closed",
    '"': "this quotation mark is never closed",
    "/": "this comment is never closed",
}
_LOOKALIKES = dict(zip("‘’“”，；（）｀＝＇", "'''',;()`='", strict=True))


def _broken(text: str, at: int, base: int, out: Lexed) -> int:
    """Note what stands at ``at`` and is no token; return where to go on."""
    char = text[at]
    if char in _UNCLOSED:
        return _unclosed(text, at, base, char, out)
    help = f"write {_LOOKALIKES[char]}" if char in _LOOKALIKES else None
    out.faults.append(
        Fault("FD104", f"the character '{char}' does not belong to Flink SQL", base + at, base + at + 1, help)
    )
    return at + 1


def _unclosed(text: str, at: int, base: int, char: str, out: Lexed) -> int:
    if char == "`" and text.startswith("``", at):
        out.faults.append(Fault("FD103", "a quoted name must not be empty", base + at, base + at + 2))
        return at + 2
    # The rest of the line belongs to it; what follows is read on, so that later mistakes are still found.
    end = len(text) if char == "/" else text.find("\n", at)
    end = len(text) if end < 0 else end
    line = text[at:end].rstrip()
    if char in "'`":
        line = line.rstrip(";") if line.endswith(";") else line
        kind = STRING if char == "'" else NAME
        out.tokens.append(Token(kind, line, "", line[1:], base + at, base + at + len(line)))
    closing = "*/" if char == "/" else char
    out.faults.append(
        Fault("FD103", _UNCLOSED[char], base + at, base + at + max(len(line), 1), f"close it with {closing}")
    )
    return at + max(len(line), 1)
