"""What every conformance area shares: how one case ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["passed", "failed", "refused"]


@dataclass(frozen=True)
class Outcome:
    """One case: ``refused`` is a failure that we said aloud (an FD error), ``failed`` a wrong or missing answer."""

    id: str
    status: Status
    expected: Any = None
    got: Any = None
    reason: str = ""

    def line(self) -> str:
        """Return the line that is printed for a case that differs."""
        return f"{self.id}: {self.status}: expected {self.expected!s:.600}, got {self.got!s:.600}" + (
            f" [known: {self.reason}]" if self.reason else ""
        )
