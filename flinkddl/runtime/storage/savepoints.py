"""Savepoints: a copy of a job's checkpoint as of its last committed batches, that a run elsewhere goes on from.

What Spark has committed never changes: the offsets and the note of a batch, and the state of the version after it. So a
copy can be made while the job runs; what belongs to later batches is left out, and of the state only what that version
is made of (the last snapshot before it, the changes since). A manifest lists all files with their checksums.

A restored query gets another id than the one it was copied from: a sink that is exactly-once notes in Kafka which
batches of a query are written (KafkaSink.java), and both may go on. So a batch that was planned but not committed, by a
run that was killed, may be in Kafka and must not be left behind: with such a sink no savepoint is made then.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
import uuid
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl import __version__
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.checkpoint import PLAN_FILE, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.runtime.storage.moved import files_moved
from flinkddl.runtime.storage.moves import MOVES_FILE
from flinkddl.spark.folders import folder_name

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFEST = "flinkddl-savepoint.json"
RESTORED = "flinkddl-restored.json"  # in a job's folder: the savepoint that it began with
_ATTEMPTS = 3
_VERSIONED = re.compile(r"(\d+)(?:_[\w-]+)*\.(?:changelog|delta|zip|snapshot)")
_WHOLE = (".zip", ".snapshot")
_LOGS = ("offsets", "commits")


@dataclass(frozen=True)
class Taken:
    """One query of a savepoint: its last committed batch, where it stands in each source, the bytes of each state."""

    batch: int
    sources: list[Any] = field(default_factory=list)
    state: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Savepoint:
    """A savepoint's manifest. ``files`` are size and SHA-256 by path, ``nodes`` identity and name of what keeps state.

    ``folder`` is the checkpoint's; ``script`` is where the job's script was, ``script_hash`` the SHA-256 of its text.
    """

    path: str
    folder: str
    job: str
    created: str
    flinkddl: str
    spark: str
    script: str
    script_hash: str
    plan: list[list[str]]
    nodes: list[list[str]]
    queries: dict[str, Taken]
    files: dict[str, tuple[int, str]]

    @property
    def name(self) -> str:
        """Its folder's name."""
        return Path(self.path).name

    @property
    def bytes(self) -> int:
        """Size of all its files."""
        return sum(size for size, _ in self.files.values())


def savepoint_folder(text: str) -> Path:
    """Return a folder for savepoints as a path of this machine. Raises FD859 for another file system."""
    from flinkddl.runtime.storage.file_systems import local_path

    found = local_path(text)
    if found is None:
        help = (
            "name a folder of this machine; a folder of the other file system is copied with its own tools, job stopped"
        )
        raise FlinkDdlError.of("FD859", f"savepoints are not written to '{text}'", help=help)
    return found


def folder_of(root: Path, job: str) -> Path:
    """Return where a script's job keeps its checkpoint below ``root``: in a folder of its name, twice."""
    name = folder_name(job)
    return root / name / name


# ---- making one ----------------------------------------------------------------------------------------------------


def create(folder: Path, target: Path, *, live: bool) -> Savepoint:
    """Copy a job's folder into a new folder below ``target``; ``live``: by the run that holds it.

    Raises FD859 where no batch is committed yet, or one may be written that is not, FD822 where files fail.
    """
    plan = stored_plan(LOCAL, str(folder))
    if plan is None:
        raise FlinkDdlError.of("FD859", f"'{folder}' holds no checkpoint of a job", help="name the folder of one job")
    if plan["drained"]:
        raise FlinkDdlError.of("FD859", f"job '{plan['job']}' was drained to its end: nothing can go on from it")
    if (folder / MOVES_FILE).exists():
        message = f"a start of job '{plan['job']}' was ended while it gave state the place of its operators"
        raise FlinkDdlError.of("FD859", message, help="start the job once, then make the savepoint")
    place = target / f"savepoint-{folder.name[:100]}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    while place.exists():
        place = place.with_name(f"{place.name}-2")
    part = place.with_name(f".{place.name}.part")
    try:
        for attempt in range(1, _ATTEMPTS + 1):
            shutil.rmtree(part, ignore_errors=True)
            try:
                return _copied(folder, plan, part, place, live=live)
            except FileNotFoundError:  # Spark has taken away what is too old for it
                if attempt == _ATTEMPTS:
                    raise
    except OSError as error:
        message = f"the savepoint '{place}' cannot be written: {error.strerror or error}"
        raise FlinkDdlError.of("FD822", message, help="name a folder that this user may write") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    raise AssertionError


def _copied(folder: Path, plan: dict[str, Any], part: Path, place: Path, *, live: bool) -> Savepoint:
    batches = _batches(folder, plan, live=live)
    part.mkdir(parents=True, mode=0o700)
    with _pinned(folder, list(_wanted(folder, batches))) as (source, paths):
        files = {path: _copy(source / path, part / path) for path in paths}
    queries = {name: _taken(part / name, batch, files, name) for name, batch in batches.items()}
    savepoint = Savepoint(
        path=str(place.absolute()),
        folder=str(folder.absolute()),
        job=plan["job"],
        created=datetime.now(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00") + " UTC",
        flinkddl=__version__,
        spark=version("pyspark"),
        script=plan["script"][0],
        script_hash=plan["script"][1],
        plan=[list(entry) for entry in plan["plan"]],
        nodes=plan["nodes"],
        queries=queries,
        files=files,
    )
    (part / MANIFEST).write_text(json.dumps(asdict(savepoint), indent=1, ensure_ascii=False), encoding="utf-8")
    part.rename(place)
    return savepoint


def _batches(folder: Path, plan: dict[str, Any], *, live: bool) -> dict[str, int]:
    """Return the last committed batch of each query, by the folder of the query."""
    found: dict[str, int] = {}
    for place in sorted(p.parent for p in folder.rglob("metadata") if (p.parent / "offsets").is_dir()):
        committed, planned = last_of(place / "commits"), last_of(place / "offsets")
        name = str(place.relative_to(folder))
        if committed is None:
            message = f"the query into '{name}' has committed no batch yet"
            raise FlinkDdlError.of("FD859", message, help="wait for the job's first batch")
        if not live and plan["transactional"] and planned != committed:
            message = f"batch {planned} of the query into '{name}' is planned and not committed: Kafka may have it"
            help = "start the job once and stop it in order; then make the savepoint"
            raise FlinkDdlError.of("FD859", message, help=help)
        found[name] = committed
    if not found:
        raise FlinkDdlError.of("FD859", f"no query has begun in '{folder}'", help="wait for the job's first batch")
    return found


def last_of(log: Path) -> int | None:
    """Return the last batch of a log of Spark's, None where it has none."""
    return max((int(p.name) for p in log.glob("[0-9]*") if p.name.isdigit()), default=None)


def _wanted(folder: Path, batches: dict[str, int]) -> Iterator[str]:
    for path in _all_files(folder):
        name = next((n for n in batches if path.startswith(f"{n}/")), None)
        parts = path.removeprefix(f"{name}/").split("/")
        if name is None:
            if not path.startswith("flinkddl-owner-"):
                yield path
        elif parts[0] != "state" and _of_batch(parts, batches[name]):
            yield path
    for name, batch in batches.items():
        for place in sorted({p.parent for p in (folder / name / "state").rglob("*") if p.is_file()}):
            yield from (f"{place.relative_to(folder)}/{n}" for n in of_version(place, batch + 1))


def _all_files(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            yield str(path.relative_to(folder))


def _of_batch(parts: list[str], batch: int) -> bool:
    """Whether a file is of a batch up to this one: offsets, commits, and the files that a source has listed."""
    number = parts[-1].removesuffix(".compact")
    return parts[0] not in (*_LOGS, "sources") or not number.isdigit() or int(number) <= batch


def of_version(place: Path, wanted: int) -> list[str]:
    """Return the files of one state store that its version is made of. Raises FileNotFoundError where some are gone."""
    names = [p.name for p in place.iterdir() if p.is_file() and not p.name.startswith(".")]
    versions = {n: int(m[1]) for n in names if (m := _VERSIONED.fullmatch(n))}
    if not versions:
        return names
    snapshot = max((v for n, v in versions.items() if n.endswith(_WHOLE) and v <= wanted), default=0)
    changes = {v for n, v in versions.items() if not n.endswith(_WHOLE) and snapshot < v <= wanted}
    if changes != set(range(snapshot + 1, wanted + 1)):
        raise FileNotFoundError(2, f"state of version {wanted} is not whole", str(place))
    first = {n for n, v in versions.items() if v == snapshot and n.endswith(_WHOLE)}
    later = {n for n, v in versions.items() if v in changes and not n.endswith(_WHOLE)}
    return sorted((set(names) - set(versions)) | first | later)


@contextmanager
def _pinned(folder: Path, paths: list[str]) -> Iterator[tuple[Path, list[str]]]:
    """Yield where the files stay for the body, whatever Spark takes away meanwhile: as links, where there are such."""
    stage = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}")
    try:
        try:
            for path in paths:
                (stage / path).parent.mkdir(parents=True, exist_ok=True)
                os.link(folder / path, stage / path)
        except FileNotFoundError:
            raise
        except OSError:
            yield folder, paths
        else:
            yield stage, paths
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _copy(source: Path, target: Path) -> tuple[int, str]:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as old, target.open("wb") as new:
        while block := old.read(1 << 20):
            digest.update(block)
            size += len(block)
            new.write(block)
    return size, digest.hexdigest()


def _taken(place: Path, batch: int, files: dict[str, tuple[int, str]], name: str) -> Taken:
    lines = (place / "offsets" / str(batch)).read_text(encoding="utf-8").splitlines()[1:]
    state: dict[str, int] = {}
    for path, (size, _) in files.items():
        if path.startswith(f"{name}/state/"):
            operator = path.removeprefix(f"{name}/state/").split("/")[0]
            state[operator] = state.get(operator, 0) + size
    named = {f"{op} {_operator(place / 'state' / op)}".strip(): size for op, size in sorted(state.items())}
    return Taken(batch, [_json(line) for line in lines if line.strip() and "batchWatermarkMs" not in line], named)


def _operator(place: Path) -> str:
    """Return Spark's name of a stateful operator, as far as its folder says it."""
    texts = (
        p.read_text(encoding="utf-8", errors="replace") for p in sorted((place / "_metadata").rglob("*")) if p.is_file()
    )
    return next((m[1] for t in texts if (m := re.search(r'"operatorName"\s*:\s*"([^"]+)"', t))), "")


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


# ---- reading and taking back ---------------------------------------------------------------------------------------


def load(place: Path) -> Savepoint:
    """Return the savepoint of a folder. Raises FD857 where none is there, with the word for one of Flink's."""
    try:
        raw = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        raw["queries"] = {name: Taken(**taken) for name, taken in raw["queries"].items()}
        raw["files"] = {path: (int(size), str(sum_)) for path, (size, sum_) in raw["files"].items()}
        known = {f.name for f in fields(Savepoint)}
        return Savepoint(**{k: v for k, v in raw.items() if k in known} | {"path": str(place.absolute())})
    except FileNotFoundError as error:
        what = (
            "is a savepoint of Flink, whose state cannot be read"
            if (place / "_metadata").exists()
            else "is no savepoint"
        )
        help = "`flinkddl savepoint create` makes them; `flinkddl handover` starts at a Flink job's offsets"
        raise FlinkDdlError.of("FD857", f"'{place}' {what}", help=help) from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FlinkDdlError.of("FD857", f"'{place}/{MANIFEST}' cannot be read: {error}") from error


def every(folder: Path) -> list[Savepoint]:
    """Return the savepoints of a folder, oldest first."""
    found = (load(path.parent) for path in folder.glob(f"*/{MANIFEST}"))
    return sorted(found, key=lambda s: (s.created, s.name))


def restore(savepoint: Savepoint, folder: Path) -> None:
    """Copy a savepoint to a job's new folder, its queries under new ids.

    Raises FD857 where a file is not what the manifest says, FD858 where the folder holds state,
    FD822 where it cannot be written.
    """
    if any((folder / name).exists() for name in (PLAN_FILE, *savepoint.queries)):
        message = f"'{folder}' holds state of its own"
        raise FlinkDdlError.of("FD858", message, help="--fresh sets it aside, or use another --checkpoint")
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.part")
    try:
        part.mkdir(parents=True)
        for path, known in savepoint.files.items():
            if _copy(Path(savepoint.path, path), part / path) != known:
                raise _damaged(savepoint, path, "is not what it was")
        for name in savepoint.queries:
            for log in (p for p in (part / name / "sources").rglob("*") if p.is_file()):
                told = files_moved(log.read_text(encoding="utf-8"), savepoint.folder, str(folder.absolute()))
                log.write_text(told, encoding="utf-8")
            (part / name / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}), encoding="utf-8")
        origin = {"savepoint": savepoint.name, "created": savepoint.created}
        (part / RESTORED).write_text(json.dumps(origin), encoding="utf-8")
        if folder.exists():
            for child in sorted(part.iterdir(), key=lambda p: p.name == RESTORED):  # that one says that all are there
                child.rename(folder / child.name)
        else:
            part.rename(folder)
    except FileNotFoundError as error:
        raise _damaged(savepoint, str(error.filename), "is gone") from error
    except OSError as error:
        raise FlinkDdlError.of("FD822", f"'{folder}' cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def came_from(folder: Path) -> str:
    """Return the name of the savepoint that a job's folder began with; nothing where with none."""
    text = LOCAL.read(f"{folder}/{RESTORED}")
    return "" if text is None else str(json.loads(text)["savepoint"])


def damage(savepoint: Savepoint) -> str:
    """Return which file is not what the manifest says; nothing where all are."""
    for path, (_, sum_) in savepoint.files.items():
        place = Path(savepoint.path, path)
        if not place.is_file():
            return f"'{path}' is gone"
        with place.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sum_:
                return f"'{path}' is not what it was"
    return ""


def drop(savepoint: Savepoint) -> None:
    """Remove a savepoint: the files of its manifest, and the folders that are empty then."""
    place = Path(savepoint.path)
    for path in [*savepoint.files, MANIFEST]:
        (place / path).unlink(missing_ok=True)
    for folder in sorted((p for p in place.rglob("*") if p.is_dir()), key=lambda p: -len(p.parts)):
        if not any(folder.iterdir()):
            folder.rmdir()
    if not any(place.iterdir()):
        place.rmdir()


def keep(folder: Path, job: str, most: int) -> list[Savepoint]:
    """Drop the oldest savepoints of a job in a folder, but for ``most``; return those that are gone."""
    gone = [s for s in every(folder) if s.job == job][:-most] if most > 0 else []
    for savepoint in gone:
        drop(savepoint)
    return gone


def _damaged(savepoint: Savepoint, path: str, why: str) -> FlinkDdlError:
    return FlinkDdlError.of("FD857", f"the savepoint '{savepoint.path}' is damaged: '{path}' {why}")
