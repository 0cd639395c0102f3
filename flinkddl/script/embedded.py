"""SQL inside other files: where it stands in programs, notebooks, Markdown and YAML.

Each text that is found is as long as the file (or the notebook's cell) that it comes from: all that is no SQL is
blanked, so that every finding has its place in the file. A statement that a program puts together while it runs
(``"SELECT * FROM " + table``, ``%s``, an f-string with braces) is none that could be judged; it is counted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import SourceText, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Embedded:
    """The SQL of one file: texts in their order, and the places of statements that are put together at run time."""

    texts: tuple[SourceText, ...]
    composed: tuple[Span, ...] = ()


def embedded(name: str, text: str) -> Embedded:
    """Return the SQL of a file by the ending of its name; of a ``.sql`` file and an unknown one the whole text."""
    find = _FINDERS.get(Path(name).suffix.lower())
    return find(name, text) if find is not None else Embedded((SourceText(name, text),))


# ---- what is SQL, and blanks around it -----------------------------------------------------------------------------

_OBJECTS = r"(?:TABLE|VIEW|FUNCTION|CATALOG|DATABASE|TEMPORARY|OR\s+(?:REPLACE|ALTER)|MODEL|MATERIALIZED)\b"
_SQL = re.compile(
    rf"""(?:\s|--[^\n]*\n|/\*.*?\*/)*
    (?: (?:CREATE|DROP|ALTER)\s+{_OBJECTS} | INSERT\s+(?:INTO|OVERWRITE)\b | SELECT\b.*\bFROM\b | SELECT\s+[\d'*]
      | WITH\s+[\w`]+\s+AS\s*\( | EXECUTE\s+(?:STATEMENT|PLAN)\b | BEGIN\s+STATEMENT\b | EXPLAIN\s | ADD\s+JAR\b
      | USE\s+(?:CATALOG|MODULES)\b | (?:RE)?SET\s+'[\w.-]+'\s* | LOAD\s+MODULE\b | COMPILE\s+PLAN\b )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def _blank(text: str) -> list[str]:
    return [c if c == "\n" else " " for c in text]


def _result(name: str, text: str, out: list[str], composed: list[tuple[int, int]]) -> Embedded:
    found, whole = "".join(out), SourceText(name, text)
    return Embedded((SourceText(name, found),) if found.strip() else (), tuple(Span(whole, a, b) for a, b in composed))


# ---- programs ------------------------------------------------------------------------------------------------------

_LITERAL = re.compile(
    r'''(?P<comment>//[^\n]*|/\*.*?\*/|\#[^\n]*)
      | (?P<prefix>[A-Za-z]{0,3})(?P<quote>"""|\'\'\'|"|')(?P<body>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)''',
    re.VERBOSE | re.DOTALL,
)
_BETWEEN = re.compile(r"(?:[\s+\\]|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/|#[^\n]*\n)*")
_MARKS = re.compile(r"%\d*\$?[sd]|\{\w*\}")
_FORMATTED = re.compile(r"\s*\)*\s*(?:\.format(?:ted)?\s*\(|%\s*[\w(])")
_MARGIN = re.compile(r"\s*\)?\s*\.stripMargin")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": " ", "b": " ", "f": " ", "s": " ", "0": " "}


@dataclass(frozen=True)
class _Literal:
    start: int
    end: int
    body: tuple[int, int]
    prefix: str
    long: bool


def _program(comments: str, quotes: str) -> Callable[[str, str], Embedded]:
    """Return what reads a language whose comments begin so and whose strings stand in these quotes."""

    def find(name: str, text: str) -> Embedded:
        out, composed = _blank(text), list[tuple[int, int]]()
        for chain in _chains(text, list(_literals(text, comments, quotes))):
            content = " ".join(_content(text, part) for part in chain)
            if not _SQL.match(content):
                continue
            if _is_composed(text, chain):
                composed.append((chain[0].start, chain[-1].end))
                continue
            for part in chain:
                _copy(text, part, out)
            out[chain[-1].end - 1] = ";"
        return _result(name, text, out, composed)

    return find


def _literals(text: str, comments: str, quotes: str) -> Iterator[_Literal]:
    at = 0
    while found := _LITERAL.search(text, at):
        comment, quote = found["comment"], found["quote"]
        if comment is not None:
            at = found.end() if comment[0] in comments else found.start() + 1
            continue
        if quote[0] not in quotes or (len(quote) == 1 and "\n" in found["body"]):
            at = found.end() if len(found["body"]) <= 2 else found.start("body")  # a character, such as '"'
            continue
        at = found.end()
        yield _Literal(found.start(), found.end(), found.span("body"), found["prefix"].lower(), len(quote) > 1)


def _chains(text: str, literals: list[_Literal]) -> Iterator[list[_Literal]]:
    """Yield literals that stand side by side, or with a plus between them, together."""
    chain: list[_Literal] = []
    for literal in literals:
        if chain and _BETWEEN.fullmatch(text, chain[-1].end, literal.start):
            chain.append(literal)
            continue
        if chain:
            yield chain
        chain = [literal]
    if chain:
        yield chain


def _content(text: str, part: _Literal) -> str:
    return text[slice(*part.body)].replace("\\n", " ").replace("|", " ")


def _is_composed(text: str, chain: list[_Literal]) -> bool:
    """Whether a program adds to the text: other operands of a plus, placeholders that are filled, f and s strings."""
    before, after = text[: chain[0].start].rstrip(), text[chain[-1].end :]
    body = "".join(text[slice(*p.body)] for p in chain)
    filled = before.endswith(("format(", "String.format(")) or _FORMATTED.match(after) is not None
    braces = any(("f" in p.prefix and "{" in text[slice(*p.body)]) for p in chain)
    dollars = any(p.prefix in ("s", "f") and "$" in text[slice(*p.body)] for p in chain)
    return before.endswith("+") or after.lstrip().startswith("+") or braces or dollars or bool(
        filled and _MARKS.search(body)
    )  # fmt: skip


def _copy(text: str, part: _Literal, out: list[str]) -> None:
    """Put a literal's text in its place, escapes as what they mean and blanks."""
    first, last = part.body
    out[first:last] = text[first:last]
    if "r" not in part.prefix:
        _unescape(text, first, last, out)
    if part.long and _MARGIN.match(text, part.end):
        for margin in re.finditer(r"^[ \t]*\|", text[first:last], re.MULTILINE):
            out[first + margin.end() - 1] = " "


def _unescape(text: str, first: int, last: int, out: list[str]) -> None:
    """Put what escapes mean in their place, with blanks around it; those of a quotation stand outside of it."""
    open_ = ""
    for found in _ESCAPE.finditer(text, first, last):
        meant = chr(int(found[1][1:], 16)) if found[1][0] == "u" and len(found[1]) > 1 else found[1]
        meant = _ESCAPED.get(meant, meant)
        opens = meant in "'\"`" and open_ != meant
        open_ = meant if opens else open_ if meant not in "'\"`" else ""
        out[found.start() : found.end()] = [" "] * (found.end() - found.start())
        if meant != "\n":
            out[found.end() - 1 if opens else found.start()] = meant


# ---- documents -----------------------------------------------------------------------------------------------------

_FENCE = re.compile(
    r"^(?P<ticks>[ \t]*(?:```+|~~~+))[ \t]*\{?\.?(?P<word>[\w%-]*)[^\n]*\n(?P<body>.*?)^(?P=ticks)[ \t]*$", re.M | re.S
)
_WORDS = ("sql", "flinksql", "flink-sql", "flink")


def _markdown(name: str, text: str) -> Embedded:
    """Return the fenced blocks that are called SQL, or have none of a name and begin as SQL."""
    out = _blank(text)
    for found in _FENCE.finditer(text):
        first, last = found.span("body")
        word = found["word"].lower()
        if (word in _WORDS or not word) and _SQL.match(text, first, last):
            out[first:last] = text[first:last]
            out[last] = ";"  # in place of the fence below
    return _result(name, text, out, [])


_BLOCK = re.compile(
    r"^(?P<indent>[ \t]*)(?:- +)*(?:[\w.\"'/-]+[ \t]*:[ \t]*)?[|>][+-]?\d?[+-]?[ \t]*(?:#[^\n]*)?\n", re.M
)
_VALUE = re.compile(
    r"""(?:^[ \t]*|[:\-,][ \t]+|\[[ \t]*)(?:"(?P<double>(?:\\.|[^"\\\n])*)"|'(?P<single>(?:''|[^'\n])*)')""", re.M
)
_PLAIN = re.compile(
    r"^[ \t]*(?:- +)*[\w.-]*[ \t]*:?[ \t]+(?P<body>(?:INSERT|CREATE|SELECT|SET|USE|DROP)\b[^\n]*)$", re.M
)


def _yaml(name: str, text: str) -> Embedded:
    """Return block scalars and one-line values that begin as SQL."""
    out = _blank(text)
    taken: list[tuple[int, int, str]] = []
    for found in _BLOCK.finditer(text):
        first, last = found.end(), _block_end(text, found.end(), len(found["indent"].expandtabs()))
        if last > first and _SQL.match(text, first, last):
            taken.append((first, last, ""))
    quoted = [(m, m.lastgroup or "") for m in _VALUE.finditer(text)]
    for found, group in [*quoted, *((m, "body") for m in _PLAIN.finditer(text))]:
        first, last = found.span(group)
        content = text[first:last].replace("\\n", "  ")
        if _SQL.match(content) and not any(a <= first < b for a, b, _ in taken):
            taken.append((first, last, group))
    for first, last, group in taken:
        out[first:last] = text[first:last]
        end = last + 1 if text[last : last + 1] == "\n" else last
        if out[end : end + 1] == [" "]:
            out[end] = ";"
        if group in _YAML_ESCAPES:
            _YAML_ESCAPES[group](text, first, last, out)
    return _result(name, text, out, [])


def _doubled(text: str, first: int, last: int, out: list[str]) -> None:
    """Put one quote in place of two, its blank outside of the quotation."""
    for n, found in enumerate(re.finditer("''", text[first:last])):
        at = first + found.start()
        out[at : at + 2] = (" ", "'") if n % 2 == 0 else ("'", " ")


def _block_end(text: str, first: int, indent: int) -> int:
    """Return where a block scalar ends: before the first line that is not indented further than its key."""
    at = first
    for line in text[first:].splitlines(keepends=True):
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        at += len(line)
    return at


def _notebook(name: str, text: str) -> Embedded:
    """Return the SQL of a notebook's cells, each named by its number: ``job.ipynb[3]``."""
    try:
        cells = json.loads(text).get("cells", [])
    except (ValueError, AttributeError):
        return Embedded(())
    texts: list[SourceText] = []
    composed: list[Span] = []
    for number, cell in enumerate(cells, 1):
        lines = cell.get("source", "")
        source = lines if isinstance(lines, str) else "".join(lines)
        found = _cell(f"{name}[{number}]", cell.get("cell_type", ""), source)
        texts += found.texts
        composed += found.composed
    return Embedded(tuple(texts), tuple(composed))


def _cell(name: str, kind: str, source: str) -> Embedded:
    if kind == "markdown":
        return _markdown(name, source)
    magic = re.match(r"\s*%%(?:flinksql|flink|sql|ssql|bsql)\b[^\n]*", source)
    if magic:
        return Embedded((SourceText(name, " " * magic.end() + source[magic.end() :]),))
    if _SQL.match(source):
        return Embedded((SourceText(name, source),))
    return _PYTHON(name, source)


_YAML_ESCAPES = {"double": _unescape, "single": _doubled}
_PYTHON = _program("#", "\"'")
_JVM = _program("/", '"')
_FINDERS: dict[str, Callable[[str, str], Embedded]] = {
    ".py": _PYTHON,
    ".java": _JVM,
    ".scala": _JVM,
    ".md": _markdown,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".ipynb": _notebook,
}
ENDINGS = (".sql", *_FINDERS)
"""The names of files that SQL is looked for in."""
