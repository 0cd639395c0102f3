"""socket tables: a server of this test writes lines, the job reads them while it lasts."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.results import Progress, Rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

CHANGES = (
    '{"before":null,"after":{"a":"x","b":1},"op":"c"}',
    '{"before":{"a":"x","b":1},"after":{"a":"x","b":5},"op":"u"}',
    '{"before":null,"after":{"a":"y","b":2},"op":"c"}',
)
LONG = "ü€" * 100_000
# format, its options, lines, rows of SELECT a, SUM(b) GROUP BY a
READ: list[tuple[str, str, tuple[str, ...], list[tuple[Any, ...]]]] = [
    ("csv", ", 'csv.ignore-parse-errors' = 'true'", ("x,1", "y,2", "x", "x,3"), [("x", 4), ("y", 2)]),
    ("json", "", ('{"a":"x","b":1}', '{"b":2,"a":"ü"}'), [("x", 1), ("ü", 2)]),
    ("debezium-json", "", CHANGES, [("x", 5), ("y", 2)]),
    ("json", "", ('{"a":"x","b":1}\r', f'{{"a":"{LONG}","b":2}}', '{"a":"x","b":4}'), [("x", 5), (LONG, 2)]),
]


@contextmanager
def serving(lines: tuple[str, ...]) -> Iterator[int]:
    """Listen, and write the lines to who comes; the connection stays open until the end. Spark connects twice."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            try:
                while True:
                    client, _ = server.accept()
                    held.append(client)
                    client.sendall("".join(f"{line}\n" for line in lines).encode())
            except OSError:
                return

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        server.close()
        for client in held:
            client.close()


@pytest.mark.parametrize(
    ("format", "options", "lines", "wanted"), READ, ids=[f"{c[0]}-{i}" for i, c in enumerate(READ)]
)
def test_lines_become_rows(spark: SparkSession, format: str, options: str, lines: Any, wanted: Any) -> None:
    catalog = Catalog(spark, views=False)
    net: dict[tuple[Any, ...], int] = {}

    def take(rows: Rows) -> None:
        for change in rows.changes:
            net[change.row] = net.get(change.row, 0) + (1 if change.kind in ("+I", "+U") else -1)

    with serving(lines) as port:
        catalog.execute(f"""CREATE TABLE s (a STRING, b INT) WITH ('connector' = 'socket', 'hostname' = '127.0.0.1',
          'port' = '{port}', 'byte-delimiter' = '10', 'format' = '{format}'{options})""")
        job = catalog.execute("SELECT a, SUM(b) FROM s GROUP BY a").changes(take)
        end = time.monotonic() + 120
        while (rows := sorted(r for r, n in net.items() if n)) != wanted and time.monotonic() < end:
            time.sleep(0.2)
        job.stop()
    assert rows == wanted


def test_a_server_that_ends_within_a_line(spark: SparkSession) -> None:
    """Its last line is what there is of it, a byte that is no UTF-8 becomes U+FFFD; the job waits and goes on."""
    catalog, seen = Catalog(spark, views=False), []

    def serve(server: socket.socket) -> None:
        for _ in range(2):  # Spark asks once whether anybody is there
            client, _ = server.accept()
            client.sendall(b"x\n\xff\ncut o")
            client.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=serve, args=(server,), daemon=True).start()
        catalog.execute(f"""CREATE TABLE s (a STRING) WITH ('connector' = 'socket', 'hostname' = '127.0.0.1',
          'port' = '{server.getsockname()[1]}', 'format' = 'raw')""")
        job = catalog.execute("SELECT a FROM s").changes(lambda rows: seen.extend(c.row for c in rows.changes))
        end = time.monotonic() + 120
        while len(seen) < 3 and time.monotonic() < end:
            time.sleep(0.2)
        running = job.status == "running"
        job.stop()
    assert (seen, running) == ([("x",), ("\ufffd",), ("cut o",)], True)


def test_a_line_that_does_not_fit_ends_the_job(spark: SparkSession) -> None:
    catalog = Catalog(spark, views=False)
    with serving(('{"a":"x","b":"no number"}',)) as port:
        catalog.execute(f"""CREATE TABLE s (a STRING, b INT) WITH ('connector' = 'socket', 'hostname' = '127.0.0.1',
          'port' = '{port}', 'format' = 'json')""")
        with pytest.raises(FlinkDdlError, match=r"line of table 's': column 'b'.*FD750"):
            catalog.execute("SELECT a, b FROM s").changes(lambda rows: None).await_termination(120)


def test_nobody_listens(spark: SparkSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    catalog = Catalog(spark, views=False)
    catalog.execute(f"""CREATE TABLE s (a STRING) WITH ('connector' = 'socket', 'hostname' = '127.0.0.1',
      'port' = '{port}', 'format' = 'raw')""")
    with pytest.raises(FlinkDdlError, match="Connection refused"):
        catalog.execute("SELECT a FROM s").changes(lambda rows: None).await_termination(120)


def test_no_run_goes_on_where_another_ended(spark: SparkSession, tmp_path: Path) -> None:
    """Spark counts lines from 0 with each run: as many as the first has read would be left out."""
    catalog = Catalog(spark, views=False)
    with serving(("x", "y")) as port:
        catalog.execute_all(f"""SET 'execution.checkpointing.dir' = '{tmp_path}';
          CREATE TABLE s (a STRING) WITH ('connector' = 'socket', 'hostname' = '127.0.0.1', 'port' = '{port}',
            'format' = 'raw');
          CREATE TABLE b (a STRING) WITH ('connector' = 'blackhole')""")
        seen: list[Progress] = []
        job = catalog.execute_all("INSERT INTO b SELECT a FROM s", run={"on_progress": seen.append})[-1].job
        assert job is not None
        end = time.monotonic() + 120
        while not seen and time.monotonic() < end:
            time.sleep(0.2)
        job.stop()
        with pytest.raises(FlinkDdlError, match="FD479"):
            catalog.execute("INSERT INTO b SELECT a FROM s").await_termination(120)
