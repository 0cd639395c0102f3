"""A view is validated when it is made, as Flink's ``SqlCreateViewConverter`` does; it is planned where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.builder import from_
from flinkddl.plan.builder.base import Builder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flinkddl.catalog.model import View
    from flinkddl.diagnostics import Diagnostic
    from flinkddl.plan.context import Context

NOT_VALIDATED = frozenset({"FD402"})
"""Of the codes for names and types (FD4xx) those that are Spark's: Flink takes such a view."""


def view_mistakes(view: View, context: Context) -> list[Diagnostic]:
    """Return what Flink refuses a view for when it is made: names and types, not what comes of planning it.

    What Spark cannot do and what is wrong with a table's options is told where a query uses the view.
    """
    try:
        plan = from_.view_plan(Builder(context), view)
    except FlinkDdlError as error:
        return [d for d in error.diagnostics if d.code.startswith("FD4") and d.code not in NOT_VALIDATED]
    inner, names = context.in_view(view), [f.name for f in plan.fields]
    return [d for name, item in _twice(view, names) for d in _clash(view, name, item, inner).diagnostics]


def _clash(view: View, name: str, item: exp.Expression, context: Context) -> FlinkDdlError:
    message = f"view '{view.path.name}' has two columns '{name}'"
    return context.error("FD472", message, item, "give one of them another name")


def _twice(view: View, names: Sequence[str]) -> Iterator[tuple[str, exp.Expression]]:
    """Yield each name that the view's list, or its outermost SELECT, gives a second time; a star's are numbered."""
    seen: set[str] = set()
    for item, given in _named(view, names):
        for name in given:
            if name in seen and not item.is_star:
                yield name, item
            seen.add(name)


def _named(view: View, names: Sequence[str]) -> Iterator[tuple[exp.Expression, Sequence[str]]]:
    select = view.query
    while isinstance(select, exp.SetOperation | exp.Subquery):
        select = select.this
    if view.columns:
        yield view.query, view.columns
        return
    items = select.expressions if isinstance(select, exp.Select) else []
    width = len(names) - len(items) + 1  # of the star, where there is just one
    for at, item in enumerate(items):
        if item.is_star and sum(i.is_star for i in items) == 1:
            yield item, names[at : at + width]
        elif isinstance(item, exp.Alias | exp.Column | exp.Dot) and not item.is_star:
            yield item, [item.alias_or_name]
