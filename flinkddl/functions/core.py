"""What a row of the function catalogue is: a name, signatures, a result type and Spark SQL text.

Signatures are written in a small language: operands separated by blanks, alternatives by ``;``. An operand is a lower
case family (``string``: accepted as it is) or an upper case type (``STRING``: cast to implicitly); a trailing ``?``
makes it optional, ``*`` repeats it (zero or more). Families are the table ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from flinkddl import sqltypes as T
from flinkddl.functions.typing import can_cast_implicitly, strip_attribute
from flinkddl.sqltypes import DataType, Root

Nulls = Literal["any", "yes", "no", "first"]


class SignatureError(Exception):
    """The arguments do not fit; the message says what would. The resolver adds code and place."""


class Unavailable(Exception):
    """The function exists in Flink and cannot be had on Spark; the message says why."""


class _NoValue:
    def __repr__(self) -> str:
        return "NO_VALUE"


NO_VALUE = _NoValue()


@dataclass(frozen=True)
class Operand:
    """An argument as the catalogue sees it: its type, and its value where it is a literal."""

    type: DataType
    value: Any = NO_VALUE


Operands = Sequence[Operand]
Options = Mapping[str, Any]


@dataclass(frozen=True)
class Lowered:
    """A call on its way to Spark: argument texts (``a``) and types (``t``), result type, options, session zone."""

    a: tuple[str, ...]
    t: tuple[DataType, ...]
    type: DataType
    values: tuple[Any, ...] = ()
    options: Options = field(default_factory=dict)
    zone: str = "UTC"

    def literal(self, index: int) -> Any:
        """Return the value of a literal argument, or NO_VALUE."""
        return self.values[index] if index < len(self.values) else NO_VALUE


ResultType = DataType | Callable[[Operands, Options], DataType]
Text = str | Mapping[int, str] | Callable[[Lowered], str]
Check = Callable[[Operands, Options], Sequence[DataType] | None]


@dataclass(frozen=True)
class Kind:
    """An operand family: which types it takes, and the type they are cast to (None: none)."""

    label: str
    accepts: Callable[[DataType], bool]
    target: DataType | None = None


def _family(label: str, *families: frozenset[Root]) -> Kind:
    roots = frozenset().union(*families)
    return Kind(label, lambda t: t.root in roots)


def _type(t: DataType) -> Kind:
    return Kind(str(t), lambda source: can_cast_implicitly(source, t), t)


KINDS: dict[str, Kind] = {
    "any": Kind("ANY", lambda t: t.root is not Root.NULL),
    "null": Kind("ANY", lambda t: True),
    "string": _family("CHARACTER", T.CHARACTER),
    "binary": _family("BINARY", T.BYTES_FAMILY),
    "bool": _family("BOOLEAN", frozenset({Root.BOOLEAN})),
    "integer": _family("INTEGER", T.INTEGER),
    "int": _family("INTEGER", frozenset({Root.INT, Root.SMALLINT, Root.TINYINT})),
    "exact": _family("EXACT_NUMERIC", T.EXACT),
    "numeric": _family("NUMERIC", T.NUMERIC),
    "timestamp": _family("TIMESTAMP", T.TIMESTAMPS),
    "datetime": _family("DATETIME", T.DATETIME),
    "interval": _family("INTERVAL", T.INTERVAL),
    "array": _family("ARRAY", frozenset({Root.ARRAY})),
    "map": _family("MAP", frozenset({Root.MAP})),
    "STRING": _type(T.STRING),
    "INT": _type(T.INT),
    "BIGINT": _type(T.BIGINT),
    "DOUBLE": Kind("NUMERIC", lambda t: t.root in T.NUMERIC, T.DOUBLE),
    "BOOLEAN": _type(T.BOOLEAN),
}


@dataclass(frozen=True)
class _Slot:
    kind: Kind
    optional: bool
    repeated: bool


def _parse(signature: str) -> tuple[_Slot, ...]:
    slots = []
    for word in signature.split():
        name = word.rstrip("?*")
        slots.append(_Slot(KINDS[name], word.endswith("?"), word.endswith("*")))
    return tuple(slots)


def _match(slots: Sequence[_Slot], args: Operands) -> tuple[DataType, ...] | None:
    """Return the types that the arguments are cast to, or None when they do not fit."""
    types: list[DataType] = []
    rest = list(slots)
    for arg in args:
        if not rest:
            return None
        slot = rest[0] if rest[0].repeated else rest.pop(0)
        if not slot.kind.accepts(arg.type):
            return None
        types.append(_target(slot.kind, arg.type))
    return tuple(types) if all(s.optional or s.repeated for s in rest) else None


def _target(kind: Kind, t: DataType) -> DataType:
    if kind.target is None or (kind.target.root in T.CHARACTER | T.BYTES_FAMILY and t.root is not Root.NULL):
        return strip_attribute(t)
    return kind.target.with_nullable(t.nullable)


@dataclass(frozen=True)
class Function:
    """One function or operator.

    ``result`` is a type, or computes one of the (cast) operands; ``nulls`` says when the result may be NULL: "any"
    (an argument may), "yes", "no", "first" (the first argument may). ``text`` is Spark SQL: a template with ``{0}``
    (``{all}`` for the list), one per number of arguments, or a function. ``check`` adds rules of its own and may
    return other types to cast to. ``reason`` marks a function that is known and cannot be had.
    """

    name: str
    signature: str
    result: ResultType
    text: Text
    nulls: Nulls = "any"
    check: Check | None = None
    deterministic: bool = True
    reason: str | None = None

    @cached_property
    def alternatives(self) -> tuple[tuple[_Slot, ...], ...]:
        """The parsed signatures."""
        return tuple(_parse(s) for s in self.signature.split(";"))

    @property
    def supported(self) -> str:
        """The signatures as a message shows them."""
        forms = (
            ", ".join(f"<{s.kind.label}>" + ("?" if s.optional else "..." if s.repeated else "") for s in slots)
            for slots in self.alternatives
        )
        return " or ".join(f"{self.name}({f})" for f in forms)

    def operands(self, args: Operands, options: Options) -> tuple[DataType, ...]:
        """Return the types that the arguments must be cast to. Raises SignatureError, Unavailable."""
        if self.reason is not None:
            raise Unavailable(self.reason)
        for slots in self.alternatives:
            types = _match(slots, args)
            if types is not None:
                break
        else:
            raise SignatureError(f"expected {self.supported}")
        if self.check is not None:
            changed = self.check([Operand(t, a.value) for t, a in zip(types, args, strict=True)], options)
            types = types if changed is None else tuple(changed)
        return types

    def result_type(self, args: Operands, options: Options) -> DataType:
        """Return the result type of a call whose arguments have been cast."""
        if not isinstance(self.result, DataType):
            base = self.result(args, options)
        else:
            base = self.result
        match self.nulls:
            case "yes":
                return base.with_nullable(True)
            case "no":
                return base.with_nullable(False)
            case "first":
                return base.with_nullable(args[0].type.nullable)
        return base.with_nullable(any(a.type.nullable for a in args))

    def to_spark(self, call: Lowered) -> str:
        """Return the Spark SQL text of a call."""
        if isinstance(self.text, Mapping):
            template = self.text[len(call.a)]
        elif isinstance(self.text, str):
            template = self.text
        else:
            return self.text(call)
        return template.format(*call.a, all=", ".join(call.a))


def same(index: int = 0) -> Callable[[Operands, Options], DataType]:
    """Result type: that of an argument."""
    return lambda args, _: strip_attribute(args[index].type)


def string(text: str) -> str:
    """Return a Spark string literal: backslashes and quotes doubled."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
