"""What is secret: the one list, applied to options, settings, URLs, quoted lines of a script and texts of Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MASK = "******"

# Flink's GlobalConfiguration.SENSITIVE_KEYS, then what Kafka's own PASSWORD settings, registries and drivers add.
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
    "api.key",
    "account.key",
    "keystore.key",
    "keystore.certificate.chain",
    "truststore.certificates",
    "basic.auth",
    "bearer.auth",
    "bearer-auth",
    "user-info",
    "user.info",
    "passphrase",
    "passwd",
    "pwd",
    "private-key",
    "private.key",
    "privatekey",
    "authorization",
)
_NO_SECRETS = ("credentials-source", "credentials.source", ".location", "token.endpoint.url", "private.key.file")
"""Ends of keys that say where a secret comes from, and hold none."""

SPARK_REGEX = f"(?i){'|'.join(re.escape(part) for part in _SECRET_PARTS)}"
"""The same list for Spark's ``spark.redaction.regex``, which looks at keys and values."""
SPARK_OPTIONS_REGEX = f"{SPARK_REGEX}|url"
"""For ``spark.sql.redaction.options.regex``: a URL may hold a password, so Spark hides it whole, as by default."""

# What a URL may carry: user:password@host (jdbc:oracle:thin:user/password@ too), and password=... as a parameter.
_USER = re.compile(r"(//[^/@\s:]*:|thin:[^/@\s]*/)[^\s?#]+(?=@)")
_WORDS = r"pass(?:word|wd|phrase)|pwd|secret|token|api[-_.]?key|access[-_.]?key|private[-_.]?key|credential"
_PARAMETER = re.compile(rf"((?:{_WORDS})\s*=)(?:\{{[^}}]*\}}|[^&;)\s]+)", re.IGNORECASE)
_ENTRY = re.compile(r"([^,:]+)(:)([^,]+)")  # of an option that is a map: key:value,key:value
_LOGIN = re.compile(r"""(?i)\b\w*(?:password|secret|key)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")

# Flink 1.9 and 1.10 named a property in one option and gave its value in another.
_NAMES_KEY = re.compile(r"connector\.properties\.\d+\.key")
_NAMED = re.compile(r"'(connector\.properties\.\d+)\.key'\s*=\s*'([^']*)'")
_LITERAL = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
_ASSIGNED = re.compile(r"\s*=?\s*")


def is_secret(key: str) -> bool:
    """Whether the value under this key must never be shown."""
    lowered = key.lower()
    return any(part in lowered for part in _SECRET_PARTS) and not lowered.endswith(_NO_SECRETS)


def mask(key: str, value: str) -> str:
    """Return a value as messages and listings show it: of a URL, all but the password in it."""
    if is_secret(key):
        return MASK
    if key.endswith("properties"):
        value = _ENTRY.sub(lambda e: f"{e[1]}{e[2]}{MASK}" if is_secret(e[1]) else e[0], value)
    if "://" in value or value.startswith("jdbc:"):
        return mask_urls(value)
    return value


def mask_urls(text: str) -> str:
    """Return a text without the passwords that URLs in it carry."""
    return _PARAMETER.sub(rf"\g<1>{MASK}", _USER.sub(rf"\g<1>{MASK}", text))


def masked(options: Mapping[str, str]) -> dict[str, str]:
    """Return options as messages and listings show them, sorted by key."""
    shown = {key: mask(key, options[key]) for key in sorted(options)}
    named = {f"{key[:-4]}.value" for key, value in options.items() if _NAMES_KEY.fullmatch(key) and is_secret(value)}
    return {key: MASK if key in named else value for key, value in shown.items()}


def holds_secret(key: str, value: str) -> bool:
    """Whether a value is a secret, or has one in it."""
    return mask(key, value) != value


# ---- texts of others: Java's errors, Spark's logs ----------------------------------------------------------------


def secrets_in(options: Mapping[str, str]) -> set[str]:
    """Return the secret values of options: whole, and the passwords inside of login texts and URLs."""
    found: set[str] = set()
    for key, value in options.items():
        if holds_secret(key, value):
            found |= {value, *(part.strip("\"'") for part in _LOGIN.findall(value))}
            found |= {m[0][len(m[1]) :] for pattern in (_USER, _PARAMETER) for m in pattern.finditer(value)}
            found |= {e[3] for e in _ENTRY.finditer(value) if is_secret(e[1])}
    return {value for value in found if value}


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Return a text of somebody else without secrets that are known, nor passwords of URLs.

    A value of one or two characters is left, as it would take the text apart.
    """
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) > 2:
            text = text.replace(secret, MASK)
    return mask_urls(text) if "://" in text or "jdbc:" in text else text


# ---- lines of a script, as messages quote them -------------------------------------------------------------------


def secret_places(script: str) -> Iterator[tuple[int, int, str]]:
    """Yield the places [start, end) of string literals in a script that are not to be quoted, and what stands there.

    A literal is one by the literal before it, its key; what is behind ``--`` counts as one line of text.
    """
    named = {f"{m[1]}.value" for m in _NAMED.finditer(script) if is_secret(m[2])}
    before: re.Match[str] | None = None
    for found in _LITERAL.finditer(script):
        if found[0][0] == "-":
            inner = [(found.start() + 2 + s, found.start() + 2 + e, t) for s, e, t in secret_places(found[0][2:])]
            yield from inner
            continue
        value = found[0][1:-1]
        adjacent = before is not None and _ASSIGNED.fullmatch(script, before.end(), found.start())
        key = before[0][1:-1] if before is not None and adjacent else ""
        shown = MASK if key in named else mask(key, value)
        if shown != value:
            yield found.start() + 1, found.end() - 1, shown
        before = found


def mask_script(script: str) -> str:
    """Return a piece of a script as listings show it."""
    out, at = "", 0
    for start, end, shown in secret_places(script):
        out, at = out + script[at:start] + shown, end
    return out + script[at:]
