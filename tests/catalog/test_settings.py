"""The keys of SET: what the table says of a key is what happens."""

from __future__ import annotations

from pathlib import Path

import pytest

import flinkddl
from flinkddl.catalog import settings
from flinkddl.diagnostics import Bag

COMPOSED = {"security.kerberos.login.principal", "security.kerberos.login.keytab"}  # by lower/kerberos.py


def test_every_mapped_key_is_read() -> None:
    """By a module that names it; a key that leaves one value to choose is checked by its SET."""
    code = "".join(p.read_text(encoding="utf-8") for p in Path(flinkddl.__file__).parent.rglob("*.py"))
    mapped = {s.key: s for s in settings.table().values() if s.use == "mapped" and len(s.choices) != 1}
    unread = [key for key in mapped if f'"{key}"' not in code and key not in COMPOSED]
    assert not unread


@pytest.mark.parametrize(
    ("key", "text", "codes"),
    [
        ("table.exec.sink.type-length-enforcer", "TRIM_PAD", ["FD332"]),
        ("table.column-expansion-strategy", "EXCLUDE_DEFAULT_VIRTUAL_METADATA_COLUMNS", ["FD330"]),
        ("table.sql-dialect", "hive", ["FD330"]),
        ("table.exec.emit.allow-lateness", "1 min", ["FD330"]),
        ("table.exec.emit.early-fire.enabled", "true", ["FD330"]),
        ("table.exec.emit.early-fire.enabled", "false", []),
        ("table.exec.emit.late-fire.enabled", "true", ["FD330"]),
        ("table.exec.emit.late-fire.enabled", "false", []),
        ("table.exec.sink.nested-constraint-enforcer", "IGNORE", []),
        ("table.exec.sink.nested-constraint-enforcer", "ROWS", ["FD330"]),
        ("table.exec.sort.default-limit", "-1", []),
        ("table.exec.sort.default-limit", "100", ["FD330"]),
        ("table.exec.mini-batch.size", "5000", ["FD332"]),
        ("execution.state-recovery.path", "/savepoints/1", ["FD332"]),
        ("python.files", "/a.py", ["FD332"]),
        ("parallelism.default", "4", []),
        ("restart-strategy.type", "fixed-delay", []),
        ("restart-strategy", "nonsense", ["FD330"]),
    ],
)
def test_a_value_that_cannot_be_had_is_refused_and_what_does_nothing_is_said(
    key: str, text: str, codes: list[str]
) -> None:
    bag = Bag()
    assert settings.check(key, text, None, None, bag) is ("FD330" not in codes)
    assert [d.code for d in bag] == codes
