"""Jars of Java functions for tests: javac makes them once for all processes of a machine; and their calls by hand."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.jvm.build import write_jar
from flinkddl.runtime.machine.cache import locked
from flinkddl.runtime.machine.jars import resolve_jars

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCES = Path(__file__).parent.parent / "jvm" / "udf"
needs_javac = pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")


@cache
def udf_jar(folder: str = "com") -> Path:
    """Return a jar of the sources in a folder under ``tests/jvm/udf``."""
    found = sorted((SOURCES / folder).rglob("*.java"))
    sources = {str(p.relative_to(SOURCES)): p.read_text(encoding="utf-8") for p in found}
    digest = hashlib.sha256(repr(sources).encode()).hexdigest()[:16]
    kept = Path(tempfile.gettempdir()) / f"flinkddl-udf-{os.getuid()}-{digest}"
    with locked(kept.with_suffix(".lock")):
        if not kept.is_dir():
            made = Path(tempfile.mkdtemp(prefix="flinkddl-udf-"))
            compiled(made, sources)
            made.rename(kept)
    return kept / "udf.jar"


def compiled(target: Path, sources: Mapping[str, str]) -> Path:
    """Compile sources, text by file name, into ``udf.jar`` of a folder, and return its path."""
    for name, text in sources.items():
        (target / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (target / "src" / name).write_text(text, encoding="utf-8")
    path = os.pathsep.join(map(str, resolve_jars("flink")))
    command = ["javac", "--release", "17", "-g", "-nowarn", "-proc:none", "-cp", path, "-d", str(target / "classes")]
    subprocess.run([*command, *(str(target / "src" / name) for name in sources)], check=True)
    found = {
        p.relative_to(target / "classes").as_posix(): p.read_bytes() for p in (target / "classes").rglob("*.class")
    }
    write_jar(found, target / "udf.jar")
    return target / "udf.jar"


BRIDGES = {
    "STRING": "java.lang.String",
    "BOOLEAN": "java.lang.Boolean",
    "TINYINT": "java.lang.Byte",
    "SMALLINT": "java.lang.Short",
    "INT": "java.lang.Integer",
    "BIGINT": "java.lang.Long",
    "FLOAT": "java.lang.Float",
    "DOUBLE": "java.lang.Double",
    "BYTES": "byte[]",
    "DATE": "java.time.LocalDate",
    "TIME": "java.time.LocalTime",
    "TIMESTAMP": "java.time.LocalDateTime",
    "TIMESTAMP_LTZ": "java.time.Instant",
    "DECIMAL": "java.math.BigDecimal",
    "MAP": "java.util.Map",
    "ROW": "org.apache.flink.types.Row",
}
_PRIMITIVE = {"BOOLEAN": "boolean", "INT": "int", "BIGINT": "long", "DOUBLE": "double", "FLOAT": "float"}
_DESCRIBED = {"boolean": "Z", "byte": "B", "short": "S", "int": "I", "long": "J", "float": "F", "double": "D"}


def bridge(type_: str) -> str:
    """Return the default bridge of a type; of NOT NULL ones a primitive."""
    root = type_.partition("(")[0].partition("<")[0].partition(" ")[0]
    if type_.endswith("NOT NULL") and root in _PRIMITIVE:
        return _PRIMITIVE[root]
    if root == "ARRAY":
        return bridge(type_[6:-1]) + "[]"
    return BRIDGES[root]


def described(bridge_: str) -> str:
    """Return a class as a method descriptor has it."""
    if bridge_.endswith("[]"):
        return "[" + described(bridge_[:-2])
    return _DESCRIBED.get(bridge_) or f"L{bridge_.partition('<')[0].replace('.', '/')};"


def java_spec(class_: str, arguments: list[str], result: str, **more: Any) -> str:
    """Return the spec of a call of ``com.acme.<class_>`` in the jar of all; what is not said is by default."""
    bridges = more.pop("bridges", None) or list(map(bridge, arguments))
    result_bridge = more.pop("result_bridge", None) or bridge(result)
    returned = "V" if more.get("kind", "scalar") != "scalar" else described(result_bridge)
    data = {
        "class": f"com.acme.{class_}",
        "jars": more.pop("jars", None) or [str(udf_jar())],
        "kind": "scalar",
        "method": "eval",
    }
    data |= {"descriptor": f"({''.join(map(described, bridges))}){returned}", "varargs": False, "arguments": arguments}
    data |= {
        "result": result,
        "bridges": bridges,
        "result_bridge": result_bridge,
        "accumulator": None,
        "retract": False,
    }
    return json.dumps(data | more)


def aggregate(name: str, arguments: list[str], result: str, accumulator: str, **more: Any) -> str:
    """Return the spec of an aggregate: its method takes the accumulator too, of a class that stands for itself."""
    taken = "".join(map(described, [accumulator, *(more.get("bridges") or map(bridge, arguments))]))
    more = {"kind": "aggregate", "method": "accumulate", "descriptor": f"({taken})V"} | more
    return java_spec(f"Aggregates${name}", arguments, result, **more)
