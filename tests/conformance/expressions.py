"""Expression cases: every recorded statement through parser, planner, batch lowering and Spark, one session for all.

A case counts as passed when value and type are Flink's; whether the type is nullable is counted apart (``nullability``
lines, not failures). A statement that Flink refused or failed must be refused or fail here.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.catalog.settings import Settings
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.plan.builder.planner import plan_query
from flinkddl.plan.context import Context
from flinkddl.plan.scope import Session
from flinkddl.runtime.job.steps import perform
from flinkddl.spark.batch import lower
from flinkddl.spark.calls import calls_of
from flinkddl.spark.context import Lowering
from flinkddl.spark.job import Rows, Select
from flinkddl.sqltypes import Root
from tests.conformance.known import known
from tests.conformance.outcome import Outcome
from tests.conformance.values import duration
from tests.support.javatext import java_text
from tests.support.kernels import kernel_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flinkddl.sqltypes import DataType

SHARED = Path("tests/data/goldens/expressions")
nullability: Counter[str] = Counter()


class NoCatalog:
    """A catalog without tables."""

    def find(self, parts):
        return None

    def names(self):
        return ()

    def function(self, name):
        return None

    def at(self, catalog, database):
        return self


CHUNK = 24
_FAST = {
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def run(area: str, data: Path | None, only: Sequence[str], jobs: int) -> Iterator[Outcome]:
    """Yield one outcome per case of scalars.jsonl and aggregates.jsonl, with the reason where a difference is known."""
    for outcome in _run(data, only):
        found = None if outcome.status == "passed" else known(outcome.id)
        yield outcome if found is None else replace(outcome, reason=f"{found.name}: {found.reason}")


def _run(data: Path | None, only: Sequence[str]) -> Iterator[Outcome]:
    spark = kernel_session(**_FAST)
    folder = data or SHARED
    if (folder / "expressions").is_dir():
        folder = folder / "expressions"
    waiting: list[tuple[dict[str, Any], Prepared]] = []
    for case in _cases(folder, only):
        try:
            prepared = _prepare(case)
        except FlinkDdlError as e:
            wanted = case.get("error", case.get("value"))
            status = "passed" if "error" in case else "refused"
            yield Outcome(case["id"], status, wanted, str(e).splitlines()[0])
            continue
        except Exception as e:  # noqa: BLE001  # a crash of the planner is a failed case, whatever it is
            yield Outcome(case["id"], "failed", case.get("value"), f"planner: {type(e).__name__}: {e}")
            continue
        if "error" in case or prepared.text is None:
            yield _outcome(case, prepared, spark)
            continue
        waiting.append((case, prepared))
        if len(waiting) == CHUNK:
            yield from _together(waiting, spark)
            waiting = []
    yield from _together(waiting, spark)
    print(f"nullability of the type differs in {len(nullability)} cases: {', '.join(nullability)[:3000]}", flush=True)


def _cases(folder: Path, only: Sequence[str]) -> Iterator[dict[str, Any]]:
    for name in ("scalars", "aggregates"):
        file = folder / f"{name}.jsonl"
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            case = json.loads(line)
            if not only or any(case["id"].startswith(o) for o in only):
                yield case


def _together(cases: list[tuple[dict[str, Any], Prepared]], spark: Any) -> Iterator[Outcome]:
    """Run one-row cases as scalar subqueries of one statement; when it fails, by halves."""
    if len(cases) <= 1:
        for case, prepared in cases:
            yield _outcome(case, prepared, spark)
        return
    try:
        texts = ", ".join(f"({p.text}) AS r{i}" for i, (_, p) in enumerate(cases))
        row = spark.sql(f"SELECT {texts}").collect()[0]
    except Exception:  # noqa: BLE001  # the halves will say which case it was
        half = len(cases) // 2
        yield from _together(cases[:half], spark)
        yield from _together(cases[half:], spark)
        return
    for (case, prepared), value in zip(cases, row, strict=True):
        yield _compare(case, prepared.types, [[value]])


def _outcome(case: dict[str, Any], prepared: Prepared, spark: Any) -> Outcome:
    wanted = "error" if "error" in case else case.get("value", case.get("rows"))
    try:
        rows = _rows(prepared, spark)
    except Exception as e:  # noqa: BLE001  # whatever the engine throws is an answer to be compared
        text = f"{type(e).__name__}: {' '.join(str(e).split())[:400]}"
        return Outcome(case["id"], "passed" if "error" in case else "failed", wanted, text)
    return _compare(case, prepared.types, rows)


def _compare(case: dict[str, Any], types: list[tuple[str, DataType]], rows: list[list[Any]]) -> Outcome:
    if "error" in case:
        # NULL in a NOT NULL column fails Flink's job at the sink; here the sink checks it as well
        nulls = any(c is None and not t.nullable for row in rows for c, (_, t) in zip(row, types, strict=True))
        ok = case["error"][0] == "EnforcerException" and nulls
        return Outcome(case["id"], "passed" if ok else "failed", f"error {case['error']}", _shown(types, rows))
    expected_types = [case["type"]] if "type" in case else [t for _, t in case["columns"]]
    got_types = [_type(t) for _, t in types]
    values = [[_text(c, t) for c, (_, t) in zip(row, types, strict=True)] for row in rows]
    expected = [[case["value"]]] if "type" in case else [r[1:] for r in _final(case["rows"])]
    if "type" not in case and "ORDER BY" not in case["sql"].upper().rsplit(")", 1)[-1]:
        values, expected = sorted(values, key=json.dumps), sorted(expected, key=json.dumps)
    same_values = _same(values, expected)
    if same_values and [_bare(t) for t in got_types] == [_bare(t) for t in expected_types]:
        if got_types != expected_types:
            nullability[case["id"]] += 1
        return Outcome(case["id"], "passed")
    return Outcome(case["id"], "failed", f"{expected} {expected_types}", f"{values} {got_types}")


def _same(a: Any, b: Any) -> bool:
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def _final(rows: list[list[Any]]) -> list[list[Any]]:
    """The table that a changelog leaves."""
    kept: list[list[Any]] = []
    for row in rows:
        if row[0] in ("+I", "+U"):
            kept.append(row)
        else:
            match = next((k for k in kept if k[1:] == row[1:]), None)
            if match is not None:
                kept.remove(match)
    return kept


def _text(value: Any, t: DataType) -> Any:
    if value is not None and t.root is Root.INTERVAL_DAY_TIME:
        return duration(value)
    if value is not None and t.root is Root.INTERVAL_YEAR_MONTH:
        return f"P{value}M" if value else "P0D"
    return java_text(value, t)


def _bare(t: str) -> str:
    return t.replace(" NOT NULL", "")


def _type(t: DataType) -> str:
    return str(t)


def _shown(types: list[tuple[str, DataType]], rows: list[list[Any]]) -> str:
    return str([[_text(c, t) for c, (_, t) in zip(row, types, strict=True)] for row in rows])


@dataclass(frozen=True)
class Prepared:
    """A planned case: its columns, the steps, and one text where the steps are nothing but a projection of one row."""

    types: list[tuple[str, DataType]]
    steps: list[Any]
    last: str
    columns: list[str]
    text: str | None


def _prepare(case: dict[str, Any]) -> Prepared:
    source = SourceText("case", case["sql"])
    script = parse_script(source)
    if not script.ok:
        raise FlinkDdlError(script.diagnostics)
    streaming = case["mode"] == "streaming"
    planned = plan_query(script.statements[0].tree, Context(NoCatalog(), Session(case["zone"], streaming), source))
    ctx = Lowering(streaming=False, zone=case["zone"], config=Settings.of({"execution.runtime-mode": case["mode"]}))
    rel = lower(planned.node, ctx)
    # PySpark cannot collect year-month intervals: months as a number
    columns = [
        f"CAST(CAST({rel.sql(i)} AS INTERVAL MONTH) AS INT) AS c{i}"
        if f.type.root is Root.INTERVAL_YEAR_MONTH
        else f"{rel.sql(i)} AS c{i}"
        for i, f in enumerate(rel.fields)
    ]
    text = None
    if len(columns) == 1 and "type" in case and all(isinstance(s, Rows | Select) for s in ctx.steps):
        text = _nested(ctx.steps, columns[0])
    return Prepared([(f.name, f.type) for f in planned.columns], ctx.steps, rel.step, columns, text)


def _nested(steps: list[Any], column: str) -> str | None:
    text = steps[0].query if isinstance(steps[0], Rows) and "UNION ALL" not in steps[0].query else None
    for step in steps[1:]:
        if text is None or not isinstance(step, Select) or step.generator:
            return None
        text = f"SELECT {', '.join(f'{e} AS `{n}`' for n, e in step.columns)} FROM ({text})"
    return text and f"SELECT {column} FROM ({text})"


def _rows(prepared: Prepared, spark: Any) -> list[list[Any]]:
    if prepared.text is not None:
        return [list(r) for r in spark.sql(prepared.text).collect()]
    frames: dict[str, Any] = {}
    for step in prepared.steps:
        frames[step.name] = perform(calls_of(step), spark, frames)
    return [list(r) for r in frames[prepared.last].selectExpr(*prepared.columns).collect()]
