"""An assessment as one HTML page that needs nothing else."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from flinkddl.cli.assessment.causes import KINDS, causes, notes, steps, told
from flinkddl.cli.assessment.judge import NOTES, REFUSED, RUNS
from flinkddl.cli.assessment.report import gain, kept_by, place, summary, weight
from flinkddl.cli.common import count
from flinkddl.diagnostics.render import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.cli.assessment.causes import Cause, Step
    from flinkddl.cli.assessment.judge import Assessment
    from flinkddl.diagnostics import Diagnostic

_CLASS = {RUNS: "runs", NOTES: "notes", REFUSED: "refused"}
_STYLE = """
:root { --ink:#1f2933; --soft:#5b6875; --line:#dde3e9; --runs:#2e7d4f; --notes:#b7791f; --refused:#b83232;
  --back:#f6f8fa; }
body { font:15px/1.5 system-ui,sans-serif; color:var(--ink); margin:0 auto; max-width:72rem; padding:1.5rem; }
h1 { font-size:1.5rem; margin:0 0 .2rem; } h2 { font-size:1.15rem; margin:2rem 0 .4rem; }
.soft { color:var(--soft); } code, .place { font:13px/1.5 ui-monospace,monospace; overflow-wrap:anywhere; }
.bar { display:flex; height:1.1rem; border-radius:.3rem; overflow:hidden; margin:.8rem 0 .3rem;
  background:var(--line); }
.bar span { display:block; } .runs { background:var(--runs); } .notes { background:var(--notes); }
.refused { background:var(--refused); }
.key span { display:inline-block; width:.8rem; height:.8rem; border-radius:.2rem; margin:0 .3rem 0 1rem; }
.key span:first-child { margin-left:0; }
ol.next { padding:0; margin:.6rem 0; list-style:none; counter-reset:n; }
ol.next li { counter-increment:n; background:var(--back); border:1px solid var(--line); border-radius:.4rem;
  padding:.6rem .9rem .6rem 3rem; margin:.5rem 0; position:relative; }
ol.next li::before { content:counter(n); position:absolute; left:.9rem; top:.45rem; font-size:1.4rem; font-weight:600;
  color:var(--soft); }
table { border-collapse:collapse; width:100%; table-layout:fixed; }
td { overflow-wrap:anywhere; } th { text-align:left; font-weight:600; color:var(--soft); }
th, td { border-bottom:1px solid var(--line); padding:.35rem .6rem .35rem 0; vertical-align:top; }
.tag { color:#fff; border-radius:.3rem; padding:0 .4rem; font-size:13px;
  white-space:nowrap; }
.share { background:var(--line); height:.45rem; margin-top:.5rem; border-radius:.2rem; overflow:hidden; }
.share i { display:block; height:100%; background:var(--refused); opacity:.45; float:left; }
.share i.alone { opacity:1; }
a { color:inherit; text-decoration-color:var(--soft); } tr:target { background:var(--back); }
details summary { cursor:pointer; color:var(--soft); } details ul { margin:.2rem 0; padding-left:1.1rem; }
"""


def page(found: Sequence[Assessment], title: str = "Assessment") -> str:
    """Return the page: what runs, the three next actions, the causes by kind, and every script."""
    grouped = causes(found)
    parts = [_head(found, title), _next(steps(found), len(found))]
    parts += [_causes(words, [c for c in grouped if c.kind == kind], len(found)) for kind, words in KINDS.items()]
    parts += [_causes("Notes on scripts that run", notes(found), len(found), noted=True), _scripts(found)]
    body = "\n".join(filter(None, parts))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_text(title)}</title>'
    return (
        f"<!doctype html>\n<html lang=en><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _text(text: str) -> str:
    return escape(printable(text))


def _help(text: str) -> str:
    """Return help with what stands between back-ticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def _head(found: Sequence[Assessment], title: str) -> str:
    counts = {v: sum(a.verdict == v for a in found) for v in _CLASS}
    share = "".join(
        f'<span class="{_CLASS[v]}" style="width:{100 * n / len(found):.2f}%"></span>' for v, n in counts.items()
    )
    words = {RUNS: "run", NOTES: "run with notes", REFUSED: "refused"}
    key = "".join(f'<span class="{_CLASS[v]}"></span>{n} {words[v]}' for v, n in counts.items())
    return (
        f"<h1>{_text(title)}</h1><div>{_text(summary(found).partition(':')[0])} of Flink SQL, judged for Spark</div>"
        f'<div class="bar">{share}</div><div class="key">{key}</div>'
    )


def _anchor(label: str) -> str:
    return "cause-" + re.sub(r"\W+", "-", label)


def _link(label: str) -> str:
    """Return the label of a cause as a link to what is said of it."""
    return f'<a href="#{_anchor(label)}">{_text(label)}</a>'


def _next(todo: Sequence[Step], total: int) -> str:
    if not todo:
        return "<h2>Next</h2><p>Every script runs.</p>"
    items = "".join(
        f"<li><b>{_link(s.cause.label)}</b> <span class=soft>{_text(weight(s.cause))}; {_text(gain(s, total))}</span>"
        f"<br>{_help(s.cause.help)}</li>"
        for s in todo
    )
    return f'<h2>Next: what lets the most scripts run</h2><ol class="next">{items}</ol>'


def _causes(heading: str, grouped: Sequence[Cause], total: int, *, noted: bool = False) -> str:
    if not grouped:
        return ""
    rows = "".join(_cause(c, total, noted=noted) for c in grouped)
    widths = "".join(f'<col style="width:{w}%">' for w in (24, 7, 9, 10, 50))
    names = ("what", "scripts", "" if noted else "by it alone", "of all", "what to do, and where")
    head = "".join(f"<th>{name}</th>" for name in names)
    return f"<h2>{_text(heading)}</h2><table><colgroup>{widths}</colgroup><tr>{head}</tr>{rows}</table>"


def _cause(c: Cause, total: int, *, noted: bool) -> str:
    number, alone = len(c.scripts), len(c.alone)
    shares = [("alone", alone), ("", number - alone)] if not noted else [("", number)]
    bar = "".join(f'<i class="{name}" style="width:{100 * n / total:.2f}%"></i>' for name, n in shares)
    flink = f"<div class=soft>Flink: {_text(c.flink)}</div>" if c.flink else ""
    examples = list(c.examples.values())
    more = _more(examples[1:])
    name = f"<b>{_text(c.label)}</b><br><span class=soft>{c.code}</span>"
    return (
        f'<tr id="{_anchor(c.label)}"><td>{name}</td><td>{number}</td><td>{"" if noted else alone}</td>'
        f'<td><div class="share">{bar}</div></td><td>{_help(c.help)}{flink}{_example(examples[0])}{more}</td></tr>'
    )


def _example(d: Diagnostic) -> str:
    return f'<div class="place">{_text(place(d))}{_text(d.message)}</div>'


def _more(others: Sequence[Diagnostic]) -> str:
    if not others:
        return ""
    items = "".join(f"<li>{_example(d)}</li>" for d in others)
    return f"<details><summary>{count(len(others), 'more script')}</summary><ul>{items}</ul></details>"


def _scripts(found: Sequence[Assessment]) -> str:
    rows = "".join(map(_script, sorted(found, key=lambda a: (list(_CLASS).index(a.verdict), a.path))))
    head = (
        "<tr><th>script</th><th></th><th>jobs</th><th>how rows come out, state, notes; or what keeps it out</th></tr>"
    )
    widths = "".join(f'<col style="width:{w}%">' for w in (30, 12, 6, 52))
    return f"<h2>Scripts</h2><table><colgroup>{widths}</colgroup>{head}{rows}</table>"


def _script(a: Assessment) -> str:
    lines: Iterable[str]
    if a.verdict == REFUSED:
        lines = dict.fromkeys(told(d).label for d in a.errors)
    else:
        slow = (f"no real-time mode: {why}" for why in a.realtime)
        lines = [*a.latency, *kept_by(a), *slow, *dict.fromkeys(d.message for d in a.findings)]
    before = f"<div class=soft>with -i {_text(' -i '.join(a.before))}</div>" if a.before else ""
    texts = "<br>".join((_link if a.verdict == REFUSED else _text)(line) for line in lines)
    tag = f'<span class="tag {_CLASS[a.verdict]}">{a.verdict}</span>'
    name = f"<code>{_text(a.path)}</code>{before}"
    return f"<tr><td>{name}</td><td>{tag}</td><td>{len(a.jobs)}</td><td>{texts}</td></tr>"
