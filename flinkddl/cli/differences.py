"""What of Flink's options, settings, functions and queries is refused, does nothing, or is done in another way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.options.registry import OptionSpec

Row = tuple[str, str]

CODES = (
    "FD247", "FD312", "FD321", "FD474", "FD475", "FD511", "FD523", "FD524", "FD554",
    "FD640", "FD642", "FD645", "FD646", "FD647", "FD648", "FD649", "FD653", "FD656", "FD657", "FD658", "FD667",
    "FD670", "FD671", "FD816", "FD817", "FD860", "FD865", "FD866", "FD867", "FD891",
)  # fmt: skip
"""Findings that refuse what Flink 2.3 takes, beside options, settings and functions."""


def refused() -> list[Row]:
    """Return what is refused: names, and why or what instead."""
    from flinkddl.diagnostics.codes import title
    from flinkddl.functions import catalogue

    rows = [*_options("refused"), *_settings("refused")]
    functions = [(f.name, f.reason) for f in catalogue.FUNCTIONS.values() if f.reason]
    rows += [(f"functions {names}", why) for names, why in _by_reason(functions)]
    rows += _elsewhere()
    return rows + [(code, title(code)) for code in CODES]


def without_effect() -> list[Row]:
    """Return the options and settings that are accepted and change nothing, and why."""
    from flinkddl.options.kafka_properties import PREFIX, replaced

    properties = [(f"kafka, upsert-kafka: `{PREFIX}{name}`", why) for name, why in replaced().items()]
    return [*_options("ignored"), *properties, *_settings("ignored")]


def otherwise() -> list[Row]:
    """Return the options that are carried out in another way."""
    return list(_options("mapped"))


def _options(use: str) -> Iterator[Row]:
    """Yield options that have a note, those of one note and the same owners together."""
    owners: dict[tuple[str, str], list[str]] = {}  # option and note -> connectors and formats
    for name, key, spec in _specs():
        if spec.use == use and spec.note:
            owners.setdefault((key, spec.note), []).append(name)
    rows: dict[tuple[str, str], list[str]] = {}
    for (key, note), names in owners.items():
        where = "each connector" if len(names) > _FEW else ", ".join(names)
        rows.setdefault((where, note), []).append(f"`{key}`")
    for (where, note), keys in rows.items():
        yield f"{where}: {', '.join(keys)}", note


_FEW = 4  # so many owners of an option are named


def _specs() -> Iterator[tuple[str, str, OptionSpec]]:
    """Yield connector or format, the option as it is written, and what becomes of it."""
    from flinkddl.options import registry

    for document in (*registry.documents("connector"), *registry.documents("format")):
        for spec in (*document.options.values(), *document.families):
            yield document.name, re.sub(r"^\^(.*)\\\.$", r"\1.*", spec.key), spec


def _settings(use: str) -> list[Row]:
    from flinkddl.catalog.settings import every

    return [(f"SET {names}", why) for names, why in _by_reason([(s.key, s.note) for s in every() if s.use == use])]


def _by_reason(pairs: list[tuple[str, str]]) -> list[Row]:
    found: dict[str, list[str]] = {}
    for name, why in pairs:
        found.setdefault(why, []).append(f"`{name}`")
    return [(", ".join(names), why) for why, names in found.items()]


def _elsewhere() -> list[Row]:
    """Return the connectors and catalogs of others that do not run here, those of one cause together, and formats."""
    from flinkddl.options import elsewhere, registry

    kinds: tuple[elsewhere.Kind, ...] = ("connectors", "catalogs")
    rows = [
        (f"{kind} {', '.join(f'`{n}`' for n in row.names)}", f"{row.cause}; {row.instead}")
        for kind in kinds
        for row in elsewhere.families(kind)
    ]
    return [*rows, *((f"formats `{name}`", instead) for name, instead in registry.elsewhere()["formats"].items())]
