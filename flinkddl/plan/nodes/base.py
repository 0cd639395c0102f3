"""What a plan node is: frozen, with its inputs, its typed output fields, and what every pass asks of it.

Columns are positions; names matter only for results and messages. A node says what is computed, which fields of its
inputs it reads, which changes it gives and by which keys, what it keeps, and how it is told. What Spark does for each
is ``lower``. A new operator states all of this in its class; ``tests/plan/test_nodes.py`` names what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from flinkddl.plan.conditions import deterministic
from flinkddl.plan.nodes.forms import COMPARES, weighted
from flinkddl.plan.nodes.values import Field, counted, moved, typed
from flinkddl.plan.rex import InputRef, references, substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from flinkddl.diagnostics import Span
    from flinkddl.plan.conditions import Conditions
    from flinkddl.plan.nodes.forms import Form, How, Traits
    from flinkddl.plan.nodes.values import WindowFields
    from flinkddl.plan.rex import Rex

Kinds = frozenset[str]  # of "I", "U", "D": insert, update, delete
I: Kinds = frozenset("I")  # noqa: E741 - Flink's letter
IU: Kinds = frozenset("IU")
ALL: Kinds = frozenset("IUD")

Key = frozenset[int]
Keys = tuple[Key, ...]
Needed = frozenset[int]
Places = dict[int, int]
"""Old field index -> new one."""


T = TypeVar("T")


def always(fact: T) -> Callable[..., T]:
    """Return the method of a class whose nodes all answer the same."""
    return lambda *_: fact


def of_first(node: Node, inputs: tuple[T, ...]) -> T:
    """Answer with what the first input does."""
    return inputs[0]


def any_before(node: Node, inputs: tuple[Mode, ...]) -> bool:
    """Answer whether the row before an update comes through from an input."""
    return any(i.before and not i.append for i in inputs)


class Facts:
    """What a class of nodes states once, for all its nodes.

    The output begins with the fields of the first ``passes`` inputs; the rest are fields of the node's own. ``first``
    and ``second`` name the attributes that count the fields of the first and second input; ``pairs`` those that hold
    (first, second) pairs; ``joined`` those that count all inputs' fields one after another, then the node's own.
    """

    passes: ClassVar[int] = 0
    first: ClassVar[tuple[str, ...]] = ()
    second: ClassVar[tuple[str, ...]] = ()
    pairs: ClassVar[tuple[str, ...]] = ()
    joined: ClassVar[tuple[str, ...]] = ()

    exact: ClassVar[bool] = True
    """Whether its inputs are brought down to the very fields that it reads: rows that are kept, sent or copied."""
    needs_before: ClassVar[bool | None] = True
    """Whether updates of its inputs must carry the row before them; None passes on what its consumer asks."""
    by: ClassVar[tuple[str, ...]] = ()
    """Attributes that tell its state from another's: how rows are grouped, ordered, paired."""
    keeps_time: ClassVar[bool] = False
    """Whether time attributes of its inputs are still such in its output; else they are made plain timestamps."""
    forgets: ClassVar[bool] = False
    """Whether its state is forgotten after ``table.exec.state.ttl``."""
    sql: ClassVar[str] = ""
    """What of SQL it is, for ``flinkddl support``."""


@dataclass(frozen=True, kw_only=True)
class Node(Facts):
    """Base of all nodes. ``fields`` is the output; ``span`` where in the script the node comes from."""

    fields: tuple[Field, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    # ---- its place in the plan

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Child nodes, left to right."""
        return ()

    @property
    def name(self) -> str:
        """The word that plans and messages use."""
        return type(self).__name__

    @property
    def title(self) -> str:
        """How messages speak of it."""
        return f"the operator {self.name}"

    @property
    def detail(self) -> str:
        """What it does, on one line, for EXPLAIN."""
        raise NotImplementedError(f"{self.name}.detail")

    def describe(self) -> str:
        """Return the node's name and what it does, on one line."""
        return f"{self.name}({self.detail})"

    def mode_words(self, kinds: Kinds, before: bool) -> str:
        """Return its changelog mode as Flink prints it."""
        out = ["I"] + ["UB"] * (before and "U" in kinds) + ["UA"] * ("U" in kinds)
        return ",".join(out + ["D"] * ("D" in kinds))

    # ---- what it reads, and the same node over other inputs

    def with_inputs(self, inputs: Sequence[Node]) -> Self:
        """Return the node over other inputs that have the same fields."""
        return self

    @property
    def passed(self) -> int:
        """How many output fields are an input's."""
        return sum(len(i.fields) for i in self.inputs[: self.passes])

    def narrowed(self, needed: Needed) -> tuple[Node, Places]:
        """Return the node, or its input, without results of its own that nobody reads, and where fields went."""
        return self, {i: i for i in range(len(self.fields))}

    def reads(self, needed: Needed) -> tuple[Needed, ...]:
        """Return the fields of each input that are read where these output fields are."""
        both = {i for i in needed if i < self.passed} | self._counted(self.joined)
        pairs = [pair for name in self.pairs for pair in getattr(self, name)]
        out, start = [], 0
        for n, child in enumerate(self.inputs):
            width = len(child.fields)
            mine = {i - start for i in both if start <= i < start + width} | {pair[n] for pair in pairs}
            out.append(frozenset(mine | self._counted((self.first, self.second)[n])))
            start += width
        return tuple(out)

    def _counted(self, names: Iterable[str]) -> frozenset[int]:
        return frozenset(i for name in names for i in counted(getattr(self, name)))

    def rebuild(self, inputs: Sequence[Node], places: Sequence[Places]) -> tuple[Node, Places]:
        """Return the node over inputs whose fields went to other places, and where its output fields are now."""
        if not inputs:
            return self, {i: i for i in range(len(self.fields))}
        both: Places = {}
        old = new = 0
        for before, now, at in zip(self.inputs, inputs, places, strict=True):
            both |= {old + i: new + n for i, n in at.items()}
            old, new = old + len(before.fields), new + len(now.fields)
        kept = [f for i in inputs[: self.passes] for f in i.fields]
        passed = self.passed
        out = {i: n for i, n in both.items() if i < passed}
        for i, n in out.items():
            kept[n] = self.fields[i]
        out |= {i: i - passed + len(kept) for i in range(passed, len(self.fields))}
        if self.passes == len(inputs):
            both |= out
        changes = self._moved(places, both)
        return replace(self, fields=(*kept, *self.fields[passed:]), **changes).with_inputs(inputs), out

    def _moved(self, places: Sequence[Places], both: Places) -> dict[str, Any]:
        """Return the attributes that count fields, brought to where the fields are now."""
        last = places[-1]
        changes = {name: moved(getattr(self, name), places[0]) for name in self.first}
        changes |= {name: moved(getattr(self, name), last) for name in self.second}
        changes |= {name: moved(getattr(self, name), both) for name in self.joined}
        for name in self.pairs:
            beside = last if len(places) > 1 else None
            changes[name] = tuple((places[0][a], b if beside is None else beside[b]) for a, b in getattr(self, name))
        return changes

    def over(self, inputs: Sequence[Node]) -> Self:
        """Return the node over inputs that may have lost time attributes; what it holds and passes is typed so."""
        both = [f for i in inputs for f in i.fields]
        own = self.fields[self.passed :]
        pairs = zip(self.fields[: self.passed], both, strict=False)
        fields = (*(Field(f.name, now.type.with_nullable(f.type.nullable)) for f, now in pairs), *own)
        changes = {name: typed(getattr(self, name), both) for name in self.first}
        changes |= {name: typed(getattr(self, name), (*both, *own)) for name in self.joined}
        return replace(self, fields=fields, **changes).with_inputs(inputs)

    def timeless(self) -> tuple[Iterable[int], ...]:
        """Return the fields of each input that must be plain timestamps, not time attributes."""
        return tuple(() if self.keeps_time else range(len(i.fields)) for i in self.inputs)

    # ---- which conditions over its output hold below it

    def through(self) -> tuple[Mapping[int, Rex], ...]:
        """Return, for each input, what an output field is over it where a condition may be tested there instead.

        A condition over such fields alone drops the same rows whether it stands above the node or below it; all inputs
        that have its fields get it. The default says none.
        """
        return ({},) * len(self.inputs)

    def _same(self, fields: Iterable[int], number: int = 0) -> dict[int, Rex]:
        """Output fields that are an input's of the same index."""
        return {i: InputRef(self.inputs[number].fields[i].type, i) for i in fields}

    def lets_through(self, condition: Rex) -> bool:
        """Whether a condition over fields that go through is worth being tested below."""
        return True

    def pushed(self, conditions: Conditions) -> tuple[Node, Conditions, tuple[Conditions, ...]]:
        """Return what the node is under these conditions, which of them stay above it, and those over each input."""
        stay: list[Rex] = []
        ways: list[tuple[Mapping[int, Rex], list[Rex]]] = [(way, []) for way in self.through()]
        for c in conditions:
            ids = references(c)
            free = deterministic(c) and self.lets_through(c)
            found = [(way, below) for way, below in ways if free and way and ids <= way.keys()]
            stay += [] if found else [c]
            for way, below in found:
                below.append(substitute(c, way))
        return self, tuple(stay), tuple(tuple(below) for _, below in ways)

    # ---- what of its rows is unique, which of its fields are a window's

    def unique_key(self, declared: bool = True) -> tuple[int, ...] | None:
        """Return fields of which no two of its rows are alike once all are there, or None.

        ``declared``: the PRIMARY KEY of a table of inserts, which nobody enforces, is believed.
        """
        return None

    @property
    def versioned(self) -> bool:
        """Whether a temporal join can read the rows of its input as versions, instead of its own rows."""
        return False

    @property
    def windowed(self) -> WindowFields | None:
        """Which fields bound the window that a row belongs to; None where start or end is not there."""
        return None

    # ---- changes

    @property
    def append_only(self) -> tuple[int, ...]:
        """Which inputs must give inserts alone (FD550)."""
        return ()

    def asks_before(self, number: int, asked: bool) -> bool:
        """Whether updates of an input must carry the row before them."""
        return asked if self.needs_before is None else self.needs_before

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return the kinds of changes it gives, from those that its inputs give."""
        raise NotImplementedError(f"{self.name}.changes")

    def carries_before(self, inputs: tuple[Mode, ...]) -> bool:
        """Whether rows before an update come through although nobody asked: Flink does not take them out again."""
        return False

    def upsert_keys(self, inputs: tuple[Keys, ...]) -> Keys:
        """Return the sets of output fields by which its changes identify a row, from those of its inputs.

        After Flink's FlinkRelMdUpsertKeys.
        """
        raise NotImplementedError(f"{self.name}.upsert_keys")

    def known_keys(self) -> Keys:
        """Return its upsert keys over the inputs that it has."""
        return tuple(dict.fromkeys(self.upsert_keys(tuple(i.known_keys() for i in self.inputs))))

    def known_changes(self) -> Kinds:
        """Return the kinds of changes it gives over the inputs that it has."""
        return self.changes(tuple(i.known_changes() for i in self.inputs))

    # ---- time and state

    @property
    def requires_watermark(self) -> bool:
        """Whether it waits for the watermark or drops rows behind it."""
        raise NotImplementedError(f"{self.name}.requires_watermark")

    @property
    def waits(self) -> bool:
        """Whether it waits for the watermark in a way that no operator by key can, with timers of its own."""
        return self.requires_watermark

    @property
    def on_time(self) -> bool:
        """Whether none of its rows is behind the watermark, whatever its inputs' are: they come out as it passes."""
        raise NotImplementedError(f"{self.name}.on_time")

    @property
    def by_changes(self) -> bool:
        """Whether it gives of changes something else than of the table that they leave."""
        return False

    @property
    def late(self) -> bool:
        """Whether its rows may be behind the watermark when they arrive."""
        return not self.on_time and (not self.inputs or any(i.late for i in self.inputs))

    def state(self, mode: Mode) -> str:
        """Return what it keeps between batches, in words; empty for nothing."""
        raise NotImplementedError(f"{self.name}.state")

    @property
    def grows(self) -> str:
        """Return of what a group keeps many although only inserts come in, in words; "" for nothing.

        Such state is better kept by key (``plan/stateforms.py``).
        """
        return ""

    def withholds(self, form: Form) -> bool:
        """Whether each row of its state is one that it gives out later, when the watermark has passed its window."""
        return False

    # ---- how Spark carries it

    def requires(self, asked: Traits) -> tuple[Traits, ...]:
        """Return what it requires of each input, from what is asked of it."""
        return (replace(asked, latest=False, versions=False),) * len(self.inputs)

    def requires_in_a_chain(self, asked: Traits) -> tuple[Traits, ...]:
        """Return the same where its own operator by key keeps its state."""
        return self.requires(asked)

    def updates(self, asked: Traits) -> bool:
        """Whether it can change what it gave out, so that the query needs Spark's update mode."""
        return False

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return how its rows are carried on a stream, from how those of its inputs are."""
        raise NotImplementedError(f"{self.name}.form")

    def holds_back(self, form: Form) -> str:
        """Return why it cannot give out each change at once, as Spark's real-time mode does; "" where it can."""
        return COMPARES

    @property
    def one_each(self) -> bool:
        """Whether in real-time mode each row that it reads makes it give one, no more and no fewer."""
        return False


class Stateless:
    """Of nodes that look at one row at a time."""

    keeps_time: ClassVar[bool] = True
    holds_back = always("")  # it gives out what it gets
    state = always("")

    def changes(self, inputs: tuple[Kinds, ...]) -> Kinds:
        """Return those of the inputs."""
        return frozenset[str]().union(*inputs)

    def form(self, inputs: tuple[Form, ...], asked: Traits, how: How) -> Form:
        """Return append while the inputs are."""
        return weighted(*inputs)


class Untimed:
    """Of nodes that do not look at the watermark; late rows stay late."""

    requires_watermark = False
    on_time = False


class Selecting:
    """Of nodes whose rows are rows of their only input."""

    inputs: tuple[Node, ...]
    upsert_keys = of_first

    def unique_key(self, declared: bool = True) -> tuple[int, ...] | None:
        """Return the input's."""
        return self.inputs[0].unique_key(declared)

    @property
    def windowed(self) -> WindowFields | None:
        """The input's."""
        return self.inputs[0].windowed


class Keyless:
    """Of nodes whose changes no set of fields identifies."""

    upsert_keys = always(())


@dataclass(frozen=True, kw_only=True)
class Unary(Node):
    """A node over one input."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The input."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Self:
        """Return the node over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True, kw_only=True)
class Binary(Node):
    """A node over two inputs."""

    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Left, right."""
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Self:
        """Return the node over two others."""
        return replace(self, left=inputs[0], right=inputs[1])


def dropped(node: Node, needed: Needed, start: int, values: Sequence[Any]) -> tuple[list[Any], Places, dict[str, Any]]:
    """Leave out of a node's results (values at the fields from ``start``) those that nobody reads.

    Returns the values that stay, where each field went, and the change of ``fields``.
    """
    kept = [i for i in range(len(values)) if start + i in needed]
    stay = [*range(start), *(start + i for i in kept), *range(start + len(values), len(node.fields))]
    places = {old: new for new, old in enumerate(stay)}
    return [values[i] for i in kept], places, {"fields": tuple(node.fields[i] for i in stay)}


@dataclass(frozen=True)
class Mode:
    """One node's answer: the kinds it gives, whether updates come with the row before them, its upsert keys."""

    node: Node
    kinds: Kinds
    before: bool
    keys: Keys
    inputs: tuple[Mode, ...]

    @property
    def append(self) -> bool:
        """Whether only inserts come out."""
        return self.kinds == I

    @property
    def words(self) -> str:
        """The mode as Flink prints it: ``I,UB,UA,D``."""
        return self.node.mode_words(self.kinds, self.before)
