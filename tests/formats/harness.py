"""Runs decoders and encoders on Spark, for tests of this room."""

from __future__ import annotations

from typing import Any

from flinkddl.formats import WEIGHT, Wanted, decoder, encoder
from flinkddl.options.resolved import FormatOptions
from flinkddl.sqltypes import DataType, Root, spark_type
from tests.support.ddl import parse
from tests.support.javatext import java_text
from tests.support.kernels import kernel_session, messages

IGNORE = {"ignore-parse-errors": True}


def chosen(name: str, options: dict[str, Any] | None = None) -> FormatOptions:
    options = options or {}
    return FormatOptions(name, "format", f"{name}.", options, frozenset(options))


def fields(columns: str) -> list[tuple[str, DataType]]:
    return [(c.name, c.type) for c in parse(f"CREATE TABLE t ({columns})").columns if c.type is not None]


def decode(
    name: str, columns: str, values: list[bytes | str | None], options: dict[str, Any] | None = None, metadata: Any = ()
) -> list[list[Any]]:
    """Return the rows of the messages as texts; with a delta format the last item is -1 or +1."""
    spec = decoder(chosen(name, options), fields(columns), owner="value of table 't'", wanted=Wanted(list(metadata)))
    spark = kernel_session()
    for key, value in spec.secrets.items():
        spark.conf.set(key, value)
    raw = [v.encode() if isinstance(v, str) else v for v in values]
    records = [{"value": None if v is None else v.hex()} for v in raw]
    rows = spark.sql(f"SELECT {spec.expression} AS v FROM {messages(records)}").collect()
    out = []
    for r in (r for row in rows for r in row["v"]):
        shown = [java_text(v, t) for v, (_, t) in zip(r, spec.fields, strict=False)]
        out.append([*shown, r[WEIGHT]] if spec.changelog == "delta" else shown)
    return out


def encode(name: str, columns: str, rows: list[str], options: dict[str, Any] | None = None) -> list[bytes | None]:
    """Return the messages of rows. A row is the text of Spark expressions, one a column, then the weight of a delta."""
    typed = fields(columns)
    spec = encoder(
        chosen(name, options), typed, owner="value of table 't'", values=[f"c{i}" for i in range(len(typed))]
    )
    spark = kernel_session()
    for key, value in spec.secrets.items():
        spark.conf.set(key, value)
    names = [f"c{i}" for i in range(len(typed))] + ([WEIGHT] if spec.accepts == "delta" else [])
    query = " UNION ALL ".join(f"SELECT {row}" for row in rows)
    casts = [f"{_carried(n, t)} AS {n}" for n, (_, t) in zip(names, typed, strict=False)]
    casts += [n for n in names if n == WEIGHT]
    listed = ", ".join(names)
    text = f"SELECT {spec.expression} AS b FROM (SELECT {', '.join(casts)} FROM ({query}) AS q({listed}))"
    return [None if r["b"] is None else bytes(r["b"]) for r in spark.sql(text).collect()]


def _carried(name: str, t: DataType) -> str:
    if t.root is Root.NULL:
        return name
    return f"CAST({name} AS {spark_type(t)})"
