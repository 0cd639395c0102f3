"""Random tables and random changes to them: appended rows, upserts by key, signed changes, in files of one batch each.

All tables of a world travel in one feed (column ``tbl``), so that a file is one micro-batch of every table. The world
knows the rows that are there after each batch and the place of each in the order of arrival.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

Row = tuple[Any, ...]
TableKind = Literal["append", "upsert", "delta"]

# type name -> (Flink, DuckDB)
TYPES = {
    "int": ("INT", "INTEGER"),
    "big": ("BIGINT", "BIGINT"),
    "str": ("STRING", "VARCHAR"),
    "dbl": ("DOUBLE", "DOUBLE"),
    "dec": ("DECIMAL(10, 2)", "DECIMAL(10, 2)"),
    "bool": ("BOOLEAN", "BOOLEAN"),
    "date": ("DATE", "DATE"),
}
# every value is exact in its type, so that sums come out equal whatever their order
VALUES: dict[str, list[Any]] = {
    "int": [-3, -1, 0, 1, 2, 5, 8],
    "big": [-40_000_000_000, -1, 0, 1, 7, 40_000_000_000],
    "str": ["a", "b", "ab", "", "A", "ä", "z z"],
    "dbl": [-2.5, -0.25, 0.0, 0.25, 1.5, 1024.75],
    "dec": ["-10.50", "-0.01", "0.00", "0.01", "3.30", "99.99"],
    "bool": [False, True],
    "date": ["1969-12-31", "2024-02-29", "2024-03-01", "2025-01-01"],
}


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass
class Table:
    """One table: its columns (the first is its key), what is there, and when each row came."""

    name: str
    kind: TableKind
    columns: tuple[Column, ...]
    nulls: float
    domain: int
    live: dict[int, tuple[int, Row]] = field(default_factory=dict)

    @property
    def ddl(self) -> str:
        """CREATE TABLE as a Flink user writes it."""
        columns = [f"{c.name} {TYPES[c.type][0]}" for c in self.columns]
        options = {"topic": self.name, "properties.bootstrap.servers": "localhost:9092"}
        if self.kind == "upsert":
            columns[0] += " NOT NULL"
            columns.append(f"PRIMARY KEY ({self.columns[0].name}) NOT ENFORCED")
            options |= {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}
        else:
            options |= {"connector": "kafka", "format": "json" if self.kind == "append" else "debezium-json"}
            options |= {"scan.startup.mode": "earliest-offset"}
        if self.kind == "append":
            columns.append("pt AS PROCTIME()")
        with_ = ", ".join(f"'{k}' = '{v}'" for k, v in options.items())
        return f"CREATE TABLE {self.name} ({', '.join(columns)}) WITH ({with_})"

    def rows(self) -> list[Row]:
        """Return what is there, each row with its place in the order of arrival as last value."""
        return [(*row, seq) for seq, row in self.live.values()]


class World:
    """Some tables and the feed of their changes."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tables = tuple(
            self._table(n, k) for n, k in zip("audv", ("append", "upsert", "delta", "upsert"), strict=True)
        )
        self.files = 0
        self.seq = 0

    def _table(self, name: str, kind: TableKind) -> Table:
        r = self.random
        kinds = ["int", "str", *(r.choice(list(TYPES)) for _ in range(r.randint(1, 3)))]
        r.shuffle(kinds)
        columns = [Column(f"{name}0", r.choice(["int", "big"]))]
        columns += [Column(f"{name}{i}", t) for i, t in enumerate(kinds, 1)]
        return Table(name, kind, tuple(columns), r.choice([0.0, 0.1, 0.4]), r.randint(2, 6))

    # ---- changes

    def batch(self, size: int) -> None:
        """Write one file with ``size`` changes spread over the tables."""
        rows: list[dict[str, Any]] = []
        for _ in range(size):
            rows += self._change(self.random.choice(self.tables))
        target = self.folder / f"{self.files:06d}.json"
        hidden = target.with_name("." + target.name)
        hidden.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
        hidden.rename(target)
        os.utime(target, (1_700_000_000 + self.files, 1_700_000_000 + self.files))
        self.files += 1

    def _row(self, table: Table, key: int) -> Row:
        r = self.random
        rest = (self._value(c.type, table) for c in table.columns[1:])
        return (key, *(None if r.random() < table.nulls else v for v in rest))

    def _value(self, kind: str, table: Table) -> Any:
        return self.random.choice(VALUES[kind][: max(2, table.domain)])

    def _change(self, table: Table) -> list[dict[str, Any]]:
        r = self.random
        self.seq += 1
        if table.kind == "append":
            return [self._insert(table, self.seq)]
        what = r.random()
        if what < 0.35 or not table.live:
            key = r.randint(1, 12)
        else:
            key = r.choice(list(table.live))
        old = table.live.get(key)
        if what > 0.75:
            return self._delete(table, key, old)
        if what > 0.7 and old is not None:
            return self._records(table, key, old[1], old[1])  # the same row once more
        return self._records(table, key, old[1] if old else None, self._row(table, key))

    def _insert(self, table: Table, number: int) -> dict[str, Any]:
        r = self.random
        row = self._row(table, number)
        if table.live and r.random() < 0.1:
            row = r.choice(list(table.live.values()))[1]  # a duplicate
        table.live[number] = (self.seq, row)
        return self._record(table, row)

    def _delete(self, table: Table, key: int, old: tuple[int, Row] | None) -> list[dict[str, Any]]:
        if old is None and table.kind == "delta":
            return []
        empty: Row = (key, *(None for _ in table.columns[1:]))
        table.live.pop(key, None)
        if table.kind == "upsert":  # a tombstone, at times for a key that is not there
            return [self._record(table, empty, v=self.seq, gone=True)]
        assert old is not None
        return [self._record(table, old[1], w=-1)]

    def _records(self, table: Table, key: int, old: Row | None, new: Row) -> list[dict[str, Any]]:
        if table.kind == "upsert":
            if old != new:
                table.live[key] = (self.seq, new)
            return [self._record(table, new, v=self.seq, gone=False)]
        table.live[key] = (self.seq, new)
        signed = [(old, -1), (new, 1)]
        return [self._record(table, row, w=w) for row, w in signed if row is not None]

    def _record(self, table: Table, row: Row, **more: Any) -> dict[str, Any]:
        values = dict(zip((c.name for c in table.columns), row, strict=True))
        return {"tbl": table.name, "s": self.seq, **values, **more}

    # ---- the independent side

    def fill(self, db: Any) -> None:
        """Put what is there into DuckDB tables of the same names, with the column ``seq``."""
        for table in self.tables:
            columns = ", ".join(f"{c.name} {TYPES[c.type][1]}" for c in table.columns)
            db.execute(f"CREATE OR REPLACE TABLE {table.name} ({columns}, seq BIGINT)")
            rows = [tuple(_typed(v, c) for v, c in zip(r, (*table.columns, None), strict=True)) for r in table.rows()]
            if rows:
                db.executemany(f"INSERT INTO {table.name} VALUES ({', '.join('?' * (len(table.columns) + 1))})", rows)


def _typed(value: Any, column: Column | None) -> Any:
    return Decimal(value) if column is not None and column.type == "dec" and value is not None else value
