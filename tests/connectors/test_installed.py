"""Connectors of other packages: one of them, ``countdown`` beside this file, lies as pip installs it, offline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flinkddl import connectors
from flinkddl.api import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.options import installed, registry
from flinkddl.script.compile import compile_script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
COUNT = "CREATE TABLE c (n BIGINT) WITH ('connector' = 'countdown', 'from' = '3');\n"
PROJECT = Path(__file__).parent / "countdown"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with the connector in it, as ``pip install --target`` leaves it."""
    site = tmp_path_factory.mktemp("site")
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    shutil.copytree(PROJECT / "countdown", site / "countdown")
    bring(site, project["name"], **project["entry-points"][installed.GROUP])
    return site


def forget() -> None:
    """Forget which packages there are."""
    for cached in (installed._others, registry.connector, registry.names, connectors.connector):
        cached.cache_clear()


@pytest.fixture
def packages(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put the connector on this process's path, and return a folder for more of such packages."""
    for folder in (site, tmp_path):
        monkeypatch.syspath_prepend(str(folder))
    forget()
    yield tmp_path
    forget()
    for name in [m for m in sys.modules if m.partition(".")[0] == "countdown"]:
        del sys.modules[name]


def bring(folder: Path, package: str, **points: str) -> None:
    """Install a package that is nothing but entry points."""
    info = folder / f"{package.replace('-', '_')}-1.dist-info"  # the name ends at the first hyphen
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    lines = "\n".join(f"{name} = {value}" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[{installed.GROUP}]\n{lines}\n")
    forget()


def found(script: str) -> list[tuple[str, str, int]]:
    """Code, message and column of what is wrong with a script."""
    errors = [d for d in compile_script(SourceText("t.sql", script)).diagnostics if d.severity == "error"]
    return [(d.code, d.message, d.span.start if d.span else -1) for d in errors]


def flinkddl(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own."""
    path = os.pathsep.join((str(site), str(ROOT)))
    command = [sys.executable, "-m", "flinkddl", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False)


def test_check_and_options_know_it(site: Path, tmp_path: Path) -> None:
    script = tmp_path / "t.sql"
    script.write_text(COUNT.replace("'3'", "'0'") + "SELECT * FROM c;")
    done = flinkddl(site, "check", str(script))
    assert done.returncode == 1
    assert "'from' must be greater than zero, but is 0" in done.stdout + done.stderr
    script.write_text(COUNT + "SELECT n FROM c;")
    assert flinkddl(site, "check", str(script)).returncode == 0
    (document,) = json.loads(flinkddl(site, "options", "countdown", "--format", "json").stdout)
    assert {o["key"] for o in document["options"]} >= {"from", "path", "connector"}
    assert "countdown" in flinkddl(site, "options").stdout


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        (COUNT.replace("BIGINT", "STRING") + "SELECT * FROM c;", "FD238", "of type BIGINT"),
        (COUNT.replace("'from'", "'form'") + "SELECT * FROM c;", "FD212", "'form'"),
        (COUNT.replace("n BIGINT", "n BIGINT, o BIGINT METADATA") + "SELECT * FROM c;", "FD232", "no metadata"),
        (COUNT + "INSERT INTO c SELECT * FROM c;", "FD218", "needs 'path'"),
        (COUNT.replace("countdown", "countdwon") + "SELECT * FROM c;", "FD202", "'countdwon'"),
    ],
)
def test_what_is_wrong_is_told_as_of_our_own(script: str, code: str, words: str) -> None:
    (error,) = found(script)
    assert error[0] == code
    assert words in error[1]


@pytest.mark.usefixtures("packages")
def test_it_is_looked_up_by_its_own_word() -> None:
    assert not found(f"""{COUNT}CREATE TABLE t (k BIGINT, pt AS PROCTIME()) WITH ('connector' = 'datagen');
        SELECT t.k FROM t JOIN c FOR SYSTEM_TIME AS OF t.pt ON t.k = c.n""")


def test_a_package_that_fails_is_named_at_the_table_that_uses_it(packages: Path) -> None:
    bring(packages, "gone", gone="no_such_package")
    ((code, message, place),) = found(COUNT.replace("countdown", "gone") + "SELECT * FROM c;")
    assert (code, place) == ("FD248", COUNT.index("'countdown'"))
    assert "package 'no_such_package'" in message
    assert not found(COUNT + "SELECT * FROM c;")


def test_a_record_and_a_document_of_another_name_do_not_fit(packages: Path) -> None:
    bring(packages, "alias", alias="countdown")
    assert "has the title 'countdown'" in found(COUNT.replace("'countdown'", "'alias'") + "SELECT * FROM c;")[0][1]


def test_two_packages_of_one_name(packages: Path) -> None:
    bring(packages, "second", countdown="another")
    assert found(COUNT + "SELECT * FROM c;")[0][:2] == (
        "FD249",
        "connector 'countdown' is brought by several packages: another, countdown",
    )


def test_our_own_go_before_others_and_say_so(packages: Path) -> None:
    bring(packages, "thief", print="countdown")
    assert connectors.connector("print").write == "flinkddl.connectors.print.write"
    assert installed.names().count("print") == 1
    script = f"{COUNT}CREATE TABLE p (n BIGINT) WITH ('connector' = 'print'); INSERT INTO p SELECT * FROM c;"
    (warning,) = compile_script(SourceText("t.sql", script)).diagnostics
    assert (warning.code, warning.severity) == ("FD525", "warning")
    assert warning.span is not None
    assert warning.span.start == script.index("'print'")
    assert "that package 'countdown' brings is not used" in warning.message


@pytest.mark.usefixtures("packages")
def test_what_it_reads_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    import countdown.read as read

    monkeypatch.setattr(read, "unique_names", lambda names: (*names, "more"))
    ((code, message, _),) = found(COUNT + "SELECT * FROM c;")
    assert code == "FD668"
    assert "gives 2 of 1 columns" in message


@pytest.mark.parametrize("name", installed.CONNECTORS)
def test_our_own_are_whole(name: str) -> None:
    found = connectors.connector(name)
    document = registry.connector(name)
    assert document is not None
    assert (bool(found.read), bool(found.write)) == ("source" in document.roles, "sink" in document.roles)


@pytest.mark.spark
@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_it_runs(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    catalog = Catalog(spark, views=False)
    catalog.execute(f"""SET 'execution.runtime-mode' = '{mode}';
        SET 'execution.checkpointing.dir' = '{tmp_path}/state';
        {COUNT}
        CREATE TABLE o (n BIGINT, t STRING) WITH ('connector' = 'countdown', 'path' = '{tmp_path}/out');
        INSERT INTO o SELECT n, CONCAT('n', CAST(n AS STRING)) FROM c WHERE n > 1;""").await_termination(120)
    rows = spark.read.parquet(f"{tmp_path}/out").collect()
    assert sorted(tuple(r) for r in rows) == [(2, "n2"), (3, "n3")]
