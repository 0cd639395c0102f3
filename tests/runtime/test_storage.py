"""Files of a checkpoint: what a storage promises, of this machine's files and of Spark's file systems alike."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.file_systems import LOCAL, SparkStorage, local_path, storage_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.storage.file_systems import Storage


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        ("/a/b", "/a/b"),
        ("state", "state"),
        ("file:/a/b", "/a/b"),
        ("file:///a/b", "/a/b"),
        ("file://localhost/a%20b", "/a%20b"),  # Hadoop unescapes nothing in a path
        ("file:///a#b?c", "/a#b?c"),
        ("hdfs://h/a", None),
        ("s3a://b/a", None),
        ("viewfs:/a", None),
    ],
)
def test_what_lies_on_this_machine(folder: str, path: str | None) -> None:
    found = local_path(folder)
    assert (None if found is None else str(found)) == path


def keeps_its_promises(storage: Storage, root: str) -> None:
    """Files are whole, created once, listed, moved and removed; what is not there is no mistake."""
    assert storage.names(root) == []
    assert storage.read(f"{root}/a/plan") is None
    storage.write(f"{root}/a/plan", "one\n'two' ä")
    assert storage.read(f"{root}/a/plan") == "one\n'two' ä"
    storage.write(f"{root}/a/plan", "three")
    assert storage.read(f"{root}/a/plan") == "three"
    assert not storage.create(f"{root}/a/plan", "four")
    assert storage.read(f"{root}/a/plan") == "three"
    storage.make(f"{root}/a/b/c")
    assert sorted(n for n in storage.names(f"{root}/a") if n[0] != ".") == ["b", "plan"]
    storage.move(f"{root}/a", f"{root}/z")
    assert [storage.read(f"{root}/{x}/plan") for x in "az"] == [None, "three"]
    storage.remove(f"{root}/z")
    storage.remove(f"{root}/z")
    assert storage.names(root) == []
    assert sum(_at_once(lambda n: storage.create(f"{root}/owner", f"mine, says {n}"))) == 1


def _at_once(call: Callable[[int], bool], several: int = 8) -> list[bool]:
    start, won = threading.Barrier(several), [False] * several

    def one(n: int) -> None:
        start.wait()
        won[n] = call(n)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(several)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


def test_files_of_this_machine(tmp_path: Path) -> None:
    keeps_its_promises(LOCAL, str(tmp_path))


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    tmp_path.joinpath("file").write_text("")
    with pytest.raises(FlinkDdlError, match=r"FD822.*/file/plan' cannot be used: (Not a directory|File exists)"):
        LOCAL.write(f"{tmp_path}/file/plan", "x")


@pytest.mark.spark
def test_files_of_another_file_system(spark: SparkSession, viewfs: str) -> None:
    storage, root = storage_of(spark, f"{viewfs}/promises")
    assert isinstance(storage, SparkStorage)
    assert root == f"{viewfs}/promises"
    keeps_its_promises(storage, root)


@pytest.mark.spark
def test_spark_says_what_a_path_means(spark: SparkSession, tmp_path: Path) -> None:
    assert storage_of(spark, f"file://{tmp_path}/a b") == (LOCAL, f"{tmp_path}/a b")
    with pytest.raises(FlinkDdlError, match=r'FD822.*cannot be used: No FileSystem for scheme "nowhere"'):
        storage_of(spark, "nowhere://h/state")
