"""What a connector is: its roles, its changelog modes, its metadata, how it splits a row, and its checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.catalog.model import Table
    from flinkddl.diagnostics import Bag, Span
    from flinkddl.options import ResolvedOptions
    from flinkddl.sqltypes import DataType

RowKind = Literal["I", "UB", "UA", "D"]
ChangelogMode = frozenset[RowKind]
INSERT_ONLY: ChangelogMode = frozenset({"I"})
UPSERT: ChangelogMode = frozenset({"UA", "D"})
ALL_KINDS: ChangelogMode = frozenset({"I", "UB", "UA", "D"})


@dataclass(frozen=True)
class Metadata:
    """A metadata key: its type when read, and when written (None where it can not be written).

    ``of_format`` is the key's name in the value format where it comes from there, as in ``value.source.table``.
    """

    key: str
    read: DataType
    write: DataType | None = None
    of_format: str | None = None


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


Check = "Callable[[Table, ResolvedOptions, Bag, Use], None]"


@dataclass(frozen=True)
class Connector:
    """A connector as functions of a table's resolved options.

    ``source_mode`` and ``sink_mode`` are the kinds of rows it emits and takes; ``metadata`` its keys for a role;
    ``bounded`` whether reading ends by itself. ``check_source`` and ``check_sink`` add to the bag what is wrong with
    using this very table so.
    """

    name: str
    source_mode: Callable[[ResolvedOptions], ChangelogMode] | None
    sink_mode: Callable[[ResolvedOptions], ChangelogMode] | None
    metadata: Callable[[ResolvedOptions], Mapping[str, Metadata]]
    projection: Callable[[Table, ResolvedOptions], Projection]
    bounded: Callable[[ResolvedOptions], bool]
    check_source: Callable[[Table, ResolvedOptions, Bag, Use], None]
    check_sink: Callable[[Table, ResolvedOptions, Bag, Use], None]
    lookup: bool = False
    partitions: bool = False
    overwrite: bool = False


def all_values(table: Table, resolved: ResolvedOptions) -> Projection:
    """Return the projection of a connector without keys: every physical column is value."""
    return Projection((), tuple(field_of(table, c.name) for c in table.physical))


def field_of(table: Table, column: str, prefix: str = "") -> PayloadField:
    """Return a physical column as a payload field, its prefix cut from the format's name."""
    index = table.physical_places[column]
    kind = table.physical[index].type
    assert kind is not None  # physical columns are typed when they are declared
    return PayloadField(column, column.removeprefix(prefix), kind, index)


def no_metadata(resolved: ResolvedOptions) -> Mapping[str, Metadata]:
    """Return the metadata keys of a connector that has none."""
    return {}
