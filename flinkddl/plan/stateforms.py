"""In which form each query of a job keeps its state: ``flinkddl.execution.state``, and the choice for 'auto'.

By key a change costs what it touches, and what is there twice runs once; as aggregates, rows of a batch are put
together before they are exchanged, and each change costs its group. So what has totals of inserts alone is aggregates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from flinkddl.plan.merged import merged
from flinkddl.plan.nodes import Scan
from flinkddl.plan.nodes.base import Stateless
from flinkddl.plan.physical import physical_plan, physical_sink
from flinkddl.plan.sharing import meeting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from flinkddl.catalog.settings import Settings
    from flinkddl.plan.nodes import Sink
    from flinkddl.plan.physical import Physical, PhysicalSink

BEGUN = "its checkpoint was begun so"


@dataclass(frozen=True)
class Begun:
    """How the checkpoint was begun that a job goes on with.

    ``forms`` says of queries by their number whether their state lies by key; ``blends`` see ``How``.
    """

    forms: Mapping[int, bool] = field(default_factory=dict)
    blends: bool = True


NOT_BEGUN = Begun()


def planned(sinks: Sequence[Sink], config: Settings, begun: Begun) -> tuple[PhysicalSink, ...]:
    """Return ``physical_plan``, each query in the form that is SET or, with 'auto', fits it.

    Raises as ``physical_plan``.
    """
    auto = config.flinkddl_execution_state == "AUTO"
    found = physical_plan(sinks, replace(config, flinkddl_execution_state="KEYED") if auto else config)
    found = tuple(replace(one, how=replace(one.how, blends=begun.blends)) for one in found)
    return tuple(chosen(one, begun.forms.get(n)) for n, one in enumerate(found)) if auto else found


def chosen(found: PhysicalSink, begun: bool | None = None) -> PhysicalSink:
    """Return a query that was planned by key in the form that fits it, or in which its state was begun."""
    if not found.how.streaming:
        return found
    reasons = [] if found.how.realtime else list(_by_key(found))
    keyed = bool(reasons) if begun is None else begun
    because = BEGUN if keyed != bool(reasons) else "; ".join(reasons) or _not_by_key(found)
    how = replace(found.how, because=because)
    if keyed:
        return replace(found, how=how)
    return physical_sink(found.sink, found.plan, replace(how, keyed=False, shares=False, merges=False))


def _not_by_key(found: PhysicalSink) -> str:
    return "real-time mode" if found.how.realtime else "no row changes, nothing is shared, no group grows"


def _by_key(found: PhysicalSink) -> Iterator[str]:
    """Yield why a query's state is better kept by key."""
    tree = found.query
    tables = [group[0].table.path.name for here in tree.walk() if here.shares for group in meeting(here.node)]
    if tables:
        yield f"{', '.join(dict.fromkeys(tables))} read once"
    if found.how.merges and found.how.mode == "update" and merged(tree, found.how):
        yield "equal parts run once"
    if changing := next((name for here in tree.walk() if (name := _changing(here))), ""):
        yield f"rows change below {changing}"
    elif found.plan.materialize and not found.plan.input.append:
        yield "rows change below the sink"
    if not changing and found.how.mode == "update":
        growing = (here.node for here in tree.walk() if here.node.grows)
        yield from (f"{node.name} keeps {node.grows}" for node in islice(growing, 1))


def _changing(here: Physical) -> str:
    """Return the name of a node that keeps state of rows that can change; "" of another."""
    if isinstance(here.node, Scan):
        return here.node.name if here.node.carries != "append" else ""
    keeps = not isinstance(here.node, Stateless)
    return here.node.name if keeps and any(i.form.kind != "append" for i in here.inputs) else ""
