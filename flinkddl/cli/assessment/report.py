"""An assessment as text and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from flinkddl.cli.assessment.causes import KINDS, causes, notes, steps
from flinkddl.cli.assessment.judge import NOTES, REFUSED, RUNS
from flinkddl.cli.common import count
from flinkddl.diagnostics.render import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flinkddl.cli.assessment.causes import Cause, Step
    from flinkddl.cli.assessment.judge import Assessment
    from flinkddl.diagnostics import Diagnostic

SHOWN = 4  # scripts named per cause in the text
_VERDICTS = {RUNS: "run", NOTES: "run with notes", REFUSED: "refused"}


def summary(found: Sequence[Assessment]) -> str:
    """Return how many scripts there are, and how many run."""
    verdicts = Counter(a.verdict for a in found)
    return f"{count(len(found), 'script')}: " + ", ".join(f"{verdicts[v]} {words}" for v, words in _VERDICTS.items())


def weight(cause: Cause) -> str:
    """Return how many scripts a cause keeps out: ``19 scripts, 8 by it alone``."""
    return f"{count(len(cause.scripts), 'script')}, {len(cause.alone)} by it alone"


def gain(step: Step, total: int) -> str:
    """Return what an action brings."""
    more = f"then {step.freed} more run" if step.freed else "none runs by that yet"
    return f"{more}: {step.running} of {total}"


def kept_by(a: Assessment) -> tuple[str, ...]:
    """Return what the jobs of a script keep; of one without jobs what it declares."""
    return a.state or (("no state",) if a.jobs else (f"declares {count(len(a.declares), 'table')}",))


def place(d: Diagnostic) -> str:
    """Return the place of a finding as text."""
    return f"{d.span}: " if d.span else ""


def text(found: Sequence[Assessment]) -> str:
    """Return the report as text: what to do next, the causes, then the scripts that run."""
    lines = [summary(found)]
    todo = steps(found)
    if todo:
        lines += ["", "Next:"]
        for i, step in enumerate(todo, 1):
            lines.append(f"  {i}. {step.cause.label}  ({weight(step.cause)}; {gain(step, len(found))})")
            lines.append(f"       {step.cause.help}")
    grouped = causes(found)
    for kind, heading in KINDS.items():
        of_kind = [c for c in grouped if c.kind == kind]
        lines += _section(f"{heading}:", of_kind)
    lines += _section("Notes on scripts that run:", notes(found), noted=True)
    return "\n".join([*lines, *_running(found), "", summary(found)])


def _section(heading: str, grouped: Sequence[Cause], *, noted: bool = False) -> Iterator[str]:
    if not grouped:
        return
    yield from ("", heading)
    for c in grouped:
        yield f"  {c.label}  {count(len(c.scripts), 'script') if noted else weight(c)}  ({c.code})"
        said = ""
        for d in list(c.examples.values())[:SHOWN]:
            yield f"      {d.span}: the same" if d.span and d.message == said else f"      {place(d)}{d.message}"
            said = d.message
        if len(c.scripts) > SHOWN:
            yield f"      and {len(c.scripts) - SHOWN} more"
        if c.flink:
            yield f"      Flink: {c.flink}"
        yield f"      -> {c.help}"


def _running(found: Sequence[Assessment]) -> Iterator[str]:
    running = [a for a in found if a.verdict != REFUSED]
    if not running:
        return
    width = max(len(a.path) for a in running)
    yield from (
        "",
        "Scripts that run:",
        f"  {'script':<{width}}  {'statements':>10}  {'jobs':>4}  rows come out in; what is kept",
    )
    for a in running:
        kept = "; ".join((*a.latency, *kept_by(a)))
        before = f"  [with -i {' -i '.join(a.before)}]" if a.before else ""
        yield f"  {a.path:<{width}}  {a.statements:>10}  {len(a.jobs):>4}  {kept}{before}"


# ---- JSON ----------------------------------------------------------------------------------------------------------


def as_json(found: Sequence[Assessment]) -> dict[str, Any]:
    """Return the assessment as plain JSON values."""
    return {
        "summary": {v: sum(a.verdict == v for a in found) for v in _VERDICTS},
        "next": [
            {"cause": s.cause.label, "kind": s.cause.kind, "help": s.cause.help, "more_run": s.freed, "run": s.running}
            for s in steps(found)
        ],
        "causes": [_cause(c) for c in causes(found)],
        "notes": [_cause(c) for c in notes(found)],
        "scripts": [_script(a) for a in found],
    }


def _cause(c: Cause) -> dict[str, Any]:
    return {
        "kind": c.kind,
        "cause": c.label,
        "code": c.code,
        "help": c.help,
        **({"flink": c.flink} if c.flink else {}),
        "scripts": list(c.scripts),
        "alone": list(c.alone),
        "examples": [to_json(d) | {"place": str(d.span or "")} for d in c.examples.values()],
    }


def _script(a: Assessment) -> dict[str, Any]:
    return {
        "path": a.path,
        "verdict": a.verdict,
        "statements": a.statements,
        "jobs": list(a.jobs),
        "latency": list(a.latency),
        "no_realtime": list(a.realtime),
        "state": list(a.state),
        "before": list(a.before),
        "findings": [to_json(d) for d in a.findings],
    }
