"""Another Spark than the one that the rule was made for: a job runs with aggregates and says so once (FD888)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support import elsewhere
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODE = "org/apache/spark/sql/streaming/TimeMode.class"
VERSION = "spark-version-info.properties"


def renamed() -> dict[str, bytes]:
    """A method that the rule calls has another name."""
    name, other = (b"\x01\x00\x09" + n for n in (b"EventTime", b"EventTimo"))  # a name among a class's constants
    whole = elsewhere.of_spark("spark-sql-api", MODE)
    assert whole.count(name) == 1
    return {MODE: whole.replace(name, other)}


def newer() -> dict[str, bytes]:
    """A version that nobody has tested."""
    whole = elsewhere.of_spark("spark-common-utils", VERSION)
    assert b"version=4.3." in whole
    return {VERSION: whole.replace(b"version=4.3.", b"version=4.9.")}


BUILDS = {
    "renamed": (renamed, "is another build: java.lang.NoSuchMethodError: "),
    "newer": (newer, "the operators by key were tested with Spark 4.3.x, this is 4.9.0"),
}


@pytest.mark.spark
@pytest.mark.parametrize("name", ["renamed", nightly("newer")])
def test_a_job_runs_with_aggregates(tmp_path: Path, name: str) -> None:
    made: Callable[[], dict[str, bytes]]
    made, why = BUILDS[name]
    (tmp_path / "bids").mkdir()
    rows = ({"k": "ab"[n % 2], "v": n // 2} for n in range(9))
    (tmp_path / "bids" / "1.json").write_text("\n".join(map(json.dumps, rows)))
    script = tmp_path / "job.sql"
    script.write_text(elsewhere.SCRIPT.format(root=tmp_path))
    first = elsewhere.jar(tmp_path, made())
    printed, said = elsewhere.run(script, tmp_path / "state", first=first)
    assert elsewhere.shown(printed, "totals") == {"a": ["5", "4"], "b": ["4", "3"]}
    (line,) = elsewhere.lines(said, "FD888")
    assert "FD888: state is kept by aggregates: " in line
    assert why in line
    operators = b"".join(p.read_bytes() for p in (tmp_path / "state").rglob("_metadata/**/*") if p.is_file())
    assert b"stateStoreSave" in operators
    assert b"transformWithState" not in operators
