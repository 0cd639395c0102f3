"""A program at a real terminal: a pseudo terminal whose screen an emulator keeps, keys in and text out."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
import time
from typing import TYPE_CHECKING, Any

import pyte

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CTRL_C = "\x03"


class _Screen(pyte.Screen):
    """A screen that answers what programs ask the terminal, such as where its cursor is."""

    answer: Any = None

    def write_process_input(self, data: str) -> None:
        if self.answer is not None:
            self.answer(data)

    def select_graphic_rendition(self, *attributes: int, **_: Any) -> None:
        """Colours are of no interest; private sequences of this name are unknown to the emulator."""


class Terminal:
    """Runs a command until ``close``; ``expect`` waits for text on the screen."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], rows: int = 40, columns: int = 140) -> None:
        self._screen = _Screen(columns, rows)
        self._screen.answer = self.send
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, close_fds=True,
            env={**os.environ, "TERM": "xterm-256color", **env},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # Linux says so when the last process has left the terminal
                return
            if not data:
                return
            with self._lock:
                self._stream.feed(data)

    @property
    def screen(self) -> str:
        """What is on the screen now, without empty lines."""
        with self._lock:
            return "\n".join(line.rstrip() for line in self._screen.display if line.strip())

    def send(self, keys: str) -> None:
        """Type keys."""
        os.write(self._master, keys.encode())

    def expect(self, *texts: str, seconds: float = 60) -> str:
        """Wait until all texts are on the screen together; return it. Raises AssertionError with the screen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            screen = self.screen
            if all(text in screen for text in texts):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"{texts} not within {seconds} s on the screen:\n{self.screen}")

    def ends(self, seconds: float = 60) -> int:
        """Wait for the end; return the exit code. Raises AssertionError with the screen."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end within {seconds} s, on the screen:\n{self.screen}") from None

    def close(self) -> None:
        """End whatever still runs."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
        self._reader.join(5)
        os.close(self._master)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
