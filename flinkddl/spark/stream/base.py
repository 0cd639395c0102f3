"""What the streaming lowerings share: the dispatch table and step builders, beside what the batch ones need too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes import Scan
from flinkddl.plan.rules import Rules
from flinkddl.spark.base import conform, extend, generate, same, select
from flinkddl.spark.context import SEQUENCE, Rel
from flinkddl.spark.job import Select

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.plan.physical import Physical
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named

    Choice = tuple[str, Sequence[str]]  # a condition, and the values of a row


ONE_KEY = "__one"
HANDLERS = lowers = Rules[Rel]()


def lower_node(here: Physical, ctx: Lowering) -> Rel:
    """Lower a node and all below it as planned; the fields are the node's. Raises FD649 where it has no lowering.

    A handler takes the node, the job, and what is planned of the node. Equal sub-plans that run as one are
    lowered once, to what is asked of them in all of their places.
    """
    node, number = here.node, ctx.merged.get(id(here), -1)
    if number in ctx.made:
        ctx.same[id(node)] = ctx.ran[number]
        return _as_asked(ctx.made[number], here, ctx)
    handler = HANDLERS.of(node)
    if handler is None:
        raise FlinkDdlError.of("FD649", f"{node.name} is not available in a streaming run", node.span)
    first = len(ctx.steps)
    try:
        rel = conform(ctx.obeyed(here, handler(node, ctx, here)), node.fields, ctx)
    except FlinkDdlError as error:
        raise error.placed(node.span) from None
    for step in ctx.steps[first:]:
        ctx.owners.setdefault(step.name, id(node))  # its inputs have noted theirs
    if number < 0:
        return rel
    ctx.made[number], ctx.ran[number] = rel, id(node)
    if ctx.blends and isinstance(node, Scan):
        ctx.tables[rel] = id(node)
    return _as_asked(rel, here, ctx)


def _as_asked(rel: Rel, here: Physical, ctx: Lowering) -> Rel:
    """Return the rows of a place; their order of arrival, where another place alone asks for it, is left out."""
    return without_sequence(rel, ctx) if ctx.asked(here).sequence and not here.asked.sequence else rel


def without_sequence(rel: Rel, ctx: Lowering) -> Rel:
    """Leave the order of arrival out."""
    kept = (*rel.columns, *rel.before_columns, *(c for c in rel.reserved if c != SEQUENCE))
    bare = rel.with_(step=select(rel.step, same(kept), ctx, "unordered"), sequence=False)
    ctx.whole[bare] = rel
    if rel.step in ctx.narrow:
        ctx.narrow[bare.step] = ctx.narrow[rel.step]
    return bare


def explode(
    step: str, keep: Sequence[Named], each: tuple[str, Sequence[str]], ctx: Lowering, prefix: str, note: str = ""
) -> str:
    """Add a Select that makes a row of each struct in an array, under these names; returns the step's name."""
    return generate(step, keep, (f"inline({each[0]})", each[1]), ctx, prefix, note)


def choose(
    step: str,
    keep: Sequence[Named],
    each: tuple[Sequence[Choice], Sequence[str]],
    ctx: Lowering,
    told: tuple[str, str],
    *,
    parts: bool = True,
) -> str:
    """Add a Select that makes a row of each choice whose condition holds, under these names; returns its name.

    ``told`` are the prefix of the step's name and its note; ``parts``: in a chain each choice is a way of its own.
    """
    choices = tuple((condition, tuple(values)) for condition, values in each[0]) if parts else ()
    rows = ", ".join(f"IF({condition}, {struct(values)}, NULL)" for condition, values in each[0])
    call = (f"inline(array_compact(array({rows})))", tuple(each[1]))
    name, note = ctx.fresh(told[0]), told[1]
    made = Select(name=name, input=step, columns=tuple(keep), generator=call, note=note, choices=choices)
    return ctx.add(made).name


def with_one_key(rel: Rel, ctx: Lowering, name: str = ONE_KEY) -> Rel:
    """Add a column that is 0 in every row, as the key of what has none: Spark takes a literal out of its keys."""
    return rel.with_(step=extend(rel, [(name, "CAST(rand() < 0 AS INT)")], ctx, "one_key"))


def struct(columns: Iterable[str], prefix: str = "c") -> str:
    """Return a struct of columns under neutral names (names clash across sides, positions do not)."""
    items = ", ".join(f"'{prefix}{i}', {sql}" for i, sql in enumerate(columns))
    return f"named_struct({items})" if items else "named_struct('none', CAST(NULL AS BOOLEAN))"


def members(value: str, count: int, prefix: str = "c") -> list[str]:
    """Return the fields of a struct made by ``struct``."""
    return [f"{value}.`{prefix}{i}`" for i in range(count)]
