"""Types back to Flink SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.dialect.generator_text import comma, quoted_string
from flinkddl.sqltypes import MAX_LENGTH

if TYPE_CHECKING:
    from sqlglot.generator import Generator

    from flinkddl.dialect import nodes as n


def type_sql(g: Generator, node: n.Type) -> str:
    """Print a type with its nullability."""
    return _bare(g, node) + (" NOT NULL" if node.args.get("nullable") is False else "")


def _bare(g: Generator, node: n.Type) -> str:
    name = node.args["name"]
    params = node.args.get("params")
    if name == "INTERVAL":
        return f"INTERVAL {_units(node)}"
    if name in ("VARCHAR", "VARBINARY") and not params:
        return "STRING" if name == "VARCHAR" else "BYTES"
    if children := node.args.get("children"):
        return f"{name}<{comma(g, children)}>"
    if name == "ROW":
        return f"ROW<{comma(g, node.args.get('fields') or [])}>"
    if name == "RAW":
        return f"RAW({comma(g, node.args['text'])})"
    if name == "STRUCTURED":
        return f"STRUCTURED<{comma(g, [*node.args['text'], *(node.args.get('fields') or [])])}>"
    if params == [MAX_LENGTH]:
        return str(name)  # VARCHAR without a length is the longest
    return f"{name}({', '.join(map(str, params))})" if params else str(name)


def _units(node: n.Type) -> str:
    first, _, last = node.args["unit"].partition(" TO ")
    precision, fraction = node.args["params"]
    inner = "" if precision is None else f"({precision})"
    if not last:
        return first + (inner if fraction is None else f"({2 if precision is None else precision}, {fraction})")
    return f"{first}{inner} TO {last}" + ("" if fraction is None else f"({fraction})")


def field_sql(g: Generator, node: n.Field) -> str:
    """Print a field of a ROW type."""
    comment = node.args.get("comment")
    tail = f" {quoted_string(comment.this)}" if comment is not None else ""
    return f"{g.sql(node, 'this')} {g.sql(node, 'kind')}{tail}"
