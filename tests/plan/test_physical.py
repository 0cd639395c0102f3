"""The physical plan: what EXPLAIN shows of each node is what was lowered, in every sample, case and recorded query."""

from __future__ import annotations

import re
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
from flinkddl.spark.context import Lowering, Rel
from tests.plan import golden

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Notes what was lowered: node, what was asked of it, and the kind that came."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[tuple[N.Node, Any, str]] = []

        def note(ctx: Lowering, node: N.Node, rel: Rel, asked: Any = PLAIN) -> None:
            self.seen.append((node, asked if ctx.streaming else PLAIN, rel.kind))

        monkeypatch.setattr(Lowering, "obeyed", note)


@pytest.mark.parametrize("group", GROUPS)
def test_explain_shows_what_was_lowered(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    for text in GROUPS[group]:
        spy.seen.clear()
        for start in starts(text):
            trees = [p for sink in start.job.plan for p in sink.root.walk()]
            assert _kinds(explain(start.job)) == [p.form.kind for p in trees]
            lowered = {(id(n), asked): kind for n, asked, kind in spy.seen}
            planned = {(id(p.node), p.asked if start.job.streaming else PLAIN): p for p in trees}
            mine = {id(p.node) for p in trees}
            assert {key for key in lowered if key[0] in mine} <= planned.keys()
            for key, p in planned.items():
                if key in lowered:
                    assert lowered[key] == p.form.kind, f"{p.node.describe()}\n{text}"
                else:  # a table whose versions are read has no relation of its own
                    assert p.asked.versions or not start.job.streaming, f"{p.node.describe()} {p.asked.words}\n{text}"


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
        if kind := re.search(r"kind=\[(\w+)\](?:, reuse_id=\[(\d+)\])?\)$", line):
            opened += [(depth, kind[2], len(out))] if kind[2] else []
            out.append(kind[1])
    return out


TABLES = """
CREATE TABLE c (k STRING, v INT, w STRING) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
  'properties.bootstrap.servers' = 'h:1', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'o',
  'properties.bootstrap.servers' = 'h:1', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE p WITH ('topic' = 'p') LIKE o;
"""
COUNTS = "SELECT k, COUNT(*) FROM c GROUP BY k"
TOTALS = "SELECT k, CAST(SUM(v) AS BIGINT) FROM c GROUP BY k"


def plans(*inserts: str) -> tuple[physical.PhysicalSink, ...]:
    body = "".join(f"{i};\n" for i in inserts)
    (start,) = starts(f"{TABLES}EXECUTE STATEMENT SET BEGIN\n{body}END;")
    return start.job.plan


@pytest.mark.parametrize(
    ("inserts", "expected"),
    [
        ((f"INSERT INTO o {COUNTS}",), []),
        ((f"INSERT INTO o {COUNTS}", f"INSERT INTO p {COUNTS}"), ["Project", "Project"]),
        ((f"INSERT INTO o {COUNTS}", f"INSERT INTO p {TOTALS}"), ["Scan", "Scan"]),
        (("INSERT INTO o SELECT a.k, a.n FROM o AS a JOIN o AS b ON a.k = b.k",), ["Scan", "Scan"]),
        ((f"INSERT INTO o {COUNTS}", f"INSERT INTO p {COUNTS} HAVING k <> 'a'"), ["Scan", "Scan"]),
    ],
)
def test_equal_sub_plans_are_found(inserts: tuple[str, ...], expected: list[str]) -> None:
    found = plans(*inserts)
    numbers = physical.reused(found)
    tops = [
        p.node.name
        for sink in found
        for above in sink.root.walk()
        for p in above.inputs
        if id(p) in numbers and id(above) not in numbers
    ]
    assert tops == expected


def test_a_sink_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from flinkddl.spark import assemble

    calls: list[N.Sink] = []
    real = assemble.plan_sink
    monkeypatch.setattr(assemble, "plan_sink", lambda sink, config: (calls.append(sink), real(sink, config))[1])
    (start,) = starts(f"{TABLES}INSERT INTO o {COUNTS};")
    explain(start.job)
    assert calls == list(start.sinks)


def test_a_lowering_that_does_not_obey_is_a_defect() -> None:
    ctx = Lowering(streaming=True)
    node = N.Values(fields=(), rows=())
    tree, how = physical.decide(node, PLAIN, physical.how_of(NOTHING_SET))
    assert tree.form == Form("append")
    ctx.decided(tree, how)
    ctx.obeyed(node, Rel("s", (), ()))
    with pytest.raises(FlinkDdlError) as caught:
        ctx.obeyed(node, Rel("s", (), (), "delta"))
    assert caught.value.diagnostics[0].code == "FD900"


# ---- identities --------------------------------------------------------------------------------------------------


def named(*inserts: str) -> list[str]:
    """The identities of the operators with state that are told in EXPLAIN, each once."""
    found = plans(*inserts)
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


def test_alike_but_not_equal_is_numbered() -> None:
    found = named(f"INSERT INTO o {COUNTS}", f"INSERT INTO p {COUNTS.replace('FROM c', 'FROM c WHERE v > 1')}")
    assert found == [*named(f"INSERT INTO o {COUNTS}"), f"{found[0]}-2"]


def test_explain_tells_them() -> None:
    (start,) = starts(f"{TABLES}INSERT INTO o {TOTALS};")
    (identity,) = named(f"INSERT INTO o {TOTALS}")
    text = explain(start.job)
    assert f"state: one row of totals a group; {identity}" in text
    assert "upsert keys: (k)" in text
