"""A reader of plain CREATE TABLE texts, for tests of rooms below the dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flinkddl import sqltypes as ty

_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|'((?:[^']|'')*)'|(\w+|[<>(),.:=])|(\S))", re.DOTALL)
_SIMPLE = {
    "BOOLEAN": ty.BOOLEAN, "TINYINT": ty.TINYINT, "SMALLINT": ty.SMALLINT, "INT": ty.INT, "INTEGER": ty.INT,
    "BIGINT": ty.BIGINT, "FLOAT": ty.FLOAT, "DOUBLE": ty.DOUBLE, "DATE": ty.DATE, "STRING": ty.STRING,
    "BYTES": ty.BYTES, "VARIANT": ty.VARIANT,
}  # fmt: skip
_SIZED = {
    "CHAR": (ty.CHAR, 1), "VARCHAR": (ty.VARCHAR, ty.MAX_LENGTH), "BINARY": (ty.BINARY, 1),
    "VARBINARY": (ty.VARBINARY, ty.MAX_LENGTH), "TIME": (ty.TIME, 0), "TIMESTAMP": (ty.TIMESTAMP, 6),
    "TIMESTAMP_LTZ": (ty.TIMESTAMP_LTZ, 6),
}  # fmt: skip


@dataclass(frozen=True)
class Col:
    name: str
    type: ty.DataType | None
    kind: str = "physical"
    key: str = ""


@dataclass(frozen=True)
class Ddl:
    name: str
    columns: tuple[Col, ...]
    options: dict[str, str]
    primary_key: tuple[str, ...] = ()


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        for m in _TOKEN.finditer(text):
            quoted, string, word, other = m.groups()
            if quoted is not None:
                self.tokens.append(("name", quoted.replace("``", "`")))
            elif string is not None:
                self.tokens.append(("string", string.replace("''", "'")))
            else:
                self.tokens.append(("word", word or other))
        self.at = 0

    def peek(self) -> str:
        kind, value = self.tokens[self.at]
        return value.upper() if kind == "word" else "\0"

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def accept(self, *words: str) -> bool:
        for i, word in enumerate(words):
            if self.at + i >= len(self.tokens) or self.tokens[self.at + i][1].upper() != word:
                return False
        self.at += len(words)
        return True

    def list(self, close: str) -> list[int]:
        out = []
        while not self.accept(close):
            out.append(int(self.next()))
            self.accept(",")
        return out

    def type(self) -> ty.DataType:
        word = self.next().upper()
        if word in _SIMPLE:
            t = _SIMPLE[word]
        elif word in _SIZED:
            make, default = _SIZED[word]
            sizes = self.list(")") if self.accept("(") else [default]
            t = make(sizes[0])
        elif word in ("DECIMAL", "NUMERIC", "DEC"):
            sizes = self.list(")") if self.accept("(") else [10]
            t = ty.DECIMAL(*sizes)
        elif word in ("ARRAY", "MULTISET", "MAP"):
            assert self.accept("<")
            children = [self.type()]
            while self.accept(","):
                children.append(self.type())
            assert self.accept(">")
            t = {"ARRAY": ty.ARRAY, "MULTISET": ty.MULTISET, "MAP": ty.MAP}[word](*children)
        elif word == "ROW":
            close = ">" if self.accept("<") else ")" if self.accept("(") else ""
            fields = []
            while not self.accept(close):
                name = self.next()
                fields.append((name, self.type()))
                self.accept(",")
            t = ty.ROW(*fields)
        else:
            raise ValueError(word)
        if self.accept("NOT", "NULL"):
            return t.not_null()
        self.accept("NULL")
        return t

    def skip(self) -> None:
        """Skips to the comma or parenthesis that ends an item."""
        depth = 0
        while depth or self.peek() not in (",", ")"):
            depth += {"(": 1, ")": -1}.get(self.peek(), 0)
            self.at += 1


def parse(text: str) -> Ddl:
    """Parse one CREATE TABLE statement."""
    r = _Reader(text)
    while not r.accept("TABLE"):
        r.next()
    name = r.next()
    assert r.accept("(")
    columns: list[Col] = []
    key: tuple[str, ...] = ()
    while not r.accept(")"):
        if r.accept("PRIMARY", "KEY", "("):
            names = []
            while not r.accept(")"):
                names.append(r.next())
                r.accept(",")
            key = tuple(names)
            r.skip()
        elif r.accept("WATERMARK"):
            r.skip()
        else:
            columns.append(_column(r))
        r.accept(",")
    options = {}
    if r.accept("WITH", "("):
        while not r.accept(")"):
            option = r.next()
            assert r.accept("=")
            options[option] = r.next()
            r.accept(",")
    # the columns of a primary key are NOT NULL
    fixed = [Col(c.name, c.type.not_null() if c.type and c.name in key else c.type, c.kind, c.key) for c in columns]
    return Ddl(name, tuple(fixed), options, key)


def _column(r: _Reader) -> Col:
    name = r.next()
    if r.accept("AS"):
        r.skip()
        return Col(name, None, "computed")
    t = r.type()
    if r.accept("METADATA"):
        key = r.next() if r.accept("FROM") else name
        r.accept("VIRTUAL")
        return Col(name, t, "metadata", key)
    if r.accept("PRIMARY", "KEY", "NOT", "ENFORCED"):
        return Col(name, t.not_null())
    if r.accept("COMMENT"):
        r.next()
    return Col(name, t)
