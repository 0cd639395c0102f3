"""What the tests of stages share: one list of changes, in many orders of delivery and cut into batches in many ways.

Each trial is a part of the same stream with a key of its own: all trials go through one query at once.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.spark.job import GroupBy
from tests.spark.stream.harness import Feed, Running, feed, plain, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TRIALS = 8
BATCHES = 4
KEYED = {"flinkddl.execution.state": "keyed"}
FIELDS = (N.Field("t", T.INT), N.Field("id", T.INT), N.Field("k", T.STRING), N.Field("v", T.INT))
Row = tuple[Any, ...]


def changes(kind: str, seed: int, size: int = 60) -> tuple[list[dict[str, Any]], list[Row]]:
    """Random records in the order of their source, and the rows (id, k, v) they leave, in the order they came."""
    r = random.Random(seed)
    live: dict[int, Row] = {}
    records: list[dict[str, Any]] = []
    for seq in range(1, size + 1):
        fresh = kind == "append" or r.random() < 0.4 or not live
        id = seq if fresh else r.choice(list(live))
        gone = not fresh and r.random() < 0.4
        old = live.pop(id, None)
        new = None if gone else (id, r.choice(["a", "b", None]), r.choice([None, *range(4)]))
        live |= {} if new is None else {id: new}
        if kind == "delta":
            pairs = [({"__w": w}, row) for w, row in ((-1, old), (1, new)) if row is not None]
        else:
            upsert = {"__version": seq, "__deleted": new is None} if kind == "upsert" else {}
            pairs = [(upsert, new or (id, None, None))]
        records += [dict(zip(("id", "k", "v"), row, strict=True)) | {"__seq": seq} | more for more, row in pairs]
    return records, list(live.values())


def deliveries(records: list[dict[str, Any]], seed: int, batches: int = BATCHES) -> list[list[dict[str, Any]]]:
    """Return the records once a trial: cut anywhere, a batch in any order; all in the first, all in the last."""
    r = random.Random(seed)
    files: list[list[dict[str, Any]]] = [[] for _ in range(batches)]
    for trial in range(TRIALS):
        cuts = sorted(r.randint(0, len(records)) for _ in range(batches - 1))
        cuts = [len(records)] * (batches - 1) if trial == 0 else [0] * (batches - 1) if trial == 1 else cuts
        for n, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(records)], strict=True)):
            files[n] += [{"t": trial, **record} for record in records[start:end]]
    for rows in files:
        r.shuffle(rows)
    return files


def source(folder: Path, kind: str, seed: int = 1) -> tuple[Feed, list[Row]]:
    """Return a table with its changes written, and the rows that they leave in each trial."""
    node = feed(folder, FIELDS, kind, (0, 1) if kind == "upsert" else ())  # type: ignore[arg-type]
    records, left = changes(kind, seed)
    for n, rows in enumerate(deliveries(records, seed)):
        write(node.folder, n, rows)
    return node, left


@dataclass
class Staged(Running):
    """A query with state by key, which notes what each batch gave, each time that it ran."""

    config: dict[str, str] = field(default_factory=lambda: dict(KEYED))
    given: dict[int, list[Counter[Any]]] = field(default_factory=dict)

    def _take(self, batch: Any, number: int) -> None:
        rows = Counter(plain(r) for r in batch.collect())
        again = number in self.given
        self.given.setdefault(number, []).append(rows)
        if not again:
            super()._take(batch, number)

    @property
    def forms(self) -> list[str]:
        """The form of each operator with state."""
        return [call.form for s in self.steps if isinstance(s, GroupBy) for call in s.state_calls]

    def state(self, operators: int) -> Counter[Any]:
        """Return what lies in the state of the last batch."""
        found: Counter[Any] = Counter()
        for operator in range(operators):
            for name in ("head", "map0"):  # no kind uses the other maps
                read = self.spark.read.format("statestore").option("stateVarName", name).option("operatorId", operator)
                for row in read.load(self.checkpoint).collect():
                    found[(operator, name, str(row))] += 1
        return found


def expected(rows: list[Row], by_trial: bool = True) -> Counter[Any]:
    """Return a table with the same rows in each trial, whose number stands before them or does not."""
    return Counter((trial, *row) if by_trial else row for trial in range(TRIALS) for row in rows)


def forget_commit(checkpoint: str, number: int) -> None:
    """Let a batch be one that was planned and has not ended."""
    from pathlib import Path

    for file in (f"{number}", f".{number}.crc"):
        (Path(checkpoint) / "commits" / file).unlink(missing_ok=True)


def run(spark: SparkSession, node: N.Node, **more: Any) -> Staged:
    """Run a query over all that is there."""
    running = Staged(spark, node, **more)
    running.go()
    return running
