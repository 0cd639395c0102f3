"""Tables of functions by type: rules of the builder by tree, lowerings by node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Rule = TypeVar("Rule", bound=Callable[..., Any])


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
