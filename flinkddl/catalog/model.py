"""What a catalog holds: tables, views, functions. All frozen; expressions stay trees until the plan resolves them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from flinkddl.options.resolved import OptionText as OptionText  # noqa: TC001 (other rooms import it from here)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from flinkddl.diagnostics import Span
    from flinkddl.sqltypes import DataType

ColumnKind = Literal["physical", "metadata", "computed"]


@dataclass(frozen=True, order=True)
class ObjectPath:
    """Catalog, database and object name; prints as Flink does, with dots."""

    catalog: str
    database: str
    name: str

    def __str__(self) -> str:
        return f"{self.catalog}.{self.database}.{self.name}"


@dataclass(frozen=True)
class Column:
    """One column as declared.

    ``type`` is None for a computed column, whose type the plan infers; ``metadata_key`` is set for metadata columns
    (the column's name where FROM is absent); ``expression`` for computed ones.
    """

    name: str
    kind: ColumnKind = "physical"
    type: DataType | None = None
    metadata_key: str | None = None
    virtual: bool = False
    expression: exp.Expression | None = field(default=None, repr=False)
    comment: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def persisted(self) -> bool:
        """Whether the column is part of the sink schema: physical, or metadata that is not VIRTUAL."""
        return self.kind == "physical" or (self.kind == "metadata" and not self.virtual)


@dataclass(frozen=True)
class Watermark:
    """WATERMARK FOR column AS expression; ``column`` has more than one part for a nested field."""

    column: tuple[str, ...]
    expression: exp.Expression = field(repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class PrimaryKey:
    """PRIMARY KEY (columns) NOT ENFORCED, columns in the order of the clause."""

    columns: tuple[str, ...]
    name: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Table:
    """A table as declared; options are checked when the table is used, as in Flink."""

    path: ObjectPath
    columns: tuple[Column, ...]
    options: Mapping[str, OptionText]
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None
    partition_keys: tuple[str, ...] = ()
    distribution: exp.Expression | None = field(default=None, repr=False)
    comment: str | None = None
    temporary: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)

    def column(self, name: str) -> Column | None:
        """Return the column of that exact name."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {c.name: c for c in reversed(self.columns)}

    @cached_property
    def physical(self) -> tuple[Column, ...]:
        """Physical columns in declared order: the row that formats read and write."""
        return tuple(c for c in self.columns if c.kind == "physical")

    @cached_property
    def physical_places(self) -> Mapping[str, int]:
        """The position of each physical column among them."""
        return {c.name: i for i, c in enumerate(self.physical)}

    @cached_property
    def persisted(self) -> tuple[Column, ...]:
        """The sink schema: physical and writable metadata columns in declared order."""
        return tuple(c for c in self.columns if c.persisted)


@dataclass(frozen=True)
class View:
    """A view: the tree of its query, resolved against the catalog and database it was created in."""

    path: ObjectPath
    query: exp.Expression = field(repr=False)
    columns: tuple[str, ...] = ()
    text: str = ""
    comment: str | None = None
    temporary: bool = False
    catalog: str = ""
    database: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Function:
    """A user-defined function; ``path`` is None for a temporary system function, which ``name`` alone identifies.

    ``given`` marks one from outside of the script: it stands in for what the script declares under its name.
    ``named`` says that the user names its Python module as one that may be imported, not the script alone.
    ``jars`` are a Java function's own, as absolute paths; ``class_path``, where it is looked up, those of the session
    too, and ``script_jars`` those among them that nobody but the script names. ``returns`` is the type that the
    user says it returns, "" where its class tells. ``parameters`` are the session's job parameters.
    """

    name: str
    identifier: str
    language: str = "JAVA"
    path: ObjectPath | None = None
    temporary: bool = False
    given: bool = False
    named: bool = False
    jars: tuple[str, ...] = ()
    class_path: tuple[str, ...] = ()
    script_jars: tuple[str, ...] = ()
    returns: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
