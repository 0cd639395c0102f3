from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

import flinkddl
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.machine import jars
from flinkddl.runtime.machine.jars import Artifact, Pin, locked_artifacts, resolve_jars

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _repository(root: Path, name: str, version: str, content: bytes) -> str:
    """Lay out one jar as a Maven repository has it; return the SHA-256."""
    folder = root / "g" / name / version
    folder.mkdir(parents=True)
    (folder / f"{name}-{version}.jar").write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def _zip(path: Path) -> bytes:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("A.class", b"class")
    return path.read_bytes()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository on loopback, known to jgo through the user's own configuration; an empty cache."""
    root = tmp_path / "repository"
    root.mkdir()
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    port = server.stdout.readline().split(" port ")[1].split()[0]
    config = tmp_path / "jgo.conf"
    config.write_text(f"[repositories]\ncentral = http://127.0.0.1:{port}\n")
    monkeypatch.setenv("JGO_CONFIG_FILE", str(config))
    monkeypatch.setenv("FLINKDDL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FLINKDDL_JARS", raising=False)
    yield root
    server.kill()
    server.wait()


def _lock(monkeypatch: pytest.MonkeyPatch, *artifacts: Artifact) -> None:
    monkeypatch.setattr(jars, "locked_artifacts", lambda role: artifacts)


def test_the_fallback_is_taken_when_the_first_version_is_missing_and_kept_offline(
    registry: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sha = _repository(registry, "a", "1.0", b"content")
    _lock(monkeypatch, Artifact("g", "a", (Pin("2.0", None), Pin("1.0", sha))))
    (path,) = resolve_jars("spark")
    assert path.name == "a-1.0.jar"
    assert path.read_bytes() == b"content"
    assert "downloaded 1 of 1 jars" in capsys.readouterr().err
    (registry / "g" / "a" / "1.0" / "a-1.0.jar").unlink()
    assert resolve_jars("spark") == (path,)


def test_the_version_equal_to_spark_is_preferred(
    registry: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _repository(registry, "a", "2.0", _zip(tmp_path / "x.zip"))
    _lock(monkeypatch, Artifact("g", "a", (Pin("2.0", None), Pin("1.0", "0" * 64))))
    assert [p.name for p in resolve_jars("spark")] == ["a-2.0.jar"]


@pytest.mark.parametrize("pin", [Pin("1.0", "0" * 64), Pin("1.0", None)], ids=["checksum", "no zip"])
def test_a_wrong_file_is_refused_and_not_kept(
    registry: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pin: Pin
) -> None:
    _repository(registry, "a", "1.0", b"<html>please log in</html>")
    _lock(monkeypatch, Artifact("g", "a", (pin,)))
    with pytest.raises(FlinkDdlError, match=r"FD803.*g:a:1\.0"):
        resolve_jars("spark")
    assert list((tmp_path / "cache" / "jars").glob("*.jar")) == []


def test_an_artefact_that_nobody_has_is_named_with_what_to_do(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _lock(monkeypatch, Artifact("g", "a", (Pin("2.0", None), Pin("1.0", None))))
    with pytest.raises(
        FlinkDdlError, match=r"FD802.*g:a could not be had \(2\.0: not found; 1\.0: not found\).*--jars"
    ):
        resolve_jars("spark")


def test_without_a_network_the_reason_is_said(registry: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jgo.conf").write_text("[repositories]\ncentral = http://127.0.0.1:1\n")
    _lock(monkeypatch, Artifact("g", "a", (Pin("1.0", None),)))
    with pytest.raises(FlinkDdlError, match=r"FD802.*1\.0: no connection"):
        resolve_jars("spark")


def test_parallel_processes_download_once_and_agree(registry: Path, tmp_path: Path) -> None:
    sha = _repository(registry, "a", "1.0", b"x" * 1_000_000)
    program = (
        "from flinkddl.runtime.machine import jars\n"
        f"lock = (jars.Artifact('g', 'a', (jars.Pin('1.0', '{sha}'),)),)\n"
        "jars.locked_artifacts = lambda role: lock\n"
        "print(jars.resolve_jars('spark')[0])\n"
    )
    run = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outs = [p.communicate(timeout=60) for p in run]
    assert len({out for out, _ in outs}) == 1
    assert sum("downloaded" in err for _, err in outs) == 1
    assert [p.name for p in (tmp_path / "cache" / "jars").iterdir() if not p.name.startswith(".lock")] == ["a-1.0.jar"]


def test_a_folder_replaces_every_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for artifact in locked_artifacts("spark"):
        (tmp_path / artifact.file(artifact.pins[-1])).touch()
    monkeypatch.setenv("FLINKDDL_JARS", str(tmp_path))
    found = resolve_jars("spark")
    assert len(found) == len(locked_artifacts("spark"))
    assert {p.parent for p in found} == {tmp_path}
    found[0].rename(tmp_path / f"{locked_artifacts('spark')[0].name}-9.9.9.jar")
    assert resolve_jars("spark")[0].name.endswith("-9.9.9.jar")
    found[1].unlink()
    with pytest.raises(FlinkDdlError, match=r"FD802.*token-provider.*is not in"):
        resolve_jars("spark")


def test_the_lock_file_names_coordinates_and_checksums_but_no_host() -> None:
    text = (files("flinkddl.runtime.machine") / "jars.lock.json").read_text()
    assert "://" not in text
    data = json.loads(text)
    for entry in data["spark"] + data["broker"]:
        assert len(entry["versions"][-1]["sha256"]) == 64


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["spark-avro_2.13-4.1.1.jar", "kafka-clients-3.9.2.jar"], "spark-avro 4.1.1"),
        ([f"spark-avro_2.13-{version('pyspark')}.jar"], ""),
        (
            ["spark-sql-kafka-0-10_2.13-4.2.0.jar", "spark-avro_2.13-4.1.0-preview1.jar"],
            "spark-sql-kafka-0-10 4.2.0, spark-avro 4.1.0-preview1",
        ),
    ],
)
def test_modules_of_another_version_than_spark_are_named(names: list[str], said: str, tmp_path: Path) -> None:
    assert jars.beside_spark(tmp_path / name for name in names) == said


def test_version_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLINKDDL_JARS", str(tmp_path))
    first = f"flinkddl {flinkddl.__version__}, PySpark {version('pyspark')}\n"
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == first
    (tmp_path / "spark-avro_2.13-4.1.1.jar").touch()
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{first}jars: spark-avro 4.1.1\n"
