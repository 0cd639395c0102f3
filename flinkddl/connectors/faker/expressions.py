"""Datafaker's expressions, as far as they can be judged without Java: their syntax, and the names that they call.

Source of the rules: Datafaker's FakeValuesService (splitExpressions, splitArguments, resolveExpression). What can be
called is a table, ``providers.json``, made from its jar (``tests/support/faker_table.py``).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from flinkddl.diagnostics import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = "-"
_METHOD = re.compile(r"(\w+)\(([^)]*)\)([-!]?)")
_ARGUMENT = re.compile(r"'((?:[^']|'')*)'")
_CLOCK = re.compile(r"#\{\s*(?:date|time|time_?and_?date)\.", re.IGNORECASE)
_INTEGERS = frozenset({"byte", "short", "int", "long", "Byte", "Short", "Integer", "Long", "BigInteger"})
_FLOATS = frozenset({"float", "double", "Float", "Double", "BigDecimal"})
_ONE = frozenset({"char", "Character"})
_TEXTS = frozenset({"String", "CharSequence", "boolean", "Boolean", "Date"}) | _ONE
"""What is made of any text; other classes have no constructor of one."""

RENAMED: Mapping[str, str] = {
    "internet.useragentany": "Internet.userAgent",
}
"""Names of java-faker, which Flink-faker had before 0.5, and what Datafaker has instead."""


@dataclass(frozen=True)
class Wrong:
    """What is wrong with an expression, and what to write."""

    message: str
    help: str | None = None


@dataclass(frozen=True)
class Method:
    """A method of a provider: its parameter lists; ``mark`` says which of its spellings without arguments fail."""

    name: str
    overloads: tuple[tuple[str, ...], ...]
    mark: str = ""


@dataclass(frozen=True)
class Provider:
    """A provider by its two spellings, and its methods by their names in small letters without underscores."""

    name: str
    type: str
    methods: Mapping[str, Method]


@dataclass(frozen=True)
class Table:
    """All that expressions can name; ``data`` are the keys of Datafaker's English files, by their first part."""

    version: str
    providers: Mapping[str, Provider] = field(repr=False)
    enums: Mapping[str, tuple[str, ...]] = field(repr=False)
    data: Mapping[str, frozenset[str]] = field(repr=False)


@cache
def table() -> Table:
    """Return what the Datafaker of the lock file has."""
    found = json.loads((files("flinkddl.connectors.faker") / "providers.json").read_text(encoding="utf-8"))
    providers = {}
    for names, text in found["provider"].items():
        name, _, type = names.partition("/")
        type = type if _plain(type) == _plain(name) else name  # 'date' has a class of another name
        methods = (
            Method(m[1], tuple(tuple(filter(None, o.split(","))) for o in m[2].split(";")), m[3])
            for m in _METHOD.finditer(text)
        )
        providers[_plain(name)] = Provider(name, type, {_plain(m.name): m for m in methods})
    enums = {name: tuple(text.split()) for name, text in found["enum"].items()}
    return Table(found["version"], providers, enums, {k: frozenset(v.split()) for k, v in found["data"].items()})


def uses_clock(text: str) -> bool:
    """Whether an expression counts from the time at which it is asked."""
    return _CLOCK.search(text) is not None


def modern(text: str) -> tuple[str, tuple[str, ...]]:
    """Return an expression with java-faker's names as Datafaker has them, and those names."""
    old: list[str] = []

    def put(found: re.Match[str]) -> str:
        new = RENAMED.get(plain_path(found[1]))
        if new is None:
            return found[0]
        old.append(found[1])
        return f"#{{{new}"

    return re.sub(r"#\{([A-Za-z_]+\.[A-Za-z_]+)(?=[\s}])", put, text), tuple(old)


def wrong(text: str) -> Wrong | None:
    """Return what is wrong with an expression, or None. Text outside ``#{..}`` stands for itself."""
    for inner in _directives(text):
        if inner is None:
            quotes = "; a quote in it is not closed" if text.count("'") % 2 else ""
            return Wrong(f"'#{{' is never closed{quotes}", "write #{Provider.method 'value', 'value'}")
        directive, _, rest = inner.partition(" ")
        if found := _called(directive.strip(), tuple(a.replace("''", "'") for a in _ARGUMENT.findall(rest))):
            return found
    return None


def _directives(text: str) -> Iterator[str | None]:
    """Yield what stands in each ``#{..}``; None for one that does not end. A brace in quotes ends nothing."""
    at = 0
    while (start := text.find("#{", at)) >= 0:
        quoted = False
        for at in range(start + 2, len(text)):
            if text[at] == "}" and not quoted:
                yield re.sub(r"\s+", " ", text[start + 2 : at], count=1)
                at += 1
                break
            quoted ^= text[at] == "'"
        else:
            yield None
            return


def _called(directive: str, arguments: tuple[str, ...]) -> Wrong | None:
    """Judge one call, in the order in which Datafaker looks for what it names."""
    name, dot, method = directive.partition(".")
    if not dot:
        return _of_root(name, arguments) if name else None
    known = table()
    provider, data = known.providers.get(_plain(name)), known.data.get(name.lower(), frozenset())
    own = None if provider is None else provider.methods.get(_plain(method))
    if provider is None or own is None:
        found = method in data or _snake(method) in known.data.get(_snake(name), ())
        group = f"{method}." in data
        return None if found and not arguments else _group(directive, data) if group else _unknown(name, method)
    if not arguments and () in own.overloads:
        good = (name, method) == (provider.type, own.name) or not own.mark
        return None if good and own.mark != "!" else _spelt(directive, provider, own)
    if not arguments and method in data:
        return None
    return None if _accepts(own, arguments) else _mismatch(f"{provider.name}.{own.name}", own, arguments)


def _of_root(name: str, arguments: tuple[str, ...]) -> Wrong | None:
    root = table().providers[ROOT].methods
    own = root.get(_plain(name))
    if own is None:
        if (provider := table().providers.get(_plain(name))) is not None:
            example = next((m.name for m in provider.methods.values() if () in m.overloads), "...")
            return Wrong(f"'{name}' names no value", f"name one, such as #{{{provider.type}.{example}}}")
        help = did_you_mean(name, [m.name for m in root.values()]) or "write #{Provider.method 'value'}"
        return Wrong(f"Datafaker {table().version} has no '{name}'", help)
    return None if _accepts(own, arguments) else _mismatch(own.name, own, arguments)


def _unknown(name: str, method: str) -> Wrong:
    known = table()
    provider = known.providers.get(_plain(name))
    data = known.data.get(_snake(name), frozenset())
    if provider is None and not data:
        near = did_you_mean(name, [p.type for p in known.providers.values()]) or did_you_mean(name, known.data)
        help = near or "see datafaker.net/documentation/providers"
        return Wrong(f"Datafaker {known.version} has no provider '{name}'", help)
    names = [m.name for m in provider.methods.values()] if provider else []
    names += [key for key in data if not key.endswith(".")]
    help = did_you_mean(method, names) or f"it has: {', '.join(sorted(names)[:8])}{', ...' * (len(names) > 8)}"
    return Wrong(f"'{name}' of Datafaker {known.version} has no '{method}'", help)


def _spelt(directive: str, provider: Provider, own: Method) -> Wrong:
    """Datafaker looks at its data first, and under this spelling finds there what is no value."""
    if own.mark == "!":
        return Wrong(f"'{directive}' fails in Datafaker {table().version}", "take another of the provider's methods")
    help = f"write #{{{provider.type}.{own.name}}}"
    return Wrong(f"'{directive}' names a part of Datafaker's data that is no value", help)


def _group(directive: str, data: frozenset[str]) -> Wrong:
    inside = sorted(key for key in data if key.startswith(f"{directive.partition('.')[2]}.") and not key.endswith("."))
    name = directive.partition(".")[0]
    help = f"it has: {', '.join(f'#{{{name}.{key}}}' for key in inside[:8])}"
    return Wrong(f"'{directive}' is a group of Datafaker's data, no value", help)


def _mismatch(name: str, method: Method, arguments: tuple[str, ...]) -> Wrong:
    forms = " or ".join(f"({', '.join(o)})" for o in method.overloads)
    named = (e for o in method.overloads for t in o if (e := t.removesuffix("...")) in table().enums)
    words = "".join(f"; {e}: {', '.join(table().enums[e])}" for e in dict.fromkeys(named))
    given = ", ".join(f"'{a}'" for a in arguments)
    return Wrong(f"'{name}' does not take ({given})", f"it takes {forms}{words}")


# ---- arguments: FakeValuesService.accessor and coerceArguments -----------------------------------------------------


def _accepts(method: Method, arguments: tuple[str, ...]) -> bool:
    return any(_fits(overload, arguments) for overload in method.overloads)


def _fits(overload: tuple[str, ...], arguments: tuple[str, ...]) -> bool:
    many = bool(overload) and overload[-1].endswith("...")
    if len(overload) != len(arguments) and not (many and len(overload) < len(arguments)):
        return False
    if not many:
        return all(map(_coerces, overload, arguments))
    last, fixed = overload[-1].removesuffix("..."), len(overload) - 1
    repeatable = last == "String" or last in table().enums
    return repeatable and all(map(_coerces, (*overload[:-1], *[last] * (len(arguments) - fixed)), arguments))


def _coerces(type: str, text: str) -> bool:
    if type in table().enums:
        return text.rpartition(".")[2] in table().enums[type]
    if type in _INTEGERS:
        return _reads(int, text)
    if type in _FLOATS:
        return _reads(float, text)
    return type in _TEXTS and (bool(text) or type not in _ONE)


def _reads(kind: Callable[[str], object], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


# ---- names ---------------------------------------------------------------------------------------------------------


def plain_path(name: str) -> str:
    """Return a name as it is looked up: underscores and capitals do not count (removeUnderscoreChars)."""
    return name.replace("_", "").lower()


def _plain(name: str) -> str:
    return plain_path(name) or ROOT


def _snake(name: str) -> str:
    """Return a name as Datafaker's data has it: PhoneNumber is phone_number (javaNameToYamlName)."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
