"""Changes to a text that leave the rest of it as it is: comments, layout, and the way its commas stand.

A line that was only taken out of goes with what stood on it; a comment keeps its line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.diagnostics import SourceText
    from flinkddl.dialect.tokens import Lexed

_BLANKS = " \t"
_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True)
class Place:
    """A half-open range of a text."""

    start: int
    end: int


class Edits:
    """Changes to one text, all in offsets of the text as it was."""

    def __init__(self, source: SourceText, lexed: Lexed) -> None:
        self.source = source
        self.text = text = source.text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._gone = bytearray(len(text))
        self._put: dict[int, str] = {}
        self._places: list[int] = []
        self._tokens = [inner for token in lexed.tokens for inner in (token, *token.tokens)]
        self._commas = [x.start for x in self._tokens if x.key == ","]
        self._comments = sorted(lexed.comments)

    def text_of(self, place: Place) -> str:
        """Return what stands in a range."""
        return self.text[place.start : place.end]

    # ---- single changes ------------------------------------------------------------------------------------------

    def remove(self, place: Place) -> None:
        """Take a range out."""
        self._gone[place.start : place.end] = b"\1" * (place.end - place.start)

    def insert(self, at: int, text: str) -> None:
        """Put a text before an offset, behind what was put there before."""
        self._put[at] = self._put.get(at, "") + text

    def replace(self, place: Place, text: str) -> None:
        """Write a text in place of a range."""
        if self.text_of(place) != text:
            self.remove(place)
            self.insert(place.start, text)

    def remove_statement(self, place: Place) -> None:
        """Take a statement out with its semicolon; comments in it stay."""
        for token in self._tokens[bisect_left(self._tokens, place.start, key=lambda x: x.start) :]:
            if token.start >= place.end and token.key != ";":
                return
            self.remove(Place(token.start, token.end))
            if token.key == ";":
                return

    def remove_hint(self, place: Place) -> None:
        """Take a hint out: the whole ``/*+ .. */`` where it holds nothing else."""
        outer = next(x for x in self._tokens if x.tokens and x.start <= place.start and place.end <= x.end)
        others = [x for x in outer.tokens if x.end <= place.start or x.start >= place.end]
        if len(others) < 2:  # nothing, or the token that ends the hint
            self.remove(Place(outer.start, outer.end))
            return
        self.remove(place)
        before = [x for x in others if x.end <= place.start and x.key == ","][-1:]
        after = [x for x in others if x.start >= place.end][:1]
        for comma in [x for x in after if x.key == ","] or before:
            self.remove(Place(comma.start, comma.end))

    # ---- lists with commas ---------------------------------------------------------------------------------------

    def renew(self, items: Sequence[Place], kept: Sequence[bool], added: Mapping[int, Sequence[str]]) -> None:
        """Take items out of a list and add some behind others that stay; commas are written as they were.

        ``kept``: which items stay, at least one; ``added``: the number of an item that stays, and what comes after it.
        """
        commas = [self._comma(a, b) for a, b in pairwise(items)]
        leading = sum("\n" in self.text[item.end : comma] for item, comma in zip(items, commas, strict=False))
        leads = leading * 2 > len(commas)
        first, last = kept.index(True), len(kept) - 1 - list(kept)[::-1].index(True)
        for i, comma in enumerate(commas):
            stays = (kept[i + 1] and i + 1 > first) if leads else (kept[i] and i < last)
            if not stays:
                self.remove(Place(comma, comma + 1))
        for item, stays in zip(items, kept, strict=True):
            if not stays:
                self.remove(item)
        lead = self._lead(items[1], commas[0]) if leads else ""
        for i, texts in added.items():
            if texts:
                self._add(items[i], texts, lead, i == last)

    def _lead(self, item: Place, comma: int) -> str:
        """Return the comma that items begin with, and the blanks behind it."""
        text = self.text[comma : item.start]
        return text if not text[1:].strip(_BLANKS) else ", "

    def _add(self, item: Place, texts: Sequence[str], lead: str, is_last: bool) -> None:
        end = self._line_end(item.end)
        if end is None:
            self.insert(item.end, "".join(f", {text}" for text in texts))
            return
        indent = self.newline + self.indent(item.start)
        if lead:
            self.insert(end, "".join(f"{indent}{lead}{text}" for text in texts))
        elif is_last:
            self.insert(item.end, ",")
            self.insert(end, ",".join(f"{indent}{text}" for text in texts))
        else:
            self.insert(end, "".join(f"{indent}{text}," for text in texts))

    def _comma(self, before: Place, after: Place) -> int:
        comma = self._commas[bisect_left(self._commas, before.end)]
        assert comma < after.start
        return comma

    def indent(self, at: int) -> str:
        """Return the white space that the line of an offset begins with."""
        start = self.text.rfind("\n", 0, at) + 1
        found = _INDENT.match(self.text, start)
        return found[0] if found else ""

    def _line_end(self, at: int) -> int | None:
        """Return where the line of an offset ends, or None where more of the statement stands on it."""
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        rest = list(self.text[at:end])
        for start, stop in self._comments[bisect_left(self._comments, (at, 0)) :]:
            if start >= end:
                break
            if stop > end:
                return None
            for i in range(max(start, at), min(stop, end)):
                rest[i - at] = " "
        if "".join(rest).strip() not in ("", ","):
            return None
        return end - 1 if self.text[end - 1 : end] == "\r" else end

    # ---- the result ----------------------------------------------------------------------------------------------

    def apply(self) -> str:
        """Return the text with all changes."""
        if not any(self._gone) and not self._put:
            return self.text
        self._places = sorted(self._put)
        at = 0
        for line in self.text.splitlines(keepends=True):
            self._tidy(at, at + len(line))
            at += len(line)
        out: list[str] = []
        for i, char in enumerate(self.text):
            if i in self._put:
                out.append(self._put[i])
            if not self._gone[i]:
                out.append(char)
        return "".join(out) + self._put.get(len(self.text), "")

    def _tidy(self, start: int, end: int) -> None:
        """Take out a line of which only white space is left, and the blanks around what left it."""
        if not any(self._gone[start:end]):
            return
        if not self._left(start, end).strip() and not self._puts(start, end):
            self.remove(Place(start, end))
            return
        for run in re.finditer(rb"\x01+", bytes(self._gone[start:end])):
            first, last = start + run.start(), start + run.end()
            if self._puts(first, last):
                continue
            before = self._left(start, first)
            if before.strip():
                written = self.text[start:first]
                self.remove(Place(first - len(written) + len(written.rstrip(_BLANKS)), first))
            if not before.strip() or before[-1] == "(":
                after = self.text[last:end]
                self.remove(Place(last, last + len(after) - len(after.lstrip(_BLANKS))))

    def _left(self, start: int, end: int) -> str:
        """Return what stays of a range."""
        return "".join(c for c, gone in zip(self.text[start:end], self._gone[start:end], strict=True) if not gone)

    def _puts(self, start: int, end: int) -> bool:
        """Whether something is put into a range."""
        return bisect_left(self._places, start) < bisect_left(self._places, end)
