"""The keys of SET: what the table says of a key is what happens."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Literal, get_type_hints

import pytest

import flinkddl
from flinkddl.catalog import settings
from flinkddl.catalog.settings import Settings
from flinkddl.diagnostics import Bag, SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.dataflow import as_json, flow_of
from flinkddl.show.print_json import print_json

ROOT = Path(flinkddl.__file__).parent

ATTRIBUTES = {f.name: f.default for f in fields(Settings) if f.name != "as_written"}
READ = {s.key: s for s in settings.table().values() if s.use == "mapped" and len(s.choices) != 1}
TYPES = {
    "string": str,
    "bool": bool,
    "int": int,
    "long": int,
    "double": float,
    "duration": int,
    "map": Mapping[str, str],
}
TOLD_APART = {"execution.runtime-mode", "table.exec.sink.require-on-conflict"}  # not SET is no value of theirs
KEEPERS = {  # what may look at the texts: it shows or keeps them, or says which keys are written
    "catalog/settings.py", "catalog/state.py", "catalog/session.py", "catalog/show.py", "script/planfile.py",
    "spark/restarts.py",
}  # fmt: skip


@cache
def trees() -> dict[str, ast.Module]:
    """The package's files, read; not while tests are collected, which each worker does."""
    return {
        p.relative_to(ROOT).as_posix(): ast.parse(p.read_text(encoding="utf-8")) for p in sorted(ROOT.rglob("*.py"))
    }


@pytest.mark.parametrize("key", READ)
def test_an_attribute_is_as_the_table_says(key: str) -> None:
    said, hint = READ[key], get_type_hints(Settings, localns={"Mapping": Mapping})[READ[key].attribute]
    default = None if key in TOLD_APART else said.default
    assert ATTRIBUTES[said.attribute] == default
    assert type(ATTRIBUTES[said.attribute]) is type(default)
    plain = Literal[said.choices] if said.kind == "enum" else TYPES[said.kind]
    assert hint == (plain | None if default is None else plain)


def test_what_changes_nothing_has_no_attribute() -> None:
    assert set(ATTRIBUTES) == {s.attribute for s in READ.values()}


def test_every_mapped_key_is_read() -> None:
    """By code that takes its attribute, or its entry in a table of keys; a key of one value is checked by its SET."""
    nodes = [n for name, tree in trees().items() if name != "catalog/settings.py" for n in ast.walk(tree)]
    taken = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    own = {k for n in ast.walk(trees()["catalog/settings.py"]) if isinstance(n, ast.Attribute) for k in [n.attr]}
    of_key = {n.value for n in ast.walk(trees()["spark/restarts.py"]) if isinstance(n, ast.Constant)}
    assert not [s.key for s in READ.values() if s.attribute not in taken | own and s.key not in of_key]


def raw_reads(tree: ast.AST) -> list[int]:
    """Lines that read a session's texts, or a value by its key: ``.as_written``, ``.of_key``, ``x["<key>"]``."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("as_written", "of_key"):
            found.append(node.lineno)
        of = node.slice if isinstance(node, ast.Subscript) else None
        of = node.args[0] if isinstance(node, ast.Call) and node.args else of
        if isinstance(of, ast.Constant) and isinstance(of.value, str) and of.value in settings.table():
            found.append(node.lineno)
    return found


def test_no_text_decides() -> None:
    """The lint rule: a value is an attribute, which mypy knows; texts and keys are read where they are kept."""
    found = {f"{name}:{line}" for name, tree in trees().items() if name not in KEEPERS for line in raw_reads(tree)}
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "x.settings.as_written",
        'config.get("pipeline.name")',
        'config["security.keytab"]',
        'catalog.setting("flinkddl.strict")',
        'config.of_key("a")',
    ],
)
def test_the_rule_sees(line: str) -> None:
    assert raw_reads(ast.parse(line)) == [1]


def test_mypy_sees_a_typo(tmp_path: Path) -> None:
    from mypy import api

    script = tmp_path / "typo.py"
    script.write_text(
        "from flinkddl.catalog.settings import Settings\n"
        "def f(s: Settings) -> object:\n"
        "    return s.flinkddl_strct\n"
        "def g(s: Settings) -> bool:\n"
        '    return s.flinkddl_join_strategy == "bilinear"\n'
    )
    said, _, _ = api.run(["--strict", "--no-incremental", "--follow-imports=silent", str(script)])
    assert 'typo.py:3: error: "Settings" has no attribute "flinkddl_strct"' in said
    assert "typo.py:5: error: Non-overlapping equality check" in said


# ---- names and spellings ------------------------------------------------------------------------------------------

SAMPLES = {"string": ("x", "x"), "bool": ("TRUE", True), "int": ("+3", 3), "long": ("+3", 3), "double": ("2.5d", 2.5)}
SAMPLES |= {"duration": ("1 H", 3_600_000), "map": ("a:1", {"a": "1"})}
EITHER = {"false": ("False", False), "true": ("TRUE", True)}


def after(*statements: str) -> Settings:
    found = compile_script(SourceText("s.sql", ";\n".join(statements)))
    assert not found.has_errors
    return found.catalog.settings


@pytest.mark.parametrize("name", sorted(n for n, s in settings.table().items() if s.key in READ))
def test_every_name_of_a_key_sets_and_resets_it(name: str) -> None:
    said = settings.table()[name]
    text, value = (
        EITHER["false" if said.default else "true"] if said.kind == "bool" else SAMPLES.get(said.kind, ("", ""))
    )
    if said.kind == "enum":
        value = next(c for c in said.choices if c != said.default)
        text = value.swapcase()
    key, default = said.attribute, ATTRIBUTES[said.attribute]
    assert getattr(after(f"SET '{name}' = '{text}'"), key) == value
    for other in settings.names(name):
        assert getattr(after(f"SET '{name}' = '{text}'", f"RESET '{other}'"), key) == default
        assert after(f"SET '{name}' = '{text}'", f"SET '{other}' = '{text}'").as_written == {other: text}


@pytest.mark.parametrize("choice", [(s.key, c) for s in READ.values() for c in s.choices], ids="=".join)
def test_a_choice_is_taken_in_any_case(choice: tuple[str, str]) -> None:
    key, text = choice
    for spelt in (text.lower(), text.upper(), text.title()):
        assert getattr(after(f"SET '{key}' = '{spelt}'"), READ[key].attribute) == text


TABLES = """
CREATE TABLE a (k STRING, n INT) WITH ('connector' = 'kafka', 'topic' = 'a', 'format' = 'json',
  'properties.bootstrap.servers' = 'h:1', 'scan.startup.mode' = 'earliest-offset',
  'properties.security.protocol' = 'SASL_SSL');
CREATE TABLE counts (k STRING, n BIGINT) WITH ('connector' = 'kafka', 'topic' = 'o', 'format' = 'debezium-json',
  'properties.bootstrap.servers' = 'h:1', 'sink.parallelism' = '3');
CREATE TABLE plain (k STRING, n BIGINT) WITH ('connector' = 'kafka', 'topic' = 'o', 'format' = 'json',
  'properties.bootstrap.servers' = 'h:1');
"""
COPY = "INSERT INTO plain SELECT k, n FROM a"
COUNT = "INSERT INTO counts SELECT k, COUNT(*) FROM a GROUP BY k"
JOIN = "SELECT * FROM (SELECT k, MAX(n) FROM a GROUP BY k) JOIN (SELECT k, MIN(n) FROM a GROUP BY k) USING (k)"


def start(sql: str, sets: str) -> tuple[Start, Settings]:
    found = compile_script(SourceText("s.sql", f"{sets}\n{TABLES}\n{sql};"))
    assert not found.has_errors, found.diagnostics
    return next(a for a in found.actions if isinstance(a, Start)), found.catalog.settings


WIDE = "SET 'parallelism.default' = '3';\n"
NAMED = "SET 'security.kerberos.login.contexts' = 'KafkaClient';\n"
SPELT = [
    ("parallelism with a sign", COUNT, WIDE, "SET 'parallelism.default' = '+3';"),
    ("strategy", JOIN, "SET 'flinkddl.join.strategy' = 'bilinear';", "SET 'flinkddl.join.strategy' = 'BILINEAR';"),
    ("ttl", COUNT, WIDE + "SET 'table.exec.state.ttl' = '1 h';", WIDE + "SET 'table.exec.state.ttl' = '3600000';"),
    ("no ttl", COUNT, WIDE, WIDE + "SET 'table.exec.state.ttl' = '0 s';"),
    (
        "keytab",
        "SELECT k FROM a",
        NAMED + "SET 'security.kerberos.login.keytab' = 'k'; SET 'security.kerberos.login.principal' = 'p';",
        NAMED + "SET 'security.keytab' = 'k'; SET 'security.principal' = 'p';",
    ),
    ("mode", COPY, "SET 'flinkddl.execution.mode' = 'REALTIME';", "SET 'flinkddl.execution.mode' = 'realtime';"),
    ("loss", "SELECT k FROM a", "SET 'flinkddl.on-data-loss' = 'fail';", "SET 'flinkddl.on-data-loss' = 'FAIL';"),
    (
        "latency",
        "SELECT k FROM a",
        "SET 'table.exec.mini-batch.enabled' = 'true'; SET 'table.exec.mini-batch.allow-latency' = '5 s';",
        "SET 'table.exec.mini-batch.enabled' = 'TRUE'; SET 'table.exec.mini-batch.allow-latency' = '5000';",
    ),
]


@pytest.mark.parametrize(("sql", "one", "other"), [c[1:] for c in SPELT], ids=[c[0] for c in SPELT])
def test_a_job_does_not_depend_on_the_spelling(sql: str, one: str, other: str) -> None:
    (a, _), (b, _) = start(sql, one), start(sql, other)
    assert print_json([a.job]) == print_json([b.job])
    assert as_json(flow_of(a.job)) == as_json(flow_of(b.job))


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
        ("execution.state-recovery.path", "/savepoints/1", []),
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
