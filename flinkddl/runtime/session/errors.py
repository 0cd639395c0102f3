"""What an error of Spark says: all of it, and its reason in one line."""

from __future__ import annotations

import re
from typing import Any

_CAUSE = re.compile(r"^(?:Caused by: )?((?:[a-z_]\w*\.)+[A-Z][\w$]*(?:Exception|Error)\w*): (.*)$", re.MULTILINE)
_CLASS = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] ")
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)")


def full_text(error: Exception) -> str:
    """Return everything that a PySpark error knows: message, Java stack and causes."""
    parts = [str(error)]
    for name in ("stackTrace", "_stackTrace", "java_exception"):
        value: Any = getattr(error, name, None)
        if value:
            parts.append(str(value))
    cause: Any = getattr(error, "cause", None) or getattr(error, "_cause", None)
    if isinstance(cause, Exception):
        parts.append("Caused by: " + full_text(cause))
    return "\n".join(parts)


def reason(text: str) -> str:
    """Return the innermost cause in one line, without Java class, Spark's error class and SQLSTATE."""
    python = _TRACEBACK.search(text)
    if python is not None:
        return f"the Python function failed: {python[1].strip()}"
    causes = [message for _, message in _CAUSE.findall(text) if message.strip()]
    telling = [m for m in causes if not m.startswith(("Job aborted", "Task failed", "[TASK_WRITE_FAILED]"))]
    line = (telling or causes or text.strip().splitlines() or ["unknown reason"])[-1 if causes else 0]
    line = re.sub(r"\s*SQLSTATE: \w+.*$", "", _CLASS.sub("", line)).strip()
    return line.rstrip(".") or "unknown reason"
