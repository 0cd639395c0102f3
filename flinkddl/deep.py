"""Room for deep trees: 500 views, each over the one before it, make a plan of that depth, and that is no mistake.

Chains that people's programs write (``a + a + ...``, UNION ALL) are walked in loops. What is deep by its nature (views
over views, queries within queries) is walked by functions that call themselves, some through the C code of Python and
sqlglot, for which a main thread's stack of 8 MB is too small at any recursion limit. So what reads, plans or prints a
script does it in a thread with a stack of its own, whose pages cost nothing until they are touched.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

STACK_BYTES = 512 << 20
FRAME_BYTES = 5 << 10
"""More than a frame takes that goes through C: with as many frames as fit, the stack is never used up."""

P = ParamSpec("P")
R = TypeVar("R")
_lock = threading.Lock()
_inside = threading.local()
_open = 0
_usual = 0


def deep(function: Callable[P, R]) -> Callable[P, R]:
    """Give a function room: called from elsewhere it runs in a thread of its own, and its caller waits for it."""

    @functools.wraps(function)
    def run(*args: P.args, **named: P.kwargs) -> R:
        if getattr(_inside, "deep", False):
            return function(*args, **named)
        return _elsewhere(functools.partial(function, *args, **named))

    return run


def balanced(items: Iterable[R], join: Callable[[R, R], R]) -> R:
    """Join neighbours two by two until one is left: of 2,000 the tree is eleven deep. There is at least one item."""
    level = list(items)
    while len(level) > 1:
        pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = [*pairs, level[-1]] if len(level) % 2 else pairs
    return level[0]


def _elsewhere(job: Callable[[], R]) -> R:
    done: list[Any] = []
    context = contextvars.copy_context()

    def work(room: int) -> None:
        _inside.deep = True
        try:
            with _frames(room // FRAME_BYTES):
                done[:] = [True, context.run(job)]
        except BaseException as error:  # noqa: BLE001 - it is raised again where the caller waits
            done[:] = [False, error]

    _start(work).join()
    fine, value = done
    if not fine:
        raise value
    return cast("R", value)


def _start(work: Callable[[int], None]) -> threading.Thread:
    """Start a thread with a large stack; where a limit on address space forbids it, with the largest there is."""
    size = STACK_BYTES
    while True:
        with _lock:
            before = threading.stack_size(size)
            try:
                thread = threading.Thread(target=work, args=(size,), name="flinkddl-deep", daemon=True)
                thread.start()
                return thread
            except RuntimeError:
                if size <= 8 << 20:
                    raise
            finally:
                threading.stack_size(before)
        size //= 2


class _frames:
    """Raises Python's recursion limit, which is one for all threads, while one with a large stack is at work."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def __enter__(self) -> None:
        global _open, _usual
        with _lock:
            if _open == 0:
                _usual = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._limit, _usual))
            _open += 1

    def __exit__(self, *_: object) -> None:
        global _open
        with _lock:
            _open -= 1
            if _open == 0:
                sys.setrecursionlimit(_usual)
