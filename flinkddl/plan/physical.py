"""The physical plan: what is decided of each node once, after the rewrites and before anything is lowered.

Of each node the tree says Flink's changelog mode, the form in which Spark carries its rows, the traits that the
operator above requires, what is kept between batches, and of a node with state an identity that stays the same after a
filter, another output column or another sink. Lowering obeys it, EXPLAIN and pictures print it, triggers and output
modes hang on it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.deep import deep
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.changelog import plan_sink, writes_changes
from flinkddl.plan.identity import Identity, Origins, numbered
from flinkddl.plan.nodes import Join, Scan, scans
from flinkddl.plan.nodes.forms import APPEND, DELTA, PLAIN, Form, How, Traits, weighted
from flinkddl.plan.sharing import alike, hash_of, meeting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from flinkddl.catalog.settings import Settings
    from flinkddl.plan.changelog import SinkPlan
    from flinkddl.plan.nodes import Node, Sink
    from flinkddl.plan.nodes.base import Mode

OutputMode = Literal["append", "update"]


@dataclass(frozen=True)
class Physical:
    """One node: its form, what is asked of it, and what its inputs are.

    ``shares``: rows of one table meet in it, which is read once for all of its inputs. ``paired``: a join that is by
    key also where Spark has an operator of its own.
    """

    node: Node
    form: Form
    asked: Traits
    inputs: tuple[Physical, ...]
    shares: bool = False
    paired: bool = False

    def walk(self) -> Iterator[Physical]:
        """Yield this and all below it, roots first."""
        yield self
        for child in self.inputs:
            yield from child.walk()


@dataclass(frozen=True)
class PhysicalSink:
    """A sink: how it is fed (``plan``), Spark's output mode, the tree of its query, and the form that it takes."""

    sink: Sink
    plan: SinkPlan
    how: How
    query: Physical

    @property
    def mode(self) -> OutputMode:
        """Spark's output mode; real-time mode has but one."""
        changes = self.conflict is not None or self.how.realtime or self.how.chain
        return "update" if self.how.streaming and changes else self.how.mode

    @property
    def unique(self) -> bool:
        """Whether the sink's key is one of the query's."""
        return frozenset(self.plan.key) in self.plan.input.keys

    @property
    def conflict(self) -> str | None:
        """What is done with append rows that share a key: NOTHING, ERROR or None."""
        held = self.plan.materialize and self.plan.input.append and not self.unique
        return self.sink.conflict if held else None

    @property
    def arbitrated(self) -> bool:
        """Whether rows of several upsert keys meet at one key of the sink, and the last one stands."""
        return self.plan.materialize and not self.unique

    @property
    def form(self) -> Form:
        """The form of what is written."""
        below = self.query.form
        if not self.how.streaming:
            return DELTA if writes_changes(self.sink) else APPEND
        if self.plan.accepts == "upsert" and (below.kind != "append" or self.conflict is not None):
            return Form("upsert", self.plan.key)
        return weighted(below) if self.plan.accepts == "changelog" else below

    @property
    def keyed(self) -> bool:
        """Whether the query's changes come by the sink's key."""
        below = self.query.form
        return below.kind in ("upsert", "images") and bool(below.key) and set(below.key) == set(self.plan.key)

    @cached_property
    def root(self) -> Physical:
        """The tree with the sink on top."""
        return Physical(self.sink, self.form, PLAIN, (self.query,))

    @property
    def bounded(self) -> bool:
        """Whether all that it reads ends by itself."""
        return all(scan.bounded for scan in scans(self.sink))

    @property
    def chosen(self) -> str:
        """In which form the query keeps its state, and why; "" where that is SET."""
        form = "state by key" if self.how.keyed else "state as aggregates"
        form = "state by key, one chain" if self.how.chain else form
        return f"{form}: {self.how.because}" if self.how.because else ""

    @property
    def state(self) -> str:
        """What the sink itself keeps between batches, in words."""
        return "the rows of each primary key, to know which one stands" if self.plan.materialize else ""

    @property
    def modes(self) -> Mode:
        """Flink's changelog modes, the sink on top."""
        return self.plan.mode_of(self.sink)


def how_of(config: Settings, *, streaming: bool = True, realtime: bool = False) -> How:
    """Return what of the settings the forms hang on."""
    ttl, strict = config.table_exec_state_ttl, config.flinkddl_state_ttl_strict
    chain = streaming and config.flinkddl_execution_state == "CHAIN"
    keyed = chain or (streaming and config.flinkddl_execution_state == "KEYED")
    shares = keyed and not chain and config.table_optimizer_reuse_source_enabled
    reuses = config.table_optimizer_reuse_sub_plan_enabled
    merges = keyed and reuses and (chain or not realtime)
    how = How(streaming, ttl=ttl, strict=strict, realtime=realtime, reuses=reuses)
    return replace(how, shares=shares, merges=merges, keyed=keyed, chain=chain)


def physical_plan(sinks: Sequence[Sink], config: Settings, *, pairs: bool = True) -> tuple[PhysicalSink, ...]:
    """Decide the trees of a job: how each sink is fed, whether the job streams, and how rows are carried.

    ``pairs`` as in ``How``.

    Raises what ``plan_sink`` raises, and FD654.
    """
    plans = [plan_sink(sink, config) for sink in sinks]
    streaming = _streams(plans, config)
    endless = not all(scan.bounded for plan in plans for scan in scans(plan.input.node))
    realtime = streaming and endless and config.flinkddl_execution_mode == "REALTIME"
    how = replace(how_of(config, streaming=streaming, realtime=realtime), pairs=pairs)
    return tuple(physical_sink(sink, plan, how) for sink, plan in zip(sinks, plans, strict=True))


def _streams(plans: Sequence[SinkPlan], config: Settings) -> bool:
    """Decide the execution mode: what was SET, otherwise batch where every source is bounded.

    What reads no table at all runs in batch in any case: Spark streams only what comes from a source.
    Raises FD654 for an unbounded source in batch mode (Flink's rule, V56 of the connector reference).
    """
    read = [scan for plan in plans for scan in scans(plan.input.node)]
    unbounded = next((scan for scan in read if not scan.bounded), None)
    if config.batch and unbounded is not None:
        message = f"table '{unbounded.table.path.name}' is unbounded and cannot be read in batch mode"
        help = "set 'scan.bounded.mode', or run in streaming mode"
        raise FlinkDdlError.of("FD654", message, unbounded.span or unbounded.table.span, help)
    # which changes there were, and which of a key came last, is known to a stream only
    follows = not config.batch and any(plan.follows for plan in plans)
    return (config.execution_runtime_mode == "STREAMING" and bool(read)) or unbounded is not None or follows


def decide(node: Node, asked: Traits, how: How) -> tuple[Physical, How]:
    """Decide the tree of a query, and with which output mode it runs."""
    how = replace(how, pairs=how.keyed and how.pairs and not _waits(node))
    how = replace(how, mode="update" if how.streaming and (how.chain or _updates(node, asked, how)) else "append")
    return _decide(node, asked, how), how


def _updates(node: Node, asked: Traits, how: How) -> bool:
    below = zip(node.inputs, _requires(node, asked, how), strict=True)
    ours = _paired(node, how) or (how.shares and isinstance(node, Join) and bool(meeting(node)))  # none of Spark's own
    return ours or node.updates(asked) or any(_updates(i, r, how) for i, r in below)


def _requires(node: Node, asked: Traits, how: How) -> tuple[Traits, ...]:
    return node.requires_in_a_chain(asked) if how.chain else node.requires(asked)


def _paired(node: Node, how: How) -> bool:
    return how.pairs and isinstance(node, Join) and bool(node.grows)


def _waits(node: Node) -> bool:
    return node.requires_watermark or any(map(_waits, node.inputs))


def _decide(node: Node, asked: Traits, how: How) -> Physical:
    inputs = tuple(_decide(i, r, how) for i, r in zip(node.inputs, _requires(node, asked, how), strict=True))
    form = node.form(tuple(i.form for i in inputs), asked, how) if how.streaming else APPEND
    met = how.shares and bool(meeting(node))
    return Physical(node, form, asked if how.streaming else PLAIN, inputs, met, _paired(node, how))


def physical_sink(sink: Sink, plan: SinkPlan, how: How) -> PhysicalSink:
    """Decide the tree of a sink that is fed as ``plan_sink`` says."""
    found = PhysicalSink(sink, plan, how, Physical(sink.input, APPEND, PLAIN, ()))
    # whether it counts which row of a key came last, or first
    ordered = plan.races or found.arbitrated or found.conflict is not None
    latest = plan.accepts == "upsert" and bool(plan.key) and not ordered
    tree, how = decide(sink.input, Traits(sequence=ordered, latest=latest), how)
    return replace(found, query=tree, how=how)


# ---- what is there twice -----------------------------------------------------------------------------------------


class Cons:
    """Gives equal sub-plans one number: the same class and attributes over equal inputs, wherever in the script.

    With ``forms`` Spark must carry them alike, too; with ``asked`` whoever reads them must ask for what it says of
    each place: where nothing else is said, all that is asked of it.
    """

    def __init__(self, forms: bool = True, asked: Callable[[Physical], Traits] | None = attrgetter("asked")) -> None:
        self.forms = forms
        self.asked = asked
        self.numbers: dict[int, int] = {}
        self._buckets: dict[tuple[Any, ...], list[tuple[int, Node]]] = {}
        self._count = 0

    def number(self, found: Physical) -> int:
        """Return the number of a sub-plan."""
        if id(found) not in self.numbers:
            inputs = tuple(map(self.number, found.inputs))
            form = (found.form if self.forms else None, self.asked(found) if self.asked else None)
            bucket = self._buckets.setdefault((type(found.node), form, inputs, hash_of(found.node)), [])
            same = next((n for n, other in bucket if alike(found.node, other)), None)
            if same is None:
                same, self._count = self._count, self._count + 1
                bucket.append((same, found.node))
            self.numbers[id(found)] = same
        return self.numbers[id(found)]


def by_path(sinks: Sequence[PhysicalSink]) -> dict[str, Physical]:
    """Return each place of the trees by its path: ``0.1`` is the second input of the first sink."""
    ahead = [(f"{n}", sink.root) for n, sink in enumerate(sinks)]
    found = {}
    while ahead:
        path, here = ahead.pop()
        found[path] = here
        ahead += [(f"{path}.{i}", child) for i, child in enumerate(here.inputs)]
    return found


@dataclass(frozen=True)
class Reuse:
    """What of equal sub-plans runs once.

    ``numbers`` gives the places that are one a number, by their identity; ``first`` says of each of those but the one
    for which it runs the identity of that; ``runs`` how often each sub-plan runs, by its number in ``numbers()``.
    """

    numbers: Mapping[int, int]
    first: Mapping[int, int]
    runs: Mapping[int, int]


@deep
def reused(sinks: Sequence[PhysicalSink], same: Mapping[str, str]) -> Reuse:
    """Return what runs once; ``same`` says of paths of places as which other ones they run.

    A sub-plan inside one that runs as another does not count by itself.
    """
    places, equal = by_path(sinks), numbers(sinks)
    first: dict[int, int] = {}
    ones: dict[int, int] = {}
    runs: Counter[int] = Counter()

    def look(path: str) -> None:
        here = places[path]
        one = places.get(same.get(path, ""))
        if one is not None and equal[id(one)] == equal[id(here)]:
            first[id(here)] = id(one)
            ones.setdefault(id(one), len(ones) + 1)
            return
        runs[equal[id(here)]] += 1
        for i in range(len(here.inputs)):
            look(f"{path}.{i}")

    for n in range(len(sinks)):
        look(f"{n}")
    return Reuse({**ones, **{here: ones[one] for here, one in first.items()}}, first, runs)


@deep
def numbers(sinks: Sequence[PhysicalSink]) -> dict[int, int]:
    """Return the number of each place by its identity, from 1, inputs before what reads them.

    EXPLAIN, its pictures and the figures of a run have it. Equal sub-plans that Spark carries alike share a number;
    each sink has one of its own.
    """
    cons, given, out = Cons(asked=None), dict[int, int](), dict[int, int]()

    def look(one: Physical) -> None:
        for child in one.inputs:
            look(child)
        out[id(one)] = given.setdefault(cons.number(one), len(given) + 1)

    for n, sink in enumerate(sinks):
        look(sink.query)
        out[id(sink.root)] = given.setdefault(-1 - n, len(given) + 1)
    return out


def identities(sinks: Sequence[PhysicalSink]) -> dict[int, Identity]:
    """Return the identity of each node with state, by the identity of its place; equal sub-plans share theirs."""
    cons, origins = Cons(forms=False, asked=None), Origins()
    places: dict[int, int] = {}
    found: list[tuple[int, Identity, Node]] = []

    def look(one: Physical, mode: Mode) -> None:
        for child, below in zip(one.inputs, mode.inputs, strict=True):
            look(child, below)
        if one.node.state(mode):
            places[id(one)] = cons.number(one)
            found.append((places[id(one)], origins.identity(one.node), one.node))

    for sink in sinks:
        if sink.how.streaming:
            look(sink.query, sink.plan.input)
    names = numbered(found)
    return {place: names[number] for place, number in places.items()}


def explain(sinks: Sequence[PhysicalSink], same: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield the lines of each sink's plan: Flink's words, and our kind.

    What runs once for several places is written once, with a ``reuse_id``, as Flink does; then it is ``Reused``. What
    runs once more is written once more, and of a table it says so. ``same`` as in ``reused``.
    """
    reuse, equal = reused(sinks, same), numbers(sinks)
    written, read = set[int](), set[int]()

    def lines(found: Physical, mode: Mode, depth: int) -> Iterator[str]:
        lead = f"{'   ' * depth}{'+- ' if depth else ''}"
        number = reuse.numbers.get(id(found))
        if number in written:
            yield f"{lead}Reused(reference_id=[{number}])"
            return
        more = f", reuse_id=[{number}]" if number is not None else ""
        written.update(() if number is None else (number,))
        if isinstance(found.node, Scan):
            more += ", read again" * (equal[id(found)] in read)
            read.add(equal[id(found)])
        yield f"{lead}{found.node.name}(changelogMode=[{mode.words}], kind=[{found.form.kind}]{more})"
        for child, below in zip(found.inputs, mode.inputs, strict=True):
            yield from lines(child, below, depth + 1)

    for sink in sinks:
        yield list(lines(sink.root, sink.modes, 0))
