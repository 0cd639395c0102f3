"""Diagnostics as text with carets, as JSON and as SARIF."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics.report import alike, times

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.diagnostics.report import Diagnostic
    from flinkddl.diagnostics.source import Span

_PICTURES = {n: 0x2400 + n for n in range(32) if chr(n) not in "\t\n"} | {0x7F: 0x2421}
_PICTURES |= dict.fromkeys([*range(0x80, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_LINE, _PLACES = 240, 10
_SARIF_LEVEL = {"error": "error", "warning": "warning", "note": "note"}


def render_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Render findings as ``file:line:column: severity CODE: message`` with the line and carets below.

    Equal ones are printed once, with their number and the places of the others.
    """
    return printable("\n".join(_one(*same) for same in alike(diagnostics)))


def printable(text: str) -> str:
    """Return a text that does nothing to a terminal but stand there: control characters as their pictures.

    Those that turn the direction of a line, or end one for some programs only, are replaced; each by one character.
    """
    return text.translate(_PICTURES)


def _one(d: Diagnostic, *others: Diagnostic) -> str:
    where = f"{d.span}: " if d.span else ""
    lines = [f"{where}{d.severity} {d.code}: {d.message}"]
    if d.span:
        lines += _snippet(d.span, d.help)
    elif d.help:
        lines.append(f"   = help: {d.help}")
    for related in d.related:
        lines.append(f"   {related.span}: {related.message}")
        lines += _snippet(related.span, None)
    if others:
        lines.append(_again(others))
    return "\n".join(lines)


def _again(others: Sequence[Diagnostic]) -> str:
    places = ["{}:{}".format(*d.span.position) for d in others[:_PLACES] if d.span]
    at = f" at {', '.join(places)}{', ...' if len(others) > _PLACES else ''}" if places else ""
    return f"   = the same {times(len(others))}{at}"


def _snippet(span: Span, help: str | None) -> list[str]:
    text, column, width = _clipped(*span.source.excerpt(span.start, span.end))
    gutter = f"{span.position[0]:>5} | "
    # Tabs stay tabs in the padding, so that the caret stands below its character in any terminal.
    pad = "".join("\t" if c == "\t" else " " for c in text[:column])
    caret = f"{' ' * (len(gutter) - 2)}| {pad}{'^' * width}"
    first, *more = help.split("\n") if help else [""]
    # What a help proposes to write stands without a margin, to be copied.
    return [gutter + text, f"{caret} {first}".rstrip(), *(" " * len(gutter) + line for line in more)]


def _clipped(text: str, column: int, width: int) -> tuple[str, int, int]:
    """Return the part of a line around a range, which is all of it unless a program wrote the line."""
    if len(text) <= _LINE:
        return text, column, width
    first = max(0, min(column - _LINE // 4, len(text) - _LINE))
    before, after = "... " if first else "", " ..." if first + _LINE < len(text) else ""
    column -= first
    width = max(1, min(width, _LINE - column))
    return before + text[first : first + _LINE] + after, column + len(before), width


def to_json(d: Diagnostic) -> dict[str, Any]:
    """Return a finding as plain data; ``line`` and ``column`` count from 1."""
    out: dict[str, Any] = {"code": d.code, "severity": d.severity, "message": d.message}
    if d.help:
        out["help"] = d.help
    if d.fix is not None:
        out["fix"] = d.fix
    if d.span:
        out |= _place(d.span)
    if d.related:
        out["related"] = [{"message": r.message} | _place(r.span) for r in d.related]
    return out


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Render findings as a JSON array; of equal ones the first, with ``count`` and the ``places`` of the others."""
    return json.dumps([_with_places(*same) for same in alike(diagnostics)], ensure_ascii=False, indent=2)


def _with_places(d: Diagnostic, *others: Diagnostic) -> dict[str, Any]:
    more = {"count": 1 + len(others), "places": [_place(o.span) for o in others if o.span]}
    return to_json(d) | (more if others else {})


def render_sarif(diagnostics: Iterable[Diagnostic]) -> str:
    """Render findings as SARIF 2.1.0, which code hosts and editors read."""
    results = []
    for d in diagnostics:
        message = d.message + (f" ({d.help})" if d.help else "")
        result: dict[str, Any] = {"ruleId": d.code, "level": _SARIF_LEVEL[d.severity], "message": {"text": message}}
        if d.span:
            line, column = d.span.position
            end_line, end_column = d.span.source.position(d.span.end)
            region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
            place = {"artifactLocation": {"uri": d.span.source.name}, "region": region}
            result["locations"] = [{"physicalLocation": place}]
        results.append(result)
    run = {"tool": {"driver": {"name": "flinkddl", "rules": []}}, "results": results}
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2)


def _place(span: Span) -> dict[str, Any]:
    line, column = span.position
    end_line, end_column = span.source.position(span.end)
    return {"file": span.source.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column}
