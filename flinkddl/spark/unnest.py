"""UNNEST, in batch and streaming: a collection as an array of structs ``c0``, ``c1`` .., one an element; GROUPING SETS.

Source: formats-and-types reference (collections) and Flink's answers: a multiset gives each element as often as it
holds it, an element that is a NULL row gives nothing, a NULL collection is an empty one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.rex import Call, InputRef, transform
from flinkddl.spark.expressions import condition_to_spark, to_spark
from flinkddl.sqltypes import NULL, Root, quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.nodes import Expand, Unnest
    from flinkddl.plan.rex import Rex
    from flinkddl.spark.context import Rel
    from flinkddl.sqltypes import DataType


def elements(node: Unnest, columns: Sequence[str], zone: str) -> str:
    """Return the array of a node's elements that meet its condition, the ordinal last where it is asked for.

    ``columns`` are those of the input. Without the ones that fail the condition: a LEFT JOIN pads after it.
    """
    array = _array(node, to_spark(node.collection, columns, zone))
    if node.condition is None:
        return array
    condition = condition_to_spark(_over_element(node.condition, len(columns)), (*columns, "e"), zone)
    return f"filter({array}, e -> {condition})"


def generator(node: Unnest) -> str:
    """Return Spark's generator: INNER drops a row without elements, LEFT pads it with NULL."""
    return "inline_outer" if node.outer else "inline"


def _array(node: Unnest, value: str) -> str:
    kind = node.collection.type
    match kind.root:
        case Root.MAP:
            source, parts = f"map_entries({value})", ["e.key", "e.value"]
        case Root.MULTISET:
            source = f"flatten(transform(map_entries({value}), e -> array_repeat(named_struct('v', e.key), e.value)))"
            parts = _parts(kind.element, "e.v")
        case _:
            source, parts = f"transform({value}, e -> named_struct('v', e))", _parts(kind.element, "e.v")
    if kind.root is not Root.MAP and kind.element.root is Root.ROW:
        source = f"filter({source}, e -> e.v IS NOT NULL)"
    ordinal = ["i + 1"] if node.ordinality else []
    named = ", ".join(f"{part} AS {quote(f'c{n}')}" for n, part in enumerate([*parts, *ordinal]))
    return f"transform({source}, (e, i) -> struct({named}))"


def _parts(element: DataType, sql: str) -> list[str]:
    return [f"{sql}.{quote(f.name)}" for f in element.fields] if element.root is Root.ROW else [sql]


def _over_element(condition: Rex, width: int) -> Rex:
    """Rewrite references to the element's fields as fields of a lambda variable, the column after the input's."""
    element = InputRef(NULL, width)

    def change(rex: Rex) -> Rex | None:
        if isinstance(rex, InputRef) and rex.index >= width:
            return Call(rex.type, "FIELD", (element,), (("name", f"c{rex.index - width}"),))
        return None

    return transform(condition, change)


def grouping_copies(node: Expand, rel: Rel) -> str:
    """Return an array of copies of the row, one a grouping set: the keys outside of it NULL, and the set's mask."""
    copies = []
    for kept, mask in zip(node.sets, node.masks, strict=True):
        values = [
            f"CAST(NULL AS {spark_type(f.type)})" if i in node.keys and i not in kept else rel.sql(i)
            for i, f in enumerate(rel.fields)
        ]
        items = ", ".join(f"'c{i}', {v}" for i, v in enumerate((*values, f"{mask}L")))
        copies.append(f"named_struct({items})")
    return f"array({', '.join(copies)})"
