"""User functions in Python: how they declare their types, and how a declaration is read while planning.

``CREATE FUNCTION f AS 'module.function' LANGUAGE PYTHON`` names a plain Python function. Its types are what
``@flinkddl.functions.user.udf("INT", ["STRING"])`` says, or else its annotations.
"""

from __future__ import annotations

import datetime
import decimal
import os
import sys
import typing
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flinkddl import sqltypes as T
from flinkddl.diagnostics import SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.dialect.types import to_type
from flinkddl.sqltypes import DataType, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class UndeclaredTypes(Exception):
    """The function cannot be loaded, or says nothing of its types; the message says which."""


@dataclass(frozen=True)
class UserFunction:
    """A user's function as planning sees it; ``arguments`` is None where any will do.

    ``target`` is what the runtime registers: ``python:module.function``, or ``script:module.function`` where nobody
    but the script names the module.
    """

    target: str
    result: DataType
    arguments: tuple[DataType, ...] | None = None
    deterministic: bool = True


_ANNOTATIONS: dict[Any, DataType] = {
    bool: T.BOOLEAN,
    int: T.BIGINT,
    float: T.DOUBLE,
    str: T.STRING,
    bytes: T.BYTES,
    decimal.Decimal: T.DECIMAL(38, 18),
    datetime.date: T.DATE,
    datetime.datetime: T.TIMESTAMP(6),
}


_NAMES = {
    t.__name__ if t.__module__ == "builtins" else f"{t.__module__}.{t.__name__}": s for t, s in _ANNOTATIONS.items()
}


def parse_type(text: str) -> DataType:
    """Return the logical type that Flink SQL text such as ``ARRAY<INT NOT NULL>`` names. Raises UndeclaredTypes."""
    script = parse_script(SourceText("<type>", f"SELECT CAST(NULL AS {text})"))
    if not script.ok:
        raise UndeclaredTypes(f"'{text}' is no type")
    return to_type(script.statements[0].tree.expressions[0].args["to"])


def udf(
    result_type: str, input_types: Sequence[str] | None = None, deterministic: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the Flink types of a Python function; the function itself stays as it is."""

    def declare(function: Any) -> Any:
        result = parse_type(result_type)
        function.flink_result = result
        function.flink_arguments = None if input_types is None else tuple(parse_type(t) for t in input_types)
        function.flink_deterministic = deterministic
        function.returnType = spark_type(result)
        return function

    return declare


def declared(identifier: str, named: bool = False) -> UserFunction:
    """Return the declaration of ``module.function`` as its source has it. Raises UndeclaredTypes.

    ``named`` says that the user, not the script alone, names the module: then it is imported where the source does not
    tell. Otherwise the target says ``script:``, which is refused where it would run.
    """
    from flinkddl.functions.signatures import Unreadable  # here: a script without Python functions need not wait

    module, _, name = identifier.replace(":", ".").rpartition(".")
    try:
        return replace(_read(module, name), target=f"{'python' if named else 'script'}:{module}.{name}")
    except Unreadable as e:
        if named:
            return imported(identifier)
        raise UndeclaredTypes(f"the types of '{module}.{name}' cannot be read: {e}") from None


def untouchable(module: str) -> str | None:
    """Return why a module is never run as a function's, or None: ours and Python's own can do anything."""
    top = module.partition(".")[0]
    if top == "flinkddl":
        return "a module of flinkddl itself"
    return "a module of Python's standard library" if top in sys.stdlib_module_names else None


@cache
def _read(module: str, name: str) -> UserFunction:
    from flinkddl.functions.signatures import read_signature

    found = read_signature(module, name)
    if found.sql:
        types = None if found.arguments is None else tuple(map(parse_type, found.arguments))
        return UserFunction("", parse_type(found.result), types, found.deterministic)
    result = _NAMES.get(found.result)
    if result is None:
        raise UndeclaredTypes(f"the function '{module}.{name}' does not declare the type of its result")
    known = [_NAMES.get(a) for a in found.arguments or ()]
    return UserFunction("", result, None if None in known else tuple(t for t in known if t is not None))


@cache
def imported(identifier: str) -> UserFunction:
    """Import ``module.function`` and return its declaration. Raises UndeclaredTypes."""
    module, _, name = identifier.replace(":", ".").rpartition(".")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # where its module is looked for last, as `python -m` does
    try:
        function: Any = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as e:
        raise UndeclaredTypes(f"the function '{identifier}' cannot be loaded: {e}") from None
    target = f"python:{module}.{name}"
    if hasattr(function, "flink_result"):
        return UserFunction(target, function.flink_result, function.flink_arguments, function.flink_deterministic)
    return _annotated(function, target)


def _annotated(function: Any, target: str) -> UserFunction:
    hints = typing.get_type_hints(function) if callable(function) else {}
    result = _ANNOTATIONS.get(_not_none(hints.pop("return", None)))
    if result is None:
        raise UndeclaredTypes(f"the function '{target.partition(':')[2]}' does not declare the type of its result")
    types = [_ANNOTATIONS.get(_not_none(h)) for h in hints.values()]
    known = None if any(t is None for t in types) else tuple(t for t in types if t is not None)
    function.returnType = spark_type(result)
    return UserFunction(target, result, known)


def _not_none(hint: Any) -> Any:
    """``str | None`` is ``str``: every value may be NULL."""
    parts = [a for a in typing.get_args(hint) if a is not type(None)]
    return parts[0] if len(parts) == 1 and len(typing.get_args(hint)) == 2 else hint
