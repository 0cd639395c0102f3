"""Families of cases around answers that were once wrong: goldens ``beside``, many of them in one query of Spark.

A scalar case holds an expression and the rows it is asked of; expressions over the same rows are one SELECT. What
Flink refuses or fails must be refused or fail here, alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from tests.conformance.expressions import Prepared, _bare, _prepare, _rows, _text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

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
        if sorted(got, key=_null_last) != case["values"] or _bare(str(t)) != _bare(case["type"]):
            yield case["id"], f"{case['type']} {case['values']}, here {t} {got}"


def _null_last(value: Any) -> tuple[bool, str]:
    return value is None, json.dumps(value)
