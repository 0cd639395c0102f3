"""Logical plan nodes, a file a family: what each reads, gives, keeps and how it is told stands in its class.

``NODES`` are all operators of a finished plan, in the order in which ``flinkddl support`` shows them: those of a
further file come last.
"""

from flinkddl.plan.nodes import grouping, joins, leaves, rows, windows
from flinkddl.plan.nodes.base import Binary, Node, Unary
from flinkddl.plan.nodes.grouping import Aggregate, Deduplicate, Over, Rank, Sort
from flinkddl.plan.nodes.joins import IntervalJoin, Join, LookupJoin, TemporalJoin, WindowJoin, recast, regular
from flinkddl.plan.nodes.leaves import Scan, Sink, Values, scans
from flinkddl.plan.nodes.rows import Expand, Filter, Project, Union, Unnest
from flinkddl.plan.nodes.values import Field, JoinKind, WatermarkSpec, Window, WindowKind
from flinkddl.plan.nodes.windows import WindowAggregate, WindowTableFunction
from flinkddl.plan.rules import files

_FAMILIES = dict.fromkeys((leaves, rows, windows, grouping, joins, *files(__name__, __path__)))
NODES: tuple[type[Node], ...] = tuple(
    kind
    for family in _FAMILIES
    for kind in vars(family).values()
    if isinstance(kind, type) and issubclass(kind, Node) and kind.__module__ == family.__name__ and kind.sql
)

__all__ = ["NODES", "Aggregate", "Binary", "Deduplicate", "Expand", "Field", "Filter", "IntervalJoin", "Join"]
__all__ += ["JoinKind", "LookupJoin", "Node", "Over", "Project", "Rank", "Scan", "Sink", "Sort"]
__all__ += ["TemporalJoin", "Unary", "Union", "Unnest", "Values", "WatermarkSpec", "Window"]
__all__ += ["WindowAggregate", "WindowJoin", "WindowKind", "WindowTableFunction", "recast", "regular", "scans"]
