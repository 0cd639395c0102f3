"""The table of a run, in Markdown."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.bench.nexmark.engines import Took

HEAD = (
    "query", "rows", "ours s", "Flink s", "Flink / ours", "RocksDB s", "RocksDB / ours",
    "CPU s ours, Flink, RocksDB", "first run s ours, Flink", "result",
)  # fmt: skip


@dataclass
class Row:
    """What is known of a query: by engine the first run and those after it, and whether the results are equal."""

    query: str
    runs: dict[str, list[Took]] = field(default_factory=dict)
    rows: int | None = None
    failed: dict[str, str] = field(default_factory=dict)
    said: str = ""

    def seconds(self, engine: str) -> float | None:
        """Return the median of an engine's runs after the first one."""
        return self._median(engine, "seconds")

    def cpu(self, engine: str) -> float | None:
        """Return the median of an engine's CPU seconds after the first one."""
        return self._median(engine, "cpu")

    def ratio(self, engine: str) -> float | None:
        """Return how many times as long as ours an engine took."""
        ours, theirs = self.seconds("ours"), self.seconds(engine)
        return theirs / ours if ours and theirs else None

    def cells(self) -> list[str]:
        engines = ("ours", "flink-heap", "flink-rocksdb")
        ours, heap, rocks = (_number(self.seconds(e), 1) for e in engines)
        cpu = _list(map(self.cpu, engines))
        first = _list([self._first(engines[:1]), self._first(engines[1:])])
        ratios = [_number(self.ratio(e), 2) for e in engines[1:]]
        rows = "" if self.rows is None else f"{self.rows:,}"
        return [self.query, rows, ours, heap, ratios[0], rocks, ratios[1], cpu, first, self.said]

    def _median(self, engine: str, what: str) -> float | None:
        found = [getattr(took, what) for took in self.runs.get(engine, [])[1:]]
        return statistics.median(found) if found else None

    def _first(self, engines: Sequence[str]) -> float | None:
        """Return the first run of the first of the engines that ran."""
        return next((self.runs[e][0].seconds for e in engines if self.runs.get(e)), None)


def markdown(rows: Sequence[Row]) -> str:
    """Return the table, with the geometric means of the ratios below."""
    lines = [_line(HEAD), _line(["---"] * len(HEAD)), *(_line(row.cells()) for row in rows)]
    means = [_mean(row.ratio(engine) for row in rows) for engine in ("flink-heap", "flink-rocksdb")]
    total = ["geometric mean", "", "", "", means[0], "", means[1], "", "", ""]
    return "\n".join([*lines, _line(total)])


def beside(rows: Sequence[Row]) -> str:
    """Return the table of several engines of ours: what each took, and the first one's CPU over the others'."""
    engines = list(dict.fromkeys(engine for row in rows for engine in row.runs))
    head = ["query", "rows", f"s {', '.join(engines)}", "CPU s", "CPU of the first over the others'", "result"]
    lines = [_line(head), _line(["---"] * len(head))]
    for row in rows:
        cpu = [row.cpu(engine) for engine in engines]
        ratios = ", ".join(_number(cpu[0] / other if cpu[0] and other else None, 2) for other in cpu[1:])
        seconds = _list(row.seconds(engine) for engine in engines)
        lines.append(_line([row.query, f"{row.rows or 0:,}", seconds, _list(cpu), ratios, row.said]))
    return "\n".join(lines)


def _mean(ratios: Iterable[float | None]) -> str:
    found = [ratio for ratio in ratios if ratio]
    return _number(statistics.geometric_mean(found) if found else None, 2)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _list(values: Iterable[float | None]) -> str:
    return ", ".join(_number(value, 1) or "-" for value in values)
