"""A data flow drawn: as Graphviz text, or as one HTML page with its picture in it. No library, no script."""

from __future__ import annotations

from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.plan.nodes import Scan
from flinkddl.show.layout import laid_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flinkddl.show.dataflow import Flow, Operator
    from flinkddl.show.layout import Point

_COLOURS: Mapping[str, str] = {"append": "#e8f1fb", "upsert": "#fdf3dc", "delta": "#fbe9e7", "images": "#f1eafa"}
_LETTERS, _LINE, _PAD, _WIDTH = 44, 17, 9, 370


# ---- Graphviz ----------------------------------------------------------------------------------------------------


@deep
def dot(flows: Iterable[Flow]) -> str:
    """Return the flows as one Graphviz digraph, a cluster a job."""
    out = ["digraph flinkddl {", "  rankdir=LR;", '  node [shape=box, style="rounded,filled", fontname="Helvetica"];']
    for number, flow in enumerate(flows, 1):
        out += [f"  subgraph cluster_{number} {{", f"    label={_quoted(flow.title)};"]
        for o in flow.operators:
            colour = _COLOURS.get(o.kind, "#ffffff")
            out.append(f'    j{number}{o.id} [label={_quoted(chr(10).join(_lines(o, flow)))}, fillcolor="{colour}"];')
        by_id = {o.id: o for o in flow.operators}
        for o in flow.operators:
            out += [f"    j{number}{r} -> j{number}{o.id} [label={_quoted(_edge(by_id[r]))}];" for r in o.reads]
        if flow.stages:
            lines = (line for s in flow.stages for line in wrap(s.line, 2 * _LETTERS, subsequent_indent="   "))
            told = _quoted("\n".join(["Stages", *lines, ""]))
            out.append(f'    j{number}stages [shape=plaintext, style="", label={told}];')
        out.append("  }")
    return "\n".join([*out, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l") + '"'


def _edge(source: Operator) -> str:
    return f"{source.mode.words} · {source.kind}"


def _lines(o: Operator, flow: Flow) -> list[str]:
    detail = wrap(o.detail, _LETTERS)
    if len(detail) > 5:
        detail = [*detail[:5], "…"]
    again = "" if o.reuse is None else f" (reuse_id=[{o.reuse}])"
    again += f" ({'read' if isinstance(o.here.node, Scan) else 'runs'} {o.runs} times)" * (o.runs > 1)
    return [
        f"{o.id} {o.name}{again}",
        *detail,
        *([f"state: {line}" if i == 0 else line for i, line in enumerate(_state(o, flow))]),
    ]


def _state(o: Operator, flow: Flow) -> list[str]:
    if not o.state:
        return []
    by_key = (line for s in flow.stages_with(o.id) for line in wrap(s.words(o.id), _LETTERS))
    return [*wrap(o.state, _LETTERS - 7), *([o.identity] if o.identity else []), *by_key]


# ---- HTML --------------------------------------------------------------------------------------------------------


@deep
def html(flows: Iterable[Flow], title: str = "flinkddl") -> str:
    """Return a page with one picture a job, and what its colours and words mean."""
    parts = [f"<h2>{escape(f.title)}</h2>\n<div class=picture>{svg(f)}</div>\n{_stages(f)}{_steps(f)}" for f in flows]
    return _PAGE.format(title=escape(title), legend=_legend(), body="\n".join(parts))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 20px; color: #1c2733; }}
h2 {{ font-size: 16px; overflow-wrap: anywhere; }} h3 {{ font-size: 14px; }}
.stages {{ list-style: none; padding: 0; }} summary {{ cursor: pointer; }}
pre {{ background: #f6f7f9; padding: 8px; overflow: auto; }}
.picture {{ overflow-x: auto; }}
.legend {{ background: #f6f7f9; padding: 8px 12px; font-size: 13px; line-height: 1.6; }}
.legend i {{ border: 1px solid #9fb0c4; border-radius: 4px; padding: 0 7px; margin-right: 3px; font-style: normal; }}
.legend span {{ margin-right: 16px; display: inline-block; }} .state {{ color: #9a3412; }}
</style></head><body>
{legend}
{body}
</body></html>
"""

_KINDS: Mapping[str, str] = {
    "append": "rows that come and stay",
    "upsert": "the newest row of a key",
    "delta": "rows with weights: +1 comes, -1 is taken back",
    "images": "a key's row before and after its change",
}
_CHANGES: Mapping[str, str] = {"I": "insert", "UB": "before an update", "UA": "after an update", "D": "delete"}


def _legend() -> str:
    kinds = (f'<span><i style="background:{_COLOURS[k]}">{k}</i>{words}</span>' for k, words in _KINDS.items())
    changes = (f"<span><b>{letters}</b> {words}</span>" for letters, words in _CHANGES.items())
    return (
        f"<div class=legend>A box is an operator, in the colour of how Spark carries its rows: {''.join(kinds)}<br>\n"
        f"On its arrow: the changes it gives, in Flink's letters, and how they are carried: {''.join(changes)}<br>\n"
        "<span class=state>state: what it keeps from batch to batch, and under which identity; by key: in which "
        "operator, which several nodes may share, and whose rows go past it for others.</span>"
        "The mouse over a box shows its columns.</div>"
    )


def _stages(flow: Flow) -> str:
    items = "".join(f"<li>{escape(s.line)}</li>\n" for s in flow.stages)
    return f"<h3>Stages</h3>\n<ul class=stages>\n{items}</ul>\n" if items else ""


def _steps(flow: Flow) -> str:
    text = escape("\n".join(map(str, flow.steps)))
    return f"<details><summary>Spark steps ({len(flow.steps)})</summary><pre>{text}</pre></details>"


def svg(flow: Flow) -> str:
    """Return a picture of a flow: sources above, sinks below, what each gives on its arrow, state in the boxes."""
    heights = {o.id: len(_lines(o, flow)) * _LINE + 2 * _PAD for o in flow.operators}
    layout = laid_out(flow.operators, heights, _WIDTH)
    places, width, height = layout.places, layout.width, layout.height
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"']
    out[0] += ' font-family="ui-monospace, monospace" font-size="13">'
    out.append(
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    )
    out.append('<path d="M0 0L8 4L0 8z" fill="#67758a"/></marker></defs>')
    out += [_arrow(way) for way in layout.ways]
    read = {r for o in flow.operators for r in o.reads}
    out += [_box(o, flow, places[o.id]) + (_given(o, *places[o.id]) if o.id in read else "") for o in flow.operators]
    return "\n".join([*out, "</svg>"])


def _box(o: Operator, flow: Flow, place: tuple[int, int, int]) -> str:
    x, y, height = place
    fill = _COLOURS.get(o.kind, "#ffffff")
    out = [f"<g><title>{escape(', '.join(f'{n} {t}' for n, t in o.columns))}</title>"]
    out.append(f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="7" fill="{fill}" stroke="#9fb0c4"/>')
    state = len(_state(o, flow))
    lines = _lines(o, flow)
    for i, line in enumerate(lines):
        weight = ' font-weight="bold" font-size="14"' if i == 0 else ""
        colour = ' fill="#9a3412"' if i >= len(lines) - state else ""
        out.append(f'<text x="{x + _PAD}" y="{y + _PAD + 11 + i * _LINE}"{weight}{colour}>{escape(line)}</text>')
    return "".join([*out, "</g>"])


def _arrow(way: Sequence[Point]) -> str:
    path = "".join(f"{'L' if n else 'M'}{x} {y}" for n, (x, y) in enumerate(way))
    return f'<path d="{path}" fill="none" stroke="#67758a" stroke-linejoin="round" marker-end="url(#tip)"/>'


def _given(o: Operator, x: int, y: int, height: int) -> str:
    """Return what stands beside the arrows that leave a box: all carry the same."""
    halo = 'fill="#445" stroke="#fff" stroke-width="5" paint-order="stroke"'  # over an arrow that turns aside
    return f'<text x="{x + _WIDTH // 2 + 8}" y="{y + height + 16}" {halo}>{escape(_edge(o))}</text>'
