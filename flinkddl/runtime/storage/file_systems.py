"""Small files of a checkpoint: the plan, who runs it, control rows. They lie where Spark keeps the checkpoint.

Spark opens a checkpoint with Hadoop's file systems and the session's settings, so what a path means is Spark's to say:
``/state`` is a folder of this machine or, with a cluster's ``fs.defaultFS``, one of HDFS. Where that is this machine,
files are opened here. Everything else (hdfs, s3a, viewfs, all of a Spark Connect server) goes through Spark: reading
the format ``flinkddl.Files`` of our jar is one operation on one file, done by Spark's driver (see Files.java).
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.session.connect import is_connect
from flinkddl.runtime.session.errors import reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

FORMAT = "flinkddl.Files"
_SCHEME = re.compile(r"[A-Za-z][\w+.-]+:")
_FILE_URI = re.compile(r"file:(?://[^/]*)?(/.*)", re.DOTALL)


class Storage(Protocol):
    """A file system. Paths are text, folders above a file are made; every method raises FD822 when it cannot."""

    def make(self, folder: str) -> None:
        """Make a folder and those above it."""

    def names(self, folder: str) -> list[str]:
        """Return what a folder holds; nothing where there is none."""

    def read(self, path: str) -> str | None:
        """Return a file's text, None where there is none."""

    def write(self, path: str, text: str) -> None:
        """Write a file, or put another in its place: a reader sees the one or the other whole."""

    def create(self, path: str, text: str) -> bool:
        """Write a file where none is; return False and leave it where one is. Of several at once one gets True."""

    def move(self, old: str, new: str) -> None:
        """Give a folder another name."""

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that it holds; one that is not there is no mistake."""


class LocalStorage:
    """This machine's own files."""

    def make(self, folder: str) -> None:
        """See Storage."""
        with _refusal(folder):
            Path(folder).mkdir(parents=True, exist_ok=True)

    def names(self, folder: str) -> list[str]:
        """See Storage."""
        with _refusal(folder):
            return os.listdir(folder) if Path(folder).exists() else []

    def read(self, path: str) -> str | None:
        """See Storage."""
        with _refusal(path):
            return Path(path).read_text(encoding="utf-8") if Path(path).exists() else None

    def write(self, path: str, text: str) -> None:
        """See Storage."""
        with _refusal(path), _part(path, text) as part:
            part.replace(path)

    def create(self, path: str, text: str) -> bool:
        """See Storage."""
        with _refusal(path), _part(path, text) as part, suppress(FileExistsError):
            try:
                os.link(part, path)  # unlike a rename it fails where there is a file
            except FileExistsError:
                raise
            except OSError:  # a file system without links: there a reader may see the file half written
                with Path(path).open("x", encoding="utf-8") as file:
                    file.write(text)
            return True
        return False

    def move(self, old: str, new: str) -> None:
        """See Storage."""
        with _refusal(old):
            Path(old).rename(new)

    def remove(self, path: str) -> None:
        """See Storage."""
        with _refusal(path):
            if Path(path).is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                Path(path).unlink(missing_ok=True)


LOCAL = LocalStorage()


@contextmanager
def _part(path: str, text: str) -> Iterator[Path]:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_text(text, encoding="utf-8")
        yield part
    finally:
        part.unlink(missing_ok=True)


@dataclass(frozen=True)
class SparkStorage:
    """The file systems of a Spark session, by the format of our jar."""

    spark: SparkSession

    def resolve(self, path: str) -> str:
        """Return a path or URI as Spark understands it: with its file system, and whole."""
        return self._do("resolve", path)[0]

    def make(self, folder: str) -> None:
        """See Storage."""
        self._do("make", folder)

    def names(self, folder: str) -> list[str]:
        """See Storage."""
        return self._do("list", folder)

    def read(self, path: str) -> str | None:
        """See Storage."""
        return next(iter(self._do("read", path)), None)

    def write(self, path: str, text: str) -> None:
        """See Storage."""
        self._do("write", path, text=text)

    def create(self, path: str, text: str) -> bool:
        """See Storage."""
        return self._do("create", path, text=text) == ["true"]

    def move(self, old: str, new: str) -> None:
        """See Storage."""
        self._do("move", old, to=new)

    def remove(self, path: str) -> None:
        """See Storage."""
        self._do("remove", path)

    def _do(self, op: str, at: str, **more: str) -> list[str]:
        with _refusal(at):
            frame = self.spark.read.format(FORMAT).options(op=op, at=at, **more).load()
            return [str(row[0]) for row in frame.collect()]


def storage_of(spark: SparkSession, folder: str) -> tuple[Storage, str]:
    """Return where Spark keeps a folder, and the folder: a plain path on this machine, else a whole URI.

    Raises FD822 when Spark knows no such file system or does not reach it.
    """
    remote = SparkStorage(spark)
    whole = remote.resolve(folder)
    own = None if is_connect(spark) else local_path(whole)
    return (remote, whole) if own is None else (LOCAL, str(own))


def local_path(folder: str) -> Path | None:
    """Return a path without scheme or with ``file:`` as one of this machine, else None. Nothing in it is unescaped."""
    if (own := _FILE_URI.fullmatch(folder)) is not None:
        return Path(own[1])
    return None if _SCHEME.match(folder) else Path(folder)


def try_folder(folder: Path) -> Path:
    """Write and remove a file in a folder, or in the nearest one above that is there; return that. Raises OSError."""
    there = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    handle, name = tempfile.mkstemp(dir=there, prefix=".flinkddl-try-")
    os.close(handle)
    Path(name).unlink()
    return there


def check_before(folder: str, conf: Mapping[str, str]) -> None:
    """Raise FD822 for a folder that is one of this machine and cannot be written, before Spark is there to be asked.

    ``conf``: the settings that Spark will be started with. Where Hadoop has settings of its own a path may mean another
    file system, which only Spark knows.
    """
    elsewhere = "HADOOP_CONF_DIR" in os.environ or any(key.startswith("spark.hadoop.fs.") for key in conf)
    own = local_path(folder)
    if own is not None and (_FILE_URI.fullmatch(folder) or not elsewhere):
        with _refusal(folder):
            try_folder(own)


@contextmanager
def _refusal(path: str) -> Iterator[None]:
    """Turn what a file system says into FD822."""
    try:
        yield
    except FlinkDdlError:
        raise
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    except Exception as error:
        raise _unusable(path, reason(str(error))) from error


def _unusable(path: str, why: str) -> FlinkDdlError:
    help = "name a folder that this user may write, in a file system whose jar and settings Spark has"
    return FlinkDdlError.of("FD822", f"the checkpoint at '{path}' cannot be used: {why}", help=help)
