"""Folders and other places named after what a script names: no name leads out of the place that it is given.

And jobs of one script that write into one folder: batches append one after the other, a stream wants it for itself.
Spark's streaming file sink keeps one list of files a folder, by the number of the batch: batches of a second query with
the same numbers count as written and are dropped without a word, and files of a batch job are not seen beside it.
"""

from __future__ import annotations

import posixpath
import re
import uuid
from typing import TYPE_CHECKING

from flinkddl.diagnostics import Diagnostic
from flinkddl.plan.identity import digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flinkddl.diagnostics import Span
    from flinkddl.plan.nodes import Sink
    from flinkddl.spark.job import SparkJob, Write

FILES = frozenset({"text", "parquet"})
"""The formats of Spark that read and write the files of a table."""
_NO_FOLDERS = ("", ".", "..")
_NO_PATH = re.compile(r"[\x00-\x1f\x7f\\]")  # Hadoop reads a backslash as a slash, and NUL ends a path
_EDIT = re.compile(r"\.edit-[0-9a-f]{8}$")
_LONGEST = 200  # bytes of a folder's name; file systems take 255, and a folder set aside gets a date


def folder_name(name: str) -> str:
    """Return the folder of a job: its name, where a file system takes it.

    A statement set is named by all of its sinks, which may be too long; the end is then a hash of the whole name.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name)
    if plain == name and len(name) <= _LONGEST and name not in _NO_FOLDERS:
        return name
    return f"{plain[: _LONGEST - 9]}-{digest(name)}"


def folder_inside(name: str) -> str:
    """Return the folder of a write or a step in its job's: its name, unless that leads elsewhere or is no path.

    Other names stay as they are, whatever they hold: checkpoints were written under them.
    """
    leads_out = any(part in _NO_FOLDERS for part in name.split("/"))
    too_long = len(name.encode(errors="surrogatepass")) > 255
    return folder_name(name) if leads_out or too_long or _NO_PATH.search(name) else name


def fresh_folder(folder: str) -> str:
    """Return a name for a query's folder that was never used: stores of a query that has ended may write into the old.

    Spark's maintenance uploads snapshots that wait for it up to a minute after the end, by the path that they had.
    """
    plain = plain_folder(folder)
    plain = plain if len(plain.encode(errors="surrogatepass")) <= _LONGEST else folder_name(plain)
    return f"{plain}.edit-{uuid.uuid4().hex[:8]}"


def plain_folder(folder: str) -> str:
    """Return the name that ``fresh_folder`` made another of."""
    return _EDIT.sub("", folder)


def view_store(name: str) -> str:
    """Return the global temp view that stands behind a temp view: a plain word, distinct for distinct names."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"flinkddl_{plain}" if plain == name else f"flinkddl_{plain}_{digest(name)}"


def plain_path(path: str) -> str:
    """Return a table's path without scheme, host and what a path does not need, as it ends in Spark's path of a file.

    >>> plain_path("hdfs://name:8020/data//t/"), plain_path("./t")
    ('/data/t', 't')
    """
    return re.sub(r"^(\.\./)+", "", posixpath.normpath(re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?", "", path)))


# ---- one folder, several jobs ----------------------------------------------------------------------------------------


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
