"""Families around answers that were once wrong, as a real Flink gives them; differences that stay have their reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance import beside
from tests.support.kernels import kernel_session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession


# file -> pattern over ids -> why ours is another answer, or none
KNOWN: dict[str, dict[str, str]] = {
    "intervals": {
        r"interval-of-big-bigint-9\d+-p-(day|hour|second-3)|(interval-of-)?lit-big(dec)?-(?i:day|hour)": (
            "Spark's intervals are microseconds in 64 bits: beyond 292,000 years it is refused or fails aloud"
        ),
        r"lit-cast-dec-.*": "Flink folds a constant CAST of a DECIMAL to an interval, of a column it has none: refused",
    },
    "clocks": {
        r"diff-(ltz-ltz|(date|ts6?)-ts6?|ts6?-date|time3?-time3?)-millisecond": (
            "Flink drops the milliseconds of both sides; here they count (tests/conformance/known.py)"
        ),
        r"(diff|minus).*-(time3?|TIME).*-(month|quarter|year|MONTH|YEAR)": (
            "Flink takes the milliseconds of a TIME for days, the answer means nothing: refused"
        ),
    },
}


@pytest.fixture(scope="module")
def quick() -> SparkSession:
    """A session that does not compile what runs once."""
    off = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    return kernel_session(**off, **{"spark.sql.shuffle.partitions": "1", "spark.sql.mapKeyDedupPolicy": "LAST_WIN"})


def check(name: str, differences: Iterable[tuple[str, str]], asked: Iterable[dict[str, Any]]) -> None:
    """Every difference is a known one, and every known one is still there."""
    found = dict(differences)
    known = {p: [c["id"] for c in asked if re.fullmatch(p, c["id"])] for p in KNOWN[name]}
    explained = {i for ids in known.values() for i in ids}
    assert {i: d for i, d in found.items() if i not in explained} == {}
    assert [p for p, ids in known.items() if ids and not found.keys() & set(ids)] == []


@pytest.mark.spark
@pytest.mark.parametrize("name", ["intervals", "clocks"])
def test_expressions_are_flinks(quick: SparkSession, name: str) -> None:
    check(name, beside.scalars(name, quick), beside.cases(name))


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_family_has_its_neighbours(name: str) -> None:
    ids = [c["id"] for c in beside.cases(name)]
    assert len(ids) == len(set(ids)) >= 20
