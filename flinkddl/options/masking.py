"""Which option values are secrets, and how they are shown: the list itself is ``diagnostics.secrets``."""

from __future__ import annotations

from flinkddl.diagnostics.secrets import MASK, holds_secret, is_secret, mask, masked

__all__ = ["MASK", "holds_secret", "is_secret", "mask", "masked"]
