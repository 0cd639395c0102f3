"""Completion of WITH options, OPTIONS hints and SET keys, with their values, out of the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.catalog import settings
from flinkddl.cli.shell.candidates import Candidate
from flinkddl.dialect import tokens as t
from flinkddl.options import registry
from flinkddl.options.kafka_properties import PREFIX, WELL_KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flinkddl.catalog.state import Catalog
    from flinkddl.dialect.tokens import Token
    from flinkddl.options.registry import Document, OptionSpec

_FORMAT_KEYS = {"format": "", "key.format": "key.", "value.format": "value."}
_META_WIDTH = 60


def option_candidates(
    tokens: Sequence[Token], fragment: str | None, after: str, catalog: Catalog
) -> list[Candidate] | None:
    """Return keys or values for a place in ``WITH ( ... )`` or ``OPTIONS( ... )``; None for any other place.

    ``fragment`` is what stands after the opening quotation mark, None where there is none yet.
    """
    opened = _opened(tokens)
    if opened is None:
        return None
    inner = list(tokens[opened + 1 :])
    written = _pairs(inner)
    given = written
    if tokens[opened - 1].key == "OPTIONS":
        given = {**_table_options(tokens[: opened - 1], catalog), **written}
    last = inner[-1].key if inner else ","
    if last == "=" and inner[-2].kind == t.STRING:
        return _values(_spec(inner[-2].value, given), inner[-2].value, given, fragment, after)
    if last == ",":
        return [_key(key, doc, fragment, after) for key, doc in _keys(given, fragment) if key not in written]
    return []


def _opened(tokens: Sequence[Token]) -> int | None:
    """Return the place of the parenthesis of an option list that is still open."""
    depth = 0
    for i in range(len(tokens) - 1, 0, -1):
        depth += (tokens[i].key == ")") - (tokens[i].key == "(")
        if depth < 0:
            heads = tokens[i - 1].key == "WITH" and tokens[0].key in {"CREATE", "ALTER", "REPLACE"}
            heads = heads or (tokens[i - 1].key == "SET" and tokens[0].key == "ALTER")
            return i if heads or tokens[i - 1].key == "OPTIONS" else None
    return None


def _pairs(tokens: Sequence[Token]) -> dict[str, str]:
    return {
        tokens[i].value: tokens[i + 2].value
        for i in range(len(tokens) - 2)
        if tokens[i + 1].key == "=" and tokens[i].kind == tokens[i + 2].kind == t.STRING
    }


def _table_options(tokens: Sequence[Token], catalog: Catalog) -> dict[str, str]:
    """Return the options of the table that a hint belongs to."""
    path: list[str] = []
    for token in reversed(tokens):
        if token.kind in (t.WORD, t.NAME):
            path.insert(0, token.value)
        elif token.key != ".":
            break
        if tokens[tokens.index(token) - 1].key != "." and token.key != ".":
            break
    found = catalog.find(tuple(path)) if 0 < len(path) <= 3 else None
    return {k: v.value for k, v in getattr(found, "options", {}).items()}


# ---- keys ----------------------------------------------------------------------------------------------------------


def _keys(given: dict[str, str], fragment: str | None) -> list[tuple[str, str]]:
    connector = registry.connector(given.get("connector", ""))
    if connector is None:
        found = [("connector", "what the table is made of")]
    else:
        found = [(key, _short(spec.doc)) for key, spec in _known(connector, given)]
        if connector.of_topics:
            found += [(PREFIX + name, "property of the Kafka client") for name in WELL_KNOWN]
    return [(key, doc) for key, doc in found if _fits(key, fragment)]


def _known(connector: Document, given: dict[str, str]) -> Iterator[tuple[str, OptionSpec]]:
    """Yield the options that a table may have, needed ones first: the connector's, then those of its formats."""
    usable = {k: s for k, s in connector.options.items() if s.use != "refused" and not s.deprecated}
    formats = ("format", "key.format", "value.format", "topic", "properties.bootstrap.servers")
    needed = [*connector.required, *(k for k in formats if k in usable)]
    for key in dict.fromkeys([*needed, *sorted(usable)]):
        if key in usable:
            yield key, usable[key]
    for key, prefix in _FORMAT_KEYS.items():
        document = registry.format(given.get(key, ""))
        if document is not None:
            for name, spec in sorted(document.options.items()):
                if not spec.deprecated:
                    yield f"{prefix}{document.name}.{name}", spec


def _spec(key: str, given: dict[str, str]) -> OptionSpec | None:
    connector = registry.connector(given.get("connector", ""))
    if connector is None:
        return None
    for name, prefix in _FORMAT_KEYS.items():
        document = registry.format(given.get(name, ""))
        if document is not None and key.startswith(f"{prefix}{document.name}."):
            return document.spec(key[len(prefix) + len(document.name) + 1 :])
    return connector.spec(key)


def _key(key: str, doc: str, fragment: str | None, after: str) -> Candidate:
    """A key brings ``= '`` along where no value follows yet."""
    tail = "'" if after.lstrip("'").lstrip().startswith("=") else "' = '"
    tail = "" if after.startswith("'") else tail
    start = "'" if fragment is None else ""
    return Candidate(f"{start}{key}{tail}", doc, len(fragment or ""), key)


# ---- values --------------------------------------------------------------------------------------------------------


def _values(
    spec: OptionSpec | None, key: str, given: dict[str, str], fragment: str | None, after: str
) -> list[Candidate]:
    if key == "connector":
        found = [(document.name, document.doc) for document in registry.documents("connector")]
    elif key in _FORMAT_KEYS:
        found = list(_formats(key, given))
    elif spec is None:
        return []
    else:
        found = [(text, "") for text in _texts(spec.kind, spec.choices, spec.default, spec.examples)]
    tail = "" if after.startswith("'") else "'"
    start = "'" if fragment is None else ""
    return [
        Candidate(f"{start}{text}{tail}", _short(doc), len(fragment or ""), text)
        for text, doc in found
        if _fits(text, fragment)
    ]


def _formats(key: str, given: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the formats that the connector takes in this place."""
    connector = registry.connector(given.get("connector", ""))
    role = "key" if key == "key.format" else "value"
    allowed = connector.formats.get(role, "any") if connector else "any"
    for document in registry.documents("format"):
        elsewhere = connector and document.connectors and connector.name not in document.connectors
        if not elsewhere and allowed in ("any", document.changelog):
            yield document.name, document.doc


def _texts(kind: str, choices: Sequence[str], default: object, examples: Sequence[str] = ()) -> Iterator[str]:
    """Yield texts of values: all choices where they are known, otherwise the default and examples."""
    if kind == "bool":
        yield from ("true", "false")
        return
    if choices:
        yield from choices
        return
    if default is not None and kind in {"string", "int", "long", "double"}:
        yield str(default)
    yield from (e for e in examples if e != str(default))


# ---- SET -----------------------------------------------------------------------------------------------------------


def setting_candidates(tokens: Sequence[Token], fragment: str, after: str) -> list[Candidate]:
    """Return keys or values for ``SET '...' = '...'`` and keys for ``RESET '...'``."""
    table = settings.table()
    if len(tokens) == 3 and tokens[2].key == "=":
        known = table.get(tokens[1].value)
        texts = _texts(known.kind, known.choices, known.default) if known else ()
        lower = [x.lower() if known and known.kind == "enum" else x for x in texts]
        tail = "" if after.startswith("'") else "'"
        return [Candidate(x + tail, "", len(fragment), x) for x in lower if _fits(x, fragment)]
    if len(tokens) != 1:
        return []
    found = sorted(key for key in (s.key for s in settings.every()) if _fits(key, fragment))
    if tokens[0].key == "SET":
        return [_key(key, _short(table[key].note), fragment, after) for key in found]
    tail = "" if after.startswith("'") else "'"
    return [Candidate(key + tail, _short(table[key].note), len(fragment), key) for key in found]


def _fits(text: str, fragment: str | None) -> bool:
    """Whether a text is meant: it begins with what is typed, or a later part of it between dots does."""
    typed = (fragment or "").lower()
    return text.lower().startswith(typed) or (len(typed) > 1 and f".{typed}" in text.lower())


def _short(doc: str) -> str:
    return doc if len(doc) <= _META_WIDTH else doc[: _META_WIDTH - 3].rstrip() + "..."
