"""Expression cases whose answer is not Flink's, by class, with the reason.

Most classes are plain mistakes of Flink 2.3, where the sensible answer is given; the rest is refused or fails aloud.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """One class of differences: what Flink does, what happens here."""

    name: str
    reason: str
    ids: tuple[str, ...]


CLASSES = (
    Known(
        "an element that is not there",
        "Flink gives -1, false or '' for a NOT NULL element type, and IS NULL of it is false; here it is NULL",
        (
            *("array-at-array-1-2-3-4", "array-at-array-1-2-3-neg1", "array-at-array-1-2-3-null-int", "array-at-lit-9"),
            *("array-bool-out-of-range", "array-bool-out-of-range-lit", "array-double-out-of-range"),
            *("array-out-of-range-is-null", "element-empty", "element-null-array-1", "map-at-map-a-1-b-2-z"),
            *("map-at-map-a-1-null-string", "map-str-missing", "map-str-missing-lit"),
        ),
    ),
    Known(
        "NULL in a NOT NULL type",
        "Flink simplifies IS NULL and COALESCE by the declared type although a decimal overflowed; here NULL is NULL",
        ("case-overflow-cast-lit", "coalesce-dec-overflow-not-null-type", "is-null-dec-overflow-not-null-type-lit"),
    ),
    Known(
        "constants that Flink folds with other arithmetic than it runs",
        "the same call over columns gives what is given here",
        (
            *("add-overflow-float-lit", "cast-0p1-float-to-double-lit", "cast-1e40-to-float-lit", "eq-mix-nan-lit"),
            "log-base-0-5-lit",
        ),
    ),
    Known(
        "digits beyond microseconds",
        "Spark holds microseconds: such a literal is refused, such a text or number fails the job",
        (
            "cast-2024-02-29-10-11-12p12345678-to-string",
            "cast-2024-02-29-10-11-12p12345678-to-timestamp-9",
            *("date-format-ts9", "extract-nano-9", "floor-ts9-second", "json-object-ts9"),
        ),
    ),
    Known(
        "dates and times before 1970, and clock fields of a DATE",
        "Flink's remainder is negative or of days taken as milliseconds; here it is the field of the calendar",
        (
            *("extract-second-date", "extract-second-pre-epoch", "extract-second-pre-epoch-lit", "second-fn-date"),
            *("extract-millisecond-date", "ceil-quarter-apr1"),
        ),
    ),
    Known(
        "TIMESTAMPDIFF in MILLISECOND",
        "Flink drops the milliseconds of both sides; here they count",
        ("timestampdiff-millisecond",),
    ),
    Known(
        "ROUND and TRUNCATE of a DECIMAL to a number of digits that is no literal",
        "Flink moves the point of the result; here the value keeps its size",
        (
            *("round2-12345p678-decimal-10-3-1", "round2-1234p567-neg2", "round2-1p255-2", "round2-1p5-0"),
            *("round2-neg1p255-2", "truncate2-12345p678-decimal-10-3-1", "truncate2-1299p5-neg2", "truncate2-1p299-2"),
            "truncate2-neg1p299-2",
        ),
    ),
    Known(
        "text that is no date",
        "Flink's TO_DATE with a pattern gives the year 1705471; here it is NULL",
        ("to-date2-abc-yyyy", "to-date2-abc-yyyy-lit"),
    ),
    Known(
        "order of characters above U+FFFF",
        "Flink compares UTF-16 or UTF-8 depending on how it holds the two texts; here it is always UTF-8",
        ("lt-mix-emoji", "lt-mix-emoji-lit"),
    ),
    Known(
        "NaN and minus zero in aggregates",
        "Flink's MAX depends on the order of the rows, -0.0 is a group of its own; here NaN is the largest number",
        ("agg-double-nan", "agg-double-nan-streaming", "agg-group-double-zero"),
    ),
    Known(
        "the order within a set",
        "ARRAY_AGG(DISTINCT ..) promises none: Flink's batch engine has sorted the rows, here they stand as they came",
        ("agg-nulls-array_agg-distinct-v",),
    ),
    Known(
        "refused by name or failing aloud",
        "maps have no order in Spark and no NULL keys; a DATE and a TIMESTAMP have no common type",
        (
            *("lt-mix-map", "map-from-arrays-array-cast-null-as-string-array-1"),
            "coalesce-null-date-timestamp-2024-01-01-00-00-0",
        ),
    ),
)


def known(case: str) -> Known | None:
    """Return the class that a case belongs to, or None for a difference that nobody explained."""
    return next((k for k in CLASSES if case in k.ids), None)
