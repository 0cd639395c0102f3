"""Recorded queries whose recorded answer is a plain mistake of Flink 2.3: the right answer, which ours must give.

Each was asked of the same Flink's batch engine, which has not that mistake; of rows with equal sort keys the one that
came first stays, as in every Top-N over a stream. Their changelog is updating.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REASON = "right where Flink 2.3 is not: its stream never takes back a Top-1 that lost its place (FLINK-40368)"
RIGHT: Mapping[str, Sequence[Sequence[str | None]]] = {
    "topn-one-agg": [["4", "72"]],
    "topn-one-asc": [["jam", "24", None], ["oat", "1", None], ["rye", "12", None], ["tea", "3", None]],
    "topn-one-asc-asc": [["jam", "24", None], ["oat", "1", None], ["rye", "12", None], ["tea", "3", None]],
    "topn-one-asc-desc": [["jam", "24", None], ["oat", "1", None], ["rye", "39", None], ["tea", "22", None]],
    "topn-one-global": [["28", "20"]],
    "topn-one-rank": [["jam", "49", "20", "1"], ["oat", "28", "20", "1"], ["rye", "23", "12", "1"],
                      ["tea", "40", "20", "1"]],
    "topn-one-time-then-id": [["east", "58", "2024-03-01T10:04:15"], ["north", "60", "2024-03-01T10:04:30"],
                              ["south", "59", "2024-03-01T10:04:17"], [None, "51", "2024-03-01T10:03:29"]],
}  # fmt: skip
