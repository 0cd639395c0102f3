"""In which form each query of a job keeps its state: ``flinkddl.execution.state``, and the choice for 'auto'.

By key a change costs what it touches, and what is there twice runs once; as aggregates, rows of a batch are put
together before they are exchanged, and each change costs its group. So what has totals of inserts alone is aggregates,
unless it is to be forgotten: what nobody touches any more is found by key alone, and Spark's own keeps it for ever.
In real-time mode what Spark's own operators cannot do is one chain of operators by key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from flinkddl.connectors import connector
from flinkddl.plan.across import in_order, read_once
from flinkddl.plan.clocks import timing, walled
from flinkddl.plan.merged import merged
from flinkddl.plan.nodes import (
    Aggregate,
    Deduplicate,
    IntervalJoin,
    Join,
    Scan,
    TemporalJoin,
    Union,
    WindowJoin,
    scans,
)
from flinkddl.plan.nodes.base import Stateless
from flinkddl.plan.nodes.forms import APPEND, COMPARES, JOINS, ONCE, How
from flinkddl.plan.physical import physical_plan, physical_sink
from flinkddl.plan.sharing import meeting, same_scans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from flinkddl.catalog.settings import Settings
    from flinkddl.plan.decoded import Parts
    from flinkddl.plan.nodes import Node, Sink
    from flinkddl.plan.physical import Physical, PhysicalSink

BEGUN = "its checkpoint was begun so"
FILES = "files take what comes out once and for all"
CHAIN = How(chain=True).form
TOTALS = How(totals=True).form
StateForm = bool | str
"""In which form a checkpoint has a query's state: whether by key, ``TOTALS`` where all of it is, or ``CHAIN``."""
TTL = "a TTL is set"
WAITS = "what waits for event time is by key"
MERGES = "merges"
"""Equal parts run once, in a chain of operators."""
INSIDE = "inside"
"""Outer, semi and anti joins test their conditions themselves, and no second operator counts the pairs."""
BLENDS = "blends"
"""A table of changes is one with the newest rows of its keys, whatever is asked of each mention (``How.blends``)."""
OVERS = "overs"
"""OVER keeps its state by key where the query does."""
PAIRS = "pairs"
"""Inner joins of inserts keep their rows by key where the query does (``How.pairs``)."""
TABLES = "tables"
"""A table of inserts is read once where operators by key lie between its mentions (``How.across``)."""
NARROWS = "narrows"
"""Of a table of upserts the newest rows are kept with the columns that are read, not whole (``plan/decoded.py``)."""
SLICES = "slices"
"""HOP and CUMULATE windows in a chain are made of slices, of which a row is in one."""
CLOCKS = "clocks"
"""What a chain waits for counts for no other INSERT over its tables."""
NEWER = frozenset({MERGES, INSIDE, BLENDS, OVERS, PAIRS, TABLES, NARROWS, SLICES, CLOCKS})
"""What earlier versions had in other operators, over whose checkpoints Spark takes those alone."""
EVERYWHERE = frozenset({OVERS, NARROWS})
"""What of it is the same where a Spark has no operators by key."""


@dataclass(frozen=True)
class Begun:
    """How the checkpoint was begun with which a job goes on.

    ``forms`` says of INSERTs by their number in which form their state lies; ``newer`` is what it had of ``NEWER``;
    ``together`` are the INSERTs that were one query, by its name, None where that is to be chosen. ``kept`` says of
    tables of upserts, in words, what of their rows is there (``spark/fitting.py``). ``alone`` are scans (by identity)
    that looked as if one reading could be for them and others, and cannot (``How.alone``). ``windows`` are INSERTs, by
    their number, that wait for event time and may be a chain, where nothing was begun with them.
    """

    forms: Mapping[int, StateForm] = field(default_factory=dict)
    newer: frozenset[str] = NEWER
    together: Mapping[str, tuple[str, ...]] | None = None
    kept: Mapping[str, tuple[Parts, ...]] = field(default_factory=dict)
    alone: frozenset[int] = field(default=frozenset(), compare=False, repr=False)
    windows: frozenset[int] = field(default=frozenset(), compare=False, repr=False)


NEW = Begun()
"""A job that goes on with nothing."""


def planned(sinks: Sequence[Sink], config: Settings, begun: Begun) -> tuple[PhysicalSink, ...]:
    """Return ``physical_plan``, each query in the form that is SET or, with 'auto', fits it.

    Raises as ``physical_plan``.
    """
    state = config.flinkddl_execution_state
    asked = replace(config, flinkddl_execution_state="KEYED") if state == "AUTO" else config
    found = physical_plan(sinks, asked, pairs=PAIRS in begun.newer)
    found = tuple(replace(one, how=_as_known(one.how, begun)) for one in found)
    found = tuple(map(_as_files_take, found))
    if state not in ("AUTO", "KEYED"):
        return found
    choose = chosen if state == "AUTO" else _as_set
    found = tuple(choose(one, begun.forms.get(n)) for n, one in enumerate(found))
    if state == "AUTO":
        found = tuple(_timed(one) if n in begun.windows - begun.forms.keys() else one for n, one in enumerate(found))
    return tuple(_at_once(one, new=n not in begun.forms) for n, one in enumerate(found))


def _as_known(how: How, begun: Begun) -> How:
    once, across = (form in begun.newer for form in (MERGES, TABLES))
    how = replace(how, merges=how.merges and once, reuses=how.reuses and once)
    return replace(how, blends=BLENDS in begun.newer, across=across, alone=begun.alone)


def _as_files_take(found: PhysicalSink) -> PhysicalSink:
    """Return a query into files with Spark's own operators, where those give inserts once: by key all is an update."""
    to, how = found.sink.options, found.how
    if to is None or not connector(to.connector).append_mode or not how.keyed or how.chain or found.mode == "append":
        return found
    apart = replace(how, keyed=False, shares=False, merges=False, because=FILES)
    own = physical_sink(found.sink, found.plan, apart)
    return own if own.mode == "append" else found


def _at_once(found: PhysicalSink, new: bool) -> PhysicalSink:
    """Return a query in the form in which it can run in real-time mode, where it is to."""
    if not found.how.realtime or found.how.chain or any(out_of_chain(found)):
        return found
    if not any(needs_chain(found)) and not (new and ages(found)):
        return found
    return _chain(found, found.how.because and "real-time mode")


def _chain(found: PhysicalSink, because: str) -> PhysicalSink:
    how = replace(found.how, keyed=True, chain=True, shares=False, merges=found.how.reuses, because=because)
    return physical_sink(found.sink, found.plan, how)


def needs_chain(found: PhysicalSink) -> Iterator[tuple[Node, str]]:
    """Yield the nodes of a query that real-time mode takes in a chain of operators by key alone, and why, inputs first.

    Spark's own aggregates give out each change; nothing else that keeps state does, and none of it may lie below a
    UNION ALL, nor may two readings of one topic.
    """
    for here in reversed(list(found.root.walk())):
        arranged = here is found.root and found.form.kind == "upsert" and not found.keyed
        if why := COMPARES if arranged else _held_back(here):
            yield here.node, why


def _held_back(here: Physical) -> str:
    newest = any(i.form.kind == "upsert" for i in here.inputs)
    if newest and here.form.kind in ("delta", "images"):
        return f"needs the row before an update (ChangelogNormalize), which {COMPARES}"
    return here.node.holds_back(here.form) or (_united(here) if isinstance(here.node, Union) else "")


def _united(here: Physical) -> str:
    if not all(isinstance(p.node, Stateless | Scan) for i in here.inputs for p in i.walk()):
        return "unites what an operator with state gives, which real-time mode does not"
    read = [scan.table for scan in scans(here.node)]
    return (
        "unites two readings of one topic, which real-time mode does not" if len(set(map(id, read))) < len(read) else ""
    )


def out_of_chain(found: PhysicalSink) -> Iterator[tuple[Node, str]]:
    """Yield the nodes that no stage can do, and why: they wait for the watermark, or ask others.

    What else has no form by key is seen when it is lowered.
    """
    for here in reversed(list(found.root.walk())):
        node = here.node
        by_key = isinstance(node, Join | IntervalJoin | WindowJoin | TemporalJoin)
        joins = node.holds_back(here.form) == JOINS and not by_key
        if node.waits or joins:
            yield node, node.holds_back(APPEND) or ONCE


def chosen(found: PhysicalSink, begun: StateForm | None = None) -> PhysicalSink:
    """Return a query that was planned by key in the form that fits it, or in which its state was begun."""
    if not found.how.streaming or not found.how.keyed:
        return found
    if begun == CHAIN:
        return _chain(found, BEGUN)
    reasons = [] if found.how.realtime else list(_by_key(found))
    keyed = bool(reasons) if begun is None else bool(begun)
    because = BEGUN if keyed != bool(reasons) else "; ".join(reasons) or _not_by_key(found)
    how = replace(found.how, because=because)
    if keyed:
        return _with_totals(replace(found, how=how), begun)
    return physical_sink(found.sink, found.plan, replace(how, keyed=False, shares=False, merges=False))


def _timed(found: PhysicalSink) -> PhysicalSink:
    """Return a query that waits for event time as a chain, where that is to choose.

    There a table is read once, a window comes out in the batch that closes it, and each costs its own rows: Spark looks
    through all of its sessions with each batch. Whether it can be one is seen when it is lowered.
    """
    how, to = found.how, found.sink.options
    if not how.streaming or how.realtime or how.chain or not how.because:
        return found
    query = found.query.node
    taken = walled(query) if to is None else not connector(to.connector).append_mode
    if not taken or timing(query, "UTC") is None:
        return found
    if not found.query.asked.sequence and any(in_order(found.query)):
        return found
    twice = dict.fromkeys(group[0].table.path.name for group in same_scans(scans(query)) if len(group) > 1)
    return _chain(found, f"{', '.join(twice)} read once, and {WAITS}" if twice else WAITS)


def _as_set(found: PhysicalSink, begun: StateForm | None) -> PhysicalSink:
    """Return a query whose form was SET to 'keyed', as its state was begun where only a TTL makes a difference."""
    if not found.how.streaming or not found.how.keyed or found.how.chain:
        return found
    return _chain(found, "") if begun == CHAIN and found.how.realtime else _with_totals(found, begun)


def _with_totals(found: PhysicalSink, begun: StateForm | None) -> PhysicalSink:
    """Return a query by key without operators of Spark's own that never forget, where it ages or was begun so."""
    how, wanted = found.how, begun == TOTALS or (begun is None and ages(found))
    if not wanted or how.mode == "append" or how.realtime or not own(found):
        return found
    return physical_sink(found.sink, found.plan, replace(how, totals=True))


def own(found: PhysicalSink) -> bool:
    """Whether Spark's own operators, which never forget, keep totals or first rows of inserts."""
    return any(map(_own, found.query.walk()))


def _own(here: Physical) -> bool:
    match here.node:
        case Aggregate():
            return here.form.kind == "upsert"
        case Deduplicate(window=None):
            return here.form.kind == "append"
    return False


def ages(found: PhysicalSink) -> bool:
    """Whether something that a query keeps is to be forgotten after a TTL, beside windows and interval joins."""
    return any(_ages(here.node, found.how.ttl) for here in found.query.walk())


def _ages(node: Node, ttl: int) -> bool:
    timed = node.requires_watermark or getattr(node, "window", None) is not None or isinstance(node, IntervalJoin)
    if timed or isinstance(node, Stateless) or not node.inputs:
        return False
    hints = node.ttl if isinstance(node, Join) else (node.ttl if isinstance(node, Aggregate) else None,)
    return any(ttl if hint is None else hint for hint in hints)


def _not_by_key(found: PhysicalSink) -> str:
    return "real-time mode" if found.how.realtime else "no row changes, nothing is shared, no group grows"


def _by_key(found: PhysicalSink) -> Iterator[str]:
    """Yield why a query's state is better kept by key."""
    tree = found.query
    groups = [group for here in tree.walk() if here.shares for group in meeting(here.node)]
    if tables := [group[0].table.path.name for group in (*groups, *read_once(tree, found.how))]:
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
    if found.how.mode == "update" and ages(found):
        yield TTL


def _changing(here: Physical) -> str:
    """Return the name of a node that keeps state of rows that can change; "" of another."""
    if isinstance(here.node, Scan):
        return here.node.name if here.node.carries != "append" else ""
    keeps = not isinstance(here.node, Stateless)
    return here.node.name if keeps and any(i.form.kind != "append" for i in here.inputs) else ""
