"""A checkpoint that has been moved or copied: Spark notes whole paths in it, and would look where it was."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Iterator

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
