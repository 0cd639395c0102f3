"""decode.jsonl: records written to the case's topic, then its query; rows compared with those of Flink.

An insert-only result is compared row by row in order (sorted where the case says ``unordered``). Of an updating one
the net effect is compared, because a micro-batch folds what happens to a row within it: each row's number of
insertions less deletions. A bounded table of an insert-only format is read as the product does by default, in one batch
run; a table of changes in streaming mode, because only there the changes themselves are seen.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.conformance.formats import Difference
from tests.conformance.product import flink_type
from tests.support.javatext import java_text

if TYPE_CHECKING:
    from tests.conformance.formats import Case

STREAMING = "SET 'execution.runtime-mode' = 'streaming'"
TIMEOUT = 120.0
_CHANGES = re.compile(r"'upsert-kafka'|'(debezium-|canal-|maxwell-|ogg-)[a-z-]*'|WATERMARK FOR")
_SIGNS = {"+I": 1, "+U": 1, "-U": -1, "-D": -1}


def decode(case: Case) -> None:
    """Run one case; raises Difference, or what the product raises."""
    data, topics = case.data, case.world.topics
    names = topics.fill(data["ddl"], data["records"], data.get("partitions", 1))
    if data.get("committed"):
        topics.commit(f"g-{names[0]}", {names[0]: {int(p): o for p, o in data["committed"].items()}})
    catalog = case.session(*([STREAMING] if _CHANGES.search(data["ddl"]) else []))
    case.world.product.execute(catalog, data["ddl"])
    columns, rows, changelog = read(catalog, data["query"])
    if "error" in data:
        return
    _same(data["columns"], columns)
    expected = data["rows"]
    if changelog == "append" and all(r[0] == "+I" for r in expected):
        ordered = sorted if data.get("unordered") else list
        _same(ordered(expected), ordered(rows))
    else:
        _same(net(expected), net(rows))


def read(catalog: Any, query: str) -> tuple[list[list[str]], list[list[Any]], str]:
    """Return columns (name, type), rows (kind first) and changelog of a query, which runs to its end."""
    result = catalog.execute(query)
    fields = result.fields
    rows: list[list[Any]] = []

    def take(batch: Any) -> None:
        for change in batch.changes:
            values = [java_text(v, f.type) for v, f in zip(change.row, fields, strict=True)]
            rows.append([change.kind, *values])

    if not result.changes(take).await_termination(TIMEOUT):
        raise TimeoutError(query)
    return [[f.name, flink_type(f.type)] for f in fields], rows, result.changelog


def net(rows: list[list[Any]]) -> dict[str, int]:
    """Return how often each row is there more (or less) than before."""
    counts: Counter[str] = Counter()
    for kind, *values in rows:
        counts[json.dumps(values, ensure_ascii=False, sort_keys=True)] += _SIGNS[kind]
    return {row: n for row, n in sorted(counts.items()) if n}


def _same(expected: Any, got: Any) -> None:
    if expected != got:
        raise Difference(*_apart(expected, got))


def _apart(expected: Any, got: Any) -> tuple[Any, Any]:
    if isinstance(expected, dict):
        return dict(expected.items() - got.items()), dict(got.items() - expected.items())
    missing, extra = [r for r in expected if r not in got], [r for r in got if r not in expected]
    return (missing, extra) if missing or extra else (expected, got)
