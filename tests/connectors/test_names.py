"""Nothing outside a connector's folder decides by its name: others ask its record, its options and its steps."""

from __future__ import annotations

import ast
from pathlib import Path

import flinkddl
from flinkddl.options import installed

ROOT = Path(flinkddl.__file__).parent
# a file and the names that stay in it, with the reason
STAY = {("options/installed.py", name): "the rows that register our own" for name in installed.CONNECTORS} | {
    **{
        ("options/legacy_names.py", name): "what Flink 1.10 called its connectors: history, and one table of it"
        for name in ("filesystem", "jdbc", "kafka", "upsert-kafka")
    },
    ("spark/job.py", "kafka"): "the name of Spark's own data source, once for all",
    ("runtime/doctor.py", "kafka"): "the title of a finding",
    ("runtime/kafka/admin.py", "kafka"): "the logger of the package kafka-python",
}


def test_no_name_of_a_connector_stands_outside_its_folder() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), node.value)
        for path in ROOT.rglob("*.py")
        if "connectors" not in path.relative_to(ROOT).parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in installed.CONNECTORS
    }
    assert found == set(STAY)
