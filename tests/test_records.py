"""Records behave as the standard library's data classes: every claim is checked on a pair declared both ways."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace

import pytest

from flinkddl import records


def declare(dataclass):
    @dataclass(frozen=True, order=True)
    class Path:
        """Two names."""

        a: str
        b: str = "x"

    @dataclass(frozen=True, kw_only=True)
    class Node:
        """A base."""

        span: int | None = field(default=None, compare=False, repr=False)
        keys: tuple[int, ...] = ()

    @dataclass(frozen=True, kw_only=True)
    class Leaf(Node):
        """With a field that has no default after ones that have, and a shared default."""

        name: str
        items: list[int] = field(default_factory=list, hash=False)

    @dataclass
    class Bag:
        """One that changes, with its own repr."""

        found: dict[str, int] = field(default_factory=dict)
        size: int = 0

        def __post_init__(self):
            self.size += len(self.found)

        def __repr__(self):
            return "a bag"

    @dataclass(frozen=True)
    class Empty:
        """No fields."""

    @dataclass(frozen=True)
    class Own:
        """Its own equality and hash."""

        a: int

        def __eq__(self, other):
            return isinstance(other, type(self)) and self.a % 2 == other.a % 2

        def __hash__(self):
            return self.a % 2

    return Path, Node, Leaf, Bag, Empty, Own


OURS, THEIRS = declare(records.dataclass), declare(dataclasses.dataclass)


def outcome(action, classes):
    """What an action gives: text of its result, or the class of its error."""
    try:
        return repr(action(*classes))
    except (TypeError, AttributeError) as error:
        return type(error).__name__


ACTIONS = {
    "repr": lambda P, N, L, B, E, W: (P("q"), N(keys=(1,), span=3), L(name="n"), B({"a": 1}), E(), W(2)),
    "positions": lambda P, N, L, B, E, W: (P("q", "r"), P(b="r", a="q"), B({}, 2).size, B({"k": 1}, 2).size),
    "missing": lambda P, N, L, B, E, W: P(),
    "too-many": lambda P, N, L, B, E, W: P("a", "b", "c"),
    "unknown": lambda P, N, L, B, E, W: P("a", c="c"),
    "keyword-only": lambda P, N, L, B, E, W: L("n"),
    "equal": lambda P, N, L, B, E, W: (P("a") == P("a"), P("a") == P("b"), P("a") == ("a", "x")),
    "equal-empty": lambda P, N, L, B, E, W: (E() == E(), E() == P("a"), len({E(), E()})),
    "span-aside": lambda P, N, L, B, E, W: (N(span=1) == N(span=2), N(keys=(1,)) == N(), N() == L(name="n")),
    "nan": lambda P, N, L, B, E, W: (lambda nan: (W(nan).a is nan, P(nan) == P(nan)))(float("nan")),
    "own-equality": lambda P, N, L, B, E, W: (W(1) == W(3), W(1) == W(2), hash(W(3)), {W(1): 1}[W(5)]),
    "hash": lambda P, N, L, B, E, W: (hash(P("a")) == hash(P("a")), len({L(name="n"), L(name="n"), L(name="m")})),
    "unhashable-field": lambda P, N, L, B, E, W: hash(P([])),
    "unhashable": lambda P, N, L, B, E, W: hash(B()),
    "order": lambda P, N, L, B, E, W: sorted([P("b"), P("a", "y"), P("a")]),
    "order-operators": lambda P, N, L, B, E, W: (P("a") <= P("a"), P("a") >= P("b"), P("b") > P("a"), P("a") < P("a")),
    "no-order": lambda P, N, L, B, E, W: N() < N(),
    "order-of-others": lambda P, N, L, B, E, W: P("a") < "a",
    "frozen-set": lambda P, N, L, B, E, W: setattr(P("a"), "a", "b"),
    "frozen-delete": lambda P, N, L, B, E, W: delattr(P("a"), "a"),
    "changes": lambda P, N, L, B, E, W: (lambda b: (setattr(b, "size", 9), b.size, b == B(size=9), b != B()))(B()),
    "own-list": lambda P, N, L, B, E, W: (lambda a, b: (a.items.append(1), a.items, b.items))(L(name="a"), L(name="b")),
    "replace": lambda P, N, L, B, E, W: (replace(P("a"), b="c"), replace(L(name="a", span=5), name="b").span),
    "replace-unknown": lambda P, N, L, B, E, W: replace(P("a"), c=1),
    "fields": lambda P, N, L, B, E, W: [(f.name, f.type, f.kw_only) for c in (P, L, B, E) for f in fields(c)],
    "asdict": lambda P, N, L, B, E, W: dataclasses.asdict(L(name="a", keys=(1,))),
    "match": lambda P, N, L, B, E, W: (P.__match_args__, N.__match_args__),
    "copy": lambda P, N, L, B, E, W: (copy.copy(P("a")) == P("a"), copy.deepcopy(L(name="a", items=[1]))),
    "defaults": lambda P, N, L, B, E, W: (P.b, N.keys, hasattr(L, "items")),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIONS)
def test_as_the_standard_library(name):
    assert outcome(ACTIONS[name], OURS) == outcome(ACTIONS[name], THEIRS)


REPLACED = {
    "one": lambda P, N, L, B, E, W: (P("a"), {"b": "c"}),
    "inherited": lambda P, N, L, B, E, W: (L(name="a", span=5, items=[1]), {"name": "b", "keys": (2,)}),
    "nothing": lambda P, N, L, B, E, W: (E(), {}),
    "unknown": lambda P, N, L, B, E, W: (P("a"), {"c": 1}),
    "after-init": lambda P, N, L, B, E, W: (B({"k": 1}), {"size": 5}),
}


@pytest.mark.parametrize("name", REPLACED)
def test_our_replace_is_the_standard_one(name):
    def change(replace):
        def act(*classes):
            record, changes = REPLACED[name](*classes)
            new = replace(record, **changes)
            return new is record, vars(new)

        return act

    assert outcome(change(records.replace), OURS) == outcome(change(replace), THEIRS)


def test_a_copy_leaves_what_was_computed_behind():
    record = OURS[0]("a")
    vars(record)["cached"] = 1
    assert vars(records.replace(record, b="c")) == {"a": "a", "b": "c"}


@pytest.mark.parametrize("name", ACTIONS)
def test_values_are_the_same_once_init_is_compiled(name):
    ours, theirs = declare(records.dataclass), declare(dataclasses.dataclass)
    for cls, arguments in zip(ours, (("a",), (), {"name": "n"}, (), (), (1,)), strict=True):
        for _ in range(30):
            cls(**arguments) if isinstance(arguments, dict) else cls(*arguments)
    assert all("__init__" in vars(c) and vars(c)["__init__"].__closure__ is None for c in ours)
    assert outcome(ACTIONS[name], ours) == outcome(ACTIONS[name], theirs)


@pytest.mark.parametrize("classes", [OURS, THEIRS], ids=["ours", "theirs"])
def test_a_frozen_record_says_which_field(classes):
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        classes[0]("a").a = 1


def test_recursion_in_repr_ends():
    bag = records.dataclass(type("R", (), {"__annotations__": {"inner": "object"}, "inner": None, "__doc__": "r"}))()
    bag.inner = bag
    assert repr(bag) == "R(inner=...)"


def test_a_field_that_is_no_parameter_is_refused():
    namespace = {"__annotations__": {"a": "int"}, "a": field(init=False, default=1), "__doc__": "r"}
    with pytest.raises(TypeError, match="every field of a record is a parameter"):
        records.dataclass(type("R", (), namespace))


def test_pickled():
    from flinkddl.catalog.model import ObjectPath

    path = ObjectPath("a", "b", "c")
    assert pickle.loads(pickle.dumps(path)) == path
