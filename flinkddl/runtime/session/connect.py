"""Spark Connect: what a job needs there that a session in this process has anyway.

A new Connect session knows nothing of its parent, jars included; functions of a batch (``foreachBatch``) run on the
server, where this process cannot be called; and the server may stand on a machine with files of its own. So each job's
session gets the jars, rows for the driver are read out of a memory sink, and files of a checkpoint go through the
server.

One thing cannot be brought along: Spark's Kafka connector registers its settings once a JVM, so a second session that
loads it out of a jar of its own fails. The server must have it.
"""

from __future__ import annotations

import atexit
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from threading import Thread
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings, simplefilter
from weakref import WeakKeyDictionary, WeakSet

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.diagnostics.secrets import mask_urls
from flinkddl.spark.job import KAFKA
from flinkddl.spark.partitions import NAMED_SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

MOST_CHANGES = 1_000_000
"""Changes of one SELECT or print sink that the server keeps in its memory; then the query is ended with FD835."""

RELEASE_SECONDS = 5.0
QUIET_SECONDS = 10.0
_BATCH, _PLACE = "__flinkddl_batch", "__flinkddl_place"
_open: WeakSet[SparkSession] = WeakSet()
_patience: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # how long a client tries by itself


KAFKA_JARS = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2")
"""How the names of the connector's jars begin: those that a server must be started with."""


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is a Spark Connect client."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def await_server(spark: SparkSession, address: str = "", say: Callable[[str], None] = lambda _: None) -> None:
    """Wait for the first answer of a session's server. Raises FD810 when nobody listens there, in some five seconds.

    By itself PySpark tries for nine minutes, without a word. A server that listens and is slow is waited for; ``say``
    is told so. ``address`` is the URL without its secrets, where it is known.
    """
    from pyspark.sql.connect.client.retries import DefaultPolicy

    client: Any = spark.client
    place = address or str(client.host)
    before = _patience.setdefault(client, client.get_retry_policies())
    client.set_retry_policies([DefaultPolicy(max_retries=4, initial_backoff=100, max_backoff=2000)])
    answers: list[Any] = []
    asked = Thread(target=_ask_version, args=(spark, answers), daemon=True)
    asked.start()
    asked.join(QUIET_SECONDS)
    if asked.is_alive():
        say(f"the Spark Connect server at '{place}' has not answered for {QUIET_SECONDS:.0f} s; still waiting")
    while asked.is_alive():
        asked.join(0.2)  # short waits, so that Ctrl-C is heard
    if not isinstance(answers[0], Exception):
        client.set_retry_policies(before)
        return
    client.set_retry_policies([DefaultPolicy(max_retries=0)])  # at exit PySpark asks once more
    filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")
    raise FlinkDdlError.of(
        "FD810",
        f"no Spark Connect server answers at '{place}': {_detail(answers[0])}",
        help="check the address (sc://host:15002) and that the server runs",
    ) from answers[0]


def _ask_version(spark: SparkSession, answers: list[Any]) -> None:
    with catch_warnings():
        simplefilter("ignore")  # PySpark warns that its retries are used up
        try:
            answers.append(spark.version)
        except Exception as error:  # noqa: BLE001 - whatever keeps the server from answering is told by who waits
            answers.append(error)


def new_session(spark: SparkSession, jars: Iterable[Path]) -> SparkSession:
    """Return a new session of the same server with these jars on its class path."""
    child = spark.newSession()
    if not _open:
        atexit.register(_close_all)
    _open.add(child)
    add_jars(child, jars)
    return child


def add_jars(spark: SparkSession, jars: Iterable[Path]) -> None:
    """Put jars on a session's class path; one that it has already is left as it is."""
    spark.addArtifacts(*map(str, jars))


def check_kafka(spark: SparkSession) -> None:
    """Raise FD837 when the server has no Kafka connector. Nothing is read."""
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "any"}
    reader = spark.readStream.format(KAFKA).options(**options)
    if spark.conf.get(NAMED_SOURCES, "false") == "true":
        reader = reader.name("any")
    try:
        _ = reader.load().columns
    except Exception as error:
        if "KAFKA_DATA_SOURCE_NOT_ENABLED" not in str(error):
            raise
        raise FlinkDdlError.of(
            "FD837",
            "the Spark Connect server has no Kafka connector; it cannot be sent along, as a server loads it once",
            help=f"start it with --packages org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}",
        ) from error


def close_session(spark: SparkSession, first: Iterable[Callable[[], None]] = ()) -> None:
    """Release a session that ``new_session`` made, after the calls of ``first``.

    Not by ``stop()``: with ``remote("local")`` that ends the whole server. A session left open is asked for its machine
    learning models when Python exits, which takes half a minute each.
    """
    _open.discard(spark)
    release = Thread(target=_release, args=(spark, tuple(first)), daemon=True)
    release.start()
    release.join(RELEASE_SECONDS)  # a server that is gone is tried for ten minutes
    with suppress(Exception):
        spark.client.close()


def _release(spark: SparkSession, first: tuple[Callable[[], None], ...]) -> None:
    for call in first:
        with suppress(Exception):
            call()
    with suppress(Exception):
        spark.client.release_session()


def server_gone(error: Exception) -> FlinkDdlError | None:
    """Return what to say when an error means that the server does not answer, else None."""
    if "grpc" not in type(error).__name__.lower():
        return None
    return FlinkDdlError.of(
        "FD836",
        f"the Spark Connect server does not answer any more: {_detail(error)}",
        help="look at the server's log; with a checkpoint folder the job goes on where it was when it is run again",
    )


def _detail(error: Exception) -> str:
    """Return what gRPC says of a failed call, in one line and without secrets."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    found = next((line for line in lines if "details = " in line), lines[0]).strip()
    return mask_urls(found.removeprefix("details = ").strip('"'))


def _close_all() -> None:
    for session in list(_open):
        close_session(session)


@dataclass
class MemoryRows:
    """The rows of a streaming query that ends in this process: the server's memory sink, read batch by batch.

    ``table`` is the sink's name; ``deliver`` takes the rows of one batch.
    """

    spark: SparkSession
    table: str
    deliver: Callable[[list[tuple[Any, ...]]], None]
    _seen: int = 0
    _position: Any = None

    def start(self, frame: DataFrame, mode: str, location: str, trigger: Mapping[str, Any]) -> StreamingQuery:
        """Start the query; its rows carry the time of their batch, which one micro-batch has and no other."""
        stamped: Any = frame.selectExpr("*", f"current_timestamp() AS {_BATCH}")
        writer = stamped.writeStream.format("memory").outputMode(mode).queryName(self.table)
        return writer.option("checkpointLocation", location).trigger(**trigger).start()

    def poll(self, query: StreamingQuery) -> None:
        """Hand over what has come since the last call. Raises FD835 when the server would have to keep too much."""
        active, last = query.isActive, query.lastProgress
        position = None if last is None else (active, last["batchId"], last["timestamp"])
        if position == self._position:
            return
        self._position = position
        numbered = self.spark.table(self.table).selectExpr("*", f"monotonically_increasing_id() AS {_PLACE}")
        rows = [tuple(row) for row in numbered.orderBy(_PLACE).offset(self._seen).collect()]
        self._seen += len(rows)
        for _, batch in groupby(rows, key=itemgetter(-2)):
            self.deliver([row[:-2] for row in batch])
        if active and self._seen > MOST_CHANGES:
            raise FlinkDdlError.of(
                "FD835",
                f"over Spark Connect a query's changes are kept in the server's memory, {MOST_CHANGES:,} at the most",
                help="INSERT INTO a table instead, or bound the query",
            )
