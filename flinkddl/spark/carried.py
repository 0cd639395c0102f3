"""Operators with state that come and go in a query that has begun: each goes on where it is what it was.

Spark numbers operators from the sink on, so that one more or less gives all behind it other numbers. State lies in a
folder of its operator's number: where the folder moves along, Spark finds what it knows. What a node of an operator is
hangs on what lies below it alone (``Meaning.operators``), so what stands above it may come and go. An operator is one
folder: nodes of two that become one, or of one that become two, cannot be parted here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Numbers = int | list[int]
NEW = -1
"""In ``Carried.order``: an operator that the checkpoint does not have."""
_SPARK, _NUMBERS, _STEP, _PARTS = 0, 4, 5, 6
_SAME = {"reads": "what it reads", "mode": "the mode in which it writes", "sink": "what its sink remembers"}


@dataclass(frozen=True)
class Carried:
    """What becomes of the operators of one query: ``order`` has of each, by its number now, the one that it had.

    ``was`` is the query's name before, what has gone and come are nodes in words.
    ``numbers`` are those of the nodes in their keys by the step, ``highest`` the highest that was ever given.
    ``cleared``: of operators that have lost a node, by their numbers now, the numbers of the nodes that stay.
    """

    was: str = ""
    order: tuple[int, ...] = ()
    kept: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    highest: int = 0
    refused: str = ""
    cleared: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def places(self) -> tuple[int, ...]:
        """Of each operator the number at which its state lies; ``NEW`` also where it is written anew."""
        return tuple(NEW if now in self.cleared else was for now, was in enumerate(self.order))


@dataclass(frozen=True)
class _Node:
    """A node: which operator it is in and where, what it means, words, its number."""

    operator: int
    place: int
    meaning: str
    words: str
    number: int


def carried(old: Mapping[str, Any], new: Mapping[str, Any]) -> Carried | None:
    """Return what becomes of a query's operators; None where none is what it was, or it reads or writes otherwise.

    Also of an INSERT with as many nodes as before, which has been changed and not added to, and of a checkpoint that
    does not say what each node means.
    """
    if any(old[part] != new[part] for part in _SAME) or not _says(old) or not old["operators"]:
        return None
    before, now = list(_nodes(old)), list(_nodes(new))
    if len(before) == len(now) and old["write"] == new["write"]:
        return None
    pairs, gone = _paired(before, now)
    kept = [node for node, was in pairs if was is not None]
    if now and not kept:
        return None
    highest = max(highest_of(old), *(n.number for n in now), 0) if now else highest_of(old)
    numbers: dict[str, Numbers] = {}
    order: list[int] = []
    cleared: dict[int, tuple[int, ...]] = {}
    refused = ""
    for place, operator in enumerate(new["operators"]):
        mine = [(node, was) for node, was in pairs if node.operator == place]
        found = {was.operator if was is not None else NEW for _, was in mine}
        refused = refused or _clash(mine, found, order) or _unlike(old, operator, found)
        order.append(min(found))
        given = [highest + n if was is None else was.number for n, (_, was) in enumerate(mine, 1)]
        highest = max(highest, *given)
        if order[-1] in {node.operator for node in gone}:
            cleared[place] = tuple(given)
        numbers[operator[_STEP]] = given if isinstance(operator[_NUMBERS], list) else given[0]
    return Carried(
        was=old["write"],
        order=tuple(order),
        kept=tuple(node.words for node in kept),
        new=tuple(node.words for node, was in pairs if was is None),
        dropped=tuple(node.words for node in gone),
        numbers={step: n for step, n in numbers.items() if n},
        highest=highest,
        refused=refused,
        cleared=cleared,
    )


def highest_of(query: Mapping[str, Any]) -> int:
    """Return the highest number that a node of a query was ever given."""
    return max([int(query.get("highest", 0)), *(node.number for node in _nodes(query))])


def _says(query: Mapping[str, Any]) -> bool:
    return all(len(operator) > _PARTS for operator in query["operators"])


def _nodes(query: Mapping[str, Any]) -> Iterator[_Node]:
    for n, operator in enumerate(query["operators"]):
        numbers = operator[_NUMBERS] if isinstance(operator[_NUMBERS], list) else [operator[_NUMBERS]]
        for place, number in enumerate(numbers):
            meaning, words = operator[_PARTS][place] if len(operator) > _PARTS else ("", operator[2])
            yield _Node(n, place, meaning, words, number)


def _paired(before: Sequence[_Node], now: Sequence[_Node]) -> tuple[list[tuple[_Node, _Node | None]], list[_Node]]:
    """Return each node with the one that it was, and those that are gone.

    Several that mean the same have the same state, so that any is as good as another, if there are still as many.
    """
    alike, again = (Counter(node.meaning for node in nodes) for nodes in (before, now))
    left: dict[str, list[_Node]] = {}
    for node in before:
        if alike[node.meaning] == again[node.meaning]:
            left.setdefault(node.meaning, []).append(node)
    pairs = [(node, left[node.meaning].pop(0) if left.get(node.meaning) else None) for node in now]
    taken = {id(was) for _, was in pairs if was is not None}
    return pairs, [node for node in before if id(node) not in taken]


def _clash(mine: Sequence[tuple[_Node, _Node | None]], found: set[int], order: Sequence[int]) -> str:
    """Return why nodes cannot go on in one operator, "" where they can."""
    if len(found) == 1 and (found == {NEW} or min(found) not in order):
        return ""
    words = " and ".join(f"'{node.words}'" for node, _ in mine)
    if NEW in found:
        added = " and ".join(f"'{node.words}'" for node, was in mine if was is None)
        return f"{words} would be one operator, and the state of {added} cannot be put into that of the others"
    return f"{words} would be in other operators together than they are in the checkpoint"


def _unlike(old: Mapping[str, Any], operator: Sequence[Any], found: set[int]) -> str:
    was = min(found)
    if was == NEW or old["operators"][was][_SPARK] == operator[_SPARK]:
        return ""
    return f"'{operator[2]}' would be another operator of Spark, {operator[_SPARK]}"
