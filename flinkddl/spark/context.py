"""What every lowering shares: the relation handle, the growing list of steps, names, and job-wide facts."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from flinkddl.catalog.settings import NOTHING_SET, Settings
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.decoded import NOTHING_KNOWN
from flinkddl.plan.nodes.forms import Kind as Kind  # noqa: TC001 - connectors take it from here
from flinkddl.plan.stateforms import BLENDS, NEWER
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from flinkddl.connectors.base import PayloadField
    from flinkddl.plan.clocks import Timing
    from flinkddl.plan.decoded import Parts, Reading
    from flinkddl.plan.nodes import Field, Node
    from flinkddl.plan.nodes.forms import Traits
    from flinkddl.plan.physical import Physical, PhysicalSink
    from flinkddl.spark.job import Step

WEIGHT = "__w"  # delta: +1 or -1 (any integer after a join)
VERSION = "__version"  # upsert: rises with every change of a key
DELETED = "__deleted"  # upsert: the key is gone
SEQUENCE = "__seq"  # arrival order, only where an operator asked for it
UNTOLD = "nullif(0L, 0L)"  # the order of a row that has none: NULL, which is later than all of earlier batches
UNKNOWN = "9223372036854775807L"  # the same where it is turned around (RetractMultiset.java)
SEQUENCE_STEP = 4096  # ``__seq`` of a Kafka record is its offset times this, plus its partition
ARRIVAL = {
    True: "flinkddl.arrival()",
    False: "monotonically_increasing_id()",
}  # a streaming run or not: what has no offsets
NO_COLUMN = "__none"  # of a constant relation without columns, which Spark does not have
NOTHING = f"TRUE AS {NO_COLUMN}"
SENDER = "__sender"  # who tells the time of a table: the partition of a record, only in a chain that waits for it
WATERMARK = "__wm"  # bounded runs: the watermark (ms) a row met on arrival, only where an operator asked for it
BEFORE, AFTER = "__old", "__new"  # images: whether the row was there before this batch, and is there now
TICK = "__tick"  # true on a row that only moves the watermark of a silent partition
KIND = "__kind"  # Flink's row kind of a CDC record's row, only where it was asked for
ROW_KIND = "_row_kind"  # of frames for the user's own code: Flink's row kind, '+I', '-U', '+U' or '-D'
WINDOW = "__window"  # Spark's window struct, which carries the watermark, beside window_start and window_end

KIND_COLUMNS: Mapping[Kind, tuple[str, ...]] = {
    "append": (),
    "upsert": (VERSION, DELETED),
    "delta": (WEIGHT,),
    "images": (BEFORE, AFTER),
}

S = TypeVar("S", bound="Step")


@dataclass(frozen=True)
class Rel:
    """A lowered relation: the step that holds it, and for each plan field its Spark column.

    ``kind`` says which reserved columns it carries beside them (KIND_COLUMNS); ``key`` are the field indices of the
    upsert key; ``sequence`` and ``watermark`` whether ``__seq`` and ``__wm`` are there. In batch mode every relation is
    ``append``: a finished table.

    A row of ``images`` is one change of one key: ``columns`` hold it as it is now, ``before_columns`` as it was before
    this batch; each key comes at most once a batch. ``windowed`` says that ``__window`` is there, ``kinds`` that
    ``__kind`` is, ``sender`` that ``__sender`` is.
    """

    step: str
    columns: tuple[str, ...]
    fields: tuple[Field, ...]
    kind: Kind = "append"
    key: tuple[int, ...] = ()
    sequence: bool = False
    watermark: bool = False
    windowed: bool = False
    kinds: bool = False
    sender: bool = False

    @property
    def reserved(self) -> tuple[str, ...]:
        """Names of the reserved columns that this relation carries, without ``before_columns``."""
        extra = (SEQUENCE,) * self.sequence + (WATERMARK,) * self.watermark + (WINDOW,) * self.windowed
        extra += (KIND,) * self.kinds + (SENDER,) * self.sender
        return KIND_COLUMNS[self.kind] + extra

    @property
    def before_columns(self) -> tuple[str, ...]:
        """Columns of the before image, one a field; of other kinds none."""
        return tuple(f"__old_{i}" for i in range(len(self.fields))) if self.kind == "images" else ()

    def sql(self, index: int) -> str:
        """Return the column of a field, quoted for Spark SQL text."""
        return quote(self.columns[index])

    def with_(self, **changes: Any) -> Rel:
        """Return a copy with some attributes changed."""
        return replace(self, **changes)


@dataclass
class Lowering:
    """The growing job. One per SparkJob; the only mutable thing in this room.

    ``zone`` is ``table.local-time-zone``; ``streaming`` the execution mode; ``config`` what the session has SET;
    ``row_kinds`` asks a scan of CDC records for ``__kind``;
    ``bounded`` says of a streaming run that its sources end; ``timed`` are the tables below operators on event time;
    ``reading`` says what is read of each scan (its identity, ``plan/decoded.py``), and ``narrow`` what of the rows of a
    step is kept, by its name; ``leaders`` which scans are read as
    one, ``ordered`` of which of those the order of arrival is wanted, and ``once`` what has been lowered of those, by
    their leader and what is asked of them; ``merged`` has the numbers of equal sub-plans by the identities of their
    places, ``asks`` what is asked of each by its places together, ``made`` what has been lowered of those, ``newest``
    the rows before and after that have been made of upserts, ``whole`` the relations that others are without their
    order of arrival, ``later`` what makes a projection of rows before and after, by the step of the one of upserts,
    ``tables`` the scans (their identity) whose newest rows all of their places share, by what has been lowered of them,
    ``ran`` says of a table that is read as one, and of an equal sub-plan, by the keys of ``once`` and ``made``, which
    node it was lowered for, ``same`` of each other place of it (the identity of its node) which node that is;
    ``alone`` are scans that had to be read by themselves, though they looked as if they had not (``plan/across.py``),
    ``newer`` is what of ``NEWER`` (``plan/stateforms.py``) there may be, ``used`` what of it the job has;
    ``extras`` are the roles (``jars.lock.json``) whose jars the job's session must have beside Spark's own;
    ``owners`` notes the plan node (its identity) that each step was made for;
    ``keyed`` says whether the query at hand keeps its state by key, ``chain`` whether all of it in one chain,
    ``together`` whether it is one with others, so that what they share is not its own;
    ``timing`` is the event time of a chain in which operators wait for it;
    ``output_mode`` is Spark's, of the query that is lowered; ``sink`` is the physical plan of the INSERT.
    """

    streaming: bool
    zone: str = "UTC"
    config: Settings = field(default=NOTHING_SET, repr=False)
    steps: list[Step] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict, repr=False)
    udfs: dict[str, str] = field(default_factory=dict)
    extras: set[str] = field(default_factory=set)
    output_mode: Literal["append", "update"] = "append"
    bounded: bool = False
    row_kinds: bool = False
    timed: frozenset[str] = frozenset()
    reading: Reading = field(default=NOTHING_KNOWN, repr=False)
    narrow: dict[str, Parts] = field(default_factory=dict)
    leaders: Mapping[int, int] = field(default_factory=dict)
    ordered: frozenset[int] = frozenset()
    once: dict[tuple[int, Traits], Rel] = field(default_factory=dict)
    merged: Mapping[int, int] = field(default_factory=dict)
    asks: Mapping[int, Traits] = field(default_factory=dict)
    made: dict[int, Rel] = field(default_factory=dict)
    newest: dict[Rel, Rel] = field(default_factory=dict)
    whole: dict[Rel, Rel] = field(default_factory=dict)
    later: dict[str, Callable[[], Rel]] = field(default_factory=dict)
    tables: dict[Rel, int] = field(default_factory=dict)
    ran: dict[int | tuple[int, Traits], int] = field(default_factory=dict)
    same: dict[int, int] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    newer: frozenset[str] = NEWER
    used: set[str] = field(default_factory=set)
    keyed: bool = False
    chain: bool = False
    together: bool = False
    timing: Timing | None = None
    owners: dict[str, int] = field(default_factory=dict)
    sink: PhysicalSink | None = None
    _names: set[str] = field(default_factory=set)
    _last: dict[str, int] = field(default_factory=dict)

    def fresh(self, prefix: str) -> str:
        """Return a step name that is not taken: ``prefix``, then ``prefix_2`` ..."""
        name, n = prefix, self._last.get(prefix, 1)
        while name in self._names:
            n += 1
            name = f"{prefix}_{n}"
        self._names.add(name)
        self._last[prefix] = n
        return name

    @property
    def blends(self) -> bool:
        """Whether a table of changes is one in all of its places (``How.blends``); not beside other INSERTs."""
        return BLENDS in self.newer and not self.together

    def parts(self, node: Node, fields: Iterable[PayloadField]) -> Parts | None:
        """Return what a format is to build of a scan's fields, by their names in the message; None is everything."""
        read = self.reading.decoded.get(id(node))
        return None if read is None else {f.name: read[f.column] for f in fields if f.column in read}

    def asked(self, here: Physical) -> Traits:
        """Return what is asked of a node in all of its places that are one."""
        return self.asks.get(self.merged.get(id(here), -1), here.asked)

    def obeyed(self, here: Physical, rel: Rel) -> Rel:
        """Return a node's relation under the key that is planned. Raises FD900 where it is carried in another way."""
        if rel.kind != here.form.kind:
            message = f"{here.node.name} is planned as '{here.form.kind}', but its lowering gives '{rel.kind}'"
            raise FlinkDdlError.of("FD900", message, here.node.span, "please report the query")
        return rel.with_(key=here.form.key)

    def mark(self) -> Lowering:
        """Return what there is now, for ``back``."""
        grows: dict[str, Any] = {
            f.name: copy(v) for f in fields(self) if isinstance(v := getattr(self, f.name), list | dict | set)
        }
        return replace(self, **grows)

    def back(self, mark: Lowering) -> None:
        """Forget what was lowered since a mark, names too."""
        for f in fields(self):
            setattr(self, f.name, getattr(mark, f.name))

    def share(self, leaders: Mapping[int, int], merged: Mapping[int, int], *, together: bool = False) -> None:
        """Begin a query: which of its scans and sub-plans are one."""
        self.leaders, self.merged, self.together = leaders, merged, together
        self.ordered, self.asks = frozenset(), {}
        self.forget()

    def forget(self) -> None:
        """Let nothing that was lowered be what another place is."""
        for known in (self.once, self.made, self.ran, self.newest, self.whole, self.later, self.tables):
            known.clear()

    def add(self, step: S) -> S:
        """Append a step whose name came from ``fresh``, and return it."""
        self.steps.append(step)
        return step


def unique_names(names: Iterable[str], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return Spark column names for plan fields: the user's own, made distinct by ``_2``, ``_3`` where they clash."""
    seen = {*taken, WEIGHT, VERSION, DELETED, SEQUENCE, WATERMARK, BEFORE, AFTER, WINDOW, TICK, KIND, SENDER}
    out = []
    for name in names:
        candidate, n = name, 1
        while candidate in seen:
            n += 1
            candidate = f"{name}_{n}"
        seen.add(candidate)
        out.append(candidate)
    return tuple(out)
