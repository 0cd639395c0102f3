"""What stays different from Flink, each with its reason; the runner prints it beside the cases that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Reason -> cases. None of them is a value that Flink would give and we get wrong without a word, except that digits
# seven to nine of a second are cut, which a note says while planning (FD710).
FORMATS: Mapping[str, tuple[str, ...]] = {
    "digits 7 to 9 of a second: Spark's timestamps hold microseconds, FD710 says so": (
        "dec-json-timestamp9-ignore-stream",
        "dec-json-timestamp9-ignore-tree",
        "enc-json-timestamp-6-9",
        "enc-csv-timestamp-6-9",
        "enc-csv-ltz-0-6-9",
        "enc-json-iso-timestamp-6-9",
        "enc-json-iso-ltz-0-6-9",
    ),
    "Flink's JSON encoder of Avro puts a line feed before every record but a writer's first": (
        "enc-avro-json-double-special",
    ),
    "header-list is newer than the recorded connector; it is harmless": ("enc-meta-header-list",),
    "a header without a key fails the job: a key of a map is never NULL for Spark": ("enc-meta-headers-null-key",),
    "a field inside a nested object overwrites the column outside in Flink's stream parser, a bug": (
        "dec-json-object-in-scalar-stream",
    ),
    "with key.format and ALL Flink loses value.* metadata, a bug": ("dec-debezium-metadata-key-all",),
    "the recorder ran out of memory": ("dec-span-stop-timestamp-9001",),
    "several rows in key and value of one record: the same rows in another order": ("dec-key-array-array",),
}

# area -> what ids begin with -> reason
REASONS: Mapping[str, Mapping[str, str]] = {
    "queries": {
        "match-": "MATCH_RECOGNIZE is refused: Spark has no operator for row patterns",
        "ptf-": "FROM_CHANGELOG and TO_CHANGELOG are refused: a micro-batch does not keep every step of a changelog",
        "sink-debezium": "a key changes once a micro-batch: the steps in between, which Flink writes, are not written",
        "win-session-cube": "refused: Spark builds no sessions in a query that also updates what it gave out",
    },
    "formats": {name: why for why, names in FORMATS.items() for name in names},
    "views": {"dec-span-stop-timestamp-9001": "the recorder ran out of memory"},
    "validate": {
        "val-meta-16-header-list": "header-list is newer than the recorded connector; it is harmless",
        "val-meta-17-header-list": "header-list is newer than the recorded connector; it is harmless",
        "val-meta-headers-both-read": "header-list is newer than the recorded connector; it is harmless",
        "val-topic-list": "no column names the topic of a row (FD247): Flink plans the sink and fails at its first row",
    },
    "queries-batch": {
        "match-": "MATCH_RECOGNIZE is refused: Spark has no operator for row patterns",
        "ptf-": "FROM_CHANGELOG and TO_CHANGELOG are refused: a finished table has no changelog",
        "sink-conflict-materialize-none": "recorded while streaming, where a delete of one row takes the key from "
        "another; a finished table has no deletes, the last row of each key stays",
        "sink-debezium": "recorded while streaming, every step of a row; a finished table has one row for each",
    },
}


def reason(area: str, case: str) -> str | None:
    """Return why a case of an area is known to differ, or None."""
    return next((text for start, text in REASONS.get(area, {}).items() if case.startswith(start)), None)
