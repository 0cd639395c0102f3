"""What is asked of a job that is killed: topics, INSERTs over them, and how their sinks must look afterwards.

All that decides a group lies in one partition of one topic, for as many of the INSERTs as can be: so the rows that a
key of a sink goes through are known beforehand, and a batch written twice, or rows that a batch lacks, show in them
even where the last row is right.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.topics import read

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Table = dict[Any, dict[str, int]]
    Tables = dict[str, Table]
    Key = tuple[int, ...]
    Sink = dict[Key, tuple[int, ...]]
    Change = tuple[Key, tuple[int, ...] | None]

PARTITIONS = 4
ITEMS = 200
ACCOUNTS = 24
DELETED = 0.2
TOP = 3
KAFKA = "'connector' = 'kafka', 'format' = 'json'"
UPSERT = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"
EXACTLY_ONCE = (
    ", 'properties.transaction.timeout.ms' = '600000', 'sink.delivery-guarantee' = 'exactly-once', "
    "'sink.transactional-id-prefix' = 'kills'"
)


class Record(NamedTuple):
    """One record of a topic; without ``value`` it is a tombstone, without ``key`` a row of a table of inserts."""

    topic: str
    partition: int
    key: dict[str, int] | None
    value: dict[str, int] | None


def _row(number: int, _: random.Random) -> Record:
    return Record("src", number % PARTITIONS, None, {"id": number})


def _event(_: int, chance: random.Random) -> Record:
    acc = chance.randrange(ACCOUNTS)
    return Record("events", acc % PARTITIONS, None, {"acc": acc})


def _item(number: int, chance: random.Random) -> Record:
    """An item goes from account to account, all of them of its own partition."""
    key, deleted = chance.randrange(ITEMS), chance.random() < DELETED
    acc = key % PARTITIONS + PARTITIONS * chance.randrange(ACCOUNTS // PARTITIONS)
    value = {"id": key, "acc": acc, "v": chance.randrange(100), "s": number}
    return Record("items", key % PARTITIONS, {"id": key}, None if deleted else value)


def _account(number: int, chance: random.Random) -> Record:
    acc, deleted = chance.randrange(ACCOUNTS), chance.random() < DELETED
    return Record("accounts", acc % PARTITIONS, {"acc": acc}, None if deleted else {"acc": acc, "s": number})


@dataclass(frozen=True)
class Topic:
    """A source: its columns (the first is the key of an upsert table), and what makes a record of a serial number."""

    columns: tuple[str, ...]
    made: Callable[[int, random.Random], Record]
    weight: int
    upsert: bool = False


TOPICS = {
    "src": Topic(("id",), _row, 1),
    "events": Topic(("acc",), _event, 3),
    "items": Topic(("id", "acc", "v", "s"), _item, 6, upsert=True),
    "accounts": Topic(("acc", "s"), _account, 1, upsert=True),
}


def records(topics: Iterable[str], count: int, chance: random.Random) -> Iterator[Record]:
    """Yield so many records over these topics, in the order in which they are to be written."""
    names = sorted(topics)
    for number, name in enumerate(chance.choices(names, [TOPICS[n].weight for n in names], k=count)):
        yield TOPICS[name].made(number, chance)


def _rows(tables: Tables) -> Sink:
    return {(number,): () for number in tables["src"]}


def _counts(tables: Tables) -> Sink:
    return {(acc,): (row["n"],) for acc, row in tables["events"].items()}


def _join(tables: Tables) -> Sink:
    return {(i["id"],): (i["s"], a["s"]) for i in tables["items"].values() if (a := tables["accounts"].get(i["acc"]))}


def _values(tables: Tables) -> dict[int, list[int]]:
    found = defaultdict(list)
    for item in tables["items"].values():
        found[item["acc"]].append(item["v"])
    return found


def _distinct(tables: Tables) -> Sink:
    return {(acc,): (len(set(values)),) for acc, values in _values(tables).items()}


def _max(tables: Tables) -> Sink:
    return {(acc,): (max(values),) for acc, values in _values(tables).items()}


def _ranked(rows: Iterable[tuple[int, int, int]]) -> Sink:
    """Return the first of (group, value, name), the greatest values first, by group and rank."""
    groups = defaultdict(list)
    for group, value, name in rows:
        groups[group].append((-value, name))
    return {(g, n): (r[1], -r[0]) for g, found in groups.items() for n, r in enumerate(sorted(found)[:TOP], 1)}


def _top(tables: Tables) -> Sink:
    return _ranked((i["acc"], i["v"], i["id"]) for i in tables["items"].values())


def _chain(tables: Tables) -> Sink:
    counts, most = _counts(tables), Counter[int]()
    for (acc,), (n,) in counts.items():
        most[acc % PARTITIONS] = max(most[acc % PARTITIONS], n)
    return {(acc,): (n, most[acc % PARTITIONS]) for (acc,), (n,) in counts.items()}


def _stack(tables: Tables) -> Sink:
    counts = _distinct(tables).items()
    return _ranked((acc % PARTITIONS, n, acc) for (acc,), (n,) in counts if acc in tables["accounts"])


@dataclass(frozen=True)
class Insert:
    """One INSERT: the sink's columns, how many of them are its key, and what it holds over finished tables.

    ``order``: how the changes of a key are judged beyond that no two in turn are alike. "history": they are rows that
    the key goes through, in that order. "serials": their values grow.
    """

    columns: tuple[str, ...]
    keys: int
    sources: tuple[str, ...]
    select: str
    table: Callable[[Tables], Sink]
    order: str = ""


_JOINED = "items AS i JOIN accounts AS a ON i.acc = a.acc"
INSERTS = {
    "rows": Insert(("id",), 0, ("src",), "SELECT id FROM src", _rows),
    "counts": Insert(
        ("acc", "n"), 1, ("events",), "SELECT acc, COUNT(*) AS n FROM events GROUP BY acc", _counts, "history"
    ),
    "join": Insert(
        ("id", "s", "t"), 1, ("items", "accounts"), f"SELECT i.id, i.s, a.s AS t FROM {_JOINED}", _join, "serials"
    ),
    "topn": Insert(
        ("acc", "n", "id", "v"), 2, ("items",),
        "SELECT acc, n, id, v FROM (SELECT acc, id, v, ROW_NUMBER() OVER (PARTITION BY acc ORDER BY v DESC, id) AS n "
        f"FROM items) WHERE n <= {TOP}", _top, "history",
    ),
    "dist": Insert(
        ("acc", "n"), 1, ("items",), "SELECT acc, COUNT(DISTINCT v) AS n FROM items GROUP BY acc", _distinct, "history"
    ),
    "most": Insert(("acc", "v"), 1, ("items",), "SELECT acc, MAX(v) AS v FROM items GROUP BY acc", _max, "history"),
    "chain": Insert(
        ("acc", "n", "m"), 1, ("events",),
        "SELECT c.acc, c.n, m.m FROM counted AS c JOIN (SELECT MOD(acc, 4) AS g, MAX(n) AS m FROM counted "
        "GROUP BY MOD(acc, 4)) AS m ON MOD(c.acc, 4) = m.g", _chain, "history",
    ),
    "stack": Insert(
        ("g", "n", "acc", "d"), 2, ("items", "accounts"),
        "SELECT g, n, acc, d FROM (SELECT g, acc, d, ROW_NUMBER() OVER (PARTITION BY g ORDER BY d DESC, acc) AS n FROM "
        f"(SELECT MOD(i.acc, 4) AS g, i.acc, COUNT(DISTINCT i.v) AS d FROM {_JOINED} GROUP BY MOD(i.acc, 4), i.acc)) "
        f"WHERE n <= {TOP}", _stack,
    ),
}  # fmt: skip
QUERIES = {name: (name,) for name in INSERTS} | {"changes": ("join", "topn", "dist", "most", "chain", "stack")}
"""What a job can be asked for: each INSERT by itself, and those of state by key as one statement set."""


def sources(query: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for insert in QUERIES[query] for name in INSERTS[insert].sources))


def sink(insert: str) -> str:
    return f"snk_{insert}"


def script(query: str, servers: str, settings: dict[str, str], delivery: str, fails: str = "") -> str:
    """Return the job. ``fails``: the jar of a function that the last column of each sink goes through."""
    bounded = "" if settings.get("flinkddl.execution.mode") == "realtime" else ", 'scan.bounded.mode' = 'latest-offset'"
    lines = [f"SET '{key}' = '{value}';" for key, value in settings.items()]
    if fails:
        lines.append(f"CREATE FUNCTION fails AS 'com.acme.FailsAtTimes' USING JAR '{fails}';")
    for name in sources(query):
        topic = TOPICS[name]
        options = UPSERT if topic.upsert else f"{KAFKA}, 'scan.startup.mode' = 'earliest-offset'"
        lines.append(_table(name, topic.columns, int(topic.upsert), f"{options}{bounded}", servers))
    if "events" in sources(query):
        lines.append("CREATE VIEW counted AS SELECT acc, COUNT(*) AS n FROM events GROUP BY acc;")
    for name in QUERIES[query]:
        insert = INSERTS[name]
        options = (UPSERT if insert.keys else KAFKA) + (EXACTLY_ONCE if delivery == "exactly-once" else "")
        lines.append(_table(sink(name), insert.columns, insert.keys, options, servers))
    lines += ["EXECUTE STATEMENT SET BEGIN", *(_insert(name, bool(fails)) for name in QUERIES[query]), "END;"]
    return "\n".join(lines)


def _table(name: str, columns: Sequence[str], keys: int, options: str, servers: str) -> str:
    fields = [f"{c} BIGINT" for c in columns]
    if keys:
        fields.append(f"PRIMARY KEY ({', '.join(columns[:keys])}) NOT ENFORCED")
    where = f"'topic' = '{name}', 'properties.bootstrap.servers' = '{servers}'"
    return f"CREATE TABLE {name} ({', '.join(fields)}) WITH ({options}, {where});"


def _insert(name: str, fails: bool) -> str:
    columns = INSERTS[name].columns
    if not fails:
        return f"INSERT INTO {sink(name)} {INSERTS[name].select};"
    # above the operator that keeps state: its task fails after it has changed that
    outer = ", ".join((*columns[:-1], f"fails({columns[-1]})"))
    return f"INSERT INTO {sink(name)} SELECT {outer} FROM ({INSERTS[name].select});"


class Judged(NamedTuple):
    """What a reader finds of a sink: rows that are not there, that are others, and changes that came again."""

    lost: int
    wrong: int
    repeated: int


class Judge:
    """Counts again in Python what the sinks must hold, from the topics as they are on the broker."""

    def __init__(self, servers: str, query: str) -> None:
        self.servers = servers
        self.query = query
        self.topics = {name: read(servers, name) for name in sources(query)}
        self.wanted = {name: self._wanted(name) for name in QUERIES[query]}
        self.histories: dict[str, dict[Key, list[tuple[int, ...] | None]]] = {}

    def exact(self, isolation: str) -> bool:
        """Tell whether each sink holds what it must."""
        found = (
            self._last(_changes(self.servers, name, isolation)) == self.wanted[name] for name in QUERIES[self.query]
        )
        return all(found)

    def judged(self, isolation: str) -> dict[str, Judged]:
        """Return what a reader of that isolation finds, by INSERT."""
        return {name: self._judged(name, _changes(self.servers, name, isolation)) for name in QUERIES[self.query]}

    def _judged(self, name: str, changes: list[Change]) -> Judged:
        wanted, last = self.wanted[name], self._last(changes)
        lost = sum(key not in last for key in wanted)
        wrong = sum(key not in wanted or wanted[key] != row for key, row in last.items())
        by_key = defaultdict(list)
        for key, row in changes:
            by_key[key].append(row)
        order = INSERTS[name].order
        if order == "history" and name not in self.histories:
            self.histories[name] = self._histories(name)
        histories = {key: self.histories[name].get(key, []) for key in by_key} if order == "history" else {}
        repeated = sum(_repeated(rows, histories.get(key), serials=order == "serials") for key, rows in by_key.items())
        return Judged(lost, wrong, repeated)

    def _last(self, changes: list[Change]) -> Sink:
        return {key: row for key, row in dict(changes).items() if row is not None}

    def _wanted(self, name: str) -> Sink:
        tables: Tables = {source: {} for source in INSERTS[name].sources}
        for source in tables:
            for record in self.topics[source]:
                fold(source, tables[source], record)
        return INSERTS[name].table(tables)

    def _histories(self, name: str) -> dict[Key, list[tuple[int, ...] | None]]:
        """Return the rows that each key goes through when each record is a batch of its own."""
        (source,), found = INSERTS[name].sources, defaultdict[Any, list[Any]](list)
        for partition in range(PARTITIONS):
            table: Table = {}
            before: Sink = {}
            for record in self.topics[source]:
                if record.partition == partition:
                    fold(source, table, record)
                    after = INSERTS[name].table({source: table})
                    for key in before.keys() | after.keys():
                        if before.get(key) != after.get(key):
                            found[key].append(after.get(key))
                    before = after
        return found


def fold(source: str, table: Table, record: Any) -> None:
    """Put a record into a table: rows by the key, of events how many an account has."""
    key, value = (json.loads(part) if part else None for part in (record.key, record.value))
    if source == "events":
        table[value["acc"]] = {"n": table.get(value["acc"], {"n": 0})["n"] + 1}
    elif key is None:
        table[value["id"]] = value
    elif value is None:
        table.pop(*key.values(), None)
    else:
        (name,) = key.values()
        table[name] = value


def _changes(servers: str, name: str, isolation: str) -> list[Change]:
    """Return the changes of a sink; of one without a key its rows are the keys."""
    found: list[Change] = []
    columns, keys = INSERTS[name].columns, INSERTS[name].keys or 1
    for record in read(servers, sink(name), isolation):
        value = json.loads(record.value) if record.value else None
        key = json.loads(record.key) if record.key else value
        row = None if value is None else tuple(value[c] for c in columns[keys:])
        found.append((tuple(key[c] for c in columns[:keys]), row))
    return found


def _repeated(
    rows: list[tuple[int, ...] | None], history: list[tuple[int, ...] | None] | None, *, serials: bool
) -> int:
    """Count the changes of a key that do not come in order."""
    before, highest, at, bad = None, (-1,), 0, 0
    for row in rows:
        if row == before or (serials and row is not None and row <= highest):
            bad += 1
        elif history is not None:
            try:
                at = history.index(row, at) + 1
            except ValueError:
                bad += 1
        before, highest = row, row if row is not None else highest
    return bad
