"""Source texts and places in them: offsets become lines and columns here and nowhere else."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from flinkddl.diagnostics.secrets import MASK, secret_places


@dataclass(frozen=True)
class SourceText:
    """A script as it was read. ``name`` is what messages print: a file name, or ``<sql>`` for a string."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        starts.extend(i + 1 for i, c in enumerate(self.text) if c == "\n")
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return (line, column), both counted from 1, of a 0-based character offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of line ``number`` (from 1), without its line end."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")

    @cached_property
    def _hidden(self) -> tuple[tuple[int, int, str], ...]:
        return tuple(secret_places(self.text))

    def excerpt(self, start: int, end: int) -> tuple[str, int, int]:
        """Return the line of ``start`` as messages quote it, and the column (from 0) and width of the range in it.

        Secrets of the script are hidden in it, and then a range that lies within one is the whole of it.
        """
        number = self.position(start)[0]
        first, line = self._line_starts[number - 1], self.line(number)
        last = first + len(line)
        marks = [start, max(start, min(end, last))]
        out, at, shift = "", first, [0, 0]
        for begin, stop, shown in self._hidden:
            if stop <= first or begin >= last:
                continue
            left, right = max(begin, first), min(stop, last)
            text = shown.partition("\n")[0] if begin >= first else MASK
            out += self.text[at:left] + text
            at = right
            for i, mark in enumerate(marks):
                if mark >= right:
                    shift[i] += len(text) - (right - left)
                elif mark > left:
                    shift[i] += (left if i == 0 else left + len(text)) - mark
        out += self.text[at:last]
        column = start + shift[0] - first
        return out, column, max(1, marks[1] + shift[1] - first - column)


@dataclass(frozen=True)
class Span:
    """A half-open range ``[start, end)`` of characters in one source text."""

    source: SourceText
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters of the range."""
        return self.source.text[self.start : self.end]

    @property
    def position(self) -> tuple[int, int]:
        """(line, column) of the first character, counted from 1."""
        return self.source.position(self.start)

    def to(self, other: Span) -> Span:
        """Return the smallest range that holds both."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))

    def at(self, name: str) -> Span:
        """Return where a name stands first in the range; the range itself where it does not."""
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.text)
        return Span(self.source, self.start + found.start(), self.start + found.end()) if found else self

    def __str__(self) -> str:
        line, column = self.position
        return f"{self.source.name}:{line}:{column}"
