"""One group of cases: a world, its queries, some runs with restarts, and the comparison after each."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.spark.context import Lowering
from flinkddl.spark.stream import lower_for
from tests.fuzz import compare
from tests.fuzz.engine import SETTINGS, Case, Group, Planner, upsert_keys
from tests.fuzz.queries import Generator, Rel
from tests.fuzz.session import fuzz_session
from tests.fuzz.world import World
from tests.spark.stream.harness import fed

MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


@dataclass
class Summary:
    """What came of some cases."""

    seed: int
    cases: int = 0
    batches: int = 0
    restarts: int = 0
    replays: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    divergences: list[str] = field(default_factory=list)

    def add(self, other: Summary) -> None:
        self.cases += other.cases
        self.batches += other.batches
        self.restarts += other.restarts
        self.replays += other.replays
        self.refused += other.refused
        self.divergences += other.divergences

    def line(self) -> str:
        refused = ", ".join(f"{code} {n}" for code, n in sorted(self.refused.items())) or "none"
        return (
            f"seed {self.seed}: {self.cases} cases, {self.batches} micro-batches, {self.restarts} restarts, "
            f"{self.replays} replayed batches, refused while drawing: {refused}; {len(self.divergences)} divergences"
        )


@dataclass
class Drawn:
    """A case with both of its texts."""

    rel: Rel
    case: Case


def run_group(seed: int, size: int, store: str, state: str = "aggregate", spark: Any = None) -> Summary:
    """Draw ``size`` queries over one world and run them together. Never raises for what a query does.

    ``spark``: a session to use; without one this process gets its own.
    """
    folder = Path(tempfile.mkdtemp(prefix="fuzz-world"))
    try:
        session = fuzz_session(state != "aggregate") if spark is None else spark
        return _run(session, World(seed, folder), seed, size, (store, state))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(spark: Any, world: World, seed: int, size: int, kept: tuple[str, str]) -> Summary:
    out = Summary(seed, cases=size)
    store, state = kept
    drawn = draw(world, seed, size, out, twice=state != "aggregate")
    r = random.Random(seed + 7)
    SETTINGS.pop("spark.sql.streaming.stateStore.providerClass", None)
    if store == "memory":
        SETTINGS["spark.sql.streaming.stateStore.providerClass"] = MEMORY
    group = Group(spark, [d.case for d in drawn], state=state)
    bad: set[int] = set()
    try:
        for step in range(3):
            for _ in range(r.randint(1, 2)):
                world.batch(r.choice([3, 25, 40]))
                out.batches += 1
            group.crash = step > 0 and r.random() < 0.5
            out.replays += group.crash
            out.restarts += step > 0
            group.run()
            check(world, drawn, bad, step, seed, out)
    except Exception as error:  # noqa: BLE001 - whatever the engine throws is a finding
        out.divergences.append(f"-- seed {seed}: the group failed: {str(error)[:3000]}")
    finally:
        group.close()
    return out


def draw(world: World, seed: int, size: int, out: Summary, *, twice: bool = False) -> list[Drawn]:
    """Draw queries that can be planned and run in update mode; what is refused is counted by its code.

    ``twice``: often with equal parts.
    """
    planner = Planner(world)
    generator = Generator(seed + 1, world.tables, twice=twice)
    drawn: list[Drawn] = []
    while len(drawn) < size:
        rel = generator.query()
        try:
            node = planner.plan(rel.flink)
            keys = upsert_keys(node)
            by_key = bool(keys) and generator.random.random() < 0.4
            case = Case(f"q{len(drawn)}", node, "upsert" if by_key else "changelog", keys[0] if by_key else ())
            ctx = Lowering(streaming=True)
            lower_for(fed(node, case.accepts, case.key), ctx)
        except FlinkDdlError as refused:
            out.refused[refused.diagnostics[0].code] += 1
            continue
        if ctx.output_mode == "update":
            drawn.append(Drawn(rel, case))
    return drawn


def check(world: World, drawn: list[Drawn], bad: set[int], step: int, seed: int, out: Summary) -> None:
    """Compare each case with DuckDB's answer over what is there; a case is told of once."""
    with duckdb.connect() as db:
        world.fill(db)
        for n, d in enumerate(drawn):
            if n in bad:
                continue
            want = compare.expected(db, d.rel.duck, d.rel.columns)
            have = compare.table(d.case.table, d.rel.columns)
            if want == have and not d.case.wrong:
                continue
            bad.add(n)
            out.divergences.append(
                f"-- seed {seed} case {n} run {step} ({d.case.accepts} {d.case.key})\n{d.rel.flink}\n-- duck\n"
                f"{d.rel.duck}\n-- missing {dict(want - have)}\n-- extra {dict(have - want)}\n-- {d.case.wrong[:3]}"
            )
