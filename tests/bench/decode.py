"""What a decoder saves that builds only what is read: ``python -m tests.bench decode [--records N]``.

Messages of 350 bytes with 12 fields of which 3 are read, decoded sparingly and as wholes in turn in one Spark process;
CPU seconds of that process, the median of the rounds. Reading is from Spark's cache, writing goes to the noop sink.
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.formats import WEIGHT, Wanted, decoder, encoder
from flinkddl.options.resolved import FormatOptions
from tests.support.ddl import parse
from tests.support.kernels import kernel_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    "id BIGINT, user_name STRING, region STRING, page STRING, amount DECIMAL(10,2), score DOUBLE, ts TIMESTAMP(3), "
    "agent STRING, device ROW<kind STRING, width INT, height INT>, flags BOOLEAN, visits INT, referrer STRING"
)
READ: dict[str, Any] = {"id": None, "region": None, "visits": None}
NESTED: dict[str, Any] = {"id": None, "device": {"kind": None}, "visits": None}
FORMATS = ("json", "csv", "avro", "debezium-json", "maxwell-json")
ROUNDS = 5
TICKS = 100  # a second, of /proc


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def java() -> int:
    """Return the process id of this process's JVM."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        name, _, rest = stat.read_text().partition(" (")[2].rpartition(")")
        if name == "java" and int(rest.split()[1]) == os.getpid():
            return int(stat.parent.name)
    raise RuntimeError("no JVM below this process")


def rows(spark: SparkSession, count: int) -> DataFrame:
    """Return so many typed rows."""
    return spark.range(count).selectExpr(
        "id", "concat('user-', id % 100000) AS user_name", "concat('region ', id % 50) AS region",
        "concat('/page/', id % 1000, '?q=', id) AS page", "CAST(id % 100000 / 100 AS DECIMAL(10,2)) AS amount",
        "rand(7) AS score", "CAST(timestamp_millis(1600000000000 + id * 137) AS TIMESTAMP_NTZ) AS ts",
        "concat('Mozilla/5.0 (X11; Linux x86_64) ', id % 90) AS agent",
        "named_struct('kind', 'tablet', 'width', 1024, 'height', CAST(id % 768 AS INT)) AS device",
        "id % 3 = 0 AS flags", "CAST(id % 77 AS INT) AS visits", "concat('https://example.org/', id % 500) AS referrer",
        f"1 AS {WEIGHT}",
    )  # fmt: skip


def main(records: int = 1_000_000) -> None:
    """Print a line a format."""
    spark = kernel_session()
    fields = [(c.name, c.type) for c in parse(f"CREATE TABLE t ({COLUMNS})").columns if c.type]
    typed = rows(spark, records)
    for name in FORMATS:
        kinds = fields if name != "csv" else [f for f in fields if f[0] != "device"]
        chosen = FormatOptions(name, "format", f"{name}.", {})
        written = encoder(chosen, kinds, owner="o").expression
        messages = typed.selectExpr(f"{written} AS value", "'t' AS topic", "0 AS partition", "id AS offset").cache()
        size = messages.selectExpr("avg(length(value))").first()
        assert size is not None
        for what, parts in (("3 fields", READ), ("2 fields and one of a row", NESTED)):
            if what == "3 fields" or name != "csv":
                print(
                    f"{name:14} {size[0]:4.0f} B, {what} of 12: {compared(messages, chosen, kinds, parts)}", flush=True
                )
        messages.unpersist()


def compared(messages: DataFrame, chosen: FormatOptions, fields: list[tuple[str, Any]], parts: dict[str, Any]) -> str:
    """Return the medians of both, in turn, and their ratio."""
    taken: dict[str, list[float]] = {"sparing": [], "whole": []}
    ways = {"sparing": parts, "whole": None}
    read = [f"v.{n}" if p is None else f"v.{n}.{next(iter(p))}" for n, p in parts.items()]
    for n in range(ROUNDS + 1):
        for way, built in ways.items():
            call = decoder(chosen, fields, owner="o", wanted=Wanted(parts=built)).expression
            frame = messages.selectExpr(f"explode({call}) AS v").selectExpr(*read)
            begin = cpu_seconds(java())
            frame.write.format("noop").mode("overwrite").save()
            taken[way] += [cpu_seconds(java()) - begin] if n else []  # the first round warms up
    a, b = (statistics.median(t) for t in taken.values())
    return f"CPU {a:.2f} s against {b:.2f} s, ratio {a / b:.2f}"
