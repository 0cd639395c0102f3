"""A plain PySpark program over a temp view of ours: ``python -m tests.e2e.view_query SERVERS SOURCE TARGET STATE``.

Run by test_view_query.py in a process of its own, which is killed and started again.
"""

from __future__ import annotations

import sys

from flinkddl.api import Catalog
from flinkddl.runtime.session.sessions import SparkOptions
from tests.support.spark import SHORT_LIVED

DDL = """
SET 'flinkddl.execution.max-offsets-per-trigger' = '2000';
CREATE TABLE pageviews (user_id BIGINT, page_id BIGINT, viewtime TIMESTAMP(3), user_region STRING,
  WATERMARK FOR viewtime AS viewtime - INTERVAL '5' SECOND)
WITH ('connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
  'properties.group.id' = 'view', 'properties.auto.offset.reset' = 'earliest')
"""


def main(servers: str, source: str, target: str, checkpoint: str) -> None:
    """Count per region for ever, from the group's offsets where there is no checkpoint yet."""
    conf = {**SHORT_LIVED, "spark.sql.shuffle.partitions": "2"}
    catalog = Catalog(options=SparkOptions(master="local[2]", conf=conf))
    catalog.execute(DDL.format(servers=servers, source=source))
    counted = catalog.spark.table("pageviews").groupBy("user_region").count()
    out = counted.selectExpr("user_region AS key", "CAST(count AS STRING) AS value").writeStream.format("kafka")
    out = out.option("kafka.bootstrap.servers", servers).option("topic", target).outputMode("update")
    out.option("checkpointLocation", checkpoint).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
