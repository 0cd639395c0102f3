"""A plan as text: one node a line, children indented below, expressions in SQL-like form, types on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Field, Node


def explain(node: Node, *, schema: bool = False) -> str:
    """Return the plan, root first; with ``schema`` each line ends in the output columns with their types."""
    lines: list[str] = []
    _write(node, 0, schema, lines)
    return "\n".join(lines)


def _write(node: Node, depth: int, schema: bool, lines: list[str]) -> None:
    text = "  " * depth + node.describe()
    if schema:
        text += f" -> ({', '.join(f'{f.name} {type_text(f)}' for f in node.fields)})"
    lines.append(text)
    for child in node.inputs:
        _write(child, depth + 1, schema, lines)


def type_text(column: Field) -> str:
    """Return a column's type as Flink's schema prints it, a time attribute marked."""
    mark = f" *{column.type.time_attribute}*" if column.type.time_attribute else ""
    return f"{column.type}{mark}"
