"""What printed statements are put together from: lists, texts, names and types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.dialect.cursor import PLAIN_NAME
from flinkddl.sqltypes import MAX_LENGTH, quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlglot import exp
    from sqlglot.generator import Generator

    from flinkddl.dialect import nodes as n


def comma(g: Generator, items: Iterable[exp.Expression]) -> str:
    """Print nodes with commas between them."""
    return ", ".join(g.sql(item) for item in items)


def quoted_string(text: str) -> str:
    """Print a string literal: only the quotation mark is doubled."""
    return "'" + text.replace("'", "''") + "'"


def words(*parts: str | bool | None) -> str:
    """Join the parts that are there."""
    return " ".join(p for p in parts if isinstance(p, str) and p)


def block(g: Generator, items: list[exp.Expression]) -> str:
    """Print a parenthesised list, one item a line when pretty."""
    if not g.pretty or not items:
        return f"({comma(g, items)})"
    inner = ",\n".join("  " + g.sql(item).replace("\n", "\n  ") for item in items)
    return f"(\n{inner}\n)"


def called(g: Generator, node: exp.Expression) -> str:
    """Print a call: the path and the name, in back-ticks where it must be, and the arguments."""
    path = "".join(f"{g.sql(part)}." for part in node.args.get("path") or [])
    name = node.this if PLAIN_NAME.fullmatch(node.this) else quote(node.this)
    return f"{path}{name}({comma(g, node.expressions)})"


# ---- types -------------------------------------------------------------------------------------------------------


def type_sql(g: Generator, node: n.Type) -> str:
    """Print a type with its nullability."""
    return _bare(g, node) + (" NOT NULL" if node.args.get("nullable") is False else "")


def _bare(g: Generator, node: n.Type) -> str:
    name = node.args["name"]
    params = node.args.get("params")
    if name == "INTERVAL":
        return f"INTERVAL {units_sql(node.args['unit'], *node.args['params'])}"
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


def units_sql(units: str, precision: int | None, fraction: int | None) -> str:
    """Print the units of an interval, such as ``DAY TO SECOND``, with their digits: ``DAY(3) TO SECOND(6)``."""
    first, _, last = units.partition(" TO ")
    inner = "" if precision is None else f"({precision})"
    if last:
        return f"{first}{inner} TO {last}" + ("" if fraction is None else f"({fraction})")
    return first + (inner if fraction is None else f"({2 if precision is None else precision}, {fraction})")


def field_sql(g: Generator, node: n.Field) -> str:
    """Print a field of a ROW type."""
    comment = node.args.get("comment")
    tail = f" {quoted_string(comment.this)}" if comment is not None else ""
    return f"{g.sql(node, 'this')} {g.sql(node, 'kind')}{tail}"
