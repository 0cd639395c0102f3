"""ALTER TABLE: each action turns a draft of the table into another; the result is checked as at creation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.catalog import tables
from flinkddl.catalog.context import dotted, literal, parts
from flinkddl.catalog.model import Table
from flinkddl.catalog.objects import rename
from flinkddl.diagnostics import About, did_you_mean
from flinkddl.dialect import nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.catalog.context import Context
    from flinkddl.catalog.model import Column
    from flinkddl.catalog.state import Catalog
    from flinkddl.catalog.tables import Draft

_COLUMNS = (nodes.Column, nodes.MetadataColumn, nodes.ComputedColumn)


def alter_table(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """ALTER TABLE [IF EXISTS] t action."""
    table = catalog.find(parts(statement.this))
    if not isinstance(table, Table):
        if not statement.args.get("exists"):
            name = dotted(parts(statement.this))
            help = catalog.nearest(parts(statement.this))
            ctx.error("FD303", f"unknown table '{name}'", statement.this, help, About(name))
        return catalog
    if table.temporary:
        message = f"'{dotted(parts(statement.this))}' is a temporary table and can not be altered"
        ctx.error("FD314", message, statement.this, "drop it and create it anew")
        return catalog
    action = statement.args["action"]
    if isinstance(action, nodes.AlterRename):
        return rename(catalog, table, action, ctx)
    draft = tables.draft_of(table)
    _ACTIONS[type(action)](draft, action, ctx)
    if not ctx.bag.has_errors:
        tables.finish(draft, ctx, action)
    changed = replace(
        table,
        columns=tuple(draft.columns),
        options=draft.options,
        watermark=draft.watermark,
        primary_key=draft.primary_key,
        distribution=draft.distribution,
    )
    if not ctx.bag.has_errors and ctx.hooks.check is not None:
        ctx.bag.extend(ctx.hooks.check(catalog, changed))
    return catalog.with_object(changed)


# ---- ADD and MODIFY ----------------------------------------------------------------------------------------------


def _add(draft: Draft, action: exp.Expression, ctx: Context) -> None:
    for part in action.expressions:
        element = part.this if isinstance(part, nodes.ColumnPosition) else part
        if isinstance(element, nodes.Distribution):
            if draft.distribution is not None:
                ctx.error("FD314", "the table has a distribution already", element, "use MODIFY")
            draft.distribution = element
            continue
        if isinstance(element, nodes.Watermark) and draft.watermark:
            ctx.error("FD307", "the table has a watermark already", element, "use ALTER TABLE ... MODIFY")
            continue
        before = len(draft.columns)
        tables.add_element(draft, element, ctx)
        if isinstance(element, _COLUMNS) and len(draft.columns) > before:
            _place(draft, draft.columns.pop(), part, before, ctx)


def _place(draft: Draft, column: Column, part: exp.Expression, default: int, ctx: Context) -> None:
    """Insert a column FIRST, AFTER another, or at ``default``."""
    at = default
    if isinstance(part, nodes.ColumnPosition) and part.args.get("first"):
        at = 0
    elif isinstance(part, nodes.ColumnPosition) and (after := part.args.get("after")) is not None:
        if after.name not in draft.names():
            _unknown(draft, after, ctx)
            return
        at = draft.names().index(after.name) + 1
    draft.columns.insert(at, column)


def _modify(draft: Draft, action: exp.Expression, ctx: Context) -> None:
    for part in action.expressions:
        element = part.this if isinstance(part, nodes.ColumnPosition) else part
        match element:
            case nodes.Watermark():
                if draft.watermark is None:
                    ctx.error("FD307", "the table has no watermark to modify", element, "use ALTER TABLE ... ADD")
                draft.watermark = tables.watermark_of(element, ctx)
            case nodes.PrimaryKey():
                if draft.primary_key is None:
                    ctx.error("FD306", "the table has no PRIMARY KEY to modify", element, "use ALTER TABLE ... ADD")
                draft.primary_key = None
                tables.add_element(draft, element, ctx)
            case nodes.Distribution():
                if draft.distribution is None:
                    ctx.error("FD314", "the table has no distribution to modify", element, "use ADD")
                draft.distribution = element
            case _:
                _modify_column(draft, element, part, ctx)


def _modify_column(draft: Draft, element: exp.Expression, part: exp.Expression, ctx: Context) -> None:
    if element.name not in draft.names():
        _unknown(draft, element.this, ctx)
        return
    at = draft.names().index(element.name)
    draft.columns.pop(at)
    _place(draft, tables.column_of(element, ctx), part, at, ctx)
    if key := element.args.get("primary_key"):
        tables.set_key(draft, key, (element.name,), ctx)


def _unknown(draft: Draft, name: exp.Expression, ctx: Context) -> None:
    help = did_you_mean(name.name, draft.names())
    ctx.error("FD314", f"column '{name.name}' does not exist in the table", name, help)


# ---- DROP and RENAME ---------------------------------------------------------------------------------------------


def _drop(draft: Draft, action: exp.Expression, ctx: Context) -> None:
    match action.args["what"]:
        case "COLUMN":
            for name in action.expressions:
                _drop_column(draft, name, [e.name for e in action.expressions], ctx)
        case "PRIMARY KEY":
            _need(draft.primary_key, "PRIMARY KEY", action, ctx)
            draft.primary_key = None
        case "CONSTRAINT":
            _drop_constraint(draft, action, ctx)
        case "WATERMARK":
            _need(draft.watermark, "watermark", action, ctx)
            draft.watermark = None
        case _:
            _need(draft.distribution, "distribution", action, ctx)
            draft.distribution = None


def _need(part: object, what: str, action: exp.Expression, ctx: Context) -> None:
    if part is None:
        ctx.error("FD314", f"the table has no {what} to drop", action)


def _drop_constraint(draft: Draft, action: exp.Expression, ctx: Context) -> None:
    _need(draft.primary_key, "constraint", action, ctx)
    wanted = action.expressions[0].name if action.expressions else ""
    key = draft.primary_key
    name = key and (key.name or f"PK_{'_'.join(key.columns)}")
    if key and wanted != name:
        ctx.error("FD314", f"the table has no constraint '{wanted}'", action, f"its constraint is '{name}'")
    draft.primary_key = None


def _drop_column(draft: Draft, name: exp.Expression, going: list[str], ctx: Context) -> None:
    if name.name not in draft.names():
        _unknown(draft, name, ctx)
        return
    if user := _user_of(draft, name.name, going):
        ctx.error("FD314", f"column '{name.name}' is used by {user} and can not be dropped", name, "drop that first")
    draft.columns = [c for c in draft.columns if c.name != name.name]


def _user_of(draft: Draft, name: str, going: list[str]) -> str | None:
    """Return in words what depends on a column, other than columns that go too; None when nothing does."""
    for column in draft.columns:
        if column.expression is not None and column.name not in going and name in _mentioned(column.expression):
            return f"the computed column '{column.name}'"
    if draft.primary_key and name in draft.primary_key.columns:
        return "the PRIMARY KEY"
    if draft.watermark and (name == draft.watermark.column[0] or name in _mentioned(draft.watermark.expression)):
        return "the watermark"
    if name in draft.partition_keys:
        return "the partitioning"
    return None


def _mentioned(expression: exp.Expression) -> set[str]:
    return {node.name for node in expression.walk() if isinstance(node, exp.Identifier)}


def _rename_column(draft: Draft, action: exp.Expression, ctx: Context) -> None:
    old, new = action.this.name, action.args["to"].name
    if old not in draft.names():
        _unknown(draft, action.this, ctx)
        return
    if new in draft.names():
        ctx.error("FD305", f"column '{new}' exists already", action.args["to"])
        return
    user = _user_of(draft, old, [])
    if user and user != "the PRIMARY KEY":
        ctx.error("FD314", f"column '{old}' is used by {user} and can not be renamed", action.this)
        return
    draft.columns = [replace(c, name=new) if c.name == old else c for c in draft.columns]
    if key := draft.primary_key:
        draft.primary_key = replace(key, columns=tuple(new if c == old else c for c in key.columns))


# ---- options and partitions --------------------------------------------------------------------------------------


def _set(draft: Draft, action: exp.Expression, ctx: Context) -> None:
    draft.options |= ctx.options(action.expressions)


def _reset(draft: Draft, action: exp.Expression, ctx: Context) -> None:
    keys = action.expressions
    if not keys:
        ctx.error("FD314", "ALTER TABLE RESET needs at least one key", action)
    for node in keys:
        key = literal(node)
        if key == "connector":
            ctx.error(
                "FD314", "ALTER TABLE RESET can not remove 'connector'", node, "drop the table and create it anew"
            )
        draft.options.pop(key, None)


def _partition(draft: Draft, action: exp.Expression, ctx: Context) -> None:
    word = "ADD" if action.args.get("add") else "DROP"
    ctx.error(
        "FD316", f"ALTER TABLE {word} PARTITION is not available", action, "partitions appear as rows are written"
    )


_ACTIONS: dict[type[exp.Expression], Callable[[Draft, exp.Expression, Context], None]] = {
    nodes.AlterAdd: _add,
    nodes.AlterModify: _modify,
    nodes.AlterDrop: _drop,
    nodes.AlterRenameColumn: _rename_column,
    nodes.AlterSet: _set,
    nodes.AlterReset: _reset,
    nodes.AlterPartition: _partition,
}
