"""Changelog inference against what a real Flink planned for every recorded query, and the refusals of sinks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.catalog.apply import apply
from flinkddl.catalog.settings import Settings
from flinkddl.catalog.state import Catalog
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.plan.builder.planner import plan_insert, plan_query
from flinkddl.plan.changelog import infer, plan_sink
from flinkddl.plan.context import Context
from tests.conformance.corrected import RIGHT

if TYPE_CHECKING:
    from flinkddl.plan.nodes.base import Mode

GOLDENS = Path(__file__).parents[1] / "data" / "goldens" / "queries"


def cases() -> list[dict[str, Any]]:
    files = sorted(GOLDENS.glob("*.jsonl")) if GOLDENS.exists() else []
    rows = [json.loads(line) for f in files for line in f.read_text().splitlines()]
    return [r for r in rows if "plan" in r and "query" in r and r["id"] not in RIGHT]


def context(statements: list[str]) -> tuple[Any, Context]:
    """Apply all statements but the last, which is returned as a tree."""
    text = "\n".join(s.rstrip(";") + ";" for s in statements)
    text = re.sub(r"\{topic:(\w+)\}", r"t-\1", text).replace("{servers}", "localhost:9092")
    source = SourceText("case.sql", text)
    script = parse_script(source)
    if script.diagnostics:
        raise FlinkDdlError(script.diagnostics)
    catalog = Catalog()
    for statement in script.statements[:-1]:
        catalog, _ = apply(catalog, statement.tree, source)
    return script.statements[-1].tree, Context(catalog, source=source)


# recorded query -> what refuses it here: all others are planned
NOT_HERE = {
    "ptf-from-changelog": "FD517",
    "ptf-to-changelog": "FD517",
    **dict.fromkeys(
        (
            "match-aggregate",
            "match-default-skip",
            "match-reluctant",
            "match-skip-past",
            "match-two-rows",
            "match-v-shape",
        ),
        "FD511",
    ),
}


def test_goldens_are_there() -> None:
    assert len(cases()) > 200


@pytest.mark.parametrize("case", cases(), ids=lambda c: c["id"])
def test_append_or_updating_as_flink(case: dict[str, Any]) -> None:
    tree, ctx = context([*case["setup"], case["query"]])
    if code := NOT_HERE.get(case["id"]):
        with pytest.raises(FlinkDdlError) as refused:
            plan_query(tree, ctx)
        assert [d.code for d in refused.value.diagnostics] == [code]
        return
    mode = infer(plan_query(tree, ctx).node)
    assert mode.append == (case["plan"][0][1] == "I"), mode.words


OURS = {
    "GroupAggregate": "Aggregate",
    "TableSourceScan": "Scan",
    "ChangelogNormalize": "Scan",
    "Deduplicate": "Rank",
    "OverAggregate": "Over",
    "GlobalWindowAggregate": "WindowAggregate",
    "GroupWindowAggregate": "WindowAggregate",
    "WindowRank": "Rank",
    "WindowDeduplicate": "Rank",
    "Correlate": "Unnest",
    "SortLimit": "Sort",
    "Limit": "Sort",
    "TemporalSort": "Sort",
}
# below Flink's node of that name there are others of no meaning here
HELPERS = {"Calc", "Exchange", "LocalWindowAggregate", "WatermarkAssigner", "DropUpdateBefore"}
FILTERED = "a filter over an upsert table asks for rows before updates, which Flink does by ChangelogNormalize's own"
WORDS_DIFFER = {
    "sel-in-upsert": FILTERED,
    "sel-upsert-filter-pk": FILTERED,
    "sel-upsert-project": FILTERED,
    "join-inner-debezium-pk": "Flink's DropUpdateBefore stands below the join, here updates keep the row before them",
    "topn-over-count-rank": "a Top-N over upserts always asks for rows before updates",
    "sel-unnest-literal": "constants are unnested without a join",
    "sel-values": "rows of constants are one node",
}


UPSERTS = {"UA,D": "I,UA,D"}  # as an upsert topic has them, and as ChangelogNormalize gives them without rows before


def flat(mode: Mode) -> list[tuple[str, str]]:
    name = {"Deduplicate": "Rank"}.get(mode.node.name, mode.node.name)
    own = [] if name in ("Project", "Filter") else [(name, UPSERTS.get(mode.words, mode.words))]
    return [*own, *(x for i in mode.inputs for x in flat(i))]


def flinks(plan: list[list[str]]) -> list[tuple[str, str]]:
    """Flink's nodes under our names; a table with ChangelogNormalize over it is one of ours."""
    nodes = [(OURS.get(n, n), n, words) for n, words in plan if n not in HELPERS]
    beneath = [None, *(n for _, n, _ in nodes)]
    pairs = zip(nodes, beneath, strict=False)
    return [
        (name, UPSERTS.get(words, words))
        for (name, n, words), over in pairs
        if (n, over) != ("TableSourceScan", "ChangelogNormalize")
    ]


@pytest.mark.parametrize("case", [c for c in cases() if c["id"] not in NOT_HERE], ids=lambda c: c["id"])
def test_each_node_has_the_mode_of_flink(case: dict[str, Any]) -> None:
    tree, ctx = context([*case["setup"], case["query"]])
    planned = plan_query(tree, ctx)
    assert (flat(infer(planned.node)) == flinks(case["plan"])) is (case["id"] not in WORDS_DIFFER)


CLICKS = "CREATE TABLE clicks (u STRING, v INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json', \
'properties.bootstrap.servers' = 'h:1', 'scan.startup.mode' = 'earliest-offset')"
LOG = CLICKS.replace("clicks (u STRING, v INT)", "log (u STRING, c BIGINT)")
COUNTS = "CREATE TABLE counts (u STRING, c BIGINT, PRIMARY KEY (u) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', \
'topic' = 'o', 'properties.bootstrap.servers' = 'h:1', 'key.format' = 'json', 'value.format' = 'json')"
SPREAD = (
    "CREATE TABLE spread (u STRING, c BIGINT) WITH ('connector' = 'kafka', 'topic' = 'o', 'format' = 'debezium-json', \
'properties.bootstrap.servers' = 'h:1', 'sink.parallelism' = '3')"
)
ROWS = (
    "CREATE TABLE rows_of (u STRING, c BIGINT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:derby:x', 'table-name' = 't')"
)
AS_WIDE = {"parallelism.default": "3"}
STRICT = {"table.exec.sink.require-on-conflict": "true"}


def sink(insert: str, config: dict[str, str]) -> Any:
    tree, ctx = context([CLICKS, LOG, COUNTS, SPREAD, ROWS, insert])
    return plan_sink(plan_insert(tree, ctx), Settings.of(config))


@pytest.mark.parametrize(
    ("insert", "config", "code"),
    [
        ("INSERT INTO log SELECT u, COUNT(*) FROM clicks GROUP BY u", {}, "FD550"),
        ("INSERT INTO counts SELECT u, CAST(v AS BIGINT) FROM clicks", STRICT, "FD553"),
        ("INSERT INTO counts SELECT u, CAST(v AS BIGINT) FROM clicks ON CONFLICT DO ERROR", {}, "FD552"),
        ("INSERT INTO spread SELECT u, COUNT(*) FROM clicks GROUP BY u", {}, "FD554"),
    ],
)
def test_refused(insert: str, config: dict[str, str], code: str) -> None:
    with pytest.raises(FlinkDdlError) as caught:
        sink(insert, config)
    found = caught.value.diagnostics[0]
    assert found.code == code
    assert found.span is not None


@pytest.mark.parametrize(
    ("insert", "config", "accepts", "materialize"),
    [
        ("INSERT INTO log SELECT u, CAST(v AS BIGINT) FROM clicks", {}, "append", False),
        ("INSERT INTO counts SELECT u, COUNT(*) FROM clicks GROUP BY u", STRICT, "upsert", False),
        ("INSERT INTO counts SELECT MAX(u), COUNT(*) FROM clicks GROUP BY v", {}, "upsert", True),
        ("INSERT INTO counts SELECT u, CAST(v AS BIGINT) FROM clicks", {}, "upsert", False),
        ("INSERT INTO spread SELECT u, CAST(v AS BIGINT) FROM clicks", {}, "changelog", False),
        ("INSERT INTO spread SELECT u, COUNT(*) FROM clicks GROUP BY u", AS_WIDE, "changelog", False),
        ("INSERT INTO rows_of SELECT u, CAST(v AS BIGINT) FROM clicks", {}, "append", False),
    ],
)
def test_sink_plan(insert: str, config: dict[str, str], accepts: str, materialize: bool) -> None:
    plan = sink(insert, config)
    assert (plan.accepts, plan.materialize) == (accepts, materialize)
