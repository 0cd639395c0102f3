"""The jdbc sink: our own, with the SQL texts of the table's database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors.jdbc.databases import client, database, driver
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.spark import job as J
from flinkddl.spark.context import DELETED, Lowering, Rel
from flinkddl.spark.sink import written
from flinkddl.sqltypes import Root, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.connectors.jdbc.databases import Database
    from flinkddl.options import ResolvedOptions
    from flinkddl.plan.nodes import Sink


def write(node: Sink, rel: Rel, ctx: Lowering) -> J.Write:
    """Lower a jdbc sink: upsert and delete by PRIMARY KEY where there is one, insert otherwise. Raises FD217."""
    options: ResolvedOptions = node.options
    assert node.table is not None
    if not driver(options):
        message = f"the driver class of the database of '{node.target}' is not known"
        raise FlinkDdlError.of("FD217", message, node.span, "name it with 'driver'")
    named = [c.name for c in node.table.persisted]
    columns = [(c, rel.sql(i)) for i, c in enumerate(named)]
    if rel.kind == "upsert":
        columns.append((DELETED, quote(DELETED)))
    note = f"jdbc table {node.table.path.name}"
    step = J.Select(name=ctx.fresh("rows"), input=rel.step, columns=tuple(columns), note=note)
    keys = node.table.primary_key.columns if node.table.primary_key else ()
    connection = {k if k in ("url", "driver") else f"connection.{k}": v for k, v in client(options).items()}
    sink = connection | statements(str(options["table-name"]), named, keys, database(options))
    sink |= {"buffer-rows": str(options["sink.buffer-flush.max-rows"]), "retries": str(options["sink.max-retries"])}
    times = [i for i, c in enumerate(node.table.persisted) if c.type is not None and c.type.root is Root.TIME]
    if times:
        sink["time.columns"] = _places(times)
    if options["sink.parallelism"]:
        sink["parallelism"] = str(options["sink.parallelism"])
    return written(node, ctx.add(step).name, ctx, J.JDBC_SINK, sink, note)


def statements(table: str, columns: Sequence[str], keys: Sequence[str], dialect: Database) -> dict[str, str]:
    """Return the SQL texts of a sink with the columns (counted from 0) of their parameters, as JdbcWriter.java has it.

    >>> statements("t", ["k", "v"], ["k"], DATABASES["postgresql"])["put"]
    'INSERT INTO t (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v'
    """
    names = [dialect.name(c) for c in columns]
    every, places = list(range(len(columns))), [columns.index(k) for k in keys]
    rest = [i for i in every if i not in places]
    marks = ", ".join("?" for _ in columns)
    put = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
    if not keys:
        return {"put": put, "put.columns": _places(every)}
    where = " AND ".join(f"{names[i]} = ?" for i in places)
    out = {"key.columns": _places(places), "delete": f"DELETE FROM {table} WHERE {where}"}
    out |= {"delete.columns": _places(places), "put.columns": _places(every)}
    if dialect.upsert:
        sets = ", ".join(f"{names[i]} = {dialect.new.format(name=names[i])}" for i in rest)
        tail = dialect.upsert if rest else dialect.nothing
        listed = ", ".join(names[i] for i in places)
        return {**out, "put": f"{put} {tail.format(sets=sets, keys=listed, first=names[places[0]])}"}
    sets = ", ".join(f"{names[i]} = ?" for i in rest) or f"{names[places[0]]} = {names[places[0]]}"
    update = f"UPDATE {table} SET {sets} WHERE {where}"
    return {**out, "put": put, "update": update, "update.columns": _places([*rest, *places])}


def _places(columns: Sequence[int]) -> str:
    return ",".join(map(str, columns))
