"""Variables of a script that is packaged: which are settings, which secrets, and secrets that stand in clear text."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.diagnostics import Diagnostic, Span
from flinkddl.diagnostics.secrets import MASK, is_secret, mask, mask_urls, secret_places
from flinkddl.dialect.variables import VARIABLE, variables_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.diagnostics import SourceText

_KEY = re.compile(r"'((?:[^']|'')*)'\s*=?\s*'\Z")  # of a literal: what stands before it, its quote included
_LOGIN = re.compile(r"(?i)\b\w*(?:password|secret)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;\"]*))")
_JAAS = re.compile(r"\s(?:required|requisite|sufficient|optional)\b", re.IGNORECASE)


@dataclass(frozen=True)
class References:
    """The variables of a script: settings with their values, and the names of secrets, whose values are nowhere."""

    settings: Mapping[str, str]
    secrets: tuple[str, ...]


def references(script: str, given: Mapping[str, str]) -> References:
    """Return the variables of a script; values are those of ``-D``, then of the environment.

    One is a secret by its own name, by the option that it stands in, or by a password in its value. One with no value
    has a default in the script: it is no setting.
    """
    hidden = {m["name"] for start, end, _ in secret_places(script) for m in VARIABLE.finditer(script, start, end)}
    known = {**os.environ, **given}
    names = sorted({found["name"] for found in variables_of(script)})
    secrets = tuple(n for n in names if n in hidden or _by_itself(n, known.get(n, "")))
    return References({n: known[n] for n in names if n in known and n not in secrets}, secrets)


def _by_itself(name: str, value: str) -> bool:
    lowered = name.lower()
    return any(is_secret(lowered.replace("_", sign)) for sign in "_.-") or mask_urls(value) != value


def secrets_in_clear(source: SourceText) -> list[Diagnostic]:
    """Return FD870 for each secret of a script that is no reference, in comments too."""
    text, found = source.text, []
    for start, end, _ in secret_places(text):
        key = _KEY.search(text[:start])
        if _is_clear(key[1] if key else "", text[start:end]):
            name = key[1] if key else "it"
            message = f"the value of '{name}' is a secret in clear text: it would be copied into the package"
            help = (
                f"write '${{{_suggested(name)}}}' in its place; where the job runs its value comes from the environment"
            )
            found.append(Diagnostic("FD870", message, Span(source, start - 1, end + 1), help))
    return found


def _is_clear(key: str, raw: str) -> bool:
    value = VARIABLE.sub(lambda found: found["default"] or "", raw)
    if mask(key, raw) != MASK:
        return mask(key, value) != value
    if _JAAS.search(raw):
        return any(quoted or plain for quoted, plain in _LOGIN.findall(value))
    return bool(value.strip()) and (not VARIABLE.search(raw) or any(m["default"] for m in VARIABLE.finditer(raw)))


def _suggested(key: str) -> str:
    words = re.sub("[^A-Za-z0-9]+", "_", key.removeprefix("properties.")).strip("_").upper()
    return words or "SECRET"
