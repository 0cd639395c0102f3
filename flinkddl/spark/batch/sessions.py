"""Session windows in a bounded run.

Without late rows a session is a run of times whose gaps do not exceed the window's gap (windows that touch merge).
With them the order of arrival decides (``lateness.fold``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark.base import extend, generate, group, select
from flinkddl.spark.batch.base import over
from flinkddl.spark.context import SEQUENCE
from flinkddl.spark.lateness import END, START, TIME, fold
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Window
    from flinkddl.spark.context import Lowering, Rel


def assign(rel: Rel, window: Window, keys: tuple[int, ...], ctx: Lowering, late: bool, ordered: bool = False) -> str:
    """Add START and END to a relation that has TIME; returns the step.

    ``ordered`` makes ``__seq`` the order in which the rows stand in their session: where a row joins two sessions,
    Flink appends the earlier one to the later one.
    """
    if late or ordered:
        return _folded(rel, window.size_ms, keys, ctx, ordered)
    gap = f"{window.size_ms}L"
    partition = [rel.sql(k) for k in keys]
    fresh = f"CAST(coalesce({TIME} > lag({TIME}) {over(partition, [TIME])} + {gap}, TRUE) AS INT)"
    rel = rel.with_(step=extend(rel, [("__new", fresh), (TIME, TIME)], ctx, "gaps"))
    number = f"sum(__new) {over(partition, [TIME], 'RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW')}"
    rel = rel.with_(step=extend(rel, [("__session", number), (TIME, TIME)], ctx, "sessions"))
    whole = over([*partition, "__session"], [])
    bounds = [(START, f"min({TIME}) {whole}"), (END, f"max({TIME}) {whole} + {gap}")]
    return extend(rel, bounds, ctx, "session_bounds", "SESSION window")


def _folded(rel: Rel, gap: int, keys: tuple[int, ...], ctx: Lowering, ordered: bool) -> str:
    """Fold the rows of each key in order of arrival into sessions; one row per session and row comes out."""
    names = [*rel.columns, TIME, *rel.reserved]
    types = [spark_type(f.type) for f in rel.fields] + ["BIGINT"] * (1 + len(rel.reserved))
    row = f"struct({', '.join(map(quote, names))})"
    fields = ",".join(f"{quote(n)}:{t}" for n, t in zip(names, types, strict=True))
    order = f"(l, r) -> CAST(sign(l.{SEQUENCE} - r.{SEQUENCE}) AS INT)"
    rows = f"array_sort(collect_list({row}), {order})"
    folded = fold(rows, f"STRUCT<{fields}>", gap, late=rel.watermark)
    by = [(f"__k{i}", rel.sql(k)) for i, k in enumerate(keys)] or [("__k0", "1")]
    grouped = group(rel.step, by, [("__sessions", folded)], ctx, "session_fold", "late rows: in order of arrival")
    each = generate(grouped, (), ("inline(__sessions)", (START, END, "__r")), ctx, "session_each")
    bounds = ((START, START), (END, END))
    listed = generate(each, bounds, ("posexplode(__r)", ("__pos", "__x")), ctx, "session_rows")
    columns = [(n, f"__x.{quote(n)}") for n in names if not (ordered and n == SEQUENCE)]
    columns += [(SEQUENCE, "CAST(__pos AS BIGINT)")] * ordered
    return select(listed, (*bounds, *columns), ctx, "session_row")
