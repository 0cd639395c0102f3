"""What a format comes to on Spark: the expression that decodes or encodes, and the compact spec our kernels read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.sqltypes import DataType, Root, quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from flinkddl.options.resolved import FormatOptions

WEIGHT = "__w"
Changes = Literal["insert-only", "delta"]
Fields = tuple[tuple[str, DataType], ...]
_PLAIN = {
    Root.BOOLEAN, Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.FLOAT, Root.DOUBLE, Root.DATE, Root.NULL,
}  # fmt: skip


@dataclass(frozen=True)
class DecodeSpec:
    """How messages become rows.

    ``expression`` is Spark SQL over the message column and topic, partition and offset, of type ARRAY<STRUCT>: use it
    with ``inline``. ``fields`` are the struct's: the columns, then the metadata asked for (named ``value.<key>``);
    with ``changelog`` "delta" one more follows, ``__w`` INT, +1 for an added row and -1 for one taken away, an update
    giving both in that message order. ``secrets`` are settings the session needs: the expression only names them.
    ``note`` says which fields are built, where others are only checked.
    """

    expression: str
    fields: Fields
    changelog: Changes
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The output names of ``inline(expression)``, in order."""
        return tuple(n for n, _ in self.fields) + ((WEIGHT,) if self.changelog == "delta" else ())


@dataclass(frozen=True)
class EncodeSpec:
    """How a row becomes a message: ``expression`` is Spark SQL of type BINARY, NULL for a null message.

    With ``accepts`` "delta" it also reads ``__w``, and each row with a weight is a message of its own.
    """

    expression: str
    accepts: Changes
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


def string_literal(text: str) -> str:
    """Return text as a Spark SQL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


Parts = Mapping[str, "Parts | None"]
"""Fields by name with what is read of each: None is all of it."""


def type_tree(t: DataType, parts: Parts | None = None) -> Any:
    """Return a type as the kernels read it (FType.java); of a ROW ``parts`` are built, by default all.

    Raises KeyError for a type no format knows.
    """
    mark = t.root.name + ("" if t.nullable else "!")
    match t.root:
        case root if root in _PLAIN:
            return mark
        case Root.DECIMAL:
            return [mark, t.precision, t.scale]
        case Root.CHAR | Root.VARCHAR | Root.BINARY | Root.VARBINARY:
            return mark
        case Root.TIME | Root.TIMESTAMP | Root.TIMESTAMP_LTZ:
            return [mark, t.precision]
        case Root.ARRAY | Root.MULTISET | Root.MAP:
            return [mark, *(type_tree(c) for c in t.children)]
        case Root.ROW:
            return [mark, *field_trees(((f.name, f.type) for f in t.fields), parts)]
        case _:
            raise KeyError(t.root)


def field_trees(fields: Iterable[tuple[str, DataType]], parts: Parts | None = None) -> list[Any]:
    """Return named fields as the kernels read them: one that is only checked ends in 0."""
    read = ((name, t, {name: None} if parts is None else parts) for name, t in fields)
    return [[name, type_tree(t, of[name])] if name in of else [name, type_tree(t), 0] for name, t, of in read]


def built(fields: Fields, parts: Parts | None) -> str:
    """Return which fields are built, in words: "" where all are."""
    if parts is None or field_trees(fields, parts) == field_trees(fields):
        return ""
    return f"decodes: {', '.join(_paths(fields, parts)) or 'nothing'} of {len(fields)}"


def _paths(fields: Iterable[tuple[str, DataType]], parts: Parts) -> Iterator[str]:
    for name, t in (f for f in fields if f[0] in parts):
        inside = parts[name]
        if inside is None:
            yield name
        else:
            yield from (f"{name}.{path}" for path in _paths(((f.name, f.type) for f in t.fields), inside))


def kernel(format: FormatOptions, direction: Literal["decode", "encode"]) -> str:
    """Return the SQL name of the kernel of a format."""
    return f"flinkddl.{format.name.replace('-', '_')}_{direction}"


def spec_text(
    format: FormatOptions,
    fields: Iterable[tuple[str, DataType]],
    owner: str,
    metadata: Sequence[str],
    values: Mapping[str, Any],
    parts: Parts | None = None,
) -> str:
    """Return the spec as a SQL literal. ``values`` are the options to pass on, already text, booleans or None.

    ``parts`` are the fields that are built; by default all.
    """
    spec = {
        "format": format.name,
        "owner": owner,
        "type": ["ROW!", *field_trees(fields, parts)],
        "meta": list(metadata),
        "options": {k: _option(v) for k, v in values.items() if v is not None},
    }
    if not metadata:
        del spec["meta"]
    return string_literal(json.dumps(spec, ensure_ascii=False, separators=(",", ":")))


def _option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def struct_type(fields: Iterable[tuple[str, DataType]], weighted: bool) -> str:
    """Return the Spark type of a decoded row."""
    parts = [f"{quote(name)}:{spark_type(t)}" for name, t in fields]
    return f"STRUCT<{','.join([*parts, f'{WEIGHT}:INT'] if weighted else parts)}>"
