"""What WITH clauses of Flink 1.9 and 1.10 said of columns: written as columns, metadata and watermarks today.

``schema.N.*`` of the table's own columns (``from``, ``proctime``, ``rowtime.*``), and the schemas of formats, which are
derived from the columns today. Source of the rules: ``SchemaValidator``, ``Rowtime``, ``TableFormatFactoryBase``
(deriveSchema), ``JsonRowDeserializationSchema`` and ``AvroRowDeserializationSchema`` of Flink 1.10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flinkddl.dialect import nodes
from flinkddl.dialect.cursor import PLAIN_NAME
from flinkddl.dialect.tokens import lex
from flinkddl.dialect.words import RESERVED
from flinkddl.script.clauses import place_of
from flinkddl.script.old_schemas import Records, legacy_type, never_null, other_schemas
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from flinkddl.options.legacy import Renewed
    from flinkddl.script.edits import Edits

_KEY = re.compile(r"schema\.(\d+)\.(.+)")
_DECLARED = {"name", "type", "data-type"}
_TYPED = {"type", "data-type"}
_GIVEN = {("proctime", "true"), ("rowtime.timestamps.type", "from-source")}
_UNITS = ((86_400_000, "DAY"), (3_600_000, "HOUR"), (60_000, "MINUTE"))
_ZONED = (
    "the older JSON knew timestamps in UTC alone ('..Z'): TIMESTAMP columns are TIMESTAMP_LTZ now, which text shows in "
    "the zone of the session; with SET 'table.local-time-zone' = 'UTC' it is what it was"
)

_TIMES = (
    "the older JSON took and wrote a TIME with a Z ('10:00:00Z'), which none has today: read such a field as STRING"
)


@dataclass(frozen=True)
class ColumnsToday:
    """What became of columns: ``added`` goes behind the last element, ``lost`` and ``differs`` as in ``Renewed``."""

    added: tuple[str, ...]
    lost: Mapping[str, str]
    differs: Mapping[str, str]


@dataclass
class OldColumns:
    """A table whose WITH clause says something of its columns, while it is rewritten."""

    table: nodes.CreateTable
    renewed: Renewed
    edits: Edits
    added: list[str] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    differs: dict[str, str] = field(default_factory=dict)
    changed: list[nodes.Column] = field(default_factory=list)
    zoned: bool = False
    renamed: dict[str, str] = field(default_factory=dict)
    """Columns that have another name in the records: by their name in the table."""

    # ---- columns of the table ------------------------------------------------------------------------------------

    @property
    def elements(self) -> list[nodes.Node]:
        """Columns of all kinds, in order."""
        return columns_of(self.table)

    @property
    def physical(self) -> list[nodes.Column]:
        """What formats read and write."""
        return [e for e in self.elements if isinstance(e, nodes.Column)]

    def run(self) -> ColumnsToday:
        """Change the columns of the table, and return what is left to do and to tell."""
        of_table: dict[int, dict[str, str]] = {}
        rest: dict[str, str] = {}
        for key, value in self.renewed.of_columns.items():
            if found := _KEY.fullmatch(key):
                of_table.setdefault(int(found[1]), {})[found[2]] = value
            else:
                rest[key] = value
        if of_table and not self.table.args.get("elements"):
            self._declare(of_table)
        else:
            for number, said in sorted(of_table.items()):
                self._column(number, said)
        self._zoned()
        records = self._records()
        self.lost |= other_schemas(records, rest)
        for column in never_null(records, rest):
            self.edits.insert(place_of(column.args["kind"]).end, " NOT NULL")
        for key in rest:
            if key.startswith("schema."):
                self.lost[key] = "declare it among the columns of the table"
        return ColumnsToday(tuple(self.added), self.lost, self.differs)

    def _records(self) -> Records:
        """Return what is read of records: no time that Flink gives."""
        said = self.renewed.of_columns
        given = {int(m[1]) for k, v in said.items() if (m := _KEY.fullmatch(k)) and (m[2], v) in _GIVEN}
        read = [c for n, c in enumerate(self.elements) if isinstance(c, nodes.Column) and n not in given]
        named = tuple((self.renamed.get(c.this.name, c.this.name), c) for c in read)
        return Records(named, ordered=self.renewed.format != "json")

    def lose(self, number: int, said: dict[str, str], why: str) -> None:
        """Leave what is said of a column where it is."""
        self.lost |= {f"schema.{number}.{name}": why for name in said}

    def _declare(self, of_table: dict[int, dict[str, str]]) -> None:
        """Write the columns of a table that has none: they stood in the WITH clause alone."""
        lines: list[str] = []
        for number, said in sorted(of_table.items()):
            kind = said.get("data-type") or legacy_type(said.get("type", ""))
            if not kind or "name" not in said:
                self.lose(number, said, "a column has a name and a type")
            elif set(said) <= _DECLARED:
                lines.append(f"{name_of(said['name'])} {self._kind(kind)}")
            else:
                lines += self._time(number, said, said["name"], kind)
        end = nodes.span_of(self.table.this)
        if lines and end:
            body = ("," + self.edits.newline).join(f"  {line}" for line in [*lines, *self.added])
            self.edits.insert(end[1], f" ({self.edits.newline}{body}{self.edits.newline})")
            self.added.clear()

    def _time(self, number: int, said: dict[str, str], name: str, kind: str) -> list[str]:
        """Return the elements of a column that stands in the WITH clause alone and is more than name and type."""
        before, after = self._meaning(number, said, name, kind)
        if after is None:
            return []
        return [*before, f"{name_of(name)} {after}"]

    def _column(self, number: int, said: dict[str, str]) -> None:
        """Change one column after what is said of it."""
        names = [e.this.name for e in self.elements]
        at = names.index(said["name"]) if said.get("name") in names else number
        if at >= len(names) or ("name" in said and names[at] != said["name"]):
            self.lose(number, said, f"the table has no column '{said.get('name', number)}'")
            return
        if set(said) <= _DECLARED:
            return
        element = self.elements[at]
        if not isinstance(element, nodes.Column):
            self.lose(number, said, "the column is computed already")
            return
        name, kind = element.this.name, self.text(element.args["kind"])
        before, after = self._meaning(number, said, name, kind)
        if after is None:
            return
        self.changed.append(element)
        start = place_of(element).start
        glue = "," + self.edits.newline + self.edits.indent(start)
        for line in before:
            self.edits.insert(start, line + glue)
        self.edits.replace(place_of(element.args["kind"]), after)

    def _meaning(self, number: int, said: dict[str, str], name: str, kind: str) -> tuple[list[str], str | None]:
        """Return what a column is today: elements before it, and what stands behind its name; None where nothing is."""
        if said.get("proctime") == "true":
            return [], "AS PROCTIME()"
        if any(key.startswith("rowtime.") for key in said):
            return self._rowtime(number, said, name, kind)
        if "from" in said:
            self.renamed[name] = said["from"]
            return self._read_from(said["from"], kind, "AS {field}", f"schema.{number}.from")
        self.lose(number, said, "declare it among the columns of the table")
        return [], None

    def _read_from(self, source: str, kind: str, expression: str, key: str) -> tuple[list[str], str | None]:
        """Return a column that is read under another name: that field, and the column computed from it."""
        column = name_of(source)
        there = source in (c.this.name for c in self.physical)
        if not there:
            self.differs[key] = f"the field '{source}' is a column of the table too: SELECT * has it, INSERT fills it"
        return [] if there else [f"{column} {self._kind(kind)}"], expression.format(field=column)

    # ---- times ---------------------------------------------------------------------------------------------------

    def _rowtime(self, number: int, said: dict[str, str], name: str, kind: str) -> tuple[list[str], str | None]:
        mark = self._watermark(said, name)
        if mark is None or any(isinstance(e, nodes.Watermark) for e in self.table.args.get("elements") or []):
            self.lose(number, said, "write a WATERMARK of the table, and METADATA or computed columns for its time")
            return [], None
        source = said.get("rowtime.timestamps.from", "")
        kind = milliseconds(kind)
        match said.get("rowtime.timestamps.type"):
            case "from-source" if self.renewed.connector.topics:
                self.added.append(mark)
                return [], "TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"
            case "from-field" if not source or source == name:
                self.added.append(mark)
                return [], self._kind(kind)
            case "from-field":
                self.added.append(mark)
                self.renamed[name] = source
                counted = source in self._counted()
                expression = "AS TO_TIMESTAMP_LTZ({field}, 3)" if counted else "AS {field}"
                key = f"schema.{number}.rowtime.timestamps.from"
                return self._read_from(source, "BIGINT" if counted else kind, expression, key)
        self.lose(number, said, "compute the time in a column of the table: c AS TO_TIMESTAMP(..)")
        return [], None

    def _watermark(self, said: dict[str, str], name: str) -> str | None:
        """Return the WATERMARK clause, or None where the strategy is a class, or the source's own."""
        delay, name = said.get("rowtime.watermarks.delay", "0"), name_of(name)
        match said.get("rowtime.watermarks.type"):
            case "periodic-ascending":
                return f"WATERMARK FOR {name} AS {name} - INTERVAL '0.001' SECOND"
            case "periodic-bounded" if delay.isdigit():
                return f"WATERMARK FOR {name} AS {name} - {interval(int(delay))}"
        return None

    def _counted(self) -> set[str]:
        """The fields that are known to hold milliseconds as numbers."""
        known = {c.this.name for c in self.physical if c.args["kind"].args["name"] == "BIGINT"}
        schema = self.renewed.of_columns.get("format.schema", "")
        return known | set(re.findall(r"[<(,]\s*`?(\w+)`?\s+(?:BIGINT|LONG)\b", schema))

    def _zoned(self) -> None:
        """Give the timestamps of JSON their zone: the older format took and wrote UTC with a Z, and nothing else.

        A TIMESTAMP of today's has no Z (a running Flink 2.3 refuses one), a TIMESTAMP_LTZ has.
        """
        for column in self.physical:
            if column not in self.changed:
                self.edits.replace(place_of(column.args["kind"]), self._kind(self.text(column.args["kind"])))
        times = any(t.args["name"] == "TIME" for c in self.physical for t in c.args["kind"].find_all(nodes.Type))
        told = [_ZONED] * self.zoned + [_TIMES] * (times and self.renewed.format == "json")
        if told:
            self.differs["format.type"] = "; ".join(told)

    def _kind(self, kind: str) -> str:
        """Return the type of a column that is read from the table's format."""
        new = with_zone(kind) if self.renewed.format == "json" else kind
        self.zoned |= new != kind
        return new

    # ---- places --------------------------------------------------------------------------------------------------

    def text(self, node: exp.Expression) -> str:
        """Return a node as it is written."""
        return self.edits.text_of(place_of(node))


def columns_of(table: nodes.CreateTable) -> list[nodes.Node]:
    """Return the columns of a table, of all kinds and in order."""
    kinds = (nodes.Column, nodes.ComputedColumn, nodes.MetadataColumn)
    return [e for e in table.args.get("elements") or [] if isinstance(e, kinds)]


def holds_timestamps(elements: Sequence[nodes.Node], said: Mapping[str, str]) -> bool:
    """Whether the records of a table hold timestamps: not those that Flink itself gives a row."""
    given = {m[1] for k, v in said.items() if (m := _KEY.fullmatch(k)) and (m[2], v) in _GIVEN}
    kinds = [e.args["kind"] for i, e in enumerate(elements) if isinstance(e, nodes.Column) and str(i) not in given]
    typed = [v for k, v in said.items() if (m := _KEY.fullmatch(k)) and m[2] in _TYPED and m[1] not in given]
    return any(t.args["name"] == "TIMESTAMP" for k in kinds for t in k.find_all(nodes.Type)) or any(
        "TIMESTAMP" in text for text in typed
    )


def with_zone(kind: str) -> str:
    """Return a type whose timestamps, its own and those inside, are TIMESTAMP_LTZ."""
    tokens = lex(kind).tokens
    for i, token in reversed(list(enumerate(tokens))):
        if token.key != "TIMESTAMP":
            continue
        at = i + (4 if tokens[i + 1].key == "(" else 1)
        words = [t.key for t in tokens[at : at + 3]]
        if words[:1] == ["WITH"]:
            continue
        if words == ["WITHOUT", "TIME", "ZONE"]:
            kind = kind[: tokens[at - 1].end] + kind[tokens[at + 2].end :]
        kind = f"{kind[: token.end]}_LTZ{kind[token.end :]}"
    return kind


def milliseconds(kind: str) -> str:
    """Return a type of time as a watermark can have it: Flink 2.3 takes up to three digits."""
    found = re.match(r"(?i)(TIMESTAMP(?:_LTZ)?)\s*(?:\(\s*(\d+)\s*\))?", kind)
    if found is None or (found[2] is not None and int(found[2]) <= 3):
        return kind
    return f"{found[1]}(3){kind[found.end() :]}"


def interval(delay: int) -> str:
    """Return milliseconds as an INTERVAL, in the largest unit that they are whole in."""
    for size, unit in _UNITS:
        if delay >= size and delay % size == 0:
            return _interval(str(delay // size), unit)
    seconds, rest = divmod(delay, 1000)
    return _interval(f"{seconds}.{rest:03}" if rest else str(seconds), "SECOND")


def _interval(number: str, unit: str) -> str:
    digits = len(number.partition(".")[0])
    return f"INTERVAL '{number}' {unit}" + (f"({digits})" if digits > 2 else "")


def name_of(name: str) -> str:
    """Return a name as it is written: in back-ticks where it needs them."""
    return name if PLAIN_NAME.fullmatch(name) and name.upper() not in RESERVED else quote(name)
