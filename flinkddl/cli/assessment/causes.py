"""Findings grouped by cause: what one must write, give or replace so that scripts run, and what Flink would say."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.cli.assessment.judge import NOTES, REFUSED, Assessment
from flinkddl.cli.differences import CODES
from flinkddl.diagnostics.codes import title
from flinkddl.diagnostics.kinds import (
    DIALECT,
    MISSPELLED,
    NO_TYPE,
    NO_UTF8,
    NOT_AVAILABLE,
    OF_USER,
    OLD_STYLE,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flinkddl.diagnostics import Diagnostic

NOT_HERE, ELSEWHERE, WRONG, UNREADABLE = "not here", "declared elsewhere", "wrong in Flink too", "not read"
KINDS = {
    NOT_HERE: "Not here: Flink takes it, flinkddl does not",
    ELSEWHERE: "Declared elsewhere: not in these scripts, nor in those of -i",
    WRONG: "Wrong in Flink too",
    UNREADABLE: "Not read",
}


@dataclass(frozen=True)
class Rule:
    """How findings of a code are told: kind, label and Flink's words, with the name that the finding is about.

    A finding that does not say its name in a value has it between quotes, or where ``name`` finds it.
    """

    kind: str
    label: str = ""
    flink: str = ""
    name: str = "'([^']*)'"
    help: str = ""


_FACTORY = (
    "Could not find any factory for identifier '{}' that implements"
    " 'org.apache.flink.table.factories.{}' in the classpath."
)
_MODERNIZE = "`flinkddl modernize` shows their scripts in today's words, and with --write it rewrites them"
_GIVE = "write its CREATE TABLE into a script, and give that with -i"
_NO_FUNCTION = "No match found for function signature {}(...)"
_RULES: Mapping[str, Mapping[str, Rule]] = {
    # code -> what the finding is about (``About.kind``) -> how it is told; "" is every other one
    "FD202": {
        MISSPELLED: Rule(WRONG, "connector '{}'", _FACTORY.format("{}", "DynamicTableFactory")),
        "": Rule(NOT_HERE, "connector '{}'"),
    },
    "FD203": {
        OLD_STYLE: Rule(NOT_HERE, "options of the style 'connector.type', before Flink 1.11", help=_MODERNIZE),
        "": Rule(NOT_HERE, "connector '{}'"),
    },
    "FD212": {"": Rule(WRONG, "unknown option '{}'", "Unsupported options found. Unsupported options: {}")},
    "FD214": {"": Rule(WRONG, "format '{}'", _FACTORY.format("{}", "DeserializationFormatFactory"))},
    "FD215": {"": Rule(NOT_HERE, "format '{}'")},
    "FD224": {"": Rule(NOT_HERE)},
    "FD301": {
        "": Rule(
            ELSEWHERE,
            "catalog '{}'",
            "Object '{0}' not found; USE CATALOG: A catalog with name [{0}] does not exist.",
        )
    },
    "FD302": {
        "": Rule(
            ELSEWHERE,
            "database '{}'",
            "A database with name [{}] does not exist in the catalog.",
            r"'(?:[^'.]*\.)?([^']*)'",
        )
    },
    "FD303": {"": Rule(ELSEWHERE, "table '{}'", "Table or view '{}' does not exist.")},
    "FD312": {NO_TYPE: Rule(WRONG, "catalogs without a 'type'"), "": Rule(NOT_HERE, "catalog of type '{}'")},
    "FD316": {"": Rule(NOT_HERE, "{}", name="^(.*) (?:is|are) not available")},
    "FD320": {"": Rule(ELSEWHERE, "jar '{}'", "Could not register the specified resource [...]")},
    "FD330": {
        DIALECT: Rule(NOT_HERE, "Hive's dialect"),
        NOT_AVAILABLE: Rule(NOT_HERE, "SET '{}'"),
        "": Rule(WRONG, flink="Could not parse value for key '{}'."),
    },
    "FD400": {
        MISSPELLED: Rule(WRONG, "function {}", _NO_FUNCTION),
        "": Rule(ELSEWHERE, "--udf {}", _NO_FUNCTION),
    },
    "FD402": {OF_USER: Rule(NOT_HERE, "--udf {}"), "": Rule(NOT_HERE, "function {}")},
    "FD450": {"": Rule(WRONG, flink="Column '{}' not found in any table", name="(?:column|field) '([^']*)'")},
    "FD452": {
        MISSPELLED: Rule(WRONG, "table '{}'", "Object '{}' not found"),
        "": Rule(ELSEWHERE, "table '{}'", "Object '{}' not found", help=_GIVE),
    },
    "FD517": {"": Rule(ELSEWHERE, "table function {}", _NO_FUNCTION)},
    "FD519": {"": Rule(ELSEWHERE, "jar '{}'", "Failed to register resource '[...]' of function '...'.")},
    "FD520": {"": Rule(NOT_HERE, "--udf {}")},
    "FD801": {
        NO_UTF8: Rule(UNREADABLE, "text that is no UTF-8"),
        "": Rule(UNREADABLE, "files that cannot be read"),
    },
}
_HERE_ONLY = frozenset(CODES) | {
    *("FD117", "FD118", "FD119", "FD120", "FD248", "FD249", "FD316", "FD319"),
    *("FD476", "FD485", "FD504", "FD507", "FD515", "FD523", "FD524", "FD527"),
}
_ENCOUNTERED = "SQL parse failed. Encountered ... Was expecting one of: ..."
_SINK = "Column types of query result and sink for '{}' do not match. Cause: "
_FLINK = {
    **dict.fromkeys(("FD101", "FD102", "FD103", "FD107", "FD108"), _ENCOUNTERED),
    "FD201": "Table options do not contain an option key 'connector' for discovering a connector.",
    "FD204": "Connector '{}' can only be used as a sink, or as a source.",
    "FD210": "One or more required options are missing.",
    "FD213": "Could not find required scan format '{}'.",
    "FD304": "Table (or view) {} already exists in Catalog ...",
    "FD306": "Primary key column ... is not defined in the schema; or ENFORCED, which Flink doesn't support.",
    "FD307": "Invalid data type of time field for watermark definition.",
    "FD308": "The columns in the table are both from the same metadata key.",
    "FD401": "Cannot apply '{}' to arguments of type '{}(...)'. Supported form(s): ...",
    "FD405": "Cast function cannot convert value of type ... to type ...",
    "FD408": "OVER must be applied to aggregate function",
    "FD451": "Column '{}' is ambiguous",
    "FD454": "Expression '{}' is not being grouped",
    "FD457": "WHERE clause must be a condition",
    "FD480": _SINK + "Different number of columns.",
    "FD481": "Column types of query result and sink do not match. Cause: Incompatible types for sink column '{}'.",
    "FD482": "Unknown target column '{}'",
    "FD486": "Sink '{}' does not exists",
    "FD550": "... doesn't support consuming update changes which is produced by node ...",
    "FD501": "The window function requires the timecol to be a time attribute type.",
    "FD508": "Sort on a non-time-attribute field is not supported.",
}
"""What Flink 2.3 says of the same, as it was asked (``shared/oracle``); ``{}`` is the name that our message quotes."""
_BY_FAMILY = {"FD6": NOT_HERE, "FD8": UNREADABLE, "FD9": NOT_HERE}


@dataclass(frozen=True, eq=False)
class Cause:
    """What keeps scripts out, and which: ``alone`` are those that nothing else keeps out; a finding a script."""

    kind: str
    label: str
    code: str
    flink: str
    help: str
    examples: dict[str, Diagnostic]
    alone: tuple[str, ...] = ()

    @property
    def scripts(self) -> tuple[str, ...]:
        """The scripts that it keeps out."""
        return tuple(self.examples)


@dataclass(frozen=True)
class Step:
    """An action in its order: the cause that is taken away, the scripts that run then, and how many do in all."""

    cause: Cause
    freed: int
    running: int


@dataclass(frozen=True)
class Told:
    """What a finding comes to: its kind, the label of its cause, Flink's words, and help where it has none itself."""

    kind: str
    label: str
    flink: str
    help: str


def told(d: Diagnostic) -> Told:
    """Return what a finding comes to: the help of a rule is for all findings of its cause, and goes before theirs."""
    rules = _RULES.get(d.code) or {"": Rule(_kind(d.code), flink=_FLINK.get(d.code, ""))}
    rule = rules.get(d.about.kind) or rules[""]
    found = re.search(rule.name, d.message)
    name = d.about.name or (found[1] if found else "")
    flink = rule.flink.replace("{}", "{0}").format(name) if rule.kind != NOT_HERE else ""
    page = f"`flinkddl error {d.code}` says {'what to write instead' if d.severity == 'error' else 'more'}"
    help = rule.help or d.help or page
    first, *more = help.split("\n")  # a statement that is proposed is for ``check``
    return Told(rule.kind, rule.label.format(name) or title(d.code), flink, f"{first} ..." if more else first)


def _kind(code: str) -> str:
    return NOT_HERE if code in _HERE_ONLY else _BY_FAMILY.get(code[:3], WRONG)


def causes(found: Iterable[Assessment], verdict: str = REFUSED) -> list[Cause]:
    """Return the causes of a verdict, those that keep the most scripts out first."""
    groups: dict[str, Cause] = {}
    of_script: dict[str, set[str]] = {}
    for a in found:
        if a.verdict != verdict:
            continue
        for d in a.errors or a.findings:
            t = told(d)
            cause = groups.setdefault(t.label, Cause(t.kind, t.label, d.code, t.flink, t.help, {}))
            if (
                t.kind == NOT_HERE and cause.kind != NOT_HERE
            ):  # a function that some scripts declare and others just call
                groups[t.label] = cause = replace(cause, kind=t.kind, code=d.code, flink="", help=t.help)
            cause.examples.setdefault(a.path, d)
            of_script.setdefault(a.path, set()).add(t.label)
    out = []
    for label, cause in groups.items():
        alone = tuple(path for path in cause.scripts if of_script[path] == {label})
        out.append(replace(cause, alone=alone))
    return sorted(out, key=lambda c: (-len(c.scripts), -len(c.alone), c.label))


def notes(found: Iterable[Assessment]) -> list[Cause]:
    """Return what is said of scripts that run."""
    return causes(found, NOTES)


def steps(found: Sequence[Assessment], most: int = 3) -> list[Step]:
    """Return what to do next: each time what lets the most scripts run, once the things before it are done.

    What Flink refuses too does not run there either: that comes last.
    """
    left = causes(found)
    closed: dict[str, set[Cause]] = {}
    for c in left:
        for path in c.scripts:
            closed.setdefault(path, set()).add(c)
    running = sum(a.verdict != REFUSED for a in found)
    out: list[Step] = []

    def freed(c: Cause) -> int:
        return sum(closed[path] == {c} for path in c.scripts)

    while left and len(out) < most:
        best = max(left, key=lambda c: (c.kind in (NOT_HERE, ELSEWHERE), freed(c), len(c.scripts)))
        running += freed(best)
        out.append(Step(best, freed(best), running))
        left.remove(best)
        for path in best.scripts:
            closed[path].discard(best)
    return out
