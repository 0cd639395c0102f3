"""The HTML that notebooks show, without a notebook."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace
from typing import Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.notebook import pages
from flinkddl.runtime.job.reporting.progress import KeyedRows, OperatorState, Progress
from flinkddl.runtime.job.topics.flow import Flow
from flinkddl.spark.reported import KeyedNode, NodePlace


def cells(html: str) -> list[list[str]]:
    return [[c.text or "" for c in row] for row in ElementTree.fromstring(html).iter("tr")]


def progress(**changes: Any) -> Progress:
    values: dict[str, Any] = {
        "write": "w", "table": "default_catalog.default_database.totals", "batch": 3, "batch_ms": 12, "late_rows": 0,
        "time": "2024-03-01T10:00:00.000Z", "watermark": "2024-03-01T09:59:58.000Z",
        "rows_in": 10, "rate": 1234.5, "rows_out": 4, "upserts": 3, "tombstones": 1,
        "state": (OperatorState("agg", 7, 2_000_000),),
    }  # fmt: skip
    return Progress(**(values | changes))


def job(**changes: Any) -> Any:
    values = {
        "name": "insert-into_totals",
        "status": "running",
        "lag": {"orders": 1200},
        "lost": {},
        "waiting": "",
        "restarts": 0,
        "last_failure": "",
        "progress": (progress(),),
        "flows": (),
    }
    return SimpleNamespace(**(values | changes))


def test_texts_are_escaped_and_kinds_coloured() -> None:
    html = pages.table(("op", "name"), [("-D", "<b>"), ("+I", "<NULL>")])
    assert cells(html) == [["op", "name"], ["-D", "<b>"], ["+I", "<NULL>"]]
    assert html.count("color:#cf222e") == 1


def test_panel_of_a_running_job() -> None:
    html = pages.job_panel(job())
    assert "<td" in html
    rows = cells(html)
    assert ["orders", "1,200"] in rows
    assert rows[-1] == ["totals", "3", "1,234", "4", "3", "1", "2024-03-01 09:59:58", "7", "2.0"]


def test_the_panel_names_nodes_where_several_keep_state() -> None:
    state = (
        OperatorState("agg", 7, 2_000_000, place=NodePlace("n2", "Aggregate")),
        OperatorState("join", 9, 500_000, place=NodePlace("n1", "Join")),
        OperatorState("join", 1_200, 4_000_000, place=NodePlace("n1", "Join")),
    )
    rows = cells(pages.job_panel(job(progress=(progress(state=state),))))
    assert rows[-2:] == [["n1", "Join", "1,209", "4.5"], ["n2", "Aggregate", "7", "2.0"]]


def test_the_panel_has_the_rows_of_operators_by_key() -> None:
    join = KeyedNode("inner_3", NodePlace("n5", "Join"), ("n2", "n4"))
    stage = NodePlace("n5+n8", "Join+Rank")
    helper = KeyedNode("latest_1", NodePlace("n5", "Join"), last=False, stage=stage)
    keyed = (KeyedRows(helper, (7,), 7, passed=2_000), KeyedRows(join, (1_200, 7), 3, groups=9, size=500_000))
    rows = cells(pages.job_panel(job(progress=(progress(keyed=keyed),))))
    passing = ["n5+n8", "rows that pass", "", "2,000", ""]
    assert rows[-3:] == [["n5", "Join", "n2", "1,200", "3"], ["n5", "Join", "n4", "7", ""], passing]


def test_panel_of_a_real_time_job_inside_its_first_batch() -> None:
    flow = Flow("w", "totals", ("orders",), 1000.4, 990.0, 20_000, 19_900, behind=100, p50_ms=31.0, p99_ms=254.0)
    html = pages.job_panel(job(lag={}, progress=(), flows=(flow,)))
    assert cells(html)[-1] == ["totals", "1,000", "990", "100", "31", "254"]
    assert "no batch" not in html
    unknown = Flow("w", "totals", ("orders",), 9.0, 4.0, 90, 40, unknown="Filter may give more or fewer rows")
    html = pages.job_panel(job(lag={}, progress=(), flows=(unknown,)))
    assert cells(html)[-1] == ["totals", "9", "4", "", "", ""]
    assert "lag and latency not known: Filter may give more or fewer rows" in html


def test_panel_before_the_first_batch() -> None:
    assert "no batch has finished yet" in pages.job_panel(job(lag={}, progress=()))
    assert "no batch" not in pages.job_panel(job(lag={}, progress=(), status="finished"))


def test_what_a_job_waits_for_and_why_it_was_restarted() -> None:
    away = "waiting for Kafka at 'b:1', away since 12:00:00"
    html = pages.job_panel(job(progress=(progress(waiting=away),), waiting=away, restarts=2, last_failure="it broke"))
    assert html.count("waiting for Kafka at") == 1
    assert "restarted 2 times; last failure: it broke" in html
    assert "waiting for Kafka at" in pages.job_panel(job(progress=(), waiting=away))


def test_late_rows_are_told() -> None:
    assert "5 late rows dropped" in pages.job_panel(job(progress=(progress(late_rows=5),)))


def test_findings() -> None:
    error = FlinkDdlError.of("FD812", "the topic 'a<b' does not exist", help="create it")
    assert "error FD812: the topic 'a&lt;b' does not exist" in pages.findings(error.diagnostics).replace("&#x27;", "'")
