"""CREATE TABLE: columns, keys, watermark and LIKE folded into a ``Table``, checked as Flink checks at creation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from flinkddl.catalog.context import comment, dotted, literal, parts
from flinkddl.catalog.model import Column, PrimaryKey, Table, Watermark
from flinkddl.diagnostics import did_you_mean, taken
from flinkddl.dialect import nodes
from flinkddl.dialect.types import to_type
from flinkddl.options import hints, registry
from flinkddl.sqltypes import TIMESTAMPS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from sqlglot import exp

    from flinkddl.catalog.context import Context
    from flinkddl.catalog.model import ObjectPath, OptionText
    from flinkddl.sqltypes import DataType

ROWTIME_MAX_PRECISION = 3

_name = attrgetter("name")


@dataclass
class Draft:
    """A table being put together."""

    columns: list[Column] = field(default_factory=list)
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None
    partition_keys: tuple[str, ...] = ()
    distribution: exp.Expression | None = None
    options: dict[str, OptionText] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return the column names in order."""
        return [c.name for c in self.columns]

    def column(self, name: str) -> Column | None:
        """Return the column of that exact name."""
        if name not in map(_name, self.columns):  # of 5,000 columns each asks whether it is new
            return None
        return next(c for c in self.columns if c.name == name)

    def table(self, path: ObjectPath, statement: exp.Expression, ctx: Context) -> Table:
        """Return the finished table."""
        return Table(
            path=path,
            columns=tuple(self.columns),
            options=self.options,
            watermark=self.watermark,
            primary_key=self.primary_key,
            partition_keys=self.partition_keys,
            distribution=self.distribution,
            comment=comment(statement.args.get("comment")),
            temporary=bool(statement.args.get("temporary")),
            span=ctx.span(statement.this),
        )


def draft_of(table: Table) -> Draft:
    """Return a draft that holds what a table holds."""
    return Draft(
        list(table.columns),
        table.watermark,
        table.primary_key,
        table.partition_keys,
        table.distribution,
        dict(table.options),
    )


def read(statement: exp.Expression, ctx: Context) -> Draft:
    """Return what a CREATE TABLE declares itself, without LIKE and AS; duplicates are reported."""
    draft = Draft(options=ctx.options(statement.args.get("options")))
    for element in statement.args.get("elements") or ():
        add_element(draft, element, ctx)
    draft.partition_keys = tuple(i.name for i in statement.args.get("partitioned_by") or ())
    draft.distribution = statement.args.get("distribution")
    return draft


def add_element(draft: Draft, element: exp.Expression, ctx: Context) -> None:
    """Add a column, watermark or key to a draft."""
    match element:
        case nodes.Column() | nodes.MetadataColumn() | nodes.ComputedColumn():
            column = column_of(element, ctx)
            if draft.column(column.name):
                ctx.error("FD305", f"column '{column.name}' is declared twice", element.this, "rename one of them")
                return
            draft.columns.append(column)
            if key := element.args.get("primary_key"):
                set_key(draft, key, (column.name,), ctx)
        case nodes.PrimaryKey():
            set_key(draft, element, tuple(i.name for i in element.expressions), ctx)
        case nodes.Watermark():
            if draft.watermark:
                ctx.error("FD307", "the table has more than one watermark", element, "keep one WATERMARK clause")
            else:
                draft.watermark = watermark_of(element, ctx)
        case nodes.UniqueKey():
            ctx.error("FD306", "UNIQUE constraints are not supported", element, "use PRIMARY KEY ... NOT ENFORCED")


def column_of(element: exp.Expression, ctx: Context) -> Column:
    """Return a column definition as a value."""
    name, span, note = element.name, ctx.span(element), comment(element.args.get("comment"))
    match element:
        case nodes.ComputedColumn():
            return Column(name, "computed", expression=element.expression, comment=note, span=span)
        case nodes.MetadataColumn():
            key = literal(element.args["key"]) if element.args.get("key") else name
            virtual = bool(element.args.get("virtual"))
            declared = to_type(element.args["kind"], ctx.source)
            return Column(name, "metadata", declared, key, virtual, comment=note, span=span)
        case _:
            return Column(name, "physical", to_type(element.args["kind"], ctx.source), comment=note, span=span)


def watermark_of(element: exp.Expression, ctx: Context) -> Watermark:
    """Return a WATERMARK clause as a value."""
    return Watermark(parts(element.this), element.expression, ctx.span(element))


def set_key(draft: Draft, key: exp.Expression, columns: tuple[str, ...], ctx: Context) -> None:
    """Give a draft its primary key."""
    if draft.primary_key:
        ctx.error("FD306", "the table has more than one PRIMARY KEY", key, "keep one of them")
        return
    if key.args.get("enforced") is not False:
        ctx.error(
            "FD306", "a PRIMARY KEY is not enforced by any connector", key, "write PRIMARY KEY (...) NOT ENFORCED"
        )
        return
    name = key.this.name if key.this is not None else None
    draft.primary_key = PrimaryKey(columns, name, ctx.span(key))


# ---- checks of the whole -----------------------------------------------------------------------------------------


def finish(draft: Draft, ctx: Context, where: exp.Expression | None) -> None:
    """Check a complete draft (after LIKE, AS or ALTER) and make its key columns NOT NULL."""
    _metadata_keys(draft, ctx)
    _primary_key(draft, ctx)
    _watermark(draft, ctx)
    _column_names(draft, draft.partition_keys, "partition column", ctx, where)
    _distribution(draft, ctx)


def _metadata_keys(draft: Draft, ctx: Context) -> None:
    seen: dict[str, Column] = {}
    for column in draft.columns:
        if column.kind != "metadata" or column.metadata_key is None:
            continue
        first = seen.setdefault(column.metadata_key, column)
        if first is not column:
            message = f"columns '{first.name}' and '{column.name}' have the same metadata key '{column.metadata_key}'"
            ctx.bag.error("FD308", message, column.span, f"write '{column.name} AS {first.name}' for the second")


def _primary_key(draft: Draft, ctx: Context) -> None:
    key = draft.primary_key
    if key is None:
        return
    twice = [name for name, count in Counter(key.columns).items() if count > 1]
    for name in twice:
        ctx.bag.error("FD306", f"column '{name}' stands twice in the PRIMARY KEY", key.span, "name each column once")
    for name in dict.fromkeys(key.columns):
        column = draft.column(name)
        if column is None:
            help = did_you_mean(name, draft.names())
            place = key.span.at(name) if key.span else None
            ctx.bag.error("FD306", f"the PRIMARY KEY names an unknown column '{name}'", place, help)
        elif column.kind != "physical":
            message = f"the PRIMARY KEY names '{name}', which is a {column.kind} column"
            ctx.bag.error("FD306", message, key.span, "a key consists of physical columns")
    _not_null(draft, frozenset(key.columns))


def note_nullable_key(draft: Draft, own: Container[str], ctx: Context) -> None:
    """Note key columns that may be NULL where LIKE or AS brought them: only its ``own`` a table makes NOT NULL."""
    key = draft.primary_key
    for name in dict.fromkeys(key.columns if key else ()):
        column = draft.column(name)
        if column is not None and column.type is not None and column.type.nullable and name not in own:
            what = f"column '{name}' of the PRIMARY KEY is not declared here and may be NULL"
            help = "make it NOT NULL where it comes from: in the base table, or by COALESCE in the query"
            ctx.bag.extend([taken(what, key.span if key else None, help)])


def _not_null(draft: Draft, names: frozenset[str]) -> None:
    draft.columns = [replace(c, type=c.type.not_null()) if c.name in names and c.type else c for c in draft.columns]


def _watermark(draft: Draft, ctx: Context) -> None:
    mark = draft.watermark
    if mark is None:
        return
    column = draft.column(dotted(mark.column))
    if column is None:
        listed = ", ".join(draft.names())
        help = did_you_mean(dotted(mark.column), draft.names()) or f"available columns: {listed}"
        place = mark.span.at(dotted(mark.column)) if mark.span else None
        ctx.bag.error("FD307", f"the watermark names an unknown column '{dotted(mark.column)}'", place, help)
    elif column.type is not None and not is_rowtime_type(column.type, ctx.strict):
        message = f"column '{column.name}' can not have a watermark, because its type is {column.type}"
        help = "a watermark needs TIMESTAMP(p) or TIMESTAMP_LTZ(p) with p from 0 to 3"
        ctx.bag.error("FD307", message, mark.span, help)


_OF_CONNECTOR = frozenset({"FD305", "FD306", "FD307", "FD308", "FD309"})
"""What a connector that is not here may give columns and keys of its own for."""


def blame_connector(options: Mapping[str, OptionText], ctx: Context) -> None:
    """Of a table that is wrong and whose connector is not here, say the latter and not what is wrong with its columns.

    Flink would come to the connector only after the columns are mended, and all of the table is to be rewritten then.
    """
    text = options.get("connector")
    if text is None or registry.connector(text.value) is not None:
        return
    ctx.bag.items = [d for d in ctx.bag.items if d.code not in _OF_CONNECTOR]
    hints.no_connector(text, ctx.bag)


def is_rowtime_type(t: DataType, strict: bool) -> bool:
    """Whether a column of the type may have a watermark; more than milliseconds are cut unless ``strict``."""
    return t.is_a(TIMESTAMPS) and (not strict or (t.precision or 0) <= ROWTIME_MAX_PRECISION)


def _column_names(draft: Draft, names: Sequence[str], what: str, ctx: Context, where: exp.Expression | None) -> None:
    for name in names:
        if draft.column(name) is None:
            ctx.error(
                "FD309", f"{what} '{name}' is not a column of the table", where, did_you_mean(name, draft.names())
            )


def _distribution(draft: Draft, ctx: Context) -> None:
    node = draft.distribution
    if node is None:
        return
    kind = node.args.get("kind")
    if kind and str(kind).upper() not in ("HASH", "RANGE"):
        ctx.error("FD309", f"unknown distribution '{kind}'", node, "use HASH or RANGE")
    buckets = node.args.get("buckets")
    if buckets is not None and int(str(buckets)) < 1:
        ctx.error("FD309", "the number of buckets must be at least 1", node)
    _column_names(draft, [i.name for i in node.expressions], "bucket column", ctx, node)


def with_query(draft: Draft, fields: Iterable[tuple[str, DataType]], statement: exp.Expression, ctx: Context) -> None:
    """Merge the columns of CREATE TABLE AS: declared ones first, then the query's; a common one keeps its place there.

    A list of bare names reorders the query's columns.
    """
    query = dict(fields)
    order = [e.name for e in statement.args.get("elements") or () if not isinstance(e, nodes.Node)]
    if order:
        _reorder(draft, query, order, statement, ctx)
        return
    declared = {c.name: c for c in draft.columns}
    for name in query:
        if name in declared and declared[name].kind != "physical":
            message = f"column '{name}' of the query is declared as a {declared[name].kind} column"
            ctx.bag.error("FD318", message, declared[name].span, "rename one of them")
    _note_nullable(draft, query, ctx)
    common = [declared.get(name) or Column(name, "physical", t) for name, t in query.items()]
    draft.columns = [c for c in draft.columns if c.name not in query] + common


def _note_nullable(draft: Draft, query: Mapping[str, DataType], ctx: Context) -> None:
    """Note columns that are declared NOT NULL, or as a key, and may be NULL in the query of CREATE TABLE AS."""
    keys = draft.primary_key.columns if draft.primary_key else ()
    for column in draft.columns:
        given = query.get(column.name)
        if given is None or column.type is None or not given.nullable:
            continue
        if column.name in keys or not column.type.nullable:
            what = f"column '{column.name}' is NOT NULL here and may be NULL in the query"
            help = "write COALESCE in the query, or CREATE TABLE first and INSERT INTO it"
            ctx.bag.extend([taken(what, column.span, help)])


def _reorder(
    draft: Draft, query: dict[str, DataType], order: list[str], statement: exp.Expression, ctx: Context
) -> None:
    if draft.columns:
        ctx.error("FD318", "column names and column definitions can not be mixed", statement.this)
    elif sorted(order) != sorted(query):
        listed = ", ".join(query)
        ctx.error(
            "FD318", "the column list differs from the columns of the query", statement.this, f"columns: {listed}"
        )
    else:
        draft.columns = [Column(name, "physical", query[name]) for name in order]
