"""Which fields of each table's rows a query reads: what nobody reads is checked when a message is read, but not built.

Fields inside a ROW count by themselves as far as only projections and filters stand above the scan: every other node
takes a field as a whole. Of a table of upserts whose key is lost above the scan the newest row of each key is kept, of
what is read and the key alone; earlier versions kept rows as wholes. So does a bounded run, which folds changes: a
change of a field that nobody reads is a change there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flinkddl.plan.merged import twins
from flinkddl.plan.nodes import Filter, Project, Scan
from flinkddl.plan.rex import Call, InputRef, Rex, walk
from flinkddl.plan.sharing import meeting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from flinkddl.plan.nodes.forms import How
    from flinkddl.plan.physical import Physical

    Wider = Callable[[Scan, "Parts"], "Parts"]  # what is to be kept of a table of which these fields are read

Parts = dict[str, "Parts | None"]
"""Fields by name, each with what is read of it: None is all, else parts of its own."""
Path = tuple[int | str, ...]
"""A field of a node, then names inside it."""


@dataclass(frozen=True)
class Reading:
    """What is read of each scan, by the identity of its node; of one that is not there all of it is.

    ``decoded``: of what its messages hold, by physical and metadata columns. ``kept``: of the fields of a table of
    upserts, where a row of each key is kept right above it; not there where that is a whole row.
    """

    decoded: Mapping[int, Parts] = field(default_factory=dict)
    kept: Mapping[int, Parts] = field(default_factory=dict)


NOTHING_KNOWN = Reading()


def reading(
    trees: Sequence[Physical],
    *,
    streaming: bool,
    merging: Sequence[tuple[Physical, How]] = (),
    shared: Iterable[Sequence[Scan]] = (),
    narrows: bool = False,
    wider: Wider | None = None,
) -> Reading:
    """Return what is read of each scan.

    ``merging``: queries in which equal sub-plans run as one, for all that is read of them. ``shared``: scans that are
    one, of whatever INSERT. ``narrows``: of upserts what is read is kept, not whole rows; ``wider``: or what that says.
    """
    look = _Look(streaming, narrows)
    for twin in (*twins(merging), *shared):
        look.as_one(twin)
    for tree in trees:
        look.at(tree, _whole(tree))
    return look.found(wider)


@dataclass
class _Look:
    """Paths that are read of the fields of each scan, by its identity; scans that are one share theirs."""

    streaming: bool
    narrows: bool
    paths: dict[int, set[Path]] = field(default_factory=dict)
    scans: dict[int, Scan] = field(default_factory=dict)

    def as_one(self, scans: Sequence[Scan]) -> None:
        """Let what is read of one of these scans be read of all."""
        paths = next((self.paths[id(scan)] for scan in scans if id(scan) in self.paths), set[Path]())
        self.paths |= {id(scan): paths for scan in scans}

    def at(self, here: Physical, needed: set[Path]) -> None:
        """Look at a place of which these are read, and at all below it."""
        node = here.node
        if isinstance(node, Scan):
            compared = not self.streaming and node.carries != "append"
            self.scans[id(node)] = node
            self.paths.setdefault(id(node), set()).update(_whole(here) if compared else needed)
            return
        for group in meeting(node) if here.shares else ():
            self.as_one(group)
        for below in here.inputs:
            alike = below.form.kind == here.form.kind or (self.narrows and isinstance(below.node, Scan))
            passes = isinstance(node, Filter | Project) and alike
            self.at(below, _below(node, needed) if passes else _whole(below))

    def found(self, wider: Wider | None) -> Reading:
        """Return what is read of each scan, by names."""
        decoded, kept = dict[int, Parts](), dict[int, Parts]()
        for place, scan in self.scans.items():
            paths = self.paths[place]
            if self.narrows and scan.carries == "upsert":
                parts = _parts(scan, paths | _key(scan))
                parts = parts if wider is None else wider(scan, parts)
                paths = _paths(scan, parts)
                if parts != dict.fromkeys(f.name for f in scan.fields):
                    kept[place] = parts
            decoded[place] = _parts(scan, _of_table(scan, paths))
        return Reading(decoded, kept)


def _whole(here: Physical) -> set[Path]:
    return {(i,) for i in range(len(here.node.fields))}


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
    own = _key(node) if node.carries != "append" else set()
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


def _key(node: Scan) -> set[Path]:
    return {(i,) for key in node.upsert_keys(()) for i in key}


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


def _parts(scan: Scan, paths: Iterable[Path]) -> Parts:
    return parts_of([scan.fields[int(first)].name, *map(str, inside)] for first, *inside in paths)


def parts_of(each: Iterable[Sequence[str]]) -> Parts:
    """Return parts by the names that lead to each of them."""
    parts: Parts = {}
    for names in each:
        _mark(parts, names)
    return parts


def _mark(parts: Parts, names: Sequence[str]) -> None:
    name, *inside = names
    if not inside:
        parts[name] = None
    elif (within := parts.setdefault(name, {})) is not None:
        _mark(within, inside)


def _paths(scan: Scan, parts: Parts) -> set[Path]:
    places = {f.name: i for i, f in enumerate(scan.fields)}
    return {(places[name], *inside) for name, *inside in names_in(parts)}


def names_in(parts: Parts) -> Iterable[tuple[str, ...]]:
    """Yield the names that lead to each part."""
    for name, inside in parts.items():
        yield from ((name,),) if inside is None else ((name, *names) for names in names_in(inside))


def holds(parts: Parts | None, names: Sequence[str]) -> bool:
    """Return whether what these names lead to is in parts, as a whole where that is asked for."""
    if parts is None or not names:
        return parts is None
    return names[0] in parts and holds(parts[names[0]], names[1:])
