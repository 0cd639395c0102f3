"""What planning one statement shares: the catalog, the session, the options check, spans, and plans made once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from flinkddl.connectors import use_table
from flinkddl.connectors.base import Use
from flinkddl.diagnostics import NOTHING, About, Bag, FlinkDdlError, Span, did_you_mean
from flinkddl.diagnostics.kinds import MISSPELLED
from flinkddl.dialect.nodes import span_of
from flinkddl.plan.scope import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlglot import exp

    from flinkddl.catalog.model import OptionText, Table, View
    from flinkddl.catalog.settings import Settings
    from flinkddl.catalog.state import Catalog
    from flinkddl.diagnostics import SourceText
    from flinkddl.options.resolved import ResolvedOptions
    from flinkddl.plan.nodes import Node


Role = Literal["source", "sink"]


@dataclass
class Context:
    """Everything around one statement. ``bag`` takes warnings and notes; errors are raised."""

    catalog: Catalog
    session: Session = field(default_factory=Session)
    source: SourceText | None = None
    bag: Bag = field(default_factory=Bag)
    plans: dict[int, tuple[object, Node]] = field(default_factory=dict)
    open_views: tuple[str, ...] = ()

    def span(self, node: exp.Expression | None) -> Span | None:
        """Return the place of a tree in the script."""
        if node is None or self.source is None:
            return None
        found = span_of(node)
        return Span(self.source, *found) if found else None

    def error(
        self,
        code: str,
        message: str,
        node: exp.Expression | None = None,
        help: str | None = None,
        about: About = NOTHING,
    ) -> FlinkDdlError:
        """Build the error for a tree; the caller raises it."""
        return FlinkDdlError.of(code, message, self.span(node), help, about=about)

    def not_found(self, what: str, node: exp.Table, more: Iterable[str] = ()) -> FlinkDdlError:
        """Build the error for a name in FROM or INSERT that nobody declared: FD301 or FD302 where its owner is unknown.

        ``more`` are names besides those of the table's own database that may have been meant.
        """
        names = tuple(p.name for p in node.parts)
        path, catalog, dotted = self.catalog.path(names), self.catalog, ".".join(names)
        if path.catalog not in catalog.catalogs:
            return self.error("FD301", f"unknown catalog '{path.catalog}'", node, catalog.nearest(names))
        if catalog.database(path.catalog, path.database) is None and not catalog.is_absent(path):
            owner = f"{path.catalog}.{path.database}"
            return self.error("FD302", f"unknown database '{owner}'", node, catalog.nearest(names))
        known = [*more, *catalog.names_in(path.catalog, path.database)]
        near = did_you_mean(names[-1], known)
        return self.error(
            "FD452", f"{what} '{dotted}' not found", node, near, About(dotted, MISSPELLED if near else "")
        )

    def check_options(
        self,
        table: Table,
        role: Role,
        hints: Mapping[str, OptionText] | None,
        span: Span | None,
        *,
        overwrite: bool = False,
        conflict: str | None = None,
    ) -> ResolvedOptions:
        """Return a table's options for one use, hints laid over them, typed. Raises FlinkDdlError with all findings."""
        if hints and not self.config.table_dynamic_table_options_enabled:
            help = "SET 'table.dynamic-table-options.enabled' = 'true'"
            raise FlinkDdlError.of("FD240", "OPTIONS hints are switched off", span, help)
        found = Bag()
        job = self.config.pipeline_name or ""
        use = Use(span, not self.session.streaming, overwrite, self.duplicates, conflict, self.strict, job)
        options = use_table(table, role, hints, found, use)
        found.raise_if_errors()
        self.bag.extend(found)
        if options is None:
            raise FlinkDdlError.of("FD900", f"the options of '{table.path}' gave neither values nor an error", span)
        return options

    @property
    def strict(self) -> bool:
        """Whether what Flink 2.3 refuses is refused also where its older documents show it."""
        return self.config.flinkddl_strict

    @property
    def duplicates(self) -> bool:
        """Whether a CDC table's changes may come more than once."""
        return self.config.table_exec_source_cdc_events_duplicate

    @property
    def config(self) -> Settings:
        """What the session has SET."""
        return self.session.config

    def in_source(self, source: SourceText | None) -> Context:
        """Return this context for trees that stand in another text (a view's, a table's)."""
        return self if source is None or source is self.source else replace(self, source=source)

    def in_view(self, view: View) -> Context:
        """Return this context for a view's own query: its text, catalog and database."""
        catalog = self.catalog.at(view.catalog, view.database) if view.catalog else self.catalog
        source = view.span.source if view.span else self.source
        return replace(self, source=source, catalog=catalog, open_views=(*self.open_views, str(view.path)))
