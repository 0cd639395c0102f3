"""What a connector is: its roles, its changelog modes, its metadata, how it splits a row, and its checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from flinkddl.catalog.model import Column, Table
    from flinkddl.diagnostics import Bag, Span
    from flinkddl.options import ResolvedOptions
    from flinkddl.options.registry import Role
    from flinkddl.sqltypes import DataType

RowKind = Literal["I", "UB", "UA", "D"]
ChangelogMode = frozenset[RowKind]
INSERT_ONLY: ChangelogMode = frozenset({"I"})
UPSERT: ChangelogMode = frozenset({"UA", "D"})
ALL_KINDS: ChangelogMode = frozenset({"I", "UB", "UA", "D"})


@dataclass(frozen=True)
class Metadata:
    """A metadata key: its type when read, and when written (None where it can not be written)."""

    key: str
    read: DataType
    write: DataType | None = None


@dataclass(frozen=True)
class PayloadField:
    """A physical column in a message's key or value: its place in the table and the name that the format sees."""

    column: str
    name: str
    type: DataType
    index: int


@dataclass(frozen=True)
class Projection:
    """How the physical columns of a table fill key and value; ``index`` counts the table's physical columns.

    ``key`` is empty where there is no key format. A column in both is written to both; read, the value's copy wins.
    """

    key: tuple[PayloadField, ...]
    value: tuple[PayloadField, ...]


@dataclass(frozen=True)
class Use:
    """The circumstances of one use of a table that its checks depend on.

    ``span`` is the table's name there; ``conflict`` the word after ON CONFLICT DO; ``strict`` refuses all that Flink
    2.3 refuses; ``job`` is ``pipeline.name``.
    """

    span: Span | None = None
    batch: bool = False
    overwrite: bool = False
    cdc_duplicates: bool = False
    conflict: str | None = None
    strict: bool = False
    job: str = ""


def never(*_: object) -> bool:
    """Return that no table is so."""
    return False


def always(*_: object) -> bool:
    """Return that every table is so."""
    return True


def by_key(*items: Metadata) -> Mapping[str, Metadata]:
    """Return metadata by their keys."""
    return {m.key: m for m in items}


def all_values(table: Table, resolved: ResolvedOptions) -> Projection:
    """Return the projection of a connector without keys: every physical column is value."""
    return Projection((), tuple(field_of(table, c.name) for c in table.physical))


def field_of(table: Table, column: str, prefix: str = "") -> PayloadField:
    """Return a physical column as a payload field, its prefix cut from the format's name."""
    index = table.physical_places[column]
    kind = table.physical[index].type
    assert kind is not None  # physical columns are typed when they are declared
    return PayloadField(column, column.removeprefix(prefix), kind, index)


@dataclass(frozen=True)
class Generated:
    """Options that are added where a table lacks them, each time with a warning.

    ``lacks`` says where; ``options`` gives them; ``says`` the warning from table and first option's value; ``at`` the
    options that it points to, the first that is written.
    """

    code: str
    role: Role
    lacks: Callable[[Table], bool]
    options: Callable[[Table, Use], dict[str, str]]
    says: str
    help: str
    at: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Connector:
    """A connector as functions of a table and its resolved options: all that others know of it.

    ``source_mode`` and ``sink_mode`` are the kinds of rows it emits and takes, None where it is not read or written.
    ``read`` is the module whose ``rows(node, ctx, sequence)`` lowers a scan, ``write`` the one whose
    ``write(node, rel, ctx)`` lowers a sink: names, so that a check loads neither.

    ``bounded``: reading ends by itself. ``lookup``: a processing-time join may look rows up in it; ``made``: there is
    one for whatever key is asked for, which ``made(node, keys, changing, ctx)`` beside ``rows`` gives.
    ``metadata``: its keys. ``projection``: how the columns fill key and value. ``check_source`` and ``check_sink`` add
    to the bag what is wrong with using this very table so; None for the checks that all share (``common``).
    ``written``: the column without which no row can be written. ``partitions`` and ``overwrite``: it takes PARTITIONED
    BY, INSERT OVERWRITE. ``formats``: the value formats that run, () where all do that its options take. ``local``: its
    tables are made by the process that runs, no text can make one. ``instead`` is the help where it takes inserts only
    and a query changes its rows. ``generated``: options that are added where a table lacks them. ``append_mode``: Spark
    writes it in output mode append alone, what comes out once and for all.
    """

    name: str
    source_mode: Callable[[ResolvedOptions], ChangelogMode] | None = None
    sink_mode: Callable[[ResolvedOptions], ChangelogMode] | None = None
    read: str = ""
    write: str = ""
    bounded: Callable[[Table, ResolvedOptions], bool] = never
    lookup: Callable[[ResolvedOptions], bool] = never
    made: bool = False
    metadata: Callable[[ResolvedOptions], Mapping[str, Metadata]] = lambda resolved: {}
    projection: Callable[[Table, ResolvedOptions], Projection] = all_values
    check_source: Callable[[Connector, Table, ResolvedOptions, Bag, Use], None] | None = None
    check_sink: Callable[[Connector, Table, ResolvedOptions, Bag, Use], None] | None = None
    written: Callable[[Table, ResolvedOptions], Column | None] | None = None
    partitions: bool = False
    overwrite: bool = False
    formats: Collection[str] = ()
    local: bool = False
    instead: str = "write into a table with connector 'upsert-kafka' and a PRIMARY KEY"
    generated: tuple[Generated, ...] = ()
    append_mode: bool = False


def inserts(resolved: ResolvedOptions) -> ChangelogMode:
    """Return the kinds of rows of a connector that carries inserts only."""
    return INSERT_ONLY


def upserts(resolved: ResolvedOptions) -> ChangelogMode:
    """Return the kinds of rows of a sink that puts and deletes by the PRIMARY KEY, and without one takes inserts."""
    return INSERT_ONLY | UPSERT


def of_format(resolved: ResolvedOptions) -> ChangelogMode:
    """Return the kinds of rows that the value format of a table carries."""
    chosen = resolved.value_format
    return INSERT_ONLY if chosen is None or chosen.insert_only else ALL_KINDS


def is_upsert(kinds: ChangelogMode) -> bool:
    """Whether rows are the new values of their keys, and deletions."""
    return "UA" in kinds and "UB" not in kinds
