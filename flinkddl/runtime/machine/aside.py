"""A call that may take half a minute, beside a loop that must not: a cluster that hangs answers late."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Aside(Generic[T]):
    """Runs one call at a time in a thread of its own; what it gives or raises is taken later."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._found: list[T] = []
        self._error: Exception | None = None

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, call: Callable[[], T]) -> None:
        """Begin a call, unless one is under way."""
        if self.busy:
            return
        self._thread = threading.Thread(target=self._run, args=(call,), name="flinkddl aside", daemon=True)
        self._thread.start()

    def take(self) -> T | None:
        """Return what a call gave since; None where there is nothing. Raises what it raised."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._found.pop() if self._found else None

    def wait(self, seconds: float) -> None:
        """Wait so long at most for the call that is under way."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self, call: Callable[[], T]) -> None:
        try:
            self._found = [call()]
        except Exception as error:  # noqa: BLE001 - whoever takes it decides
            self._error = error
