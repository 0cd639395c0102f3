"""What groups of state by key have given out so far, as the jar tells it of their state (``Held.java``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.storage.unsafe_rows import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

TELLING = frozenset({"aggregate", "inner", "latest", "semi", "session", "sessionlist", "top", "window", "windowtop"})
"""Kinds of nodes of which that can be told (``Kind.held``)."""
_IN_THE_HEAD = frozenset({"latest", "session", "sessionlist", "windowtop"})
_PAGED = frozenset({"min", "max", "first", "last"})
"""Calls of which a result may lie in a page beside the head (Call.Values, Call.Edge)."""
_CONSTANT = re.compile(r"\d+L?|true|false")


def constants(args: Sequence[str]) -> list[str | None]:
    """Return what of a call's arguments is the same for all rows; None for the others."""
    return [sql if _CONSTANT.fullmatch(sql) else None for sql in args]


def paged(kind: str, arguments: Sequence[Any]) -> bool:
    """Whether a group's result may hang on what lies beside its head; ``arguments`` are types of the call's."""
    if kind in ("aggregate", "window"):
        return any(name.partition(":")[0] in _PAGED for name, _ in fields_of(arguments[2]))
    return kind not in _IN_THE_HEAD


def with_pages(state: DataFrame, pages: DataFrame | None) -> DataFrame:
    """Return groups (``k``, ``head``) with the entries (``k``, ``n``, ``v``) that lie beside their heads, if any do."""
    from pyspark.sql import functions as F

    if pages is None:
        return state.selectExpr("*", "CAST(NULL AS ARRAY<STRUCT<k: BINARY, v: BINARY>>) AS pages")
    return state.join(pages.groupBy("k").agg(F.collect_list(F.struct("n", "v")).alias("pages")), "k", "left")


def told(state: DataFrame, kind: str, types: Column) -> DataFrame:
    """Return the groups that have a row, each with ``h``: its key ``k`` and its result ``r``."""
    call = f"flinkddl.held_{kind}(k, head, pages, types) AS h"
    return state.withColumn("types", types).selectExpr("k", call).where("h IS NOT NULL")


def types_of(node: Mapping[str, Any], values: Sequence[str | None]) -> Column:
    """Return a STRUCT of the types of a node's ``keys`` and ``arguments``, with the ``values`` that are constant."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    key = StructType.fromJson(_struct(dict(_numbered([type for _, type in node["keys"]]))))
    given = StructType.fromJson(_struct(dict(_numbered(node["arguments"]))))
    found = [F.lit(None) if sql is None else F.expr(sql) for sql in values]
    found += [F.lit(None)] * (len(given.fields) - len(found))
    arguments = [value.cast(f.dataType).alias(f.name) for value, f in zip(found, given.fields, strict=False)]
    return F.struct(F.lit(None).cast(key).alias("key"), F.struct(*arguments).alias("args"))


def _numbered(types: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"c{i}", type) for i, type in enumerate(types))


def _struct(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type of a struct as Spark writes it in JSON."""
    listed = [{"name": name, "type": type, "nullable": True, "metadata": {}} for name, type in fields.items()]
    return {"type": "struct", "fields": listed}
