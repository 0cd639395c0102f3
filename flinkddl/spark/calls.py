"""The calls of each step kind and write, described once: the runtime performs them and the printer writes them.

A value is a chain of method calls. It begins with a DataFrame, the session or an expression; its arguments are values
too, or plain Python: text, numbers, lists and mappings of them. What only a cluster knows, or only the place where a
job runs, is a hole that each of the two fills: the runtime with the value, the printer with ``Code`` that looks it up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from flinkddl.deep import balanced
from flinkddl.spark import job as J
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

LATEST = "latest"  # in the metrics of an observed watermark: the latest time of the batch, in microseconds
_LINKS = 32  # Python compiles a chain of calls by recursion, and Spark looks at all that is in a union with each call


@dataclass(frozen=True)
class Frame:
    """The DataFrame of a step."""

    step: str


@dataclass(frozen=True)
class Session:
    """The session of the job."""


@dataclass(frozen=True)
class Expression:
    """A Column: ``expr(sql)``."""

    sql: str


@dataclass(frozen=True)
class Setting:
    """The value of an option: a program looks it up where it is a secret."""

    key: str
    value: str = field(repr=False)


@dataclass(frozen=True)
class Code:
    """Python text in the place of a value; of printed programs only."""

    text: str


@dataclass(frozen=True)
class Attribute:
    """``.name``."""

    name: str


@dataclass(frozen=True)
class Call:
    """``.method(*args, **named)``."""

    method: str
    args: tuple[Value, ...] = ()
    named: Named | None = None


@dataclass(frozen=True)
class Chain:
    """Calls on what the ones before gave."""

    start: Frame | Session | Expression | Chain
    calls: tuple[Attribute | Call, ...]


Plain: TypeAlias = "str | int | list[str] | Mapping[str, Any] | Callable[..., Any]"
Value: TypeAlias = "Frame | Session | Expression | Chain | Setting | Code | Plain"
Named: TypeAlias = "Mapping[str, Any] | Code"


def calls_of(step: J.Step) -> Chain:
    """Return the calls that make the DataFrame of a step over those of its inputs. Raises KeyError for a read."""
    return _CALLS[type(step)](step)


def read_calls(step: J.Read, options: Named, source: Value = "", positions: Named | None = None) -> Chain:
    """Return the calls that open a source; ``source`` is its name, where streaming sources have names."""
    kind = Attribute("readStream" if step.streaming else "read")
    named = (Call("name", (source,)),) if source and step.streaming else ()
    schema = () if step.schema is None else (Call("schema", (step.schema,)),)
    given = (Call("options", named=options),) if isinstance(options, Code) else _options(options)
    more = (Call("options", named=positions),) if positions else ()
    return Chain(Session(), (kind, *named, Call("format", (step.opened,)), *schema, *given, *more, Call("load")))


_WORDS: Mapping[str, str] = {"earliest-offset": "earliest", "latest-offset": "latest"}


def known_positions(start: Mapping[str, str], stop: Mapping[str, str], streaming: bool) -> dict[str, str]:
    """Return the positions of a Kafka source that nobody need be asked for; {} where a cluster has to say them.

    Spark takes no batch from ``latest`` on.
    """
    mode, end = start.get("mode", "earliest-offset"), stop.get("mode", "unbounded")
    if streaming:
        return {"startingOffsets": _WORDS[mode]} if mode in _WORDS else {}
    simple = mode == "earliest-offset" and end in ("unbounded", "latest-offset")
    return {"startingOffsets": "earliest", "endingOffsets": "latest"} if simple else {}


def write_calls(write: J.Write) -> Chain:
    """Return the calls that run a write of a batch job."""
    mode = Call("mode", ("overwrite" if write.overwrite else "append",))
    dynamic = _options({"partitionOverwriteMode": "dynamic"} if write.partitions else {})
    into = (Call("format", (write.format,)), *_options(write.options), *dynamic, *_partitioned(write))
    return _on(write.input, Attribute("write"), *into, mode, Call("save"))


def query_calls(
    write: J.Write, trigger: Mapping[str, Any], location: Value, take: Callable[..., None] | Code | None = None
) -> Chain:
    """Return the calls that start the query of a write, its checkpoint at ``location``.

    ``take`` is what takes each micro-batch where the rows go to the driver.
    """
    if take is not None:
        into: tuple[Call, ...] = (Call("foreachBatch", (take,)),)
    else:
        into = (Call("format", (write.format,)), *_options(write.options), *_partitioned(write))
    how = (
        Call("outputMode", (write.mode,)),
        Call("option", ("checkpointLocation", location)),
        Call("queryName", (write.name,)),
        Call("trigger", named=trigger),
    )
    return _on(write.input, Attribute("writeStream"), *into, *how, Call("start"))


def trigger_of(job: J.SparkJob) -> dict[str, Any]:
    """Return the trigger as keyword arguments: ``("availableNow", "true")`` -> ``{"availableNow": True}``."""
    kind, value = job.trigger
    return {kind: True if value == "true" else value}


def _options(options: Mapping[str, str]) -> tuple[Call, ...]:
    return tuple(Call("option", (key, Setting(key, value))) for key, value in sorted(options.items()))


def _partitioned(write: J.Write) -> tuple[Call, ...]:
    return (Call("partitionBy", write.partitions),) if write.partitions else ()


def _on(step: str, *calls: Attribute | Call) -> Chain:
    return Chain(Frame(step), calls)


def _named(columns: Iterable[J.Named]) -> tuple[Chain, ...]:
    return tuple(Chain(Expression(sql), (Call("alias", (name,)),)) for name, sql in columns)


def _select(step: J.Select) -> Chain:
    texts = [sql if sql == quote(name) else f"{sql} AS {quote(name)}" for name, sql in step.columns]
    if step.generator is not None:
        sql, names = step.generator
        texts.append(f"{sql} AS ({', '.join(map(quote, names))})")
    return _on(step.input, Call("selectExpr", tuple(texts)))


def _watermark(step: J.WithWatermark) -> Chain:
    marked = Call("withWatermark", (step.column, step.delay))
    if not step.observed:
        return _on(step.input, marked)
    latest = _named([(LATEST, f"max(unix_micros({quote(step.column)}))")])
    return _on(step.input, marked, Call("observe", (step.observed, *latest)))


def time_calls(step: J.WithTime, told: Value) -> Chain:
    """Return the calls that tell a table's time beside its rows; ``told`` is SQL that says of how many senders."""
    return _on(step.input, Call("selectExpr", (*map(quote, step.columns), told)))


def _metadata(step: J.WithMetadata) -> Chain:
    return _on(step.input, *(Call("withMetadata", (c, dict(known))) for c, known in step.columns.items()))


def _group(step: J.GroupBy) -> Chain:
    grouped = Call("groupBy", _named(step.keys))
    if step.aggs:
        aggs = _named((name, agg if isinstance(agg, str) else agg.sql) for name, agg in step.aggs)
        return _on(step.input, grouped, Call("agg", aggs))
    return _on(step.input, grouped, Call("agg", _named([("__count", "count(1)")])), Call("drop", ("__count",)))


def _order(step: J.OrderBy) -> Chain:
    ways = [("desc" if k.descending else "asc") + _NULLS[k.nulls_first] for k in step.keys]
    keys = (Chain(Expression(k.sql), (Call(way),)) for k, way in zip(step.keys, ways, strict=True))
    return _on(step.input, Call("orderBy", tuple(keys)))


_NULLS: Mapping[bool | None, str] = {None: "", True: "_nulls_first", False: "_nulls_last"}


def _limit(step: J.Limit) -> Chain:
    offset = (Call("offset", (step.offset,)),) * (step.offset > 0)
    return _on(step.input, *offset, *(() if step.fetch is None else (Call("limit", (step.fetch,)),)))


def _join(step: J.JoinStep) -> Chain:
    if step.how == "cross":
        return _on(step.left, Call("crossJoin", (Frame(step.right),)))
    return _on(step.left, Call("join", (Frame(step.right), Expression(step.on), step.how)))


def _union(step: J.UnionAll) -> Chain:
    first, *rest = map(Frame, step.parts)
    if len(rest) < _LINKS:
        return Chain(first, tuple(Call("union", (other,)) for other in rest))
    # Spark makes one flat Union of them all the same
    each: list[Frame | Chain] = [first, *rest]
    both = balanced(each, lambda a, b: Chain(a, (Call("union", (b,)),)))
    assert isinstance(both, Chain)
    return both


_CALLS: Mapping[type[J.Step], Callable[[Any], Chain]] = {
    J.Rows: lambda step: Chain(Session(), (Call("sql", (step.query,)),)),
    J.Select: _select,
    J.Where: lambda step: _on(step.input, Call("where", (step.condition,))),
    J.WithWatermark: _watermark,
    J.WithTime: lambda step: time_calls(step, str(step.senders).join(step.parts)),
    J.Coalesce: lambda step: _on(step.input, Call("coalesce", (step.tasks,))),
    J.WithMetadata: _metadata,
    J.GroupBy: _group,
    J.DropDuplicates: lambda step: _on(step.input, Call("dropDuplicates", (list(step.columns),))),
    J.OrderBy: _order,
    J.Limit: _limit,
    J.JoinStep: _join,
    J.UnionAll: _union,
}
