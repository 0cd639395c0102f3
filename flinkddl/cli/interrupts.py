"""Ctrl-C while a job is being started."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

POLL_SECONDS = 0.1
T = TypeVar("T")


def unbroken(action: Callable[[], T], undo: Callable[[T], None]) -> T:
    """Do ``action`` as a whole and return what it gives; after a Ctrl-C in the middle ``undo`` it.

    It runs in a thread of its own: Python interrupts the main thread only, and a call to the JVM that is broken off
    leaves a job that nobody holds. Raises what ``action`` raises, and KeyboardInterrupt after ``undo``.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(action)
        try:
            while not future.done():
                try:
                    future.exception(POLL_SECONDS)
                except TimeoutError:
                    continue
        except KeyboardInterrupt:
            if future.exception() is None:
                undo(future.result())
            raise
    return future.result()
