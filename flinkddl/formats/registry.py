"""The options of the schema registry: what the kernel gets, and which of it is secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl.options.masking import is_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.options.resolved import FormatOptions

SECRET_SETTING = "spark.flinkddl.secret."


def values(format: FormatOptions) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the options for the kernel, secrets as names of session settings, and those settings."""
    out: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    for key, value in _flat(format).items():
        if value is not None and is_secret(f"{format.space}{key}"):
            from hashlib import sha256  # here: only an option that is secret pays for the import

            setting = SECRET_SETTING + sha256(f"{key}={value}".encode()).hexdigest()[:16]
            secrets[setting] = str(value)
            out[key] = f"secret:{setting}"
        else:
            out[key] = value
    return out, secrets


def _flat(format: FormatOptions) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in format.options.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{k}": v for k, v in value.items()}
        else:
            flat[key] = value
    return flat
