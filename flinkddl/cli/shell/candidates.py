"""One thing that may be put in at the cursor, and how candidates are matched with what is typed already."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.dialect.words import STRICT

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Candidate:
    """``text`` takes the place of the last ``replaces`` characters; the menu says ``shown`` and beside it ``meta``."""

    text: str
    meta: str
    replaces: int = 0
    shown: str = ""

    @property
    def display(self) -> str:
        """The words of the menu."""
        return self.shown or self.text


def matching(
    fragment: str, candidates: Iterable[Candidate], *, case: str = "", quote: str = "", strip: str = ""
) -> list[Candidate]:
    """Return the candidates that begin with what is typed, in any case.

    ``case`` is a text whose case keywords follow; ``quote`` a quotation mark that is open already and is closed;
    ``strip`` a mark that does not count at the beginning.
    """
    lower = case.islower() and bool(case)
    out = []
    for c in candidates:
        plain = c.text.strip("`") if quote else c.text.lstrip(strip) if strip else c.text.lstrip("`")
        if not plain.lower().startswith(fragment.lower()):
            continue
        text = f"{plain}{quote}" if quote else c.text.lower() if lower else c.text
        out.append(replace(c, text=text, replaces=len(fragment), shown=c.shown or plain))
    return out


def quoted_name(name: str) -> str:
    """Return a name as it is written in SQL: in backticks where it must be."""
    if re.fullmatch(r"[^\W\d][\w$]*", name) and name.upper() not in STRICT:
        return name
    return f"`{name.replace('`', '``')}`"
