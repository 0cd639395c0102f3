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

    from pyspark.sql import SparkSession

    from flinkddl.results import Rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

CHANGES = (
    '{"before":null,"after":{"a":"x","b":1},"op":"c"}',
    '{"before":{"a":"x","b":1},"after":{"a":"x","b":5},"op":"u"}',
    '{"before":null,"after":{"a":"y","b":2},"op":"c"}',
)
# format, its options, lines, rows of SELECT a, SUM(b) GROUP BY a
READ: list[tuple[str, str, tuple[str, ...], list[tuple[Any, ...]]]] = [
    ("csv", ", 'csv.ignore-parse-errors' = 'true'", ("x,1", "y,2", "x", "x,3"), [("x", 4), ("y", 2)]),
    ("json", "", ('{"a":"x","b":1}', '{"b":2,"a":"ü"}'), [("x", 1), ("ü", 2)]),
    ("debezium-json", "", CHANGES, [("x", 5), ("y", 2)]),
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


@pytest.mark.parametrize(("format", "options", "lines", "wanted"), READ, ids=[c[0] for c in READ])
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


def test_a_line_that_does_not_fit_ends_the_job(spark: SparkSession) -> None:
    catalog = Catalog(spark, views=False)
    with serving(('{"a":"x","b":"no number"}',)) as port:
        catalog.execute(f"""CREATE TABLE s (a STRING, b INT) WITH ('connector' = 'socket', 'hostname' = '127.0.0.1',
          'port' = '{port}', 'format' = 'json')""")
        with pytest.raises(FlinkDdlError, match=r"FD750.*line of table 's': column 'b'"):
            catalog.execute("SELECT a, b FROM s").changes(lambda rows: None).await_termination(120)
