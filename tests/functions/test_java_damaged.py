"""Jars that are none, and classes that no compiler writes: each is said with its place, and none keeps ``check``."""

from __future__ import annotations

import struct
import zipfile
from typing import TYPE_CHECKING

import pytest

from flinkddl.catalog.state import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.functions.java import classpath
from flinkddl.script.compile import compile_script

if TYPE_CHECKING:
    from pathlib import Path

SCALAR = "org/apache/flink/table/functions/ScalarFunction"


def class_file(name: str, above: str, eval_type: str = "(Ljava/lang/Integer;)Ljava/lang/Integer;") -> bytes:
    """Return a public class with an empty constructor and one ``eval``."""
    pool, methods = [_text(name), _class(1), _text(above), _class(3), _text("Code")], b""
    for method, descriptor in (("<init>", "()V"), ("eval", eval_type)):
        pool += [_text(method), _text(descriptor)]
        code = struct.pack(">HHI", 1, 1, 1) + b"\xb1" + struct.pack(">HH", 0, 0)
        methods += struct.pack(">HHHH", 1, len(pool) - 1, len(pool), 1) + struct.pack(">HI", 5, len(code)) + code
    head = b"\xca\xfe\xba\xbe" + struct.pack(">HHH", 0, 52, len(pool) + 1) + b"".join(pool)
    return head + struct.pack(">HHHHHH", 0x21, 2, 4, 0, 0, 2) + methods + struct.pack(">H", 0)


def _text(text: str) -> bytes:
    return b"\x01" + struct.pack(">H", len(text)) + text.encode()


def _class(index: int) -> bytes:
    return b"\x07" + struct.pack(">H", index)


GOOD = class_file("a/F", SCALAR)
CLASSES = {
    "circle": ({"a/F": class_file("a/F", "a/G"), "a/G": class_file("a/G", "a/F")}, "inherits from itself"),
    "own-superclass": ({"a/F": class_file("a/F", "a/F")}, "inherits from itself"),
    "dimensions": ({"a/F": class_file("a/F", SCALAR, f"({'[' * 60000}I)I")}, "more dimensions than Java has"),
    "no-descriptor": ({"a/F": class_file("a/F", SCALAR, "")}, "damaged"),
    "half-descriptor": ({"a/F": class_file("a/F", SCALAR, "(Lfoo")}, "damaged"),
    "half": ({"a/F": GOOD[: len(GOOD) // 2]}, "damaged"),
    "large": ({"a/F": b"\xca\xfe\xba\xbe" + bytes(2 << 20)}, "larger than any class file"),
}
BYTES = {
    "data": (b"a/F.class", 14, b"\xff\xff\xff", "cannot be read"),
    "local-header": (b"PK\x03\x04", 0, b"XXXX", "cannot be read"),
    "directory": (b"PK\x01\x02", 0, b"XXXX", "is no jar"),
    "version": (b"PK\x01\x02", 6, b"\x63", "is no jar"),
    "method": (b"PK\x01\x02", 10, b"\x63", "cannot be read"),
    "password": (b"PK\x01\x02", 8, b"\x01", "cannot be read"),
}


def found(jar: Path) -> list[tuple[str, str]]:
    script = (
        f"CREATE FUNCTION f AS 'a.F' USING JAR '{jar}'; CREATE TABLE t (n INT) WITH ('connector' = 'datagen');"
        " CREATE TABLE o (n INT) WITH ('connector' = 'print'); INSERT INTO o SELECT f(n) FROM t;"
    )
    return [(d.code, d.message) for d in compile_script(SourceText("<t>", script)).diagnostics]


def written(path: Path, classes: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in classes.items():
            archive.writestr(f"{name}.class", data)
    return path


def test_the_class_itself_is_a_good_one(tmp_path: Path) -> None:
    assert found(written(tmp_path / "f.jar", {"a/F": GOOD})) == []


@pytest.mark.parametrize("case", CLASSES)
def test_a_class_that_no_compiler_writes(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classes, message = CLASSES[case]
    monkeypatch.setattr(classpath, "MOST_BYTES", 1 << 20)
    ((code, said),) = found(written(tmp_path / "f.jar", classes))
    assert code == "FD519"
    assert message in said


@pytest.mark.parametrize("case", BYTES)
def test_a_damaged_jar(case: str, tmp_path: Path) -> None:
    mark, offset, wrong, message = BYTES[case]
    jar = written(tmp_path / "f.jar", {"a/F": GOOD})
    data = jar.read_bytes()
    at = data.index(mark) + offset
    jar.write_bytes(data[:at] + wrong + data[at + len(wrong) :])
    assert any(code in ("FD519", "FD320") and message in said for code, said in found(jar))


def test_an_empty_name_allows_no_folder() -> None:
    assert Catalog().allowing_jars(["", " "]).named_jars == frozenset()
