"""Ctrl-C while something starts: it is whole, or undone."""

from __future__ import annotations

import _thread
import signal
import time
from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.shell.engine import unbroken

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What a shell starts in the background ignores Ctrl-C, and so would these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_it_gives_and_raises() -> None:
    assert unbroken(lambda: 7, undo=print) == 7
    with pytest.raises(TimeoutError, match="mine"):
        unbroken(lambda: (_ for _ in ()).throw(TimeoutError("mine")), undo=print)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("fails", [False, True])
def test_an_interrupt_waits_for_the_end_and_undoes_it(fails: bool) -> None:
    seen: list[str] = []

    def start() -> str:
        time.sleep(0.2)
        _thread.interrupt_main()
        time.sleep(0.5)
        seen.append("started")
        if fails:
            raise ValueError("no job")
        return "job"

    with pytest.raises(KeyboardInterrupt):
        unbroken(start, undo=lambda job: seen.append(f"undone {job}"))
    assert seen == (["started"] if fails else ["started", "undone job"])
