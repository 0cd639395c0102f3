"""A table of inserts that a query mentions several times, with operators by key between its mentions: read once.

Flink reads it once (``table.optimizer.reuse-source-enabled``). So do we where its rows can go from one reading to all
that ask for them, and meet again, in a chain of operators by key (``spark/stream/regions.py``). Here is what looks so
on the plan; the lowering tries it, and parts what cannot be (``spark/stream/__init__.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.plan.merged import calls, merged
from flinkddl.plan.nodes import Expand, Filter, Join, Project, Scan, Union, Unnest, WindowTableFunction, scans
from flinkddl.plan.nodes.base import Stateless
from flinkddl.plan.nodes.forms import JOINS
from flinkddl.plan.rex import Call, walk
from flinkddl.plan.sharing import MOST_PASSED, same_scans

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from flinkddl.plan.nodes import Node
    from flinkddl.plan.nodes.forms import How
    from flinkddl.plan.physical import Physical


@deep
def across(
    tree: Physical, how: How, without: Iterable[Physical] = (), blocked: Collection[int] = ()
) -> list[list[Scan]]:
    """Return the mentions of each table that one reading may be for, several of a table where not all can be together.

    ``without`` are places that run elsewhere, as equal ones; no chain goes through the nodes in ``blocked`` (their
    identity).
    """
    if not (how.shares and how.across and how.mode == "update") or how.realtime:
        return []
    by_themselves = {id(scan) for here in without for scan in scans(here.node)}
    ordered = () if tree.asked.sequence else in_order(tree)
    look = _Look(how.alone | by_themselves | {*ordered}, blocked)
    found = look.below(tree)
    look.close(found)
    return look.groups


def read_once(tree: Physical, how: How) -> list[list[Scan]]:
    """Return ``across`` where equal parts of the query run once as well."""
    return across(tree, how, others(merged(tree, how).values() if how.merges and how.mode == "update" else ()))


def others(merged: Iterable[Sequence[Physical]]) -> Iterator[Physical]:
    """Yield the places of equal sub-plans that run as the first one."""
    for places in merged:
        yield from places[1:]


def parted(tree: Physical, group: Collection[Scan]) -> list[list[Scan]]:
    """Return the mentions of a table that can still be together where all of a group cannot.

    Those are the ones that meet below the node at which all do.
    """
    wanted = {id(scan) for scan in group}
    at = tree
    while True:
        below = [(i, [s for s in scans(i.node) if id(s) in wanted]) for i in at.inputs]
        mentions = sum(len(found) for _, found in below)  # one node may stand in two places
        whole = next((i for i, found in below if len(found) == mentions), None)
        if whole is None:
            return [found for _, found in below if len(found) > 1]
        at = whole


@dataclass(frozen=True)
class _Mention:
    """A scan whose rows come out of the node at hand; ``depth`` is that of the operator with state they first come to.

    0 is none yet.
    """

    scan: Scan
    depth: int = 0


@dataclass(frozen=True)
class _Open:
    """What comes out of a node: of which mentions, through how many operators with state, and whether for ever."""

    mentions: tuple[_Mention, ...] = ()
    depth: int = 0
    streams: bool = True


@dataclass
class _Look:
    """A walk over a plan; ``apart`` are the scans (their identity) that are read by themselves, ``blocked`` nodes."""

    apart: Collection[int]
    blocked: Collection[int]
    groups: list[list[Scan]] = field(default_factory=list)

    def below(self, here: Physical) -> _Open:
        node = here.node
        if isinstance(node, Scan):
            alone = node.carries != "append" or here.asked.watermark or id(node) in self.apart
            return _Open(() if alone else (_Mention(node),), int(here.form.kind == "upsert"))
        found = [self.below(i) for i in here.inputs]
        streams = any(one.streams for one in found)
        if _timed(node):
            return _Open(streams=streams)
        if id(node) in self.blocked or not _fits(here) or not all(one.streams for one in found):
            for one in found:
                self.close(one)
            return _Open(streams=streams)
        depth = max((one.depth for one in found), default=0) + (not isinstance(node, Stateless))
        mentions = [m for one in found for m in one.mentions]
        if not isinstance(node, Stateless):
            mentions = [replace(m, depth=m.depth or depth) for m in mentions]
        return _Open(tuple(mentions), depth, streams)

    def close(self, found: _Open) -> None:
        """Put together what met below a node; a mention that is too deep for rows to pass on to is read once more."""
        depths = {id(m.scan): m.depth or found.depth + 1 for m in found.mentions}
        for group in same_scans(m.scan for m in found.mentions):
            left = sorted(group, key=lambda scan: depths[id(scan)])
            while left:
                near = [scan for scan in left if depths[id(scan)] - depths[id(left[0])] <= MOST_PASSED]
                self.groups += [near] if len(near) > 1 else []
                left = left[len(near) :]


def in_order(here: Physical) -> Iterator[int]:
    """Yield the scans whose rows go to the sink one by one: they need no stage, and pass none."""
    if isinstance(here.node, Scan):
        yield id(here.node)
    elif isinstance(here.node, Filter | Project | Union | Unnest | WindowTableFunction):
        for below in here.inputs:
            yield from in_order(below)


def _timed(node: Node) -> bool:
    return node.requires_watermark or node.waits or node.windowed is not None


def _fits(here: Physical) -> bool:
    """Whether rows of several ways can go through a node as they would by themselves.

    A Python function is asked for each row, also for one that its way's filters drop.
    """
    node = here.node
    many = isinstance(node, Unnest | Expand)
    asks_others = node.holds_back(here.form) == JOINS and not isinstance(node, Join)
    return bool(here.inputs) and not (many or asks_others or _python(node))


def _python(node: Node) -> bool:
    tops = (call for call in calls(node) if isinstance(call, Call))
    return any(isinstance(found, Call) and found.function == "USER" for top in tops for found in walk(top))
