"""The redis sink: the key and the texts of each row, and whether it is gone, for the tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.cast_sql import cast_sql
from flinkddl.functions.core import string
from flinkddl.spark import job as J
from flinkddl.spark.context import DELETED
from flinkddl.spark.sink import written
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Sink
    from flinkddl.spark.context import Lowering, Rel

_OPTIONS = ("host", "port", "username", "password", "database")


def write(node: Sink, rel: Rel, ctx: Lowering) -> J.Write:
    """Lower a redis sink: columns ``key``, ``fields`` (a map without NULLs) and ``deleted``."""
    assert node.table is not None
    assert node.table.primary_key is not None  # checked with the options
    texts = {c.name: _text(rel.sql(i), c.type, ctx.zone) for i, c in enumerate(node.table.persisted)}
    keys = node.table.primary_key.columns
    parts = [texts[k] if len(keys) == 1 else _part(texts[k]) for k in keys]
    key = f"concat({string(str(node.options['key.prefix']))}, concat_ws(':', {', '.join(parts)}))"
    pairs = ", ".join(f"{string(name)}, {text}" for name, text in texts.items())
    columns: tuple[J.Named, ...] = (
        ("key", key),
        ("fields", f"map_filter(map({pairs}), (k, v) -> v IS NOT NULL)"),
        ("deleted", quote(DELETED) if rel.kind == "upsert" else "false"),
    )
    note = f"redis table {node.table.path.name}"
    step = ctx.add(J.Select(name=ctx.fresh("hashes"), input=rel.step, columns=columns, note=note))
    options = {k: str(v) for k in _OPTIONS if (v := node.options[k]) is not None}
    return replace(written(node, step.name, ctx, "redis", options, note), writer="flinkddl.connectors.redis.tasks:put")


def _text(sql: str, t: T.DataType | None, zone: str) -> str:
    """Return a value as Flink's text of it."""
    assert t is not None  # physical columns are typed when they are declared
    return cast_sql(sql, t, T.STRING, zone, False)


def _part(text: str) -> str:
    r"""Keep the parts of a key apart: ``a:b`` and ``c`` are another key than ``a`` and ``b:c``."""
    return rf"replace(replace({text}, '\\', '\\\\'), ':', '\\:')"
