"""A changed script over an old checkpoint: what of the state is kept, new, dropped, or cannot be gone on with.

Compared is what each query means (``meaning.py``), as the run that wrote the checkpoint noted it. What is not known to
be the same is refused. Spark numbers operators by their places and refuses one more or less in a query that has begun
(STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA): ``carried.py`` says which state can move along with its
operator, and what cannot is said here, before Spark is asked.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from flinkddl.plan.decoded import holds, parts_of
from flinkddl.spark.carried import Carried, Numbers, carried, highest_of
from flinkddl.spark.folders import folder_inside, fresh_folder
from flinkddl.spark.job import GroupBy, StageCall, StateCall
from flinkddl.spark.meaning import APART, COLUMNS, KEPT_BY_SINK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from flinkddl.spark.job import SparkJob, Step

_DEFAULT = "default_catalog.default_database."
Said = dict[str, Any]
"""A ``Meaning`` as plain data; of a checkpoint with ``folder``, where its query has its state."""


@dataclass(frozen=True)
class Edit:
    """What a start makes of each query's state, in words.

    ``folders``: where a query has its state, where that is not its name; ``numbers``: the number that the node of a
    step has in its keys, of a stage a list of them; ``gone``: the folders of queries that are no longer asked for.
    ``carried``: queries whose operators are others now, by the name of the write; ``highest``: the highest number that
    a node of a query was ever given.
    """

    kept: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    folders: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    carried: Mapping[str, Carried] = field(default_factory=dict)
    highest: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """All of it in a line."""
        parts = {"kept": self.kept, "new": self.new, "dropped": self.dropped, "refused": self.refused}
        return "; ".join(f"{word}: {', '.join(said)}" for word, said in parts.items() if said)


NOTHING = Edit()
"""Of a checkpoint that is new, or does not say what its queries mean."""


def compare(before: Sequence[Said], now: Sequence[Said], left: Iterable[str] = ()) -> Edit:
    """Return what becomes of the state: queries are found again by what they write into, else by what they mean.

    ``left`` are folders that queries have left, which none that is new gets.
    """
    pairs = [(_find(new, before, now), new) for new in now]
    found = [old for old, _ in pairs if old is not None]
    gone = [old for old in before if not any(old is f for f in found)]
    known = [(old, new) for old, new in pairs if old is not None]
    differ = {new["write"]: why for old, new in known if (why := _difference(old, new))}
    moved = {new["write"]: carry for old, new in known if new["write"] in differ and (carry := carried(old, new))}
    numbers, clash = _numbers([(old, new) for old, new in known if new["write"] not in moved])
    taken = {_folder(old): new["write"] for old, new in pairs if old is not None}
    for query in (new for old, new in pairs if old is None and folder_inside(new["write"]) in taken):
        other = taken[folder_inside(query["write"])]
        clash.append(
            f"{_told(query)} is new, and has the folder that the state of '{other}' lies in: give it another name"
        )
    for write, carry in moved.items():
        differ[write] = carry.refused and f"{write.replace(_DEFAULT, '')}: {carry.refused}"
        clash += _merged(numbers, carry.numbers)
    whole = [new for _, new in known if new["write"] not in differ]
    return Edit(
        kept=(*map(_told, whole), *_parts(moved, "kept")),
        new=(*(_told(new) for old, new in pairs if old is None), *_parts(moved, "new")),
        dropped=(*map(_told, gone), *_parts(moved, "dropped")),
        refused=(*filter(None, differ.values()), *clash),
        folders={new["write"]: _folder(old) for old, new in known if _moved(old, new)}
        | {
            write: fresh_folder(folder_inside(write))
            for write in (new["write"] for old, new in pairs if old is None)
            if folder_inside(write) in {*left, *map(_folder, gone)}
        },
        numbers=numbers,
        gone=tuple(map(_folder, gone)),
        carried=moved,
        highest={new["write"]: highest_of(old) for old, new in known} | {w: c.highest for w, c in moved.items()},
    )


def _parts(moved: Mapping[str, Carried], what: str) -> list[str]:
    """Return the nodes of queries whose operators are others now that are kept, new or dropped, in words."""
    found = [(carry.was if what == "dropped" else write, getattr(carry, what)) for write, carry in moved.items()]
    return [f"{name.replace(_DEFAULT, '')} ({', '.join(nodes)})" for name, nodes in found if nodes]


def _find(new: Said, before: Sequence[Said], now: Sequence[Said]) -> Said | None:
    same = [old for old in before if old["write"] == new["write"]]
    if same:
        return same[0]
    names = {n["write"] for n in now}
    free = [old for old in before if old["write"] not in names]
    for fits in (lambda old, n: not _difference(old, n), _goes_on):  # the same state, then some of it
        others = [old for old in free if fits(old, new)]
        rivals = [n for n in now if n is not new and others and fits(others[0], n)]
        if others:
            return others[0] if len(others) == 1 and not rivals else None
    return None


def _goes_on(old: Said, new: Said) -> bool:
    found = carried(old, new)
    return found is not None and not found.refused


def _folder(old: Said) -> str:
    return str(old.get("folder") or folder_inside(old["write"]))


def _moved(old: Said, new: Said) -> bool:
    return _folder(old) != folder_inside(new["write"])


def _told(query: Said) -> str:
    name = query["write"].replace(_DEFAULT, "")
    kept = [f"{what} [{identity}]" if identity else what for _, _, what, identity, *_ in query["operators"]]
    return f"{name} ({', '.join(kept) or 'no state but positions'})"


def _difference(old: Said, new: Said) -> str:
    """Return why the state of a query does not fit what is asked now, with both texts; "" where it does."""
    name = new["write"].replace(_DEFAULT, "")
    was, now = old["operators"], new["operators"]
    if len(was) != len(now):
        more = f"keeps state in {len(now)} operators and its checkpoint has {len(was)}{_changed(was, now)}"
        return f"{name} {more}: Spark takes neither one more nor one less over an old checkpoint"
    for (a, b), word in _compared(old, new):
        if a != b:
            return f"{name}: {word}"
    return ""


def _changed(was: Sequence[Any], now: Sequence[Any]) -> str:
    """Return which operators have come and gone, in words."""
    before, after = (Counter(o[2] for o in operators) for operators in (was, now))
    told = [(after - before, "new"), (before - after, "gone")]
    parts = [f"'{what}' is {word}" for found, word in told for what in found]
    return f" ({', '.join(parts)})" if parts else ""


def _compared(old: Said, new: Said) -> Iterator[tuple[tuple[Any, Any], str]]:
    """Yield what must be the same, and what to say where it is not."""
    stateless = not new["operators"]
    trees = [_folded([line for line in q["tree"] if not stateless or line[2].startswith("Scan(")]) for q in (old, new)]
    longer = next((t for t in trees if len(t) > min(map(len, trees))), None)
    if longer is not None:
        extra = longer[min(map(len, trees))].line[2].partition(COLUMNS)[0]
        yield (len(trees[0]), len(trees[1])), f"'{extra}' is {'gone' if longer is trees[0] else 'new'}"
    pairs = list(reversed(list(zip(*trees, strict=False))))  # what lies deepest is the cause of what is above it
    for a, b in pairs:
        yield (_line(a, stateless, b), _line(b, stateless)), _words(a.line[2], b.line[2])
    kept = next((one.line[2] for one in trees[1] if one.line[2].startswith(KEPT_BY_SINK)), "")
    unsaid = f"an earlier version wrote its checkpoint, which does not say which filter stands below '{kept}'"
    yield (bool(kept and not old.get("held")), False), unsaid
    yield from (_filters(a, b) for a, b in pairs)
    lacks = "; ".join(filter(None, (_lacks(a.line, b.line) for a, b in pairs)))
    for a, b in zip(old["operators"], new["operators"], strict=True):
        yield (a[:2], b[:2]), lacks or _kept_words(a[2], b[2])
    yield (old["reads"], new["reads"]), f"it reads {old['reads']}, and now {new['reads']}"
    yield (old["mode"], new["mode"]), f"it writes in mode {old['mode']}, and now in {new['mode']}"
    yield (old["sink"], new["sink"]), "its sink is another one, and remembers what was written"


@dataclass(frozen=True)
class _Placed:
    """A line of ``Meaning.tree`` as if no filter were in it: how deep it is, those over it, what reads it, in words."""

    depth: int
    line: Sequence[Any]
    filters: tuple[Sequence[Any], ...]
    reader: str

    def conditions(self, *, whole: bool) -> dict[str, str]:
        """Return the conditions of its filters in words, by their digests; ``whole``: a filter as one, as once."""
        if whole:
            return {line[1]: line[2] for line in self.filters}
        return {digest: words for line in self.filters for digest, words in line[4].items()}


def _folded(tree: Sequence[Sequence[Any]]) -> list[_Placed]:
    """Return the lines of what keeps or reads rows, with the filters between them."""
    out: list[_Placed] = []
    above: list[Sequence[Any]] = []
    filters: list[Sequence[Any]] = []
    for line in tree:
        while above and above[-1][0] >= line[0]:
            above.pop()
        if line[2].startswith("Filter("):
            filters.append(line)
        else:
            over = [one for one in above if not one[2].startswith("Filter(")]
            depth = line[0] - (len(above) - len(over))
            out.append(_Placed(depth, line, tuple(filters), over[-1][2].partition(" over (")[0] if over else ""))
            filters = []
        above.append(line)
    return out


def _filters(was: _Placed, now: _Placed) -> tuple[tuple[Any, Any], str]:
    """Return the conditions over two lines, and what to say where they are not the same."""
    whole = any(len(line) < 5 for line in (*was.filters, *now.filters))
    before, after = was.conditions(whole=whole), now.conditions(whole=whole)
    gone = " AND ".join(words for digest, words in before.items() if digest not in after)
    come = " AND ".join(words for digest, words in after.items() if digest not in before)
    word = f"the filter '{gone or come}' below '{now.reader}' is "
    if gone:
        word += f"now '{come}'" if come else "gone"
        word += ": rows that it left out would be taken back without having been put"
    else:
        word += "new: rows that were put could not be taken back"
        word += "" if now.reader.startswith(KEPT_BY_SINK) else "; above it, asked of what comes out, a filter is kept"
    return (sorted(before), sorted(after)), word


def _kept_words(was: str, now: str) -> str:
    if was == now:
        return f"'{now}' keeps other columns of its rows"
    return f"what '{was}' keeps is now that of '{now}'"


def _lacks(was: Sequence[Any], now: Sequence[Any]) -> str:
    """Return which columns of a table are read now and were not, so that its rows are kept without them."""
    if not was[5:] or not now[4:]:
        return ""
    had = parts_of(was[5])
    read = now[5] if now[5:] else [[name] for name in now[4]]
    new = [".".join(names) for names in read if not holds(had, names)]
    place = was[2].partition(COLUMNS)[0]
    return (
        f"it keeps rows of '{place}' without ({', '.join(new)}), which {'are' if new[1:] else 'is'} read now"
        if new
        else ""
    )


def _words(was: str, now: str) -> str:
    (what, _, before), (same, _, after) = was.partition(COLUMNS), now.partition(COLUMNS)
    if was == now or (what == same and not before):  # an earlier version told no columns
        return f"'{same}' has other options, or reads columns that come about otherwise"
    if what == same:
        old, new = before.split(APART), after.split(APART)
        gone, come = ([c for c in a if c not in b] for a, b in ((old, new), (new, old)))
        return f"'{same}' had the columns ({', '.join(gone or old)}) and has ({', '.join(come or new)})"
    return f"'{was}' is now '{now}'"


def _line(placed: _Placed, stateless: bool, now: _Placed | None = None) -> Any:
    """Return what counts of a line of ``Meaning.tree``: what ``now`` has where both end in the same digest."""
    line = placed.line
    what = now.line[1] if now is not None and _as_good(line, now.line) else line[1]
    return what if stateless else [placed.depth, what]


def _as_good(was: Sequence[Any], now: Sequence[Any]) -> bool:
    """Whether two lines say the same in what stands behind their words; a column that both have must be the same."""
    if was[3:4] != now[3:4] or not was[3:]:
        return False
    return was[4:] == now[4:] or all(now[4].get(name, digest) == digest for name, digest in was[4].items())


def _numbers(pairs: Sequence[tuple[Said, Said]]) -> tuple[dict[str, Numbers], list[str]]:
    """Return the number of each step's node, and what is said where one step would need two."""
    numbers: dict[str, Numbers] = {}
    clash = []
    for old, new in pairs:
        if [o[0] for o in old["operators"]] != [o[0] for o in new["operators"]]:
            continue
        for was, now in zip(old["operators"], new["operators"], strict=True):
            step, number = now[5], was[4]
            if number and numbers.setdefault(step, number) != number:
                clash.append(f"'{now[2]}' was kept under two numbers, and is one operator now")
    return numbers, clash


def _merged(numbers: dict[str, Numbers], more: Mapping[str, Numbers]) -> list[str]:
    """Add numbers of steps; return what is said where a step that two queries share would need two."""
    clash = [step for step, number in more.items() if numbers.setdefault(step, number) != number]
    return [f"'{step}', which two queries share, was kept under two numbers" for step in clash]


def renumbered(job: SparkJob, numbers: Mapping[str, Numbers]) -> SparkJob:
    """Return the job whose nodes have the numbers that their state was written under."""
    if not numbers:
        return job
    return replace(job, steps=tuple(_renumbered(step, numbers.get(step.name, 0)) for step in job.steps))


def _renumbered(step: Step, number: Numbers) -> Step:
    if not number or not isinstance(step, GroupBy):
        return step
    return replace(step, aggs=tuple((name, _with_number(a, number)) for name, a in step.aggs))


def _with_number(agg: str | StateCall | StageCall, number: Numbers) -> str | StateCall | StageCall:
    match agg:
        case StateCall(form="keyed") if isinstance(number, int):
            return replace(agg, node=number)
        case StageCall() if isinstance(number, list):
            each = zip(agg.nodes, number, strict=True)
            return replace(agg, nodes=tuple(replace(n, call=replace(n.call, node=i)) for n, i in each))
    return agg
