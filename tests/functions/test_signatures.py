"""Types of Python functions, read without importing: what the source says is what the import would say."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.user import UndeclaredTypes, declared, imported, untouchable

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SOURCE = """
from __future__ import annotations
import datetime as dt
import functools
from decimal import Decimal as D
from typing import Optional
from flinkddl.functions import user
from flinkddl.functions.user import udf as declare
from .other import far, near as close
import random

def plain(a: int, b: float, c: str, d: bytes, e: bool) -> str: ...
def times(a: dt.date, b: dt.datetime, c: D) -> dt.datetime: ...
def maybe(a: Optional[int], b: str | None, c: None | bytes) -> Optional[D]: ...
def text(a: "int", b: "Optional[str]") -> "float": ...
def some(a, b: int) -> int: ...
def unknown(a: list) -> int: ...
def keys(*, a: int) -> int: ...
@declare("ARRAY<ROW<w STRING, n INT>>", ["STRING"])
def words(t): ...
@user.udf(result_type="INT", deterministic=False)
def dice(): ...
@functools.lru_cache
def kept(a: int) -> int: ...
again = plain
try:
    def tried(a: int) -> int: ...
except ImportError:
    def tried(a: str) -> str: ...
def twice(a: int) -> int: ...
def twice(a: str) -> str: ...
"""
SAME = ["plain", "times", "maybe", "text", "some", "unknown", "keys", "words", "dice", "kept", "again", "far", "close"]
SAME += ["twice"]
UNREADABLE = ["no", "bare", "wrapped", "chosen", "Made", "asynchronous", "computed"]
MORE = """
def bare(a): ...
def wrapped_by(f): return f
@wrapped_by
def wrapped(a: int) -> int: ...
chosen = plain if random.random() < 2 else times
class Made: ...
async def asynchronous(a: int) -> int: ...
TYPE = "INT"
@declare(TYPE)
def computed(a): ...
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a package of two modules on the path, and return the name of the first."""
    folder = tmp_path / "acme_of_tests"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "functions.py").write_text(SOURCE + MORE)
    (folder / "other.py").write_text("from .deep import far\ndef near(a: int) -> bool: ...\n")
    (folder / "deep.py").write_text("def far(a: str) -> int: ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [n for n in sys.modules if n.startswith("acme_of_tests")]:
        monkeypatch.delitem(sys.modules, name)
    declared.__globals__["_read"].cache_clear()
    imported.cache_clear()
    return "acme_of_tests.functions"


@pytest.mark.parametrize("name", SAME)
def test_the_source_says_what_an_import_says(package: str, name: str) -> None:
    read = declared(f"{package}.{name}")
    assert not [m for m in sys.modules if m.startswith("acme_of_tests")]
    assert read.target == f"script:{package}.{name}"
    real = imported(f"{package}.{name}")
    assert (read.result, read.arguments, read.deterministic) == (real.result, real.arguments, real.deterministic)


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_only_running_tells_is_not_guessed(package: str, name: str) -> None:
    with pytest.raises(UndeclaredTypes):
        declared(f"{package}.{name}")
    assert not [m for m in sys.modules if m.startswith("acme_of_tests")]


@pytest.mark.parametrize("name", ["wrapped", "chosen", "computed"])
def test_a_named_module_is_asked_itself(package: str, name: str) -> None:
    assert declared(f"{package}.{name}", named=True).target == f"python:{package}.{name}"


@pytest.mark.parametrize(
    "module", ["os", "os.path", "subprocess", "builtins", "flinkddl", "flinkddl.runtime.udf", "_io"]
)
def test_these_modules_are_nobodys_functions(module: str) -> None:
    assert untouchable(module)
    assert untouchable(f"my{module}") is None


BOOBY_TRAP = """
from pathlib import Path
Path({mark!r}).touch()
def f(a: int) -> int:
    return a
"""
SCRIPT = """
CREATE FUNCTION f AS '{path}' LANGUAGE PYTHON;
CREATE TABLE t (a BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '3');
CREATE TABLE p (a BIGINT) WITH ('connector' = 'print');
CREATE VIEW v AS SELECT f(a) AS a FROM t;
INSERT INTO p SELECT f(a) FROM v;
"""
LOOKING = [["check"], ["explain"], ["explain", "--format", "html"], ["compile"], ["compile", "--views"], ["assess"]]


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a module in the current folder that leaves a mark where it is imported; return the mark's path."""
    folder = tmp_path / "trapped"
    (folder / "booby").mkdir(parents=True)
    mark = folder / "sprung"
    for name in ("booby/__init__.py", "booby/trap.py"):
        (folder / name).write_text(BOOBY_TRAP.format(mark=str(mark)))
    (folder / "job.sql").write_text(SCRIPT.format(path="booby.trap.f"))
    monkeypatch.chdir(folder)
    for name in [n for n in sys.modules if n.startswith("booby")]:
        monkeypatch.delitem(sys.modules, name)
    return mark


@pytest.mark.parametrize("command", LOOKING, ids="_".join)
def test_looking_at_a_script_imports_nothing(
    trap: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], "job.sql", *command[1:]]) == 0
    assert not trap.exists()
    assert "booby.trap" not in sys.modules
    if command == ["compile"]:
        assert '"script:booby.trap.f"' in capsys.readouterr().out
        assert main(["compile", "job.sql", "--allow-python", "x,booby"]) == 0
        assert '"python:booby.trap.f"' in capsys.readouterr().out


def test_a_run_refuses_a_module_that_nobody_names(trap: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "job.sql"]) == 1
    said = capsys.readouterr().err
    assert "job.sql:6:1: error FD670: the Python function 'booby.trap.f'" in said
    assert "--allow-python booby.trap" in said
    assert not trap.exists()


@pytest.mark.parametrize("path", ["os.getenv", "flinkddl.runtime.udf.register", "subprocess.getoutput"])
@pytest.mark.parametrize("command", ["check", "run"])
def test_no_flag_allows_python_itself(trap: Path, path: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    trap.with_name("job.sql").write_text(SCRIPT.format(path=path))
    assert main([command, "job.sql", "--allow-python", path.rpartition(".")[0]]) == 1
    assert "error FD671" in capsys.readouterr().err


CALLS = "CREATE FUNCTION f AS 'tests.functions.udfs.{}' LANGUAGE PYTHON; SELECT {} AS r"
RUNS = [("annotated", "f(1, 2.0E0)", ["1:2.0"]), ("repeat", "f('ab', 2)", ["abab"])]


@pytest.mark.spark
@pytest.mark.parametrize(("name", "call", "rows"), RUNS)
def test_a_named_module_is_run(spark: SparkSession, name: str, call: str, rows: list[str]) -> None:
    sql = CALLS.format(name, call)
    with pytest.raises(FlinkDdlError, match="FD670"):
        Catalog(spark, views=False).execute(sql).collect()
    assert [r for (r,) in Catalog(spark, views=False, allow_python=["tests.functions"]).execute(sql).collect()] == rows
