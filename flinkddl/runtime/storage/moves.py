"""State folders that get the numbers that their operators have now: Spark looks for ``state/<number>`` of a query.

The query gets a folder of another name first: stores of a run that ended a moment ago in this process may still upload
what waits for it, by the numbers that operators had, into the folder as it was called then.

A journal is written before the first folder moves. It holds the plan that the checkpoint belongs to afterwards, and
whoever opens the folder next ends what it says: a run that is killed half way leaves nothing that does not fit. New
operators lie in ``state-next`` by then (``made``), as Spark would have written them.

A job's whole folder gets another name by the same journal (``rename``), which says what it was called: read under that
name it means nothing, for the folder has not been moved; under the new one the rest is to be done.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.storage.moved import brought_from, put, told_anew
from flinkddl.spark.carried import NEW

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flinkddl.runtime.storage.file_systems import Storage

MOVES_FILE = "flinkddl-moves.json"
FILLING = "filling"
"""Folder in a job's in which new operators are filled."""
_NEXT, _PARTED = "state-next", "state-moved"
_IDS = "stateUniqueIds"
_ZIP = re.compile(r"(\d+)(|_[\w-]+)\.zip")
_Entry = tuple[str, str, tuple[int, ...], tuple[str, str] | None]
"""Of the journal: a query's folder, the one it gets, its operators' order, its last commit where that names them."""


@dataclass(frozen=True)
class Move:
    """A query's folder, the one that it gets, and of each operator, by its number now, the number that it had."""

    folder: str
    to: str
    order: tuple[int, ...]


def pending_plan(storage: Storage, root: str) -> str | None:
    """Return the plan that a job's folder has once what was begun in it is done; None where nothing was begun."""
    said = _journal(storage, root)
    return None if said is None or _stayed(said, root) else str(said["plan"])


def _journal(storage: Storage, root: str) -> dict[str, Any] | None:
    text = storage.read(f"{root}/{MOVES_FILE}")
    return None if text is None else dict(json.loads(text))


def _stayed(said: Mapping[str, Any], root: str) -> bool:
    """Whether a journal would have a job's folder called otherwise, and it still has its name."""
    return str(said.get("was", "")).rpartition("/")[2] == root.rpartition("/")[2]


def rename(storage: Storage, root: str, to: str, plan: str) -> None:
    """Give a job's folder another name; ``finish`` there ends it. Where ``to`` is no job has a checkpoint.

    Raises FD822, with the folder where it was, or at its new place.
    """
    storage.make(to.rpartition("/")[0])
    storage.remove(to)  # else some file systems would move the one into the other
    _note(storage, root, {"moves": [], "folders": [], "plan": plan, "was": root})
    storage.move(root, to)
    above, _, own = root.rpartition("/")
    if above.rpartition("/")[2] == own and not storage.names(above):  # a script's job lies in a folder of its name
        storage.remove(above)


def clear(storage: Storage, root: str, folders: Iterable[str]) -> None:
    """Take away what an attempt has left in a job's folder, and in those of its queries, that had no journal."""
    storage.remove(f"{root}/{FILLING}")
    for folder in folders:
        storage.remove(f"{root}/{folder}/{_NEXT}")


def begin(storage: Storage, root: str, moves: Sequence[Move], plan: str) -> None:
    """Write the journal: from here on there is no way back but the next edit."""
    entries = []
    for move in moves:
        place = f"{root}/{move.folder}"
        storage.remove(f"{place}/{_PARTED}")
        entries.append((move.folder, move.to, move.order, _commit(storage, place, move.order)))
    _note(storage, root, {"moves": entries, "folders": [m.to for m in moves], "plan": plan})


def finish(storage: Storage, root: str, plan_file: str) -> None:
    """Do what the journal says, as far as it is not done. Raises FD822."""
    said = _journal(storage, root)
    if said is None:
        return
    if _stayed(said, root):
        storage.remove(f"{root}/{MOVES_FILE}")
        return
    if "was" in said:
        brought_from(storage, root, str(said["was"]))
    left: list[_Entry] = [(str(old), str(to), tuple(map(int, order)), done) for old, to, order, done in said["moves"]]
    while left:
        folder, to, order, commit = left.pop(0)
        was, place = f"{root}/{folder}", f"{root}/{to}"
        if not storage.names(place) and storage.names(was):  # there is none of a query that never began
            storage.move(was, place)
        _carry(storage, was, place, order)
        if commit is not None:
            put(storage, f"{place}/commits", *commit)
        _note(storage, root, said | {"moves": left})
    for folder in said["folders"]:
        storage.remove(f"{root}/{folder}/{_PARTED}")
    storage.write(f"{root}/{plan_file}", said["plan"])
    storage.remove(f"{root}/{MOVES_FILE}")


def _note(storage: Storage, root: str, said: Mapping[str, Any]) -> None:
    storage.write(f"{root}/{MOVES_FILE}", json.dumps(said))


def _carry(storage: Storage, was: str, place: str, order: Sequence[int]) -> None:
    """Part what goes on from what is dropped, then put it in its place; each step may have been done before."""
    parted, next_ = f"{place}/{_PARTED}", f"{place}/{_NEXT}"
    if storage.read(parted) is None:
        storage.make(next_)
        for now, number in enumerate(order):
            if number != NEW and storage.names(f"{place}/state/{number}"):
                storage.move(f"{place}/state/{number}", f"{next_}/{now}")
            told_anew(storage, f"{next_}/{now}", was, (place, now))
        storage.write(parted, "what goes on lies in the folder beside this file")
    if _NEXT in storage.names(place):  # it may be empty
        storage.remove(f"{place}/state")
        storage.move(next_, f"{place}/state")


def _commit(storage: Storage, place: str, order: Sequence[int]) -> tuple[str, str] | None:
    """Return the last commit of a query as its operators are numbered now; None where it says nothing of them.

    A chain's checkpoint (its format 2, which real-time mode has) names the files of each operator's partitions there.
    """
    last = max((int(n) for n in storage.names(f"{place}/commits") if n.isdigit()), default=NEW)
    version, _, said = (storage.read(f"{place}/commits/{last}") or "").partition("\n")
    known = json.loads(said or "{}")
    if not known.get(_IDS):
        return None
    ids = {
        n: _made_ids(storage, f"{place}/{_NEXT}/{n}") if o == NEW else known[_IDS][f"{o}"] for n, o in enumerate(order)
    }
    return f"{last}", f"{version}\n{json.dumps(known | {_IDS: ids}, separators=(',', ':'))}"


def _made_ids(storage: Storage, operator: str) -> list[list[str]]:
    """Return the name of the state of each partition of a new operator, which has one store a partition."""
    places = sorted((p for p in storage.names(operator) if p.isdigit()), key=int)
    names = [[m[2] for n in storage.names(f"{operator}/{p}") if (m := _ZIP.fullmatch(n))] for p in places]
    return [[name.removeprefix("_") for name in found[:1] if name] for found in names]


def made(storage: Storage, query: str, number: int, place: str, now: int, version: int) -> None:
    """Take an operator of another query for one of the query at ``place``, whose next batch reads that version.

    Raises FD822 where it has no whole state: it was written without changelogs.
    """
    operator = f"{query}/state/{number}"
    for partition in (p for p in storage.names(operator) if p.isdigit()):
        at = f"{operator}/{partition}"
        whole = max((int(m[1]), name) for name in storage.names(at) if (m := _ZIP.fullmatch(name)))[1]
        for name in [n for n in storage.names(at) if n != whole and n.endswith((".changelog", ".zip"))]:
            storage.remove(f"{at}/{name}")
        named = _ZIP.sub(rf"{version}\g<2>.zip", whole)
        if named != whole:
            storage.move(f"{at}/{whole}", f"{at}/{named}")
    told_anew(storage, operator, query, (place, now))
    storage.make(f"{place}/{_NEXT}")
    storage.move(operator, f"{place}/{_NEXT}/{now}")
