"""Top-N and deduplication: a ROW_NUMBER in an Over node below a filter on it.

Recognised as in Flink: ``rn <= n``, ``rn < n``, ``rn = n``, ``rn BETWEEN a AND b``, ``rn <= column``, with any other
conditions beside them. With ``rn = 1`` and one time attribute as order it is a deduplication.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.aggregate import RANKING
from flinkddl.plan import make
from flinkddl.plan.nodes import Deduplicate, Filter, Over, Rank
from flinkddl.plan.rex import MIRROR, Call, InputRef, Literal, Rex, conjuncts
from flinkddl.sqltypes import BIGINT

if TYPE_CHECKING:
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node

MAX_RANK = 2**63 - 1


@dataclass
class _Range:
    """Bounds of the rank that the filter's conjuncts give; ``end_field`` an upper bound that is a column."""

    start: int = 1
    end: int | None = None
    end_field: int | None = None
    used: bool = False


def rank(node: Filter, context: Context) -> Node | None:
    """Return what a filter above a ranking Over node becomes, or None when it is no Top-N."""
    over = node.input
    if not isinstance(over, Over) or len(over.calls) != 1 or over.calls[0].function not in RANKING:
        return None
    index = len(over.input.fields)
    found = _Range()
    rest = [p for p in conjuncts(node.condition) if not _take(p, index, found)]
    if not found.used:
        return None
    if found.end is None and found.end_field is None:
        if not context.session.streaming:
            return None
        raise FlinkDdlError.of(
            "FD506",
            "a filter on a row number needs an upper bound in streaming mode",
            over.span,
            "keep the first N rows with rn <= N",
        )
    if found.end is not None and found.end < 1:
        raise FlinkDdlError.of("FD506", f"no row has a row number up to {found.end}", over.span, "ranks begin with 1")
    function = over.calls[0].function
    if function != "ROW_NUMBER" and context.session.streaming:
        raise FlinkDdlError.of(
            "FD507", f"Top-N with {function} is not supported in streaming mode", over.span, "use ROW_NUMBER()"
        )
    if not over.order:
        raise FlinkDdlError.of("FD504", f"{function}() needs ORDER BY in its window", over.span)
    return make.where(_ranked(over, found, function, context), make.all_of(rest))


def _ranked(over: Over, found: _Range, function: str, context: Context) -> Node:
    below = over.input
    windowed = below.windowed
    bounds = windowed.bounds(over.partition) if windowed is not None else None
    if bounds and windowed is not None and windowed.window.proctime and context.session.streaming:
        message = "a Top-N or a deduplication per window over processing time is not supported in streaming mode"
        raise FlinkDdlError.of("FD507", message, over.span, "window over a column with a WATERMARK")
    rank_field = over.fields[-1]
    end = MAX_RANK if found.end is None else found.end
    single = found.start == end and found.end_field is None
    if single and end == 1 and function == "ROW_NUMBER" and len(over.order) == 1 and context.session.streaming:
        key = over.order[0]
        attribute = below.fields[key.index].type.time_attribute
        if attribute is not None:
            first: Node = Deduplicate(
                input=below,
                keys=over.partition,
                order=key.index,
                keep_last=key.descending,
                proctime=attribute == "PROCTIME",
                window=bounds,
                fields=below.fields,
                span=over.span,
            )
            return _with_number(first, 1, rank_field.name)
    ranked = Rank(
        input=below,
        partition=over.partition,
        order=over.order,
        start=found.start,
        end=end,
        end_field=found.end_field,
        with_rank=not single,
        function=function,
        window=bounds,
        fields=below.fields if single else (*below.fields, rank_field),
        span=over.span,
    )
    return _with_number(ranked, end, rank_field.name) if single else ranked


def _with_number(node: Node, number: int, name: str) -> Node:
    """Add the row number, which is a constant, behind the fields."""
    exprs = [*make.refs(node), Literal(BIGINT.not_null(), number)]
    return make.project(node, exprs, [*(f.name for f in node.fields), name])


def _take(pred: Rex, index: int, found: _Range) -> bool:
    """Read one conjunct as a bound of the rank. Returns False when it says nothing simple about it."""
    if not (isinstance(pred, Call) and pred.function in MIRROR and len(pred.args) == 2):
        return False
    left, right = (_plain(a) for a in pred.args)
    operator = pred.function
    if isinstance(right, InputRef) and right.index == index:
        left, right, operator = right, left, MIRROR[operator]
    if not (isinstance(left, InputRef) and left.index == index):
        return False
    if isinstance(right, Literal) and isinstance(right.value, int):
        _bound(operator, right.value, found)
        found.used = True
        return True
    if isinstance(right, InputRef) and operator in ("<=",) and right.index < index:
        found.end_field, found.used = right.index, True
        return True
    return False


def _bound(operator: str, value: int, found: _Range) -> None:
    if operator in ("=", ">=", ">"):
        found.start = max(found.start, value + (operator == ">"))
    if operator in ("=", "<=", "<"):
        upper = value - (operator == "<")
        found.end = upper if found.end is None else min(found.end, upper)


def _plain(rex: Rex) -> Rex:
    """Look through a widening cast of a number."""
    if isinstance(rex, Call) and rex.function == "CAST" and isinstance(rex.args[0], InputRef | Literal):
        return rex.args[0]
    return rex
