"""The options of the schema registry: what the kernel gets, and which of it is secret."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics.secrets import holds_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.options.resolved import FormatOptions

SECRET_SETTING = "spark.flinkddl.secret."


def values(format: FormatOptions) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the options for the kernel, secrets as names of session settings, and those settings.

    A name tells of its value only whether it is another's: it shows in plans and event logs, where a plain hash of a
    weak password could be tried out. A URL that carries a password is a secret as a whole.
    """
    out: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    for key, value in _flat(format).items():
        text = "" if value is None else str(value)
        # "secret:" is our own word for such a name: as a script's value it is a text like others
        if text and (holds_secret(f"{format.space}{key}", text) or text.startswith("secret:")):
            setting = f"{SECRET_SETTING}{key}.{token(text)}"
            secrets[setting] = text
            out[key] = f"secret:{setting}"
        else:
            out[key] = value
    return out, secrets


@cache
def _process_key() -> bytes:
    from secrets import token_bytes  # here: only an option that is secret pays for the imports

    return token_bytes(32)


def token(value: str) -> str:
    """Return 16 characters that stand for a value in this process, and nowhere else."""
    from hashlib import blake2b

    return blake2b(value.encode(errors="surrogatepass"), key=_process_key(), digest_size=8).hexdigest()


def _flat(format: FormatOptions) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in format.options.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{k}": v for k, v in value.items()}
        else:
            flat[key] = value
    return flat
