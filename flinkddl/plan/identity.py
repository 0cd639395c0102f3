"""Which operator with state is which: its identity is the same after a filter, another output column or another sink.

It is made of the node's class, of what the class says that tells its state from another's (``Node.by``: keys, order,
window, kind of join) and of the columns that it reads, each traced to the columns of tables from which it comes. What
stands between, above and beside does not count. Of operators that are alike without being equal (the same query under
two filters) the larger plan is ``-2``, wherever it stands in the script.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flinkddl.plan.explain import explain
from flinkddl.plan.nodes import Aggregate, Project, Scan, Union, Window, WindowAggregate, scans
from flinkddl.plan.nodes.terms import call_text, order_text, rex_text, window_text
from flinkddl.plan.rex import SortKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.plan.nodes import Node

LONGEST = 80
"""Characters of a traced expression; of a longer one its digest stands."""


@dataclass(frozen=True)
class Identity:
    """An operator with state: ``by`` is what groups, orders or pairs its rows, ``columns`` what it reads of them.

    ``number`` counts those that are alike without being equal, from 1.
    """

    name: str
    by: tuple[str, ...]
    columns: tuple[str, ...]
    number: int = 1

    @property
    def place(self) -> str:
        """The operator whatever else it keeps: an aggregate stays at its place when another one stands beside it."""
        return f"{self.name}-{digest(*self.by)}"

    def __str__(self) -> str:
        text = f"{self.place}-{digest(*self.columns)}"
        return text if self.number == 1 else f"{text}-{self.number}"


def digest(*parts: str) -> str:
    """Return eight hexadecimal characters that tell texts from others."""
    from hashlib import sha256  # here: ``check`` never comes by, and it is slow to import

    return sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:8]


class Traced(ABC):
    """Traces the fields of nodes to where they come from; each node is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Node, tuple[str, ...]]] = {}

    def of(self, node: Node) -> tuple[str, ...]:
        """Return where each field of a node comes from."""
        if id(node) not in self._known:
            self._known[id(node)] = (node, tuple(map(self._short, self._trace(node))))
        return self._known[id(node)][1]

    def _short(self, text: str) -> str:
        """Return what stands for a traced expression."""
        return text if len(text) <= LONGEST else digest(text)

    @abstractmethod
    def _trace(self, node: Node) -> list[str]:
        """Return where each field of a node comes from, in full."""


class Origins(Traced):
    """Traces the fields of nodes to columns of tables, by their names."""

    def _trace(self, node: Node) -> list[str]:
        below = [name for i in node.inputs for name in self.of(i)]
        match node:
            case Scan():
                return [f"{node.table.path}.{f.name}" for f in node.fields]
            case Project():
                return [rex_text(e, below) for e in node.exprs]
            case Union():
                return [" | ".join(dict.fromkeys(column)) for column in zip(*map(self.of, node.parts), strict=True)]
            case Aggregate():
                return [*(below[k] for k in node.keys), *(call_text(below, c) for c in node.aggs)]
            case WindowAggregate():
                own = [*(below[k] for k in node.keys), *(call_text(below, c) for c in node.aggs)]
                return [*own, *(f"{window_text(below, node.window)}.{p}" for p in node.properties)]
        own = [f"{node.name}.{n}" for n in range(len(node.fields) - node.passed)]
        return [*below[: node.passed], *own]

    def identity(self, node: Node) -> Identity:
        """Return the identity of a node with state."""
        sides = [self.of(i) for i in node.inputs] or [self.of(node)]
        by = tuple(f"{name}={_text(getattr(node, name), sides[name in node.second], sides)}" for name in node.by)
        read = zip(sides, node.reads(frozenset(range(len(node.fields)))), strict=False)
        columns = tuple(sorted({side[i] for side, needed in read for i in needed}))
        return Identity(node.name, by, columns or (tuple(sorted(sides[0])) if isinstance(node, Scan) else ()))


def _text(value: Any, names: Sequence[str], sides: Sequence[Sequence[str]]) -> str:
    """Return keys, orders and windows over traced columns; of (left, right) pairs each over its side."""
    match value:
        case str() | bool() | None:
            return str(value)
        case int():
            return names[value]
        case Window():
            return window_text(names, value)
        case (SortKey(), *_):
            return order_text(names, value)
        case ((_, _), *_) if len(sides) > 1:
            return ", ".join(f"{sides[0][a]} = {sides[1][b]}" for a, b in value)
    return ", ".join(_text(v, names, sides) for v in value)


def numbered(found: Sequence[tuple[int, Identity, Node]]) -> Mapping[int, Identity]:
    """Return identities by the number of an equal sub-plan, told apart where unequal ones are alike.

    The plan of fewer nodes comes first, then the text decides: the order of the INSERTs means nothing.
    """
    alike: dict[Identity, dict[int, Node]] = {}
    for number, identity, node in found:
        alike.setdefault(identity, {})[number] = node
    out: dict[int, Identity] = {}
    for identity, nodes in alike.items():
        ordered = nodes if len(nodes) == 1 else sorted(nodes, key=lambda n: _content(nodes[n]))
        out |= {number: replace(identity, number=n) for n, number in enumerate(ordered, 1)}
    return out


def _content(node: Node) -> tuple[int, str]:
    text = explain(node, schema=True)
    return text.count("\n"), text + "".join(map(_options, scans(node)))


def _options(scan: Scan) -> str:
    """Hints too are in here."""
    return repr(sorted((key, str(value)) for key, value in scan.options.values.items()))
