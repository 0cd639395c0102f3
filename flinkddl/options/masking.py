"""Which option values are secrets, and how they are shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MASK = "******"

# Flink's GlobalConfiguration.SENSITIVE_KEYS.
_SECRET_PARTS = (
    "password",
    "secret",
    "fs.azure.account.key",
    "apikey",
    "api-key",
    "auth-params",
    "service-key",
    "token",
    "basic-auth",
    "jaas.config",
    "http-headers",
    "access-key",
    "access.key",
    "accesskey",
)

# What a URL may carry: user:password@host (jdbc:oracle:thin:user/password@ too), and password=... as a parameter.
_USER = re.compile(r"(//[^/@\s:]*:|thin:[^/@\s]*/)[^/\s]+(?=@)")
_PARAMETER = re.compile(r"((?:password|passwd|pwd|secret|token|apikey)\s*=)[^&;)\s]+", re.IGNORECASE)


def is_secret(key: str) -> bool:
    """Whether the value under this key must never be shown."""
    lowered = key.lower()
    return any(part in lowered for part in _SECRET_PARTS)


def mask(key: str, value: str) -> str:
    """Return a value as messages and listings show it: of a URL, all but the password in it."""
    if is_secret(key):
        return MASK
    if "://" in value or value.startswith("jdbc:"):
        return _PARAMETER.sub(rf"\g<1>{MASK}", _USER.sub(rf"\g<1>{MASK}", value))
    return value


def masked(options: Mapping[str, str]) -> dict[str, str]:
    """Return options as messages and listings show them, sorted by key."""
    return {key: mask(key, options[key]) for key in sorted(options)}
