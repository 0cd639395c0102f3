"""Jobs of one script that write into one folder: batches append one after the other, a stream wants it for itself.

Spark's streaming file sink keeps one list of files a folder, by the number of the batch: batches of a second query with
the same numbers count as written and are dropped without a word, and files of a batch job are not seen beside it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkddl.diagnostics import Diagnostic
from flinkddl.spark.folders import FILES, plain_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flinkddl.diagnostics import Span
    from flinkddl.plan.nodes import Sink
    from flinkddl.spark.job import SparkJob, Write

Started = tuple["SparkJob", tuple["Sink", ...], bool]
_ONE_QUERY = "write one INSERT with UNION ALL of the queries, or give each a folder of its own"


def shared_folders(jobs: Iterable[Started]) -> list[Diagnostic]:
    """Return an error (FD474) for each INSERT into a folder that a stream does not share.

    ``jobs`` come in the order of the script, each with its sinks and whether it starts after those before have ended
    (``table.dml-sync``).
    """
    found: list[Diagnostic] = []
    before: dict[str, list[bool]] = {}
    for job, sinks, alone in jobs:
        for sink, write in zip(sinks, job.writes, strict=True):
            if write.format not in FILES:
                continue
            path = _place(write.options["path"])
            if alone and _clears(job, write):
                before[path] = []
            others = before.setdefault(path, [])
            if others and (job.streaming or any(others)):
                found.append(_refusal(write, sink.span, job.streaming, all(others)))
            others.append(job.streaming)
    return found


def _place(path: str) -> str:
    """Return a path that is one for one folder: with its file system, but for this machine's own."""
    system = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?", path)
    return (system[0] if system and not path.startswith("file:") else "") + plain_path(path)


def _clears(job: SparkJob, write: Write) -> bool:
    return not job.streaming and write.overwrite and not write.partitions


def _refusal(write: Write, span: Span | None, streaming: bool, streams: bool) -> Diagnostic:
    path = write.options["path"]
    if streaming and streams:
        message = f"another INSERT of this script streams into '{path}' already, which takes one stream"
        return Diagnostic("FD474", message, span=span, help=_ONE_QUERY)
    message = f"'{path}' is written by a stream and by a batch job of this script, whose files are not seen beside it"
    return Diagnostic("FD474", message, span=span, help="give each a folder of its own: a table above reads both")
