"""The findings about names nobody knows: connectors, formats and options, each with what was probably meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkddl.diagnostics import About, did_you_mean
from flinkddl.diagnostics.kinds import MISSPELLED, OLD_STYLE
from flinkddl.diagnostics.secrets import mask
from flinkddl.options import elsewhere, registry
from flinkddl.options.installed import CONNECTORS
from flinkddl.options.kafka_properties import PREFIX, WELL_KNOWN
from flinkddl.options.legacy import is_old, renew
from flinkddl.options.legacy_changes import renew_change, told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.diagnostics import Bag
    from flinkddl.options.elsewhere import Refused
    from flinkddl.options.legacy import Renewed
    from flinkddl.options.registry import Document, Space
    from flinkddl.options.resolved import OptionText

_CDC = re.compile(r"\bcdc\b", re.IGNORECASE)
"""In the name of whatever reads the log of a database: there are more of these than a list can hold."""
_ROLE_PREFIXES = ("key.", "value.", "")


def legacy(options: Mapping[str, OptionText], bag: Bag, table: str = "", **of_table: bool) -> bool:
    """Report a table in the style before Flink 1.11, with its clause of today, and return whether it is one.

    ``table`` is its name, ``of_table`` what ``renew`` asks of it.
    """
    if not any(key.startswith("connector.") for key in options):
        return False
    first = "connector.type" if is_old(options) else next(key for key in options if key.startswith("connector."))
    renewed = renew({key: text.value for key, text in options.items()}, **of_table)
    help = "write 'connector' = '...'" if renewed is None else _today(renewed)
    whose = f" of table '{table}'" if table else ""
    message = f"options{whose} in the style 'connector.type' are no longer read"
    bag.error("FD203", message, options[first].key_span, help, about=About(table, OLD_STYLE))
    return True


def _today(renewed: Renewed) -> str:
    """Say what a WITH clause is today; what `flinkddl modernize` does beside is only named."""
    known = "connector.type" not in renewed.lost
    shown = [pair for key, pairs in renewed.pairs.items() if known and key not in renewed.lost for pair in pairs]
    clause = ", ".join(f"'{key}' = '{mask(key, value)}'" for key, value in shown)
    parts = [f"write WITH ({clause})"] if shown else []
    parts += [f"nothing does the same as '{key}' today: {instead}" for key, instead in renewed.lost.items()]
    if any(key.endswith("timestamp-format.standard") for key, _ in shown):
        parts.append("its TIMESTAMP columns are TIMESTAMP_LTZ")
    if renewed.of_columns:
        parts.append("what it says of columns stands among them today")
    return f"{'; '.join(parts)} (`flinkddl modernize` rewrites the script)"


def no_connector(text: OptionText, bag: Bag) -> None:
    """Report a connector that is unknown, or known elsewhere and not available here."""
    refused = elsewhere.connector("mysql-cdc" if _CDC.search(text.value) else text.value)
    if refused is not None:
        not_available(text, refused, refused.instead, bag)
        return
    available = registry.names("connector")
    near = did_you_mean(text.value, available)
    help = near or f"available: {', '.join(available)}"
    about = About(text.value, MISSPELLED if near else "")
    bag.error("FD202", f"unknown connector '{text.value}'", text.value_span, help, about=about)


def not_available(text: OptionText, refused: Refused, help: str, bag: Bag) -> None:
    """Report a connector that is known elsewhere: why it does not run here, and how to go on."""
    bag.error("FD203", f"connector '{text.value}' is not available: {refused.cause}", text.value_span, help)


def no_format(key: str, text: OptionText, document: Document, bag: Bag) -> None:
    """Report a format that is unknown, or known elsewhere and not available here."""
    instead = registry.elsewhere()["formats"].get(text.value)
    if instead:
        bag.error("FD215", f"format '{text.value}' is not available", text.value_span, instead)
        return
    available = [f.name for f in registry.documents("format") if not f.connectors or document.name in f.connectors]
    help = did_you_mean(text.value, available) or f"available: {', '.join(available)}"
    message = f"connector '{document.name}' has no format '{text.value}' for '{key}'"
    bag.error("FD214", message, text.value_span, help, about=About(text.value))


def unknown_option(key: str, text: OptionText, document: Document, spaces: Sequence[Space], bag: Bag) -> None:
    """Report an option that neither the connector nor one of its formats has."""
    supported = {space.prefix + name for space in spaces for name in space.document.options}
    help = (
        _older(key, text, spaces)
        or _prefix_mistake(key, spaces)
        or _without_properties(key, document)
        or did_you_mean(key, supported)
        or _neighbour(key, document)
        or f"supported: {', '.join(sorted(supported))}"
    )
    bag.error("FD212", f"unknown option '{key}' for connector '{document.name}'", text.key_span, help)


def _older(key: str, text: OptionText, spaces: Sequence[Space]) -> str | None:
    """Say how an option of Flink 1.9 and 1.10 is written today; ALTER TABLE and hints bring it to a table of today."""
    if not key.startswith(("connector.", "format.")) and key != "update-mode":
        return None
    table = told({"connector": spaces[0].document.name, "format": spaces[-1].document.name})
    renewed = renew_change(table, {key: text.value})
    if renewed is None or renewed.lost:
        return None
    clause = ", ".join(f"'{name}' = '{mask(name, value)}'" for name, value in renewed.pairs[key])
    return f"{f'write {clause}' if clause else 'remove it'} (`flinkddl modernize` rewrites the script)"


def _prefix_mistake(key: str, spaces: Sequence[Space]) -> str | None:
    """Say how a format's option is written when its prefix does not fit the way the format was chosen."""
    for space in spaces[1:]:
        for prefix in _ROLE_PREFIXES:
            for stem in (f"{prefix}{space.document.name}.", prefix):
                name = key[len(stem) :]
                if key.startswith(stem) and name in space.document.options:
                    return f"write '{space.prefix}{name}', because the format was chosen by '{space.key}'"
    return None


def _without_properties(key: str, document: Document) -> str | None:
    takes = any(family.key.startswith("^properties") for family in document.families)
    return f"did you mean '{PREFIX}{key}'?" if takes and key in WELL_KNOWN else None


def _neighbour(key: str, document: Document) -> str | None:
    """Say which other connector of our own has the option."""
    others = [n for n in CONNECTORS if n != document.name]
    having = [n for n in others if (other := registry.connector(n)) and key in other.options]
    if not having:
        return None
    return f"'{key}' is an option of {' and '.join(having)}; this table uses {document.name}"
