"""The words that completion knows: which follow which, and where names of tables stand."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from flinkddl.cli.shell.candidates import Candidate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BEFORE_TABLE = frozenset({"FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "DESCRIBE", "DESC", "IN", "LIKE"})
"""Words after which a table is named. IN and LIKE have other uses too: their names are only offers."""

CLAUSES = frozenset({"SELECT", "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "ON", "SET", "VALUES"})
TYPES = (
    *("STRING", "INT", "BIGINT", "DOUBLE", "DECIMAL", "BOOLEAN", "TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", "DATE", "TIME"),
    *("FLOAT", "SMALLINT", "TINYINT", "CHAR", "VARCHAR", "BYTES", "BINARY", "VARBINARY", "ARRAY<", "MAP<", "ROW<"),
    *("MULTISET<", "AS"),
)
MAIN = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "INNER JOIN"),
    *("FULL JOIN", "RIGHT JOIN", "CROSS JOIN", "ON", "UNION ALL", "AND", "OR", "NOT", "AS", "WITH", "INSERT INTO"),
)
"""What a query is mostly made of: offered before columns and functions."""

KEYWORDS = (
    *("ALL", "ARRAY[", "ASC", "BETWEEN", "BY", "CASE", "CAST(", "COMMENT", "CONSTRAINT", "CUBE"),
    *("CURRENT ROW", "DAY", "DESC", "DESCRIPTOR(", "DISTINCT", "ELSE", "END", "ENFORCED", "ESCAPE", "EXCEPT"),
    *("EXCLUDING", "EXISTS", "EXTRACT(", "FALSE", "FETCH FIRST", "FILTER (WHERE", "FOLLOWING"),
    *("FOR SYSTEM_TIME AS OF", "GROUPING SETS", "HOUR", "IF EXISTS", "IF NOT EXISTS", "IN", "INCLUDING"),
    *("INTERSECT", "INTERVAL", "INTO", "IS NOT NULL", "IS NULL", "LATERAL TABLE(", "LIKE", "MAP[", "METADATA"),
    *("METADATA FROM", "MINUTE", "MONTH", "NOT ENFORCED", "NULL", "NULLS FIRST", "NULLS LAST", "OFFSET"),
    *("OVER (", "OVERWRITE", "PARTITION BY", "PARTITIONED BY", "PRECEDING", "PRIMARY KEY", "RANGE BETWEEN"),
    *("ROLLUP", "ROW(", "ROWS BETWEEN", "SECOND", "SIMILAR TO", "SYMMETRIC", "TABLE", "TABLE("),
    *("TEMPORARY", "THEN", "TRUE", "TRY_CAST(", "UNBOUNDED PRECEDING", "UNION", "UNKNOWN", "UNNEST("),
    *("USING", "VALUES", "VIEW", "VIRTUAL", "WATERMARK FOR", "WHEN", "WINDOW", "WITHIN", "YEAR"),
)

_AFTER: Mapping[str, tuple[str, ...]] = {
    "GROUP": ("BY",),
    "ORDER": ("BY",),
    "PARTITION": ("BY",),
    "INSERT": ("INTO", "OVERWRITE"),
    "PRIMARY": ("KEY",),
    "KEY": ("NOT ENFORCED", "("),
    "IS": ("NULL", "NOT NULL"),
    "LEFT": ("JOIN",),
    "RIGHT": ("JOIN",),
    "FULL": ("JOIN",),
    "INNER": ("JOIN",),
    "CROSS": ("JOIN",),
    "WATERMARK": ("FOR",),
    "UNION": ("ALL",),
    "METADATA": ("FROM", "VIRTUAL"),
    "NOT": ("NULL", "ENFORCED", "IN", "EXISTS"),
    "DESCRIBE": ("CATALOG", "DATABASE", "FUNCTION", "JOB"),
    "DESC": ("CATALOG", "DATABASE", "FUNCTION", "JOB"),
}
_PHRASES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("SHOW",): (
        *("TABLES", "VIEWS", "JOBS", "CATALOGS", "DATABASES", "FUNCTIONS", "USER FUNCTIONS", "COLUMNS FROM"),
        *("CREATE TABLE", "CREATE VIEW", "CREATE CATALOG", "CURRENT CATALOG", "CURRENT DATABASE", "MODULES"),
        *("FULL MODULES", "PARTITIONS", "JARS"),
    ),
    ("SHOW", "CREATE"): ("TABLE", "VIEW", "CATALOG"),
    ("SHOW", "CURRENT"): ("CATALOG", "DATABASE"),
    ("CREATE",): (
        *("TABLE", "TEMPORARY TABLE", "VIEW", "TEMPORARY VIEW", "TABLE IF NOT EXISTS", "OR REPLACE TABLE", "DATABASE"),
        *("CATALOG", "FUNCTION", "TEMPORARY FUNCTION"),
    ),
    ("CREATE", "TEMPORARY"): ("TABLE", "VIEW", "FUNCTION", "SYSTEM FUNCTION"),
    ("DROP",): ("TABLE", "VIEW", "DATABASE", "CATALOG", "FUNCTION", "TEMPORARY TABLE", "TEMPORARY VIEW"),
    ("ALTER",): ("TABLE", "VIEW", "DATABASE", "CATALOG", "FUNCTION"),
    ("USE",): ("CATALOG", "MODULES"),
    ("STOP",): ("JOB",),
    ("INSERT",): ("INTO", "OVERWRITE"),
    ("EXPLAIN",): (
        *("SELECT", "INSERT INTO", "PLAN FOR", "CHANGELOG_MODE", "ESTIMATED_COST", "JSON_EXECUTION_PLAN"),
        "STATEMENT SET BEGIN",
    ),
    ("EXECUTE",): ("STATEMENT SET BEGIN", "INSERT INTO", "SELECT"),
    ("BEGIN",): ("STATEMENT SET",),
    ("RESET",): (),
}


def phrase(keys: Sequence[str]) -> tuple[str, ...] | None:
    """Return what goes on after the first words of a statement, or None where that is not fixed."""
    return _PHRASES.get(tuple(keys)) if len(keys) <= 2 else None


def after(word: str) -> tuple[str, ...]:
    """Return what most often follows a word, beside names."""
    return tuple(f"TABLE({name}(TABLE" for name in _table_functions()) if word == "FROM" else _AFTER.get(word, ())


@cache
def _table_functions() -> tuple[str, ...]:
    from flinkddl.plan.builder.base import FUNCTIONS

    return tuple(FUNCTIONS)


@cache
def functions() -> tuple[Candidate, ...]:
    """Return every function that can be called by name."""
    from flinkddl.functions.catalogue import AGGREGATES, FUNCTIONS

    rows = {**FUNCTIONS, **AGGREGATES}.values()
    names = [(f.name, f.signature) for f in rows if not f.reason and f.name.replace("_", "").isalnum()]
    names += [(name, "TABLE t, ...") for name in _table_functions()]
    return tuple(Candidate(f"{name}(", _meta(signature)) for name, signature in sorted(names))


def _meta(signature: str) -> str:
    return f"({signature})" if signature else "function"
