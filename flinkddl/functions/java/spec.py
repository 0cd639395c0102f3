"""The planned call of a Java function: what the planner hands to Spark's side, and its JSON.

Types are Flink's, as printed (``STRING``, ``INT NOT NULL``, ``ROW<`a` INT, `b` STRING>``); a structured type (a POJO)
prints as the ROW of its fields, its bridge names the class.

A bridge is the conversion class of a value, as Flink's ``DataType.getConversionClass``: a primitive (``int``), a binary
name (``java.lang.String``, ``com.acme.Outer$User``) or an array of one (``int[]``, ``java.lang.String[]``). Where
a part of a collection, row or structured type has another bridge than its type's default, the bridges of all parts
follow in brackets, in the order of the type's own (element; key, value; fields):
``java.util.List<com.acme.User>``, ``org.apache.flink.types.Row<java.lang.String,int>``,
``com.acme.User<java.lang.String,int>``. Default bridges are LogicalType.getDefaultConversion's: ``java.lang.Integer``,
``java.lang.String``, ``byte[]``, ``java.time.LocalDateTime``, ``java.time.Instant`` (TIMESTAMP_LTZ), ``Element[]``,
``java.util.Map``, ``org.apache.flink.types.Row``.

With a vararg method ``arguments`` and ``bridges`` have one entry per argument of the call; ``descriptor`` has
the array.

Changed since the first agreement:

- ``bridges`` may nest (above).
- ``deterministic`` is new: false where the class overrides ``isDeterministic`` to say so.
- ``accumulator`` is an object of ``type`` and ``bridge``; a ``MapView`` of it is a ``MAP`` with bridge
  ``org.apache.flink.table.api.dataview.MapView``, a ``ListView`` an ``ARRAY`` with bridge ``..ListView``.
- For ``kind`` table ``result`` is the type of a collected element: a ROW, or the bare type where the table has one
  column (Flink wraps it as ``EXPR$0``); for ``async`` that which completes the future.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal

Kind = Literal["scalar", "table", "aggregate", "table_aggregate", "async"]


@dataclass(frozen=True)
class Accumulator:
    """The accumulator of an aggregate function: its Flink type and its bridge."""

    type: str
    bridge: str


@dataclass(frozen=True)
class JavaCall:
    """A call of one method of a Java function with arguments of known types.

    ``method`` is ``eval``, or ``accumulate`` for aggregates; ``descriptor`` is the JVM's of the chosen overload;
    ``jars`` are absolute paths, in the order of the class path; ``retract`` says that the input takes rows back,
    ``distinct`` that of equal arguments the first alone is accumulated (and the last one that goes is retracted),
    ``over`` that the rows of a frame come in order and all into one accumulator. ``parameters`` are Flink's
    ``pipeline.global-job-parameters``, for ``FunctionContext.getJobParameter``.
    """

    class_name: str
    jars: tuple[str, ...] = field(metadata={"place": True})  # a checkpoint does not ask where they lie
    kind: Kind
    method: str
    descriptor: str
    arguments: tuple[str, ...]
    result: str
    bridges: tuple[str, ...]
    result_bridge: str
    varargs: bool = False
    accumulator: Accumulator | None = None
    retract: bool = False
    deterministic: bool = True
    distinct: bool = False
    over: bool = False
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def to_json(self) -> str:
        """The call as the Java side reads it."""
        said = asdict(self) | {"parameters": dict(self.parameters)}
        fields = {k: v for k, v in said.items() if v or k not in ("distinct", "over", "parameters")}
        return json.dumps({"class": fields.pop("class_name"), **fields}, separators=(",", ":"))
