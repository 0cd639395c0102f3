"""The jdbc tables: Spark's own reader over a query of the columns, and our sink with the database's SQL texts.

What differs between databases is in DATABASES: the quotes around names that need them, and how the database says
"insert or update". Where it has no word for that, a row is updated first and inserted if there was none: Flink's own
way with an unknown dialect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.connectors.jdbc import DRIVERS, database_of
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.lower import job as J
from flinkddl.lower.context import ARRIVAL, DELETED, SEQUENCE, Lowering, Rel, unique_names
from flinkddl.sqltypes import Root, quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.options import ResolvedOptions
    from flinkddl.plan.nodes import Scan, Sink
    from flinkddl.sqltypes import DataType

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Database:
    """A kind of database: its quote, ``upsert`` as the tail of an INSERT (``{sets}`` to be filled).

    ``new`` is the new value of a column in that tail, ``nothing`` the tail where every column is a key.
    """

    quote: str = '"'
    quotes_all: bool = False
    upsert: str = ""
    new: str = ""
    nothing: str = ""

    def name(self, column: str) -> str:
        """Return a column's name in SQL; as in Flink only MySQL's are always quoted, others fold to their case."""
        if _PLAIN.fullmatch(column) and not self.quotes_all:
            return column
        return self.quoted(column)

    def quoted(self, column: str) -> str:
        """Return a column's name in quotes, which keep its case."""
        return self.quote + column.replace(self.quote, self.quote * 2) + self.quote


_CONFLICT = "ON CONFLICT ({keys}) DO "
_POSTGRES = Database(upsert=_CONFLICT + "UPDATE SET {sets}", new="EXCLUDED.{name}", nothing=_CONFLICT + "NOTHING")
_MYSQL = Database(
    quote="`",
    quotes_all=True,
    upsert="ON DUPLICATE KEY UPDATE {sets}",
    new="VALUES({name})",
    nothing="ON DUPLICATE KEY UPDATE {first} = {first}",
)
DATABASES: Mapping[str, Database] = {
    "postgresql": _POSTGRES,
    "sqlite": _POSTGRES,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}
"""By the word behind ``jdbc:``; others have no statement of their own."""


def _database(options: ResolvedOptions) -> Database:
    return DATABASES.get(database_of(str(options["url"])), Database())


def _driver(options: ResolvedOptions) -> str:
    return str(options["driver"] or DRIVERS.get(database_of(str(options["url"])), ""))


def jdbc_rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a jdbc table: Spark's reader over ``SELECT`` of the table's columns, each cast to its declared type.

    ``scan.partition.*`` splits the read as in Flink: rows outside the bounds, and NULLs, are not read.
    """
    options: ResolvedOptions = node.options
    database = _database(options)
    physical = [(c, f) for c, f in zip(node.table.columns, node.fields, strict=True) if c.kind == "physical"]
    own = [f"{database.name(c.name)} AS {database.quoted(c.name)}" for c, _ in physical]
    query = f"SELECT {', '.join(own)} FROM {options['table-name']}"
    spark = {"preferTimestampNTZ": "true", **_client(options)}
    if options["scan.partition.column"]:
        split, low, high = (options[f"scan.partition.{o}"] for o in ("column", "lower-bound", "upper-bound"))
        query += f" WHERE {database.name(str(split))} BETWEEN {low} AND {high}"
        spark |= {
            "partitionColumn": str(split),
            "numPartitions": str(options["scan.partition.num"]),
            "lowerBound": str(low),
            "upperBound": str(int(high) + 1),  # Spark's bound is exclusive
        }
    if options["scan.fetch-size"]:
        spark["fetchsize"] = str(options["scan.fetch-size"])
    read = J.Read(
        name=ctx.fresh(node.table.path.name),
        format="jdbc",
        options={**spark, "dbtable": f"({query}) flinkddl_rows"},
        streaming=False,
        table=str(node.table.path),
        note=f"jdbc table {node.table.path.name}",
    )
    names = unique_names(c.name for c, _ in physical)
    columns = [(n, _read_as(quote(c.name), f.type)) for n, (c, f) in zip(names, physical, strict=True)]
    if sequence:
        columns.append((SEQUENCE, ARRIVAL[ctx.streaming]))
    select = J.Select(
        name=ctx.fresh(f"{node.table.path.name}_columns"), input=ctx.add(read).name, columns=tuple(columns)
    )
    return Rel(ctx.add(select).name, names, tuple(f for _, f in physical), sequence=sequence)


def _read_as(column: str, t: DataType) -> str:
    """Cast what the driver gave to the declared type; Spark reads a TIME as that time of 1970-01-01."""
    if t.root is Root.TIME:
        return f"CAST(unix_micros(CAST({column} AS TIMESTAMP)) DIV 1000 AS INT)"
    return f"CAST({column} AS {spark_type(t)})"


def _client(options: ResolvedOptions) -> dict[str, str]:
    """Return Spark's options for the connection itself."""
    found = {"url": str(options["url"])} | ({"driver": driver} if (driver := _driver(options)) else {})
    found |= {k: str(options[ours]) for ours, k in (("username", "user"), ("password", "password")) if options[ours]}
    return found | _properties(options)


def _properties(options: ResolvedOptions) -> dict[str, str]:
    return {k.removeprefix("properties."): t.value for k, t in options.texts.items() if k.startswith("properties.")}


def jdbc_write(node: Sink, rel: Rel, ctx: Lowering) -> J.Write:
    """Lower a jdbc sink: upsert and delete by PRIMARY KEY where there is one, insert otherwise. Raises FD217."""
    options: ResolvedOptions = node.options
    assert node.table is not None
    if not _driver(options):
        message = f"the driver class of the database of '{node.target}' is not known"
        raise FlinkDdlError.of("FD217", message, node.span, "name it with 'driver'")
    named = [c.name for c in node.table.persisted]
    columns = [(c, rel.sql(i)) for i, c in enumerate(named)]
    if rel.kind == "upsert":
        columns.append((DELETED, quote(DELETED)))
    note = f"jdbc table {node.table.path.name}"
    step = J.Select(name=ctx.fresh("rows"), input=rel.step, columns=tuple(columns), note=note)
    keys = node.table.primary_key.columns if node.table.primary_key else ()
    client = {k if k in ("url", "driver") else f"connection.{k}": v for k, v in _client(options).items()}
    sink = client | statements(str(options["table-name"]), named, keys, _database(options))
    sink |= {"buffer-rows": str(options["sink.buffer-flush.max-rows"]), "retries": str(options["sink.max-retries"])}
    times = [i for i, c in enumerate(node.table.persisted) if c.type is not None and c.type.root is Root.TIME]
    if times:
        sink["time.columns"] = _places(times)
    if options["sink.parallelism"]:
        sink["parallelism"] = str(options["sink.parallelism"])
    return J.Write(
        name=node.target,
        input=ctx.add(step).name,
        format=J.JDBC_SINK,
        options=sink,
        mode=ctx.output_mode,
        table=node.target,
        note=note,
    )


def statements(table: str, columns: Sequence[str], keys: Sequence[str], database: Database) -> dict[str, str]:
    """Return the SQL texts of a sink with the columns (counted from 0) of their parameters, as JdbcWriter.java has it.

    >>> statements("t", ["k", "v"], ["k"], DATABASES["postgresql"])["put"]
    'INSERT INTO t (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v'
    """
    names = [database.name(c) for c in columns]
    every, places = list(range(len(columns))), [columns.index(k) for k in keys]
    rest = [i for i in every if i not in places]
    marks = ", ".join("?" for _ in columns)
    put = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
    if not keys:
        return {"put": put, "put.columns": _places(every)}
    where = " AND ".join(f"{names[i]} = ?" for i in places)
    out = {"key.columns": _places(places), "delete": f"DELETE FROM {table} WHERE {where}"}
    out |= {"delete.columns": _places(places), "put.columns": _places(every)}
    if database.upsert:
        sets = ", ".join(f"{names[i]} = {database.new.format(name=names[i])}" for i in rest)
        tail = database.upsert if rest else database.nothing
        listed = ", ".join(names[i] for i in places)
        return {**out, "put": f"{put} {tail.format(sets=sets, keys=listed, first=names[places[0]])}"}
    sets = ", ".join(f"{names[i]} = ?" for i in rest) or f"{names[places[0]]} = {names[places[0]]}"
    update = f"UPDATE {table} SET {sets} WHERE {where}"
    return {**out, "put": put, "update": update, "update.columns": _places([*rest, *places])}


def _places(columns: Sequence[int]) -> str:
    return ",".join(map(str, columns))
