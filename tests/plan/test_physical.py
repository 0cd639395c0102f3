"""The physical plan: what EXPLAIN shows of each node is what was lowered, in every sample, case and recorded query."""

from __future__ import annotations

import re
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.catalog.settings import NOTHING_SET
from flinkddl.catalog.state import Catalog
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.plan import nodes as N
from flinkddl.plan import physical
from flinkddl.plan.nodes.forms import PLAIN, Form
from flinkddl.script.compile import Answer, Start, compile_script
from flinkddl.show.explain import explain
from flinkddl.spark import batch
from flinkddl.spark import job as J
from flinkddl.spark.context import KIND_COLUMNS, Lowering, Rel
from tests.plan import golden

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flinkddl.plan.physical import Physical

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted([*ROOT.glob("samples/**/*.sql"), *ROOT.glob("tests/cases/**/*.sql")])
BATCH = "SET 'execution.runtime-mode' = 'batch'"


def joined(statements: list[str]) -> str:
    return "".join(f"{golden._filled(s).strip().rstrip(';')};\n" for s in statements if s.strip())


def recorded(case: dict[str, Any]) -> list[str]:
    """The scripts of a recorded case: its query in both modes, its INSERT."""
    setup = case.get("setup", [])
    out = [joined([*setup, case["query"]]), joined([BATCH, *setup, case["query"]])] if "query" in case else []
    if "sink_statement" in case:
        ddl = case["sink_ddl"]
        out.append(joined([*setup, *(ddl if isinstance(ddl, list) else [ddl]), case["sink_statement"]]))
    return out


GROUPS = {path.relative_to(ROOT).as_posix(): [path.read_text()] for path in SCRIPTS}
for case in golden.cases():
    GROUPS.setdefault(f"goldens/{'-'.join(case['tags'][:1])}", []).extend(recorded(case))


def starts(text: str) -> Iterator[Start]:
    compiled = compile_script(SourceText("<t>", text), Catalog(), variables={"KAFKA_SERVERS": "h:9092"})
    assert not [d for d in compiled.diagnostics if d.code == "FD900"]
    for action in compiled.actions:
        found = action.of if isinstance(action, Answer) else action
        if isinstance(found, Start):
            yield found


class Spy:
    """Notes what was lowered: the place in the tree, the kind that its relation claims, and that its steps give.

    In batch mode, where a handler gets the node alone, the kinds by the identity of the node.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[tuple[Physical, str, str]] = []
        self.batch: dict[int, str] = {}

        def note(ctx: Lowering, here: Physical, rel: Rel) -> Rel:
            carried = reserved({s.name: s for s in ctx.steps}, rel.step)
            self.seen.append((here, rel.kind, _KINDS[carried & set().union(*_KINDS)]))
            return rel.with_(key=here.form.key)

        monkeypatch.setattr(Lowering, "obeyed", note)
        for node, handler in batch.HANDLERS.items():
            monkeypatch.setitem(batch.HANDLERS, node, partial(self._noted, handler))

    def _noted(self, handler: Any, node: N.Node, ctx: Lowering, asked: Any) -> Rel:
        rel: Rel = handler(node, ctx, asked)
        self.batch[id(node)] = rel.kind
        return rel


_KINDS = {frozenset(names): kind for kind, names in KIND_COLUMNS.items()}


def reserved(steps: Mapping[str, J.Step], name: str) -> frozenset[str]:
    """The columns of a step that begin with ``__``, as the steps below it make them."""
    step = steps[name]
    match step:
        case J.Select():
            made = [n for n, _ in step.columns] + list((step.generator or ("", ()))[1])
        case J.GroupBy():
            made = [n for n, _ in (*step.keys, *step.aggs)]
        case J.Rows():
            made = re.findall(r"__\w+", step.query)
        case J.Read():
            made = re.findall(r"__\w+", step.schema or "")
        case J.UnionAll():
            return reserved(steps, step.parts[0])
        case _:
            return frozenset().union(*(reserved(steps, r) for r in step.reads))
    return frozenset(n for n in made if n.startswith("__"))


@pytest.mark.parametrize("group", GROUPS)
def test_explain_shows_what_was_lowered(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    for text in GROUPS[group]:
        spy.seen.clear()
        spy.batch.clear()
        for start in starts(text):
            trees = [p for sink in start.job.plan for p in sink.root.walk()]
            assert _kinds(explain(start.job)) == [p.form.kind for p in trees]
            assert not start.job.streaming or written(start.job) == run(start.job)
            told = physical.numbers(start.job.plan)  # of equal sub-plans that run once one was lowered
            lowered = {told.get(id(here)) for here, _, _ in spy.seen}
            for p in trees:
                if start.job.streaming:  # a table whose versions are read has no relation of its own
                    assert told[id(p)] in lowered or p.asked.versions, f"{p.node.describe()} {p.asked.words}\n{text}"
                elif id(p.node) in spy.batch:
                    assert spy.batch[id(p.node)] == p.form.kind, f"{p.node.describe()}\n{text}"
        for here, *kinds in spy.seen:  # of what is refused later, too
            assert kinds == [here.form.kind] * 2, f"{here.node.describe()}\n{text}"


def written(made: J.SparkJob) -> int:
    """Return how many scans are in the plan that EXPLAIN writes."""
    plan = explain(made).partition("== Operators on Spark ==")[0].partition("== Spark steps ==")[0]
    return len(re.findall(r"\bScan\(changelogMode", plan))


def run(made: J.SparkJob) -> int:
    """Return how often the job reads a table, but for those that are asked for single rows."""
    places = physical.by_path(made.plan)
    scans = {s for s, path in made.owners.items() if path in places and isinstance(places[path].node, N.Scan)}
    read = [s for s in made.steps if isinstance(s, J.Rows) or (isinstance(s, J.Read) and s.format != J.CONTROL)]
    return sum(s.name in scans for s in read)


def _kinds(text: str) -> list[str]:
    """The kinds of all nodes of a plan, roots first, a sub-plan that is written once where it is read again too."""
    out: list[str] = []
    opened: list[tuple[int, str, int]] = []  # depth, reuse_id, where it begins
    written: dict[str, list[str]] = {}
    plan = text.partition("== Operators on Spark ==")[0].partition("== Spark steps ==")[0]
    for line in plan.splitlines():
        depth = len(line) - len(line.lstrip(" +-"))
        while opened and (depth <= opened[-1][0] or line.startswith("==")):
            _, number, begin = opened.pop()
            written[number] = out[begin:]
        if again := re.search(r"Reused\(reference_id=\[(\d+)\]\)", line):
            out += written[again[1]]
        if kind := re.search(r"kind=\[(\w+)\](?:, reuse_id=\[(\d+)\])?(?:, read again)?\)$", line):
            opened += [(depth, kind[2], len(out))] if kind[2] else []
            out.append(kind[1])
    return out


TABLES = """
CREATE TABLE c (k STRING, v INT, w STRING) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
  'properties.bootstrap.servers' = 'h:1', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'o',
  'properties.bootstrap.servers' = 'h:1', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE p WITH ('topic' = 'p') LIKE o;
CREATE TABLE q (k STRING, n BIGINT) WITH ('connector' = 'print');
"""
COUNTS = "SELECT k, COUNT(*) FROM c GROUP BY k"
TOTALS = "SELECT k, CAST(SUM(v) AS BIGINT) FROM c GROUP BY k"


ENDED = TOTALS.replace("FROM c", "FROM c /*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */")
KEYED = "SET 'flinkddl.execution.state' = 'keyed';"


def job(*inserts: str, sets: str = "") -> J.SparkJob:
    body = "".join(f"{i};\n" for i in inserts)
    (start,) = starts(f"{sets}{TABLES}EXECUTE STATEMENT SET BEGIN\n{body}END;")
    return start.job


ONCE: dict[str, tuple[tuple[str, ...], str, list[str], int]] = {
    "one mention": ((f"INSERT INTO o {COUNTS}",), "", [], 1),
    "equal queries, each by itself": ((f"INSERT INTO o {COUNTS}", f"INSERT INTO p {COUNTS}"), "", [], 2),
    "equal queries, one for Spark": (
        (f"INSERT INTO o {TOTALS}", f"INSERT INTO p {TOTALS}"), KEYED, ["Project", "Project"], 1,
    ),
    "one table, one query for Spark": (
        (f"INSERT INTO o {TOTALS}", f"INSERT INTO p {TOTALS} HAVING k <> 'a'"), KEYED, ["Scan", "Scan"], 1,
    ),
    "an upsert table beside itself": (
        ("INSERT INTO o SELECT a.k, a.n FROM o AS a JOIN o AS b ON a.k = b.k",), "", ["Scan", "Scan"], 1,
    ),
    "equal parts": (
        (f"INSERT INTO q SELECT a.k, b.n FROM ({TOTALS}) AS a (k, n) JOIN ({TOTALS}) AS b (k, n) ON a.n = b.n",),
        "", ["Aggregate", "Aggregate"], 1,
    ),
    "equal parts, over state as aggregates": (
        (f"INSERT INTO q SELECT a.k, b.n FROM ({TOTALS}) AS a (k, n) JOIN ({TOTALS}) AS b (k, n) ON a.n = b.n",),
        "SET 'flinkddl.execution.state' = 'aggregate';", [], 2,
    ),
    "equal filters": (
        ("INSERT INTO q SELECT k, v FROM c WHERE v > 1 UNION ALL SELECT k, v FROM c WHERE v > 1",),
        "", ["Scan", "Scan"], 1,
    ),
    "other aggregates": (
        (f"INSERT INTO q {COUNTS} UNION ALL SELECT w, COUNT(DISTINCT v) FROM c GROUP BY w",), "", ["Scan", "Scan"], 1,
    ),
    "other aggregates, tables apart": (
        (f"INSERT INTO q {COUNTS} UNION ALL SELECT w, COUNT(DISTINCT v) FROM c GROUP BY w",),
        "SET 'table.optimizer.reuse-source-enabled' = 'false';", [], 2,
    ),
    "a chain": (
        (f"INSERT INTO q SELECT a.k, b.n FROM ({TOTALS}) AS a (k, n) JOIN ({TOTALS}) AS b (k, n) ON a.n = b.n",),
        "SET 'flinkddl.execution.state' = 'chain';", ["Aggregate", "Aggregate"], 1,
    ),
    "batch": ((f"INSERT INTO q {ENDED} UNION ALL {ENDED}",), f"{BATCH};", [], 2),
}  # fmt: skip
"""INSERTs, the tops of what runs once in their places, and how often their table is read."""


@pytest.mark.parametrize("name", ONCE)
def test_reused_is_what_runs_once(name: str) -> None:
    inserts, sets, expected, reads = ONCE[name]
    made = job(*inserts, sets=sets)
    numbers = physical.reused(made.plan, made.same).numbers
    tops = [
        p.node.name
        for sink in made.plan
        for above in sink.root.walk()
        for p in above.inputs
        if id(p) in numbers and id(above) not in numbers
    ]
    assert tops == expected
    assert sum(isinstance(s, J.Read) for s in made.steps) == reads
    told = explain(made)
    assert len(re.findall(r"\bScan\(changelogMode", told)) == reads
    assert told.count("read again") == reads - 1
    assert told.count("Reused(reference_id=[1])") == told.count("reuse_id=[1]") == bool(expected)


def test_what_is_carried_in_another_way_is_not_one() -> None:
    """One aggregate gives upserts, the other changes: only what stands below it is equal."""
    made = job(f"INSERT INTO o {COUNTS}", f"INSERT INTO q {COUNTS}")
    numbers = physical.numbers(made.plan)
    places = [p for sink in made.plan for p in sink.query.walk()]
    twice = {p.node.describe() for p in places if sum(numbers[id(p)] == numbers[id(q)] for q in places) > 1}
    assert twice == {"Project(k)", "Scan(default_catalog.default_database.c)"}


def test_a_sink_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[N.Sink] = []
    real = physical.plan_sink
    monkeypatch.setattr(physical, "plan_sink", lambda sink, config: (calls.append(sink), real(sink, config))[1])
    (start,) = starts(f"{TABLES}INSERT INTO o {COUNTS};")
    explain(start.job)
    assert calls == list(start.sinks)


def test_a_lowering_that_does_not_obey_is_a_defect() -> None:
    ctx = Lowering(streaming=True)
    tree, _ = physical.decide(N.Values(fields=(), rows=()), PLAIN, physical.how_of(NOTHING_SET))
    assert tree.form == Form("append")
    ctx.obeyed(tree, Rel("s", (), ()))
    with pytest.raises(FlinkDdlError) as caught:
        ctx.obeyed(tree, Rel("s", (), (), "delta"))
    assert caught.value.diagnostics[0].code == "FD900"


# ---- identities --------------------------------------------------------------------------------------------------


def named(*inserts: str) -> list[str]:
    """The identities of the operators with state that are told in EXPLAIN, each once."""
    found = job(*inserts).plan
    return list(dict.fromkeys(map(str, physical.identities(found).values())))


JOINED = "SELECT a.k, a.n FROM o AS a JOIN (SELECT k, COUNT(*) AS m FROM c GROUP BY k) AS b ON a.k = b.k"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((f"INSERT INTO o {COUNTS}",), (f"INSERT INTO o {COUNTS} HAVING COUNT(*) > 1",)),
        ((f"INSERT INTO o {COUNTS}",), (f"INSERT INTO o {COUNTS.replace('FROM c', 'FROM c WHERE v > 1')}",)),
        ((f"INSERT INTO o {COUNTS}",), ("INSERT INTO o SELECT UPPER(k), COUNT(*) + 1 FROM c GROUP BY k",)),
        ((f"INSERT INTO o {COUNTS}",), (f"INSERT INTO o {COUNTS}", f"INSERT INTO p {COUNTS}")),
        ((f"INSERT INTO p {JOINED}",), (f"INSERT INTO p SELECT k, n * 2 FROM ({JOINED}) AS j WHERE k <> 'x'",)),
    ],
)
def test_an_identity_stays(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    assert named(*before)
    assert set(named(*before)) <= set(named(*after))


@pytest.mark.parametrize(
    ("one", "other", "same_place"),
    [
        (COUNTS, TOTALS, True),
        (COUNTS, "SELECT w, COUNT(*) FROM c GROUP BY w", False),
        (COUNTS, "SELECT k, COUNT(*) FROM o GROUP BY k", False),
        (JOINED, JOINED.replace(" JOIN", " LEFT JOIN"), False),
    ],
)
def test_another_operator_has_another(one: str, other: str, same_place: bool) -> None:
    tops = [named(f"INSERT INTO p {text}")[-1] for text in (one, other)]
    assert tops[0] != tops[1]
    assert (tops[0].rpartition("-")[0] == tops[1].rpartition("-")[0]) is same_place


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_alike_but_not_equal_is_numbered(order: tuple[int, ...]) -> None:
    """The larger plan comes second, then the text decides, in whatever order the INSERTs stand."""
    sources = ("FROM c", "FROM c WHERE v > 1", "FROM c WHERE v > 2")
    inserts = [f"INSERT INTO {'opo'[n]} {COUNTS.replace('FROM c', sources[n])}" for n in order]
    found = dict(zip(order, named(*inserts), strict=True))
    (plain,) = named(f"INSERT INTO o {COUNTS}")
    assert [found[n] for n in range(3)] == [plain, f"{plain}-2", f"{plain}-3"]


def test_a_hint_tells_them_apart() -> None:
    """Which one is ``-2`` hangs on what they read, not on where they stand."""
    hinted = COUNTS.replace("FROM c", "FROM c /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */")
    one = named(f"INSERT INTO o {COUNTS}", f"INSERT INTO p {hinted}")
    other = named(f"INSERT INTO o {hinted}", f"INSERT INTO p {COUNTS}")
    assert len(set(one)) == 2
    assert one == other[::-1]


def test_explain_tells_them() -> None:
    (start,) = starts(f"{TABLES}INSERT INTO o {TOTALS};")
    (identity,) = named(f"INSERT INTO o {TOTALS}")
    text = explain(start.job)
    assert f"state: one row of totals a group; {identity}" in text
    assert "upsert keys: (k)" in text


BOUNDED = """CREATE TABLE s (id BIGINT, k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka',
  'topic' = 't', 'properties.bootstrap.servers' = 'h:9092', 'format' = '{format}',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
  'scan.watermark.emit.strategy' = '{strategy}');
CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO o SELECT k, COUNT(*) FROM s GROUP BY k, {window}(ts, INTERVAL '1' MINUTE);"""


@pytest.mark.parametrize(
    ("format", "strategy", "window", "follows"),
    [
        ("debezium-json", "on-periodic", "TUMBLE", False),
        ("debezium-json", "on-event", "TUMBLE", True),
        ("debezium-json", "on-periodic", "SESSION", True),
        ("json", "on-event", "SESSION", False),
        ("json", "on-event", "TUMBLE", False),
    ],
)
def test_a_bounded_run_is_a_stream_where_changes_count(format: str, strategy: str, window: str, follows: bool) -> None:
    """A window that a row has left, or come to too late, is what it was when its time came."""
    (start,) = starts(BOUNDED.format(format=format, strategy=strategy, window=window))
    assert start.job.streaming is follows
