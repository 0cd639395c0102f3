"""Starting where another engine stands: the offsets that a consumer group has committed, or those of a moment.

Flink commits a group's offsets when a checkpoint completes, so they are the positions of its last checkpoint. State
does not travel with them; ``stateful`` names the operators that will start empty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import EARLIEST, client_properties, start_offsets
from flinkddl.show.dataflow import flow_of
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flinkddl.script.compile import Start


@dataclass(frozen=True)
class From:
    """Where to start: groups per table (the key "" is for all others), or a moment in epoch milliseconds.

    ``reset`` is for partitions of which the group has committed nothing: earliest, latest or none.
    """

    groups: Mapping[str, str]
    millis: int | None = None
    reset: str = "none"


@dataclass(frozen=True)
class Taken:
    """One partition: the first offset that this job reads, and the end of the partition when that was decided."""

    table: str
    source: str
    topic: str
    partition: int
    offset: int
    end: int

    @property
    def behind(self) -> int:
        """Records still to read."""
        return max(0, self.end - self.offset)


def take_over(start: Start, where: From) -> tuple[Start, list[Taken]]:
    """Return the job with fixed start offsets, and what they are. Raises FD815 where a group has committed nothing."""
    taken: list[Taken] = []
    steps: list[J.Step] = []
    for step in start.job.steps:
        if isinstance(step, J.Read) and step.of_topics:
            step, found = _fixed(step, where)
            taken += found
        steps.append(step)
    if not taken:
        raise FlinkDdlError.of("FD846", f"the job '{start.job.name}' reads no Kafka topic", start.span)
    return replace(start, job=replace(start.job, steps=tuple(steps))), taken


def _fixed(step: J.Read, where: From) -> tuple[J.Read, list[Taken]]:
    table = step.table.rpartition(".")[2]
    source, start = _start(step, table, where)
    with KafkaAdmin(client_properties(step.options)) as admin:
        offsets = start_offsets(step.options, start, admin)
        begin, end = admin.begin_offsets(offsets), admin.end_offsets(offsets)
    real = {
        t: {p: begin[t][p] if o == EARLIEST else end[t][p] if o < 0 else o for p, o in places.items()}
        for t, places in offsets.items()
    }
    taken = [Taken(table, source, t, p, o, end[t][p]) for t, places in real.items() for p, o in sorted(places.items())]
    kept = {k: v for k, v in step.start.items() if k in ("group", "commit-group", "reset")}
    return replace(step, start={**kept, "mode": "topic-offsets", "offsets": json.dumps(real)}), taken


def _start(step: J.Read, table: str, where: From) -> tuple[str, dict[str, str]]:
    if where.millis is not None:
        return f"time {where.millis}", {"mode": "timestamp", "timestamp": str(where.millis)}
    group = where.groups.get(table) or where.groups.get("") or step.start.get("group")
    if group is None:
        raise FlinkDdlError.of(
            "FD846",
            f"no consumer group is known for table '{table}'",
            help=f"give --group {table}=NAME, or --from with a time",
        )
    return f"group '{group}'", {"mode": "group-offsets", "group": group, "reset": where.reset}


def stateful(starts: Iterable[Start]) -> list[str]:
    """Return the operators that keep state, in words: they start empty."""
    found = (o for s in starts for o in flow_of(s.job).operators)
    return list(dict.fromkeys(f"{o.name}: {o.state}" for o in found if o.state))


def as_options(taken: Iterable[Taken]) -> dict[str, str]:
    """Return per table the options that say the same in SQL, where one topic is read."""
    by_table: dict[str, dict[str, list[Taken]]] = {}
    for t in taken:
        by_table.setdefault(t.table, {}).setdefault(t.topic, []).append(t)
    return {
        table: ";".join(f"partition:{t.partition},offset:{t.offset}" for t in next(iter(topics.values())))
        for table, topics in by_table.items()
        if len(topics) == 1
    }
