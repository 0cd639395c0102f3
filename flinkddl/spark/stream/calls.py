"""Aggregate calls over rows that may be taken back: what is kept, and the Flink result made of it.

A call becomes accumulators of ``flinkddl.retract_aggregate`` (kind and argument text) and a finishing expression over
their results. ``Registry`` shares accumulators between calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.json import json_text
from flinkddl.spark.java_functions import argument_struct, retract_kind, retracting
from flinkddl.spark.rowtime import untimed
from flinkddl.sqltypes import APPROXIMATE, DataType, Root, spark_type

if TYPE_CHECKING:
    from flinkddl.functions.java.spec import JavaCall
    from flinkddl.plan.rex import AggCall
    from flinkddl.spark.context import Rel


@dataclass
class Registry:
    """The accumulators of one operator: (kind, argument) by position."""

    items: list[tuple[str, str]] = field(default_factory=list)

    def use(self, kind: str, argument: str) -> int:
        """Return the position of an accumulator, added where it is new."""
        if (kind, argument) not in self.items:
            self.items.append((kind, argument))
        return self.items.index((kind, argument))

    def struct(self) -> str:
        """Return the argument struct for ``retract_aggregate``; field names carry the kinds."""
        # without calls nothing but the presence of rows can change
        items = self.items or [("count", "CAST(NULL AS INT)")]
        return "named_struct(" + ", ".join(f"'{kind}:{i}', {arg}" for i, (kind, arg) in enumerate(items)) + ")"

    def read(self, position: int) -> str:
        """Return the result's field of an accumulator."""
        return f"`{self.items[position][0]}:{position}`"


Finish = Callable[[str], str]  # (text of the result struct) -> text of the call's value


def plan_call(call: AggCall, rel: Rel, registry: Registry, leaves: bool = False) -> Finish:
    """Register what a call needs and return how its value is made. Raises FD642 for an unknown aggregate.

    ``leaves``: rows leave a frame, also where the relation itself takes none back.
    """
    maker = _MAKERS.get(call.function)
    if maker is None:
        raise FlinkDdlError.of(
            "FD642", f"the aggregate '{call.function}' is not available over rows that can change", call.span
        )
    return maker(_Site(call, rel, registry, leaves or rel.kind != "append"))


@dataclass(frozen=True)
class _Site:
    call: AggCall
    rel: Rel
    registry: Registry
    retracts: bool

    @property
    def type(self) -> DataType:
        return self.rel.fields[self.call.args[0]].type

    def arg(self, n: int = 0) -> str:
        """An argument's text; a rowtime column counts as the plain timestamp it shows."""
        index = self.call.args[n]
        return untimed(self.rel.sql(index), self.rel.fields[index].type)

    def filtered(self, value: str) -> str:
        if self.call.filter is None:
            return value
        return f"IF({self.rel.sql(self.call.filter)}, {value}, NULL)"

    def wrapped(self, value: str, also: str = "") -> str:
        """A value in a struct; NULL where the value is NULL or filtered out."""
        return self.filtered(f"IF({value} IS NULL, NULL, named_struct('v', {value}{also}))")

    def get(self, kind: str, argument: str) -> Finish:
        position = self.registry.use(kind, argument)
        name = self.registry.read(position)
        return lambda result: f"{result}.{name}"


def _count(s: _Site) -> Finish:
    args = [s.arg(i) for i in range(len(s.call.args))]
    if s.call.distinct:
        return s.get("dcount", s.wrapped(args[0]))
    if not args:
        return s.get("count", s.filtered("1"))
    if len(args) == 1:
        return s.get("count", s.filtered(args[0]))
    present = " AND ".join(f"{a} IS NOT NULL" for a in args)
    return s.get("count", s.filtered(f"IF({present}, 1, NULL)"))


def _wide(t: DataType) -> str:
    """The Spark type in which values of a numeric type are summed."""
    if t.root is Root.DECIMAL:
        return spark_type(t)
    return "DOUBLE" if t.root in APPROXIMATE else "BIGINT"


def _total(s: _Site, value: str | None = None, wide: str | None = None) -> Finish:
    value = f"CAST({value or s.arg()} AS {wide or _wide(s.type)})"
    return s.get("dsum", s.wrapped(value)) if s.call.distinct else s.get("sum", s.filtered(value))


def _number(s: _Site) -> Finish:
    """Number of values that a SUM runs over."""
    return s.get("dcount", s.wrapped(s.arg())) if s.call.distinct else s.get("count", s.filtered(s.arg()))


_BITS = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32}


def wrap(sql: str, t: DataType) -> str:
    """Cast a BIGINT to a narrower whole number that wraps around, as Java and Flink do."""
    bits = _BITS.get(t.root)
    if bits is None:
        return sql
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    return f"CAST((({sql} + {half}L) & {mask}L) - {half}L AS {spark_type(t)})"


def narrow(sql: str, t: DataType) -> str:
    """Bring a sum or quotient to its Flink type."""
    if t.root in _BITS:
        return wrap(sql, t)
    return f"CAST({sql} AS {spark_type(t)})"


def _sum(s: _Site) -> Finish:
    total = _total(s)
    return lambda r: narrow(total(r), s.call.type)


def _avg(s: _Site) -> Finish:
    total, number = _total(s), _number(s)
    whole = _wide(s.type) == "BIGINT"

    def finish(r: str) -> str:
        quotient = f"{total(r)} {'div' if whole else '/'} nullif({number(r)}, 0L)"
        return narrow(f"({quotient})", s.call.type)

    return finish


def _variance(sample: bool, root: bool) -> Callable[[_Site], Finish]:
    def make(s: _Site) -> Finish:
        x = f"CAST({s.arg()} AS DOUBLE)"
        total = _total(s, x, "DOUBLE")
        squares = _total(s, f"({x} * {x})", "DOUBLE")
        number = _number(s)

        def finish(r: str) -> str:
            n = number(r)
            spread = f"({squares(r)} - {total(r)} * {total(r)} / nullif({n}, 0L))"
            value = f"({spread} / nullif({n}{' - 1L' if sample else ''}, 0L))"
            # no values, no deviation; a spread below zero is a rounding error
            value = f"sqrt(IF({value} < 0D, 0D, {value}))" if root else value
            return f"CAST({value} AS {spark_type(s.call.type)})"

        return finish

    return make


def _plain(kind: str) -> Callable[[_Site], Finish]:
    """One of the values; where none is taken back, the others are not kept."""
    return lambda s: s.get(kind if s.retracts else f"only_{kind}", s.wrapped(s.arg()))


def _list(s: _Site) -> Finish:
    separator = s.arg(1) if len(s.call.args) > 1 else "','"
    kind = "dlistagg" if s.call.distinct else "listagg"
    return s.get(kind, s.wrapped(f"CAST({s.arg()} AS STRING)", f", 's', CAST({separator} AS STRING)"))


def _collect(s: _Site) -> Finish:
    return s.get("dcollect" if s.call.distinct else "collect", s.wrapped(s.arg()))


def _array(s: _Site) -> Finish:
    kind = "darray" if s.call.distinct else "array"
    if s.call.ignore_nulls:
        return s.get(kind, s.wrapped(s.arg()))
    return s.get(kind, s.filtered(f"named_struct('v', {s.arg()})"))


def _single(s: _Site) -> Finish:
    values = s.get("array", f"named_struct('v', {s.arg()})")

    def finish(r: str) -> str:
        error = "raise_error('a scalar subquery gave more than one row')"
        return f"IF(size({values(r)}) > 1, {error}, get({values(r)}, 0))"

    return finish


def _json_value(s: _Site, n: int) -> str:
    """An argument as JSON text; one that is JSON already (option ``raw``) as it is."""
    options = dict(s.call.options)
    if n in options.get("raw", ()):
        return s.arg(n)
    return json_text(s.arg(n), s.rel.fields[s.call.args[n]].type.as_attribute(None), "UTC")


def _nulls(s: _Site) -> bool:
    return dict(s.call.options).get("nulls") == "NULL"


def _json_array(s: _Site) -> Finish:
    text = _json_value(s, 0)
    text = f"coalesce({text}, 'null')" if _nulls(s) else text
    values = s.get("array", s.wrapped(text))
    return lambda r: f"concat('[', array_join(coalesce({values(r)}, array()), ','), ']')"


def _json_object(s: _Site) -> Finish:
    """Members sorted by key, as Flink's mapper writes them; the same key twice fails the job, as there."""
    pair = f"named_struct('k', {s.arg(0)}, 'v', {_json_value(s, 1)})"
    values = s.get("array", s.filtered(f"named_struct('v', {pair})"))
    error = "raise_error('Duplicate keys are not allowed in JSON_OBJECTAGG')"
    member = "concat(flinkddl.json_text(__e.k, false), ':', coalesce(__e.v, 'null'))"
    absent = dict(s.call.options).get("nulls") == "ABSENT"

    def finish(r: str) -> str:
        members = f"coalesce({values(r)}, array())"
        members = f"filter({members}, __e -> __e.v IS NOT NULL)" if absent else members
        wrong = f"size(array_distinct(transform({members}, __e -> __e.k))) < size({members})"
        wrong = f"({wrong} OR exists({members}, __e -> __e.k IS NULL))"
        joined = f"array_join(transform(array_sort({members}), __e -> {member}), ',')"
        return f"IF({wrong}, {error}, concat('{{', {joined}, '}}'))"

    return finish


def _percentile(s: _Site) -> Finish:
    """Linear interpolation between the two nearest values; the third argument repeats a value."""
    shares = dict(s.call.options).get("shares")
    times = f"CAST({s.arg(2)} AS INT)" if len(s.call.args) > 2 else "1"
    share = f"CAST({s.arg(1)} AS DOUBLE)" if shares is None else "0D"
    entry = f"named_struct('x', CAST({s.arg()} AS DOUBLE), 'n', {times}, 'p', {share})"
    present = f"IF({s.arg()} IS NULL OR {times} <= 0, NULL, named_struct('v', {entry}))"
    values = s.get("array", s.filtered(present))

    def finish(r: str) -> str:
        ranked = f"array_sort(flatten(transform({values(r)}, __e -> array_repeat(__e.x, __e.n))))"
        each = [_interpolated("__a", f"{values(r)}[0].p" if p is None else f"{p}D") for p in shares or (None,)]
        text = f"array({', '.join(each)})" if shares is not None else each[0]
        return f"IF({values(r)} IS NULL, NULL, transform(array({ranked}), __a -> {text})[0])"

    return finish


def _interpolated(values: str, share: str) -> str:
    place = f"({share} * (size({values}) - 1))"
    low, high = (f"get({values}, CAST({f}({place}) AS INT))" for f in ("floor", "ceil"))
    return f"({low} + ({place} - floor({place})) * ({high} - {low}))"


def _java(s: _Site) -> Finish:
    """A user's aggregate function. Raises FD522 where it must take rows back and cannot."""
    call: JavaCall = retracting(s.call) if s.retracts else s.call.option("call")
    call = replace(call, distinct=s.call.distinct)
    struct = argument_struct([s.arg(i) for i in range(len(s.call.args))]) or "named_struct('none', true)"
    return s.get(retract_kind(call.to_json), s.filtered(struct))


_MAKERS: dict[str, Callable[[_Site], Finish]] = {
    "COUNT": _count,
    "SUM": _sum,
    "SUM0": lambda s: (lambda f: lambda r: f"coalesce({f(r)}, 0)")(_sum(s)),
    "AVG": _avg,
    "MIN": _plain("min"),
    "MAX": _plain("max"),
    "FIRST_VALUE": _plain("first"),
    "LAST_VALUE": _plain("last"),
    "LISTAGG": _list,
    "COLLECT": _collect,
    "ARRAY_AGG": _array,
    "JSON_ARRAYAGG": _json_array,
    "JSON_OBJECTAGG": _json_object,
    "JAVA": _java,
    "PERCENTILE": _percentile,
    "SINGLE_VALUE": _single,
    "STDDEV_POP": _variance(sample=False, root=True),
    "STDDEV_SAMP": _variance(sample=True, root=True),
    "STDDEV": _variance(sample=True, root=True),
    "VAR_POP": _variance(sample=False, root=False),
    "VAR_SAMP": _variance(sample=True, root=False),
    "VARIANCE": _variance(sample=True, root=False),
}
