"""Types: ``grammar/types.ebnf``."""

from __future__ import annotations

from sqlglot import exp

from flinkddl.diagnostics import Diagnostic, suggest
from flinkddl.dialect import tokens as t
from flinkddl.dialect.cursor import MAX_DEPTH, Cursor, ParseFailure
from flinkddl.dialect.nodes import Field, Type
from flinkddl.dialect.words import RESERVED, UNITS
from flinkddl.sqltypes import MAX_LENGTH

D = exp.DType

# Flink's word -> (root, sqlglot's kind, default parameters; None: takes no parameters)
SIMPLE: dict[str, tuple[str, exp.DType, tuple[int, ...] | None]] = {
    "CHAR": ("CHAR", D.CHAR, (1,)),
    "CHARACTER": ("CHAR", D.CHAR, (1,)),
    "VARCHAR": ("VARCHAR", D.VARCHAR, (MAX_LENGTH,)),
    "STRING": ("VARCHAR", D.TEXT, None),
    "BINARY": ("BINARY", D.BINARY, (1,)),
    "VARBINARY": ("VARBINARY", D.VARBINARY, (MAX_LENGTH,)),
    "BYTES": ("VARBINARY", D.VARBINARY, None),
    "BOOLEAN": ("BOOLEAN", D.BOOLEAN, None),
    "DECIMAL": ("DECIMAL", D.DECIMAL, (10, 0)),
    "DEC": ("DECIMAL", D.DECIMAL, (10, 0)),
    "NUMERIC": ("DECIMAL", D.DECIMAL, (10, 0)),
    "TINYINT": ("TINYINT", D.TINYINT, None),
    "SMALLINT": ("SMALLINT", D.SMALLINT, None),
    "INT": ("INT", D.INT, None),
    "INTEGER": ("INT", D.INT, None),
    "BIGINT": ("BIGINT", D.BIGINT, None),
    "FLOAT": ("FLOAT", D.FLOAT, None),
    "REAL": ("FLOAT", D.FLOAT, None),
    "DOUBLE": ("DOUBLE", D.DOUBLE, None),
    "DATE": ("DATE", D.DATE, None),
    "TIME": ("TIME", D.TIME, (0,)),
    "TIMESTAMP": ("TIMESTAMP", D.TIMESTAMPNTZ, (6,)),
    "TIMESTAMP_LTZ": ("TIMESTAMP_LTZ", D.TIMESTAMPLTZ, (6,)),
    "VARIANT": ("VARIANT", D.VARIANT, None),
    "BITMAP": ("BITMAP", D.USERDEFINED, None),
    "NULL": ("NULL", D.NULL, None),
}
NESTED = ("ARRAY", "MULTISET", "MAP", "ROW", "RAW", "STRUCTURED", "INTERVAL")
_NAMES = (*SIMPLE, *NESTED)

# What people write who come from other systems.
_FOREIGN = {
    "TEXT": "STRING",
    "DATETIME": "TIMESTAMP(3)",
    "STRUCT": "ROW",
    "LONG": "BIGINT",
    "BOOL": "BOOLEAN",
    "NVARCHAR": "STRING",
    "VARCHAR2": "STRING",
    "NUMBER": "DECIMAL(p, s)",
    "BLOB": "BYTES",
    "BYTEA": "BYTES",
    "INT64": "BIGINT",
    "INT32": "INT",
    "LIST": "ARRAY",
    "JSON": "STRING",
    "TIMESTAMPTZ": "TIMESTAMP_LTZ",
    "TIMESTAMP_NTZ": "TIMESTAMP",
    "UUID": "STRING",
    "FLOAT8": "DOUBLE",
    "FLOAT4": "FLOAT",
}


# What is read as a type and none in Flink 2.3 -> what to write, and that as a text where it is one.
_TAKEN: dict[str, tuple[str, str | None]] = {
    "REAL": ("write FLOAT", "FLOAT"),
    "NULL": ("write the type of the values, such as STRING", None),
}


_AFTER = (",", ")", ">", "NOT", "NULL", "COMMENT", "METADATA", "PRIMARY", "CONSTRAINT", "ARRAY", "MULTISET")
"""What follows a type that is read to its end."""


class TypeParser(Cursor):
    """Reads types."""

    def type_(self) -> Type:
        """``type``: a type with its postfix collections and nullability."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("FD117", "this type nests too deeply")
        start = self.tok.start
        node = self._prefix_type(start)
        self._nullability(node)
        while self.tok.key in ("ARRAY", "MULTISET"):
            kind = D.ARRAY if self.tok.key == "ARRAY" else D.USERDEFINED
            root = self.advance().key
            node = self.mark(Type(this=kind, name=root, children=[node], nullable=True), start)
            self._nullability(node)
        self.depth -= 1
        return self.mark(node, start)

    def column_type(self) -> Type:
        """``column_type``: a type a column can have: no interval anywhere in it."""
        start = self.tok
        node = self.type_()
        for part in node.find_all(Type):
            if part.args["name"] == "INTERVAL":
                self.fail("FD109", "a column can not have an interval type", start, "store the parts as BIGINT")
        return node

    def _nullability(self, node: Type) -> None:
        """``nullability``."""
        if self.take("NOT", "NULL"):
            node.set("nullable", False)
        elif self.at("NULL") and self.peek().key != "ON":
            # In JSON_VALUE(.. RETURNING INT NULL ON EMPTY) the NULL is not the type's.
            self.advance()

    def _prefix_type(self, start: int) -> Type:
        word = self.tok.key if self.tok.kind == t.WORD else None
        if word not in SIMPLE and word not in NESTED:
            word = self._unknown()
        self.advance()
        if word in SIMPLE:
            return self._simple(word, start)
        match word:
            case "ROW":
                return self._row(start)
            case "RAW" | "STRUCTURED":
                return self._opaque(word, start)
            case "INTERVAL":
                return self._interval(start)
        kind = {"ARRAY": D.ARRAY, "MAP": D.MAP}.get(word, D.USERDEFINED)
        children = self._angle(2 if word == "MAP" else 1)
        return self.mark(Type(this=kind, name=word, children=children, nullable=True), start)

    def _unknown(self) -> str:
        """Tell of a word that is no type; return the one meant where only it can be wrong: the rest is read then."""
        token = self.tok
        if token.kind != t.WORD:
            self.fail_expected(what="a type")
        near = _FOREIGN.get(token.key) or suggest(token.text, _NAMES)
        help = f"did you mean '{near}'?" if near else "the types are listed by flinkddl error FD109"
        word = near.split("(")[0] if near else ""
        told = Diagnostic("FD109", f"'{token.text}' is no type of Flink SQL", self.span(token), help)
        is_clause = token.key in RESERVED and token.key not in _FOREIGN
        if word not in SIMPLE or is_clause or self.peek().key not in _AFTER:
            raise ParseFailure(told)
        self.notes.append(told)
        return word

    def _simple(self, word: str, start: int) -> Type:
        """``simple_type``."""
        if word in _TAKEN:
            self.take_note(f"{word} is no type", self.prev, *_TAKEN[word])
        root, kind, default = SIMPLE[word]
        params = list(default) if default is not None else None
        if word == "DOUBLE":
            self.take("PRECISION")
        if word == "CHARACTER" and self.take("VARYING"):
            root, kind = "VARCHAR", D.VARCHAR
        if self.at("(") and params is None:
            self.fail("FD109", f"{word} takes no length", help=_length_help(word))
        if params is not None and self.take("("):
            params[0] = self.number("a length or precision")
            if len(params) == 2 and self.take(","):
                params[1] = self.number("a scale")
            self.need(")")
        if word in ("TIME", "TIMESTAMP"):
            root, kind = self._zone(word, root, kind)
        return self.mark(Type(this=kind, name=root, params=params, nullable=True), start)

    def _zone(self, word: str, root: str, kind: exp.DType) -> tuple[str, exp.DType]:
        """``time_zone``."""
        if self.take("WITHOUT", "TIME", "ZONE"):
            return root, kind
        if self.at("WITH", "LOCAL") and word == "TIMESTAMP":
            self.need("WITH", "LOCAL", "TIME", "ZONE")
            return "TIMESTAMP_LTZ", D.TIMESTAMPLTZ
        if self.at("WITH", "TIME"):
            self.fail("FD109", f"{word} WITH TIME ZONE is no type of Flink SQL", help="write TIMESTAMP_LTZ(3)")
        return root, kind

    def _angle(self, count: int) -> list[Type]:
        self.need("<")
        out = [self.type_()]
        while len(out) < count:
            self.need(",")
            out.append(self.type_())
        self.need(">")
        return out

    def _row(self, start: int) -> Type:
        """``row_type``."""
        if self.take("<>"):
            return self.mark(Type(this=D.STRUCT, name="ROW", fields=[], nullable=True), start)
        close = ")" if self.at("(") else ">"
        self.need("(" if close == ")" else "<")
        fields = [] if self.take(close) else self.comma_list(self._field, close)
        return self.mark(Type(this=D.STRUCT, name="ROW", fields=fields, nullable=True), start)

    def _field(self) -> Field:
        """``field``."""
        start = self.tok.start
        name = self.identifier("a field name", after_dot=True)
        kind = self.type_()
        comment = None
        word = self.prev if self.take("COMMENT") else None
        if word is not None:
            self.take_note("COMMENT before the text of a field", word, "write the text alone", "")
        if word is not None or self.tok.kind == t.STRING:
            comment = self.string("a comment")
        return self.mark(Field(this=name, kind=kind, comment=comment), start)

    def _opaque(self, word: str, start: int) -> Type:
        """``opaque_type``: RAW('class', 'serializer') and STRUCTURED<'class', name type, ...>."""
        close = {"(": ")", "<": ">"}.get(self.tok.key) or self.fail_expected("(" if word == "RAW" else "<")
        self.advance()
        text = [self.string("a class name")]
        fields: list[Field] = []
        if word == "RAW" and self.take(","):
            text.append(self.string("a serializer"))
        while word == "STRUCTURED" and self.take(","):
            fields.append(self._field())
        self.need(close)
        node = Type(this=D.USERDEFINED, name=word, text=text, fields=fields or None, nullable=True)
        return self.mark(node, start)

    def _interval(self, start: int) -> Type:
        """``interval_type``."""
        unit, precision, fraction = self.interval_unit()
        return self.mark(
            Type(this=D.INTERVAL, name="INTERVAL", unit=unit, params=[precision, fraction], nullable=True), start
        )

    def interval_unit(self) -> tuple[str, int | None, int | None]:
        """``interval_unit``: ``DAY[(p)] [TO SECOND[(f)]]``; returns the units, the precision and the fraction."""
        first, precision, fraction = self._unit(), None, None
        if self.take("("):
            precision = self.number("a precision")
            if first == "SECOND" and self.take(","):
                fraction = self.number("a precision")
            self.need(")")
        if not self.take("TO"):
            return first, precision, fraction
        last = self._unit()
        if self.take("("):
            fraction = self.number("a precision")
            self.need(")")
        if (first, last) not in _SPANS:
            self.fail("FD112", f"there is no interval from {first} to {last}", self.prev)
        return f"{first} TO {last}", precision, fraction

    def _unit(self) -> str:
        """``unit``."""
        return UNITS[self.need_one(UNITS, "a unit of time such as SECOND")]


_ORDER = (("YEAR", "MONTH"), ("DAY", "HOUR", "MINUTE", "SECOND"))
_SPANS = {(a, b) for units in _ORDER for i, a in enumerate(units) for b in units[i + 1 :]}


def _length_help(word: str) -> str | None:
    return {"STRING": "write VARCHAR(n)", "BYTES": "write VARBINARY(n)"}.get(word)
