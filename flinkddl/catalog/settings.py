"""The keys of SET: which exist, what they may hold, and what becomes of them on Spark. The table is settings.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import did_you_mean
from flinkddl.options import masking, values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.diagnostics import Bag, Span


STRICT = {"flinkddl.strict": "true"}
"""What ``--strict`` starts a session with."""


@dataclass(frozen=True)
class Setting:
    """One key: kind and default as for options (durations in milliseconds), and what it does here.

    ``use``: ``mapped``, ``ignored`` (the note says why nothing changes), ``refused`` (any value but the default).
    """

    key: str
    kind: str
    default: Any
    choices: tuple[str, ...]
    aliases: tuple[str, ...]
    use: str
    note: str


@cache
def table() -> Mapping[str, Setting]:
    """Return all known settings by key; older names lead to the same entry."""
    raw = json.loads(Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
    out: dict[str, Setting] = {}
    for entry in raw:
        choices, aliases = tuple(entry.get("choices", ())), tuple(entry.get("aliases", ()))
        use, note = entry["spark"]["use"], entry["spark"]["note"]
        setting = Setting(entry["key"], entry["kind"], entry["default"], choices, aliases, use, note)
        out |= dict.fromkeys((setting.key, *aliases), setting)
    return out


def value(key: str, given: Mapping[str, str]) -> Any:
    """Return the typed value of a key out of the session's texts, with default; text or None for an unknown key."""
    setting = table().get(key)
    if setting is None:
        return given.get(key)
    for name in (setting.key, *setting.aliases):
        if name in given:
            return values.parse(setting.kind, given[name], setting.choices)
    return setting.default


def check(key: str, text: str, key_span: Span | None, value_span: Span | None, bag: Bag) -> bool:
    """Check a SET and return whether it may stand; say where a key does nothing or is unknown."""
    setting = table().get(key)
    if setting is None:
        help = did_you_mean(key, table())
        bag.note("FD331", f"'{key}' is no setting known here; it is stored and has no effect", key_span, help)
        return True
    try:
        given = values.parse(setting.kind, text, setting.choices)
    except ValueError as error:
        bag.error("FD330", f"invalid value '{masking.mask(key, text)}' for '{key}'", value_span, str(error))
        return False
    if setting.use == "refused" and given != setting.default:
        bag.error("FD330", f"'{key}' = '{masking.mask(key, text)}' is not available here", value_span, setting.note)
        return False
    if setting.use == "ignored":
        bag.note("FD332", f"'{key}' has no effect here: {setting.note}", key_span)
    return True
