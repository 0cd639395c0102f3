"""Families of cases around answers that were once wrong: goldens ``beside``, many of them in one query of Spark.

A scalar case holds an expression and the rows it is asked of; expressions over the same rows are one SELECT. What
Flink refuses or fails must be refused or fail here, alone. A case of tables holds a statement over ``t`` and ``w``:
those with equal columns are one UNION ALL.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from tests.conformance.expressions import Prepared, _bare, _prepare, _rows, _text
from tests.conformance.values import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from flinkddl.api import Catalog

GOLDENS = Path("tests/data/goldens/beside")
WIDTH = 60  # expressions a query
Case = dict[str, Any]


def cases(name: str) -> list[Case]:
    """Return the lines of one file."""
    return [json.loads(line) for line in (GOLDENS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


# ---- expressions -------------------------------------------------------------------------------------------------


def scalars(name: str, spark: SparkSession) -> Iterator[tuple[str, str]]:
    """Yield id and difference of each scalar case that does not come out as Flink's."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases(name):
        try:
            prepared = _planned([case])
        except FlinkDdlError as refusal:
            if "error" not in case:
                yield case["id"], f"refused: {str(refusal).splitlines()[0]}"
            continue
        if "error" not in case:
            groups[case.get("from", "")].append(case)
        elif (answer := _answer(prepared, spark)) is not None:
            yield case["id"], f"answers {answer} where Flink has {case['error']}"
    for group in groups.values():
        for first in range(0, len(group), WIDTH):
            yield from _compared(group[first : first + WIDTH], spark)


def _planned(cases: Sequence[Case]) -> Prepared:
    exprs = ", ".join(f"{c['expr']} AS x{i}" for i, c in enumerate(cases))
    source = f" FROM {cases[0]['from']}" if "from" in cases[0] else ""
    return _prepare({"sql": f"SELECT {exprs}{source}", "mode": "batch", "zone": "UTC"})


def _answer(prepared: Prepared, spark: SparkSession) -> list[list[Any]] | None:
    try:
        return _rows(prepared, spark)
    except Exception:  # noqa: BLE001  # whatever the engine throws: Flink's job fails as well
        return None


def _compared(cases: Sequence[Case], spark: SparkSession) -> Iterator[tuple[str, str]]:
    prepared = _planned(cases)
    rows = _answer(prepared, spark)
    if rows is None:
        if len(cases) == 1:
            yield cases[0]["id"], "the job fails"
            return
        half = len(cases) // 2
        yield from _compared(cases[:half], spark)
        yield from _compared(cases[half:], spark)
        return
    for i, (case, (_, t)) in enumerate(zip(cases, prepared.types, strict=True)):
        got = [_text(row[i], t) for row in rows]
        ordered = case["expr"].startswith("JSON")
        if (got if ordered else sorted(got, key=_null_last)) != case["values"] or _bare(str(t)) != _bare(case["type"]):
            yield case["id"], f"{case['type']} {case['values']}, here {t} {got}"


def _null_last(value: Any) -> tuple[bool, str]:
    return value is None, json.dumps(value)


# ---- statements over tables --------------------------------------------------------------------------------------


def tables(asked: Sequence[Case], catalog: Catalog, mode: str) -> Iterator[tuple[str, str]]:
    """Yield id and difference of each case that does not come out as Flink's. Every case is of the one mode."""
    catalog.execute(f"SET 'execution.runtime-mode' = '{mode}'")
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in asked:
        try:
            planned = catalog.execute(case["sql"])
            columns = [[f.name, _bare(str(f.type))] for f in planned.fields]
        except FlinkDdlError as refusal:
            if "error" not in case:
                yield case["id"], f"refused: {str(refusal).splitlines()[0]}"
            continue
        if "error" in case:
            if (difference := _failing(planned, case["error"])) is not None:
                yield case["id"], difference
        elif columns != [[n, _bare(t).replace(" *ROWTIME*", "")] for n, t in case["columns"]]:
            yield case["id"], f"columns {case['columns']}, here {columns}"
        else:
            groups[f"{planned.changelog} {[t for _, t in case['columns']]}"].append(case)
    for group in groups.values():
        yield from _together(group, catalog)


def _failing(planned: Any, error: list[str]) -> str | None:
    """Run what Flink fails at; only a message about the same thing will do."""
    try:
        return f"answers {planned.collect()} where Flink has {error}"
    except Exception as failure:  # noqa: BLE001  # whatever the engine throws is an answer to be compared
        about = error[1].split()[0]  # Flink's own word: RowTime, rowtimeIndex
        same = about.lower()[:7] in str(failure).lower()
        return None if same else f"fails with {str(failure)[:300]} where Flink has {error}"


def _together(cases: Sequence[Case], catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Compare cases of equal columns, all in one query; when it fails, by halves."""
    parts = (f"SELECT '{c['id']}' AS id, q.* FROM ({c['sql']}) AS q" for c in cases)
    found: dict[str, list[list[Any]]] = {c["id"]: [] for c in cases}
    try:
        result = catalog.execute(" UNION ALL ".join(parts))
        rows = result.collect()
    except Exception as failure:  # noqa: BLE001  # whatever the engine throws; the halves will say which case it was
        half = len(cases) // 2
        if not half:
            yield cases[0]["id"], f"fails with {' '.join(str(failure).split())[:300]}"
            return
        yield from _together(cases[:half], catalog)
        yield from _together(cases[half:], catalog)
        return
    for row in rows:
        id, *cells = (show(v, f.type) for v, f in zip(row, result.fields, strict=True))
        found[id.strip()].append(cells)
    for case in cases:
        got = sorted(found[case["id"]], key=json.dumps)
        if got != case["final"]:
            missing = [r for r in case["final"] if r not in got]
            yield case["id"], f"rows {missing} of {case['final']}, here {got}"
