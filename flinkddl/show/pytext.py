"""What comes from a script as Python source: a literal, a comment or a name, and never anything else.

Python ends a line at a line feed or carriage return only, but editors, diffs and ``str.splitlines`` end one at others
too, and some characters change the order in which a line is shown: whatever is not printable is escaped.
"""

from __future__ import annotations

import json
import keyword
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ASIDE = re.compile(r"[^\x20-\x7e]")


def literal(value: str) -> str:
    """Return a Python literal, in double quotes, that is this text again."""
    return _ASIDE.sub(_escaped, json.dumps(value, ensure_ascii=False))


def comment(text: str) -> str:
    """Return a comment of one line."""
    return "# " + _ASIDE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    """Return a character as Python escapes it in a literal, or itself where it can be seen."""
    char = found[0]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def variables(names: Iterable[str], own: Iterable[str] = ()) -> dict[str, str]:
    """Map names to Python names: distinct, no keywords, none of the program's ``own``; nor is ``NAME_of`` of another.

    ASCII alone: Python takes letters of one look (``ｏｓ``) for one name.
    """
    taken = set(own)
    found = {}
    for given in names:
        base = re.sub(r"[^A-Za-z0-9_]", "_", given)
        unusable = not base or base[0].isdigit() or base.startswith("__") or keyword.iskeyword(base)
        base = f"t_{base}" if unusable else base
        name, n = base, 1
        while name in taken or f"{name}_of" in taken:
            n += 1
            name = f"{base}_{n}"
        taken |= {name, f"{name}_of"}
        found[given] = name
    return found
