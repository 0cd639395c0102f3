"""A table of a connector that does not run here: one finding, which for a CDC table holds the table to write instead.

Sources: the connector pages of Flink CDC 3 (options, metadata), Debezium 3 (names of topics, converters), TiCDC.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.catalog.printing import definition_of, literal_of, path_of, text_of
from flinkddl.options import elsewhere, hints
from flinkddl.sqltypes import DATETIME, Root, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flinkddl.catalog.model import Column, Table
    from flinkddl.diagnostics import Bag
    from flinkddl.options import OptionText
    from flinkddl.options.elsewhere import Capture

_DECIMALS = frozenset({Root.DECIMAL})
_SERVERS = "<host>:9092"
_STARTS = {"latest-offset": "latest-offset", "timestamp": "timestamp"}  # all else from the topic's beginning, but
_NO_STARTS = ("specific-offset", "committed-offset", "snapshot")  # have no equal
_PATTERN = re.compile(r"[*+?|\\^()\[\]{}]|\$$")
_ANCHOR = re.compile(r"(?:^|(?<=[(|]))\^|(?<!\\)\$(?=[)|]|$)")  # of a name, which is a part of a topic's
_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._<>-]")


def report(table: Table, named: OptionText, bag: Bag) -> bool:
    """Report a table whose connector is known elsewhere and does not run here; return whether it is one."""
    refused = elsewhere.connector(named.value)
    if refused is None:
        return False
    capture = elsewhere.capture(named.value)
    help = refused.instead if capture is None else _through_kafka(table, capture)
    hints.not_available(named, refused, help, bag)
    return True


# ---- the table to write instead ------------------------------------------------------------------------------------


def _through_kafka(table: Table, capture: Capture) -> str:
    """Return what to do, and then the statement: the same table over the topic that holds its changes."""
    decimals = any(c.type is not None and c.type.is_a(_DECIMALS) for c in table.physical)
    exact = ("decimal.handling.mode=string",) if decimals and capture.format == "debezium-json" else ()
    does = f"let {capture.writer} write the changes to Kafka ({', '.join(capture.settings + exact)}), and declare:"
    elements, notes = _columns(table, capture)
    word = "CREATE TEMPORARY TABLE" if table.temporary else "CREATE TABLE"
    comment = "" if table.comment is None else f" COMMENT {literal_of(table.comment)}"
    lines = [
        *(f"  -- {' '.join(note.split())}" for note in notes),
        ",\n".join(f"  {element}" for element in elements),
        f"){comment} WITH (",
        ",\n".join(f"  {literal_of(k)} = {literal_of(v)}" for k, v in _options(table, capture)),
        ");",
    ]
    return "\n".join([does, f"{word} {_name(table)} (", *lines])


def _name(table: Table) -> str:
    """Return the table's name as the script writes it, or in full where the text says another one (after RENAME TO)."""
    written = table.span.text if table.span is not None else ""
    last = written.replace("`", "").rpartition(".")[2]
    return written if last == table.path.name else path_of(table.path)


def _columns(table: Table, capture: Capture) -> tuple[list[str], list[str]]:
    """Return what stands between the parentheses, and what is to be said of it.

    Metadata columns read the format's keys; what has no equivalent is left out and named, with all that is computed
    of it.
    """
    lost = {c.name: c.metadata_key for c in table.columns if c.kind == "metadata" and not _key(c, capture)}
    computed = [c.name for c in table.columns if _uses(c.expression, lost)]
    gone = {*lost, *computed}
    elements = [_element(c, capture) for c in table.columns if c.name not in gone]
    notes = [f"{quote(name)} is left out: '{capture.format}' has no '{key}'" for name, key in lost.items()]
    notes += [f"{quote(name)} is left out: it is computed of what is" for name in computed]
    mark, key = table.watermark, table.primary_key
    if mark is not None and (mark.column[0] in gone or _uses(mark.expression, gone)):
        notes.append("the WATERMARK is left out: it needs what is")
    elif mark is not None:
        name = ".".join(map(quote, mark.column))
        elements.append(f"WATERMARK FOR {name} AS {text_of(mark.expression)}")
    if key is not None:
        elements.append(f"PRIMARY KEY ({', '.join(map(quote, key.columns))}) NOT ENFORCED")
    return elements, [*notes, *_notes(table, capture)]


def _element(column: Column, capture: Capture) -> str:
    if column.kind == "metadata":
        column = replace(column, metadata_key=_key(column, capture), virtual=True)
    return definition_of(column, str(column.type))


def _key(column: Column, capture: Capture) -> str | None:
    return capture.metadata.get(column.metadata_key or column.name)


def _uses(expression: exp.Expression | None, names: Iterable[str]) -> bool:
    return expression is not None and any(i.name in names for i in expression.find_all(exp.Identifier))


def _notes(table: Table, capture: Capture) -> Iterator[str]:
    """Yield what else to mind: of the database, of the start, of values that Debezium writes in another form."""
    if capture.note is not None:
        yield capture.note
    if (mode := _value(table, "scan.startup.mode")) in _NO_STARTS:
        yield f"'scan.startup.mode' = '{mode}' has no equal: the topic is read from its beginning, and on"
    times = [quote(c.name) for c in table.physical if c.type is not None and c.type.is_a(DATETIME)]
    if times and capture.format != "canal-json":
        form = f"as text that '{capture.format}' reads, such as 2026-01-31 10:00:00"
        yield f"Debezium has its own forms of dates and times: let a converter write {', '.join(times)} {form}"


# ---- its options ---------------------------------------------------------------------------------------------------


def _options(table: Table, capture: Capture) -> Iterator[tuple[str, str]]:
    upsert = capture.format == "json"  # whole documents by their key, no changes
    yield "connector", "upsert-kafka" if upsert else "kafka"
    yield _topic(table, capture)
    yield "properties.bootstrap.servers", _SERVERS
    if upsert:
        yield "key.format", capture.format
        yield "value.format", capture.format
        return
    yield from _start(table)
    yield "format", capture.format
    for option, source in capture.filters.items():
        if value := _value(table, source):
            yield option, value


def _topic(table: Table, capture: Capture) -> tuple[str, str]:
    """Return 'topic' by Debezium's rule, or 'topic-pattern' where an option is a regular expression."""
    if not capture.topic:
        return "topic", "<topic>"
    parts = [p for p in (_part(table, option) for option in capture.topic) if p]
    if not any(_PATTERN.search(p) for p in parts):
        # Debezium puts an underscore for what Kafka does not take in a topic's name.
        return "topic", ".".join(["<topic.prefix>", *(_NOT_IN_TOPICS.sub("_", p) for p in parts)])
    patterns = [_ANCHOR.sub("", p) if _PATTERN.search(p) else re.escape(p) for p in parts]
    return "topic-pattern", r"\.".join(["<topic.prefix>", *(f"(?:{p})" if "|" in p else p for p in patterns)])


def _part(table: Table, option: str) -> str:
    key = option.removesuffix("?")
    return _value(table, key) or ("" if key != option and _has_dot(table) else f"<{key.removesuffix('-name')}>")


def _has_dot(table: Table) -> bool:
    """Whether the table's own name says in which schema or database it is, as in 'dbo.orders'."""
    return any("." in _value(table, key) for key in ("table-name", "collection"))


def _value(table: Table, key: str) -> str:
    text = table.options.get(key)
    return text.value if text is not None else ""


def _start(table: Table) -> Iterator[tuple[str, str]]:
    """Yield where reading begins: by default with the snapshot, which Debezium writes first into the topic."""
    mode = _STARTS.get(_value(table, "scan.startup.mode"), "earliest-offset")
    yield "scan.startup.mode", mode
    if mode == "timestamp":
        yield "scan.startup.timestamp-millis", _value(table, "scan.startup.timestamp-millis") or "0"
