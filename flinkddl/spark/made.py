"""Lookup joins with tables that are made: each key that is asked for has one row, a function of the key alone.

Source: LookupTableSource of Flink, whose function is called once for each row of the left side; here its columns are
expressions over that row, and nothing is joined.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from flinkddl.connectors import connector
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.options.installed import usable
from flinkddl.spark.base import carried, names_of, select, where
from flinkddl.spark.context import AFTER
from flinkddl.spark.expressions import condition_to_spark, to_spark
from flinkddl.spark.rowtime import is_rowtime
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from flinkddl.plan.nodes import LookupJoin, Scan
    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.spark.job import Named


def is_made(scan: Scan) -> bool:
    """Whether rows of a table are made for the keys that are asked for."""
    return scan.options is not None and connector(scan.options.connector).made


def lookup_made(node: LookupJoin, left: Rel, ctx: Lowering) -> Rel:
    """Return the left rows with what was made for each. Raises FD510 for a join without a declared column as key."""
    n, scan, names = len(left.fields), node.table, names_of(node.fields)
    kept: list[Named] = [(c, quote(c)) for c in left.reserved if c != AFTER]
    keys = _keys(node, left)
    if not keys:
        message = f"'{scan.table.path.name}' is looked up by a column that it declares, not by a computed one"
        raise FlinkDdlError.of("FD510", message, node.span, "join on one of its own columns")
    asked = [(names[i], left.sql(i)) for i in range(n)] + [(f"__k{i}", text) for i, text in keys.items()]
    step = select(left.step, [*asked, *kept], ctx, "asked", "LookupJoin: the key that each row asks for")
    columns = tuple(f"__t{i}" for i in range(len(scan.fields)))
    same: list[Named] = [(c, quote(c)) for c in names[:n]]
    found = _physical(scan, {scan.table.columns[i].name: quote(f"__k{i}") for i in keys}, left.kind != "append", ctx)
    step = select(step, [*same, *found.items(), *kept], ctx, "made", "a row of the table for it")
    if scan.computed:
        computed = [(columns[i], to_spark(rex, columns, ctx.zone)) for i, rex in scan.computed]
        step = select(step, [*same, *((c, c) for c in found), *computed, *kept], ctx, "made_computed")
    return _matched(node, left, step, columns, kept, ctx)


def _keys(node: LookupJoin, left: Rel) -> dict[int, str]:
    """Return the fields of the table that are looked for, and what for, in their type."""
    fields, columns = node.table.fields, node.table.table.columns
    own = ((i, k) for i, k in node.keys if columns[k].kind == "physical")
    return {k: f"CAST({left.sql(i)} AS {spark_type(fields[k].type)})" for i, k in own}


def _physical(scan: Scan, keys: dict[str, str], changing: bool, ctx: Lowering) -> dict[str, str]:
    name = scan.options.connector
    with usable(name):
        texts: dict[str, str] = import_module(connector(name).read).made(scan, keys, changing, ctx)
    timed = {i for i, f in enumerate(scan.fields) if is_rowtime(f.type)}
    columns = ((i, c.name) for i, c in enumerate(scan.table.columns) if c.kind == "physical")
    return {f"__t{i}": f"CAST({texts[c]} AS TIMESTAMP)" if i in timed else texts[c] for i, c in columns}


def _matched(node: LookupJoin, left: Rel, step: str, columns: tuple[str, ...], kept: list[Named], ctx: Lowering) -> Rel:
    """Return the rows for which the condition holds; of a LEFT JOIN all, NULL where it does not."""
    n, names = len(left.fields), names_of(node.fields)
    on = condition_to_spark(node.condition, (*names[:n], *columns), ctx.zone)
    if node.kind == "inner":
        step, texts = where(step, on, ctx, "found"), list(columns)
    else:
        texts = [f"IF(coalesce({on}, false), {c}, NULL)" for c in columns]
    named = [*((c, quote(c)) for c in names[:n]), *zip(names[n:], texts, strict=True), *kept]
    fields = carried(node.fields, left.with_(fields=(*left.fields, *node.table.fields)))
    return left.with_(step=select(step, named, ctx, "with_lookup"), columns=names, fields=fields)
