"""Reads ``grammar/*.ebnf`` and writes random texts from it."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "grammar"
_TOKEN = re.compile(r'\(\*.*?\*\)|"[^"]*"|[A-Za-z_]+|[][(){}|=;]|\S', re.DOTALL)
TERMINALS = {
    "IDENT": ("a", "b", "c1", "tbl", "`x y`", "`order`", "state"),
    "FUNCTION": ("f1", "COUNT", "my_f", "SUM"),
    "STRING": ("'x'", "'it''s'", "''", "'a;b--c'"),
    "NUMBER": ("1", "2", "10"),
}
# A rule is a tree: ("seq" | "alt" | "opt" | "many", parts) or ("word", text) or ("rule", name).
Rule = tuple[str, object]


@cache
def grammar() -> dict[str, Rule]:
    """Return the rules of all files by name. Raises ValueError for a name declared twice."""
    rules: dict[str, Rule] = {}
    for path in sorted(FOLDER.glob("*.ebnf")):
        tokens = [t for t in _TOKEN.findall(path.read_text(encoding="utf-8")) if not t.startswith("(*")]
        while tokens:
            name, equals = tokens.pop(0), tokens.pop(0)
            if name in rules or equals != "=":
                raise ValueError(f"{path.name}: {name}")
            rules[name] = _alternatives(tokens, ";")
    return rules


def _alternatives(tokens: list[str], close: str) -> Rule:
    parts: list[list[Rule]] = [[]]
    while (token := tokens.pop(0)) != close:
        if token == "|":
            parts.append([])
        elif token in "([{":
            inner = _alternatives(tokens, {"(": ")", "[": "]", "{": "}"}[token])
            parts[-1].append({"(": inner, "[": ("opt", inner), "{": ("many", inner)}[token])
        elif token[0] == '"':
            parts[-1].append(("word", token[1:-1]))
        else:
            parts[-1].append(("rule", token))
    rows: list[Rule] = [("seq", row) for row in parts]
    return rows[0] if len(rows) == 1 else ("alt", rows)


@cache
def heights() -> dict[str, int]:
    """How deep the smallest text of each rule is."""
    known: dict[str, int] = {}
    while len(known) < len(grammar()):
        before = len(known)
        for name, rule in grammar().items():
            if name not in known and (height := _height(rule, known)) is not None:
                known[name] = height + 1
        if len(known) == before:
            raise ValueError(f"rules without end: {sorted(grammar().keys() - known.keys())}")
    return known


def _height(rule: Rule, known: dict[str, int]) -> int | None:
    kind, body = rule
    match kind:
        case "word" | "opt" | "many":
            return 0
        case "rule":
            return 0 if body in TERMINALS else known.get(str(body))
        case "alt":
            found = [h for part in body if (h := _height(part, known)) is not None]  # type: ignore[attr-defined]
            return min(found, default=None)
        case _:
            inner = [_height(part, known) for part in body]  # type: ignore[attr-defined]
            return None if None in inner else max(inner, default=0)


class Writer:
    """Writes a text of a rule; ``used`` collects the rules gone through."""

    def __init__(self, seed: int, depth: int = 14) -> None:
        self.dice = random.Random(seed)
        self.depth = depth
        self.used: set[str] = set()

    def text(self, name: str) -> str:
        self.used.add(name)
        return " ".join(self._write(("rule", name), self.depth))

    def _write(self, rule: Rule, left: int) -> list[str]:
        kind, body = rule
        match kind:
            case "word":
                return [str(body)]
            case "rule" if body in TERMINALS:
                return [self.dice.choice(TERMINALS[str(body)])]
            case "rule":
                self.used.add(str(body))
                return self._write(grammar()[str(body)], left - 1)
            case "seq":
                return [w for part in body for w in self._write(part, left)]  # type: ignore[attr-defined]
            case "alt":
                return self._write(self._choose(list(body), left), left)  # type: ignore[call-overload]
            case "opt":
                return self._write(body, left) if self._more(body, left) else []  # type: ignore[arg-type]
            case _:
                times = self.dice.randint(1, 2) if self._more(body, left) else 0  # type: ignore[arg-type]
                return [w for _ in range(times) for w in self._write(body, left)]  # type: ignore[arg-type]

    def _more(self, rule: Rule, left: int) -> bool:
        return self._fits(rule, left) and self.dice.random() < 0.4

    def _fits(self, rule: Rule, left: int) -> bool:
        return (_height(rule, heights()) or 0) < left

    def _choose(self, parts: list[Rule], left: int) -> Rule:
        fitting = [part for part in parts if self._fits(part, left)]
        return self.dice.choice(fitting) if fitting else min(parts, key=lambda p: _height(p, heights()) or 0)
