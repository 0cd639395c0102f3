"""The archive of Spark's classes: who is asked to write it, when it is used, and that Java takes classes from it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flinkddl.runtime.machine import class_archive
from flinkddl.runtime.machine.cache import cache_dir
from flinkddl.runtime.machine.class_archive import archive_options
from flinkddl.runtime.machine.java import find_java

WHOLE = class_archive._MAGIC + b"..."


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLINKDDL_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "one.jar"
    path.write_bytes(b"classes")
    return path


def asked(jar: Path, given: str = "", **environment: str) -> str:
    """Return the first option, without the archive's folder."""
    options = archive_options(sys.executable, [str(jar)], given, environment)
    return re.sub(r"=.*/", "=", options[0]) if options else ""


def made(jar: Path, content: bytes = WHOLE, ago: float = 60) -> Path:
    """Be asked for an archive, and write it as Java does."""
    (option, *_) = archive_options(sys.executable, [str(jar)], "", {})
    path = Path(option.removeprefix("-XX:ArchiveClassesAtExit="))
    path.write_bytes(content)
    os.utime(path, (time.time() - ago,) * 2)
    return path


def test_one_start_writes_the_archive_and_later_ones_use_it(jar: Path) -> None:
    name = re.fullmatch(r"-XX:ArchiveClassesAtExit=(\w+)\.new", asked(jar))
    assert name
    assert asked(jar) == "", "another one is at it"
    (folder := cache_dir("classes")).joinpath(f"{name[1]}.asked").unlink()
    made(jar)
    assert asked(jar) == f"-XX:SharedArchiveFile={name[1]}.jsa"
    assert asked(jar) == f"-XX:SharedArchiveFile={name[1]}.jsa"
    assert [p.name for p in folder.iterdir()] == [f"{name[1]}.jsa"]


@pytest.mark.parametrize(("content", "ago"), [(WHOLE, 0.0), (b"\0" * 64, 60.0)], ids=["being written", "cut off"])
def test_an_archive_that_is_not_whole_is_not_used(jar: Path, content: bytes, ago: float) -> None:
    made(jar, content, ago)
    assert asked(jar) == ""


def test_a_start_that_leaves_none_is_followed_by_another(jar: Path) -> None:
    asked(jar)
    (marker,) = cache_dir("classes").glob("*.asked")
    os.utime(marker, (time.time() - class_archive.TRIED_AGAIN_SECONDS - 1,) * 2)
    assert "ArchiveClassesAtExit" in asked(jar)
    assert asked(jar) == ""


def test_other_jars_have_an_archive_of_their_own(jar: Path) -> None:
    first = asked(jar)
    jar.write_bytes(b"other classes")
    assert "ArchiveClassesAtExit" in asked(jar)
    assert asked(jar) != first


def test_an_archive_that_nobody_uses_goes(jar: Path) -> None:
    old = cache_dir("classes") / "old.jsa"
    old.write_bytes(WHOLE)
    os.utime(old, (time.time() - class_archive.KEPT_DAYS * 86400 - 60,) * 2)
    asked(jar)
    assert not old.exists()


def test_only_those_used_last_are_kept(jar: Path) -> None:
    folder = cache_dir("classes")
    for n in range(class_archive.KEPT + 2):
        path = folder / f"{n}.{'new' if n % 2 else 'jsa'}"
        path.write_bytes(WHOLE)
        os.utime(path, (time.time() - 60 - n,) * 2)
    writing = class_archive.KEPT + 2
    (folder / f"{writing}.new").write_bytes(b"")  # some Java is at it
    asked(jar)
    kept = sorted(int(p.stem) for p in folder.iterdir() if p.stem.isdigit())
    assert kept == [*range(class_archive.KEPT - 1), writing], "one place is for the one asked for"


@pytest.mark.parametrize(
    ("given", "environment"),
    [("-XX:SharedArchiveFile=/mine.jsa", {}), ("-Xshare:off", {}), ("", {"HADOOP_CONF_DIR": "/etc/hadoop"})],
)
def test_left_to_the_user(jar: Path, given: str, environment: dict[str, str]) -> None:
    assert asked(jar, given, **environment) == ""


def test_without_a_cache_spark_starts_as_ever(jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLINKDDL_CACHE", str(tmp_path / "file" / "cache"))
    assert asked(jar) == ""
    monkeypatch.setenv("FLINKDDL_CACHE", str(tmp_path / "with spaces"))
    assert asked(jar) == "", "Spark cuts Java's options at spaces"
    assert archive_options(sys.executable, [str(tmp_path / "missing.jar")], "", {}) == []


START = """
import sys
from flinkddl.runtime.session.sessions import SparkOptions, build_session
java = "-XX:TieredStopAtLevel=1 -Xlog:class+load:file=" + sys.argv[1]
conf = {"spark.driver.memory": "600m", "spark.driver.extraJavaOptions": java}
print(build_session(SparkOptions(master="local[1]", conf=conf)).range(3).count())
"""


@pytest.mark.spark
@pytest.mark.slow
def test_the_second_start_reads_classes_from_the_archive(tmp_path: Path) -> None:
    """Java says of each class where it came from."""
    find_java()
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "jars").symlink_to(cache_dir("jars"))
    environment = {k: v for k, v in os.environ.items() if k not in class_archive._OTHER_CLASSES}
    environment |= {"FLINKDDL_CACHE": str(cache)}
    found = []
    for n in range(2):
        log = tmp_path / f"classes{n}.log"
        command = [sys.executable, "-c", START, str(log)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=200)
        assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr[-3000:]
        found.append(len(re.findall(r"org\.apache\.spark\.\S+ source: shared objects file", log.read_text())))
        until = time.monotonic() + 180  # on a machine with other JVMs at work 60 were too few
        while n == 0 and time.monotonic() < until and not _settled(cache / "classes"):
            time.sleep(0.5)
    assert found[0] == 0
    assert found[1] > 2000


def _settled(folder: Path) -> bool:
    """Return whether Java has written an archive, and some time ago."""
    made = list(folder.glob("*.new"))
    return bool(made) and time.time() - made[0].stat().st_mtime > class_archive.SETTLED_SECONDS + 1
