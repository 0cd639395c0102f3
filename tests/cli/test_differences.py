"""README's "What differs from Flink" names what stays different: options, settings, findings, recorded cases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flinkddl.catalog.settings import table as settings
from flinkddl.cli import differences, options
from flinkddl.diagnostics.codes import all_codes
from tests.conformance import differences as recorded
from tests.conformance import known

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
CHAPTER = README[README.index("## What differs from Flink") : README.index("## How it is built")]
WORDS = " ".join(CHAPTER.split())

IDLE = ("ignored", "refused")
OPTIONS = {f"{d.name}-{s.key}": s.key for d in options.documents() for s in d.options.values() if s.use in IDLE}
SETTINGS = {s.key: s.key for s in settings().values() if s.use in IDLE}


@pytest.mark.parametrize("key", (OPTIONS | SETTINGS).values(), ids=OPTIONS | SETTINGS)
def test_what_does_nothing_or_is_refused_is_named(key: str) -> None:
    assert f"`{key}`" in CHAPTER


# Findings of "not available on Spark" that are none: Flink refuses the same, or they are about what is ours.
AS_IN_FLINK = {"FD641", "FD643", "FD644", "FD651", "FD652", "FD654", "FD655", "FD672", "FD673", "FD674"}
OURS = {
    "FD660",
    "FD661",
    "FD662",
    "FD663",
    "FD664",
    "FD665",
    "FD666",
    "FD668",
    "FD675",
    "FD676",
    "FD677",
    "FD678",
    "FD679",
}


def test_each_finding_of_what_spark_has_not_is_named_or_is_none() -> None:
    family = {code for code in all_codes() if code.startswith("FD6")}
    named = set(differences.CODES)
    assert named <= set(all_codes())
    assert family == (named & family) | AS_IN_FLINK | OURS
    assert not named & (AS_IN_FLINK | OURS)
    assert all(f"| {code} |" in CHAPTER for code in named)


# What the conformance runner says of a difference -> README's words for it; None for what is none.
NAMED: dict[str, str | None] = {
    "digits 7 to 9 of a second: Spark's timestamps hold microseconds, FD710 says so": "Spark holds microseconds",
    "Flink's JSON encoder of Avro puts a line feed before every record but a writer's first":
        "the line feed that its JSON",
    "header-list is newer than the recorded connector; it is harmless": "`header-list` is taken",
    "a header without a key fails the job: a key of a map is never NULL for Spark": "A header without a key fails",
    "a field inside a nested object overwrites the column outside in Flink's stream parser, a bug": "nested object",
    "with key.format and ALL Flink loses value.* metadata, a bug": "`value.*` metadata that is lost",
    "the recorder ran out of memory": None,
    "several rows in key and value of one record: the same rows in another order": "several rows in key and value",
    "MATCH_RECOGNIZE is refused: Spark has no operator for row patterns": "MATCH_RECOGNIZE",
    "FROM_CHANGELOG and TO_CHANGELOG are refused: a micro-batch does not keep every step of a changelog":
        "FROM_CHANGELOG and TO_CHANGELOG are refused",
    "FROM_CHANGELOG and TO_CHANGELOG are refused: a finished table has no changelog":
        "FROM_CHANGELOG and TO_CHANGELOG are refused",
    "a key changes once a micro-batch: the steps in between, which Flink writes, are not written":
        "Within a micro-batch a key changes once",
    "refused: Spark builds no sessions in a query that also updates what it gave out": "a session window in this place",
    "no column names the topic of a row (FD247): Flink plans the sink and fails at its first row": "FD247",
    "recorded while streaming, where a delete of one row takes the key from another; a finished table has no deletes, "
    "the last row of each key stays": "In a bounded run of finished tables there are no deletes",
    "recorded while streaming, every step of a row; a finished table has one row for each": "one row for each key",
    "an element that is not there": "a missing element of an array or map literal is NULL",
    "NULL in a NOT NULL type": "IS NULL of a DECIMAL that overflowed is TRUE",
    "constants that Flink folds with other arithmetic than it runs": "constants follow the arithmetic of columns",
    "digits beyond microseconds": "fail a literal or a CAST",
    "dates and times before 1970, and clock fields of a DATE": "fields of times before 1970 and of a DATE",
    "TIMESTAMPDIFF in MILLISECOND": "TIMESTAMPDIFF counts milliseconds",
    "ROUND and TRUNCATE of a DECIMAL to a number of digits that is no literal": "take a column for the digits",
    "text that is no date": "text that is no date is NULL",
    "order of characters above U+FFFF": "text sorts by code point",
    "NaN and minus zero in aggregates": "NaN is the largest number",
    "the order within a set": "ARRAY_AGG(DISTINCT ...)",
    "refused by name or failing aloud": "have no common type",
}  # fmt: skip


def test_each_recorded_difference_is_named() -> None:
    reasons = {why for area in recorded.REASONS.values() for why in area.values()} | {c.name for c in known.CLASSES}
    assert reasons == set(NAMED)
    assert [words for words in NAMED.values() if words is not None and words not in WORDS] == []


def test_each_code_that_is_named_has_a_page() -> None:
    assert set(re.findall(r"FD\d{3}", CHAPTER)) <= set(all_codes())
