"""The values of ``spark.calls`` as Python text: what the printer writes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from flinkddl.diagnostics.secrets import holds_secret
from flinkddl.show.environment import look_up
from flinkddl.show.pytext import literal
from flinkddl.spark.calls import Attribute, Call, Chain, Code, Expression, Frame, Session, Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH = 110


def written(value: object, names: Mapping[str, str]) -> str:
    """Return a value as Python; ``names`` are the variables of the steps."""
    match value:
        case Chain(start=Expression()):
            return written(value.start, names) + "".join(_call(c, names) for c in value.calls)
        case Chain():
            calls = [_call(c, names) for c in value.calls]
            first = sum(isinstance(c, Attribute) for c in value.calls)  # they come first
            return chain(written(value.start, names) + "".join(calls[:first]), calls[first:])
        case Frame():
            return names[value.step]
        case Session():
            return "spark"
        case Expression():
            return f"expr({literal(value.sql)})"
        case Setting():
            return option_value(value.key, value.value)
        case Code():
            return value.text
        case str():
            return literal(value)
        case list():
            return f"[{_items([written(v, names) for v in value])}]"
    return json.dumps(value)


def _call(call: Attribute | Call, names: Mapping[str, str]) -> str:
    if isinstance(call, Attribute):
        return f".{call.name}"
    items = [written(a, names) for a in call.args]
    match call.named:
        case Code():
            items.append(f"**{call.named.text}")
        case Mapping():
            items += [f"{k}={v if isinstance(v, bool) else written(v, names)}" for k, v in call.named.items()]
    return f".{call.method}({_items(items)})"


def _items(items: Sequence[str]) -> str:
    one = ", ".join(items)
    return one if len(items) < 2 or len(one) < _WIDTH - 20 else "\n        " + ",\n        ".join(items) + ",\n    "


def chain(start: str, calls: list[str]) -> str:
    """Return a chain of calls, on one line where it has room."""
    one = start + "".join(calls)
    if len(one) <= _WIDTH and "\n" not in one:
        return one
    return "(\n    " + "\n    ".join([start, *calls]) + "\n)"


def option_value(key: str, value: str) -> str:
    """Return the value of an option, or where a program finds it if it is secret."""
    return look_up(key, value) if holds_secret(key, value) else literal(value)


def mapping(options: Mapping[str, str]) -> str:
    """Return options as a dict."""
    return "{" + ", ".join(f"{literal(k)}: {option_value(k, v)}" for k, v in sorted(options.items())) + "}"
