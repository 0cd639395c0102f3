"""LIKE: what a new table takes over from its base (Flink's MergeTableLikeUtil)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlglot import exp

    from flinkddl.catalog.context import Context
    from flinkddl.catalog.model import Column, Table
    from flinkddl.catalog.tables import Draft
    from flinkddl.dialect import nodes

FEATURES = ("CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")
_NO_OVERWRITE = frozenset({"ALL", "CONSTRAINTS", "DISTRIBUTION", "PARTITIONS"})
_FEATURE_OF = {"computed": "GENERATED", "metadata": "METADATA"}


@dataclass(frozen=True)
class _Merge:
    base: Table
    own: Draft
    how: Mapping[str, str]
    ctx: Context
    where: exp.Expression

    def clash(self, what: str, feature: str) -> None:
        """Report something that both tables have."""
        ways = "EXCLUDING" if feature in _NO_OVERWRITE else "EXCLUDING or OVERWRITING"
        message = f"{what} already exists in the base table '{self.base.path.name}'"
        self.ctx.error("FD310", message, self.where, f"add {ways} {feature} to the LIKE clause")


def merge(draft: Draft, base: Table, like: nodes.Like, ctx: Context) -> None:
    """Merge the base's parts into a draft, base columns first."""
    how = strategies(like.expressions, ctx)
    run = _Merge(base, draft, how, ctx, like)
    if how["OPTIONS"] == "INCLUDING":
        for key in draft.options:
            if key in base.options:
                run.clash(f"option '{key}'", "OPTIONS")
    if how["OPTIONS"] != "EXCLUDING":
        draft.options = {**base.options, **draft.options}
    _single(run)
    draft.columns = _columns(run)


def strategies(options: Iterable[exp.Expression], ctx: Context) -> dict[str, str]:
    """Return the strategy of each feature: ALL first, then the single ones."""
    how = dict.fromkeys(FEATURES, "INCLUDING") | {"OPTIONS": "OVERWRITING"}
    given: dict[str, str] = {}
    for option in options:
        feature, strategy = str(option.args["feature"]), str(option.args["this"])
        if feature in given:
            ctx.error("FD311", f"{feature} stands twice in the LIKE clause", option, "keep one of the two")
        if strategy == "OVERWRITING" and feature in _NO_OVERWRITE:
            ctx.error("FD311", f"OVERWRITING {feature} is not allowed", option, f"use EXCLUDING {feature}")
            continue
        given[feature] = strategy
    if "ALL" in given:
        how = dict.fromkeys(FEATURES, given.pop("ALL"))
    return how | given


_SINGLE = (
    ("CONSTRAINTS", "primary_key", "a PRIMARY KEY"),
    ("WATERMARKS", "watermark", "a watermark"),
    ("PARTITIONS", "partition_keys", "a partitioning"),
    ("DISTRIBUTION", "distribution", "a distribution"),
)
"""What a table has at most one of: the feature, where a table has it, and how messages call it."""


def _single(run: _Merge) -> None:
    for feature, attribute, what in _SINGLE:
        own, base = getattr(run.own, attribute), getattr(run.base, attribute)
        if run.how[feature] == "EXCLUDING" or not base:
            continue
        if own and run.how[feature] == "INCLUDING":
            run.clash(what, feature)
        setattr(run.own, attribute, own or base)


def _columns(run: _Merge) -> list[Column]:
    """Return the base's columns, then the own ones; an overwriting column takes the base's place."""
    own = {c.name: c for c in run.own.columns}
    merged: dict[str, Column] = {}
    for column in run.base.columns:
        feature = _FEATURE_OF.get(column.kind)
        if feature and run.how[feature] == "EXCLUDING":
            continue
        new = own.get(column.name)
        overwrites = new is not None and feature is not None and run.how[feature] == "OVERWRITING"
        if new is not None and (not overwrites or new.kind != column.kind):
            _column_clash(run, column, new, feature)
        merged[column.name] = new if new is not None and overwrites else column
    return [*merged.values(), *(c for c in run.own.columns if c.name not in merged)]


def _column_clash(run: _Merge, column: Column, new: Column, feature: str | None) -> None:
    if feature and new.kind == column.kind:
        run.clash(f"the {column.kind} column '{column.name}'", feature)
        return
    message = f"column '{column.name}' already exists in the base table '{run.base.path.name}'"
    run.ctx.bag.error("FD310", message, new.span, "rename the column")
