"""``/metrics`` in Prometheus' text format and ``/health`` as JSON, for the jobs of one run."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.reporting.progress import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from flinkddl.cli.meter import JobMeter, WriteTotals

Sample = tuple[dict[str, str], float]

# name, type, help, value of a write's totals; None leaves the sample out
_WRITES: tuple[tuple[str, str, str, Callable[[WriteTotals], float | None]], ...] = (
    ("rows_in_total", "counter", "Rows read by the query of a sink.", lambda t: t.rows_in),
    ("rows_out_total", "counter", "Rows written to a sink, tombstones included.", lambda t: t.rows_out),
    ("upserts_total", "counter", "Records with a value written to a Kafka sink.", lambda t: t.upserts),
    ("tombstones_total", "counter", "Records without a value written to a Kafka sink.", lambda t: t.tombstones),
    ("late_rows_total", "counter", "Rows dropped because they came behind the watermark.", lambda t: t.late_rows),
    ("batches_total", "counter", "Finished micro-batches.", lambda t: t.batches),
    ("batch", "gauge", "Number of the last finished micro-batch.", lambda t: t.last.batch),
    ("batch_seconds", "gauge", "How long the last micro-batch took.", lambda t: t.last.batch_ms / 1000),
    ("state_rows", "gauge", "Rows kept in state.", lambda t: t.last.state_rows),
    ("state_bytes", "gauge", "Memory of the state.", lambda t: t.last.state_bytes),
    ("watermark_seconds", "gauge", "Event-time watermark, epoch seconds.", lambda t: _epoch(t.last.watermark)),
    ("last_batch_seconds", "gauge", "When the last micro-batch began, epoch seconds.", lambda t: _epoch(t.last.time)),
)
_STATUSES = ("starting", "running", "finished", "stopped", "failed")


def _epoch(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()


def metrics_text(meters: Sequence[JobMeter]) -> str:
    """Return all samples in Prometheus' text format."""
    lines: list[str] = []
    status = [({"job": m.job.name, "status": s}, float(m.status == s)) for m in meters for s in _STATUSES]
    _family(lines, "job_status", "gauge", "1 for the status that a job has, 0 for the others.", status)
    lag = [({"job": m.job.name, "topic": topic}, float(n)) for m in meters for topic, n in m.lag().items()]
    _family(lines, "lag_records", "gauge", "Records of a topic that a job has not read yet.", lag)
    lost = [({"job": m.job.name, "topic": topic}, float(n)) for m in meters for topic, n in m.lost().items()]
    _family(lines, "lost_records_total", "counter", "Records of a topic that were deleted before they were read.", lost)
    again = [({"job": m.job.name}, float(m.restarts()[0])) for m in meters]
    _family(lines, "restarts_total", "counter", "How often a query was started again after a failure.", again)
    held = [({"job": m.job.name}, float(bool(m.held()))) for m in meters]
    _family(lines, "waiting", "gauge", "1 while a job waits for a Kafka cluster that is away, or for a restart.", held)
    for name, kind, help_text, value in _WRITES:
        samples = [
            ({"job": m.job.name, "sink": short(total.last.table or write)}, float(found))
            for m in meters
            for write, total in m.totals().items()
            if (found := value(total)) is not None
        ]
        _family(lines, name, kind, help_text, samples)
    return "\n".join(lines) + "\n"


def _family(lines: list[str], name: str, kind: str, help_text: str, samples: list[Sample]) -> None:
    full = f"flinkddl_{name}"
    lines += [f"# HELP {full} {help_text}", f"# TYPE {full} {kind}"]
    for labels, value in samples:
        inside = ",".join(f'{k}="{_escape(v)}"' for k, v in labels.items())
        lines.append(f"{full}{{{inside}}} {value:.15g}")


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


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
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/metrics":
                    self._answer(200, "text/plain; version=0.0.4; charset=utf-8", metrics_text(meters))
                case "/health":
                    code, body = health(meters)
                    self._answer(code, "application/json", json.dumps(body))
                case _:
                    self._answer(404, "text/plain; charset=utf-8", "there are /metrics and /health\n")

        def _answer(self, code: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are not logged."""

    return Handler
