"""The faker source as numbered rows and a call of our kernel a column, whose value depends on that number alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from flinkddl.connectors.datagen.read import numbered
from flinkddl.connectors.faker import facts
from flinkddl.connectors.faker.expressions import uses_clock
from flinkddl.connectors.faker.parts import part_of, spec_of
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.core import string
from flinkddl.spark import job as J
from flinkddl.spark.context import SEQUENCE, Lowering, Rel, unique_names
from flinkddl.sqltypes import spark_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.plan.nodes import Scan
    from flinkddl.sqltypes import DataType

EXTRA = "datafaker"


def rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a faker table to its physical columns; computed ones are the caller's. Raises FD652."""
    ctx.extras.add(EXTRA)
    step, number = numbered(node, facts.rows(node.options), ctx)
    physical = node.table.physical
    names = unique_names(c.name for c in physical)
    texts = (_call(node, c.name, c.type, number) for c in physical if c.type)
    columns = [*zip(names, texts, strict=True), *[(SEQUENCE, number)] * sequence]
    select = J.Select(name=ctx.fresh(f"{node.table.path.name}_columns"), input=step, columns=tuple(columns))
    fields = tuple(f for f, c in zip(node.fields, node.table.columns, strict=True) if c.kind == "physical")
    return Rel(ctx.add(select).name, names, fields, sequence=sequence)


def made(node: Scan, keys: Mapping[str, str], changing: bool, ctx: Lowering) -> dict[str, str]:
    """Return the columns of the one row that is found for a key, by their names; ``keys``: what was looked for.

    The row depends on its key alone, so that the same key finds the same row. Raises FD510 where the rows that look
    are ``changing``, and a column counts from the clock: a row would be taken back with other values than it had.
    """
    ctx.extras.add(EXTRA)
    clocked = [t for key, t in node.options.texts.items() if key.endswith(".expression") and uses_clock(t.value)]
    if changing and clocked:
        message = f"rows that change can not look up '{node.table.path.name}', whose values depend on the clock"
        raise FlinkDdlError.of("FD510", message, clocked[0].value_span, "look up with rows that are only inserted")
    number = f"xxhash64({', '.join(keys.values())})"
    physical = ((c.name, c.type) for c in node.table.physical if c.type)
    return {name: keys.get(name) or _call(node, name, t, number) for name, t in physical}


def _call(node: Scan, name: str, t: DataType, number: str) -> str:
    spec = {"table": f"table '{node.table.path.name}'", "column": spec_of(part_of(name, t), node.options)}
    text = string(json.dumps(spec, ensure_ascii=False))
    return f"flinkddl.fake(CAST(NULL AS {spark_type(t)}), {text}, {number}, current_timestamp())"
