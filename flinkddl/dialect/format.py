"""Canonical layout of scripts: the tokens stay as they are, the space between them and the case of keywords change.

Comments are kept where they stood. Works on tokens, so nothing of a script can get lost. ``fix`` also writes what
Flink 2.3 takes in the place of what only we take (FD477), where that is a text for a text.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.deep import deep
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.dialect import tokens as t
from flinkddl.dialect.script import parse_tokens
from flinkddl.dialect.variables import lex_script, variables_of
from flinkddl.dialect.words import RESERVED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.dialect.script import Script

_CLAUSES = frozenset(
    {
        *("FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "FETCH"),
        *("UNION", "EXCEPT", "INTERSECT"),
    }
)
_JOINS = frozenset({"JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL"})
_BEFORE_JOIN = _JOINS | {"OUTER"}
_TIGHT_BEFORE = frozenset({",", ")", "]", ".", ";", "}"})
_TIGHT_AFTER = frozenset({"(", "[", ".", "{", "$"})
_WIDTH = 80


@dataclass
class _Frame:
    """An open parenthesis: whether its content stands on lines of its own, and what it is."""

    block: bool
    indent: int
    query: bool = False
    angle: bool = False
    broken_list: bool = False


@deep
def format_script(text: str, name: str = "<sql>", fix: bool = False) -> str:
    """Return the script in canonical layout. Raises FlinkDdlError when it does not parse.

    Variables stay as they are written; one that is not defined is no mistake here. ``fix`` puts reserved words that
    are names into back-ticks, and writes FLOAT for REAL and quotes around the values of SET, as Flink 2.3 wants it.
    """
    source = SourceText(name, text)
    script = parse_tokens(source, lex_script(text))
    found = [d for d in script.diagnostics if d.code not in ("FD106", "FD672")]
    if found:
        raise FlinkDdlError(found)
    if not script.statements:
        return text
    if fix and (fixed := _fixed(text, script)) != text:
        return format_script(fixed, name)
    names = {n._meta["start"] for s in script.statements for n in s.tree.find_all(exp.Identifier) if n._meta}
    names.update(place for variable in variables_of(text) for place in range(*variable.span()))
    return _Layout(text, names).run()


def _fixed(text: str, script: Script) -> str:
    """Return a script with the texts that its warnings of this kind say to write."""
    fixes = {(d.span.start, d.span.end): d.fix for s in script.statements for d in s.taken if d.span}
    for (start, end), fix in sorted(fixes.items(), reverse=True):
        text = text if fix is None else text[:start] + fix + text[end:]
    return text


class _Statements:
    """Where statements and statement sets begin and end, found in one pass over the tokens."""

    def __init__(self, tokens: Sequence[t.Token]) -> None:
        self.tokens = tokens
        self.places = {x.start: i for i, x in enumerate(tokens)}
        self.heads: list[int] = []  # of each token, the place of its statement's first one
        self.brackets: dict[int, int] = {}  # a statement's first one, and its first bracket
        self.open: list[bool] = []  # of each token, whether a set that began before it has not ended before it
        self.last_end = max((i for i, x in enumerate(tokens) if x.key == "END"), default=-1)
        begun, before = False, ""
        for i, x in enumerate(tokens):
            self.heads.append(i if before == ";" or not i else self.heads[-1])
            self.open.append(begun)
            if x.key == "(":
                self.brackets.setdefault(self.heads[-1], i)
            begun = x.key == "BEGIN" or (begun and not (x.key == "END" and before == ";"))
            before = x.key

    def in_set(self, token: t.Token) -> bool:
        """Whether a token stands in a statement set."""
        place = self.places[token.start]
        return self.open[place] and self.last_end > place

    def is_table(self, token: t.Token) -> bool:
        """Whether a bracket is that of a CREATE TABLE's elements."""
        place = self.places[token.start]
        at = self.heads[place]
        head = [x.key for x in self.tokens[at : at + 4]]
        return head[0] == "CREATE" and "TABLE" in head and self.brackets[at] == place


class _Layout:
    def __init__(self, text: str, names: set[int]) -> None:
        self.text = text
        self.names = names
        lexed = t.lex(text)
        self.tokens, self.comments = lexed.tokens, sorted(lexed.comments)
        self.comment_starts = [a for a, _ in self.comments]
        self.statements = _Statements(self.tokens)
        self.lines: list[str] = []
        self.line = ""
        self.indent = 0
        self.frames = [_Frame(True, 0)]
        self.first = True

    def run(self) -> str:
        previous = None
        for i, token in enumerate(self.tokens):
            start = previous.end if previous else 0
            self._comments(start, token.start, previous)
            if token.kind == t.END:
                break
            self._put(token, previous, self.tokens[i + 1])
            previous = token
        self._newline()
        return "\n".join(self.lines).strip("\n") + "\n"

    def _newline(self, indent: int | None = None) -> None:
        if self.line.strip():
            self.lines.append(self.line.rstrip())
        self.line = " " * (self.frames[-1].indent if indent is None else indent)

    def _comments(self, start: int, end: int, previous: t.Token | None) -> None:
        last = start
        for a, b in self._comments_of(start, end):
            comment = self.text[a:b].rstrip()
            gap = self.text[last:a]
            own_line = "\n" in gap or previous is None
            if own_line:
                self._newline()
                if gap.count("\n") > 1 and self.first and self.lines and self.lines[-1]:
                    self.lines.append("")
                self.line += comment
                self._newline()
            elif not self.line.strip() and self.lines:
                self.lines[-1] += f" {comment}"
            else:
                self.line = f"{self.line.rstrip()} {comment}"
                if not comment.startswith("/*") or self.text[b:end].lstrip(" \t").startswith("\n"):
                    self._newline()
            last = b

    def _comments_of(self, start: int, end: int) -> list[tuple[int, int]]:
        return self.comments[bisect_left(self.comment_starts, start) : bisect_left(self.comment_starts, end)]

    def _put(self, token: t.Token, previous: t.Token | None, following: t.Token) -> None:
        if self.first and previous is not None and self.lines and not self._comment_above(token, previous):
            self.lines.append("")
        self._break(token, previous, following)
        if self.line.strip() and previous is not None and self._spaced(token, previous):
            self.line += " "
        self.line += self._text(token, following)
        self.first = False
        self._after(token, previous, following)

    def _comment_above(self, token: t.Token, previous: t.Token) -> bool:
        between = self._comments_of(previous.end, token.start)
        return any("\n" in self.text[previous.end : a] for a, _ in between)

    def _text(self, token: t.Token, following: t.Token) -> str:
        if token.kind != t.WORD or token.start in self.names:
            return token.text
        if token.key == "KEY" and following.key == "(":
            return token.key
        if token.key not in RESERVED and (following.key == "(" or "_" in token.text or "." in following.text):
            return token.text
        return token.key

    def _spaced(self, token: t.Token, previous: t.Token) -> bool:
        if self.line.endswith(" "):
            return False
        if {token.key, previous.key} & {"$", "{", "}"}:
            return previous.end != token.start
        if self._opens_angle(token, previous) or (self.frames[-1].angle and ">" in (token.key, previous.key)):
            return False
        if self.frames[-1].angle and previous.key == "<":
            return False
        if token.key in _TIGHT_BEFORE or previous.key in _TIGHT_AFTER:
            return False
        if token.key in ("(", "["):
            return previous.end != token.start or previous.key in (",", "=", "IN", "AS", "WITH", "VALUES", "AND", "OR")
        return previous.key not in ("-", "+") or previous.end != token.start or token.kind == t.STRING

    def _opens_angle(self, token: t.Token, previous: t.Token) -> bool:
        return token.key == "<" and previous.key in ("ARRAY", "MAP", "MULTISET", "ROW", "STRUCTURED")

    def _break(self, token: t.Token, previous: t.Token | None, following: t.Token) -> None:
        frame, key = self.frames[-1], token.key if token.start not in self.names else ""
        if not frame.block or previous is None or self.first:
            if key == ")" and frame.block and len(self.frames) > 1:
                self._newline(frame.indent - 2)
            return
        starts_query = key == "SELECT" and previous.key not in ("(", "EXPLAIN", "FOR", "EXECUTE")
        clause = frame.query and key in _CLAUSES and previous.key not in ("DISTINCT", "WITHIN")
        join = frame.query and key in _JOINS and previous.key not in _BEFORE_JOIN and following.key != "("
        if key == ")":
            self._newline(frame.indent - 2)
            return
        insert = key == "INSERT" and previous.key != "EXECUTE"
        end = key == "END" and previous.key == ";"
        if starts_query or clause or join or insert or end or key == "VALUES":
            self._newline()
        if clause:
            frame.broken_list = False

    def _after(self, token: t.Token, previous: t.Token | None, following: t.Token) -> None:
        frame = self.frames[-1]
        match token.key:
            case "SELECT" if token.start not in self.names:
                frame.query = True
                frame.broken_list = self._list_width(token) > _WIDTH
            case "(":
                self._open(token, previous, following)
            case "[":
                self.frames.append(_Frame(False, frame.indent))
            case "<" if previous is not None and self._opens_angle(token, previous):
                self.frames.append(_Frame(False, frame.indent, angle=True))
            case ">" if frame.angle:
                self.frames.pop()
            case ")" | "]" if len(self.frames) > 1:
                self.frames.pop()
            case "," if frame.block and (not frame.query or frame.broken_list) and len(self.frames) > 1:
                self._newline(frame.indent + (2 if frame.query else 0))
            case "," if frame.broken_list:
                self._newline(frame.indent + 2)
            case "BEGIN" if previous is not None and previous.key == "SET":
                self._newline()
            case ";":
                self._newline()
                self.frames = [_Frame(True, 0)]
                self.first = not self.statements.in_set(token)

    def _open(self, token: t.Token, previous: t.Token | None, following: t.Token) -> None:
        is_query = following.key in ("SELECT", "WITH")
        elements = len(self.frames) == 1 and not self.frames[0].query and self.statements.is_table(token)
        options = previous is not None and previous.key == "WITH" and following.key != ")"
        block = is_query or elements or options
        self.frames.append(_Frame(block, self.frames[-1].indent + 2 if block else self.frames[-1].indent))
        if block:
            self._newline()

    def _list_width(self, token: t.Token) -> int:
        depth, at, width = 0, self.statements.places[token.start] + 1, 0
        while at < len(self.tokens) - 1 and depth >= 0:
            key = self.tokens[at].key
            depth += {"(": 1, ")": -1}.get(key, 0)
            if depth == 0 and key in ("FROM", ";", "UNION") and self.tokens[at - 1].key != "DISTINCT":
                break
            width += len(self.tokens[at].text) + 1
            at += 1
        return width
