"""Every recorded query: names and types of its columns, and whether it is refused, as Flink answered. No JVM."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plan import golden

CASES = list(golden.cases())
QUERIES = [c for c in CASES if "query" in c]
INSERTS = [c for c in CASES if "sink_statement" in c]

# id or prefix -> why our answer differs
MATCH = "MATCH_RECOGNIZE is refused with a pointer: Spark has nothing for it"
PTF = "TO_CHANGELOG and FROM_CHANGELOG, new in 2.x, are refused"
CHANGELOG = "decided by changelog inference, after this plan"
RUNTIME = "fails on the data, not in planning"
KNOWN = {
    "match-": MATCH,
    "ptf-": PTF,
    "agg-json-arrayagg": RUNTIME,
    "ref-scalar-many-rows": RUNTIME,
    "ref-wrong-type-compare": RUNTIME,
    "win-null-rowtime": RUNTIME,
    "ref-interval-updating": CHANGELOG,
    "ref-over-on-upsert-rowtime": CHANGELOG,
    "sink-append-error-wm": RUNTIME,
    "sink-null-pk": RUNTIME,
}
# refusals of INSERTs that need the changelog of the query
CHANGELOG_ERRORS = ("doesn't support consuming", "The query has an upsert key that differs", "ON CONFLICT DO")


def _known(case: dict[str, Any]) -> str | None:
    return next((why for key, why in KNOWN.items() if case["id"].startswith(key)), None)


@pytest.mark.parametrize("case", QUERIES, ids=lambda c: c["id"])
def test_query(case: dict[str, Any]) -> None:
    answer, catalog = golden.prepared(case["setup"])
    if answer.error is None:
        answer, _ = golden.run([case["query"]], catalog)
    known = _known(case)
    if known is not None:
        assert (answer.error is None) == ("error" in case and case["error"] is not None), known
    elif case.get("error"):
        assert answer.error is not None, f"not refused: {case['error'][1]}"
    else:
        assert answer.error is None
        assert answer.columns == case["columns"]


@pytest.mark.parametrize("case", INSERTS, ids=lambda c: c["id"])
def test_insert(case: dict[str, Any]) -> None:
    ddl = case["sink_ddl"]
    setup = [*case["setup"], *(ddl if isinstance(ddl, list) else [ddl])]
    answer, catalog = golden.prepared(setup)
    if answer.error is None:
        answer, _ = golden.run([case["sink_statement"]], catalog)
    error = case.get("sink_error")
    if error and (_known(case) or error[1].startswith(CHANGELOG_ERRORS) or CHANGELOG_ERRORS[0] in error[1]):
        assert answer.error is None
    elif error:
        assert answer.error is not None, f"not refused: {error[1]}"
    else:
        assert answer.error is None
        assert answer.sinks
