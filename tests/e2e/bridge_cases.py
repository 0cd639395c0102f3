"""The catalog inside Spark's own session, line by line of what it promises: the same cases on three kinds of session.

test_bridge.py runs them on the user's own session, and in a process of their own on a session that the catalog built
(``FLINKDDL_SESSION`` = ours), test_connect.py over Spark Connect (remote): PySpark takes one kind in a process.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.session.sessions import job_session
from tests.support.spark import SHORT_LIVED
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KIND = os.environ.get("FLINKDDL_SESSION", "own")
TURNED = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "Asia/Kolkata",
    "spark.sql.caseSensitive": "false",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
}
"""What a user's session may be set to; ours is set to the opposite of each."""
_TIMES = [("2024-03-10T01:59:58.123", "2024-03-10T01:59:58Z"), ("2024-03-10T02:30:00.5", "2024-03-10T02:30:00Z")]
ORDERS = [
    {"id": 1, "User": "ann", "user": "A", "price": "1.50", "ts": _TIMES[0][0], "at": _TIMES[0][1]},
    {"id": 2, "User": "bob", "user": "B", "price": "2.25", "ts": _TIMES[1][0], "at": _TIMES[1][1]},
    {"id": 3, "User": "ann", "user": "A", "price": None, "ts": "2024-03-10T02:31:00", "at": None},
]
DDL = """
CREATE TABLE orders (id BIGINT, `User` STRING, `user` STRING, price DECIMAL(6, 2), ts TIMESTAMP(3),
  `at` TIMESTAMP_LTZ(3), twice AS id * 2, text AS CAST(price AS STRING), `day` AS DATE_FORMAT(ts, 'yyyy-MM-dd HH'),
  attributes AS MAP['a', id, 'a', id + 1], off BIGINT METADATA FROM 'offset' VIRTUAL,
  heads MAP<STRING, BYTES> METADATA FROM 'headers' VIRTUAL, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'kafka', 'topic' = '{orders}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json',
  'json.timestamp-format.standard' = 'ISO-8601', {kafka});
CREATE TABLE latest (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{latest}', 'key.format' = 'json', 'value.format' = 'json', {kafka});
CREATE TABLE cdc (id BIGINT, v STRING) WITH ('connector' = 'kafka', 'topic' = '{cdc}', 'format' = 'debezium-json',
  'scan.startup.mode' = 'earliest-offset', {kafka});
CREATE TABLE totals (name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{totals}', 'key.format' = 'json', 'value.format' = 'json', {kafka});
CREATE TABLE plain (id BIGINT, name STRING) WITH ('connector' = 'kafka', 'topic' = '{plain}', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset', {kafka});
CREATE VIEW spent AS SELECT `User`, SUM(price) AS price FROM orders GROUP BY `User`;
"""


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A session of the user's own with everything turned round, the one that the catalog builds, or a remote one."""
    if KIND == "own":
        mine = request.getfixturevalue("spark").newSession()
        for key, value in TURNED.items():
            mine.conf.set(key, value)
        yield mine
    elif KIND == "remote":
        from pyspark.sql import SparkSession

        remote: Any = SparkSession.builder.remote(request.getfixturevalue("connect_address")).getOrCreate()
        for key, value in TURNED.items():
            remote.conf.set(key, value)
        yield remote
        remote.stop()
    else:
        from flinkddl.runtime.session.sessions import SparkOptions

        first = Catalog(options=SparkOptions(master="local[2]", conf=SHORT_LIVED | TURNED))
        yield first.spark
        first.stop()


@pytest.fixture
def kafka(broker: Any) -> str:
    return f"'properties.bootstrap.servers' = '{broker.bootstrap}', 'properties.group.id' = 'g'"


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def catalog(
    session: Any, broker: Any, new_topic: Callable[..., str], kafka: str, notes: list[str]
) -> Iterator[Catalog]:
    """Tables over topics of their own, filled."""
    topics = {name: new_topic(name) for name in ("orders", "latest", "cdc", "totals", "plain")}
    upsert = kafka.partition(",")[0]
    ddl = DDL
    for name, topic in topics.items():
        ddl = ddl.replace(f"{{{name}}}", topic)
    lines = [line.replace("{kafka}", upsert if "key.format" in line else kafka) for line in ddl.splitlines()]
    send(broker.bootstrap, topics["orders"], ORDERS)
    put(broker, topics["latest"], [(1, "a"), (2, "b"), (1, "c"), (2, None), (3, "d")])
    changes = [(None, {"id": 1, "v": "a"}, "c"), ({"id": 1, "v": "a"}, {"id": 1, "v": "b"}, "u")]
    changes += [(None, {"id": 2, "v": "x"}, "c"), ({"id": 2, "v": "x"}, None, "d")]
    send(broker.bootstrap, topics["cdc"], [{"before": b, "after": a, "op": op} for b, a, op in changes])
    own = Catalog(session, notice=notes.append)
    own.execute("\n".join(lines))
    yield own
    own.stop()


def put(broker: Any, topic: str, rows: list[tuple[int, str | None]]) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for key, value in rows:
        body = None if value is None else json.dumps({"id": key, "v": value}).encode()
        producer.send(topic, key=json.dumps({"id": key}).encode(), value=body)
    producer.close()


def topic_of(catalog: Catalog, table: str) -> str:
    found = catalog.state.find((table,))
    assert found is not None
    return str(found.options["topic"].value)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in frame.collect()]


def streamed(frame: Any, session: Any, folder: Path, mode: str = "append") -> list[tuple[Any, ...]]:
    """Run a streaming DataFrame over what is there, and return its rows."""
    name = f"streamed_{folder.name}_{threading.get_ident()}".replace("-", "_")
    writer = frame.writeStream.format("memory").queryName(name).outputMode(mode)
    writer.option("checkpointLocation", str(folder / "state")).trigger(availableNow=True).start().awaitTermination()
    return rows(session.table(name))


def views(session: Any) -> set[str]:
    return {t.name for t in session.catalog.listTables() if t.isTemporary and not t.name.startswith("streamed_")}


# ---- 1: tables and views are temp views ----------------------------------------------------------------------------


def test_ddl_makes_temp_views_under_their_names(catalog: Catalog, session: Any) -> None:
    assert views(session) >= {"orders", "latest", "cdc", "totals", "plain", "spent"}
    assert session.table("orders").isStreaming
    assert session.sql("SELECT id FROM orders").columns == ["id"]
    assert session.table("spent").columns == ["User", "price", "_row_kind"]


def test_a_streaming_view_gives_the_rows_of_select_star(catalog: Catalog, session: Any, tmp_path: Path) -> None:
    ours = catalog.execute("SET 'execution.runtime-mode' = 'streaming'; SELECT * FROM orders")
    got: list[Any] = []
    job = ours.changes(lambda batch: got.extend(c.row for c in batch.changes))
    assert job.await_input(120)
    job.stop()
    assert streamed(session.table("orders"), session, tmp_path) == got
    assert len(got) == len(ORDERS)


def test_a_batch_view_reads_anew_at_each_use(catalog: Catalog, session: Any, broker: Any) -> None:
    catalog.execute("SET 'execution.runtime-mode' = 'batch'")
    assert not session.table("latest").isStreaming
    assert sorted(rows(session.sql("SELECT * FROM latest"))) == [(1, "c"), (3, "d")]
    put(broker, topic_of(catalog, "latest"), [(3, None), (4, "e")])
    assert sorted(rows(session.sql("SELECT * FROM latest"))) == [(1, "c"), (4, "e")]
    assert rows(session.table("cdc")) == [(1, "b")]
    assert rows(session.table("orders").select("id", "text")) == [(1, "1.50"), (2, "2.25"), (3, None)]
    assert {(u, str(p)) for u, p in rows(session.table("spent"))} == {("ann", "1.50"), ("bob", "2.25")}
    catalog.execute("RESET 'execution.runtime-mode'")
    assert session.table("latest").isStreaming


def test_updates_are_changes_with_their_kind(catalog: Catalog, session: Any, tmp_path: Path) -> None:
    cdc = streamed(session.table("cdc"), session, tmp_path / "cdc")
    assert cdc == [(1, "a", "+I"), (1, "a", "-U"), (1, "b", "+U"), (2, "x", "+I"), (2, "x", "-D")]
    latest = streamed(session.table("latest"), session, tmp_path / "latest", "update")
    assert sorted(latest) == [(1, "c", "+I"), (3, "d", "+I")]


def test_updates_over_batches_take_back_what_they_gave(
    catalog: Catalog, session: Any, broker: Any, tmp_path: Path
) -> None:
    writer = session.table("latest").writeStream.format("memory").queryName("streamed_latest").outputMode("update")
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    query.processAllAvailable()
    put(broker, topic_of(catalog, "latest"), [(1, "z"), (3, None), (9, "n")])
    query.processAllAvailable()
    query.stop()
    assert sorted(rows(session.table("streamed_latest"))[2:]) == [
        (1, "c", "-U"), (1, "z", "+U"), (3, "d", "-D"), (9, "n", "+I"),
    ]  # fmt: skip


def test_a_bounded_table_is_a_batch_view_in_both_modes(catalog: Catalog, session: Any) -> None:
    catalog.execute("CREATE TABLE ended WITH ('scan.bounded.mode' = 'latest-offset') LIKE plain")
    assert not session.table("ended").isStreaming
    assert not catalog.table("ended").isStreaming
    assert catalog.table("ended", mode="streaming").isStreaming


def test_either_mode_whatever_is_set(catalog: Catalog, tmp_path: Path) -> None:
    assert catalog.table("orders").isStreaming
    assert not catalog.table("orders", mode="batch").isStreaming
    assert catalog.table("default_database.orders", mode="streaming").isStreaming
    assert rows(catalog.table("`latest`", mode="batch").orderBy("id")) == [(1, "c"), (3, "d")]
    with pytest.raises(FlinkDdlError, match=r"'order' does not exist.*orders"):
        catalog.table("order")


def test_a_watermark_is_sparks_own(catalog: Catalog, session: Any, broker: Any, tmp_path: Path) -> None:
    counted = session.sql("SELECT window.start AS w, count(*) AS n FROM orders GROUP BY window(ts, '1 minute')")
    send(broker.bootstrap, topic_of(catalog, "orders"), [{"id": 4, "ts": "2024-03-10T02:40:00"}])
    done = streamed(counted, session, tmp_path)
    assert sorted(n for _, n in done) == [1, 1, 1]  # the minute of the last row is open


# ---- 2: life of a view ---------------------------------------------------------------------------------------------


def test_alter_drop_rename_and_replace_move_a_view(catalog: Catalog, session: Any, kafka: str) -> None:
    catalog.execute("ALTER TABLE plain ADD more INT; ALTER TABLE cdc RENAME TO changes; DROP TABLE latest")
    assert session.table("plain").columns == ["id", "name", "more"]
    assert {"changes", "plain"} <= views(session)
    assert not {"cdc", "latest"} & views(session)
    catalog.execute(
        "CREATE VIEW v AS SELECT id FROM plain; ALTER VIEW v RENAME TO w; ALTER VIEW w AS SELECT name FROM plain"
    )
    assert session.table("w").columns == ["name"]
    options = f"'connector' = 'kafka', 'topic' = 'p', 'format' = 'json', {kafka}"
    catalog.execute(f"CREATE OR REPLACE TABLE plain (x INT) WITH ({options})")
    assert session.table("plain").columns == ["x"]
    assert "w" not in views(session), "its table has no column 'name' any more"


def test_use_moves_names_and_other_databases_stand_under_theirs(catalog: Catalog, session: Any) -> None:
    catalog.execute("CREATE DATABASE db; USE db; CREATE TABLE here WITH ('topic' = 'x') LIKE default_database.plain")
    assert {"here", "default_database.orders"} <= views(session)
    assert session.table("`default_database.orders`").isStreaming
    assert "orders" not in views(session)
    catalog.execute("USE default_database")
    assert {"orders", "db.here"} <= views(session)
    assert "here" not in views(session)


def test_a_view_of_the_users_own_is_left_alone(catalog: Catalog, session: Any, notes: list[str]) -> None:
    session.range(3).createOrReplaceTempView("mine")
    catalog.execute("CREATE TABLE mine WITH ('topic' = 'x') LIKE plain")
    assert session.table("mine").count() == 3
    assert [n for n in notes if "'mine'" in n and "already" in n]
    assert catalog.table("mine").columns == ["id", "name"]
    session.table("plain").select("id").createOrReplaceTempView("plain")
    catalog.execute("ALTER TABLE plain ADD more INT")
    assert session.table("plain").columns == ["id"], "what was put in place of ours is theirs"
    catalog.execute("DROP TABLE mine")
    assert session.table("mine").count() == 3
    for name in ("mine", "plain"):
        session.catalog.dropTempView(name)


def test_stop_takes_ours_away(catalog: Catalog, session: Any) -> None:
    session.range(1).createOrReplaceTempView("theirs")
    ours = f"flinkddl_{catalog.bridge._id}_"
    assert catalog.table("orders", mode="batch").columns
    assert [t for t in session.catalog.listTables("global_temp") if t.name.startswith(ours)]
    catalog.stop()
    assert views(session) == {"theirs"}
    assert not [t for t in session.catalog.listTables("global_temp") if t.name.startswith(ours)]
    session.catalog.dropTempView("theirs")


def test_making_a_view_touches_no_kafka(session: Any) -> None:
    other = Catalog(session)
    away = "'connector' = 'kafka', 'properties.bootstrap.servers' = '127.0.0.1:1', 'properties.group.id' = 'g'"
    other.execute(f"CREATE TABLE away (id INT) WITH ({away}, 'topic' = 'none', 'format' = 'json')")
    assert session.table("away").columns == ["id"]
    other.stop()


def test_tables_and_schema_for_programs(catalog: Catalog, session: Any) -> None:
    infos = {i.name: i for i in catalog.tables()}
    assert (infos["orders"].kind, infos["orders"].view, infos["orders"].streaming) == ("TABLE", "orders", True)
    assert infos["spent"].kind == "VIEW"
    for name in ("orders", "plain", "totals"):
        given = catalog.table(name, mode="batch").schema
        assert [(f.name, f.dataType.simpleString()) for f in catalog.schema(name)] == [
            (f.name, f.dataType.simpleString()) for f in given
        ]


# ---- 3: same meaning in any session --------------------------------------------------------------------------------


def test_rows_do_not_depend_on_the_sessions_settings(catalog: Catalog, session: Any) -> None:
    catalog.execute("SET 'execution.runtime-mode' = 'batch'")
    seen = []
    before = {k: session.conf.get(k) for k in TURNED}
    shown = "id, CAST(ts AS STRING), unix_millis(at), text, `day`, attributes, cardinality(heads)"
    for settings in (TURNED, {k: {"false": "true", "EXCEPTION": "LAST_WIN"}.get(v, "UTC") for k, v in TURNED.items()}):
        for key, value in settings.items():
            session.conf.set(key, value)
        seen.append(rows(session.sql(f"SELECT {shown} FROM orders ORDER BY id")))
    for key, value in before.items():
        session.conf.set(key, value)
    assert seen[0] == seen[1]
    assert seen[0][0] == (1, "2024-03-10 01:59:58.123", 1710035998000, "1.50", "2024-03-10 01", {"a": 2}, 0)


def test_our_functions_reach_a_session_that_is_there(catalog: Catalog, session: Any) -> None:
    assert rows(session.sql("SELECT flinkddl.str_to_map('a=1', ',', '=')")) == [({"a": "1"},)]


# ---- 4: DataFrames in ----------------------------------------------------------------------------------------------


def test_a_batch_dataframe_joins_a_kafka_table(catalog: Catalog, session: Any, tmp_path: Path) -> None:
    names = session.createDataFrame([("ann", "Anna"), ("bob", "Robert")], "short STRING, name STRING")
    catalog.create_view("names", names, primary_key="short")
    got: list[str] = []
    query = "SELECT n.name, COUNT(*) AS n FROM orders o JOIN names n ON o.`User` = n.short GROUP BY n.name"
    job = catalog.execute(query).changes(lambda batch: got.extend(batch.lines()))
    assert job.await_input(120)
    job.stop()
    table = Counter(line[2:] for line in got if line[:2] in ("+I", "+U"))
    table.subtract(line[2:] for line in got if line[:2] in ("-U", "-D"))
    assert +table == Counter(["[Anna, 2]", "[Robert, 1]"])


def test_a_streaming_dataframe_is_a_table_with_a_watermark(
    catalog: Catalog, session: Any, broker: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [{"id": i % 2, "at": f"2024-01-01T00:00:{i:02d}Z"} for i in range(0, 40, 5)]
    (folder / "a.json").write_text("\n".join(map(json.dumps, lines)))
    events = session.readStream.schema("id BIGINT, at STRING").json(str(folder))
    catalog.create_view("events", events.selectExpr("id", "CAST(at AS TIMESTAMP) AS at"), "at - INTERVAL '5' SECOND")
    catalog.execute("""CREATE VIEW counted AS SELECT CAST(window_start AS STRING) AS name, COUNT(*) AS n
      FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(`at`), INTERVAL '10' SECOND)) GROUP BY window_start, window_end""")
    job = catalog.execute("INSERT INTO totals SELECT name, n FROM counted").job
    assert job is not None
    wanted = {f"2024-01-01 00:00:{s}0.000": 2 for s in range(3)}
    assert read_until(broker, catalog, "totals", wanted)
    job.stop()


def read_until(broker: Any, catalog: Catalog, table: str, wanted: dict[str, int], seconds: float = 60) -> bool:
    import time

    end = time.monotonic() + seconds
    found: dict[str, int] = {}
    while time.monotonic() < end and found != wanted:
        records = committed(broker.bootstrap, topic_of(catalog, table))
        found = {}
        for record in records:
            name = json.loads(record.key)["name"]
            found.pop(name, None)
            if record.value is not None:
                found[name] = json.loads(record.value)["n"]
        time.sleep(0.3)
    assert found == wanted
    return True


def test_a_changelog_dataframe_is_folded(catalog: Catalog, session: Any) -> None:
    rows_ = [(1, "a", "+I"), (1, "a", "-U"), (1, "b", "+U"), (2, "x", "+I"), (2, "x", "-D")]
    changes = session.createDataFrame(rows_, "id BIGINT, v STRING, _row_kind STRING")
    catalog.create_view("changes", changes, changelog="_row_kind")
    assert catalog.execute("SELECT * FROM changes").collect() == [(1, "b")]


def test_what_has_no_type_is_refused_by_name(catalog: Catalog, session: Any) -> None:
    with pytest.raises(FlinkDdlError, match=r"FD665.*'w' \(interval"):
        catalog.create_view("bad", session.sql("SELECT 1 AS id, INTERVAL '1' DAY AS w"))
    with pytest.raises(FlinkDdlError, match="'tz' is no column"):
        catalog.create_view("bad", session.sql("SELECT 1 AS id, now() AS ts"), watermark="tz - INTERVAL '1' SECOND")
    assert catalog.state.find(("bad",)) is None


def test_explain_and_compile_say_where_the_dataframe_stands(catalog: Catalog, session: Any) -> None:
    stream = session.readStream.format("rate").load()
    catalog.create_view("ticks", stream)
    insert = "INSERT INTO plain SELECT `value`, 'x' FROM ticks"
    assert "as far as its own source" in catalog.explain(insert)
    assert 'root.table("`ticks`")' in catalog.compile(insert)


# ---- 5: DataFrames out ---------------------------------------------------------------------------------------------


def test_a_select_is_a_dataframe(catalog: Catalog, session: Any, tmp_path: Path) -> None:
    frame = catalog.execute("SELECT `User`, SUM(price) AS price FROM orders GROUP BY `User`").dataframe
    assert frame.columns == ["User", "price", "_row_kind"]
    assert frame.isStreaming
    catalog.execute("SET 'execution.runtime-mode' = 'batch'")
    catalog.execute("CREATE TABLE ended WITH ('scan.bounded.mode' = 'latest-offset') LIKE orders")
    assert rows(catalog.execute("SELECT id FROM ended WHERE id > 1").dataframe) == [(2,), (3,)]


def test_a_batch_dataframe_is_written_by_name(catalog: Catalog, session: Any, broker: Any) -> None:
    frame = session.createDataFrame([("x", 1), ("y", 2)], "b STRING, a BIGINT").selectExpr("b AS name", "a AS n")
    assert catalog.write(frame.select("n", "name"), "totals").await_termination(120)
    records = committed(broker.bootstrap, topic_of(catalog, "totals"))
    assert {r.key: r.value for r in records} == {
        b'{"name":"x"}': b'{"name":"x","n":1}',
        b'{"name":"y"}': b'{"name":"y","n":2}',
    }


def test_changes_are_written_with_tombstones(catalog: Catalog, session: Any, broker: Any) -> None:
    job = catalog.write(catalog.table("latest").selectExpr("v AS name", "id AS n", "_row_kind"), "totals")
    assert read_until(broker, catalog, "totals", {"c": 1, "d": 3})
    put(broker, topic_of(catalog, "latest"), [(1, "z"), (3, None)])
    assert read_until(broker, catalog, "totals", {"z": 1})
    assert job.status == "running"
    job.stop()
    assert [r for r in committed(broker.bootstrap, topic_of(catalog, "totals")) if r.value is None]


WRONG = [
    ("id AS id, name AS nam", ["no column 'nam'", "did you mean 'name'", "lacks 'name'"]),
    ("id AS id", ["lacks 'name'"]),
    ("id AS name, array(id) AS id", ["FD481", "ARRAY<BIGINT>"]),
]


@pytest.mark.parametrize(("columns", "said"), WRONG)
def test_what_does_not_fit_the_table_is_refused(catalog: Catalog, session: Any, columns: str, said: list[str]) -> None:
    frame = session.createDataFrame([(1, "a")], "id BIGINT, name STRING").selectExpr(*columns.split(", "))
    with pytest.raises(FlinkDdlError) as refused:
        catalog.write(frame, "plain")
    assert all(words in str(refused.value) for words in said), str(refused.value)


def test_a_changelog_is_refused_by_an_append_only_sink(catalog: Catalog) -> None:
    with pytest.raises(FlinkDdlError, match="FD5"):
        catalog.write(catalog.table("latest").withColumnRenamed("v", "name"), "plain")


class Root:
    """The session of a printed program, whose child sessions have our jars."""

    def __init__(self, session: Any) -> None:
        self.newSession = lambda: job_session(session, {})
        self.table = session.table


# ---- 6: printed programs -------------------------------------------------------------------------------------------


def test_a_printed_program_registers_what_it_reads(catalog: Catalog, session: Any) -> None:
    catalog.execute("SET 'execution.runtime-mode' = 'batch'")
    catalog.execute("CREATE TABLE ended WITH ('scan.bounded.mode' = 'latest-offset') LIKE orders")
    text = catalog.compile("INSERT INTO plain SELECT id, `User` FROM ended")
    assert 'createOrReplaceTempView("`ended`")' in text
    catalog.execute("DROP TABLE ended")
    assert "ended" not in views(session)
    start, end = text.index("# ---- temp view ended"), text.index("# ---- insert-into")
    exec(compile(text[start:end], "printed", "exec"), {"root": Root(session)})
    assert rows(session.sql("SELECT id FROM ended ORDER BY id")) == [(1,), (2,), (3,)]
    session.catalog.dropTempView("ended")
    session.catalog.dropGlobalTempView("flinkddl_ended")
