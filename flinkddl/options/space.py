"""What a WITH clause is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flinkddl.options.registry import Document


@dataclass(frozen=True)
class Space:
    """A set of options in the WITH clause: the connector's own (no prefix) or a format's."""

    document: Document
    prefix: str
    key: str
