"""Area ``validate``: tables declared, then used, without Spark. Which are accepted, and what a refusal names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl.catalog import Catalog, show
from flinkddl.catalog.apply import apply
from flinkddl.diagnostics import Diagnostic, FlinkDdlError, SourceText, strictly
from flinkddl.dialect import nodes
from flinkddl.dialect.script import parse_script
from flinkddl.options import registry
from flinkddl.plan import changelog
from flinkddl.plan.builder.hooks import context_of, hooks
from flinkddl.plan.builder.planner import plan_insert, plan_query
from flinkddl.plan.nodes import Sink
from tests.conformance.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flinkddl.plan.nodes import Node

GOLDENS = Path(__file__).parents[1] / "data" / "goldens" / "kafka"
PLACEHOLDERS = {
    "{topic_src0}": "source0",
    "{topic2}": "topic2",
    "{topic}": "topic",
    "{servers}": "localhost:9092",
    "{registry}": "http://localhost:8081",
    "{group}": "group",
}
STRICT = "SET 'flinkddl.strict' = 'true'"  # as `--strict`: refuse whatever Flink 2.3 refuses
_LISTS = re.compile(r"(Supported options|Available|Table options are|Expected one of|metadata keys for).*", re.DOTALL)


def run(area: str, data: Path | None, only: tuple[str, ...], jobs: int) -> Iterator[Outcome]:
    """Run every case, one after the other."""
    folder = data or GOLDENS
    path = folder / "validate.jsonl" if folder.is_dir() else folder
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if not only or any(case["id"].startswith(o) for o in only):
            yield outcome(case)


def outcome(case: dict[str, Any]) -> Outcome:
    """Run one case and compare: accepted or not, where it was refused, and what the refusal names."""
    expected = case.get("error")
    try:
        answer = _run(case)
    except FlinkDdlError as refused:
        got = [d for d in refused.diagnostics if d.severity == "error"]
        said = "; ".join(f"{d.code} {d.message} ({d.help})" for d in got)
        if expected is None:
            return Outcome(case["id"], "refused", "accepted", said)
        wanted = named(case)
        ours = set().union(*(_ours(d) for d in got))
        # A format is named by naming one of its options.
        same = not wanted or any(w in ours or any(o.startswith(f"{w}.") for o in ours) for w in wanted)
        status = "passed" if same else "failed"
        return Outcome(case["id"], status, f"a refusal that names one of {sorted(wanted)}: {_line(expected[1])}", said)
    except Exception as crash:  # noqa: BLE001  # a crash is a wrong answer, and the other cases still count
        return Outcome(case["id"], "failed", "no crash", f"{type(crash).__name__}: {crash}")
    if expected is not None:
        return Outcome(case["id"], "failed", f"refused at {case['at']}: {_line(expected[1])}", "accepted")
    if "answer" in case and answer is not None and _plain(case["answer"]) != answer:
        return Outcome(case["id"], "failed", case["answer"], answer)
    return Outcome(case["id"], "passed")


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def _plain(rows: list[list[Any]]) -> list[list[Any]]:
    return [row[1:] for row in rows]


# ---- running a case ----------------------------------------------------------------------------------------------


def _run(case: dict[str, Any]) -> list[list[Any]] | None:
    catalog = Catalog()
    mode = case.get("mode", "streaming")
    session = [f"SET {s}" for s in case.get("set", ())]
    sets = [STRICT, f"SET 'execution.runtime-mode' = '{mode}'", *session]
    for sql in (*sets, *case.get("before", ()), case["ddl"]):
        catalog, _ = _statement(catalog, sql)
    return _statement(catalog, case["use"])[1]


def _statement(catalog: Catalog, sql: str) -> tuple[Catalog, list[list[Any]] | None]:
    """Do what ``check`` does for one statement. Raises FlinkDdlError with every finding."""
    for name, value in PLACEHOLDERS.items():
        sql = sql.replace(name, value)
    source = SourceText("case.sql", sql)
    script = parse_script(source)
    _raise_errors(script.diagnostics)
    rows = None
    for statement in script.statements:
        tree, strict = statement.tree, catalog.settings.flinkddl_strict
        catalog, findings = apply(catalog, tree, source, hooks(source))
        _raise_errors(strictly([*statement.taken, *findings], strict))
        if isinstance(tree, nodes.Insert):
            _changelog(plan_insert(tree, context_of(catalog, source)), catalog)
        elif isinstance(tree, exp.Query):
            _changelog(plan_query(tree, context_of(catalog, source)).node, catalog)
        elif isinstance(tree, nodes.Show | nodes.Describe):
            rows = [list(row) for row in show.answer(catalog, tree, source, hooks(source)).rows]
    return catalog, rows


def _changelog(plan: Node, catalog: Catalog) -> None:
    """Infer the changelog modes of a plan, which refuses sinks that can not take them; batch mode has none."""
    if catalog.settings.batch:
        return
    if isinstance(plan, Sink):
        changelog.plan_sink(plan, catalog.settings)
    else:
        changelog.infer(plan)


def _raise_errors(findings: Sequence[Diagnostic]) -> None:
    if any(d.severity == "error" for d in findings):
        raise FlinkDdlError(findings)


# ---- what a refusal names ----------------------------------------------------------------------------------------


def named(case: dict[str, Any]) -> set[str]:
    """Return what Flink's messages name out of the case: options, and quoted words that stand in its statements.

    Lists of what exists do not count, nor do words of the message that happen to be the name of an option.
    """
    messages = [case["error"][1], *(message for _, message in case.get("chain", ()))]
    script = " ".join((*case.get("before", ()), case["ddl"], case["use"]))
    words = set(re.findall(r"[\w.{}-]+", script))
    dotted = {w for w in words | _declared() if "." in w or "-" in w}
    out: set[str] = set()
    for message in messages:
        text = _LISTS.sub("", message)
        out |= {name for name in dotted if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text)}
        out |= {name for name in re.findall(r"['`]([\w.-]+)['`]", text) if name in words}
    return out - _CONNECTORS


_CONNECTORS = {"kafka", "upsert-kafka"}


def _declared() -> set[str]:
    return {key for name in _CONNECTORS for key in registry.connector(name).options}


def _ours(d: Diagnostic) -> set[str]:
    """Return the words of one of our findings: its text, and the text it points at."""
    place = d.span.text if d.span else ""
    text = f"{d.message} {d.help or ''} {place}"
    return set(re.findall(r"[\w.`-]+", text)) | set(re.findall(r"'([^']+)'", text))
