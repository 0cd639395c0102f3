"""A data flow drawn: as Graphviz text, or as one HTML page with its picture in it. No library, no script."""

from __future__ import annotations

from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

from flinkddl.deep import deep

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flinkddl.show.dataflow import Flow, Operator

_COLOURS: Mapping[str, str] = {"append": "#e8f1fb", "upsert": "#fdf3dc", "delta": "#fbe9e7", "images": "#f1eafa"}
_LETTERS, _LINE, _PAD, _GAP_X, _GAP_Y, _WIDTH = 38, 15, 10, 90, 26, 276


# ---- Graphviz ----------------------------------------------------------------------------------------------------


@deep
def dot(flows: Iterable[Flow]) -> str:
    """Return the flows as one Graphviz digraph, a cluster a job."""
    out = ["digraph flinkddl {", "  rankdir=LR;", '  node [shape=box, style="rounded,filled", fontname="Helvetica"];']
    for number, flow in enumerate(flows, 1):
        out += [f"  subgraph cluster_{number} {{", f"    label={_quoted(flow.title)};"]
        for o in flow.operators:
            colour = _COLOURS.get(o.kind, "#ffffff")
            out.append(f'    j{number}{o.id} [label={_quoted(chr(10).join(_lines(o)))}, fillcolor="{colour}"];')
        by_id = {o.id: o for o in flow.operators}
        for o in flow.operators:
            out += [f"    j{number}{r} -> j{number}{o.id} [label={_quoted(_edge(by_id[r]))}];" for r in o.reads]
        out.append("  }")
    return "\n".join([*out, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l") + '"'


def _edge(source: Operator) -> str:
    return f"{source.mode.words} · {source.kind}"


def _lines(o: Operator) -> list[str]:
    detail = wrap(o.detail, _LETTERS)
    if len(detail) > 5:
        detail = [*detail[:5], "…"]
    again = "" if o.reuse is None else f" (reuse_id=[{o.reuse}])"
    return [o.name + again, *detail, *([f"state: {line}" if i == 0 else line for i, line in enumerate(_state(o))])]


def _state(o: Operator) -> list[str]:
    return [*wrap(o.state, _LETTERS - 7), *([o.identity] if o.identity else [])] if o.state else []


# ---- HTML --------------------------------------------------------------------------------------------------------


@deep
def html(flows: Iterable[Flow], title: str = "flinkddl") -> str:
    """Return a page with one picture a job."""
    parts = [f"<h2>{escape(f.title)}</h2>\n{svg(f)}\n{_steps(f)}" for f in flows]
    return _PAGE.format(title=escape(title), body="\n".join(parts))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 24px; color: #1c2733; }}
h2 {{ font-size: 16px; }} summary {{ cursor: pointer; }} pre {{ background: #f6f7f9; padding: 8px; overflow: auto; }}
svg {{ max-width: 100%; height: auto; }}
</style></head><body>
{body}
</body></html>
"""


def _steps(flow: Flow) -> str:
    text = escape("\n".join(map(str, flow.steps)))
    return f"<details><summary>Spark steps ({len(flow.steps)})</summary><pre>{text}</pre></details>"


def svg(flow: Flow) -> str:
    """Return a picture of a flow: sources at the left, sinks at the right, kinds on the arrows, state in the boxes."""
    places = _places(flow)
    by_id = {o.id: o for o in flow.operators}
    width = max(x for x, _, _ in places.values()) + _WIDTH + 12
    height = max(y + h for _, y, h in places.values()) + 12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"']
    out[0] += ' font-family="ui-monospace, monospace" font-size="11">'
    out.append(
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    )
    out.append('<path d="M0 0L8 4L0 8z" fill="#67758a"/></marker></defs>')
    for o in flow.operators:
        out += [_arrow(by_id[r], places[r], places[o.id]) for r in o.reads]
    out += [_box(o, *places[o.id]) for o in flow.operators]
    return "\n".join([*out, "</svg>"])


def _places(flow: Flow) -> dict[str, tuple[int, int, int]]:
    """Return x, y and height of each box: a column is the longest way from a source, rows follow the reading order."""
    column: dict[str, int] = {}
    for o in flow.operators:  # an operator stands after those it reads
        column[o.id] = max((column[r] + 1 for r in o.reads), default=0)
    for o in reversed(flow.operators):  # a source that is needed late stands late
        users = [column[u.id] for u in flow.operators if o.id in u.reads]
        if users and not o.reads:
            column[o.id] = min(users) - 1
    bottom: dict[int, int] = {}
    places: dict[str, tuple[int, int, int]] = {}
    for o in flow.operators:
        height = len(_lines(o)) * _LINE + 2 * _PAD + _LINE // 3
        above = [places[r][1] for r in o.reads]
        y = max(bottom.get(column[o.id], 12), min(above, default=12))
        places[o.id] = (12 + column[o.id] * (_WIDTH + _GAP_X), y, height)
        bottom[column[o.id]] = y + height + _GAP_Y
    return places


def _box(o: Operator, x: int, y: int, height: int) -> str:
    fill = _COLOURS.get(o.kind, "#ffffff")
    out = [f"<g><title>{escape(', '.join(f'{n} {t}' for n, t in o.columns))}</title>"]
    out.append(f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="7" fill="{fill}" stroke="#9fb0c4"/>')
    state = len(_state(o))
    lines = _lines(o)
    for i, line in enumerate(lines):
        weight = ' font-weight="bold" font-size="12"' if i == 0 else ""
        colour = ' fill="#9a3412"' if i >= len(lines) - state else ""
        out.append(f'<text x="{x + _PAD}" y="{y + _PAD + 9 + i * _LINE}"{weight}{colour}>{escape(line)}</text>')
    return "".join([*out, "</g>"])


def _arrow(source: Operator, start: tuple[int, int, int], end: tuple[int, int, int]) -> str:
    x1, y1 = start[0] + _WIDTH, start[1] + min(start[2], 44) // 2
    x2, y2 = end[0], end[1] + min(end[2], 44) // 2
    bend = (x2 - x1) // 2
    path = f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
    mode, kind = escape(source.mode.words), escape(source.kind)
    return (
        f'<path d="{path}" fill="none" stroke="#67758a" marker-end="url(#tip)"/>'
        f'<text x="{x1 + 6}" y="{y1 - 5}" fill="#445">{mode}</text>'
        f'<text x="{x1 + 6}" y="{y1 + 13}" fill="#67758a">{kind}</text>'
    )
