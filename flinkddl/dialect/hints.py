"""The hints that Flink 2.3 has and what each must hold, as ``FlinkHintStrategies`` checks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import suggest
from flinkddl.dialect.nodes import Option

if TYPE_CHECKING:
    from sqlglot import exp

PAIRS = {"OPTIONS": "'key' = 'value'", "STATE_TTL": "'table' = '1 d'", "LOOKUP": "'table' = 'name'"}
"""Hints that hold pairs -> such a pair."""
TABLES = frozenset({"BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN"})
"""Hints that hold names of tables."""
_OTHERS = frozenset({"ALIAS", "JSON_AGGREGATE_WRAPPED"})  # the planner's own, which it takes from a script too


def mistake(name: str, items: list[exp.Expression]) -> tuple[str, str] | None:
    """Return why Flink 2.3 refuses a hint, whatever the query, and what to write; None for one that it takes."""
    pairs = [item for item in items if isinstance(item, Option)]
    if name in TABLES and len(pairs) == len(items):
        return f"hint {name} names no table", f"write {name}(table)"
    if name == "LOOKUP" and not any(pair.name == "table" for pair in pairs):
        return "hint LOOKUP names no table", f"write LOOKUP({PAIRS[name]})"
    if name in PAIRS and not items:
        return f"hint {name} holds nothing", f"write {name}({PAIRS[name]})"
    if name in PAIRS or name in TABLES or name in _OTHERS:
        return None
    meant = suggest(name, [*PAIRS, *TABLES])
    return f"there is no hint {name}", f"did you mean {meant}?" if meant else "remove it"
