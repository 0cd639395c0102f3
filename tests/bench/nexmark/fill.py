"""The events in a topic: made here, written by Spark, which is faster at it than a Python client."""

from __future__ import annotations

import tempfile
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.bench.nexmark.generator import Events


def fill(spark: SparkSession, servers: str, topic: str, events: Events, partitions: int) -> None:
    """Write the events into a topic that is there, in their order, to its partitions in turn."""
    with tempfile.TemporaryDirectory() as name:
        parts = [Path(name, f"{p}.txt") for p in range(partitions)]
        files = [part.open("w", encoding="ascii") for part in parts]
        at = 0
        for lines in events.lines():
            for p, file in enumerate(files):
                file.writelines(f"{line}\n" for line in lines[(p - at) % partitions :: partitions])
            at += len(lines)
        for file in files:
            file.close()
        whole = max(part.stat().st_size for part in parts) + 1
        split = {"spark.sql.files.maxPartitionBytes": whole, "spark.sql.files.minPartitionNum": 1}
        for key, value in split.items():  # a file is one task, so that its lines keep their order
            spark.conf.set(key, value)
        frames = [_frame(spark, part, p) for p, part in enumerate(parts)]
        write = reduce(lambda a, b: a.union(b), frames).write.format("kafka").option("kafka.bootstrap.servers", servers)
        write.option("topic", topic).option("kafka.linger.ms", "50").option("kafka.batch.size", "262144").save()
        for key in split:
            spark.conf.unset(key)


def _frame(spark: SparkSession, part: Path, partition: int) -> DataFrame:
    from pyspark.sql import functions as F

    return spark.read.text(str(part)).select("value", F.lit(partition).alias("partition"))
