"""The jdbc source: Spark's own reader over a query of the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors.jdbc.databases import client, database
from flinkddl.spark import job as J
from flinkddl.spark.context import ARRIVAL, SEQUENCE, Lowering, Rel, unique_names
from flinkddl.sqltypes import Root, quote, spark_type

if TYPE_CHECKING:
    from flinkddl.options import ResolvedOptions
    from flinkddl.plan.nodes import Scan
    from flinkddl.sqltypes import DataType


def rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a jdbc table: Spark's reader over ``SELECT`` of the table's columns, each cast to its declared type.

    ``scan.partition.*`` splits the read as in Flink: rows outside the bounds, and NULLs, are not read.
    """
    options: ResolvedOptions = node.options
    names_of = database(options)
    physical = [(c, f) for c, f in zip(node.table.columns, node.fields, strict=True) if c.kind == "physical"]
    own = [f"{names_of.name(c.name)} AS {names_of.quoted(c.name)}" for c, _ in physical]
    query = f"SELECT {', '.join(own)} FROM {options['table-name']}"
    spark = {"preferTimestampNTZ": "true", **client(options)}
    if options["scan.partition.column"]:
        split, low, high = (options[f"scan.partition.{o}"] for o in ("column", "lower-bound", "upper-bound"))
        query += f" WHERE {names_of.name(str(split))} BETWEEN {low} AND {high}"
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
        finished=True,
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
