"""What the statements of one script share while they are applied: text, findings, names, hooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.catalog.model import OptionText
from flinkddl.diagnostics import NOTHING, About, Bag, Span
from flinkddl.dialect.nodes import span_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from flinkddl.catalog.model import Table, View
    from flinkddl.catalog.state import Catalog
    from flinkddl.diagnostics import Diagnostic, SourceText
    from flinkddl.sqltypes import DataType


@dataclass(frozen=True)
class Hooks:
    """What the catalog asks of the layers above it.

    ``schema`` returns the columns (name, type) of a query, for CREATE TABLE AS, or raises FlinkDdlError. ``check``
    types computed columns and the watermark of a new table and yields findings, ``view`` does so with the query of a
    new view, which Flink validates at once. ``types`` returns the types of all columns of a table, time attributes
    included, for DESCRIBE.
    """

    schema: Callable[[Catalog, exp.Expression], Sequence[tuple[str, DataType]]] | None = None
    check: Callable[[Catalog, Table], Iterable[Diagnostic]] | None = None
    types: Callable[[Catalog, Table], Sequence[DataType]] | None = None
    view: Callable[[Catalog, View], Iterable[Diagnostic]] | None = None


@dataclass
class Context:
    """One statement being applied: its script and the findings so far."""

    source: SourceText
    bag: Bag = field(default_factory=Bag)
    hooks: Hooks = field(default_factory=Hooks)
    strict: bool = False
    """Whether SET 'flinkddl.strict' refuses what Flink 2.3 refuses and its documents show."""

    def span(self, node: exp.Expression | None) -> Span | None:
        """Return the place of a tree in the script."""
        found = span_of(node) if node is not None else None
        return Span(self.source, *found) if found else None

    def error(
        self,
        code: str,
        message: str,
        node: exp.Expression | None = None,
        help: str | None = None,
        about: About = NOTHING,
    ) -> None:
        """Add an error at a tree."""
        self.bag.error(code, message, self.span(node), help, about=about)

    def options(self, nodes: Iterable[exp.Expression] | None) -> dict[str, OptionText]:
        """Return WITH options as written; of a key that stands twice the last one counts, as in Flink."""
        out: dict[str, OptionText] = {}
        for node in nodes or ():
            key = literal(node.this)
            place = self.span(node.this)
            if key in out:
                self.bag.warning("FD317", f"option '{key}' is given twice; the last value counts", place)
            out[key] = OptionText(literal(node.expression), place, self.span(node.expression))
        return out


def literal(node: exp.Expression | str | None) -> str:
    """Return the text of a string literal, an identifier or plain text."""
    return node if isinstance(node, str) else (node.name if node is not None else "")


def comment(node: exp.Expression | str | None) -> str | None:
    """Return the text of a COMMENT, or None without one."""
    return None if node is None else literal(node)


def parts(node: exp.Expression | str) -> tuple[str, ...]:
    """Return the parts of an object name, outermost first."""
    match node:
        case exp.Table():
            inner = node.this
            tail = parts(inner) if isinstance(inner, exp.Expression) else (str(inner),)
            return (*(p for p in (node.catalog, node.db) if p), *tail)
        case exp.Dot():
            return (*parts(node.this), *parts(node.expression))
        case exp.Column():
            return tuple(p.name for p in node.parts)
        case exp.Expression():
            return (node.name,)
    return (node,)


def dotted(names: Iterable[str]) -> str:
    """Return a name as messages quote it."""
    return ".".join(names)
