"""The table of what starts took, and the queries that it asks."""

from __future__ import annotations

from tests.bench.starting import LINES, markdown


def test_the_table_has_before_beside_after() -> None:
    found = {"before": [dict.fromkeys(LINES, s) for s in (9.0, 12.0, 10.0)], "after": [dict.fromkeys(LINES, 5.0)]}
    lines = markdown(found).splitlines()[2:]
    assert lines == [f"| {what} | 10.0, 9.0, 12.0 | 5.0, 5.0, 5.0 | 2.00 |" for what in LINES]
    assert len(lines) == 3 + 2 + 2
