"""INSERT INTO: the query's columns mapped by position onto the table's persisted columns, with Flink's sink casts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.catalog.model import View
from flinkddl.connectors import connector
from flinkddl.diagnostics import FlinkDdlError, did_you_mean, joined
from flinkddl.functions.typing import can_cast_implicitly
from flinkddl.plan import make
from flinkddl.plan.expressions import resolve as expressions
from flinkddl.plan.build import tables
from flinkddl.plan.build.from_ import option_hints
from flinkddl.plan.nodes import Field, Sink
from flinkddl.plan.build.query import build_query
from flinkddl.plan.rex import Literal, Rex

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.diagnostics import Diagnostic, Span
    from flinkddl.dialect.nodes import Insert
    from flinkddl.options.resolved import ResolvedOptions
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.build.tables import ResolvedTable


@dataclass(frozen=True)
class _Target:
    """The table written to, its sink columns, and the statement."""

    resolved: ResolvedTable
    fields: tuple[Field, ...]
    statement: Insert

    @property
    def table(self) -> Table:
        return self.resolved.table


def build_insert(statement: Insert, context: Context) -> Sink:
    """Build the plan of one INSERT. Raises FlinkDdlError (FD48x) where query and table do not fit."""
    try:
        table = _table(statement.this, context)
        resolved = tables.resolve_table(table, context)
        table = resolved.table
    except FlinkDdlError as error:
        raise joined(error, [lambda: build_query(statement.expression, context)]) from None
    target = _Target(resolved, resolved.persisted, statement)
    query = build_query(statement.expression, context)
    span = context.span(statement.this)
    try:
        node = _cast(_mapped(query, target, context), target, context)
    except FlinkDdlError as error:
        raise FlinkDdlError([*error.diagnostics, *_option_errors(target, span, context)]) from None
    options = _options(target, span, context)
    _check_topic(target, options, context)
    return Sink(
        input=node,
        table=table,
        options=options,
        conflict=_conflict(statement),
        target=str(table.path),
        overwrite=bool(statement.args.get("overwrite")),
        fields=target.fields,
        span=span,
    )


def _options(target: _Target, span: Span | None, context: Context) -> ResolvedOptions:
    statement = target.statement
    overwrite, conflict = bool(statement.args.get("overwrite")), _conflict(statement)
    hints = option_hints(statement.this)
    return context.check_options(target.table, "sink", hints, span, overwrite=overwrite, conflict=conflict)


def _option_errors(target: _Target, span: Span | None, context: Context) -> tuple[Diagnostic, ...]:
    """Return what is wrong with the sink's options, where the query does not fit it anyway."""
    try:
        _options(target, span, context)
    except FlinkDdlError as error:
        return error.diagnostics
    return ()


def _check_topic(target: _Target, options: ResolvedOptions, context: Context) -> None:
    """Refuse a column list without the column that names the topic, where rows go to several: each would fail."""
    listed = target.statement.args.get("columns") or ()
    needed = connector(options.connector).written
    column = needed(target.table, options) if needed is not None else None
    if listed and column is not None and column.name not in {c.name for c in listed}:
        message = f"'{target.table.path}' is written to several topics, and '{column.name}' gets no value"
        raise context.error("FD247", message, target.statement.this, f"add '{column.name}' to the column list")


def _conflict(statement: Insert) -> str | None:
    value = statement.args.get("conflict")
    return None if value is None else str(getattr(value, "name", value)).upper()


def _table(node: exp.Table, context: Context) -> Table:
    parts = tuple(p.name for p in node.parts)
    found = context.catalog.find(parts)
    name = ".".join(parts)
    if found is None:
        help_ = did_you_mean(parts[-1], context.catalog.names())
        raise context.error("FD452", f"table '{name}' not found", node, help_)
    if isinstance(found, View):
        raise context.error("FD486", f"'{name}' is a view, INSERT needs a table", node)
    return found


def _mapped(query: Node, target: _Target, context: Context) -> Node:
    """Put the query's columns into the order of the sink schema; columns that are not named become NULL."""
    statement, names = target.statement, [f.name for f in target.fields]
    fixed = _partition(target, context)
    listed = statement.args.get("columns")
    wanted = _listed(listed, target, context) if listed else [n for n in names if n not in fixed]
    if len(query.fields) != len(wanted):
        have = ", ".join(f"{f.name}: {f.type.summary}" for f in query.fields)
        need = ", ".join(f"{n}: {target.fields[names.index(n)].type.summary}" for n in wanted)
        raise context.error(
            "FD480",
            f"'{target.table.path}' takes {len(wanted)} columns, the query gives {len(query.fields)}",
            statement.expression,
            f"query: [{have}]; table: [{need}]",
        )
    exprs: list[Rex] = []
    places = {name: i for i, name in enumerate(wanted)}
    for f in target.fields:
        if f.name in places:
            exprs.append(make.ref(query, places[f.name]))
        elif f.name in fixed:
            exprs.append(fixed[f.name])
        elif f.type.nullable:
            exprs.append(Literal(f.type, None))
        else:
            raise context.error(
                "FD483",
                f"column '{f.name}' of '{target.table.path}' is NOT NULL and gets no value",
                statement.this,
                f"add '{f.name}' to the column list",
            )
    return make.project(query, exprs, names)


def _listed(columns: list[exp.Expression], target: _Target, context: Context) -> list[str]:
    known = {f.name for f in target.fields}
    out: list[str] = []
    for c in columns:
        if c.name not in known:
            column = target.table.column(c.name)
            help_ = f"'{c.name}' is {column.kind} and cannot be written" if column else did_you_mean(c.name, known)
            raise context.error("FD482", f"unknown target column '{c.name}'", c, help_)
        if c.name in out:
            raise context.error("FD482", f"target column '{c.name}' is listed twice", c)
        out.append(c.name)
    return out


def _partition(target: _Target, context: Context) -> dict[str, Rex]:
    """Return the static values of a PARTITION clause; only partitioned tables take one."""
    clause = target.statement.args.get("partition")
    out: dict[str, Rex] = {}
    if clause is None:
        return out
    from flinkddl.plan.build.names import NameScope, Relation
    from flinkddl.plan.nodes import Values

    scope = NameScope(context, Relation(Values(fields=(), rows=((),))), clause="PARTITION")
    for item in clause.expressions:
        name = (item.this if isinstance(item, exp.EQ) else item).name
        if name not in target.table.partition_keys:
            raise context.error("FD484", f"'{name}' is no partition column of '{target.table.path}'", item)
        if isinstance(item, exp.EQ):
            out[name] = expressions.resolve_expression(item.expression, scope)
    return out


# ---- types -------------------------------------------------------------------------------------------------------


def _cast(node: Node, target: _Target, context: Context) -> Node:
    exprs: list[Rex] = []
    for i, (have, need) in enumerate(zip(node.fields, target.fields, strict=True)):
        source = have.type.as_attribute(None)
        if not can_cast_implicitly(source, need.type.with_nullable(True)):
            raise context.error(
                "FD481",
                f"column '{need.name}' of '{target.table.path}' is {need.type.summary}, "
                f"the query gives {source.summary} at position {i + 1}",
                target.statement.expression,
                f"write CAST(... AS {need.type.summary})",
            )
        exprs.append(expressions.cast(make.ref(node, i), need.type.with_nullable(source.nullable)))
    return make.project(node, exprs, [f.name for f in target.fields])
