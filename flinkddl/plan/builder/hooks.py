"""What the catalog asks of the planner: the schema of a query (CTAS), the check of a new table's declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from flinkddl.catalog.context import Hooks
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.builder.planner import plan_query
from flinkddl.plan.builder.tables import resolve_table, warnings
from flinkddl.plan.builder.views import view_mistakes
from flinkddl.plan.context import Context
from flinkddl.plan.scope import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlglot import exp

    from flinkddl.catalog.model import ObjectPath, Table, View
    from flinkddl.catalog.state import Catalog
    from flinkddl.diagnostics import Diagnostic, SourceText
    from flinkddl.plan.nodes import Node
    from flinkddl.sqltypes import DataType


def context_of(catalog: Catalog, source: SourceText | None = None) -> Context:
    """Return a planning context over a catalog as it stands; plans of views are shared while it stays the same."""
    settings = catalog.settings
    context = Context(catalog, Session(settings.zone, not settings.batch, settings), source)
    if _Plans.catalog is catalog:
        context.plans = _Plans.plans
    else:
        _Plans.catalog, _Plans.plans = catalog, context.plans
    return context


def added(before: Catalog, after: Catalog, path: ObjectPath) -> None:
    """Keep the plans of views where all that a statement did was to add a name that nothing had.

    Each CREATE VIEW is validated: without this a chain of views would be planned once for each of them.
    """
    if _Plans.catalog is before and before.get(path) is None:
        _Plans.catalog = after


class _Plans:
    """The view plans made over the last catalog: a script's INSERTs usually see the same one."""

    catalog: ClassVar[Catalog | None] = None
    plans: ClassVar[dict[int, tuple[object, Node]]] = {}


def hooks(source: SourceText | None = None) -> Hooks:
    """Return the hooks to hand to ``Catalog.apply``."""

    def schema(catalog: Catalog, query: exp.Expression) -> Sequence[tuple[str, DataType]]:
        planned = plan_query(query, context_of(catalog, source))
        return [(f.name, f.type.as_attribute(None)) for f in planned.columns]

    def check(catalog: Catalog, table: Table) -> Iterable[Diagnostic]:
        try:
            resolved = resolve_table(table, context_of(catalog, source))
        except FlinkDdlError as e:
            return e.diagnostics
        return tuple(warnings(resolved))

    def types(catalog: Catalog, table: Table) -> Sequence[DataType]:
        return [f.type for f in resolve_table(table, context_of(catalog, source)).fields]

    def view(catalog: Catalog, view: View) -> Iterable[Diagnostic]:
        return view_mistakes(view, context_of(catalog, source))

    return Hooks(schema, check, types, view)
