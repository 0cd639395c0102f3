"""The WITH clause of a table of Flink 1.9 and 1.10 in today's options: what takes the place of each of its options.

Source of the rules: FLIP-122 (New Connector Property Keys) and the validators named in ``legacy_names``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flinkddl.options import elsewhere, registry
from flinkddl.options.legacy_names import (
    CONNECTORS,
    DESCRIPTIONS,
    FILES_CSV,
    FORMATS,
    NO_CONNECTOR,
    STILL_READ,
    TYPES,
    VALUES,
    VERSIONED,
    Gone,
    Lost,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.options.legacy_names import Entry, Names, OldConnector

Pair = tuple[str, str]
_PROPERTY = re.compile(r"connector\.properties\.(\d+)\.(key|value)")
_OFFSET = re.compile(r"connector\.specific-offsets\.(\d+)\.(partition|offset)")
_HOST = re.compile(r"connector\.hosts\.(\d+)\.(hostname|port|protocol)")
_OF_COLUMNS = re.compile(r"schema\.|format\.(?:fields\.|schema$|json-schema$|avro-schema$)")


@dataclass(frozen=True)
class Renewed:
    """A WITH clause in today's options.

    ``pairs``: each written key with the options that take its place, none where it is not needed any more; ``lost``:
    keys that nothing does the same for today, which stay, and what to do; ``differs``: keys that mean something else
    today, and what; ``of_columns``: what was said of columns, which stand in the table itself today.
    """

    connector: OldConnector
    format: str | None
    pairs: Mapping[str, tuple[Pair, ...]] = field(repr=False)
    lost: Mapping[str, str]
    differs: Mapping[str, str]
    of_columns: Mapping[str, str] = field(repr=False)

    @property
    def options(self) -> tuple[Pair, ...]:
        """The options as they stand in the new clause, in the order of the old one."""
        return tuple(pair for pairs in self.pairs.values() for pair in pairs)


def is_old(options: Mapping[str, object]) -> bool:
    """Whether a WITH clause is in the style before Flink 1.11."""
    return "connector.type" in options


def renew(options: Mapping[str, str], timestamps: bool = False, read: bool = False) -> Renewed | None:
    """Return a WITH clause in today's options, or None where it has no older ones.

    ``timestamps``: some column is a TIMESTAMP, or has one inside; ``read``: a query reads the table.
    """
    if is_old(options):
        return _Old(options, timestamps, read).run()
    named = VERSIONED.get(options.get("connector", ""), options.get("connector", ""))
    kind = CONNECTORS.get(named, NO_CONNECTOR)
    table = kind.today
    if not any(key in table for key in options) and named == options.get("connector", ""):
        return None
    found = _Renewal(options)
    for key, value in options.items():
        if key == "connector":
            found.pairs[key] = ((key, named),)
        else:
            found.put(key, value, table.get(key, key))
    return Renewed(kind, None, found.pairs, found.lost, found.differs, {})


_AS_EVER = {"connector.path", "connector.type", "format.derive-schema", "format.field-delimiter", "format.type"} | {
    "connector.property-version", "format.property-version", "format.quote-character", "update-mode"
}  # fmt: skip


def still_read(options: Mapping[str, str]) -> Renewed | None:
    """Return today's options of the one older table that Flink 2.3 itself still reads, the first CSV of files, or None.

    Without the options with which it reads otherwise than the CSV of today: those of headers, comments and errors.
    Source: CsvBatchTableSourceFactory, a running Flink 2.3.
    """
    kinds = (options.get("connector.type"), options.get("format.type"))
    return renew(options) if kinds == STILL_READ and _AS_EVER.issuperset(options) else None


class _Renewal:
    """What takes the place of options, one after the other."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options
        self.pairs: dict[str, tuple[Pair, ...]] = {}
        self.lost: dict[str, str] = {}
        self.differs: dict[str, str] = {}
        self.of_columns: dict[str, str] = {}

    def put(self, key: str, value: str, entry: Entry, prefix: str = "") -> None:
        """Note what an option has become by its entry; ``prefix`` stands before its name today."""
        match entry:
            case Gone(differs):
                self.pairs[key] = ()
                if differs:
                    self.differs[key] = differs
            case Lost(instead):
                self.lose(key, value, instead)
            case str():
                self.pairs[key] = ((prefix + entry, VALUES.get(entry, {}).get(value, value)),)
            case _:
                new = [(prefix + name, value if v is None else v) for name, v in entry]
                self.pairs[key] = tuple(pair for pair in new if pair[0] not in self.options)

    def lose(self, key: str, value: str, instead: str) -> None:
        """Leave an option where it is: nothing does the same today."""
        self.pairs[key] = ((key, value),)
        self.lost[key] = instead


class _Old(_Renewal):
    """The style with 'connector.type'."""

    def __init__(self, options: Mapping[str, str], timestamps: bool, read: bool) -> None:
        super().__init__(options)
        self.type = options["connector.type"]
        self.timestamps = timestamps
        self.read = read
        self.connector = self._named()
        self.upserts = False
        self.kind = CONNECTORS.get(self.connector, NO_CONNECTOR)
        if self.kind.upserts and options.get("update-mode") == "upsert":
            self.connector, self.upserts = self.kind.upserts, True
            self.kind = CONNECTORS[self.connector]
        self.names: Names = self.kind.names
        self.format = options.get("format.type")

    def _named(self) -> str:
        version = self.options.get("connector.version", "")
        names = TYPES.get(self.type, (("", self.type),))
        return next(name for begins, name in names if version.startswith(begins))

    def run(self) -> Renewed:
        known = {*CONNECTORS, *registry.names("connector"), *elsewhere.names("connectors")}
        if self.connector not in known:
            instead = f"'{self.type}' is no connector of Flink: ask who wrote it for its options of today"
            self.pairs = {key: ((key, value),) for key, value in self.options.items()}
            self.lost["connector.type"] = instead
        else:
            for key, value in self.options.items():
                self._option(key, value)
            if self.read and self.kind.grouped:
                self._start()
        return Renewed(self.kind, self.format, self.pairs, self.lost, self.differs, self.of_columns)

    def _option(self, key: str, value: str) -> None:
        if key in self.pairs:
            return
        for pattern, group in _GROUPS.items():
            if pattern.fullmatch(key):
                group(self, key)
                return
        root, _, name = key.partition(".")
        if _OF_COLUMNS.match(key):
            self.of_columns[key] = value
            self.pairs[key] = ()
        elif key == "update-mode":
            self._update_mode(key, value)
        elif root in ("connector", "format") and name in DESCRIPTIONS:
            self.pairs[key] = ()
        elif root == "connector" and name:
            self._of_connector(key, name, value)
        elif root == "format" and name:
            self._of_format(key, name, value)
        else:
            self.pairs[key] = ((key, value),)

    def _update_mode(self, key: str, value: str) -> None:
        if value == "retract" and self.kind.topics:
            self.lose(key, value, "write changes with 'format' = 'debezium-json', or 'connector' = 'upsert-kafka'")
        else:
            self.pairs[key] = ()

    def _start(self) -> None:
        """Say where a table without a consumer group begins: Flink 2.3 wants the group of 'group-offsets'.

        The older consumer found no offsets of its own then, and began where 'auto.offset.reset' says.
        """
        now = dict(pair for pairs in self.pairs.values() for pair in pairs)
        if "properties.group.id" in now or now.get("scan.startup.mode", "group-offsets") != "group-offsets":
            return
        reset = now.get("properties.auto.offset.reset", "latest")
        start = ("scan.startup.mode", f"{reset}-offset")
        if reset not in ("latest", "earliest"):
            return
        key = next((k for k in ("connector.startup-mode", "connector.topic") if k in self.pairs), "connector.type")
        self.pairs[key] = (*(p for p in self.pairs[key] if p[0] != start[0]), start)

    # ---- connectors ----------------------------------------------------------------------------------------------

    def _of_connector(self, key: str, name: str, value: str) -> None:
        if name == "type":
            self.pairs[key] = (("connector", self.connector),)
        elif name == "version" or (self.upserts and (name, value) == ("startup-mode", "earliest-offset")):
            self.pairs[key] = ()
        elif name.startswith("sink-partitioner") and self.names.get("sink-partitioner") == "sink.partitioner":
            self._partitioner(key, name, value)
        elif name in self.names:
            self.put(key, value.replace(" ", "") if name == "specific-offsets" else value, self.names[name])
        elif (name.startswith("properties.") and self.kind.topics) or (
            (document := registry.connector(self.connector)) and document.spec(name)
        ):
            self.pairs[key] = ((name, value),)
        else:
            self.lose(key, value, f"connector '{self.connector}' has no such option")

    def _partitioner(self, key: str, name: str, value: str) -> None:
        custom = self.options.get("connector.sink-partitioner") == "custom"
        if name == "sink-partitioner":
            self.pairs[key] = () if custom else (("sink.partitioner", value),)
        elif custom:
            self.pairs[key] = (("sink.partitioner", value),)
            self.differs[key] = "the class has to implement the interface KafkaPartitioner of Flink's connector today"
        else:
            self.pairs[key] = ()

    def _members(self, pattern: re.Pattern[str]) -> dict[int, dict[str, tuple[str, str]]]:
        """Return an indexed group of options: number -> name -> key and value."""
        out: dict[int, dict[str, tuple[str, str]]] = {}
        for key, value in self.options.items():
            if found := pattern.fullmatch(key):
                out.setdefault(int(found[1]), {})[found[2]] = (key, value)
        return dict(sorted(out.items()))

    def _property(self, key: str) -> None:
        number = int(_PROPERTY.fullmatch(key)[1])  # type: ignore[index]
        members = self._members(_PROPERTY)[number]
        if len(members) < 2:
            self.lose(key, self.options[key], "a property is a pair of '.key' and '.value': write the other one")
            return
        (first, name), (second, value) = members["key"], members["value"]
        self.pairs[key] = ()  # the first of both keeps the place
        self.pairs[second if key == first else first] = ()
        self.put(key, value, self.names.get(f"properties.{name}", f"properties.{name}"))

    def _offsets(self, key: str) -> None:
        text = []
        for member in self._members(_OFFSET).values():
            if len(member) < 2:
                self.lose(key, self.options[key], "an offset is a pair of '.partition' and '.offset'")
                return
            text.append(f"partition:{member['partition'][1]},offset:{member['offset'][1]}")
        self._together(key, _OFFSET, ";".join(text), "specific-offsets")

    def _hosts(self, key: str) -> None:
        hosts = [{n: v for n, (_, v) in member.items()} for member in self._members(_HOST).values()]
        text = ";".join(f"{h.get('protocol', 'http')}://{h.get('hostname')}:{h.get('port', '9200')}" for h in hosts)
        self._together(key, _HOST, text, "hosts")

    def _together(self, key: str, pattern: re.Pattern[str], value: str, name: str) -> None:
        """Let one option take the place of a group, where the first of them stands."""
        self.pairs |= {k: () for k in self.options if pattern.fullmatch(k)}
        self.put(key, value, self.names.get(name, Lost(f"connector '{self.connector}' has no such option")))

    # ---- formats -------------------------------------------------------------------------------------------------

    def _of_format(self, key: str, name: str, value: str) -> None:
        format, files = self.format or "", self.kind.files
        names = {**FORMATS.get(format, {}), **(FILES_CSV if files and format == "csv" else {})}
        space = "value." if self.upserts else ""
        document = registry.format(format)
        if not self.kind.formatted:
            self.pairs[key] = ()  # was never read
        elif name == "type":
            self.pairs[key] = self._chosen(value, space)
        elif name == "comment-prefix" and value == "#" and files:
            self.pairs[key] = ((f"{space}csv.allow-comments", "true"),)
        elif files and format == "csv" and name == "line-delimiter" and value == "\n":
            self.pairs[key] = ()
        elif name in names:
            self.put(key, value, names[name], f"{space}{format}.")
        elif document is None or document.spec(name):
            self.pairs[key] = ((f"{space}{format}.{name}", value),)
        else:
            self.lose(key, value, f"format '{format}' has no such option")

    def _chosen(self, format: str, space: str) -> tuple[Pair, ...]:
        """Return the options that name the format, and those that make today's read what the old one read.

        The JSON format took and wrote timestamps as ``2020-01-01T00:00:00Z`` alone; the CSV of files knew no quotes.
        Sources: JsonRowDeserializationSchema of 1.10; OldCsv, as a running Flink 2.3 still reads such tables.
        """
        keys = ("key.", "value.") if space else ("",)
        out = [(f"{k}format", format) for k in keys]
        if format == "json" and self.timestamps:
            out += [(f"{k}json.timestamp-format.standard", "ISO-8601") for k in keys]
        if format == "csv" and self.kind.files and "format.quote-character" not in self.options:
            out.append(("csv.disable-quote-character", "true"))
        return tuple(out)


_GROUPS: Mapping[re.Pattern[str], Callable[[_Old, str], None]] = {
    _PROPERTY: _Old._property,
    _OFFSET: _Old._offsets,
    _HOST: _Old._hosts,
}
