"""Our JSON kernels against Spark's from_json and to_json, in one run: ``python -m tests.bench.json_kernels [ROWS]``.

Both read the same cached messages and write to the noop sink; the best of three runs each. A ratio above 1 means that
ours is faster.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from flinkddl.formats import decoder, encoder
from flinkddl.options.resolved import FormatOptions
from flinkddl.sqltypes import spark_type
from tests.support.ddl import parse
from tests.support.kernels import kernel_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = "id BIGINT, user_name STRING, region STRING, page STRING, amount DECIMAL(10,2), score DOUBLE, ts TIMESTAMP(3)"
ROUNDS = 3


def seconds(frame: DataFrame) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.monotonic()
        frame.write.format("noop").mode("overwrite").save()
        best = min(best, time.monotonic() - begin)
    return best


def main(rows: int = 4_000_000) -> None:
    spark = kernel_session()
    fields = [(c.name, c.type) for c in parse(f"CREATE TABLE t ({COLUMNS})").columns if c.type]
    ddl = ", ".join(f"{n} {spark_type(t)}" for n, t in fields)
    json = FormatOptions("json", "format", "json.", {})
    typed = spark.range(rows).selectExpr(
        "id", "concat('user-', id % 100000) AS user_name", "concat('region ', id % 50) AS region",
        "concat('/page/', id % 1000, '?q=', id) AS page", "CAST(id % 100000 / 100 AS DECIMAL(10,2)) AS amount",
        "rand(7) AS score", "CAST(timestamp_millis(1600000000000 + id * 137) AS TIMESTAMP_NTZ) AS ts",
    ).cache()  # fmt: skip
    written = encoder(json, fields, owner="o").expression
    messages = typed.selectExpr(f"{written} AS value", "'t' AS topic", "0 AS partition", "id AS offset").cache()
    typed.count(), messages.count()
    options = "map('timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss[.SSS]', 'mode', 'FAILFAST')"
    ours = seconds(messages.selectExpr(f"inline({decoder(json, fields, owner='o').expression})"))
    theirs = seconds(messages.selectExpr(f"from_json(CAST(value AS STRING), '{ddl}', {options}) AS v").select("v.*"))
    print(f"decode {rows} rows: ours {ours:.2f} s, from_json {theirs:.2f} s, ratio {theirs / ours:.2f}")
    ours = seconds(typed.selectExpr(f"{written} AS value"))
    theirs = seconds(typed.selectExpr("CAST(to_json(struct(*), map('ignoreNullFields', 'false')) AS BINARY) AS value"))
    print(f"encode {rows} rows: ours {ours:.2f} s, to_json {theirs:.2f} s, ratio {theirs / ours:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
