"""Builds ``flinkddl-functions.jar`` from the Java sources: ``python -m flinkddl.jvm.build``.

The class path is the jars of the installed pyspark, and the Kafka client and Flink of the lock file. The jar is
reproducible: entries sorted, times fixed, no manifest of the builder. It is committed; when a merge or rebase stops at
the jar, keep either side and run this command again (``.gitattributes`` marks it as binary and keeps ours unasked
after ``git config merge.ours.driver true``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from flinkddl.runtime.machine.jars import locked_artifacts, pyspark_home, resolve_jars

ROOM = Path(__file__).parent
SOURCES = ROOM / "src" / "main" / "java"
JAR = ROOM / "flinkddl-functions.jar"
FLINK_JARS = "flinkddl/udf/flink-jars.txt"
"""In the jar: the names of Flink's jars, which udf/Loaders looks for."""
_LINT = "-Xlint:all,-path,-processing,-serial,-classfile,-options"
_FLAGS = ("--release", "17", "-g:source,lines", _LINT, "-Werror", "-proc:none", "-implicit:none")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip entry can have


def spark_jars() -> Path:
    """Return the folder of the jars in the installed pyspark. Raises RuntimeError when pyspark is missing."""
    return pyspark_home() / "jars"


def class_path() -> str:
    """Return what the sources are compiled against. Raises FD802 when Kafka's client or Flink is not to be had."""
    kafka = (str(p) for p in resolve_jars("spark") if p.name.startswith("kafka-clients-"))
    flink = map(str, resolve_jars("flink"))  # for flinkddl.udf.flink alone, which a loader of its own links
    return os.pathsep.join([f"{spark_jars()}/*", *kafka, *flink])


def compile_classes(target: Path) -> dict[str, bytes]:
    """Compile every source into ``target`` and return the jar's entries by name, sorted. Needs ``javac`` 17+."""
    javac = shutil.which("javac")
    if javac is None:
        raise RuntimeError("javac is not on the path")
    files = sorted(str(p) for p in SOURCES.rglob("*.java"))
    command = [javac, *_FLAGS, "-cp", class_path(), "-d", str(target), *files]
    subprocess.run(command, check=True)
    found = {p.relative_to(target).as_posix(): p.read_bytes() for p in sorted(target.rglob("*.class"))}
    return found | {FLINK_JARS: "\n".join(a.file(a.pins[0]) for a in locked_artifacts("flink")).encode()}


def write_jar(classes: dict[str, bytes], jar: Path) -> None:
    """Write the classes as a jar whose bytes depend on nothing else."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in sorted(classes.items()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            z.writestr(entry, content)


def build(jar: Path = JAR) -> Path:
    """Compile and write the jar; return its path."""
    with tempfile.TemporaryDirectory() as folder:
        write_jar(compile_classes(Path(folder)), jar)
    return jar


if __name__ == "__main__":
    build()
