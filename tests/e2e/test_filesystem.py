"""filesystem tables: what Flink 2.3 writes is read, what we write is what it writes (recorded through the oracle)."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.support.kernels import kernel_session

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


class Files:
    """Flink tables over folders below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.catalog = Catalog(kernel_session())

    def put(self, path: str, content: str | bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def table(self, name: str, columns: str, format: str = "csv", parts: str = "", path: str = "", **more: str) -> None:
        given = {"connector": "filesystem", "path": str(self.root / (path or name)), "format": format}
        given |= {k.replace("__", "-").replace("_", "."): v for k, v in more.items()}
        listed = ", ".join(f"'{k}' = '{v}'" for k, v in given.items())
        by = f"PARTITIONED BY ({parts})" if parts else ""
        self.run(f"CREATE TABLE {name} ({columns}) {by} WITH ({listed})")

    def run(self, sql: str) -> None:
        assert self.catalog.execute(sql).await_termination(120.0)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(r) for r in self.catalog.execute(sql).collect()), key=repr)

    def found(self, folder: str) -> dict[str, str]:
        """Return folder -> content of the files that hold data, with the folder's own name taken off."""
        out: dict[str, str] = {}
        for file in sorted((self.root / folder).rglob("part-*")):
            key = file.parent.relative_to(self.root / folder).as_posix()
            out[key] = out.get(key, "") + file.read_text(encoding="utf-8")
        return {k: "".join(sorted(v.splitlines(keepends=True))) for k, v in out.items()}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


# name, format, columns, content, rows: as Flink gives them
READ = [
    ("csv-line-ends", "csv", "a STRING, b INT", "x,1\ry,2\r\nz,3\n", [("x", 1), ("y", 2), ("z", 3)]),
    ("csv-last-line", "csv", "a STRING, b INT", "x,1\ny,2", [("x", 1), ("y", 2)]),
    ("csv-bom", "csv", "a STRING, b INT", "\ufeffx,1\ny,2\n", [("x", 1), ("y", 2)]),
    ("csv-trailing-comma", "csv", "a STRING, b INT", "x,1,\ny,2\n", [("x", 1), ("y", 2)]),
    ("json-line-ends", "json", "a STRING, b INT", '{"a":"x","b":1}\r\n\n{"a":"x",\r"b":2}', [("x", 1), ("x", 2)]),
    ("json-array", "json", "a STRING, b INT", '[{"a":"p","b":3},{"a":"q","b":4}]\n', [("p", 3), ("q", 4)]),
    ("raw", "raw", "a STRING", "x,1\ry,2\r\nz,3\n", [("x,1\ry,2",), ("z,3",)]),
]  # fmt: skip


@pytest.mark.parametrize(("format", "columns", "content", "rows"), [c[1:] for c in READ], ids=[c[0] for c in READ])
def test_lines(files: Files, format: str, columns: str, content: str, rows: Any) -> None:
    files.put("t/a.txt", content)
    files.table("t", columns, format)
    assert files.rows("SELECT * FROM t") == rows


def test_folders_below_are_read_and_hidden_files_are_not(files: Files) -> None:
    for path in ("a.csv", "_hidden.csv", ".hidden", "sub/b.csv", "_sub/c.csv"):
        files.put(f"t/{path}", f"{path},1\n")
    files.put("t/z.csv.gz", gzip.compress(b"gz,1\n"))
    files.table("t", "a STRING, b INT")
    assert files.rows("SELECT a FROM t") == [("a.csv",), ("gz",), ("sub/b.csv",)]
    files.table("one", "a STRING, b INT", path="t/a.csv")
    assert files.rows("SELECT a FROM one") == [("a.csv",)]
    files.table("chosen", "a STRING, b INT", path="t", source_path_regex__pattern=".*/sub/.*")
    assert files.rows("SELECT a FROM chosen") == [("sub/b.csv",)]


def test_partitions_and_metadata_are_read_from_the_path(files: Files) -> None:
    files.put("p=out/t/top.csv", "top,1\n")
    for folder, value in {"p=a%2Fb": "x,1", "p=a+b": "y,2", "p=c d": "w,4", "p=__DEFAULT_PARTITION__": "z,3"}.items():
        files.put(f"p=out/t/{folder}/f.csv", value + "\n")
    meta = "n STRING METADATA FROM 'file.name', f STRING METADATA FROM 'file.path', s BIGINT METADATA FROM 'file.size'"
    files.table("t", f"a STRING, b INT, p STRING, {meta}", parts="p", path="p=out/t")
    assert files.rows("SELECT a, b, p FROM t") == [("w", 4, "c d"), ("x", 1, "a/b"), ("y", 2, "a+b"), ("z", 3, None)]
    path = f"{files.root}/p=out/t/p=a%2Fb/f.csv"
    assert files.rows("SELECT a, n, f, s FROM t WHERE p = 'a/b'") == [("x", "f.csv", path, 4)]


def test_what_flink_writes_is_what_we_write(files: Files) -> None:
    parts = "p, q, bo, ts, de"
    types = "p STRING, q INT, bo BOOLEAN, ts TIMESTAMP(3), de DECIMAL(5,2)"
    files.table("t", f"a STRING, b DECIMAL(10,2), c DATE, d TIMESTAMP(3), {types}", parts=parts)
    files.run(
        "INSERT INTO t VALUES ('x', 100.00, DATE '2020-01-02', TIMESTAMP '2020-01-02 03:04:05.120', 'a/b c:d+e%', 5, "
        "true, TIMESTAMP '2020-01-02 03:04:05.120', 5.10), (CAST(NULL AS STRING), 5.1, DATE '2020-01-02', "
        "TIMESTAMP '2020-01-02 03:04:05', '', CAST(NULL AS INT), CAST(NULL AS BOOLEAN), "
        "TIMESTAMP '2020-01-02 03:04:00', 5.1)"
    )
    none = "__DEFAULT_PARTITION__"
    assert files.found("t") == {
        "p=a%2Fb c%3Ad+e%25/q=5/bo=true/ts=2020-01-02T03%3A04%3A05.120/de=5.10": (
            'x,1E+2,2020-01-02,"2020-01-02 03:04:05.12"\n'
        ),
        f"p={none}/q={none}/bo={none}/ts=2020-01-02T03%3A04/de=5.10": (',5.1,2020-01-02,"2020-01-02 03:04:05"\n'),
    }
    read = files.rows("SELECT a, p, q, bo, CAST(ts AS STRING), CAST(de AS STRING) FROM t")
    assert read == [
        ("", None, None, None, "2020-01-02 03:04:00.000", "5.10"),
        ("x", "a/b c:d+e%", 5, True, "2020-01-02 03:04:05.120", "5.10"),
    ]


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_overwrite_replaces_the_table_or_its_written_partitions(files: Files, format: str) -> None:
    files.run("SET 'execution.runtime-mode' = 'batch'")
    files.table("w", "a STRING, b INT", format)
    files.table("p", "a STRING, b INT, p STRING", format, parts="p")
    files.run("INSERT INTO w VALUES ('x', 1)")
    files.run("INSERT INTO w VALUES ('y', 2)")
    assert files.rows("SELECT * FROM w") == [("x", 1), ("y", 2)]
    files.run("INSERT OVERWRITE w VALUES ('z', 3)")
    assert files.rows("SELECT * FROM w") == [("z", 3)]
    files.run("INSERT INTO p VALUES ('x', 1, 'p1'), ('y', 2, 'p2')")
    files.run("INSERT OVERWRITE p VALUES ('z', 3, 'p2')")
    assert files.rows("SELECT * FROM p") == [("x", 1, "p1"), ("z", 3, "p2")]
    files.run("INSERT OVERWRITE p PARTITION (p = 'p1') SELECT a, b FROM w WHERE b > 100")
    files.run("INSERT INTO p PARTITION (p = 'p9') VALUES ('n', 9)")
    assert files.rows("SELECT * FROM p") == [("n", 9, "p9"), ("x", 1, "p1"), ("z", 3, "p2")]
    files.run("INSERT OVERWRITE w SELECT a, b FROM p WHERE b > 100")
    assert files.rows("SELECT * FROM w") == []


@pytest.mark.parametrize("source", ["p", "(SELECT x.* FROM w JOIN p AS x ON w.a = x.a)"])
def test_overwriting_what_is_read_is_refused(files: Files, source: str) -> None:
    files.run("SET 'execution.runtime-mode' = 'batch'")
    files.table("w", "a STRING, b INT")
    files.table("p", "a STRING, b INT, p STRING", parts="p")
    with pytest.raises(FlinkDdlError, match="FD658"):
        files.run(f"INSERT OVERWRITE p SELECT * FROM {source}")


TYPES = (
    "s STRING, i INT, l BIGINT, d DOUBLE, bo BOOLEAN, p DECIMAL(10,2), y BYTES, dt DATE, ti TIME(3), ts TIMESTAMP(3), "
    "lz TIMESTAMP_LTZ(3), ar ARRAY<INT>, r ROW<x INT, y STRING>"
)
ONE = (
    "'a', 1, 2, CAST(0.5 AS DOUBLE), true, 3.10, x'00ff', DATE '2020-02-29', TIME '01:02:03.004', "
    "TIMESTAMP '2020-01-02 03:04:05.006', TO_TIMESTAMP_LTZ(1577934245006, 3), ARRAY[1, 2], "
    "CAST(ROW(1, 'b') AS ROW<x INT, y STRING>)"
)


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_what_is_written_reads_back(files: Files, format: str) -> None:
    files.table("t", TYPES, format)
    files.run(f"INSERT INTO t VALUES ({ONE})")
    names = [c.split()[0] for c in TYPES.split(", ") if c[0] != "y" or c.startswith("y B")]
    shown = ", ".join(f"CAST({n} AS STRING)" for n in names if n not in ("ar", "r", "y"))
    assert files.rows(f"SELECT {shown}, ar[2], r.y FROM t") == files.rows(
        f"SELECT {shown}, ar[2], r.y FROM (VALUES ({ONE})) AS t ({', '.join(names)})"
    )


@pytest.mark.parametrize("codec", ["GZIP", "ZSTD"])
def test_properties_of_the_parquet_writer(files: Files, codec: str) -> None:
    from pyarrow.parquet import ParquetFile

    files.table("t", "a INT", "parquet", parquet_compression=codec)
    files.run("INSERT INTO t VALUES (1)")
    (file,) = (files.root / "t").glob("part-*")
    assert ParquetFile(file).metadata.row_group(0).column(0).compression == codec


def changes(*pairs: tuple[Any, Any, str]) -> str:
    return "".join(json.dumps({"before": a, "after": b, "op": op}) + "\n" for a, b, op in pairs)


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_a_stream_reads_folders_and_writes_partitions(files: Files, format: str) -> None:
    files.run("SET 'execution.runtime-mode' = 'batch'")
    files.table("src", "a STRING, b INT, p STRING", format, parts="p")
    files.run("INSERT INTO src VALUES ('x', 1, 'p1'), ('y', 2, 'p2'), ('z', 3, 'p2')")
    files.run("SET 'execution.runtime-mode' = 'streaming'")
    files.table("dst", "b INT, q STRING, a STRING", format, parts="q, a")
    files.run("INSERT INTO dst SELECT b, p, a FROM src WHERE b > 1")
    files.run("SET 'execution.runtime-mode' = 'batch'")
    assert files.rows("SELECT * FROM dst") == [(2, "p2", "y"), (3, "p2", "z")]


@pytest.mark.parametrize("state", ["auto", "keyed"])
@pytest.mark.parametrize("other", ["w", "v"], ids=["join", "self-join"])
def test_a_stream_joins_inserts_into_files(files: Files, state: str, other: str) -> None:
    """Spark writes files in output mode append alone: its own join gives a pair once and for all."""
    files.put("v/a", "1,a\n2,b\n")
    files.put("w/a", "2,x\n2,y\n3,z\n")
    files.table("v", "id INT, k STRING")
    files.table("w", "id INT, k STRING")
    files.table("o", "k STRING, l STRING")
    files.run(f"SET 'execution.runtime-mode' = 'streaming'; SET 'flinkddl.execution.state' = '{state}'")
    files.run(f"INSERT INTO o SELECT a.k, b.k FROM v AS a JOIN {other} AS b ON a.id = b.id")
    assert files.found("o") == {".": "b,x\nb,y\n" if other == "w" else "a,a\nb,b\n"}


def test_changes_in_files(files: Files) -> None:
    one, two = {"a": "x", "b": 1}, {"a": "y", "b": 1}
    files.put("t/1.json", changes((None, one, "c"), (one, two, "u")))
    files.table("t", "a STRING, b INT", "debezium-json")
    files.run("SET 'execution.runtime-mode' = 'streaming'")
    assert files.rows("SELECT a, COUNT(*) FROM t GROUP BY a") == [("y", 1)]


def test_a_batch_into_what_a_stream_wrote_is_refused(files: Files) -> None:
    files.put("src/1.json", '{"a":1}\n')
    files.table("src", "a INT", "json")
    files.table("dst", "a INT", "json")
    files.run("SET 'execution.runtime-mode' = 'streaming'")
    files.run("INSERT INTO dst SELECT a FROM src")
    files.run("SET 'execution.runtime-mode' = 'batch'")
    with pytest.raises(FlinkDdlError, match="FD848"):
        files.run("INSERT INTO dst VALUES (2)")
    files.run("INSERT OVERWRITE dst VALUES (3)")
    assert files.rows("SELECT * FROM dst") == [(3,)]


def test_five_batch_jobs_into_one_table(files: Files) -> None:
    """Started at once: none takes away what another has written and not committed yet."""
    files.run("SET 'execution.runtime-mode' = 'batch'")
    for n in range(4):
        files.put(f"src/{n}.csv", "".join(f"{i}\n" for i in range(5000)))
    files.table("src", "a INT")
    files.table("dst", "j INT, a INT, p INT", parts="p")
    inserts = "".join(f"INSERT INTO dst SELECT {n}, a, a / 2500 FROM src;" for n in range(5))
    for result in files.catalog.execute_all(inserts):
        assert result.await_termination(120.0)
    assert files.rows("SELECT j, COUNT(*) FROM dst GROUP BY j") == [(n, 20_000) for n in range(5)]


def test_a_second_stream_into_a_folder_is_refused(files: Files, tmp_path: Path) -> None:
    """Spark would take its first batches for written: with its checkpoint a stream goes on, anew it is refused."""
    files.put("src/1.json", '{"a":1}\n')
    files.table("src", "a INT", "json")
    files.table("dst", "a INT", "json")
    files.run("SET 'execution.runtime-mode' = 'streaming'")
    files.run(f"SET 'execution.checkpointing.dir' = '{tmp_path}/state'")
    files.run("INSERT INTO dst SELECT a FROM src")
    files.put("src/2.json", '{"a":2}\n')
    files.run("INSERT INTO dst SELECT a FROM src")
    files.run("RESET 'execution.checkpointing.dir'")
    with pytest.raises(FlinkDdlError, match=r"FD848.*another streaming job"):
        files.run("INSERT INTO dst SELECT a + 10 FROM src")
    files.run("SET 'execution.runtime-mode' = 'batch'")
    assert files.rows("SELECT * FROM dst") == [(1,), (2,)]


def test_a_job_beside_a_running_stream_is_refused(files: Files) -> None:
    """One statement after the other, as in the shell: the first may not have written anything yet."""
    files.put("src/1.json", '{"a":1}\n')
    files.table("src", "a INT", "json", source_monitor__interval="1s")
    files.table("dst", "a INT", "json")
    job = files.catalog.execute("INSERT INTO dst SELECT a FROM src").job
    assert job is not None
    for insert in ("INSERT INTO dst SELECT a + 10 FROM src", "INSERT INTO dst VALUES (2)"):
        with pytest.raises(FlinkDdlError, match=r"FD848.*streams into"):
            files.run(insert)
    job.stop()
    assert job.status == "stopped"


def test_a_folder_that_is_not_there(files: Files) -> None:
    files.table("t", "a STRING")
    with pytest.raises(FlinkDdlError, match="nothing is at"):
        files.rows("SELECT * FROM t")


def test_an_empty_folder(files: Files) -> None:
    (files.root / "t").mkdir()
    files.table("t", "a STRING")
    assert files.rows("SELECT * FROM t") == []
