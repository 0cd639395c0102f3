"""A checkpoint that has been moved or copied: Spark notes whole paths in it, and would look where it was."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.runtime.storage.file_systems import Storage

_SYSTEM = r"[A-Za-z][\w+.-]*:(?://[^/\"]*)?"
_SCHEMA = re.compile(r"/_stateSchema/.*", re.DOTALL)


def brought_along(root: str) -> None:
    """Have the state by key in a job's or a query's folder find the files of its own, wherever it was written.

    Operators' metadata has a first line with a version, then JSON with the paths of their schemas. Raises FD822.
    """
    for note in (*_notes(Path(root)), *(n for query in Path(root).glob("*") for n in _notes(query))):
        try:
            _bring(note)
        except (OSError, ValueError, KeyError) as error:
            message = f"'{note}' does not say where the schema of its state is: {error}"
            help = "go on where the checkpoint was written, or start anew with --fresh"
            raise FlinkDdlError.of("FD822", message, help=help) from error


def brought_from(storage: Storage, root: str, was: str) -> None:
    """Have what Spark notes in a job's folder name files of its own: the folder was called ``was``. Raises FD822.

    Those are the schemas of state by key, and what a query has read of files: VALUES and control rows, by their paths.
    """
    for query in (name for name in storage.names(root) if not name.startswith("flinkddl-")):
        place = f"{root}/{query}"
        for number in (n for n in storage.names(f"{place}/state") if n.isdigit()):
            told_anew(storage, f"{place}/state/{number}", f"{was}/{query}", (place, int(number)))
        for source in (f"{place}/sources/{n}" for n in storage.names(f"{place}/sources") if n[0] != "."):
            for name in (n for n in storage.names(source) if n.removesuffix(".compact").isdigit()):
                text = storage.read(f"{source}/{name}") or ""
                if (told := files_moved(text, was, root)) != text:
                    put(storage, source, name, told)


def files_moved(log: str, old: str, new: str) -> str:
    """Return what a source has noted of its files, with those below the one folder as below the other."""
    old, new = (re.sub(rf"^{_SYSTEM}", "", folder) for folder in (old, new))
    for spelled in (str, quote):
        place = re.escape(spelled(old))
        log = re.sub(rf'("path":"(?:{_SYSTEM})?){place}/', lambda m: f"{m[1]}{quote(new)}/", log)
    return log


def told_anew(storage: Storage, operator: str, was: str, now: tuple[str, int]) -> None:
    """Tell Spark's notes of an operator its number and where its schema lies now: the query's folder was ``was``.

    ``now``: the query's folder, and the operator's number in it.
    """
    place, number = now
    for folder in (f"{operator}/_metadata", f"{operator}/_metadata/v2"):
        for name in storage.names(folder):
            text = storage.read(f"{folder}/{name}") if name == "metadata" or name.isdigit() else None
            if text is None:
                continue
            told = re.sub(r'("operatorId":)\d+', rf"\g<1>{number}", text)
            told = re.sub(rf"{re.escape(was)}/state/\d+/", lambda _: f"{place}/state/{number}/", told)
            if told != text:
                put(storage, folder, name, told)


def put(storage: Storage, folder: str, name: str, text: str) -> None:
    """Write a file of Spark's anew."""
    storage.remove(f"{folder}/.{name}.crc")  # Hadoop's check of the text that was there
    storage.write(f"{folder}/{name}", text)


def _notes(query: Path) -> list[Path]:
    return [p for p in query.glob("state/*/_metadata/v2/*") if p.name.isdigit()]


@contextmanager
def at_home(query: str) -> Iterator[str]:
    """Yield the folder of a query, or links to what lies in it beside notes that are right: it is not changed."""
    folder = Path(query)
    if not any(map(_right, _notes(folder))):
        yield query
        return
    with tempfile.TemporaryDirectory(prefix="flinkddl-state-") as place:
        _link(folder, Path(place), "state")
        for operator in (folder / "state").iterdir():
            linked = Path(place, "state", operator.name)
            linked.mkdir(parents=True)
            _link(operator, linked, "_metadata")
            if (operator / "_metadata").exists():
                shutil.copytree(operator / "_metadata", linked / "_metadata")
        brought_along(place)
        yield place


def _link(folder: Path, to: Path, but: str) -> None:
    for child in folder.iterdir():
        if child.name != but:
            (to / child.name).symlink_to(child.absolute())


def _bring(note: Path) -> None:
    if text := _right(note):
        part = note.with_name(f".{note.name}.part")
        part.write_text(text, encoding="utf-8")
        note.with_name(f".{note.name}.crc").unlink(missing_ok=True)  # it is of the old text
        part.replace(note)


def _right(note: Path) -> str:
    """Return the text of a note with the paths of its own folder; "" where it has them."""
    first, _, rest = note.read_text(encoding="utf-8").partition("\n")
    told = json.loads(rest)
    changed = False
    for store in told["stateStoreInfo"]:
        paths = store.get("stateSchemaFilePaths", [])
        here = [_here(path, note.parents[2]) for path in paths]
        changed = changed or here != paths
        store.update({"stateSchemaFilePaths": here} if paths else {})
    return f"{first}\n{json.dumps(told, separators=(',', ':'), ensure_ascii=False)}" if changed else ""


def _here(path: str, operator: Path) -> str:
    """Return the path of a schema in the folder of its operator; one that is there, or not here, as it is."""
    found = _SCHEMA.search(path)
    place = f"{operator.absolute()}{found[0]}" if found else ""
    same = not place or re.sub(r"^file:/*", "/", path) == place
    return path if same or not Path(place).exists() else f"file:{place}"
