"""Which tables a processing-time join takes: those whose connector looks up, by its own word, and bounded topics."""

from __future__ import annotations

import re

import pytest

from flinkddl.connectors import connector
from flinkddl.diagnostics import Bag, SourceText
from flinkddl.options import OptionText, ResolvedOptions, validate
from flinkddl.script.compile import compile_script

KAFKA = "'connector' = 'kafka', 'topic' = 'd', 'properties.bootstrap.servers' = 'b:1', 'format' = 'json'"
CASES = [
    ("jdbc", "'connector' = 'jdbc', 'url' = 'jdbc:derby:x', 'table-name' = 'd'", True, ""),
    ("filesystem", "'connector' = 'filesystem', 'path' = '/d', 'format' = 'csv'", False, "without FOR SYSTEM_TIME"),
    ("datagen", "'connector' = 'datagen', 'number-of-rows' = '3'", False, "without FOR SYSTEM_TIME"),
    ("kafka", f"{KAFKA}, 'scan.startup.mode' = 'earliest-offset'", False, "scan.bounded.mode"),
    ("kafka", f"{KAFKA}, 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'", True, ""),
]


def use(options: str) -> ResolvedOptions:
    """The options of a source, as they stand in its WITH clause."""
    given = {k: OptionText(v) for k, v in re.findall(r"'([^']+)' = '([^']*)'", options)}
    resolved = validate(given, "source", Bag())
    assert resolved is not None
    return resolved


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN"])
@pytest.mark.parametrize(
    ("name", "options", "takes", "help"), CASES, ids=["jdbc", "filesystem", "datagen", "kafka", "bounded-kafka"]
)
def test_lookup(name: str, options: str, takes: bool, help: str, join: str, mode: str) -> None:
    script = f"""SET 'execution.runtime-mode' = '{mode}';
        CREATE TABLE t (k STRING, pt AS PROCTIME()) WITH ('connector' = 'filesystem', 'path' = '/t', 'format' = 'csv');
        CREATE TABLE d (k STRING, n STRING) WITH ({options});
        SELECT t.k, d.n FROM t {join} d FOR SYSTEM_TIME AS OF t.pt ON t.k = d.k"""
    found = [d for d in compile_script(SourceText("t.sql", script)).diagnostics if d.severity == "error"]
    assert connector(name).lookup(use(options)) is takes
    unbounded = "kafka" in name and mode == "batch" and not takes  # is refused before it is joined
    assert [d.code for d in found] == ([] if takes else ["FD237" if unbounded else "FD510"])
    assert unbounded or all(help in str(d.help) and d.span is not None for d in found)
