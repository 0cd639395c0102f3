"""When an operator in a chain of stages fires: at the end of its rows' window, told by the clocks of its tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import WindowAggregate, WindowTableFunction
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Node
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import StateCall


@dataclass(frozen=True)
class Fires:
    """The end of a row's window, as SQL of its event time in ms, and the clocks, a bit each."""

    end: str
    clocks: int

    def held(self, call: StateCall) -> StateCall:
        """Return a call that gives its results once, at the end of a window: the end is its last argument."""
        return replace(call, kind=f"window{call.kind}", args=(*call.args, self.end), clocks=self.clocks, ttl=())

    @property
    def turned(self) -> Fires:
        """The same with right as left."""
        return self


TIME = "__t"
"""Column of a row's time in ms, of the sides of an interval join."""


@dataclass(frozen=True)
class Within:
    """Left time - right time lies between two bounds in ms; ``times`` are SQL of a row's of each side, in ms."""

    times: tuple[str, str]
    lower: int
    upper: int
    clocks: int

    def held(self, call: StateCall) -> StateCall:
        """Return a call of a join that lets rows go when nothing can match them any more."""
        args = (*call.args, TIME, f"{self.lower}L", f"{self.upper}L")
        return replace(call, kind=f"interval{call.kind}", args=args, clocks=self.clocks, ttl=())

    @property
    def turned(self) -> Within:
        """The same with right as left."""
        return replace(self, times=self.times[::-1], lower=-self.upper, upper=-self.lower)


def fires(node: Node, end: str, ctx: Lowering) -> Fires:
    """Return when a node fires whose windows end there, in ms as their wall clock shows it."""
    assert ctx.timing is not None
    return Fires(instant(end, wall_zone(node, ctx)), ctx.timing.below(node))


def wall_zone(node: Node, ctx: Lowering) -> str:
    """Return the zone of whose wall clock a node's windows are; "" where they are of the time itself."""
    while True:
        below = node.inputs[0]
        if isinstance(node, WindowTableFunction | WindowAggregate) and not getattr(node, "windowed_input", None):
            zoned = below.fields[node.window.time].type.root is Root.TIMESTAMP_LTZ
            return ctx.zone if zoned and ctx.zone != "UTC" else ""
        node = below  # rows that carry their window: it was made below


def instant(wall: str, zone: str) -> str:
    """Return the ms of a time on the wall clock as event time counts them."""
    return f"unix_millis(to_utc_timestamp(timestamp_millis({wall}), '{zone}'))" if zone else wall


def wall(instant: str, zone: str) -> str:
    """Return the ms of an event time on the wall clock of a zone."""
    return f"unix_millis(from_utc_timestamp(timestamp_millis({instant}), '{zone}'))" if zone else instant
