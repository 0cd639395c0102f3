"""Finished relations of a streaming job, VALUES and jdbc tables: beside the streams, or as streams that end.

Spark joins a stream with a relation that is there as a whole, by an inner join, or where the stream is the side that is
kept. Everywhere else (UNION, other joins, a write) it wants streams on all sides: there the rows are written down once
below the checkpoint and read as a stream, which is what Flink does with them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# the sides of a join that must stream where the other one does not
_LEFT, _RIGHT = 0, 1
_NEEDS: Mapping[str, tuple[int, ...]] = {
    "inner": (),
    "cross": (),
    "left": (_LEFT,),
    "left_semi": (_LEFT,),
    "left_anti": (_LEFT,),
    "right": (_RIGHT,),
    "full": (_LEFT, _RIGHT),
}


def as_streams(steps: Sequence[J.Step], inputs: Iterable[str], constants: bool = False) -> list[J.Step]:
    """Return the steps with each finished relation as a stream where it must be one.

    ``inputs`` are the steps that are written. ``constants``: only VALUES may become streams, reads stay as they are.
    """
    out = list(steps)
    written = tuple(inputs)
    while leaves := _to_stream(out, written, constants):
        out = [_streamed(s) if s.name in leaves else s for s in out]
    return out


def _to_stream(steps: Sequence[J.Step], written: Iterable[str], constants: bool) -> set[str]:
    """Return the leaves that have to become streams; those above them may ask for more then."""
    known = {s.name: s for s in steps}
    flows = J.flows(steps)
    wanted = set(written)
    for step in steps:
        if flows[step.name] and isinstance(step, J.UnionAll):
            wanted |= set(step.parts)
        elif flows[step.name] and isinstance(step, J.JoinStep):
            wanted |= {step.reads[side] for side in _NEEDS[step.how]}
    return {leaf for name in wanted if not flows[name] for leaf in _leaves(name, known, constants)}


def _leaves(name: str, steps: Mapping[str, J.Step], constants: bool) -> set[str]:
    step = steps[name]
    if isinstance(step, J.JoinStep):  # the other side may stay
        sides = [step.reads[side] for side in _NEEDS[step.how] or (_LEFT,)]
        return {leaf for side in sides for leaf in _leaves(side, steps, constants)}
    if not step.reads:
        finished = step.finished and not constants if isinstance(step, J.Read) else isinstance(step, J.Rows)
        return {name} if finished else set()
    return {leaf for below in step.reads for leaf in _leaves(below, steps, constants)}


def _streamed(step: J.Step) -> J.Step:
    note = f"{step.note}, written down once and read as a stream"
    if isinstance(step, J.Read):
        return replace(step, streaming=True, note=note)
    assert isinstance(step, J.Rows)
    query = {"query": step.query}
    return J.Read(name=step.name, format=J.ROWS, options=query, streaming=True, finished=True, note=note)
