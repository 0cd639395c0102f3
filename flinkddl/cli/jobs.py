"""``flinkddl jobs list|status|stop|logs``: the jobs that ``flinkddl run`` carries out in other processes."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flinkddl.cli.common import OK, OUTSIDE_FAILED
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from flinkddl.runtime.job.registry import Record

PAUSE_SECONDS = 0.2
TELL_SECONDS = 5.0
_COLUMNS = ("id", "name", "state", "started", "duration", "batches", "rows in", "rows out", "lag", "sink")
_NUMBERS = frozenset({"batches", "rows in", "rows out", "lag"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments; ``jobs`` alone lists."""
    parser.set_defaults(action="list", output="text")
    _dir_argument(parser, None)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    for name, (_, help, configure_action) in ACTIONS.items():
        action = actions.add_parser(name, help=help, description=help)
        configure_action(action)


def _dir_argument(parser: argparse.ArgumentParser, default: object) -> None:
    parser.add_argument(
        "--dir", metavar="DIR", default=default,
        help="folder of the jobs (default: $FLINKDDL_JOBS, else $XDG_STATE_HOME/flinkddl/jobs)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Carry out the action; 3 where there is no such job, or it does not do what is asked. Raises FD854 to FD856."""
    from flinkddl.runtime.job.registry import jobs_dir

    return ACTIONS[args.action or "list"][0](args, jobs_dir(args.dir))


# ---- list and status -----------------------------------------------------------------------------------------------


def _list(args: argparse.Namespace, folder: Path) -> int:
    from flinkddl.runtime.job.registry import records

    found = records(folder)
    if args.output == "json":
        print(json.dumps([asdict(r) for r in found], indent=1, ensure_ascii=False))
    elif not found:
        print(f"no jobs in '{folder}'")
    else:
        _print_table([dict(zip(_COLUMNS, _row(r), strict=True)) for r in found])
    return OK


def _row(r: Record) -> tuple[str, ...]:
    sinks = ", ".join(str(s["table"]) for s in r.sinks)
    lag = "-" if not r.lag or r.over else f"{sum(r.lag.values()):,}"
    counts = (f"{r.batches:,}", f"{r.rows_in:,}", f"{r.rows_out:,}")
    return (r.id, r.name, r.state, _moment(r.started), _duration(r.seconds), *counts, lag, sinks)


def _print_table(rows: list[dict[str, str]]) -> None:
    widths = {c: max(len(c), *(len(row[c]) for row in rows)) for c in _COLUMNS}
    for row in [{c: c for c in _COLUMNS}, *rows]:
        cells = (row[c].rjust(widths[c]) if c in _NUMBERS else row[c].ljust(widths[c]) for c in _COLUMNS)
        print("  ".join(cells).rstrip())


def _status(args: argparse.Namespace, folder: Path) -> int:
    from flinkddl.runtime.job.registry import find

    record = find(folder, args.name)
    if args.output == "json":
        print(json.dumps(asdict(record), indent=1, ensure_ascii=False))
    else:
        for name, text in _told(record):
            print(f"{name:<12}{text}".rstrip())
        for line in _plan(record) if args.plan else ():
            print(line)
    return OK


def _told(r: Record) -> Iterator[tuple[str, str]]:
    yield "id", r.id
    yield "name", r.name
    yield "state", r.state + (f": {r.waiting}" if r.waiting and not r.over else "")
    yield "job", r.job
    yield "script", r.script
    yield "process", f"{r.pid} of user '{r.user}' on host '{r.host}'"
    yield "started", f"{_moment(r.started)} UTC, {'ran' if r.over else 'runs for'} {_duration(r.seconds)}"
    if r.ended:
        yield "ended", f"{_moment(r.ended)} UTC"
    elif r.over:
        yield "last heard", f"{_moment(r.updated)} UTC; its process is gone"
    yield "mode", r.mode
    yield "checkpoint", r.checkpoint or "none: it is not resumed"
    yield "restarts", f"{r.restarts}"
    if r.failure:
        yield "failure", r.failure
    for source in r.sources:
        lag = r.lag.get(str(source["topic"]))
        yield "reads", f"{source['table']}  topic {source['topic']} from {source['from']}" + _behind(lag)
    for topic, records in r.lost.items():
        yield "lost", f"{records:,} records of topic {topic} were deleted before they were read"
    for sink in r.sinks:
        yield "writes", f"{sink['table']}  {sink['to']}"
        if "batch" in sink:
            yield "", _batch(sink)
        for node in sink.get("nodes", ()):
            if node["state_rows"] is not None:
                kept = f"{node['state_rows']:,} rows, {node['state_bytes'] / 1e6:.1f} MB"
                of = f"{node['state_of']}, of which {node['node']}" if node.get("state_of") else node["node"]
                yield "", f"state of {of} {node['text']}: {kept}"


def _plan(r: Record) -> Iterator[str]:
    """Yield the plan of each INSERT with what its nodes have done."""
    from flinkddl.runtime.job.reporting.figures import figure_lines

    for sink in r.sinks:
        yield f"\n== {sink['table']} =="
        yield from figure_lines(sink.get("nodes", ())) if "nodes" in sink else ("no batch has finished yet",)


def _behind(lag: int | None) -> str:
    return "" if lag is None else f", lag {lag:,}"


def _batch(sink: dict[str, Any]) -> str:
    parts = [f"{sink['rows_in']:,} rows in, {sink['rows_out']:,} out"]
    if sink["upserts"] or sink["tombstones"]:
        parts.append(f"{sink['upserts']:,} upserts, {sink['tombstones']:,} tombstones")
    parts.append(f"batch {sink['batch']} in {sink['batch_ms'] / 1000:.2f} s")
    if sink["watermark"]:
        parts.append(f"watermark {sink['watermark'][:19].replace('T', ' ')}")
    if sink["state_rows"]:
        parts.append(f"state {sink['state_rows']:,} rows, {sink['state_bytes'] / 1e6:.1f} MB")
    if sink["late_rows"]:
        parts.append(f"{sink['late_rows']:,} late rows dropped")
    return " · ".join(parts)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


# ---- stop ----------------------------------------------------------------------------------------------------------


def _stop(args: argparse.Namespace, folder: Path) -> int:
    from flinkddl.cli.savepoint import answer
    from flinkddl.runtime.job.registry import Request, ask, find
    from flinkddl.runtime.storage.savepoints import savepoint_folder

    record = find(folder, args.name)
    if record.over:
        print(f"{record.name} ({record.id}) has ended already: {record.state}", file=sys.stderr)
        return OUTSIDE_FAILED
    target = str(savepoint_folder(args.savepoint).absolute()) if args.savepoint else None
    request = Request("stop", now=args.now, savepoint=target)
    ask(folder, record, request)
    began = time.monotonic()
    record = _await_end(folder, record.id, began + args.timeout)
    took = f"after {time.monotonic() - began:.1f} s"
    if not record.over:
        print(f"{record.name} ({record.id}) is {record.state} {took}; it was asked to stop", file=sys.stderr)
        print("  = help: wait with `flinkddl jobs stop` again, or cut its batch off with --now", file=sys.stderr)
        return OUTSIDE_FAILED
    print(f"{record.name} ({record.id}): {record.state} {took}" + (f": {record.failure}" if record.failure else ""))
    if target is not None:
        print(answer(folder, record.id, request.id, began + args.timeout))
    return OUTSIDE_FAILED if record.state in ("FAILED", "LOST") else OK


def _await_end(folder: Path, id: str, until: float) -> Record:
    """Wait for a job's end and return it; what it does meanwhile is said every few seconds."""
    from flinkddl.runtime.job.registry import find

    told = time.monotonic()
    while not (record := find(folder, id)).over and time.monotonic() < until:
        if time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            batches = f"{record.batches:,} batches, {record.rows_in:,} rows in"
            waiting = f" ({record.waiting})" if record.waiting else ""
            print(f"{record.name} ({record.id}): {record.state}{waiting}, {batches}", file=sys.stderr)
        time.sleep(PAUSE_SECONDS)
    return record


# ---- logs ----------------------------------------------------------------------------------------------------------


def _logs(args: argparse.Namespace, folder: Path) -> int:
    from flinkddl.runtime.job.registry import find, log_path

    record = find(folder, args.name)
    path = log_path(folder, record.id)
    texts = [p.read_text(encoding="utf-8") for p in (path.with_suffix(".log.1"), path) if p.exists()]
    if not texts:
        raise FlinkDdlError.of("FD854", f"job '{record.name}' has no log at '{path}'")
    lines = "".join(texts).splitlines()
    for line in lines[-args.tail :] if args.tail else ():
        print(line)
    if args.follow:
        _follow(path, lambda: find(folder, record.id).over)
    return OK


def _follow(path: Path, over: Callable[[], bool]) -> None:
    """Print what is written from now on, over a change of files, until the job has ended."""
    file = path.open(encoding="utf-8")
    file.seek(0, 2)
    try:
        while True:
            last = over()
            sys.stdout.write(file.read())
            if path.exists() and path.stat().st_ino != _inode(file):
                file.close()
                file = path.open(encoding="utf-8")
                sys.stdout.write(file.read())
            sys.stdout.flush()
            if last:
                return
            time.sleep(PAUSE_SECONDS)
    finally:
        file.close()


def _inode(file: Any) -> int:
    import os

    return os.fstat(file.fileno()).st_ino


# ---- arguments -----------------------------------------------------------------------------------------------------


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    import argparse

    _dir_argument(parser, argparse.SUPPRESS)
    parser.add_argument("--output", choices=("text", "json"), default="text", help="how it is printed")


def _job_arguments(parser: argparse.ArgumentParser) -> None:
    import argparse

    _dir_argument(parser, argparse.SUPPRESS)
    parser.add_argument("name", metavar="NAME", help="a job's name or id")


def _status_arguments(parser: argparse.ArgumentParser) -> None:
    _job_arguments(parser)
    parser.add_argument("--output", choices=("text", "json"), default="text", help="how it is printed")
    parser.add_argument("--plan", action="store_true", help="add the plan with the rows and the state of its nodes")


def _stop_arguments(parser: argparse.ArgumentParser) -> None:
    _job_arguments(parser)
    parser.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="how long to wait (120)")
    parser.add_argument("--now", action="store_true", help="cut the running batch off; the next run repeats it")
    parser.add_argument("--savepoint", metavar="DIR", help="make a savepoint there once the job has ended")


def _logs_arguments(parser: argparse.ArgumentParser) -> None:
    _job_arguments(parser)
    parser.add_argument("--tail", type=int, default=100, metavar="N", help="the last lines (100)")
    parser.add_argument("--follow", action="store_true", help="go on until the job ends")


ACTIONS: dict[str, tuple[Any, str, Any]] = {
    "list": (_list, "all jobs of this user: those that run, and the last that have ended", _list_arguments),
    "status": (_status, "one job whole", _status_arguments),
    "stop": (_stop, "end a job after its running batch, and wait for it", _stop_arguments),
    "logs": (_logs, "the line log of a job", _logs_arguments),
}
