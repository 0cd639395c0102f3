"""Writes ``connectors/faker/providers.json`` for a new Datafaker: ``python -m tests.support.faker_table``."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import flinkddl
from flinkddl.jvm.build import spark_jars
from flinkddl.runtime.machine.jars import locked_artifacts, resolve_jars
from flinkddl.runtime.machine.java import find_java

TABLE = Path(flinkddl.__file__).parent / "connectors" / "faker" / "providers.json"


def version() -> str:
    """The version of Datafaker that the lock file names."""
    return next(a for a in locked_artifacts("datafaker") if a.name == "datafaker").pins[0].version


def text() -> str:
    jars = os.pathsep.join([*map(str, resolve_jars("datafaker")), *map(str, spark_jars().glob("snakeyaml-2*.jar"))])
    command = [find_java(), "-cp", jars, str(Path(__file__).with_name("FakerProviders.java"))]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    table: dict[str, dict[str, str]] = {"provider": {}, "enum": {}, "data": {}}
    for kind, name, rest in (line.split(" ", 2) for line in lines):
        table[kind][name] = rest
    return json.dumps({"version": version(), **table}, indent=1) + "\n"


if __name__ == "__main__":
    TABLE.write_text(text(), encoding="utf-8")
