"""Changelog inference against what a real Flink planned for every recorded query, and the refusals of sinks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from flinkddl.catalog.apply import apply
from flinkddl.catalog.settings import Settings
from flinkddl.catalog.state import Catalog
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.plan.builder import plan_insert, plan_query
from flinkddl.plan.changelog import explain, infer, plan_sink
from flinkddl.plan.context import Context
from tests.conformance.corrected import RIGHT

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


@pytest.mark.parametrize("case", cases(), ids=lambda c: c["id"])
def test_append_or_updating_as_flink(case: dict[str, Any]) -> None:
    try:
        tree, ctx = context([*case["setup"], case["query"]])
        planned = plan_query(tree, ctx)
    except FlinkDdlError as error:
        pytest.skip(f"not planned: {error}")
    mode = infer(planned.node)
    assert mode.append == (case["plan"][0][1] == "I"), "\n".join(explain(mode))


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
