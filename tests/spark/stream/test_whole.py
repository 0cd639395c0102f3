"""A whole query as one chain: the same table in any order of delivery; a batch that runs again gives the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.spark.job import GroupBy, UnionAll, below
from tests.spark.stream import test_chain, test_stages
from tests.spark.stream.stages import expected, forget_commit, run
from tests.spark.stream.test_stages import made
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

QUERIES = test_stages.QUERIES | test_chain.QUERIES
IN_CI = ("join-left", "parts-of-one")
"""A join and parts that meet again; each kind, as one chain with all others, is in test_kinds.py."""


@pytest.mark.spark
@pytest.mark.parametrize("name", [n if n in IN_CI else nightly(n) for n in QUERIES])
def test_one_chain(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Rows of all tables enter at the first stage, and nothing is united above it."""
    query = QUERIES[name]
    node, rows = made(query, tmp_path)
    running = run(spark, node, config={"flinkddl.execution.state": "chain"})
    assert running.table == expected(rows, query.by_trial)
    assert not running.wrong
    steps = {s.name: s for s in running.steps}
    stages = [s for s in running.steps if isinstance(s, GroupBy)]
    assert stages
    assert all(s.stage for s in stages)
    united = [s for u in running.steps if isinstance(u, UnionAll) for s in below(u, steps)]
    assert not any(isinstance(s, GroupBy) for s in united)
    last, state = max(running.given), running.state(len(stages))
    assert state
    forget_commit(running.checkpoint, last)
    running.go()
    assert running.given[last][0] == running.given[last][1]
    assert running.state(len(stages)) == state
    running.close()
