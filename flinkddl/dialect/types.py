"""Type nodes to logical types and back.

Sizes out of range are clamped as a running Flink 2.3 does it: DECIMAL to 38 digits, timestamps to 9, TIME to 3; lengths
of 0 are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl import sqltypes as s
from flinkddl.diagnostics import FlinkDdlError, SourceText, Span
from flinkddl.dialect.nodes import Field, Type, span_of
from flinkddl.dialect.parse_types import SIMPLE

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN = {
    t.root.value: t
    for t in (s.BOOLEAN, s.TINYINT, s.SMALLINT, s.INT, s.BIGINT, s.FLOAT, s.DOUBLE, s.DATE, s.VARIANT, s.NULL)
}
_SIZED: dict[str, tuple[Callable[[int], s.DataType], int]] = {
    "CHAR": (s.CHAR, s.MAX_LENGTH),
    "VARCHAR": (s.VARCHAR, s.MAX_LENGTH),
    "BINARY": (s.BINARY, s.MAX_LENGTH),
    "VARBINARY": (s.VARBINARY, s.MAX_LENGTH),
    "TIME": (s.TIME, 3),
    "TIMESTAMP": (s.TIMESTAMP, 9),
    "TIMESTAMP_LTZ": (s.TIMESTAMP_LTZ, 9),
}


def to_type(node: exp.DataType, source: SourceText | None = None) -> s.DataType:
    """Return the logical type that a type node of the parser names.

    Raises FlinkDdlError (FD109) for types that exist in Flink and cannot be carried: BITMAP, STRUCTURED.
    """
    if not isinstance(node, Type):
        raise FlinkDdlError.of("FD901", f"a type that did not come from the Flink parser: {node.sql()}")
    return _logical(node, source).with_nullable(node.args.get("nullable") is not False)


def _logical(node: Type, source: SourceText | None) -> s.DataType:
    name = node.args["name"]
    params = node.args.get("params") or []
    if name in _PLAIN:
        return _PLAIN[name]
    if name in _SIZED:
        make, limit = _SIZED[name]
        # STRING and BYTES carry no number: they are the longest of their kind.
        return make(min(params[0], limit) if params else limit)
    match name:
        case "DECIMAL":
            if params[1] > params[0]:
                message = f"the scale {params[1]} of DECIMAL is above its precision {params[0]}"
                raise FlinkDdlError.of("FD109", message, _span(node, source), f"write a scale from 0 to {params[0]}")
            if params[0] < 1:
                message = "the precision of DECIMAL is 0, and Flink takes none below 1"
                raise FlinkDdlError.of("FD109", message, _span(node, source), "write a precision from 1 to 38")
            precision = min(params[0], s.MAX_DECIMAL)
            return s.DECIMAL(precision, min(params[1], precision))
        case "ARRAY":
            return s.ARRAY(_child(node, 0, source))
        case "MULTISET":
            return s.MULTISET(_child(node, 0, source))
        case "MAP":
            return s.MAP(_child(node, 0, source), _child(node, 1, source))
        case "ROW":
            return s.ROW(*_fields(node, source))
        case "INTERVAL":
            return _interval(node.args["unit"], *params)
        case "RAW":
            return s.DataType(s.Root.RAW, qualifier=", ".join(f"'{t.this}'" for t in node.args["text"]))
        case _:
            raise FlinkDdlError.of(
                "FD109", f"the type {name} is not supported", _span(node, source), "store it as BYTES"
            )


def _fields(node: Type, source: SourceText | None) -> list[s.RowField]:
    fields = [_field(f, source) for f in node.args.get("fields") or []]
    names = [f.name for f in fields]
    if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
        message = f"two fields of this ROW are called '{twice}'"
        raise FlinkDdlError.of("FD109", message, _span(node, source), "give each field a name of its own")
    return fields


def _child(node: Type, index: int, source: SourceText | None) -> s.DataType:
    return to_type(node.args["children"][index], source)


def _field(field: Field, source: SourceText | None) -> s.RowField:
    comment = field.args.get("comment")
    return s.RowField(field.this.this, to_type(field.args["kind"], source), comment.this if comment else None)


def _interval(unit: str, precision: int | None, fraction: int | None) -> s.DataType:
    if unit.split()[0] in ("YEAR", "MONTH", "QUARTER"):
        return s.INTERVAL_YM(unit, precision)
    return s.INTERVAL_DT(unit, precision, fraction)


def _span(node: exp.Expression, source: SourceText | None) -> Span | None:
    place = span_of(node)
    return Span(source, *place) if source and place else None


_KINDS = {root: kind for root, kind, _ in reversed(SIMPLE.values())}  # a root's own word stands before STRING, BYTES
_KINDS |= {"ARRAY": exp.DType.ARRAY, "MAP": exp.DType.MAP, "ROW": exp.DType.STRUCT}


def to_node(t: s.DataType) -> Type:
    """Return the type node that prints as ``t`` and reads back as ``t`` (time attributes are no part of a type)."""
    name = t.root.value
    node = Type(this=_KINDS.get(name, exp.DType.USERDEFINED), name=name)
    node.set("nullable", t.nullable)
    if t.root in (s.Root.VARCHAR, s.Root.VARBINARY) and t.precision == s.MAX_LENGTH:
        node.set("this", exp.DType.TEXT if t.root is s.Root.VARCHAR else exp.DType.VARBINARY)
    elif t.root is s.Root.DECIMAL:
        node.set("params", [t.precision, t.scale])
    elif t.root in s.INTERVAL:
        node = Type(this=exp.DType.INTERVAL, name="INTERVAL", unit=t.qualifier, nullable=t.nullable)
        node.set("params", [t.precision, t.scale])
    elif t.root is s.Root.RAW:
        node.set("text", [exp.Literal.string(part.strip("' ")) for part in (t.qualifier or "").split(",")])
    elif t.precision is not None:
        node.set("params", [t.precision])
    if t.children:
        node.set("children", [to_node(c) for c in t.children])
    if t.fields:
        node.set("fields", [_field_node(f) for f in t.fields])
    return node


def _field_node(f: s.RowField) -> Field:
    comment = exp.Literal.string(f.comment) if f.comment is not None else None
    return Field(this=exp.to_identifier(f.name, quoted=True), kind=to_node(f.type), comment=comment)
