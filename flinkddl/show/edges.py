"""What is done with rows on their way from one operator with state, or a table, to the next: filters and columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flinkddl.plan.nodes import Filter, Project, Union
from flinkddl.plan.nodes.terms import names_of, rex_text
from flinkddl.plan.rex import InputRef, conjuncts, substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from flinkddl.plan.nodes import Node
    from flinkddl.plan.physical import Physical
    from flinkddl.plan.rex import Rex


@dataclass(frozen=True)
class Edge:
    """From a node to another by their ids: which rows, and which columns of them, in the words of what gives them.

    ``table`` is its name where a scan gives them; ``through`` are the operators between that do more than that.
    """

    source: str
    target: str
    table: str = ""
    filter: str = ""
    columns: tuple[str, ...] = ()
    through: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """Whose rows they are, in words."""
        return f"{self.source} {self.table}".strip()

    @property
    def json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "from": self.source,
            "table": self.table,
            "to": self.target,
            "filter": self.filter,
            "columns": list(self.columns),
            "through": list(self.through),
        }


def ways_between(
    edge: Edge, wanted: str, target: Physical, id: Callable[[Physical], str], keeping: Collection[str]
) -> Iterator[Edge]:
    """Yield an edge a way from a place down to what has the id that is wanted; ``keeping`` are ids where ways end.

    The columns of ``edge`` are those of rows that come as they are.
    """
    for n, child in enumerate(target.inputs):
        needed = target.node.reads(frozenset(range(len(target.node.fields))))[n]
        for path in _down(child, lambda here: id(here) == wanted, lambda here: id(here) in keeping):
            bare = len(path) == 1 and edge.columns
            yield edge if bare else _along(edge, path, sorted(needed), projects=wanted in keeping)


def _down(
    here: Physical, found: Callable[[Physical], bool], ends: Callable[[Physical], bool]
) -> Iterator[tuple[Physical, ...]]:
    """Yield the places from one down to what is looked for, that too."""
    if found(here):
        yield (here,)
    elif not ends(here):
        for child in here.inputs:
            for path in _down(child, found, ends):
                yield (here, *path)


def _along(edge: Edge, path: Sequence[Physical], needed: Iterable[int], *, projects: bool) -> Edge:
    """Return what is done along a way; ``projects``: a projection or filter at its end stands above what is kept."""
    first = path[0].node
    columns: list[Rex] = [InputRef(first.fields[i].type, i) for i in needed]
    filters: list[Rex] = []
    words: list[str] = []
    through: list[str] = []
    *between, last = (here.node for here in path)
    names = names_of(last)
    if projects and isinstance(last, Filter | Project):
        between, names = [*between, last], names_of(last.input)
    for n, node in enumerate(between):
        if isinstance(node, Filter):
            filters += conjuncts(node.condition)
        elif isinstance(node, Project):
            below = dict(enumerate(node.exprs))
            filters, columns = ([substitute(rex, below) for rex in each] for each in (filters, columns))
        elif not isinstance(node, Union):
            words += [rex_text(f, names_of(node)) for f in filters]
            through.append(node.describe())
            filters, columns = [], _read_by(node, between[n + 1] if n + 1 < len(between) else last)
    return replace(
        edge,
        filter=" AND ".join([*words, *(rex_text(f, names) for f in filters)]),
        columns=tuple(rex_text(c, names) for c in columns),
        through=tuple(through),
    )


def _read_by(node: Node, below: Node) -> list[Rex]:
    """Return what an operator reads of the one below it."""
    every = frozenset(range(len(node.fields)))
    read = next((r for i, r in zip(node.inputs, node.reads(every), strict=True) if i is below), frozenset())
    return [InputRef(below.fields[i].type, i) for i in sorted(read)]
