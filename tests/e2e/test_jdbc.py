"""jdbc tables on a real database: Derby, which comes with Spark's own jars. What Spark wrote is read by Derby itself.

PostgreSQL and SQLite have an "insert or update" of their own; Derby has none, so it is updated first.
"""

from __future__ import annotations

import json
import time
import uuid
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.support.kernels import kernel_session

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


class Derby:
    """A Derby database in memory, with Flink tables over its tables."""

    def __init__(self) -> None:
        self.spark: Any = kernel_session()
        self.catalog = Catalog(self.spark)
        self.url = f"jdbc:derby:memory:{uuid.uuid4().hex};create=true"
        self.reader = {"url": self.url, "driver": "org.apache.derby.jdbc.EmbeddedDriver"}

    def make(self, sql: str) -> None:
        """Run a statement of Derby's own: Spark runs it when it opens a connection to read."""
        one = {"query": "SELECT 1 AS one FROM sysibm.sysdummy1", "sessionInitStatement": sql}
        self.spark.read.format("jdbc").options(**self.reader, **one).load().collect()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return what Derby answers."""
        found = self.spark.read.format("jdbc").options(**self.reader, query=query).load().collect()
        return sorted((tuple(r) for r in found), key=repr)

    def await_rows(self, query: str, wanted: list[tuple[Any, ...]]) -> None:
        end = time.monotonic() + 240
        while self.rows(query) != wanted:
            assert time.monotonic() < end, self.rows(query)
            time.sleep(0.5)

    def table(self, name: str, columns: str, of: str, **options: str) -> None:
        """Declare a Flink table over a table of the database."""
        given = {"connector": "jdbc", "url": self.url, "table-name": of}
        given |= {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
        listed = ", ".join(f"'{k}' = '{v}'" for k, v in given.items())
        self.run(f"CREATE TABLE {name} ({columns}) WITH ({listed})")

    def run(self, sql: str) -> None:
        assert self.catalog.execute(sql).await_termination(120.0)

    def read(self, sql: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(r) for r in self.catalog.execute(sql).collect()), key=repr)


@pytest.fixture
def derby() -> Derby:
    return Derby()


DERBY_TYPES = (
    "b BOOLEAN, s SMALLINT, i INT, l BIGINT, r REAL, d DOUBLE, p DECIMAL(10,2), t VARCHAR(20), c CHAR(3), "
    "y VARCHAR(8) FOR BIT DATA, dt DATE, ti TIME, ts TIMESTAMP"
)
FLINK_TYPES = (
    "b BOOLEAN, s SMALLINT, i INT, l BIGINT, r FLOAT, d DOUBLE, p DECIMAL(10,2), t STRING, c CHAR(3), "
    "y BYTES, dt DATE, ti TIME, ts TIMESTAMP(6)"
)
ONE_OF_EACH = (
    "true, CAST(-7 AS SMALLINT), 2147483647, 9223372036854775807, CAST(1.5 AS FLOAT), 2.25, 12345678.90, 'it''s', "
    "'abc', x'00ff', DATE '1999-12-31', TIME '23:59:59', TIMESTAMP '2020-01-02 03:04:05.123456'"
)
VALUES = (
    True, -7, 2147483647, 9223372036854775807, 1.5, 2.25, Decimal("12345678.90"), "it's", "abc",
    b"\x00\xff", date(1999, 12, 31), 86399000, datetime(2020, 1, 2, 3, 4, 5, 123456),
)  # fmt: skip


def test_every_type_there_and_back(derby: Derby) -> None:
    derby.make(f"CREATE TABLE typed ({DERBY_TYPES})")
    derby.table("typed", FLINK_TYPES, "typed")
    nulls = ", ".join(f"CAST(NULL AS {c.split(maxsplit=1)[1]})" for c in FLINK_TYPES.split(", "))
    derby.run(f"INSERT INTO typed VALUES ({ONE_OF_EACH})")
    derby.run(f"INSERT INTO typed SELECT {nulls}")
    full = [r for r in derby.read("SELECT * FROM typed") if r[0] is not None]
    assert [tuple(bytes(v) if isinstance(v, bytearray) else v for v in r) for r in full] == [VALUES]
    assert [r for r in derby.read("SELECT * FROM typed") if r[0] is None] == [(None,) * len(VALUES)]
    (theirs,) = derby.rows("SELECT CAST(ts AS CHAR(26)) AS a, CAST(ti AS CHAR(8)) AS b FROM typed WHERE b = true")
    assert theirs == ("2020-01-02 03:04:05.123456", "23:59:59")


def test_without_a_key_rows_are_appended(derby: Derby) -> None:
    derby.make("CREATE TABLE log (k INT, v VARCHAR(9))")
    derby.table("log", "k INT, v STRING", "log")
    derby.run("INSERT INTO log VALUES (1, 'a'), (1, 'a'), (2, 'b')")
    derby.run("INSERT INTO log VALUES (1, 'a')")
    assert derby.rows("SELECT k, v FROM log") == [(1, "a"), (1, "a"), (1, "a"), (2, "b")]


def test_with_a_key_rows_are_inserted_or_updated(derby: Derby) -> None:
    derby.make("CREATE TABLE kept (a INT NOT NULL, b VARCHAR(9) NOT NULL, v DOUBLE, PRIMARY KEY (a, b))")
    derby.table("kept", "v DOUBLE, a INT, b STRING, PRIMARY KEY (b, a) NOT ENFORCED", "kept")
    derby.run("INSERT INTO kept VALUES (1.0, 1, 'x'), (2.0, 1, 'y'), (3.0, 2, 'x')")
    derby.run("INSERT INTO kept VALUES (9.0, 1, 'y'), (4.0, 3, 'x')")
    assert derby.rows("SELECT a, b, v FROM kept") == [(1, "x", 1.0), (1, "y", 9.0), (2, "x", 3.0), (3, "x", 4.0)]


def test_a_table_of_key_columns_alone(derby: Derby) -> None:
    derby.make("CREATE TABLE seen (k INT NOT NULL PRIMARY KEY)")
    derby.table("seen", "k INT, PRIMARY KEY (k) NOT ENFORCED", "seen")
    for _ in range(2):
        derby.run("INSERT INTO seen VALUES (1), (2)")
    assert derby.rows("SELECT k FROM seen") == [(1,), (2,)]


def changes(folder: Path, lines: list[str]) -> str:
    folder.mkdir()
    (folder / "1.json").write_text("\n".join(lines), encoding="utf-8")
    return str(folder)


def cdc(before: Any, after: Any, op: str) -> str:
    return json.dumps({"before": before, "after": after, "op": op})


def test_a_stream_updates_and_deletes_by_key(derby: Derby, tmp_path: Path) -> None:
    row = [{"k": k, "v": v} for k, v in [("a", 1), ("a", 2), ("b", 5), ("c", 7)]]
    path = changes(tmp_path / "in", [cdc(None, row[0], "c"), cdc(None, row[2], "c")])
    derby.make("CREATE TABLE state (k VARCHAR(9) NOT NULL PRIMARY KEY, v INT)")
    derby.table("state", "k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED", "state")
    options = f"'connector' = 'filesystem', 'path' = '{path}', 'format' = 'debezium-json'"
    options += ", 'source.monitor-interval' = '1 s'"
    derby.run(f"CREATE TABLE changes (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ({options})")
    job = derby.catalog.execute("INSERT INTO state SELECT k, v FROM changes").job
    derby.await_rows("SELECT k, v FROM state", [("a", 1), ("b", 5)])
    more = [cdc(row[0], row[1], "u"), cdc(row[2], None, "d"), cdc(None, row[3], "c")]
    (tmp_path / "part").write_text("\n".join(more), encoding="utf-8")
    (tmp_path / "part").rename(tmp_path / "in" / "2.json")
    derby.await_rows("SELECT k, v FROM state", [("a", 2), ("c", 7)])
    assert job is not None
    job.stop()


def test_updates_need_a_key(derby: Derby) -> None:
    derby.table("counts", "k STRING, n BIGINT", "counts")
    options = "'connector' = 'datagen', 'rows-per-second' = '1'"
    derby.run(f"CREATE TABLE gen (k STRING) WITH ({options})")
    with pytest.raises(FlinkDdlError, match="declare the PRIMARY KEY"):
        derby.run("INSERT INTO counts SELECT k, COUNT(*) FROM gen GROUP BY k")


def test_a_scan_in_parts_reads_what_is_between_the_bounds(derby: Derby) -> None:
    derby.make("CREATE TABLE big (id INT, v INT)")
    derby.make("INSERT INTO big VALUES (0, 0), (1, 1), (5, 5), (10, 10), (11, 11), (NULL, 12)")
    bounds = {"scan_partition_column": "id", "scan_partition_num": "3"}
    bounds |= {"scan_partition_lower__bound": "1", "scan_partition_upper__bound": "10"}
    derby.table("big", "id INT, v INT", "big", **bounds)
    assert derby.read("SELECT v FROM big") == [(1,), (10,), (5,)]
    assert derby.read("SELECT SUM(v) FROM big WHERE id > 1") == [(15,)]


def test_a_lookup_join_meets_the_table_as_it_is(derby: Derby, tmp_path: Path) -> None:
    derby.make("CREATE TABLE customers (id INT NOT NULL PRIMARY KEY, name VARCHAR(9))")
    derby.make("INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob')")
    derby.table("customers", "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED", "customers")
    path = changes(tmp_path / "orders", ['{"o":10,"c":1}', '{"o":11,"c":3}', '{"o":12,"c":2}'])
    options = f"'connector' = 'filesystem', 'path' = '{path}', 'format' = 'json'"
    derby.run(f"CREATE TABLE orders (o INT, c INT, pt AS PROCTIME()) WITH ({options})")
    query = "SELECT o, name FROM orders AS x {} JOIN customers FOR SYSTEM_TIME AS OF x.pt AS y ON x.c = y.id"
    for mode in ("batch", "streaming"):
        derby.run(f"SET 'execution.runtime-mode' = '{mode}'")
        assert derby.read(query.format("")) == [(10, "Ada"), (12, "Bob")]
        assert derby.read(query.format("LEFT")) == [(10, "Ada"), (11, None), (12, "Bob")]


BESIDE = [
    ("SELECT o, name FROM orders FULL JOIN customers ON c = id", [(10, "Ada"), (11, None), (12, "Bob"), (None, "Cy")]),
    ("SELECT c FROM orders UNION ALL SELECT id FROM customers", [(1,), (1,), (2,), (2,), (3,), (4,)]),
    ("SELECT name FROM customers WHERE id NOT IN (SELECT c FROM orders)", [("Cy",)]),
    ("SELECT id FROM customers ORDER BY id DESC LIMIT 2", [(2,), (4,)]),
    ("SELECT o, name FROM orders JOIN customers ON c = id", [(10, "Ada"), (12, "Bob")]),
]


def test_a_table_beside_a_stream(derby: Derby, tmp_path: Path) -> None:
    """An inner join takes it as it is, everywhere else it is a stream that ends."""
    derby.make("CREATE TABLE customers (id INT NOT NULL PRIMARY KEY, name VARCHAR(9))")
    derby.make("INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob'), (4, 'Cy')")
    derby.table("customers", "id INT, name STRING", "customers")
    path = changes(tmp_path / "orders", ['{"o":10,"c":1}', '{"o":11,"c":3}', '{"o":12,"c":2}'])
    derby.run(f"CREATE TABLE orders (o INT, c INT) WITH ('connector'='filesystem', 'path'='{path}', 'format'='json')")
    for mode in ("streaming", "batch"):
        derby.run(f"SET 'execution.runtime-mode' = '{mode}'")
        assert [derby.read(query) for query, _ in BESIDE] == [sorted(rows, key=repr) for _, rows in BESIDE]


def test_what_the_database_refuses_is_told_without_secrets(derby: Derby) -> None:
    derby.make("CREATE TABLE short (k VARCHAR(2) NOT NULL PRIMARY KEY)")
    derby.table("short", "k STRING", "APP.short", sink_max__retries="0", username="u", password="hunter2")
    with pytest.raises(FlinkDdlError) as failure:
        derby.run("INSERT INTO short VALUES ('abc')")
    assert "truncation" in str(failure.value)
    assert "hunter2" not in str(failure.value)
    explained = derby.catalog.execute("EXPLAIN INSERT INTO short VALUES ('abc')")
    assert "hunter2" not in "".join(str(r) for r in explained.rows)
