"""Which fields of each table's rows a query reads: what nobody reads is checked when a message is read, but not built.

Fields inside a ROW count by themselves as far as only projections and filters stand above the scan: every other node
takes a field as a whole. Rows of a table whose changes are compared with earlier ones, because their key is lost above
the scan or a bounded run folds them, are read as wholes: a change of a field that nobody reads is a change there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.merged import twins
from flinkddl.plan.nodes import Filter, Project, Scan
from flinkddl.plan.rex import Call, InputRef, Rex, walk
from flinkddl.plan.sharing import meeting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.plan.nodes.forms import How
    from flinkddl.plan.physical import Physical

Parts = dict[str, "Parts | None"]
"""Fields by name, each with what is read of it: None is all, else parts of its own."""
Path = tuple[int | str, ...]
"""A field of a node, then names inside it."""


def decoded(
    trees: Sequence[Physical],
    *,
    streaming: bool,
    merging: Sequence[tuple[Physical, How]] = (),
    shared: Iterable[Sequence[Scan]] = (),
) -> dict[int, Parts]:
    """Return what is read of each scan, by the identity of its node; a scan that is not there is read as a whole.

    ``merging``: queries in which equal sub-plans run as one, for all that is read of them. ``shared``: scans that are
    one, of whatever INSERT.
    """
    found: dict[int, Parts] = {}
    for twin in (*twins(merging), *shared):
        _as_one(twin, found)
    for tree in trees:
        _look(tree, _whole(tree), streaming, found)
    return found


def _as_one(scans: Sequence[Scan], found: dict[int, Parts]) -> None:
    """Let what is read of one of these scans be read of all."""
    parts = next((found[id(scan)] for scan in scans if id(scan) in found), {})
    found |= {id(scan): parts for scan in scans}


def _whole(here: Physical) -> set[Path]:
    return {(i,) for i in range(len(here.node.fields))}


def _look(here: Physical, needed: set[Path], streaming: bool, found: dict[int, Parts]) -> None:
    node = here.node
    if isinstance(node, Scan):
        compared = not streaming and node.carries != "append"
        parts = found.setdefault(id(node), {})
        for path in _of_table(node, _whole(here) if compared else needed):
            _mark(parts, [node.fields[int(path[0])].name, *map(str, path[1:])])
        return
    for group in meeting(node) if here.shares else ():
        _as_one(group, found)
    for below in here.inputs:
        passes = isinstance(node, Filter | Project) and below.form.kind == here.form.kind
        _look(below, _below(node, needed) if passes else _whole(below), streaming, found)


def _below(node: object, needed: set[Path]) -> set[Path]:
    """Return what a projection or a filter reads of its input for this to be read of it."""
    if isinstance(node, Filter):
        return needed | _read(node.condition)
    assert isinstance(node, Project)
    out: set[Path] = set()
    for i, rex in enumerate(node.exprs):
        path = _path(rex)
        out |= _read(rex) if path is None else {(*path, *p[1:]) for p in needed if p[0] == i}
    return out


def _of_table(node: Scan, needed: set[Path]) -> set[Path]:
    """Return what is read of physical and metadata columns; the watermark and a primary key are read in any case."""
    own: set[Path] = {(i,) for key in node.upsert_keys(()) for i in key} if node.carries != "append" else set()
    if node.watermark is not None:
        own |= {(node.watermark.index,)} | _read(node.watermark.expression)
    computed = dict(node.computed)
    out: set[Path] = set()
    for path in needed | own:
        rex = computed.get(int(path[0]))
        if rex is None:
            out.add(path)
        else:
            below = _path(rex)
            out |= _read(rex) if below is None else {(*below, *path[1:])}
    return out


def _path(rex: Rex) -> Path | None:
    """Return the place of a field, or of a field inside it; None for anything that is computed."""
    names: list[str] = []
    while isinstance(rex, Call) and rex.function == "FIELD":
        names.append(str(rex.option("name")))
        rex = rex.args[0]
    return (rex.index, *reversed(names)) if isinstance(rex, InputRef) else None


def _read(rex: Rex) -> set[Path]:
    def below(found: Rex) -> tuple[Rex, ...]:
        return found.args if isinstance(found, Call) and _path(found) is None else ()

    return {path for found in walk(rex, below) if (path := _path(found)) is not None}


def _mark(parts: Parts, names: list[str]) -> None:
    name, *inside = names
    if not inside:
        parts[name] = None
    elif (within := parts.setdefault(name, {})) is not None:
        _mark(within, inside)
