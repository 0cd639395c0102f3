"""What became of the options of Flink 1.9 and 1.10, as tables: FLIP-122, and Flink 1.11's own descriptor validators.

Keys are written without ``connector.`` and ``format.``. A key's entry is its name today, a ``Gone`` (dropped, and what
then differs, if anything), a ``Lost`` (there is nothing for it today, and why), or a tuple of options that take its
place, where None stands for the value as written.

Source: ``KafkaValidator``, ``JdbcValidator``, ``FileSystemValidator``, ``ElasticsearchValidator``, ``HBaseValidator``,
``JsonValidator``, ``CsvValidator`` and ``OldCsvValidator`` of Flink 1.11, the classes that read the old style last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Gone:
    """Not written any more; ``differs`` says what is otherwise without it."""

    differs: str | None = None


@dataclass(frozen=True)
class Lost:
    """Nothing does the same today; ``instead`` says what to do."""

    instead: str


Entry = str | Gone | Lost | tuple[tuple[str, str | None], ...]
Names = Mapping[str, Entry]

_CACHE = (("lookup.cache", "PARTIAL"), ("lookup.partial-cache.max-rows", None))
_KAFKA: Names = {
    "topic": "topic",
    "startup-mode": "scan.startup.mode",
    "specific-offsets": "scan.startup.specific-offsets",
    "startup-timestamp-millis": "scan.startup.timestamp-millis",
    "timestamp": "scan.startup.timestamp-millis",
    "group.id": "properties.group.id",
    "sink-partitioner": "sink.partitioner",
    "sink-semantic": "sink.semantic",
    "properties.zookeeper.connect": Gone(),
}
_JDBC: Names = {
    "url": "url",
    "table": "table-name",
    "driver": "driver",
    "username": "username",
    "password": "password",
    "read.query": Lost("make the query a view of the database and name that in 'table-name'"),
    "read.partition.column": "scan.partition.column",
    "read.partition.num": "scan.partition.num",
    "read.partition.lower-bound": "scan.partition.lower-bound",
    "read.partition.upper-bound": "scan.partition.upper-bound",
    "read.fetch-size": "scan.fetch-size",
    "lookup.cache.max-rows": _CACHE,
    "lookup.cache.ttl": "lookup.partial-cache.expire-after-write",
    "lookup.max-retries": "lookup.max-retries",
    "write.flush.max-rows": "sink.buffer-flush.max-rows",
    "write.flush.interval": "sink.buffer-flush.interval",
    "write.max-retries": "sink.max-retries",
}
_ELASTICSEARCH: Names = {
    "hosts": "hosts",
    "index": "index",
    "key-delimiter": "document-id.key-delimiter",
    "key-null-literal": Gone("a document's id is made of columns of the PRIMARY KEY, which are never NULL"),
    "failure-handler": "failure-handler",
    "failure-handler-class": Gone(),
    "flush-on-checkpoint": "sink.flush-on-checkpoint",
    "bulk-flush.max-actions": "sink.bulk-flush.max-actions",
    "bulk-flush.max-size": "sink.bulk-flush.max-size",
    "bulk-flush.interval": "sink.bulk-flush.interval",
    "bulk-flush.backoff.type": "sink.bulk-flush.backoff.strategy",
    "bulk-flush.backoff.max-retries": "sink.bulk-flush.backoff.max-retries",
    "bulk-flush.backoff.delay": "sink.bulk-flush.backoff.delay",
    "connection-max-retry-timeout": "connection.max-retry-timeout",
    "connection-path-prefix": "connection.path-prefix",
}
_HBASE: Names = {
    "table-name": "table-name",
    "zookeeper.quorum": "zookeeper.quorum",
    "zookeeper.znode.parent": "zookeeper.znode.parent",
    "write.buffer-flush.max-size": "sink.buffer-flush.max-size",
    "write.buffer-flush.max-rows": "sink.buffer-flush.max-rows",
    "write.buffer-flush.interval": "sink.buffer-flush.interval",
}


@dataclass(frozen=True)
class OldConnector:
    """What became of one connector: its options, and those of today's style that have another name since.

    ``topics``: its rows are records of Kafka; ``grouped``: it begins where its consumer group is; ``upserts``: the
    connector that takes its place where it was written by key; ``keyed``: it must be told its key; ``files``: it reads
    and writes files; ``formatted``: it has a format.
    """

    names: Names
    today: Names = field(default_factory=dict)
    topics: bool = False
    grouped: bool = False
    upserts: str | None = None
    keyed: bool = False
    files: bool = False
    formatted: bool = True


NO_CONNECTOR = OldConnector({})
_NO_ZOOKEEPER: Names = {"properties.zookeeper.connect": Gone()}
_CACHED: Names = {"lookup.cache.max-rows": _CACHE, "lookup.cache.ttl": "lookup.partial-cache.expire-after-write"}
# It reads whole topics and puts every key into its partition: nothing is left to say of both.
_UPSERTS: Names = {
    **_KAFKA,
    **dict.fromkeys(
        ("startup-mode", "specific-offsets", "startup-timestamp-millis"),
        Gone("upsert-kafka reads its topic from the beginning"),
    ),
    "sink-partitioner": Gone("upsert-kafka sends each key to the partition that Kafka's own partitioner gives it"),
}
CONNECTORS: Mapping[str, OldConnector] = {
    "kafka": OldConnector(_KAFKA, _NO_ZOOKEEPER, topics=True, grouped=True, upserts="upsert-kafka"),
    "upsert-kafka": OldConnector(_UPSERTS, _NO_ZOOKEEPER, topics=True, keyed=True),
    "jdbc": OldConnector(_JDBC, _CACHED, keyed=True, formatted=False),
    "filesystem": OldConnector({"path": "path"}, files=True),
    "elasticsearch-6": OldConnector({**_ELASTICSEARCH, "document-type": "document-type"}, keyed=True),
    "elasticsearch-7": OldConnector({**_ELASTICSEARCH, "document-type": Gone()}, keyed=True),
    "hbase-1.4": OldConnector(_HBASE, formatted=False),
    "hbase-2.2": OldConnector(_HBASE, formatted=False),
}
"""By the connector that reads the table today."""

TYPES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "kafka": (("", "kafka"),),
    "elasticsearch": (("6", "elasticsearch-6"), ("", "elasticsearch-7")),
    "hbase": (("1", "hbase-1.4"), ("", "hbase-2.2")),
}
"""A value of 'connector.type', and its name today by how 'connector.version' begins; others have kept theirs."""

STILL_READ = ("filesystem", "csv")
"""'connector.type' and 'format.type' of the older tables that Flink 2.3 itself reads."""

VERSIONED: Mapping[str, str] = dict.fromkeys(
    ("kafka-0.8", "kafka-0.9", "kafka-0.10", "kafka-0.11", "universal"), "kafka"
)
"""Values of 'connector' in Flink 1.11 that later versions do not know."""

DESCRIPTIONS = ("property-version", "derive-schema")
"""Options that said how the others are to be read."""

_ENDS = Gone("records that go to Kafka end in nothing; reading takes lines as they are")
FORMATS: Mapping[str, Names] = {
    "csv": {"line-delimiter": _ENDS},
    "json": {},
    "avro": {"record-class": Lost("the schema is that of the columns: remove it once they are the record's fields")},
}
"""By format, what is not simply ``<format>.<key>`` today."""

FILES_CSV: Names = {
    "line-delimiter": Lost("lines end in a line feed: write the files so"),
    "comment-prefix": Lost("set 'csv.allow-comments' = 'true', for lines that begin with #"),
    "ignore-first-line": Lost("take the header out of the files, or filter its row in the query"),
    "write-mode": Lost("INSERT OVERWRITE does that, in batch mode"),
    "num-files": Lost("'sink.parallelism' says how many files are written at a time"),
}
"""Of files: the first CSV of Flink, ``OldCsv``, which knew no quotes unless it was told one."""

VALUES: Mapping[str, Mapping[str, str]] = {
    "sink.bulk-flush.backoff.strategy": {"disabled": "DISABLED", "constant": "CONSTANT", "exponential": "EXPONENTIAL"},
}
"""Values that have another spelling today, by today's option."""
