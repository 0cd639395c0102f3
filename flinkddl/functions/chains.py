"""Long chains of one operator: ``a + b + c + ...`` need not be a call within a call within a call.

Spark's parser and its planner go down an expression by recursion, and end at some two hundred calls one within the
other. A chain of ``LONG`` operators is therefore written flat, or as a tree that leans nowhere, with the same value:

- sums, differences and products of whole numbers wrap, so they may be put together in any order; those of INT and
  below are added up as BIGINT, which hundreds of millions of them do not fill, and wrapped once;
- ``||`` is one ``concat``;
- all else depends on the order (floating point rounds, DECIMAL grows, division ends with an error): Spark's
  ``aggregate`` goes through an array from the left, with the very step that a short chain takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.deep import balanced
from flinkddl.functions.arithmetic import WORD
from flinkddl.functions.arithmetic_functions import WRAP
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.sqltypes import DataType

LONG = 32
_WHOLE = frozenset({*WRAP, Root.BIGINT})


def kind(operator: str, result: DataType, right: DataType) -> tuple[object, ...]:
    """Return what neighbours must have alike to be written as one chain, or nothing where there are no chains."""
    if operator == "||":
        return (operator,) if result.root in T.CHARACTER else ()
    if operator in ("+", "-") and result.root in _WHOLE | T.APPROXIMATE:
        return ("+", result.root)
    if operator in (*WORD, "%") and result.root in T.NUMERIC and right.root in T.NUMERIC:
        return (operator, result.with_nullable(True), right.with_nullable(True))
    return ()


def text(first: str, rest: Sequence[tuple[str, str]], result: DataType, step: Callable[[str, str], str]) -> str:
    """Return Spark SQL of a chain: the first operand, then operators with theirs.

    ``step`` writes the chain's last operator between two operands.
    """
    operator, root = rest[-1][0], result.root
    operands = [first, *(operand for _, operand in rest)]
    if operator == "||":
        return f"concat({', '.join(operands)})"
    if root in _WHOLE and operator == "*":
        return balanced(operands, step)
    if root in _WHOLE and operator in ("+", "-"):
        return _sum(first, rest, root)
    if root in T.APPROXIMATE and operator in ("+", "-"):  # a - b is a + (-b), also for infinities, NaN and zeros
        signed = [operand if op == "+" else f"(-({operand}))" for op, operand in rest]
        return _fold(first, signed, "(acc + x)")
    return _fold(step(first, operands[1]), operands[2:], step("acc", "x"))


def _fold(first: str, rest: Sequence[str], step: str) -> str:
    return f"aggregate(array({', '.join(rest)}), {first}, (acc, x) -> {step})"


def _sum(first: str, rest: Sequence[tuple[str, str]], root: Root) -> str:
    added = [first, *(operand for operator, operand in rest if operator == "+")]
    taken = [operand for operator, operand in rest if operator == "-"]
    if root is Root.BIGINT:
        total = balanced(added, _long("add"))
        return _long("subtract")(total, balanced(taken, _long("add"))) if taken else total
    total = balanced([f"CAST({a} AS BIGINT)" for a in added], _plain("+"))
    if taken:
        total = _plain("-")(total, balanced([f"CAST({t} AS BIGINT)" for t in taken], _plain("+")))
    return f"{WRAP[root]}({total})"


def _long(word: str) -> Callable[[str, str], str]:
    return lambda a, b: f"flinkddl.{word}_long({a}, {b})"


def _plain(operator: str) -> Callable[[str, str], str]:
    return lambda a, b: f"({a} {operator} {b})"
