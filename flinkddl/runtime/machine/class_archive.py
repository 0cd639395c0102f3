"""Java keeps the classes of a Spark start as it had them in memory, in the cache: the next start reads no jar for them.

A start without an archive is asked to write one when it ends (``-XX:ArchiveClassesAtExit``, JEP 350), which takes some
seconds after the job's end; later starts map it (``-XX:SharedArchiveFile``). Java itself looks whether an archive fits:
its own build, the class path with the jars' sizes and times; what does not fit is left aside. An archive goes by the
name of what it was made of, so that none is ever written over while somebody reads it.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.runtime.machine.cache import cache_dir
from flinkddl.runtime.machine.jars import pyspark_home

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KEPT_DAYS = 30
"""An archive that no start has used for so long is taken away."""

KEPT = 8
"""So many are kept, of 150 to 220 MB each: other jars, and another environment of Python, have one of their own."""

TRIED_AGAIN_SECONDS = 600.0
"""A start whose Java goes on, or was killed, leaves no archive: after so long another one is asked for it."""

SETTLED_SECONDS = 5.0
"""An archive that was not written to for so long is whole."""

_MAGIC = (0xF00BABA8).to_bytes(4, "little")  # of a dynamic archive: its header is written last (filemap.cpp)
_TO_STDERR = ("-Xlog:disable", "-Xlog:all=warning:stderr")  # Java's warnings go to the log, as Spark's errors do
_OTHER_CLASSES = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")


def archive_options(java: str, jars: Iterable[str], given: str, environment: Mapping[str, str]) -> list[str]:
    """Return Java's options for a start with ``jars`` before Spark's own: use the archive, or write one at the end.

    None where the user's own options (``given``) speak of archives, where a folder of settings is on the class path
    (Java archives classes of jars alone), or where the cache cannot be written: an archive is only for speed.
    """
    if "SharedArchive" in given or "-Xshare" in given or "ArchiveClasses" in given:
        return []
    if any(environment.get(name) for name in _OTHER_CLASSES):
        return []
    try:
        folder = cache_dir("classes")
        archive = folder / f"{_key(java, jars)}.jsa"
        if " " in str(archive) or '"' in str(archive):
            return []
        _settle(archive)
        if archive.is_file():
            os.utime(archive)
            return [f"-XX:SharedArchiveFile={archive}", *_TO_STDERR]
        return [f"-XX:ArchiveClassesAtExit={_made(archive)}", *_TO_STDERR] if _first(archive) else []
    except Exception:  # noqa: BLE001 - whatever is wrong with the cache is said where it is needed
        return []


def _key(java: str, jars: Iterable[str]) -> str:
    """Return a name for a Java and a class path, of sizes and times as Java compares them."""
    told = hashlib.sha256()
    for path in (Path(java).resolve(), *map(Path, jars), pyspark_home() / "jars"):
        found = path.stat()
        told.update(f"{path} {found.st_size} {found.st_mtime_ns}\n".encode())
    return told.hexdigest()[:16]


def _made(archive: Path) -> Path:
    return archive.with_suffix(".new")


def _first(archive: Path) -> bool:
    """Return whether this start is to write the archive: nobody else is about to."""
    asked = archive.with_suffix(".asked")
    if asked.exists() and time.time() - asked.stat().st_mtime > TRIED_AGAIN_SECONDS:
        asked.unlink(missing_ok=True)
    try:
        asked.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _settle(archive: Path) -> None:
    """Give an archive its name once Java is through with it, and take old ones away."""
    made, now = _made(archive), time.time()
    if made.is_file() and now - made.stat().st_mtime > SETTLED_SECONDS:
        with made.open("rb") as file:
            whole = file.read(4) == _MAGIC
        if whole:
            made.replace(archive)
            archive.with_suffix(".asked").unlink(missing_ok=True)
    _take_old_away(archive, now)


def _take_old_away(archive: Path, now: float) -> None:
    """Keep the archives that were used last, beside the one that is asked for; who has one open goes on reading it."""
    ages = sorted((now - other.stat().st_mtime, other) for other in archive.parent.iterdir() if other != archive)
    old = [other for age, other in ages if age > KEPT_DAYS * 86400]
    whole = [other for age, other in ages if age > SETTLED_SECONDS and other.suffix in (".jsa", ".new")]
    for other in {*old, *whole[KEPT - 1 :]}:
        other.unlink(missing_ok=True)
