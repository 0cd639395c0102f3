"""Diagnostics as text with carets, as JSON and as SARIF."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flinkddl.diagnostics.report import Diagnostic
    from flinkddl.diagnostics.source import Span

_PICTURES = {n: 0x2400 + n for n in range(32) if chr(n) not in "\t\n"} | {0x7F: 0x2421}
_PICTURES |= dict.fromkeys([*range(0x80, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_SARIF_LEVEL = {"error": "error", "warning": "warning", "note": "note"}


def render_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Render findings as ``file:line:column: severity CODE: message`` with the line and carets below."""
    return printable("\n".join(_one(d) for d in diagnostics))


def printable(text: str) -> str:
    """Return a text that does nothing to a terminal but stand there: control characters as their pictures.

    Those that turn the direction of a line, or end one for some programs only, are replaced; each by one character.
    """
    return text.translate(_PICTURES)


def _one(d: Diagnostic) -> str:
    where = f"{d.span}: " if d.span else ""
    lines = [f"{where}{d.severity} {d.code}: {d.message}"]
    if d.span:
        lines += _snippet(d.span, d.help)
    elif d.help:
        lines.append(f"   = help: {d.help}")
    for related in d.related:
        lines.append(f"   {related.span}: {related.message}")
        lines += _snippet(related.span, None)
    return "\n".join(lines)


def _snippet(span: Span, help: str | None) -> list[str]:
    text, column, width = span.source.excerpt(span.start, span.end)
    gutter = f"{span.position[0]:>5} | "
    # Tabs stay tabs in the padding, so that the caret stands below its character in any terminal.
    pad = "".join("\t" if c == "\t" else " " for c in text[:column])
    caret = f"{' ' * (len(gutter) - 2)}| {pad}{'^' * width}"
    return [gutter + text, caret + (f" {help}" if help else "")]


def to_json(d: Diagnostic) -> dict[str, Any]:
    """Return a finding as plain data; ``line`` and ``column`` count from 1."""
    out: dict[str, Any] = {"code": d.code, "severity": d.severity, "message": d.message}
    if d.help:
        out["help"] = d.help
    if d.span:
        out |= _place(d.span)
    if d.related:
        out["related"] = [{"message": r.message} | _place(r.span) for r in d.related]
    return out


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Render findings as a JSON array."""
    return json.dumps([to_json(d) for d in diagnostics], ensure_ascii=False, indent=2)


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
