"""Rules across options, evaluated: the part of JSON Schema (2020-12) that the registry's rules are written in.

A schema with any other keyword goes to ``jsonschema``, whose import alone takes a third of a short command. Options
are typed when they come here (text, integers, booleans, lists), never floats.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Schema = Mapping[str, Any] | bool


def fits(schema: Schema, instance: Mapping[str, Any]) -> bool:
    """Return whether the set options, by name, satisfy a rule's schema."""
    if _known_simple(schema):
        return _fits(schema, instance)
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema).is_valid(instance)


_SIMPLE: dict[int, tuple[Schema, bool]] = {}


def _known_simple(schema: Schema) -> bool:
    """Return ``simple(schema)``, asked once for each of the registry's schemas, which live as long as the program."""
    found = _SIMPLE.get(id(schema))
    if found is None or found[0] is not schema:
        found = _SIMPLE[id(schema)] = (schema, simple(schema))
    return found[1]


def simple(schema: Schema) -> bool:
    """Return whether a schema holds only keywords that are evaluated here."""
    if isinstance(schema, bool):
        return True
    inner = (s for keyword, value in schema.items() for s in _INNER.get(keyword, _none)(value))
    return schema.keys() <= _CHECKS.keys() and all(simple(s) for s in inner)


def _fits(schema: Schema, value: Any) -> bool:
    if isinstance(schema, bool):
        return schema
    return all(_CHECKS[keyword](argument, value, schema) for keyword, argument in schema.items())


def _same(a: Any, b: Any) -> bool:
    """JSON's equality: a boolean is no number."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _properties(inner: Mapping[str, Schema], value: Any, _: Any) -> bool:
    return not isinstance(value, dict) or all(_fits(s, value[k]) for k, s in inner.items() if k in value)


def _required(names: list[str], value: Any, _: Any) -> bool:
    return not isinstance(value, dict) or all(name in value for name in names)


def _dependent(needs: Mapping[str, list[str]], value: Any, _: Any) -> bool:
    return not isinstance(value, dict) or all(_required(n, value, _) for name, n in needs.items() if name in value)


def _if(condition: Schema, value: Any, schema: Mapping[str, Any]) -> bool:
    return _fits(schema.get("then" if _fits(condition, value) else "else", True), value)


def _none(_: Any) -> tuple[Schema, ...]:
    return ()


# A keyword: (its argument, the value, the schema around it) -> whether the value fits. As in JSON Schema, a check
# that is about another type of value holds.
_CHECKS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "properties": _properties,
    "required": _required,
    "dependentRequired": _dependent,
    "allOf": lambda inner, value, _: all(_fits(s, value) for s in inner),
    "anyOf": lambda inner, value, _: any(_fits(s, value) for s in inner),
    "oneOf": lambda inner, value, _: sum(_fits(s, value) for s in inner) == 1,
    "not": lambda inner, value, _: not _fits(inner, value),
    "if": _if,
    "then": lambda *_: True,  # read together with "if"
    "else": lambda *_: True,
    "const": lambda wanted, value, _: _same(wanted, value),
    "enum": lambda wanted, value, _: any(_same(w, value) for w in wanted),
    "pattern": lambda regex, value, _: not isinstance(value, str) or re.search(regex, value) is not None,
    "minLength": lambda least, value, _: not isinstance(value, str) or len(value) >= least,
    "maxLength": lambda most, value, _: not isinstance(value, str) or len(value) <= most,
    "minItems": lambda least, value, _: not isinstance(value, list) or len(value) >= least,
    "maxItems": lambda most, value, _: not isinstance(value, list) or len(value) <= most,
    "minimum": lambda least, value, _: not _number(value) or value >= least,
    "exclusiveMinimum": lambda bound, value, _: not _number(value) or value > bound,
}

# A keyword with schemas inside: its argument -> these.
_INNER: dict[str, Callable[[Any], Iterable[Schema]]] = {
    "properties": lambda inner: inner.values(),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), lambda inner: inner),
    **dict.fromkeys(("not", "if", "then", "else"), lambda inner: (inner,)),
}
