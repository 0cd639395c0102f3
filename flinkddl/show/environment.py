"""Secrets of a printed program: it looks each up in the environment, one variable a value.

While a program is being put together a variable ends in a token of its value (``formats.registry.token``), which holds
for this process alone; ``settle`` makes names of them that are the same each time.
"""

from __future__ import annotations

import re

from flinkddl.formats.registry import SECRET_SETTING, token
from flinkddl.show.pytext import comment
from flinkddl.spark.sealing import printed

_FIRST = "\n\n\n"  # behind the lines that start the session
_TOKEN = "[0-9a-f]{16}"
_VARIABLE = re.compile(rf'os\.environ\["(FLINKDDL_[A-Z0-9_]*)@({_TOKEN})"\]')
_SETTING = re.compile(rf"({re.escape(SECRET_SETTING)}[a-z.-]+)\.({_TOKEN})")


def look_up(key: str, value: str) -> str:
    """Return the expression that looks the value of a secret option or setting up."""
    name = re.sub(rf"\.{_TOKEN}$", "", key).replace(SECRET_SETTING, "secret.")
    word = re.sub("[^A-Za-z0-9]", "_", name).upper()
    return f'os.environ["FLINKDDL_{word}@{token(value)}"]'


def settle(program: str) -> str:
    """Return the program with the names of its variables, listed behind its first line: ``_2`` is another value."""
    names: dict[str, dict[str, str]] = {}

    def named(found: re.Match[str]) -> str:
        known = names.setdefault(found[1], {})
        return known.setdefault(found[2], f"{found[1]}_{len(known) + 1}" if known else found[1])

    program = _VARIABLE.sub(lambda found: f'os.environ["{named(found)}"]', settle_settings(program))
    if "secret(os.environ" in program:
        head, work, rest = program.partition("work = os.environ")
        program = f"{head}{work}{rest.replace(_FIRST, _FIRST + printed(), 1)}"
    every = sorted(name for known in names.values() for name in known.values())
    if not every:
        return program
    head, line_end, rest = program.partition("\n")
    listed = comment(f"Secrets are taken from the environment: {', '.join(every)}")
    return f"{head}{line_end}{listed}{line_end}{rest}"


def settle_settings(text: str) -> str:
    """Return a text with the settings that hold secrets numbered."""
    known: dict[tuple[str, str], str] = {}

    def named(found: re.Match[str]) -> str:
        return known.setdefault((found[1], found[2]), f"{found[1]}.{len(known) + 1}")

    return _SETTING.sub(named, text)
