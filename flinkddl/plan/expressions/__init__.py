"""Expressions of the parsed tree to typed ones.

``resolve_expression`` resolves a tree, ``resolve_aggregate`` the call of an aggregate; ``call``, ``cast`` and their
like build typed calls by hand.
"""

from flinkddl.plan.expressions.aggregates import is_aggregate, resolve_aggregate
from flinkddl.plan.expressions.build import call, cast, explicit_cast, is_known, unknown, user_call
from flinkddl.plan.expressions.forms import form_of
from flinkddl.plan.expressions.resolve import resolve_expression

__all__ = [
    "call",
    "cast",
    "explicit_cast",
    "form_of",
    "is_aggregate",
    "is_known",
    "resolve_aggregate",
    "resolve_expression",
    "unknown",
    "user_call",
]
