"""The table that a shown query's changes leave, and where its rows stand."""

from __future__ import annotations

import pytest

from flinkddl import sqltypes as T
from flinkddl.catalog.settings import Settings
from flinkddl.cli.shell.results import ChangelogResult, TableResult
from flinkddl.cli.tables import Columns
from flinkddl.plan.nodes import Field
from flinkddl.runtime.job.reporting.changes import Change, RowKind

COLUMNS = Columns.of((Field("k", T.STRING), Field("n", T.INT)), Settings())


def changes(*texts: str) -> list[Change]:
    kinds: dict[str, RowKind] = {"+I": "+I", "-U": "-U", "+U": "+U", "-D": "-D"}
    return [Change(kinds[t[:2]], (t[3], int(t[4:]))) for t in texts]


BATCHES = [
    ([["+I a1", "+I b1"]], ["a1", "b1"]),
    ([["+I a1", "+I b1"], ["-U a1", "+U a2"]], ["a2", "b1"]),
    ([["+I a1", "+I b1"], ["-D a1", "-D b1", "+I b2", "+I a2"]], ["a2", "b2"]),
    ([["+I a1", "+I b1"], ["-D a1"], ["+I c1"]], ["b1", "c1"]),
    ([["+I a1", "+I a1"], ["-D a1"]], ["a1"]),
    ([["-D z1", "+I a1"]], ["a1"]),
    ([["+I a1", "+I b1", "+I c1", "+I d1"]], ["b1", "c1", "d1"]),
    ([["+I a1", "+I a1", "+I b1", "+I c1"], ["-D a1"]], ["b1", "c1"]),
]


@pytest.mark.parametrize(("batches", "rows"), BATCHES)
def test_rows_stay_in_place(batches: list[list[str]], rows: list[str]) -> None:
    result = TableResult(COLUMNS, 3)
    for batch in batches:
        result.add(changes(*batch))
    assert [k + n for k, n in result.page(0, 10)] == rows
    assert len(result) == len(rows)
    assert result.count == sum(map(len, batches))


def test_a_changelog_keeps_the_last_changes() -> None:
    result = ChangelogResult(COLUMNS, 2)
    result.add(changes("+I a1", "-U a1", "+U a2"))
    assert result.header == ("op", "k", "n")
    assert result.page(0, 9) == [["-U", "a", "1"], ["+U", "a", "2"]]
    assert result.page(1, 9) == [["+U", "a", "2"]]
    assert (len(result), result.count) == (2, 3)
