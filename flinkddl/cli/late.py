"""Modules that a short command imports but never uses, put off until something asks for them."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_NAME = "importlib.metadata"


class _Late(ModuleType):
    """``importlib.metadata`` until it is used.

    sqlglot imports it to find plug-ins, and asks it nothing unless a dialect is named that it does not know. With what
    it brings along (mail headers, zip files) it takes a tenth of the time of ``flinkddl check``.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # asked by every ``from importlib.metadata import ...``
            raise AttributeError(name)
        return getattr(_real(), name)


def _real() -> ModuleType:
    if isinstance(sys.modules.get(_NAME), _Late):
        del sys.modules[_NAME]
    return importlib.import_module(_NAME)


def _entry_points(**parameters: Any) -> Any:
    return _real().entry_points(**parameters)


def put_off_metadata() -> None:
    """Let ``importlib.metadata`` be imported when it is first used; without effect where it is there already."""
    if _NAME not in sys.modules:
        late = _Late(_NAME)
        late.__dict__["entry_points"] = _entry_points
        sys.modules[_NAME] = late
        importlib.metadata = late  # where ``import importlib.metadata`` looks
