"""Scripts of a size that programs write: chains of thousands, stacks of views, wide tables, many statements."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SOURCE = "a INT, b BIGINT, d DOUBLE, e DECIMAL(10, 2), s STRING, f BOOLEAN"


def table(name: str, columns: str) -> str:
    """Return a Kafka table."""
    options = f"'topic' = '{name}', 'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset'"
    return f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'kafka', {options}, 'format' = 'json');\n"


def insert(query: str, kind: str = "INT") -> str:
    """Return a script that writes a query over ``src`` into a table of one column."""
    return table("src", SOURCE) + table("snk", f"x {kind}") + f"INSERT INTO snk {query};\n"


def column(expression: str, kind: str = "INT") -> str:
    """Return a script that writes an expression."""
    return insert(f"SELECT {expression} FROM src", kind)


def where(condition: str) -> str:
    """Return a script with a condition."""
    return insert(f"SELECT a FROM src WHERE {condition}")


def views(count: int, query: str) -> str:
    """Return a script with views over views; ``{0}`` in the query is the one below."""
    names = ["src", *(f"v{i}" for i in range(count))]
    stack = (f"CREATE VIEW {b} AS {query.format(a)};\n" for a, b in pairwise(names))
    return table("src", SOURCE) + table("snk", "x INT") + "".join(stack) + f"INSERT INTO snk SELECT a FROM {names[-1]};"


def wide(count: int, chosen: str) -> str:
    """Return a script that copies a table of many columns; ``{0}`` is one of them."""
    columns = ", ".join(f"c{i} INT" for i in range(count))
    picked = ", ".join(chosen.format(f"c{i}") for i in range(count))
    return table("src", columns) + table("snk", columns) + f"INSERT INTO snk SELECT {picked} FROM src;"


def statements(count: int, query: str = "SELECT a + {0} FROM src", together: bool = False) -> str:
    """Return a script of many INSERTs."""
    all_ = "".join(f"INSERT INTO snk {query.format(i)};\n" for i in range(count))
    begin, end = ("EXECUTE STATEMENT SET BEGIN\n", "END;") if together else ("", "")
    return table("src", SOURCE) + table("snk", "x INT") + begin + all_ + end


def nested(count: int, around: str, inner: str) -> str:
    """Return ``around`` as often around ``inner``."""
    before, _, after = around.partition("{0}")
    return before * count + inner + after * count


def each(count: int, text: str, between: str = ", ") -> str:
    """Return a text for each number."""
    return between.join(text.format(i) for i in range(count))


def with_clause(count: int) -> str:
    """Return a script with queries one over the other in one WITH."""
    names: Iterable[tuple[str, str]] = ((f"w{i}", f"w{i - 1}" if i else "src") for i in range(count))
    parts = ", ".join(f"{a} AS (SELECT a + 1 AS a FROM {b})" for a, b in names)
    return insert(f"WITH {parts} SELECT a FROM w{count - 1}")


SHAPES: dict[str, tuple[int, Callable[[int], str]]] = {
    "+": (2000, lambda n: column(each(n, "a", " + "))),
    "+ of BIGINT": (2000, lambda n: column(each(n, "b", " + "), "BIGINT")),
    "- of DOUBLE": (2000, lambda n: column(each(n, "d", " - "), "DOUBLE")),
    "+ of DECIMAL": (2000, lambda n: column(each(n, "e", " + "), "DECIMAL(38, 2)")),
    "*": (2000, lambda n: column(each(n, "a", " * "))),
    "||": (2000, lambda n: column(each(n, "s", " || "), "STRING")),
    "AND": (2000, lambda n: where(each(n, "a <> {0}", " AND "))),
    "OR": (2000, lambda n: where(each(n, "a = {0} AND b > {0}", " OR "))),
    "IN": (5000, lambda n: where(f"a IN ({each(n, '{0}')})")),
    "CASE": (2000, lambda n: column(f"CASE {each(n, 'WHEN a = {0} THEN {0}', ' ')} END")),
    "VALUES": (5000, lambda n: insert(f"VALUES {each(n, '({0})')}")),
    "UNION ALL": (2000, lambda n: insert(each(n, "SELECT a + {0} FROM src", " UNION ALL "))),
    "WITH": (500, with_clause),
    "views": (500, lambda n: views(n, "SELECT a + 1 AS a, s FROM {0} WHERE a > 5")),
    "doubling views": (500, lambda n: views(n, "SELECT a + a AS a FROM {0}")),
    "columns": (5000, lambda n: wide(n, "{0}")),
    "computed columns": (2000, lambda n: wide(n, "{0} + 1 AS {0}")),
    "INSERTs": (2000, statements),
    "statement set": (1000, lambda n: statements(n, together=True)),
}
_SELF_JOIN = "SELECT l.a, r.s FROM {0} AS l JOIN {0} AS r ON l.a = r.a"
REFUSED: dict[str, tuple[str, str]] = {
    "brackets": ("FD117", column(nested(500, "({0})", "a"))),
    "functions": ("FD117", column(nested(500, "UPPER({0})", "s"), "STRING")),
    "CASE in CASE": ("FD117", column(nested(500, "CASE WHEN f THEN {0} ELSE 2 END", "a"))),
    "queries": ("FD117", insert(nested(500, "SELECT a FROM ({0})", "SELECT a FROM src"))),
    "functions through views": ("FD118", views(500, "SELECT -a AS a FROM {0}")),
    "arguments written out": ("FD119", column(nested(40, "ABS({0} - 1)", "a"))),
    "self-joined views": ("FD120", views(13, _SELF_JOIN)),
    "many self-joined views": ("FD120", views(80, _SELF_JOIN)),
}
