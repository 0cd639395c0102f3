"""The form in which Spark carries a node's rows: decided on the plan, before anything is lowered.

A kind says which columns stand beside the fields (``spark/context.py``): append rows alone; ``upsert`` the newest row
of a key; ``delta`` rows with weights; ``images`` a key's row before and after, as CDC's before and after image. Traits
are what the operator above requires of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from flinkddl.plan.rex import AggCall

Kind = Literal["append", "upsert", "delta", "images"]


@dataclass(frozen=True)
class Traits:
    """What the operator above requires.

    ``sequence``: arrival order in ``__seq``. ``latest``: it can do with the newest row per key (kind ``upsert`` or
    ``images``), even where the row did not change. ``watermark``: the watermark each row met in ``__wm``, where rows
    can be late. ``versions``: every version of a row, nothing folded, for a temporal join.
    """

    sequence: bool = False
    latest: bool = False
    watermark: bool = False
    versions: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The names of those that are required."""
        return tuple(name for name in ("sequence", "latest", "watermark", "versions") if getattr(self, name))


PLAIN = Traits()
ORDERED = Traits(sequence=True)


@dataclass(frozen=True)
class Form:
    """How a relation is carried: its kind; of ``upsert`` and ``images`` the field indices of the key."""

    kind: Kind = "append"
    key: tuple[int, ...] = ()


COMPARES = "compares each group with what it was before the batch, and real-time mode has no such batches"
ONCE = "gives a window out once, when the watermark closes it; real-time mode gives out every change"
JOINS = "joins two streams, which real-time mode does not"

APPEND = Form("append")
DELTA = Form("delta")


@dataclass(frozen=True)
class How:
    """What of a query's run the forms hang on.

    ``mode`` is Spark's output mode, ``realtime`` whether it runs in real-time mode; ``ttl`` in ms is
    ``table.exec.state.ttl``; ``strict`` says that state must be forgotten after it (``flinkddl.state.ttl.strict``);
    ``shares`` that a table whose rows meet again is read once (``plan/sharing.py``), ``across`` that it is with
    operators by key between (``plan/across.py``), but for the scans in ``alone`` (their identity); ``merges`` that
    equal sub-plans with state run as one (``plan/merged.py``), and ``reuses`` that they may, ``blends`` that a table of
    changes is one with the newest rows of its keys, whatever is asked of each mention and projected above it; ``pairs``
    that inner joins of inserts are by key as well, which Spark has an operator of its own for. ``keyed``: updating
    operators keep their state by key, ``because`` of which where nobody said so (``plan/stateforms.py``); ``totals``:
    those of inserts as well that Spark has operators of its own for, which never forget; ``chain``: all of them in a
    chain of stages, from the scans to the sink (``spark/stream/whole.py``).
    """

    streaming: bool = True
    mode: Literal["append", "update"] = "append"
    ttl: int = 0
    strict: bool = False
    realtime: bool = False
    shares: bool = False
    across: bool = True
    alone: frozenset[int] = field(default=frozenset(), compare=False, repr=False)
    merges: bool = False
    reuses: bool = False
    blends: bool = True
    pairs: bool = True
    keyed: bool = False
    totals: bool = False
    chain: bool = False
    because: str = ""

    @property
    def form(self) -> bool | str:
        """In which form state is kept: whether by key, "totals" where totals of inserts are so too, or "chain"."""
        return "chain" if self.chain else "totals" if self.totals else self.keyed

    def forgets(self, *hints: int | None) -> bool:
        """Whether an operator that never forgets must not be used."""
        return self.strict and any([self.ttl, *hints])


def weighted(*forms: Form) -> Form:
    """Return the form of operators that read rows with weights: append while all of these are."""
    return APPEND if all(f.kind == "append" for f in forms) else DELTA


_NEEDS_ORDER = frozenset(
    {"FIRST_VALUE", "LAST_VALUE", "LISTAGG", "ARRAY_AGG", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "SINGLE_VALUE", "JAVA"}
)
_NATIVE = frozenset({"COUNT", "SUM", "MIN", "MAX"})


def needs_order(call: AggCall) -> bool:
    """Whether an aggregate's result depends on the order in which rows arrived."""
    return call.function in _NEEDS_ORDER


def is_native(call: AggCall) -> bool:
    """Whether Spark's own aggregate gives Flink's answer over append rows."""
    return call.function in _NATIVE and not call.distinct and len(call.args) <= 1


def counts_rows(call: AggCall) -> bool:
    """Whether an aggregate is COUNT(*): each row that comes changes it."""
    return call.function == "COUNT" and not call.args and call.filter is None and not call.distinct
