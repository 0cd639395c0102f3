"""The query that fills new operators, when the end is asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.supervising.queries import Queries
from tests.spark.test_carried import TOPS, job


class Endless:
    """A query that runs until it is stopped."""

    isActive = True

    def stop(self) -> None:
        self.isActive = False

    def awaitTermination(self) -> None:
        assert not self.isActive


def test_a_fill_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the checkpoint has changed by then, so that it is not waited for."""
    made = job(TOPS)
    query, asked = Endless(), iter([False, False, True])
    spark: Any = SimpleNamespace()
    frame: Any = SimpleNamespace()
    queries = Queries(spark, made, None)
    monkeypatch.setattr(queries, "_start", lambda *_: query)
    with pytest.raises(FlinkDdlError, match=r"FD678.*not yet filled when the end was asked for"):
        queries.run_once(frame, made.runs[0], "/nowhere", lambda: next(asked))
    assert not query.isActive
