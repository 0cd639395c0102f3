"""State by key that a newer flinkddl has written: refused with a word, and nothing of it is changed (FD528)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.support import elsewhere

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
ONE, FIVE = b"\x04\xac", b"\x08\xac"  # a method's end: return 1, return 5


def newer(folder: Path) -> Path:
    """Our jar as one of these days: groups are in layout 5."""
    kind = elsewhere.of_ours()["flinkddl/state/Kind.class"]
    assert kind.count(ONE) == 3  # maps(), inputs() and, last, layout()
    head, _, tail = kind.rpartition(ONE)
    return elsewhere.jar(folder, elsewhere.of_ours(Kind=head + FIVE + tail))


def test_a_layout_that_is_not_known(spark: SparkSession, tmp_path: Path) -> None:
    def bring(number: int, *keys: str) -> None:
        rows = ({"k": k, "v": number} for k in keys)
        (tmp_path / "bids" / f"{number}.json").write_text("\n".join(map(json.dumps, rows)))

    (tmp_path / "bids").mkdir()
    script = tmp_path / "job.sql"
    script.write_text(elsewhere.SCRIPT.format(root=tmp_path))
    bring(1, "a", "b")
    printed, _ = elsewhere.run(script, tmp_path / "state", ours=newer(tmp_path))
    assert elsewhere.shown(printed, "totals") == {"a": ["1", "1"], "b": ["1", "1"]}
    bring(2, "b", "c")
    options = {"checkpoint": str(tmp_path / "state"), "notice": lambda _: None}
    job = Catalog(spark, views=False).execute_all(script.read_text(), run=options)[-1].job
    assert job is not None
    with pytest.raises(FlinkDdlError, match=r"FD528\): a group .* is in layout 5, this version reads those up to 1"):
        job.await_input(180)
    job.stop()
    assert {p.name for p in (tmp_path / "state").rglob("commits/*") if p.name.isdigit()} == {"0"}
