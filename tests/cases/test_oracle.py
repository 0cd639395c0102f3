"""The documents' blocks: ``--strict`` refuses what Flink 2.3 refuses, and for its reason; README names what we take."""

from __future__ import annotations

from pathlib import Path

import pytest

from flinkddl.diagnostics import Diagnostic, SourceText
from flinkddl.script.compile import compile_script
from tests.oracle.seeds import kept, statements, tables
from tests.support.seeds import NAMES, meant, seed

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
VERDICTS = {line["block"]: line for line in kept()}
# Flink's words -> our code of the refusal, and what README names where it is taken with a warning by default.
REASONS: dict[str, tuple[str, str | None]] = {
    "SQL parse failed": ("FD102", None),
    "The rowtime attribute field": ("FD307", None),
    "Invalid data type of time field for watermark": ("FD307", "FD473"),
    "Property group.id is required": ("FD220", "FD227"),
    "The query has an upsert key that differs": ("FD553", "append rows into upsert-kafka"),
}


def said(text: str, strict: bool) -> list[Diagnostic]:
    begin = "SET 'flinkddl.strict' = 'true';" if strict else ""
    return compile_script(SourceText("seed.sql", begin + text)).diagnostics


def errors(text: str, strict: bool) -> list[str]:
    """Return codes in the order of their places: the first is the reason, others may follow from it."""
    found = [d for d in said(text, strict) if d.severity == "error"]
    return [d.code for d in sorted(found, key=lambda d: d.span.start if d.span else 0)]


def cases() -> dict[str, tuple[str, str | None, bool]]:
    """Return a case -> its script, Flink's first reason against it, and whether the page has slips."""
    found: dict[str, tuple[str, str | None, bool]] = {}
    for name, line in VERDICTS.items():
        declared = tables(meant(name))
        for way, text in (("written", seed(name)), ("meant", meant(name))):
            reason = next((r for r in line[way] if r is not None), None)
            found[f"{name}-{way}"] = (text, reason, text != meant(name))
        for table, reason in line["read"].items():
            found[f"{name}-read-{table}"] = (f"{declared[table]};\nSELECT * FROM `{table}`", reason, False)
    return found


def expected(reason: str) -> tuple[str, str | None]:
    return next(v for k, v in REASONS.items() if reason.startswith(k))


CASES = cases()
each_case = pytest.mark.parametrize(("text", "reason", "slips"), CASES.values(), ids=CASES)


def test_every_statement_has_a_verdict() -> None:
    assert list(VERDICTS) == NAMES
    for name, line in VERDICTS.items():
        assert [len(line[w]) for w in ("written", "meant")] == [len(statements(t)) for t in (seed(name), meant(name))]


@each_case
def test_strict_agrees_with_flink(text: str, reason: str | None, slips: bool) -> None:
    assert not slips or reason is not None
    assert errors(text, strict=True)[:1] == ([] if reason is None else [expected(reason)[0]])


@each_case
def test_the_default_takes_what_readme_says(text: str, reason: str | None, slips: bool) -> None:
    if reason is None:
        assert said(text, strict=False) == []
        return
    assert (errors(text, strict=False) != []) is slips
    named = expected(reason)[1]
    if not slips:
        assert named is not None
        assert named in README[README.index("## What differs from Flink") :]
        assert named in {d.code for d in said(text, strict=False)} or not named.startswith("FD")
