"""Tables of functions by type: rules of the builder by tree, lowerings by node; and the rooms whose files fill them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from types import ModuleType

T = TypeVar("T")
Rule = TypeVar("Rule", bound=Callable[..., Any])


def files(room: str, path: Iterable[str]) -> list[ModuleType]:
    """Import every file of a package (``__name__`` and ``__path__`` of it), so that its rules are in their tables.

    A file is found by its place, so that one more operator is its own files and no line in another.
    """
    return [import_module(f"{room}.{found.name}") for found in iter_modules(path)]


class Rules(dict[type, Callable[..., T]]):
    """What becomes of a tree or node, by its type; the nearest type that has a rule decides."""

    def __call__(self, *types: type) -> Callable[[Rule], Rule]:
        """Return the decorator that puts a function in as the rule of some types."""

        def register(rule: Rule) -> Rule:
            taken = [t.__name__ for t in types if t in self]
            assert not taken, f"there is a rule for {', '.join(taken)}"
            self.update(dict.fromkeys(types, rule))
            return rule

        return register

    def of(self, found: object) -> Callable[..., T] | None:
        """Return the rule for a tree or node, or None."""
        return next((self[t] for t in type(found).__mro__ if t in self), None)
