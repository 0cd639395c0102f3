"""Cases for which only the nightly run has the time (``make nightly``); CI takes one of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence


def nightly(*values: Any, id: str | None = None) -> Any:
    """Return a case that CI does not take."""
    return pytest.param(*values, marks=pytest.mark.slow, id=id)


def each(every: int, cases: Sequence[Any]) -> list[Any]:
    """Return cases of which CI takes the first and then one of so many."""
    return [c if n % every == 0 else nightly(*(c if isinstance(c, tuple) else (c,))) for n, c in enumerate(cases)]
