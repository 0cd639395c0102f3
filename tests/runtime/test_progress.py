from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from flinkddl.api import Catalog
from flinkddl.cli.headline import headline
from flinkddl.cli.live import JsonDisplay, Patience, PlainDisplay, display
from flinkddl.cli.meter import JobMeter
from flinkddl.cli.metrics import health, metrics_text, serve
from flinkddl.cli.panel import Panel
from flinkddl.diagnostics import Diagnostic, FlinkDdlError
from flinkddl.results import Job
from flinkddl.runtime.job.reporting.kept import Kept
from flinkddl.runtime.job.reporting.progress import (
    OperatorState,
    Progress,
    by_part,
    in_words,
    progress_line,
    read_progress,
)
from flinkddl.runtime.job.topics.flow import Flow, lag_by_topic
from flinkddl.spark import job as J
from flinkddl.spark.reported import Expected, Foreseen, KeyedNode, NodePlace
from flinkddl.spark.stateful import KEYED

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENT: dict[str, Any] = {
    "batchId": 17,
    "timestamp": "2026-11-21T12:00:04.123Z",
    "durationMs": {"triggerExecution": 410, "addBatch": 350, "walCommit": 20},
    "eventTime": {"watermark": "2026-11-21T11:59:58.000Z"},
    "stateOperators": [
        {
            "operatorName": "stateStoreSave",
            "numRowsTotal": 1204,
            "numRowsUpdated": 300,
            "numRowsRemoved": 7,
            "commitTimeMs": 45,
            "memoryUsedBytes": 300_000,
            "numRowsDroppedByWatermark": 2,
        }
    ],
    "sources": [
        {
            "numInputRows": 20000,
            "processedRowsPerSecond": 48100.4,
            "endOffset": json.dumps({"orders": {"0": 10, "1": 5}}),
            "latestOffset": json.dumps({"orders": {"0": 12, "1": 5}}),
        },
        {"numInputRows": 1, "processedRowsPerSecond": 1.0, "endOffset": json.dumps({"orders": {"0": 11}})},
        {"numInputRows": 0, "processedRowsPerSecond": 0.0, "endOffset": '{"logOffset":0}', "latestOffset": None},
    ],
    "sink": {"numOutputRows": 316},
    "observedMetrics": {"flinkddl": {"rows": 316, "tombstones": 4}},
}


def test_counts_as_spark_connect_hands_them_out() -> None:
    schema = {"type": "struct", "fields": [{"name": "rows", "type": "long"}, {"name": "tombstones", "type": "long"}]}
    remote = EVENT | {"observedMetrics": {"flinkddl": {"values": [316, 4], "schema": schema}}}
    assert read_progress("w", "t", remote) == read_progress("w", "t", EVENT)


def test_an_event_becomes_a_record() -> None:
    p = read_progress("w", "t", EVENT)
    assert (p.batch, p.rows_in, p.rows_out, p.upserts, p.tombstones) == (17, 20001, 316, 312, 4)
    assert p.lag == {"orders": 2}
    assert p.ends == {"orders": {0: 11, 1: 5}}
    assert p.state_by_node == ()
    assert p.state == (OperatorState("stateStoreSave", 1204, 300_000, updated=300, removed=7, late=2, commit_ms=45),)
    assert p.phases == {"addBatch": 350, "walCommit": 20}
    assert (p.batch_ms, p.late_rows, p.watermark) == (410, 2, "2026-11-21T11:59:58.000Z")


def test_the_line_says_what_a_person_wants_to_know() -> None:
    assert progress_line(read_progress("w", "t", EVENT)) == (
        "[12:00:04] batch 17 in 0.41 s · 48,101 rows/s in · 312 upserts, 4 tombstones out · lag 2"
        " · watermark 11:59:58 · state 1,204 keys, 0.3 MB · 2 late rows dropped"
    )


def test_an_event_with_nothing_in_it_is_short() -> None:
    event = {"batchId": 0, "timestamp": "2026-11-21T12:00:04.123Z", "sources": [], "sink": {"numOutputRows": -1}}
    assert progress_line(read_progress("w", "t", event)) == "[12:00:04] batch 0 · 0 rows/s in"


def test_a_line_has_the_time_of_the_batchs_end() -> None:
    event = EVENT | {"timestamp": "2026-11-21T23:59:58.600Z", "durationMs": {"triggerExecution": 41_400}}
    assert progress_line(read_progress("w", "t", event)).startswith("[00:00:40] batch 17 in 41.40 s · ")


@pytest.mark.parametrize(("rate", "said"), [(0.175, "0.17"), (7.0, "7"), (9.96, "10"), (12.3, "12"), (0.0, "0")])
def test_a_rate_below_one_is_not_none(rate: float, said: str) -> None:
    progress = replace(read_progress("w", "t", EVENT), rate=rate)
    assert f" · {said} rows/s in · " in progress_line(progress)


READ = J.Read(name="r", format="kafka", options={"subscribe": "orders"}, streaming=True, table="orders")
WRITE = J.Write(name="w", input="r", format="kafka", options={"topic": "regions"}, mode="update", table="per_region")
JOB = J.SparkJob(name="j", steps=(READ,), writes=(WRITE,), settings={}, streaming=True)


AGGREGATE = Expected(("stateStoreSave",), NodePlace("n2", "Aggregate"))
SCAN = NodePlace("n1", "Scan")
FORESEEN = Foreseen((AGGREGATE,), (("r@0", SCAN), ("r@1", SCAN), ("control", NodePlace("", ""))))
TWO = Foreseen(
    (Expected(("stateStoreSave",), NodePlace("n3", "Rank")), Expected(("symmetricHashJoin",), NodePlace("n1", "Join")))
)


def batch(**changes: Any) -> Progress:
    return read_progress("w", "per_region", EVENT | changes, foreseen=FORESEEN)


def kept(*operators: tuple[str, int, int]) -> dict[str, Any]:
    return {
        "stateOperators": [
            {"operatorName": name, "numRowsTotal": rows, "memoryUsedBytes": size} for name, rows, size in operators
        ]
    }


def test_state_belongs_to_nodes() -> None:
    found = read_progress(
        "w", "t", EVENT | kept(("stateStoreSave", 7, 100), ("symmetricHashJoin", 9, 2_500_000)), foreseen=TWO
    )
    assert [str(n) for n in found.state_by_node] == ["n1 Join 9 rows, 2.5 MB", "n3 Rank 7 rows, 0.0 MB"]


@pytest.mark.parametrize(
    "names",
    [("stateStoreSave",), ("symmetricHashJoin", "stateStoreSave"), ("stateStoreSave", "symmetricHashJoin", "dedupe")],
)
def test_no_figure_rather_than_a_wrong_one(names: tuple[str, ...]) -> None:
    found = read_progress("w", "t", EVENT | kept(*((name, 7, 100) for name in names)), foreseen=TWO)
    assert found.state_by_node == ()
    assert (found.state_rows, [s.operator for s in found.state]) == (7 * len(names), list(names))


@pytest.mark.parametrize(
    ("reads", "count", "scans"),
    [
        ("a b", 2, {"a": 1, "b": 2}),
        ("a a", 2, {"a": 3}),  # Spark reads twice
        ("a a", 1, {"a": 1}),  # Spark reads once
        ("a a b", 2, {"a": 1, "b": 2}),
        ("a b", 3, {}),
        ("a a b", 1, {}),
    ],
)
def test_rows_of_scans(reads: str, count: int, scans: dict[str, int]) -> None:
    found = Foreseen(reads=tuple((name, NodePlace(name, "Scan")) for name in reads.split()))
    event = EVENT | {"sources": [{"numInputRows": n} for n in range(1, count + 1)]}
    assert {p.node: n for p, n in read_progress("w", "t", event, foreseen=found).scans.items()} == scans


def test_the_panel_names_the_nodes_that_keep_most() -> None:
    places = tuple(Expected(("stateStoreSave",), NodePlace(f"n{n}", "Aggregate")) for n in range(5))
    data = EVENT | kept(*(("stateStoreSave", n, n * 1_000_000) for n in range(5)))
    meter = JobMeter(JOB)
    meter.update(read_progress("w", "per_region", data, foreseen=Foreseen(places)))
    told = [line for line in drawn(meter, 160) if "state: " in line]
    assert len(told) == 1
    assert "n4 Aggregate 4 rows, 4.0 MB · n3 Aggregate 3 rows, 3.0 MB · n2 Aggregate" in told[0]
    assert " · 2 smaller" in told[0]


COUNT = KeyedNode("aggregate_1", NodePlace("n3", "Aggregate"), ("n2",), stage=NodePlace("n3+n5", "Aggregate+Scan"))
LATEST = KeyedNode("latest_2", NodePlace("n6", "Join"), last=False)
JOIN_BY_KEY = KeyedNode("inner_3", NodePlace("n6", "Join", 1), ("n3", "n5"))
STAGE = (Expected((KEYED,), NodePlace("n3+n6", "Aggregate+Join")),)
BY_KEY = Foreseen(STAGE, keyed={1: COUNT, 2: LATEST, 3: JOIN_BY_KEY})
COUNTED = {
    "flinkddl.stage40": {"1_in0": 1000, "1_out": 20, "1_groups": 10, "1_bytes": 2_000_000, "2_in0": 7, "2_out": 7}
    | {"2_groups": 7, "2_bytes": 70_000, "1_passed2": 300, "1_passed4": 4},
    "flinkddl.stage41": {"3_in0": 20, "3_in1": 7, "3_out": 12, "3_groups": 8, "3_bytes": 800_000},
    "flinkddl": {"rows": 316, "tombstones": 4, "rows_0": 100, "rows_1": 216, "tombstones_1": 4},
}
SUM = kept((KEYED, 25, 9_000_000))


def counted(observed: Mapping[str, Any], batch: int = 0) -> Progress:
    event = EVENT | SUM | {"observedMetrics": observed, "batchId": batch}
    return read_progress("w", "per_region", event, foreseen=BY_KEY)


def as_connect(counts: Mapping[str, int]) -> dict[str, Any]:
    return {"values": [*counts.values()], "schema": {"type": "struct", "fields": [{"name": n} for n in counts]}}


def test_operators_by_key_count_their_rows() -> None:
    found = counted(COUNTED)
    assert counted({name: as_connect(counts) for name, counts in COUNTED.items()}) == found
    assert [(k.node.operator, k.edges, k.went, k.more_groups) for k in found.keyed] == [
        ("aggregate_1", (("n2", 1000),), 20, 10),
        ("latest_2", (("", 7),), 7, 7),
        ("inner_3", (("n3", 20), ("n5", 7)), 12, 8),
    ]
    assert [k.passed for k in found.keyed] == [304, None, None]
    assert counted({}).keyed == ()
    twice = counted(COUNTED | {"flinkddl.stage43": COUNTED["flinkddl.stage41"]}).keyed[2]
    assert (twice.came, twice.went, twice.more_groups) == ((40, 14), 24, 16)


def test_operators_by_key_have_event_time_and_late_rows() -> None:
    timed = {"3_in0": 20, "3_in1": 7, "3_late": 2, "3_time": 1_700_000_000_500}
    found = counted(COUNTED | {"flinkddl.stage41": timed})
    assert (found.late_rows, found.watermark) == (2, "2023-11-14T22:13:20.500Z")
    assert counted(COUNTED).watermark == EVENT["eventTime"]["watermark"]
    marks = {0: EVENT["eventTime"]["watermark"], -(1 << 63): None, -62_135_596_805_000: None}
    marks |= {-62_135_596_800_000: "0001-01-01T00:00:00.000Z", 1 << 62: EVENT["eventTime"]["watermark"]}
    for told, mark in marks.items():  # nothing was told; not all were heard; what no clock shows; the end of all input
        assert counted(COUNTED | {"flinkddl.stage41": timed | {"3_time": told}}).watermark == mark, told
    waits = counted(
        COUNTED | {"flinkddl.stage41": timed, "flinkddl.stage40": COUNTED["flinkddl.stage40"] | {"1_time": -(1 << 63)}}
    )
    assert waits.watermark is None  # the least of all: one has heard nothing yet


def test_state_of_a_stage_is_told_by_node_where_it_is_known_and_else_together() -> None:
    assert [str(n) for n in counted(COUNTED).state_by_node] == ["n3+n6 Aggregate+Join 25 rows, 9.0 MB"]
    known = Kept().add("q", "id", counted(COUNTED))
    assert [str(n) for n in known.state_by_node] == ["n3 Aggregate 10 rows, 2.0 MB", "n6 Join 15 rows, 0.9 MB"]


def test_each_insert_of_one_query_has_its_own_nodes() -> None:
    writes = [replace(WRITE, name=name, table=name) for name in "ab"]
    record = Kept().add("q", "id", counted(COUNTED))
    one, other = by_part(record, writes, EVENT | {"observedMetrics": COUNTED})
    assert [k.node.operator for k in one.keyed] == ["aggregate_1", "latest_2"]
    assert [k.node.operator for k in other.keyed] == ["inner_3"]
    assert [str(n) for n in other.state_by_node] == ["n6 Join 8 rows, 0.8 MB"]


def test_panel_and_prometheus_name_rows_and_state_by_node() -> None:
    sums, meter = Kept(), JobMeter(JOB)
    for number in range(2):
        meter.update(sums.add("q", "id", counted(COUNTED, number)))
    told = [line for line in drawn(meter, 160) if "rows: " in line or "state: " in line or "stages: " in line]
    assert len(told) == 3
    assert "rows: n3 Aggregate 2,000 in, 40 out · n6 Join 40 from n3 + 14 from n5 in, 24 out" in told[0]
    assert "stages: 608 pass n3+n5" in told[1]
    assert "state: n3 Aggregate 20 rows, 4.0 MB · n6 Join 30 rows, 1.7 MB" in told[2]
    text = metrics_text([meter])
    sink, join = 'job="j"', 'name="Join",node="n6",operator="inner_3",sink="per_region"'
    stage = 'name="Aggregate+Scan",node="n3+n5",operator="aggregate_1",sink="per_region"'
    for line in (
        f'node_rows_in_total{{from="n3",{sink},{join}}} 40.0',
        f'node_rows_in_total{{from="n5",{sink},{join}}} 14.0',
        f"node_rows_out_total{{{sink},{join}}} 24.0",
        f"node_rows_passed_total{{{sink},{stage}}} 608.0",
        f"node_state_groups{{{sink},{join}}} 16.0",
        f"node_state_bytes{{{sink},{join}}} 1.6e+06",
    ):
        assert f"flinkddl_{line}\n" in text
    meter.update(counted(COUNTED, 7))
    assert "flinkddl_node_state_groups{" not in metrics_text([meter])


def test_without_a_terminal_lines_are_plain_and_idle_batches_are_silent() -> None:
    out = io.StringIO()
    with display(stream=out) as shown:
        on_progress = shown.on_progress(shown.add(JOB))
        on_progress(batch())
        on_progress(read_progress("w", "per_region", {"batchId": 18, "timestamp": "2026-11-21T12:00:05.123Z"}))
    lines = out.getvalue().splitlines()
    assert (
        lines[:2]
        == headline(JOB, None)
        == [
            "per_region  kafka -> topic 'regions'     micro-batch · checkpoint: temporary",
            "reading  orders  topic 'orders' · from earliest",
        ]
    )
    assert lines[2:] == [progress_line(batch())]


def test_lines_come_every_ten_seconds_with_all_that_was_done() -> None:
    out, now = io.StringIO(), [100.0]
    with display(stream=out) as shown:
        meter = shown.add(JOB)
        meter.clock = lambda: now[0]
        on_progress = shown.on_progress(meter)
        quiet = {"stateOperators": []}
        for n, at in enumerate((100.0, 101.0, 105.0, 110.0, 112.0)):
            now[0] = at
            on_progress(batch(batchId=n, **quiet))
        on_progress(batch(batchId=5))  # late rows are told at once
        on_progress(batch(batchId=6, **quiet))
    told = [line.split(" · ")[::2] for line in out.getvalue().splitlines()[2:]]
    assert [(first.split()[2], sums.split()[0]) for first, sums, *_ in told] == [
        *(("0", "312"), ("3", "936"), ("5", "624"), ("6", "312")),
    ]


# (seconds of a clock, what is waited for) -> seconds that are told
WAITED: list[tuple[tuple[float, str], int]] = [
    ((0, "starting Spark"), 0), ((9, "starting Spark"), 0), ((10, "starting Spark"), 10),
    ((11, "starting Spark"), 0), ((19, "starting Spark"), 0), ((20, "starting Spark"), 20),
    ((39, "starting Spark"), 0), ((41, "starting Spark"), 41), ((42, "b: first batch"), 0),
    ((51, "b: first batch"), 0), ((52, "b: first batch"), 10), ((53, ""), 0), ((90, ""), 0),
    ((91, "starting Spark"), 0),
]  # fmt: skip


def test_what_takes_long_is_told_less_and_less_often() -> None:
    patience = Patience()
    assert [patience.over(what, at) for (at, what), _ in WAITED] == [told for _, told in WAITED]


def test_before_a_first_batch_lines_say_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Patience, "over", lambda self, what, now: 12 if what else 0)
    texts = {}
    for kind in (PlainDisplay, JsonDisplay):
        shown = kind(stream=io.StringIO())
        shown.look()
        shown.phase = ""
        shown.look()
        on_progress = shown.on_progress(shown.add(JOB))
        shown.look()
        on_progress(batch())
        shown.look()
        texts[kind] = shown.out.getvalue().splitlines()  # type: ignore[attr-defined]
    first, *_, waits, _ = texts[PlainDisplay]
    assert (first[11:], waits[11:]) == ("starting Spark, 12 s so far", "per_region: starting, 12 s so far")
    events = [json.loads(line) for line in texts[JsonDisplay]]
    assert [(e["message"], e["seconds"]) for e in events if e["event"] == "waiting"] == [
        ("starting Spark", 12),
        ("per_region: starting", 12),
    ]


STATUS = {
    "Getting offsets from KafkaV2[Subscribe[orders]]": "looking for new records",
    "Waiting for data to arrive": "waiting for data to arrive",
    "No new data but cleaning up state": "closing what the watermark has passed",
    "Initializing sources": "finding where it stands",
    "Processing new data": "processing new data",
    "Something of a later Spark [x=1]": "something of a later spark",
}


@pytest.mark.parametrize("status", STATUS)
def test_what_spark_says_is_told_in_our_words(status: str) -> None:
    assert in_words(status) == STATUS[status]


def test_a_real_time_job_says_how_often_it_writes_a_checkpoint() -> None:
    job = replace(JOB, trigger=("realTime", "300000 milliseconds"))
    assert headline(job, "/c")[0].endswith("real-time · checkpoint: /c, every 300 s")


def test_a_second_job_makes_lines_name_their_table() -> None:
    out = io.StringIO()
    with display(stream=out) as shown:
        shown.add(JOB)
        shown.on_progress(shown.add(JOB))(batch())
    assert out.getvalue().splitlines()[-1] == f"per_region  {progress_line(batch())}"


def test_a_json_log_is_an_object_a_line() -> None:
    out = io.StringIO()
    with display(stream=out, log_format="json") as shown:
        assert isinstance(shown, JsonDisplay)
        shown.on_progress(shown.add(JOB))(batch())
        shown.notice("no checkpoint")
        shown.findings([Diagnostic("FD830", "it broke", help="mend it")])
    job, one, notice, finding = map(json.loads, out.getvalue().splitlines())
    assert job["sources"] == [{"table": "orders", "topics": "orders", "from": "earliest"}]
    assert (one["level"], one["event"], one["job"], one["sink"]) == ("info", "batch", "j", "per_region")
    assert (one["batch"], one["upserts"], one["tombstones"], one["lag"]) == (17, 312, 4, {"orders": 2})
    assert (one["rows_per_second"], one["state_rows"], one["late_rows"]) == (48101.4, 1204, 2)
    assert notice["message"] == "no checkpoint"
    assert (finding["level"], finding["code"], finding["help"]) == ("error", "FD830", "mend it")


class Watched:
    """A started job as a meter sees it."""

    status = "running"
    error: FlinkDdlError | None = None
    restarting = False

    def __init__(self, *progress: Progress) -> None:
        self.progress = progress
        self.lost: dict[str, int] = {}
        self.flows: tuple[Flow, ...] = ()
        self.waiting, self.restarts, self.last_failure = "", 0, ""
        self.failures: dict[tuple[str, str], int] = {}


def test_the_slowest_write_says_how_far_a_topic_is_behind() -> None:
    latest = [replace(batch(), lag={"a": 3, "b": 0}), replace(batch(), lag={"a": 1, "c": 2})]
    flows = [Flow("w", "t", ("a",), behind=7), Flow("v", "t", ("a",), behind=5), Flow("u", "t", ("a", "b"), behind=9)]
    assert lag_by_topic(JOB, latest, flows) == {"a": 3, "b": 0, "c": 2}
    assert lag_by_topic(replace(JOB, trigger=("realTime", "300000 milliseconds")), latest, flows) == {"a": 7}


DESCRIBED: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "it has ended": ({"status": "stopped"}, {}),
    "no batch yet": ({}, {"records behind": "not known before the first batch has ended"}),
    "nothing is read": ({"progress": (batch(),)}, {"last batch": progress_line(batch())}),
    "lag": ({"lag": {"orders": 0, "clicks": 1200}}, {"records behind": "clicks 1,200, orders 0"}),
    "a cluster is away": ({"lag": {"orders": 2}, "waiting": "waiting for Kafka"}, {"records behind": "orders ?"}),
    "a failure": (
        {"lag": {"orders": 2}, "last_failure": "it broke"},
        {"records behind": "orders 2", "last failure": "it broke"},
    ),
}


@pytest.mark.parametrize(("known", "said"), DESCRIBED.values(), ids=DESCRIBED)
def test_describe_job_says_what_is_known(known: dict[str, Any], said: dict[str, str]) -> None:
    catalog = Catalog()
    nothing = {"status": "running", "lag": {}, "waiting": "", "last_failure": "", "progress": ()}
    running = SimpleNamespace(job=JOB, **{**nothing, **known})
    catalog.jobs.append(Job(cast("Any", running), "1"))
    found = catalog.execute("DESCRIBE JOB '1'")
    (row,) = found.rows
    assert dict(zip(found.columns[4:], row[4:], strict=True)) == said
    assert (found.columns[:4], row[:3]) == (
        ("job id", "job name", "status", "start time"),
        ("1", "j", running.status.upper()),
    )


def drawn(meter: JobMeter, width: int = 110) -> list[str]:
    from rich.console import Console

    console = Console(width=width, file=io.StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(Panel(meter, "/var/cp"))
    return captured.get().splitlines()


def test_the_panel_says_what_a_job_reads_writes_keeps_and_waits_for() -> None:
    time = iter(range(100))
    meter = JobMeter(JOB, clock=lambda: float(next(time)))
    before = "\n".join(drawn(meter))
    assert "j  starting" in before
    assert "topic orders" in before
    meter.attach(Watched(replace(batch(), waiting="Waiting for data to arrive")))
    meter.update(batch())
    meter.update(batch(batchId=18))
    lines = drawn(meter)
    assert lines[0].startswith("╭─ j  running  0:00:")
    assert [w for w in lines[2].split() if w != "│"] == ["orders", "topic", "orders", "earliest", "2"]
    assert lines[4].split()[1:] == [
        *("per_region", "kafka", "->", "topic", "'regions'", "4,000", "63", "624", "8", "40,002", "│")
    ]
    assert "waiting for data to arrive · batch 18 in 0.41 s · watermark 2026-11-21 11:59:58 · state 1,204" in lines[5]
    assert "4 late rows dropped" in lines[6]
    assert "micro-batch  checkpoint /var/cp" in lines[7]


def test_a_real_time_job_shows_what_flows_while_its_batch_runs() -> None:
    meter, watched = JobMeter(replace(JOB, trigger=("realTime", "300000 milliseconds"))), Watched()
    meter.attach(watched)
    assert "in its first batch" in drawn(meter)[5]
    watched.flows = (
        Flow("w", "per_region", ("orders",), 1000.4, 990.0, 20_000, 19_900, behind=100, p50_ms=31.0, p99_ms=254.0),
    )
    lines = drawn(meter)
    assert [w for w in lines[2].split() if w != "│"] == ["orders", "topic", "orders", "earliest", "100"]
    assert lines[4].split()[6:] == ["1,000", "990", "20,000", "│"]
    assert "in its first batch · 100 behind · latency p50 31 ms, p99 254 ms" in lines[5]
    assert "waiting" not in "\n".join(lines)
    figures = metrics_text([meter])
    assert f"flinkddl_realtime_behind_records{SINK} 100.0\n" in figures
    assert 'flinkddl_realtime_latency_seconds{job="j",percentile="99",sink="per_region"} 0.254\n' in figures
    watched.flows = (
        Flow("w", "per_region", ("orders",), 9.0, 4.0, 90, 40, unknown="Filter may give more or fewer rows"),
    )
    lines = drawn(meter)
    assert [w for w in lines[2].split() if w != "│"][-1] == "?"
    assert "lag and latency not known: Filter may give more or fewer rows" in lines[5]
    assert "flinkddl_realtime_behind_records{" not in metrics_text([meter])


def test_the_log_of_a_real_time_job_has_a_line_in_ten_seconds_while_records_flow() -> None:
    out, now = io.StringIO(), [0.0]
    flow = Flow("w", "per_region", ("orders",), 1000.0, 990.0, 20_000, 19_900, behind=100, p50_ms=31.0, p99_ms=254.0)
    with display(stream=out) as shown:
        meter = shown.add(JOB)
        meter.clock = lambda: now[0]
        show = shown.on_flow(meter)
        for second, rate in ((0, 1000.0), (3, 1000.0), (9, 1000.0), (12, 1000.0), (30, 0.0)):
            now[0] = second
            show(replace(flow, rate_in=rate, records_out=19_900 if second > 3 else 10, behind=0 if rate == 0 else 100))
    lines = out.getvalue().splitlines()[2:]
    assert len(lines) == 2
    assert lines[1].endswith("19,900 out so far · 100 behind · latency p50 31 ms, p99 254 ms")


def test_rates_fall_to_zero_when_nothing_comes() -> None:
    now = [0.0]
    meter = JobMeter(JOB, clock=lambda: now[0])
    meter.update(batch())
    assert meter.totals()["w"].rates(5.0) == (2000.1, 31.6)
    assert meter.totals()["w"].rates(30.0) == (0.0, 0.0)


SINK = '{job="j",sink="per_region"}'
OPERATOR = '{job="j",name="Aggregate",node="n2",operator="stateStoreSave",position="0",sink="per_region"}'
FIGURES = {  # after two batches and two failures
    f"flinkddl_rows_in_total{SINK}": 40002,
    f"flinkddl_tombstones_total{SINK}": 8,
    'flinkddl_lag_records{job="j",topic="orders"}': 2,
    f"flinkddl_last_batch_duration_seconds{SINK}": 0.41,
    f"flinkddl_batch_duration_seconds_total{SINK}": 0.82,
    'flinkddl_batch_phase_seconds_total{job="j",phase="addBatch",sink="per_region"}': 0.7,
    f"flinkddl_watermark_timestamp_seconds{SINK}": 1795262398,
    'flinkddl_job_status{job="j",status="running"}': 1,
    'flinkddl_job_status{job="j",status="failed"}': 0,
    'flinkddl_query_failures_total{code="FD701",job="j",sink="per_region"}': 2,
    'flinkddl_scan_rows_total{job="j",name="Scan",node="n1",sink="per_region"}': 40002,
    f"flinkddl_state_rows{OPERATOR}": 1204,
    f"flinkddl_state_bytes{OPERATOR}": 300_000,
    f"flinkddl_state_rows_updated_total{OPERATOR}": 600,
    f"flinkddl_state_rows_removed_total{OPERATOR}": 14,
    f"flinkddl_operator_late_rows_total{OPERATOR}": 4,
    f"flinkddl_state_commit_seconds_total{OPERATOR}": 0.09,
}


@pytest.fixture
def scraped() -> str:
    """What Prometheus reads of a job that has done two batches and failed twice."""
    meter, watched = JobMeter(JOB), Watched()
    meter.update(batch())
    meter.update(batch(batchId=18))
    watched.failures = {("w", "FD701"): 2}
    meter.attach(watched)
    return metrics_text([meter])


def test_figures_in_prometheus_text(scraped: str) -> None:
    found = {}
    for family in text_string_to_metric_families(scraped):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}"] = sample.value
    assert {name: found.get(name) for name in FIGURES} == FIGURES


def test_how_far_a_watermark_is_behind_the_clock(scraped: str) -> None:
    lag = re.search(r"flinkddl_watermark_lag_seconds\{.*\} (\S+)", scraped)
    assert lag is not None
    assert float(lag[1]) == pytest.approx(max(0.0, time.time() - 1795262398), abs=60)


def test_names_are_as_prometheus_wants_them(scraped: str) -> None:
    for family in text_string_to_metric_families(scraped):
        assert re.fullmatch(r"flinkddl_[a-z_]+", family.name), family.name
        assert family.documentation.endswith("."), family.name
        assert family.type in {"counter", "gauge"}, family.name
        assert not re.search(r"_(ms|millis|mb|kb)$", family.name), family.name


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs Debian's package prometheus")
def test_promtool_has_nothing_to_say(scraped: str) -> None:
    done = subprocess.run(["promtool", "check", "metrics"], input=scraped, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_health_is_bad_before_the_start_and_after_a_failure() -> None:
    meter = JobMeter(JOB)
    assert health([]) == (503, {"status": "starting", "jobs": []})
    assert health([meter])[0] == 503
    watched = Watched()
    meter.attach(watched)
    assert health([meter]) == (200, {"status": "up", "jobs": [{"job": "j", "status": "running", "lag": {}}]})
    watched.status, watched.error = "failed", FlinkDdlError.of("FD830", "it broke")
    code, body = health([meter])
    assert (code, body["status"], body["jobs"][0]["error"]) == (503, "failed", "it broke")


def test_a_job_that_waits_says_so_and_is_up() -> None:
    meter, watched = JobMeter(JOB), Watched()
    meter.attach(watched)
    watched.waiting, watched.restarts, watched.last_failure = "restarting in 4 s (2nd of 3)", 1, "it broke"
    told = {"waiting": watched.waiting, "restarts": 1, "last_failure": "it broke"}
    assert health([meter]) == (
        200,
        {"status": "up", "jobs": [{"job": "j", "status": "running", "lag": {}} | told]},
    )
    text = metrics_text([meter])
    assert 'flinkddl_restarts_total{job="j"} 1.0\n' in text
    assert 'flinkddl_waiting{job="j"} 1.0\n' in text
    shown = drawn(meter)
    assert "j  waiting" in shown[0]
    assert any("restarting in 4 s (2nd of 3)" in line for line in shown)
    assert any("restarted once; last failure: it broke" in line for line in shown)


def test_figures_are_served() -> None:
    from urllib.error import HTTPError
    from urllib.request import urlopen

    meters: list[JobMeter] = []
    with serve("0", meters) as address:
        meter = JobMeter(JOB)
        meter.attach(Watched())
        meters.append(meter)
        with urlopen(f"{address}/metrics", timeout=30) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b'flinkddl_job_status{job="j",status="running"} 1' in answer.read()
        with urlopen(f"{address}/health", timeout=30) as answer:
            assert json.load(answer)["status"] == "up"
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{address}/else", timeout=30)
        with pytest.raises(FlinkDdlError, match="FD842"), serve(address.rpartition("/")[2], []):
            pass
