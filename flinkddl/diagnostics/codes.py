"""The error catalogue: one Markdown page a code under ``pages/``; the folder is the table.

Families: FD1xx syntax, FD2xx options, FD3xx catalog, FD4xx names and types, FD5xx plan and changelog,
FD6xx not available on Spark, FD7xx formats and schemas, FD8xx the outside world, FD9xx our own bug.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def all_codes() -> tuple[str, ...]:
    """Return every code that has a page, sorted."""
    folder = Path(__file__).parent / "pages"
    return tuple(sorted(p.name[:-3] for p in folder.iterdir() if p.name.endswith(".md")))


def page(code: str) -> str:
    """Return the page of a code as Markdown. Raises KeyError for a code without a page."""
    path = Path(__file__).parent / "pages" / f"{code}.md"
    if not path.is_file():
        raise KeyError(code)
    return path.read_text(encoding="utf-8")


def title(code: str) -> str:
    """Return the title of a code's page, without the code itself."""
    return page(code).splitlines()[0].partition(":")[2].strip()
