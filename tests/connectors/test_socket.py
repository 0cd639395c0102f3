"""socket tables at ``check``: what their lines can hold, and where a mistake stands."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script

# type of the column, format and more options -> code, the text at its place
CASES: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("STRING", "'format' = 'raw'", []),
    ("VARCHAR(3)", "'format' = 'raw', 'raw.charset' = 'utf-8'", []),
    ("STRING", "'format' = 'raw', 'raw.charset' = 'ISO-8859-1'", [("FD224", "'ISO-8859-1'")]),
    ("BYTES", "'format' = 'raw'", [("FD224", "a BYTES")]),
    ("INT", "'format' = 'raw'", [("FD224", "a INT")]),
    ("INT", "'format' = 'csv'", []),
    ("INT", "'format' = 'avro'", [("FD216", "'avro'")]),
    ("INT", "'format' = 'csv', 'byte-delimiter' = '0'", [("FD225", "'byte-delimiter'"), ("FD224", "'0'")]),
    ("INT", "'format' = 'csv', 'byte-delimter' = '10'", [("FD212", "'byte-delimter'")]),
]


@pytest.mark.parametrize(("kind", "options", "told"), CASES)
def test_options(kind: str, options: str, told: list[tuple[str, str]]) -> None:
    script = (
        f"CREATE TABLE f (a {kind}) WITH ('connector' = 'socket', 'hostname' = 'h', 'port' = '99', {options});"
        f"CREATE TABLE s (a {kind}) WITH ('connector' = 'blackhole'); INSERT INTO s SELECT a FROM f;"
    )
    found = compile_script(SourceText("x.sql", script)).diagnostics
    assert [(d.code, d.span.text if d.span else "") for d in found] == told
