"""Folders and other places named after what a script names: no name leads out of the place that it is given."""

from __future__ import annotations

import posixpath
import re

from flinkddl.spark.fingerprint import digest

FILES = frozenset({"text", "parquet"})
"""The formats of Spark that read and write the files of a table."""
_NO_FOLDERS = ("", ".", "..")
_NO_PATH = re.compile(r"[\x00-\x1f\x7f\\]")  # Hadoop reads a backslash as a slash, and NUL ends a path
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
