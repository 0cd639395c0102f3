"""Every kind of operator by key (Kinds.java), some in one query: order of delivery, batches and reruns change nothing.

Tables come in any order within a batch (the order in the source goes with them) and are cut into batches anywhere, by a
seed; then a batch, of the seed's choice, runs again over the state that was before it. Each kind by itself, with other
seeds, is for the nightly run.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.jvm import build
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import Call, InputRef, Literal, Rex, SortKey
from flinkddl.spark.job import GroupBy
from flinkddl.spark.stages import FIRED, KINDS
from tests.spark.stream import test_fired as fired
from tests.spark.stream.stages import BATCHES, KEYED, Row, Staged, expected, forget_commit, source
from tests.spark.stream.test_stages import QUERIES, Query, dedup, dedup_model
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.spark.job import StateCall

# ---- results of any query as rows of texts, so that they can be put together ----------------------------------------


def texts(name: str, node: N.Node, width: int) -> N.Node:
    """Its rows as texts behind a name, in so many columns."""
    columns: list[Rex] = [Call(T.STRING, "CAST", (InputRef(f.type, i),)) for i, f in enumerate(node.fields)]
    exprs = [Literal(T.STRING, name), *columns, *[Literal(T.STRING, None)] * (width - len(columns))]
    fields = tuple(N.Field(f"x{i}", T.STRING) for i in range(width + 1))
    return N.Project(fields=fields, input=node, exprs=tuple(exprs))


def told(name: str, rows: Counter[Any], width: int) -> Counter[Any]:
    """Return the rows that ``texts`` gives."""
    return Counter({(name, *map(text, r), *[None] * (width - len(r))): n for r, n in rows.items()})


def text(value: Any) -> str | None:
    if isinstance(value, tuple):
        return f"[{', '.join(str(text(v)) for v in value)}]"
    if isinstance(value, datetime):
        return value.isoformat(" ", "milliseconds")
    return None if value is None else str(value)


def together(parts: Sequence[N.Node]) -> N.Node:
    return parts[0] if len(parts) == 1 else N.Union(fields=parts[0].fields, parts=tuple(parts))


def calls(running: Staged) -> list[StateCall]:
    return [call for s in running.steps if isinstance(s, GroupBy) for call in s.state_calls]


def kinds(running: Staged) -> set[str]:
    return {call.kind for call in calls(running)}


def again(running: Staged, folders: Iterable[Path], batch: int) -> int:
    """Run the batches up to that one, it once more over the state before it, and the others; return the operators.

    The second time its rows come in another order. What it gives and leaves must be the same, to the byte. (Not the
    clocks: of times between two ends of windows the one that came first is told, here by another row. What they fire
    in the batches behind it is.)
    """
    files = [f for d in folders for f in sorted(d.glob("*.json"))]
    later = {f: f.with_name(f".{f.name}") for f in files if int(f.stem) > batch}
    for file, aside in later.items():
        file.rename(aside)
    running.go()
    count = sum(isinstance(s, GroupBy) for s in running.steps)
    state = groups(running, count)
    assert max(running.given) == batch
    forget_commit(running.checkpoint, batch)
    for file in (f for f in files if int(f.stem) == batch):
        shuffle(file, batch)
    running.go()
    assert [len(running.given[n]) for n in range(batch + 1)] == [1] * batch + [2]
    assert running.given[batch][0] == running.given[batch][1]
    assert groups(running, count) == state
    for file, aside in later.items():
        aside.rename(file)
    running.go()
    return count


def groups(running: Staged, operators: int) -> Counter[Any]:
    """Return what lies in the state but for clocks (Clocks.KEY)."""
    clock = repr(b"\xff" * 9 + b"\xfc")
    state = running.state(operators)
    return Counter({entry: n for entry, n in state.items() if clock not in entry[2]})


def shuffle(file: Path, seed: int) -> None:
    lines, times = file.read_text().splitlines(), file.stat()
    random.Random(seed).shuffle(lines)
    file.write_text("".join(f"{line}\n" for line in lines))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


# ---- kinds whose results change -------------------------------------------------------------------------------------

CHANGING: dict[str, Query] = {
    # of a chain alone: elsewhere it is Spark's dropDuplicates
    "keep-first": Query("latest", ("append",), dedup(False), dedup_model(False)),
    **{
        name: QUERIES[name]
        for name in (
            "keep-last",
            "keep-first-by-time",
            "aggregates-delta",
            "totals-upsert",
            "top-ranked-delta",
            "over-rows-delta",
            *(f"join-{kind}" for kind in ("inner", "left", "full", "semi", "anti")),
            *(f"join-{kind}-beyond" for kind in ("left", "full", "semi", "anti")),
        )
    },
}
WIDTH = 14


def changing(folder: Path, names: Iterable[str], seed: int) -> tuple[N.Node, Counter[Any]]:
    """Return the queries over tables that they share, and the table of all of them."""
    tables: dict[tuple[str, int], tuple[N.Node, list[Row]]] = {}
    parts, rows = [], Counter[Any]()
    for name in names:
        query = CHANGING[name]
        keys = [(kind, seed + n) for n, kind in enumerate(query.inputs)]
        for key in keys:
            if key not in tables:
                tables[key] = source(folder / f"{key[0]}{key[1]}", *key)
        parts.append(texts(name, query.build(*(tables[k][0] for k in keys)), WIDTH))
        rows += told(name, expected(query.model(*(tables[k][1] for k in keys)), query.by_trial), WIDTH)
    return together(parts), rows


TOGETHER = (
    ("keep-first", "totals-upsert", "top-ranked-delta", "over-rows-delta"),
    tuple(name for name in CHANGING if name.startswith("join") and not name.endswith("beyond")),
    tuple(name for name in CHANGING if name.endswith("beyond")),
)
"""Queries of each run: each kind in one of them. As one query they would be planned for minutes."""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("state", "seed", "names"),
    [
        *(("chain", 100 + n, names) for n, names in enumerate(TOGETHER)),
        nightly("chain", 200, tuple(CHANGING)),
        *(nightly("keyed", 300 + n, names) for n, names in enumerate(TOGETHER[1:])),
        *(nightly("chain", 400 + n, (name,)) for n, name in enumerate(CHANGING)),
    ],
)
def test_changing_results(spark: SparkSession, tmp_path: Path, state: str, seed: int, names: tuple[str, ...]) -> None:
    node, rows = changing(tmp_path, names, seed)
    running = Staged(spark, node, config=KEYED | {"flinkddl.execution.state": state})
    again(running, tmp_path.iterdir(), random.Random(seed).randrange(BATCHES))
    assert kinds(running) >= {CHANGING[n].kind for n in names}
    assert any("'darrived'" in arg for call in calls(running) for arg in call.args) == ("keep-first" in names)
    assert running.table == rows
    assert not running.wrong
    running.close()


# ---- kinds that fire when their time has come -----------------------------------------------------------------------

Model = list[Counter[Any]]


@dataclass(frozen=True)
class Firing:
    """A query over two tables, and what each batch gives of it."""

    kind: str
    build: Callable[[fired.Source, fired.Source], N.Node]
    model: Callable[[fired.Source, fired.Source], Model]


def per_slices(one: fired.Source) -> Model:
    window = fired.SLICED["hop"][1]
    return [Counter(fired.sliced(w, v) for w, v in batch.items()) for batch in fired.windows(one, window)]


def per_window(one: fired.Source) -> Model:
    window = fired.WINDOWS["tumble"][1]
    return [Counter(fired.row(w, v) for w, v in batch.items()) for batch in fired.windows(one, window)]


BEST = (SortKey(1, descending=True, nulls_first=False),)
JOINS = [(k, b) for k in ("left", "inner", "full", "right", "semi", "anti") for b in (True, False)]
INTERVALS = [(k, b) for k in ("left", "inner", "full", "right") for b in (True, False)]


def joined(prefix: str, kind: str, beyond: bool, build: Any, model: Any) -> Firing:
    plain = "left" if kind == "right" else kind
    name = f"{prefix}{plain}{'if' if beyond and kind != 'inner' else ''}"
    more = {"kind": kind, "beyond": beyond}
    return Firing(name, partial(build, **more), partial(model, **more))


FIRING: dict[str, Firing] = {
    "window": Firing(
        "window", lambda one, _: fired.counted(one.node, fired.WINDOWS["tumble"][0]), lambda one, _: per_window(one)
    ),
    "slices": Firing(
        "slices",
        lambda one, _: fired.counted(one.node, fired.SLICED["hop"][0], fired.SHARED),
        lambda one, _: per_slices(one),
    ),
    "session": Firing(
        "session", lambda one, _: fired.counted(one.node, fired.SESSION), lambda one, _: fired.session_model(one)
    ),
    "session-list": Firing(
        "sessionlist", lambda one, _: fired.session_rows(one, fired.LISTED), lambda one, _: fired.listed(one)
    ),
    "window-top": Firing(  # of equal values the one that came first
        "windowtop",
        lambda one, _: fired.window_top(one, BEST, 3),
        lambda one, _: fired.window_top_model(one, 3, lambda r: -r[0]),
    ),
    **{
        f"window-{kind}{'-beyond' if beyond else ''}": joined(
            "window", kind, beyond, fired.window_join, fired.window_join_model
        )
        for kind, beyond in JOINS
    },
    **{
        f"interval-{kind}{'-beyond' if beyond else ''}": joined(
            "interval", kind, beyond, fired.interval_join, fired.interval_model
        )
        for kind, beyond in INTERVALS
    },
}


JOINED = ("left", "inner", "full", "semi", "anti")
PARTS = (
    ("window", "slices", "session", "session-list", "window-top"),
    tuple(f"window-{kind}" for kind in JOINED),
    tuple(f"window-{kind}-beyond" for kind in JOINED if kind != "inner"),
    ("interval-left", "interval-left-beyond", "interval-inner", "interval-full", "interval-full-beyond"),
)
"""As TOGETHER."""


ORDERED = (608, 616)
"""Where it shows that rows are taken as they came, not as they were delivered: a row that one before it in its batch
saves from being late, as both are of one session; the bytes of a window's Top-N."""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("seed", "names"),
    [
        *((500 + 2 * n, names) for n, names in enumerate(PARTS)),
        *((seed, PARTS[0]) for seed in ORDERED),
        *(nightly(600 + 2 * n, names) for n, names in enumerate(PARTS * 3) if 600 + 2 * n not in ORDERED),
        *(nightly(700 + 2 * n, (name,)) for n, name in enumerate(FIRING)),
    ],
)
def test_results_that_fire(spark: SparkSession, tmp_path: Path, seed: int, names: tuple[str, ...]) -> None:
    """Each batch gives what it must, late rows and keys that are NULL too; nothing stays but each partition's time."""
    one, two = (fired.source(tmp_path / f"t{n}", seed + n, 100, ("a", "b", None)) for n in range(2))
    width = 8
    node = together([texts(n, FIRING[n].build(one, two), width) for n in names])
    running = Staged(spark, node, accepts="append", config={"flinkddl.execution.state": "chain"})
    count = again(running, (tmp_path / "t0", tmp_path / "t1"), random.Random(seed).randrange(1, fired.BATCHES))
    assert kinds(running) == {FIRING[n].kind for n in names}
    models = [[told(n, batch, width) for batch in FIRING[n].model(one, two)] for n in names]
    given = fired.given(running)
    assert given == [sum(batches, Counter[Any]()) for batches in zip(*models, strict=True)]
    assert sum(map(bool, given)) > 3
    assert sum(running.state(count).values()) == 2
    running.close()


# ---- the table is whole ---------------------------------------------------------------------------------------------


ELSEWHERE = {"temporalinner"}
"""Of temporal joins, with versions in any order: ``test_temporal_fired.py``."""


def test_every_kind_of_the_jar_is_here() -> None:
    """In the queries that each run of CI takes."""
    source = (build.SOURCES / "flinkddl" / "state" / "Kinds.java").read_text(encoding="utf-8")
    names = re.findall(r'Map\.entry\("(\w+)", ', source)
    assert len(names) > 30
    changing = {CHANGING[name].kind for names in TOGETHER for name in names}
    firing = {FIRING[name].kind for names in PARTS for name in names}
    assert sorted(names) == sorted(KINDS) == sorted(changing | firing | ELSEWHERE)
    assert firing == FIRED - ELSEWHERE
