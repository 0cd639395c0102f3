"""Aggregates: typing, and Spark SQL text for batch and append-only input.

The text of an aggregate takes DISTINCT, FILTER (``where``) and an OVER clause (``window``) from the options; wrapping
casts stand outside of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.arithmetic_functions import narrow
from flinkddl.functions.core import Function, Lowered, Operands, Options, SignatureError, same
from flinkddl.functions.json import raw_json, writes
from flinkddl.functions.typing import strip_attribute
from flinkddl.sqltypes import DataType, Root, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Aggregate(Function):
    """An aggregate or window function. ``empty_is_null``: over no rows the result is NULL."""

    empty_is_null: bool = True
    batch_only: bool = False


def plain(name: str, call: Lowered, *args: str) -> str:
    """Return ``name([DISTINCT] args) [FILTER (WHERE ..)] [OVER (..)]``."""
    distinct = "DISTINCT " if call.options.get("distinct") else ""
    return f"{name}({distinct}{', '.join(args or call.a)}){_clauses(call)}"


def _clauses(call: Lowered, respect: str = "") -> str:
    where, window = call.options.get("where"), call.options.get("window")
    return (f" FILTER (WHERE {where})" if where else "") + respect + (f" {window}" if window else "")


def _simple(name: str) -> Callable[[Lowered], str]:
    return lambda call: plain(name, call)


def _sum_type(args: Operands, _: Options) -> DataType:
    t = args[0].type
    return T.DECIMAL(38, t.scale or 0) if t.root is Root.DECIMAL else t


def _avg_type(args: Operands, _: Options) -> DataType:
    t = args[0].type
    return T.DECIMAL(38, max(t.scale or 0, 6)) if t.root is Root.DECIMAL else t


def _long_sum(call: Lowered) -> str:
    """A sum of whole numbers that wraps: exact in 38 digits, then the low bits."""
    wide = plain("sum", call, f"CAST({call.a[0]} AS DECIMAL(28,0))")
    return f"flinkddl.decimal_to_long({wide})"


def _sum(call: Lowered) -> str:
    t = call.type
    if t.root is Root.DECIMAL:
        return f"try_cast({plain('try_sum', call, f'CAST({call.a[0]} AS {spark_type(t)})')} AS {spark_type(t)})"
    if t.root in T.INTEGER:
        return narrow(_long_sum(call), t)
    return f"CAST({plain('sum', call)} AS {spark_type(t)})"


def _avg(call: Lowered) -> str:
    t = call.type
    if t.root in T.INTEGER:
        return narrow(f"({_long_sum(call)} div nullif({plain('count', call)}, 0))", t)
    if t.root is Root.DECIMAL:
        source = call.t[0]
        total = plain("try_sum", call, f"CAST({call.a[0]} AS DECIMAL(38,{source.scale}))")
        count = f"CAST(nullif({plain('count', call)}, 0) AS DECIMAL(20,0))"
        return f"try_cast(try_divide({total}, {count}) AS {spark_type(t)})"
    return f"CAST({plain('avg', call)} AS {spark_type(t)})"


def _count(call: Lowered) -> str:
    return plain("count", call, *(call.a or ("1",)))


def _count_fits(args: Operands, options: Options) -> None:
    if len(args) > 1 and options.get("distinct"):
        raise SignatureError("COUNT(DISTINCT ..) takes one argument")


def _ordered_type(args: Operands, _: Options) -> None:
    t = args[0].type
    if t.root in (Root.ARRAY, Root.MAP, Root.MULTISET, Root.ROW, Root.VARIANT):
        raise SignatureError(f"MIN and MAX do not take {t.summary}")


def _deviation(name: str) -> Callable[[Lowered], str]:
    def lower(call: Lowered) -> str:
        text = plain(name, call, f"CAST({call.a[0]} AS DOUBLE)")
        t = call.type
        if t.root in T.INTEGER:
            return narrow(f"flinkddl.to_long({text})", t)
        return f"try_cast({text} AS {spark_type(t)})"

    return lower


def _first(name: str) -> Callable[[Lowered], str]:
    """FIRST_VALUE and LAST_VALUE skip NULLs; ``ordered_by`` makes them exact where rows have an order."""

    def lower(call: Lowered) -> str:
        order = call.options.get("ordered_by")
        if not order:
            return f"{name}_value({call.a[0]}, true){_clauses(call)}"
        place = f"if({call.a[0]} IS NULL, NULL, {order})"
        return f"{'min' if name == 'first' else 'max'}_by({call.a[0]}, {place}){_clauses(call)}"

    return lower


def _single(call: Lowered) -> str:
    """The value of a scalar subquery: more than one row fails the job."""
    error = "raise_error('SingleValueAggFunction received more than one element.')"
    return f"if({plain('count', call, '1')} > 1, CAST({error} AS {spark_type(call.type)}), {plain('first', call)})"


def _listed(call: Lowered, value: str, keep_nulls: bool) -> str:
    """The values of a group as an array, in order of arrival where it is known."""
    order = call.options.get("ordered_by")
    distinct = "DISTINCT " if call.options.get("distinct") else ""
    respect = " RESPECT NULLS" if keep_nulls else ""
    if order:
        pairs = f"array_sort(collect_list(struct({order} AS o, {value} AS v)){_clauses(call)})"
        values = f"transform({pairs}, e -> e.v)"
        values = values if keep_nulls else f"filter({values}, e -> e IS NOT NULL)"
        return f"array_distinct({values})" if distinct else values
    if distinct:
        return f"array_distinct(collect_list({value}){_clauses(call, respect)})"
    return f"collect_list({value}){_clauses(call, respect)}"


def _array_agg(call: Lowered) -> str:
    values = _listed(call, call.a[0], call.options.get("ignore_nulls") is not True)
    return f"(CASE WHEN size({values}) = 0 THEN NULL ELSE {values} END)"


def _collect(call: Lowered) -> str:
    values = _listed(call, call.a[0], False)
    keys = f"array_distinct({values})"
    if call.options.get("distinct"):
        return f"map_from_arrays({keys}, transform({keys}, e -> 1))"
    return f"map_from_arrays({keys}, transform({keys}, e -> size(filter({values}, y -> y <=> e))))"


def _listagg(call: Lowered) -> str:
    separator = call.a[1] if len(call.a) > 1 else "','"
    values = _listed(call, call.a[0], False)
    return f"(CASE WHEN size({values}) = 0 THEN NULL ELSE array_join({values}, {separator}) END)"


def _json_array(call: Lowered) -> str:
    value = raw_json(call, 0)
    if call.options.get("nulls") == "NULL":
        value = f"coalesce({value}, 'null')"
    return f"concat('[', array_join({_listed(call, value, False)}, ','), ']')"


def _json_object(call: Lowered) -> str:
    value = raw_json(call, 1)
    member = f"struct({call.a[0]} AS k, {value} AS v)"
    members = _listed(call, member, False)
    if call.options.get("nulls") == "ABSENT":
        members = f"filter({members}, e -> e.v IS NOT NULL)"
    twice = f"size(array_distinct(transform({members}, e -> e.k))) < size({members})"
    nameless = f"exists({members}, e -> e.k IS NULL)"
    error = "raise_error('Duplicate keys are not allowed in JSON_OBJECTAGG')"
    text = "concat(flinkddl.json_text(e.k, false), ':', coalesce(e.v, 'null'))"
    joined = f"array_join(transform(array_sort({members}), e -> {text}), ',')"
    return f"if({twice} OR {nameless}, {error}, concat('{{', {joined}, '}}'))"


def _percentile_type(args: Operands, _: Options) -> DataType:
    return T.ARRAY(T.DOUBLE) if args[1].type.root is Root.ARRAY else T.DOUBLE


def _percentile(call: Lowered) -> str:
    shares = call.options.get("shares")
    known = call.a[1] if shares is None else f"array({', '.join(str(s) for s in shares)})"
    share = f"CAST({known} AS {'ARRAY<DOUBLE>' if call.type.root is Root.ARRAY else 'DOUBLE'})"
    return f"percentile({', '.join((call.a[0], share, *call.a[2:]))}){_clauses(call)}"


def _agg_array(args: Operands, options: Options) -> DataType:
    element = args[0].type
    return T.ARRAY(element.with_nullable(element.nullable and options.get("ignore_nulls") is not True))


def _text_literal(args: Operands, _: Options) -> None:
    if len(args) > 1 and not isinstance(args[1].value, str):
        raise SignatureError("the separator must be a character literal")


_JSON_TEXT = T.VARCHAR(2000)
_STAT = {
    "STDDEV_POP": "stddev_pop",
    "STDDEV_SAMP": "stddev_samp",
    "STDDEV": "stddev_samp",
    "VAR_POP": "var_pop",
    "VAR_SAMP": "var_samp",
    "VARIANCE": "var_samp",
}
_REFUSED = "its sketch differs from Flink's"
RANKING = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK"})
FUNCTIONS = (
    Aggregate("COUNT", "null*", T.BIGINT, _count, nulls="no", check=_count_fits, empty_is_null=False),
    Aggregate("SUM", "numeric", _sum_type, _sum),
    Aggregate("SUM0", "numeric", _sum_type, lambda c: f"coalesce({_sum(c)}, 0)", nulls="no", empty_is_null=False),
    Aggregate("AVG", "numeric", _avg_type, _avg),
    Aggregate("MIN", "any", same(), _simple("min"), check=_ordered_type),
    Aggregate("MAX", "any", same(), _simple("max"), check=_ordered_type),
    *(
        Aggregate(n, "numeric", _avg_type, _deviation(f), nulls="yes" if "POP" not in n else "any")
        for n, f in _STAT.items()
    ),
    Aggregate("FIRST_VALUE", "any", same(), _first("first")),
    Aggregate("LAST_VALUE", "any", same(), _first("last")),
    Aggregate(
        "COLLECT", "any", lambda a, _: T.MULTISET(strip_attribute(a[0].type)), _collect, nulls="no", empty_is_null=False
    ),
    Aggregate("ARRAY_AGG", "any", _agg_array, _array_agg, empty_is_null=False),
    Aggregate("LISTAGG", "string string?", T.STRING, _listagg, "first", _text_literal, empty_is_null=False),
    Aggregate("JSON_ARRAYAGG", "any", _JSON_TEXT, _json_array, nulls="no", check=writes(0), empty_is_null=False),
    Aggregate(
        "JSON_OBJECTAGG", "string any", _JSON_TEXT, _json_object, nulls="no", check=writes(1), empty_is_null=False
    ),
    Aggregate(
        "PERCENTILE", "numeric numeric integer?;numeric array integer?", _percentile_type, _percentile, nulls="yes"
    ),
    Aggregate(
        "APPROX_COUNT_DISTINCT",
        "any",
        T.BIGINT,
        _simple("approx_count_distinct"),
        nulls="no",
        empty_is_null=False,
        batch_only=True,
    ),
    Aggregate("SINGLE_VALUE", "any", same(), _single, nulls="yes"),
    Aggregate("ROW_NUMBER", "", T.BIGINT, "CAST(row_number() AS BIGINT)", nulls="no"),
    Aggregate("RANK", "", T.BIGINT, "CAST(rank() AS BIGINT)", nulls="no"),
    Aggregate("DENSE_RANK", "", T.BIGINT, "CAST(dense_rank() AS BIGINT)", nulls="no"),
    Aggregate("CUME_DIST", "", T.DOUBLE, "cume_dist()", nulls="no"),
    Aggregate("PERCENT_RANK", "", T.DOUBLE, "percent_rank()", nulls="no"),
    Aggregate("NTILE", "integer", T.BIGINT, "CAST(ntile({0}) AS BIGINT)", nulls="no"),
    Aggregate("LAG", "any int? any?", same(), "lag({all})", nulls="yes"),
    Aggregate("LEAD", "any int? any?", same(), "lead({all})", nulls="yes"),
)
