"""``dataclass`` that costs a tenth to declare: the standard one compiles six methods per class at import.

A command that reads one script declares a hundred records and makes values of a few. Here ``__init__`` is compiled
when a class makes its first value, and the other methods are shared code over the list of fields. Fields, defaults,
``fields``, ``match`` and inheritance are those of the standard library; type checkers see the standard decorator and
the standard ``replace``. A record can only inherit from records.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter, ge, gt, le, lt
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def replace(record, /, **changes):
        """Return a copy of a record with some fields changed, as ``dataclasses.replace`` does, in a tenth of its time.

        Raises TypeError for a name that is no field.
        """
        cls = record.__class__
        if not changes.keys() <= cls.__dataclass_fields__.keys() or hasattr(cls, "__post_init__"):
            return dataclasses.replace(record, **changes)
        made, values = object.__new__(cls), record.__dict__
        made.__dict__.update({name: values[name] for name in cls.__dataclass_fields__}, **changes)
        return made

    def dataclass(cls=None, /, *, frozen=False, kw_only=False, order=False):
        """Declare a record: like ``dataclasses.dataclass``, with these options; every field is a parameter."""
        if cls is None:
            return lambda c: _record(c, frozen, kw_only, order)
        return _record(cls, frozen, kw_only, order)


def _record(cls: type, frozen: bool, kw_only: bool, order: bool) -> type:
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    fields = dataclasses.fields(cls)
    if not all(f.init for f in fields):
        raise TypeError(f"{cls.__name__}: every field of a record is a parameter")
    key = _key(tuple(f.name for f in fields if f.compare))

    def __eq__(self: Any, other: object) -> bool:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    methods: dict[str, Any] = {"__init__": _late_init(cls, frozen), "__repr__": _repr, "__eq__": __eq__}
    if frozen:
        hashed = _key(tuple(f.name for f in fields if (f.compare if f.hash is None else f.hash)))
        methods |= {"__hash__": lambda self: hash(hashed(self)), "__setattr__": _refuse_set, "__delattr__": _refuse_del}
    if order:
        methods |= {f"__{compare.__name__}__": _ordered(key, compare) for compare in (lt, le, gt, ge)}
    for name, method in methods.items():
        if vars(cls).get(name) is None:  # None: a class with its own __eq__ gets "__hash__ = None" from Python
            setattr(cls, name, method)
    if not frozen and "__hash__" not in vars(cls):
        cls.__hash__ = None  # type: ignore[assignment]
    return cls


def _key(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """Return the function from a record to the tuple of these fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda record: (getattr(record, names[0]),)) if names else (lambda _: ())


def _ordered(key: Callable[[Any], Any], compare: Callable[[Any, Any], Any]) -> Callable[[Any, object], Any]:
    return lambda self, other: compare(key(self), key(other)) if other.__class__ is self.__class__ else NotImplemented


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_set(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_del(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _late_init(cls: type, frozen: bool) -> Callable[..., None]:
    """Return an ``__init__`` that, at the first value, compiles the real one and puts it into its own place."""

    def __init__(self: Any, *args: Any, **named: Any) -> None:
        real = _init(cls, frozen)
        setattr(cls, "__init__", real)  # noqa: B010  # mypy refuses the plain assignment
        real(self, *args, **named)

    return __init__


def _init(cls: Any, frozen: bool) -> Callable[..., None]:
    fields = dataclasses.fields(cls)
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    plain, named = ([_parameter(f, names) for f in fields if f.kw_only is kw] for kw in (False, True))
    body = [_assignment(f, frozen) for f in fields]
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    exec(f"def __init__({parameters}):\n  " + "\n  ".join(body or ["pass"]), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _parameter(f: Field[Any], names: dict[str, Any]) -> str:
    if f.default is not MISSING:
        names[f"_default_{f.name}"] = f.default
        return f"{f.name}=_default_{f.name}"
    if f.default_factory is not MISSING:
        names[f"_make_{f.name}"] = f.default_factory
        return f"{f.name}=_missing"
    return f.name


def _assignment(f: Field[Any], frozen: bool) -> str:
    value = f.name if f.default_factory is MISSING else f"_make_{f.name}() if {f.name} is _missing else {f.name}"
    return f"_set(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}"
