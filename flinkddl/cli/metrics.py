"""``/metrics`` in Prometheus' text format and ``/health`` as JSON, for the jobs of one run."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder, generate_latest
from prometheus_client.registry import Collector

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.reporting.progress import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from flinkddl.cli.meter import JobMeter, WriteTotals
    from flinkddl.runtime.job.topics.flow import Flow

Samples = list[tuple[tuple[str, ...], float | None]]
_STATUSES = ("starting", "running", "finished", "stopped", "failed")


def _epoch(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()


def _behind(text: str | None) -> float | None:
    """Return how far a watermark is behind the clock, in seconds."""
    mark = _epoch(text)
    return None if mark is None else max(0.0, time.time() - mark)


# of a job: name, labels beside ``job``, help, samples. Counters are those whose name ends with _total, as Prometheus
# has it (https://prometheus.io/docs/practices/naming/)
_JOBS: tuple[tuple[str, tuple[str, ...], str, Callable[[JobMeter], Samples]], ...] = (
    (
        *("job_status", ("status",), "1 for the status that a job has, 0 for the others."),
        lambda m: [((s,), float(m.status == s)) for s in _STATUSES],
    ),
    (
        *("lag_records", ("topic",), "Records of a topic that a job has not read yet."),
        lambda m: [((topic,), n) for topic, n in m.lag().items()],
    ),
    (
        *("lost_records_total", ("topic",), "Records of a topic that were deleted before they were read."),
        lambda m: [((topic,), n) for topic, n in m.lost().items()],
    ),
    (
        *("restarts_total", (), "How often a query was started again after a failure."),
        lambda m: [((), m.restarts()[0])],
    ),
    (
        *("waiting", (), "1 while a job waits for a Kafka cluster that is away, or for a restart."),
        lambda m: [((), bool(m.held()))],
    ),
)

# of a sink: name, labels beside ``job`` and ``sink``, help, samples; None leaves a sample out
_SINKS: tuple[tuple[str, tuple[str, ...], str, Callable[[WriteTotals], Samples]], ...] = (
    ("rows_in_total", (), "Rows read by the query of a sink.", lambda t: [((), t.rows_in)]),
    ("rows_out_total", (), "Rows written to a sink, tombstones included.", lambda t: [((), t.rows_out)]),
    ("upserts_total", (), "Records with a value written to a Kafka sink.", lambda t: [((), t.upserts)]),
    ("tombstones_total", (), "Records without a value written to a Kafka sink.", lambda t: [((), t.tombstones)]),
    ("late_rows_total", (), "Rows dropped as they came behind the watermark.", lambda t: [((), t.late_rows)]),
    ("batches_total", (), "Finished micro-batches.", lambda t: [((), t.batches)]),
    ("batch_duration_seconds_total", (), "Time spent in batches.", lambda t: [((), t.batch_ms / 1000)]),
    ("last_batch", (), "Number of the last finished micro-batch.", lambda t: [((), t.last.batch)]),
    ("last_batch_duration_seconds", (), "How long the last batch took.", lambda t: [((), t.last.batch_ms / 1000)]),
    (
        *("last_batch_start_timestamp_seconds", (), "When the last batch began, in Unix time."),
        lambda t: [((), _epoch(t.last.time))],
    ),
    (
        *("batch_phase_seconds_total", ("phase",), "Time spent in each part of a batch, by Spark's name of it."),
        lambda t: [((phase,), ms / 1000) for phase, ms in t.phase_ms.items()],
    ),
    (
        *("scan_rows_total", ("node", "name"), "Rows that a scan of the plan gave to the query of a sink."),
        lambda t: [((place.node, place.name), rows) for place, rows in t.rows.scans.items()],
    ),
    (
        *("node_rows_in_total", ("operator", "node", "name", "from"), "Rows that came to an operator by key."),
        lambda t: [
            ((name, k.place.node, k.place.name, source), rows)
            for name, k in t.rows.nodes.items()
            for source, rows in t.rows.edges(name)
        ],
    ),
    (
        *("node_rows_out_total", ("operator", "node", "name"), "Rows that an operator by key gave."),
        lambda t: [((name, k.place.node, k.place.name), t.rows.went[name]) for name, k in t.rows.nodes.items()],
    ),
    (
        *("node_rows_passed_total", ("operator", "node", "name"), "Rows for deeper stages that passed a stage."),
        lambda t: [((name, of.node, of.name), t.rows.passed[name]) for name, of in t.rows.stages.items()],
    ),
    (
        *("node_state_groups", ("operator", "node", "name"), "Groups (keys) that an operator by key keeps."),
        lambda t: [((k.node.operator, k.node.place.node, k.node.place.name), k.groups) for k in t.last.keyed],
    ),
    (
        *("node_state_bytes", ("operator", "node", "name"), "Bytes of keys and values that an operator by key keeps."),
        lambda t: [((k.node.operator, k.node.place.node, k.node.place.name), k.size) for k in t.last.keyed],
    ),
    (
        *("watermark_timestamp_seconds", (), "Event-time watermark, in Unix time."),
        lambda t: [((), _epoch(t.last.watermark))],
    ),
    (
        *("watermark_lag_seconds", (), "How far the event-time watermark is behind the clock."),
        lambda t: [((), _behind(t.last.watermark))],
    ),
)

# of a stateful operator of a sink's query, beside ``operator`` (Spark's name), ``position`` in its plan, ``node`` and
# ``name`` of the plan node that it serves, which are empty where that is not known: for Prometheus as if not there
_OPERATORS: tuple[tuple[str, str, Callable[[WriteTotals, int], float]], ...] = (
    ("state_rows", "Rows kept in state.", lambda t, at: t.last.state[at].rows),
    ("state_bytes", "Memory of the state.", lambda t, at: t.last.state[at].memory),
    ("state_rows_updated_total", "Rows of state set.", lambda t, at: t.operators[at, "updated"]),
    ("state_rows_removed_total", "Rows of state removed.", lambda t, at: t.operators[at, "removed"]),
    ("operator_late_rows_total", "Rows dropped behind the watermark.", lambda t, at: t.operators[at, "late"]),
    (
        *("state_commit_seconds_total", "Time that tasks spent on storing state, added up."),
        lambda t, at: t.operators[at, "commit_ms"] / 1000,
    ),
)


# of a sink of a real-time job, whose batches take minutes, from the offsets and timestamps of its topics' records
_FLOWS: tuple[tuple[str, tuple[str, ...], str, Callable[[Flow], Samples]], ...] = (
    (
        *("realtime_source_records_total", (), "Records put into what the query of a sink reads, since it began."),
        lambda f: [((), f.records_in)],
    ),
    (
        *("realtime_sink_records_total", (), "Records put into a sink's topic, by whomever, since its query began."),
        lambda f: [((), f.records_out)],
    ),
    (
        *("realtime_behind_records", (), "Source records without a sink record; only where each of them gives one."),
        lambda f: [((), f.behind)],
    ),
    (
        "realtime_latency_seconds",
        ("percentile",),
        "Timestamp of the n-th sink record less that of the n-th source record, over the last 30 s.",
        lambda f: [(("50",), _seconds(f.p50_ms)), (("99",), _seconds(f.p99_ms))],
    ),
)


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


class _Figures(Collector):
    """What Prometheus asks for at each scrape."""

    def __init__(self, meters: Sequence[JobMeter]) -> None:
        self._meters = meters

    def collect(self) -> Iterator[Metric]:
        """Yield all families, also those without a sample: their HELP says what there is."""
        for name, labels, help_text, found in _JOBS:
            yield _family(name, ("job", *labels), help_text, self._of_jobs(found))
        yield _family(
            *("query_failures_total", ("job", "sink", "code")),
            "Failures of the query of a sink, by the code that `flinkddl error CODE` explains.",
            self._failures(),
        )
        for name, labels, help_text, of_sink in _SINKS:
            yield _family(name, ("job", "sink", *labels), help_text, self._of_sinks(of_sink))
        for name, labels, help_text, of_flow in _FLOWS:
            yield _family(name, ("job", "sink", *labels), help_text, self._of_flows(of_flow))
        for name, help_text, of_operator in _OPERATORS:
            labels = ("job", "sink", "operator", "position", "node", "name")
            yield _family(name, labels, help_text, self._of_operators(of_operator))

    def _of_jobs(self, found: Callable[[JobMeter], Samples]) -> Samples:
        return [((m.job.name, *labels), value) for m in self._meters for labels, value in found(m)]

    def _failures(self) -> Samples:
        return [
            ((m.job.name, _sink(m, write), code), n) for m in self._meters for (write, code), n in m.failures().items()
        ]

    def _writes(self) -> Iterator[tuple[tuple[str, str], WriteTotals]]:
        for m in self._meters:
            for write, total in m.totals().items():
                yield (m.job.name, _sink(m, write)), total

    def _of_sinks(self, found: Callable[[WriteTotals], Samples]) -> Samples:
        return [((*sink, *labels), value) for sink, total in self._writes() for labels, value in found(total)]

    def _of_flows(self, found: Callable[[Flow], Samples]) -> Samples:
        return [
            ((m.job.name, _sink(m, write), *labels), value)
            for m in self._meters
            for write, flow in m.flows().items()
            for labels, value in found(flow)
        ]

    def _of_operators(self, value: Callable[[WriteTotals, int], float]) -> Samples:
        return [
            ((*sink, state.operator, str(at), state.place.node, state.place.name), value(total, at))
            for sink, total in self._writes()
            for at, state in enumerate(total.last.state)
        ]


def _sink(meter: JobMeter, write: str) -> str:
    return short(next((w.table for w in meter.job.writes if w.name == write), "") or write)


def _family(name: str, labels: Sequence[str], help_text: str, samples: Samples) -> Metric:
    kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    family = kind(f"flinkddl_{name}", help_text, labels=labels)
    for values, value in samples:
        if value is not None:
            family.add_metric(values, value)
    return family


def figures(meters: Sequence[JobMeter]) -> CollectorRegistry:
    """Return the registry that holds all figures of the meters; ``meters`` may grow meanwhile."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(meters))
    return registry


def metrics_text(meters: Sequence[JobMeter]) -> str:
    """Return all samples in Prometheus' text format."""
    return generate_latest(figures(meters)).decode()


def health(meters: Sequence[JobMeter]) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the body of ``/health``: 503 as long as a job is starting, or once one has failed."""
    statuses = [m.status for m in meters]
    up = bool(statuses) and not {"failed", "starting"} & set(statuses)
    word = "failed" if "failed" in statuses else "up" if up else "starting"
    return (200 if up else 503), {"status": word, "jobs": [_job(m) for m in meters]}


def _job(meter: JobMeter) -> dict[str, Any]:
    """Return a job's part of ``/health``; a job that waits is up, as it goes on by itself."""
    restarts, failure = meter.restarts()
    told = {"error": meter.error, "waiting": meter.held(), "restarts": restarts, "last_failure": failure}
    found = {"job": meter.job.name, "status": meter.status, "lag": meter.lag()}
    return found | {key: value for key, value in told.items() if value}


@contextmanager
def serve(address: str, meters: Sequence[JobMeter]) -> Iterator[str]:
    """Answer ``/metrics`` and ``/health`` for the body; yield the address. ``meters`` may grow meanwhile.

    ``address`` is ``PORT`` (this machine only) or ``HOST:PORT``; port 0 takes a free one. Raises FD842.
    """
    host, _, port = address.rpartition(":")
    try:
        server = ThreadingHTTPServer((host or "127.0.0.1", int(port)), _handler(meters))
    except (OSError, ValueError, OverflowError) as error:
        raise FlinkDdlError.of(
            "FD842", f"figures cannot be served at '{address}': {error}", help="give a free PORT or HOST:PORT"
        ) from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="flinkddl metrics", daemon=True)
    thread.start()
    try:
        yield f"http://{server.server_address[0]!s}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(meters: Sequence[JobMeter]) -> type[BaseHTTPRequestHandler]:
    registry = figures(meters)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/metrics":
                    encode, kind = choose_encoder(self.headers.get("Accept", ""))
                    self._answer(200, kind, encode(registry))
                case "/health":
                    code, body = health(meters)
                    self._answer(code, "application/json", json.dumps(body).encode())
                case _:
                    self._answer(404, "text/plain; charset=utf-8", b"there are /metrics and /health\n")

        def _answer(self, code: int, kind: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are not logged."""

    return Handler
