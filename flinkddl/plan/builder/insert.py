"""INSERT INTO: the query's columns mapped by position onto the table's persisted columns, with Flink's sink casts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.catalog.model import View
from flinkddl.connectors import connector
from flinkddl.diagnostics import FlinkDdlError, did_you_mean, joined
from flinkddl.functions.typing import can_cast_implicitly
from flinkddl.plan import expressions, make
from flinkddl.plan.builder import tables
from flinkddl.plan.builder.names import ONE_ROW
from flinkddl.plan.nodes import Sink
from flinkddl.plan.rex import Literal, Rex
from flinkddl.typecasts import CastRefused, check_cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.catalog.model import Table
    from flinkddl.diagnostics import Diagnostic, Span
    from flinkddl.dialect.nodes import Insert
    from flinkddl.options.resolved import ResolvedOptions
    from flinkddl.plan.builder.base import Builder
    from flinkddl.plan.builder.tables import ResolvedTable
    from flinkddl.plan.nodes import Field, Node
    from flinkddl.sqltypes import DataType


@dataclass(frozen=True)
class _Target:
    """The table written to, and the statement."""

    build: Builder
    resolved: ResolvedTable
    statement: Insert

    @property
    def table(self) -> Table:
        return self.resolved.table

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.resolved.persisted

    @property
    def span(self) -> Span | None:
        return self.build.span(self.statement.this)

    @property
    def overwrite(self) -> bool:
        return bool(self.statement.args.get("overwrite"))

    @property
    def conflict(self) -> str | None:
        value = self.statement.args.get("conflict")
        return None if value is None else str(getattr(value, "name", value)).upper()

    def options(self) -> ResolvedOptions:
        hints = tables.option_hints(self.statement.this, self.build.context)
        check = self.build.context.check_options
        return check(self.table, "sink", hints, self.span, overwrite=self.overwrite, conflict=self.conflict)


def build_insert(build: Builder, statement: Insert) -> Sink:
    """Build the plan of one INSERT. Raises FlinkDdlError (FD48x) where query and table do not fit."""
    try:
        resolved = tables.resolve_table(_table(build, statement.this), build.context)
    except FlinkDdlError as error:
        raise joined(error, [lambda: build.query(statement.expression)]) from None
    target = _Target(build, resolved, statement)
    try:
        query = build.query(statement.expression)
    except FlinkDdlError as error:
        raise FlinkDdlError([*error.diagnostics, *_option_errors(target)]) from None
    try:
        node = _cast(_mapped(query, target), target)
    except FlinkDdlError as error:
        found = _option_errors(target)
        refused = any(d.code == "FD203" for d in found)  # then nothing is said of how its users fit it
        raise FlinkDdlError(found if refused else [*error.diagnostics, *found]) from None
    options = target.options()
    _check_topic(target, options)
    return Sink(
        input=node,
        table=target.table,
        options=options,
        conflict=target.conflict,
        target=str(target.table.path),
        overwrite=target.overwrite,
        fields=target.fields,
        span=target.span,
    )


def _option_errors(target: _Target) -> tuple[Diagnostic, ...]:
    """Return what is wrong with the sink's options, where the query is wrong or does not fit it anyway."""
    try:
        target.options()
    except FlinkDdlError as error:
        return error.diagnostics
    return ()


def _check_topic(target: _Target, options: ResolvedOptions) -> None:
    """Refuse a column list without the column that names the topic, where rows go to several: each would fail."""
    listed = target.statement.args.get("columns") or ()
    needed = connector(options.connector).written
    column = needed(target.table, options) if needed is not None else None
    if listed and column is not None and column.name not in {c.name for c in listed}:
        message = f"'{target.table.path}' is written to several topics, and '{column.name}' gets no value"
        raise target.build.error("FD247", message, target.statement.this, f"add '{column.name}' to the column list")


def _table(build: Builder, node: exp.Table) -> Table:
    parts = tuple(p.name for p in node.parts)
    found = build.context.catalog.find(parts)
    if found is None:
        raise build.context.not_found("table", node)
    if isinstance(found, View):
        raise build.error("FD486", f"'{'.'.join(parts)}' is a view, INSERT needs a table", node)
    return found


def _comma_missing(select: exp.Expression, query: Node, wanted: Sequence[str]) -> str:
    """Return the question whether a column's alias was meant to be the next column: SELECT a b, c for three."""
    aliased = [p.alias for p in select.args.get("expressions") or () if _is_alias_of_column(p)]
    if not aliased or len(query.fields) + len(aliased) < len(wanted) or len(query.fields) > len(wanted):
        return ""
    names = " or ".join(f"'{name}'" for name in aliased)
    return f"; is a comma missing before {names}?"


def _is_alias_of_column(projection: exp.Expression) -> bool:
    return isinstance(projection, exp.Alias) and isinstance(projection.this, exp.Column)


def _mapped(query: Node, target: _Target) -> Node:
    """Put the query's columns into the order of the sink schema; columns that are not named become NULL."""
    statement, names = target.statement, [f.name for f in target.fields]
    fixed = _partition(target)
    listed = statement.args.get("columns")
    wanted = _listed(listed, target) if listed else [n for n in names if n not in fixed]
    if len(query.fields) != len(wanted):
        have = ", ".join(f"{f.name}: {f.type.summary}" for f in query.fields)
        need = ", ".join(f"{n}: {target.fields[names.index(n)].type.summary}" for n in wanted)
        raise target.build.error(
            "FD480",
            f"'{target.table.path}' takes {len(wanted)} columns, the query gives {len(query.fields)}",
            statement.expression,
            f"query: [{have}]; table: [{need}]{_comma_missing(statement.expression, query, wanted)}",
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
            raise target.build.error(
                "FD483",
                f"column '{f.name}' of '{target.table.path}' is NOT NULL and gets no value",
                statement.this,
                f"add '{f.name}' to the column list",
            )
    return make.project(query, exprs, names)


def _listed(columns: list[exp.Expression], target: _Target) -> list[str]:
    known = {f.name for f in target.fields}
    out: list[str] = []
    for c in columns:
        if c.name not in known:
            column = target.table.column(c.name)
            help_ = f"'{c.name}' is {column.kind} and cannot be written" if column else did_you_mean(c.name, known)
            raise target.build.error("FD482", f"unknown target column '{c.name}'", c, help_)
        if c.name in out:
            raise target.build.error("FD482", f"target column '{c.name}' is listed twice", c)
        out.append(c.name)
    return out


def _partition(target: _Target) -> dict[str, Rex]:
    """Return the static values of a PARTITION clause; only partitioned tables take one."""
    clause = target.statement.args.get("partition")
    out: dict[str, Rex] = {}
    if clause is None:
        return out
    scope = target.build.scope(ONE_ROW, "PARTITION")
    for item in clause.expressions:
        name = (item.this if isinstance(item, exp.EQ) else item).name
        if name not in target.table.partition_keys:
            raise target.build.error("FD484", f"'{name}' is no partition column of '{target.table.path}'", item)
        if isinstance(item, exp.EQ):
            out[name] = scope.value(item.expression)
    return out


# ---- types -------------------------------------------------------------------------------------------------------


def _way_to(source: DataType, need: DataType) -> str:
    """Return what to write where a value of a query does not fit its column."""
    try:
        check_cast(source, need)
    except CastRefused as refused:
        return f"no CAST makes one of the other ({refused}): give another expression, or the column another type"
    return f"write CAST(... AS {need.summary})"


def _cast(node: Node, target: _Target) -> Node:
    exprs: list[Rex] = []
    for i, (have, need) in enumerate(zip(node.fields, target.fields, strict=True)):
        source = have.type.as_attribute(None)
        if not can_cast_implicitly(source, need.type.with_nullable(True)):
            raise target.build.error(
                "FD481",
                f"column '{need.name}' of '{target.table.path}' is {need.type.summary}, "
                f"the query gives {source.summary} at position {i + 1}",
                target.statement.expression,
                _way_to(source, need.type),
            )
        exprs.append(expressions.cast(make.ref(node, i), need.type.with_nullable(source.nullable)))
    return make.project(node, exprs, [f.name for f in target.fields])
