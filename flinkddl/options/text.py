"""An option as written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flinkddl.diagnostics import Span


@dataclass(frozen=True)
class OptionText:
    """An option's value as written, with the places of key and value."""

    value: str = field(repr=False)
    key_span: Span | None = field(default=None, compare=False, repr=False)
    value_span: Span | None = field(default=None, compare=False, repr=False)
