"""``LocalFiles`` leaves the files that Hadoop's own local file system leaves, and starts no process for them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flinkddl.jvm import build
from tests.support.java_udf import needs_javac

PROBE = Path(__file__).with_name("LocalFilesProbe.java")
OUTSIDE = ("chmod", "readlink", "ls", "stat", "bash", "sh")


def probe(kind: str, folder: Path) -> tuple[list[str], list[str], list[str]]:
    """Return what the calls said, what lies in the folder then, and the processes that were started."""
    data, fakes, log = folder / "data", folder / "bin", folder / "log"
    for made in (data, fakes):
        made.mkdir(parents=True)
    (data / "target").write_text("behind a link")
    (data / "link").symlink_to("target")
    (data / "dangling").symlink_to("nothing")
    (data / "folder").symlink_to(".")
    for name in OUTSIDE:
        real = shutil.which(name)
        (fakes / name).write_text(f'#!{shutil.which("sh")}\necho {name} >> {log}\nexec {real} "$@"\n')
        (fakes / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{fakes}{os.pathsep}{os.environ['PATH']}"}
    java = shutil.which("java")
    command = [str(java), "-XX:TieredStopAtLevel=1", "-cp", f"{build.JAR}{os.pathsep}{build.class_path()}"]
    command += [str(PROBE), kind, str(data)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, umask=0o027)
    assert done.returncode == 0, done.stderr[-3000:]
    left = []
    for path in sorted(data.rglob("*")):
        told = path.lstat()
        content = path.read_bytes() if path.is_file() and told.st_mode & 0o400 else b""
        left.append(f"{path.relative_to(data)} {told.st_mode:o} {content.hex()}")
    return done.stdout.splitlines(), left, log.read_text().split() if log.exists() else []


@pytest.mark.spark
@needs_javac
def test_the_same_files_without_a_process(tmp_path: Path) -> None:
    (said, left, started), (ours, ours_left, ours_started) = (
        probe(kind, tmp_path / kind) for kind in ("hadoop", "ours")
    )
    assert ours == said
    assert ours_left == left
    assert "chmod" in started
    assert "readlink" in started
    assert "chmod" not in ours_started
    assert ours_started.count("readlink") < started.count("readlink") / 2, "for real links alone"
