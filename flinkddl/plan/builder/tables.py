"""Tables of the catalog become Scans: column types, computed columns, metadata, watermark, time attributes.

What a Scan computes, in this order: the physical columns and the connector's raw metadata values; then ``metadata``,
the cast of each raw value to its declared type (an expression over an ``InputRef`` of the column's own index, typed as
the raw value); then ``computed`` over those; then the watermark over all columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.catalog.model import OptionText
from flinkddl.connectors import connector
from flinkddl.diagnostics import Diagnostic, FlinkDdlError, did_you_mean
from flinkddl.dialect import nodes as tree_nodes
from flinkddl.options import elsewhere
from flinkddl.plan import expressions
from flinkddl.plan.builder.base import Builder, NameScope
from flinkddl.plan.builder.names import Relation
from flinkddl.plan.nodes import Field, Scan, WatermarkSpec
from flinkddl.plan.nodes.values import plain
from flinkddl.plan.rex import Call, InputRef, Literal, Rex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flinkddl.catalog.model import Column, Table
    from flinkddl.diagnostics import Span
    from flinkddl.options.resolved import ResolvedOptions
    from flinkddl.plan.context import Context
    from flinkddl.sqltypes import DataType

_HIDDEN = "\0"
MILLIS = 3
"""Digits of a second that a time attribute has."""


@dataclass(frozen=True)
class ResolvedTable:
    """A table's columns with Flink types: what DESCRIBE shows, what a Scan reads and a Sink writes.

    ``cut`` is the type of the rowtime column where it has more digits than a time attribute, which ``table`` has not.
    """

    table: Table
    fields: tuple[Field, ...]
    computed: tuple[tuple[int, Rex], ...] = ()
    watermark: WatermarkSpec | None = None
    cut: DataType | None = None

    @property
    def persisted(self) -> tuple[Field, ...]:
        """The sink schema: fields of the persisted columns, time attributes gone."""
        return plain(f for f, c in zip(self.fields, self.table.columns, strict=True) if c.persisted)

    @property
    def primary_key(self) -> tuple[int, ...]:
        """Field indices of the primary key, in the clause's order."""
        names = [f.name for f in self.fields]
        key = self.table.primary_key
        return tuple(names.index(c) for c in key.columns) if key else ()


def resolve_table(table: Table, context: Context) -> ResolvedTable:
    """Resolve and check a table's declaration, without its options. Raises FlinkDdlError (FD470 to FD472)."""
    context = context.in_source(table.span.source if table.span else None)
    _check_names(table)
    cut: DataType | None = None
    declared, table = table, table if context.strict else _timed(table)
    key = _check_primary_key(table)
    fields = [
        Field(c.name, (c.type or T.NULL).with_nullable(c.name not in key and (c.type or T.NULL).nullable))
        for c in table.columns
    ]
    computed = []
    for i, column in enumerate(table.columns):
        if column.kind == "computed":
            rex = _computed(table, column, fields, context)
            if not context.strict and _is_finer(table, column, rex.type):
                cut = rex.type
                rex = expressions.cast(rex, replace(rex.type, precision=MILLIS))
            computed.append((i, rex))
    for i, rex in computed:
        fields[i] = Field(fields[i].name, rex.type)
    watermark = None
    if table.watermark is not None:
        watermark = _watermark(table, fields, context)
        i = watermark.index
        fields[i] = Field(fields[i].name, fields[i].type.as_attribute("ROWTIME"))
    if watermark is not None and table is not declared:
        cut = declared.columns[watermark.index].type
    return ResolvedTable(table, tuple(fields), tuple(computed), watermark, cut)


def option_hints(node: exp.Expression, context: Context) -> dict[str, OptionText] | None:
    """Return the OPTIONS hint of a table reference, or None."""
    hints = node.args.get("hints")
    found: dict[str, OptionText] = {}
    for hint in hints if isinstance(hints, list) else [hints]:
        if isinstance(hint, tree_nodes.OptionsHint):
            for option in hint.expressions:
                places = context.span(option.this), context.span(option.expression)
                found[option.this.name] = OptionText(option.expression.name, *places)
    return found or None


def scan(table: Table, context: Context, hints: Mapping[str, OptionText] | None, span: Span | None) -> Scan:
    """Return the Scan of a table, its options checked for reading."""
    resolved = resolve_table(table, context)
    table = resolved.table
    options = context.check_options(table, "source", hints, span or table.span)
    return Scan(
        table=table,
        options=options,
        fields=resolved.fields,
        computed=resolved.computed,
        metadata=_metadata(table, resolved.fields, options),
        watermark=resolved.watermark,
        normalised=_normalised(table, options, context),
        span=span,
    )


def _normalised(table: Table, options: ResolvedOptions, context: Context) -> bool:
    mode = connector(options.connector).source_mode
    if not (context.duplicates and table.primary_key and mode is not None and "UB" in mode(options)):
        return False
    if not options.of_topics:  # rows of one key come in the order of their offsets, nothing else has one
        message = f"'table.exec.source.cdc-events-duplicate' is not carried out for connector '{options.connector}'"
        raise FlinkDdlError.of("FD667", message, table.span, "read the changes through Kafka")
    return True


def _is_finer(table: Table, column: Column, type_: DataType) -> bool:
    """Whether a column is the rowtime with more digits than the three that a time attribute has."""
    mark = table.watermark
    named = mark is not None and mark.column == (column.name,)
    return named and type_.is_a(T.TIMESTAMPS) and (type_.precision or 0) > MILLIS


def _timed(table: Table) -> Table:
    """Return a table whose rowtime column has milliseconds, as a time attribute has.

    Flink's documents show ``viewtime TIMESTAMP``, which is TIMESTAMP(6), with a WATERMARK; Flink 2.3 refuses it.
    """
    columns = tuple(
        replace(c, type=replace(c.type, precision=MILLIS)) if c.type and _is_finer(table, c, c.type) else c
        for c in table.columns
    )
    return table if columns == table.columns else replace(table, columns=columns)


def warnings(resolved: ResolvedTable) -> Iterator[Diagnostic]:
    """Yield what a declaration is warned of; of a table that is refused that is all there is to say."""
    mark, named = resolved.table.watermark, resolved.table.options.get("connector")
    if named is not None and elsewhere.connector(named.value) is not None:
        return
    if resolved.cut is not None and mark is not None:
        name, kept = mark.column[0], resolved.cut.summary.replace(f"({resolved.cut.precision})", f"({MILLIS})")
        message = (
            f"'{name}' is {resolved.cut.summary}, which Flink 2.3 refuses for a watermark column: "
            f"it is taken as {kept}, further digits of a second are cut"
        )
        yield Diagnostic("FD473", message, mark.span, f"declare '{name}' as {kept}", "warning")


def _check_names(table: Table) -> None:
    seen: set[str] = set()
    for c in table.columns:
        if c.name in seen:
            raise FlinkDdlError.of("FD472", f"column '{c.name}' is declared twice", c.span or table.span)
        seen.add(c.name)


def _check_primary_key(table: Table) -> frozenset[str]:
    key = table.primary_key
    if key is None:
        return frozenset()
    for i, name in enumerate(key.columns):
        column = table.column(name)
        if column is None:
            help_ = did_you_mean(name, [c.name for c in table.columns])
            raise FlinkDdlError.of("FD472", f"primary key column '{name}' does not exist", key.span, help_)
        if column.kind != "physical":
            raise FlinkDdlError.of(
                "FD472",
                f"primary key column '{name}' is a {column.kind} column",
                key.span,
                "a primary key takes physical columns",
            )
        if name in key.columns[:i]:
            raise FlinkDdlError.of("FD472", f"column '{name}' stands twice in the primary key", key.span)
    return frozenset(key.columns)


def _scope(table: Table, fields: list[Field], visible: list[str], context: Context, clause: str) -> NameScope:
    node = Scan(table=table, options=None, fields=tuple(fields))
    return Builder(context).scope(Relation.of(node, table.path.name, visible), clause)


def _computed(table: Table, column: Column, fields: list[Field], context: Context) -> Rex:
    visible = [_HIDDEN if c.kind == "computed" else c.name for c in table.columns]
    scope = _scope(table, fields, visible, context, f"the computed column '{column.name}'")
    assert column.expression is not None
    try:
        return scope.value(column.expression)
    except FlinkDdlError as e:
        names = {c.name for c in table.columns if c.kind == "computed"}
        used = [i.name for i in column.expression.find_all(exp.Identifier) if i.name in names]
        if not used or e.diagnostics[0].code != "FD450":
            raise
        raise context.error(
            "FD470",
            f"computed column '{column.name}' uses '{used[0]}', which is computed too",
            column.expression,
            f"repeat the expression of '{used[0]}', or compute '{column.name}' in a view",
        ) from None


def _watermark(table: Table, fields: list[Field], context: Context) -> WatermarkSpec:
    mark = table.watermark
    assert mark is not None
    names = [f.name for f in fields]
    if len(mark.column) > 1:
        raise FlinkDdlError.of(
            "FD471",
            f"the watermark column '{'.'.join(mark.column)}' is a nested field",
            mark.span,
            "make it a computed column of its own",
        )
    if mark.column[0] not in names:
        help_ = did_you_mean(mark.column[0], names)
        raise FlinkDdlError.of("FD471", f"watermark column '{mark.column[0]}' does not exist", mark.span, help_)
    index = names.index(mark.column[0])
    _check_time(fields[index].type, "watermark column", mark.span)
    scope = _scope(table, fields, names, context, "the watermark")
    expression = scope.value(mark.expression)
    _check_time(expression.type, "watermark expression", mark.span)
    return WatermarkSpec(index=index, expression=expression, delay_ms=_delay(expression, index))


def _check_time(type_: DataType, what: str, span: Span | None) -> None:
    if type_.is_a(T.TIMESTAMPS) and (type_.precision or 0) <= MILLIS and type_.time_attribute != "PROCTIME":
        return
    shown = "a processing time" if type_.time_attribute == "PROCTIME" else type_.summary
    help_ = "declare it as TIMESTAMP(3), or cast it" if type_.is_a(T.TIMESTAMPS) else "convert it in a computed column"
    raise FlinkDdlError.of(
        "FD471", f"the {what} must be TIMESTAMP(p) or TIMESTAMP_LTZ(p) with p from 0 to 3, this is {shown}", span, help_
    )


def _delay(expression: Rex, index: int) -> int | None:
    match expression:
        case InputRef(index=i) if i == index:
            return 0
        case Call(function="-", args=(InputRef(index=i), Literal(value=int(value)))) if i == index and value >= 0:
            return value
        case _:
            return None


def _metadata(table: Table, fields: tuple[Field, ...], options: ResolvedOptions) -> tuple[tuple[int, Rex], ...]:
    """Return, per metadata column, the expression from the connector's value to the declared type."""
    known = connector(options.connector).metadata(options)
    out: list[tuple[int, Rex]] = []
    for i, column in enumerate(table.columns):
        if column.kind == "metadata":
            raw = known[column.metadata_key or column.name].read
            out.append((i, _metadata_cast(InputRef(raw, i), fields[i].type.as_attribute(None))))
    return tuple(out)


def _metadata_cast(value: Rex, target: DataType) -> Rex:
    if value.type.not_null() == target.not_null():
        return value
    return Call(target.with_nullable(value.type.nullable or target.nullable), "CAST", (value,))
