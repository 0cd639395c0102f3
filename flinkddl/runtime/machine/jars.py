"""The jars that pip does not bring: found in a folder, in the user cache, or downloaded once through jgo.

``jars.lock.json`` lists, per role, coordinates with the versions to try in order. Nothing here names a host: jgo knows
its repositories, and a mirror is a ``[repositories]`` line in the user's own jgo configuration.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as installed_version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.machine.cache import cache_dir, locked

if TYPE_CHECKING:
    from collections.abc import Iterable

Role = Literal["spark", "broker", "datafaker", "flink"]
DOWNLOAD_THREADS = 8
TIMEOUT_SECONDS = 60
PROGRESS_SECONDS = 5.0


@dataclass(frozen=True)
class Pin:
    """One version of an artefact; ``sha256`` is None where the version follows the installed Spark."""

    version: str
    sha256: str | None


@dataclass(frozen=True)
class Artifact:
    """A jar by coordinates, with the versions to try, first the best."""

    group: str
    name: str
    pins: tuple[Pin, ...]

    @property
    def coordinates(self) -> str:
        """``group:name``."""
        return f"{self.group}:{self.name}"

    def file(self, pin: Pin) -> str:
        """Return the file name of a version, as Maven repositories have it."""
        return f"{self.name}-{pin.version}.jar"


@cache
def locked_artifacts(role: Role) -> tuple[Artifact, ...]:
    """Return the artefacts of a role from the lock file, ``@spark`` replaced by the installed Spark's version."""
    data = json.loads((files("flinkddl.runtime.machine") / "jars.lock.json").read_text(encoding="utf-8"))
    return tuple(_artifact(entry) for entry in data[role])


def _artifact(entry: dict[str, object]) -> Artifact:
    group, _, name = str(entry["artifact"]).partition(":")
    versions = entry["versions"]
    assert isinstance(versions, list)
    pins = (Pin(_version(v["version"]), v.get("sha256")) for v in versions)
    return Artifact(group, name, tuple(pins))


def resolve_jars(role: Role, folder: str | Path | None = None) -> tuple[Path, ...]:
    """Return the paths of all jars of a role, downloading what is missing.

    ``folder`` (default: ``$FLINKDDL_JARS``) is a directory that must then hold all of them: nothing is downloaded.
    Raises FD802 (an artefact cannot be had) or FD803 (wrong checksum).
    """
    folder = folder or os.environ.get("FLINKDDL_JARS") or None
    wanted = locked_artifacts(role)
    if folder is not None:
        return tuple(_from_folder(artifact, Path(folder)) for artifact in wanted)
    store = cache_dir("jars")
    found = {a: _cached(a, store) for a in wanted}
    if None in found.values():
        with locked(store / ".lock"):
            found = {a: _cached(a, store) for a in wanted}
            if missing := [a for a, path in found.items() if path is None]:
                _download_all(missing, store)
        found = {a: _cached(a, store) for a in wanted}
    return tuple(path for path in found.values() if path is not None)


def functions_jar() -> Path | None:
    """Return the jar of our own Spark functions, or None where it was not built."""
    path = Path(str(files("flinkddl") / "jvm" / "flinkddl-functions.jar"))
    return path if path.is_file() else None


def spark_jars(folder: str | None = None) -> tuple[Path, ...]:
    """Return every jar that a flinkddl session needs. Raises FD802 or FD803."""
    own = functions_jar()
    return (*resolve_jars("spark", folder), *([own] if own else []))


def spark_jars_here(folder: str | None = None) -> list[Path]:
    """Return those of Spark's jars that are there, nothing downloaded."""
    try:
        store = Path(folder or os.environ.get("FLINKDDL_JARS") or cache_dir("jars"))
    except FlinkDdlError:  # no cache, no jars
        return []
    return [path for a in locked_artifacts("spark") if (path := _cached(a, store))]


def _version(text: str) -> str:
    """Return a version, ``@spark`` as that of PySpark, asked for then alone: a Spark distribution does not tell it."""
    return text.replace("@spark", installed_version("pyspark")) if "@spark" in text else text


def pyspark_home() -> Path:
    """Return the folder of the installed PySpark, without importing it. Raises RuntimeError where there is none."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise RuntimeError("pyspark is not installed")
    return Path(spec.origin).parent


def beside_spark(jars: Iterable[Path]) -> str:
    """Return which of Spark's own modules are of another version than PySpark, ``spark-avro 4.1.1``; "" for none."""
    own = installed_version("pyspark")
    found = (m for j in jars if (m := re.fullmatch(r"(spark-.+)_2\.13-(.+)\.jar", j.name)) and m[2] != own)
    return ", ".join(f"{m[1]} {m[2]}" for m in found)


def _cached(artifact: Artifact, store: Path) -> Path | None:
    return next((store / artifact.file(p) for p in artifact.pins if (store / artifact.file(p)).is_file()), None)


def _from_folder(artifact: Artifact, folder: Path) -> Path:
    """Return the jar of a folder: a pinned version, or the only version of that name that lies there."""
    pinned = _cached(artifact, folder)
    if pinned is not None:
        return pinned
    others = sorted(folder.glob(f"{artifact.name}-[0-9]*.jar"))
    if len(others) == 1:
        return others[0]
    versions = " or ".join(p.version for p in artifact.pins)
    raise FlinkDdlError.of(
        "FD802",
        f"the jar '{artifact.name}-*.jar' ({artifact.coordinates}, version {versions}) is not in '{folder}'",
        help=f"put '{artifact.file(artifact.pins[-1])}' there, or unset FLINKDDL_JARS / --jars to download it",
    )


def _download_all(missing: list[Artifact], store: Path) -> None:
    """Download artefacts in parallel with a line of progress on stderr. The caller holds the store's lock."""
    with tempfile.TemporaryDirectory(prefix=".part-", dir=store) as part, ThreadPoolExecutor(DOWNLOAD_THREADS) as pool:
        jobs = [pool.submit(_download, artifact, store, Path(part)) for artifact in missing]
        try:
            told = _progress(0, len(jobs), store, 0.0)
            for done, job in enumerate(as_completed(jobs), 1):
                job.result()
                told = _progress(done, len(jobs), store, told)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _progress(done: int, total: int, store: Path, told: float) -> float:
    """Say how far it is, without a terminal some seconds after it was told last; return when it was."""
    text = f"flinkddl: downloaded {done} of {total} jars into {store}"
    now = time.monotonic()
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text}" + ("\n" if done == total else ""))
    elif done == total or now - told >= PROGRESS_SECONDS:
        sys.stderr.write(f"{text}\n")
        told = now
    sys.stderr.flush()
    return told


def _download(artifact: Artifact, store: Path, part: Path) -> None:
    reasons = []
    for pin in artifact.pins:
        try:
            path = _fetch(artifact, pin, part)
        except (RuntimeError, OSError) as error:  # jgo: no repository has it; an error of requests
            reasons.append(f"{pin.version}: {_reason(error)}")
            continue
        _verify(artifact, pin, path)
        path.replace(store / artifact.file(pin))
        return
    raise FlinkDdlError.of(
        "FD802",
        f"the jar {artifact.coordinates} could not be had ({'; '.join(reasons)})",
        help="check the network, name a mirror under [repositories] in ~/.config/jgo.conf,"
        " or give a folder with the jars by --jars or FLINKDDL_JARS",
    )


def _fetch(artifact: Artifact, pin: Pin, part: Path) -> Path:
    """Download one file into a private Maven cache, so that a half-written file is never taken for a jar."""
    from jgo.config import GlobalSettings
    from jgo.maven import MavenContext

    own = GlobalSettings.load().repositories or {}
    context = MavenContext(repo_cache=part, timeout=TIMEOUT_SECONDS)
    context.remote_repos = {**own, **{k: v for k, v in context.remote_repos.items() if k not in own}}
    return Path(context.project(artifact.group, artifact.name).at_version(pin.version).artifact().resolve())


def _reason(error: Exception) -> str:
    return "not found" if isinstance(error, RuntimeError) else f"no connection ({type(error).__name__})"


def _verify(artifact: Artifact, pin: Pin, path: Path) -> None:
    """Check the SHA-256, or where none is pinned that the file is a whole zip. Raises FD803."""
    if pin.sha256 is not None:
        actual = hashlib.sha256(path.read_bytes()).hexdigest()
        sound, found = actual == pin.sha256, f"SHA-256 {actual}, expected {pin.sha256}"
    else:
        sound, found = _whole_zip(path), "a damaged file"
    if not sound:
        raise FlinkDdlError.of(
            "FD803",
            f"the download of {artifact.coordinates}:{pin.version} is not what the lock file says: {found}",
            help="try again, then ask who runs the repository or mirror; the file was thrown away",
        )


def _whole_zip(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except zipfile.BadZipFile:
        return False
