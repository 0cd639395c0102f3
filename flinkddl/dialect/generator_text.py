"""What printed statements and types are put together from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlglot import exp
    from sqlglot.generator import Generator


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
