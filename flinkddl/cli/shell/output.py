"""What the shell prints: plain lines, messages in the client's own style, and a line of what is being waited for."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flinkddl.diagnostics.render import render_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from flinkddl.diagnostics import Diagnostic

_STYLES = {"INFO": "34;1", "WARN": "33;1", "ERROR": "31;1"}
TICK_SECONDS = 0.2


class Output:
    """Prints to stdout, errors included: a session reads top to bottom. ``colour`` is for terminals."""

    def __init__(self, colour: bool = False) -> None:
        self.colour = colour
        self.failed: list[str] = []

    def line(self, text: str = "") -> None:
        """Print a line at once."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def message(self, level: str, text: str) -> None:
        """Print a line with a level: INFO, WARN or ERROR."""
        whole = f"[{level}] {text}"
        self.line(f"\x1b[{_STYLES[level]}m{whole}\x1b[0m" if self.colour else whole)

    def info(self, text: str) -> None:
        """Print an INFO line."""
        self.message("INFO", text)

    def diagnostics(self, found: Iterable[Diagnostic]) -> None:
        """Print findings with their carets; the codes of errors are kept in ``failed``."""
        for d in found:
            text = render_text([d])
            if d.severity != "error":
                self.line(text)
                continue
            self.failed.append(d.code)
            self.line(f"\x1b[{_STYLES['ERROR']}m{text}\x1b[0m" if self.colour else text)

    @contextmanager
    def waiting(self, text: Callable[[], str]) -> Iterator[None]:
        """Show what is being waited for while the body runs; nothing where no person watches."""
        if not self.colour:
            yield
            return
        from rich.console import Console

        done = threading.Event()
        with Console(file=sys.stdout).status(text()) as status:

            def follow() -> None:
                while not done.wait(TICK_SECONDS):
                    status.update(text())

            thread = threading.Thread(target=follow, daemon=True)
            thread.start()
            try:
                yield
            finally:
                done.set()
                thread.join()
