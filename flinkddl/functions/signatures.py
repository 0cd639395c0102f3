"""The declared types of a Python function, read from its module's source: nothing of it, nor of its packages, is run.

What a decorator of somebody else makes of a function cannot be seen this way, nor what is computed.
"""

from __future__ import annotations

import ast
import os
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_OURS = ("flinkddl.functions.user.udf", "flinkddl.functions.udf")
_SEEN_THROUGH = ("staticmethod", "functools.cache", "functools.lru_cache")
_LONGEST_WAY = 8  # imports that are followed from module to module
_TYPES = ("bool", "int", "float", "str", "bytes", "decimal.Decimal", "datetime.date", "datetime.datetime")


class Unreadable(Exception):
    """A function's types cannot be told from its source; the message says why."""


@dataclass(frozen=True)
class Signature:
    """A function's types as its source has them: texts of Flink types (``sql``), or names of Python types.

    ``arguments`` is None where any will do; an unknown Python type is "".
    """

    sql: bool
    result: str
    arguments: tuple[str, ...] | None
    deterministic: bool = True


def read_signature(module: str, name: str) -> Signature:
    """Return the signature of ``module.name``. Raises Unreadable."""
    return _look_up(module, name, _LONGEST_WAY)


def source_of(module: str) -> tuple[str, bool]:
    """Return the source of a module and whether it is a package, as an import would find it. Raises Unreadable."""
    places: list[str] | None = None
    parts = module.split(".")
    spec = None
    for n in range(1, len(parts) + 1):
        path = places if n > 1 else [*sys.path, os.getcwd()]
        spec = PathFinder.find_spec(".".join(parts[:n]), path)
        places = None if spec is None or spec.submodule_search_locations is None else [*spec.submodule_search_locations]
        if spec is None or (places is None and n < len(parts)):
            raise Unreadable(f"No module named '{'.'.join(parts[:n])}'")
    loader = spec.loader if spec else None
    text = getattr(loader, "get_source", lambda _: None)(module) if loader else ""
    if text is None:
        raise Unreadable(f"the module '{module}' has no source")
    return text, places is not None


def _look_up(module: str, name: str, way: int) -> Signature:
    text, package = source_of(module)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise Unreadable(f"the source of '{module}' is no Python: {error}") from None
    names = _Names(module, package, tree)
    found = names.last(name)
    match found:
        case ast.FunctionDef():
            return _of_function(found, names)
        case ast.Assign(value=ast.Name(id=other)) if other != name and way:
            return _look_up(module, other, way - 1)
        case ast.ImportFrom() if way:
            elsewhere, _, original = names.imported[name].rpartition(".")
            return _look_up(elsewhere, original, way - 1)
        case None:
            raise Unreadable(f"module '{module}' has no attribute '{name}'")
    raise Unreadable(f"'{module}.{name}' is computed when the module is run")


class _Names:
    """What the names of a module stand for."""

    def __init__(self, module: str, package: bool, tree: ast.Module) -> None:
        self.imported: dict[str, str] = {}
        self._bound: dict[str, ast.stmt] = {}
        base = module if package else module.rpartition(".")[0]
        for node in _statements(tree.body):
            for name in _binds(node):
                self._bound[name] = node
            if isinstance(node, ast.Import):
                self.imported |= {a.asname or a.name.split(".")[0]: a.name if a.asname else a.name.split(".")[0]
                                  for a in node.names}  # fmt: skip
            elif isinstance(node, ast.ImportFrom):
                up = base.split(".")[: len(base.split(".")) - node.level + 1] if node.level else []
                origin = ".".join([*up, *([node.module] if node.module else [])])
                self.imported |= {a.asname or a.name: f"{origin}.{a.name}" for a in node.names}

    def last(self, name: str) -> ast.stmt | None:
        return self._bound.get(name)

    def full(self, node: ast.expr) -> str:
        """Return the full name that an expression stands for, such as ``decimal.Decimal``; "" for another."""
        match node:
            case ast.Name(id=name):
                return self.imported.get(name, name if name not in self._bound else "")
            case ast.Attribute(value=value, attr=attr):
                return f"{before}.{attr}" if (before := self.full(value)) else ""
        return ""


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module's top level, those in ``if`` and ``try`` too."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody") if isinstance(node, ast.If | ast.Try) else ():
            yield from _statements(getattr(node, part, ()))


def _binds(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [t.id for t in targets if isinstance(t, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Import() | ast.ImportFrom():
            return [a.asname or a.name.split(".")[0] for a in node.names]
    return []


def _of_function(node: ast.FunctionDef, names: _Names) -> Signature:
    declared: Signature | None = None
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        full = names.full(called)
        if full in _OURS and isinstance(decorator, ast.Call):
            declared = declared or _declared(decorator)
        elif full not in _SEEN_THROUGH:
            raise Unreadable(f"the decorator '{ast.unparse(called)}' of '{node.name}' may make another function of it")
    return declared or _annotated(node, names)


def _declared(call: ast.Call) -> Signature:
    """Read ``@udf("INT", ["STRING"], deterministic=False)``."""
    given: Mapping[str, ast.expr] = dict(zip(("result_type", "input_types", "deterministic"), call.args, strict=False))
    given = {**given, **{k.arg: k.value for k in call.keywords if k.arg is not None}}
    try:
        values = {name: ast.literal_eval(value) for name, value in given.items()}
        types = values.get("input_types")
        arguments = None if types is None else tuple(map(str, types))
        return Signature(True, str(values["result_type"]), arguments, bool(values.get("deterministic", True)))
    except (ValueError, KeyError, TypeError):
        raise Unreadable(f"'{ast.unparse(call)}' is computed when the module is run") from None


def _annotated(node: ast.FunctionDef, names: _Names) -> Signature:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    given = [a.annotation for a in every if a.annotation is not None]
    return Signature(False, _type(node.returns, names), tuple(_type(a, names) for a in given))


def _type(node: ast.expr | None, names: _Names) -> str:
    """Return the Python type that an annotation names: ``str | None`` is ``str``, as every value may be NULL."""
    match node:
        case ast.Constant(value=str(text)):
            try:
                return _type(ast.parse(text, mode="eval").body, names)
            except SyntaxError:
                return ""
        case ast.BinOp(op=ast.BitOr(), left=left, right=ast.Constant(value=None)):
            return _type(left, names)
        case ast.BinOp(op=ast.BitOr(), left=ast.Constant(value=None), right=right):
            return _type(right, names)
        case ast.Subscript(value=value, slice=inner) if names.full(value) == "typing.Optional":
            return _type(inner, names)
        case ast.Name() | ast.Attribute():
            full = names.full(node)
            return full if full in _TYPES else ""
    return ""
