"""What stays different from Flink, each with its reason; the runner prints it beside the cases that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# area -> what ids begin with -> reason
REASONS: Mapping[str, Mapping[str, str]] = {
    "queries": {
        "match-": "MATCH_RECOGNIZE is refused: Spark has no operator for row patterns",
        "ptf-": "FROM_CHANGELOG and TO_CHANGELOG are refused: a micro-batch does not keep every step of a changelog",
        "win-proctime": "windows over processing time are refused: Spark closes no window without a later record",
        "sink-debezium": "a key changes once a micro-batch: the steps in between, which Flink writes, are not written",
        "win-multi-partition": "one watermark for all partitions: rows of a partition that lags behind can be late",
        "win-session-cube": "refused: Spark builds no sessions in a query that also updates what it gave out",
    },
    "queries-batch": {
        "match-": "MATCH_RECOGNIZE is refused: Spark has no operator for row patterns",
        "ptf-": "FROM_CHANGELOG and TO_CHANGELOG are refused: a finished table has no changelog",
    },
}


def reason(area: str, case: str) -> str | None:
    """Return why a case of an area is known to differ, or None."""
    return next((text for start, text in REASONS.get(area, {}).items() if case.startswith(start)), None)
