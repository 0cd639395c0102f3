"""A Python function whose module is not on the workers is said by the module's name; ``--py-files`` sends it along."""

from __future__ import annotations

import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.session.sessions import ship

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE g (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3', 'fields.id.kind' = 'sequence',
  'fields.id.start' = '1', 'fields.id.end' = '3');
CREATE FUNCTION twice AS '{module}.twice' LANGUAGE PYTHON;
SELECT twice(id) AS d FROM g;
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that this process can import, and its workers cannot: they were started without its folder."""
    made = tmp_path / f"acme_{uuid.uuid4().hex[:8]}.py"
    made.write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    return made


def run(spark: SparkSession, module: Path) -> list[tuple[Any, ...]]:
    catalog = Catalog(spark, views=False, allow_python=[module.stem])
    rows = catalog.execute(SQL.format(module=module.stem)).collect()
    return sorted(tuple(row) for row in rows)


@pytest.mark.spark
def test_the_missing_module_is_named_and_can_be_sent_along(spark: SparkSession, module: Path) -> None:
    with pytest.raises(FlinkDdlError) as raised:
        run(spark, module)
    (found,) = raised.value.diagnostics
    assert found.code == "FD829"
    assert found.message.endswith(f"the Python module '{module.stem}' is not on Spark's workers")
    assert "--py-files" in str(found.help)
    ship(spark, [str(module)])
    assert run(spark, module) == [(2,), (4,), (6,)]


@pytest.mark.spark
@pytest.mark.slow
def test_the_command_line_sends_modules_along(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/acme_rules.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    (tmp_path / "job.sql").write_text(SQL.format(module="acme_rules"))
    command = [sys.executable, "-m", "flinkddl", "run", "job.sql", "--allow-python", "acme_rules", "--py-files"]
    command += ["lib/acme_rules.py", "--conf", "spark.driver.memory=600m", "--master", "local[1]"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"2", "4", "6"} <= set(done.stdout.replace("|", " ").split())
