"""A Python function that fails as long as a file is there: a service that is down for a while."""

from __future__ import annotations

from pathlib import Path


def flaky(number: int, file: str) -> int:
    if Path(file).exists():
        raise RuntimeError("the service is down")
    return number
