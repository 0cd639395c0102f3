"""``flinkddl assess``: which scripts of a folder run, which run with notes, which are refused, and why."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flinkddl.cli.common import (
    OK,
    OUTSIDE_FAILED,
    WRONG_USAGE,
    add_script_arguments,
    count,
    exit_code,
    find_scripts,
    read_source,
    start_catalog,
)
from flinkddl.diagnostics import Diagnostic, FlinkDdlError, SourceText
from flinkddl.diagnostics.codes import title
from flinkddl.diagnostics.render import to_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from flinkddl.catalog.state import Catalog
    from flinkddl.script.compile import Compiled

RUNS, NOTES, REFUSED = "runs", "runs with notes", "refused"
UNDEFINED = "FD106"
_SHOWN = 4  # scripts named per reason


@dataclass(frozen=True)
class Assessment:
    """One script: its findings, and how many statements and jobs it holds."""

    path: str
    findings: tuple[Diagnostic, ...]
    statements: int
    jobs: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """``runs``, ``runs with notes`` or ``refused``."""
        if any(d.severity == "error" for d in self.findings):
            return REFUSED
        return NOTES if self.findings else RUNS

    @property
    def reasons(self) -> tuple[str, ...]:
        """The codes that make the verdict, each once, in the order of the script."""
        worst = [d for d in self.findings if d.severity == "error"] or self.findings
        return tuple(dict.fromkeys(d.code for d in worst))


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_script_arguments(parser, many=True)
    parser.add_argument("--json", metavar="FILE", help="write the whole assessment here as JSON (- for stdout)")


def run(args: argparse.Namespace) -> int:
    """Assess every script by itself; the exit code is 1 when one is refused, 3 when those could only not be read."""
    paths = find_scripts(args.scripts)
    if not paths:
        print("no .sql file is there", file=sys.stderr)
        return WRONG_USAGE
    found = [assess(path, dict(args.variables), start_catalog(args)) for path in paths]
    if args.json == "-":
        print(json.dumps(as_json(found), indent=2, ensure_ascii=False))
    else:
        print(table(found))
        if args.json and not _write(args.json, found):
            return OUTSIDE_FAILED
    refused = [d for a in found if a.verdict == REFUSED for d in a.findings if d.severity == "error"]
    return exit_code(FlinkDdlError(refused)) if refused else OK


def _write(path: str, found: list[Assessment]) -> bool:
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(as_json(found), file, indent=2, ensure_ascii=False)
    except OSError as error:
        print(f"cannot write '{path}': {error.strerror}", file=sys.stderr)
        return False
    print(f"\nall findings are in {path}")
    return True


def assess(path: str, variables: Mapping[str, str], catalog: Catalog | None = None) -> Assessment:
    """Assess one script. A variable without a value is a note: the script runs when it is given one."""
    from flinkddl.script.compile import Start, compile_script

    try:
        source = read_source(path)
        compiled = compile_script(source, catalog, variables)
        findings = compiled.diagnostics
        undefined = [d for d in findings if d.code == UNDEFINED]
        if undefined:
            compiled, findings = _with_placeholders(source, catalog, variables, undefined)
    except FlinkDdlError as error:
        return Assessment(path, error.diagnostics, 0, ())
    except Exception as error:  # noqa: BLE001 - one script that breaks us must not hide the others
        defect = Diagnostic("FD901", f"flinkddl failed on this script: {error!r}", help="please report it")
        return Assessment(path, (defect,), 0, ())
    jobs = tuple(a.job.name for a in compiled.actions if isinstance(a, Start))
    return Assessment(path, tuple(findings), compiled.statements, jobs)


def _with_placeholders(
    source: SourceText, catalog: Catalog | None, variables: Mapping[str, str], undefined: list[Diagnostic]
) -> tuple[Compiled, list[Diagnostic]]:
    from flinkddl.script.compile import compile_script

    names = [m.group(1) for d in undefined if (m := re.search(r"'([^']+)'", d.message))]
    compiled = compile_script(source, catalog, {**dict.fromkeys(names, "1"), **variables})
    notes = [replace(d, severity="note") for d in undefined]
    return compiled, [*notes, *compiled.diagnostics]


# ---- text --------------------------------------------------------------------------------------------------------


def table(found: list[Assessment]) -> str:
    """Return the table of the scripts, then the reasons with the scripts they concern."""
    width = max(len(a.path) for a in found)
    lines = [f"{'script':<{width}}  {'statements':>10}  {'jobs':>4}  verdict"]
    for a in found:
        why = f"  {', '.join(a.reasons)}" if a.reasons else ""
        lines.append(f"{a.path:<{width}}  {a.statements:>10}  {len(a.jobs):>4}  {a.verdict}{why}")
    for verdict, heading in ((REFUSED, "Refused because"), (NOTES, "Notes on scripts that run")):
        groups = reasons(found, verdict)
        if groups:
            lines += ["", f"{heading}:"]
            lines += [line for group in groups for line in _group_lines(group)]
    verdicts = Counter(a.verdict for a in found)
    lines += [
        "",
        f"{count(len(found), 'script')}: " + ", ".join(f"{verdicts[v]} {_words(v)}" for v in (RUNS, NOTES, REFUSED)),
    ]
    return "\n".join(lines)


def _words(verdict: str) -> str:
    return {RUNS: "run", NOTES: "run with notes", REFUSED: "refused"}[verdict]


def reasons(found: Iterable[Assessment], verdict: str) -> list[dict[str, Any]]:
    """Return the reasons of a verdict, the most frequent first: code, title, places, what to write instead."""
    groups: dict[str, list[tuple[Assessment, Diagnostic]]] = {}
    for a in found:
        if a.verdict == verdict:
            for d in a.findings:
                if d.code in a.reasons:
                    groups.setdefault(d.code, []).append((a, d))
    out = [
        {
            "code": code,
            "title": title(code),
            "scripts": list(dict.fromkeys(a.path for a, _ in members)),
            "findings": [to_json(d) | {"place": str(d.span or "")} for _, d in members],
        }
        for code, members in groups.items()
    ]
    return sorted(out, key=lambda g: (-len(g["scripts"]), g["code"]))


def _group_lines(group: dict[str, Any]) -> list[str]:
    scripts = group["scripts"]
    lines = [f"  {group['code']}  {group['title']}  ({count(len(scripts), 'script')})"]
    for f in group["findings"][:_SHOWN]:
        first, *more = (f.get("help") or "").split("\n")  # a statement that is proposed is for ``check`` and JSON
        lines.append(f"      {f['place']}: {f['message']}" + (f" ({first}{' ...' if more else ''})" if first else ""))
    more = len(group["findings"]) - _SHOWN
    return lines + ([f"      and {more} more"] if more > 0 else [])


# ---- JSON --------------------------------------------------------------------------------------------------------


def as_json(found: list[Assessment]) -> dict[str, Any]:
    """Return the assessment as plain JSON values."""
    return {
        "summary": {v: sum(a.verdict == v for a in found) for v in (RUNS, NOTES, REFUSED)},
        "scripts": [
            {
                "path": a.path,
                "verdict": a.verdict,
                "statements": a.statements,
                "jobs": list(a.jobs),
                "findings": [to_json(d) for d in a.findings],
            }
            for a in found
        ],
        "reasons": {v: reasons(found, v) for v in (REFUSED, NOTES)},
    }
