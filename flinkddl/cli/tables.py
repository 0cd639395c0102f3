"""Results as framed text, as Flink's SQL client prints them in tableau mode. Source: Flink's TableauStyle."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flinkddl.cli.cells import MAX_WIDTH, cell, data_widths, line, rule, type_width
from flinkddl.cli.common import count
from flinkddl.runtime.job.reporting.changes import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from flinkddl.catalog.settings import Settings
    from flinkddl.catalog.state import Catalog
    from flinkddl.plan.nodes import Field
    from flinkddl.script.compile import Start

OP = "op"
_PLAIN = ("result", "EXPLAIN")


@dataclass(frozen=True)
class Columns:
    """The columns of a query's result, how wide one may be shown, and which of them tell its rows apart.

    ``key`` is None where no columns do.
    """

    names: tuple[str, ...]
    fields: tuple[Field, ...]
    zone: str = "UTC"
    most: int = MAX_WIDTH
    key: tuple[int, ...] | None = None

    @classmethod
    def of(cls, fields: Sequence[Field], settings: Settings, most: int = MAX_WIDTH) -> Columns:
        """Return columns under the session's settings."""
        return cls(tuple(f.name for f in fields), tuple(fields), settings.zone, most)

    @classmethod
    def of_query(cls, query: Start, state: Catalog) -> Columns:
        """Return the columns of a SELECT."""
        sink = query.sinks[0]
        keys = sorted(sink.input.known_keys(), key=lambda k: (len(k), sorted(k)))
        columns = cls.of(sink.fields, state.settings, state.settings.table_display_max_column_width)
        return replace(columns, key=tuple(sorted(keys[0]))) if keys else columns

    def cells(self, row: Iterable[Any]) -> list[str]:
        """Return the texts of a row; what does not stand on one line is brought there."""
        texts = (cell(v, f.type, self.zone) for v, f in zip(row, self.fields, strict=True))
        return [one_line(t) for t in texts]

    def widths(self) -> list[int]:
        """Return the widths that the types alone give."""
        return [type_width(f.name, f.type, self.most) for f in self.fields]


def paired(changes: Sequence[Change], key: tuple[int, ...] | None) -> Iterator[Change]:
    """Yield the changes of a batch; what goes and comes anew under the same key becomes -U and +U, as in Flink.

    Deletions come first in a batch, so that a key is free before it is taken again.
    """
    if key is None or not any(c.kind == "-D" for c in changes):
        yield from changes
        return
    gone = {repr([c.row[i] for i in key]): c for c in changes if c.kind == "-D"}
    new = {repr([c.row[i] for i in key]) for c in changes if c.kind == "+I"}
    yield from (c for name, c in gone.items() if name not in new)
    for change in changes:
        before = gone.pop(repr([change.row[i] for i in key]), None) if change.kind == "+I" else None
        if before is not None:
            yield Change("-U", before.row)
            yield Change("+U", change.row)
        elif change.kind != "-D":
            yield change


def one_line(text: str) -> str:
    """Return a text with line ends and control characters made visible: a row is one line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _VISIBLE.get(c, "\ufffd") for c in text)


_VISIBLE = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def answer_lines(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of an answer that is known at once: a frame, or the text alone where it is one long text."""
    if len(columns) == 1 and columns[0] in _PLAIN and len(rows) == 1:
        yield from str(rows[0][0]).splitlines()
        return
    texts = [["" if v is None else one_line(str(v)) for v in row] for row in rows]
    yield from frame(columns, texts)
    yield in_set(len(rows))


def frame(columns: Sequence[str], rows: Sequence[Sequence[str]], most: int | None = None) -> Iterator[str]:
    """Yield a framed table whose rows are all known; nothing for no rows."""
    if not rows:
        return
    widths = data_widths(columns, rows, most)
    yield rule(widths)
    yield line(columns, widths)
    yield rule(widths)
    for row in rows:
        yield line(row, widths)
    yield rule(widths)


def record(names: Sequence[str], texts: Sequence[str], number: int, width: int = 0) -> Iterator[str]:
    """Yield a row as a line a column, values whole: beyond ``width`` (0: no limit) they go on below themselves."""
    lead = max(map(len, names), default=0)
    yield f"-[ row {number:,} ]".ljust(lead + 3, "-")
    room = max(8, width - lead - 3) if width else 0
    for name, text in zip(names, texts, strict=True):
        pieces = [text[i : i + room] for i in range(0, len(text), room)] if room and text else [text]
        for n, piece in enumerate(pieces):
            yield f"{'' if n else name:<{lead}} | {piece}"


def in_set(rows: int) -> str:
    """Return the line below a finished table."""
    return "Empty set" if rows == 0 else f"{count(rows, 'row')} in set"


class Tableau:
    """Prints a result while it comes: every change with its kind (streaming), or the finished table (batch).

    ``expanded``: a row is a line a column, nothing cut. ``last`` is when the last row came (monotonic seconds).
    """

    def __init__(
        self, columns: Columns, streaming: bool, write: Callable[[str], object], *, expanded: bool = False
    ) -> None:
        self.columns, self.streaming, self.write, self.expanded = columns, streaming, write, expanded
        self.count = 0
        self.last = time.monotonic()
        self._kept: list[list[str]] = []
        self._widths = [len(OP), *columns.widths()]
        self._begun = False
        self._lock = threading.RLock()  # rows come in a thread of Spark's

    def add(self, changes: Sequence[Change]) -> None:
        """Take the changes of a batch."""
        self.last = time.monotonic()
        with self._lock:
            for change in paired(changes, self.columns.key):
                self._take(change)

    def _take(self, change: Change) -> None:
        self.count += 1
        texts = self.columns.cells(change.row)
        if not self.streaming:
            self._kept.append(texts)
        elif self.expanded:
            self._record([OP, *self.columns.names], [change.kind, *texts], self.count)
        else:
            self.begin()
            self.write(line([change.kind, *texts], self._widths))

    def _record(self, names: Sequence[str], texts: Sequence[str], number: int) -> None:
        for text in record(names, texts, number):
            self.write(text)

    def begin(self) -> None:
        """Print what stands above the rows, before there are any."""
        with self._lock:
            if not self.streaming or self.expanded or self._begun:
                return
            self._begun = True
            for text in (rule(self._widths), line([OP, *self.columns.names], self._widths), rule(self._widths)):
                self.write(text)

    def end(self, *, cancelled: bool = False, note: str = "") -> None:
        """Close the frame and say how many rows there were."""
        note = f" {note}" if note else ""
        if not self.streaming:
            if self.expanded:
                for n, texts in enumerate(self._kept, 1):
                    self._record(self.columns.names, texts, n)
            else:
                for text in frame(self.columns.names, self._kept):
                    self.write(text)
            self.write(in_set(self.count) + note)
            return
        if self._begun:
            self.write(rule(self._widths))
        received = "Query terminated, received" if cancelled else "Received"
        self.write(f"{received} a total of {count(self.count, 'row')}{note}")
