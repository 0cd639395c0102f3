"""A jar that lacks the rule's class, as another build of Spark would lack one of its own: aggregates run as before."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from flinkddl.jvm import build

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession

jar, rows, checkpoint = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.driver.extraClassPath", jar)
for key, value in {"ui.enabled": "false", "sql.shuffle.partitions": "1", "sql.catalog.flinkddl": "flinkddl.Functions",
                   "sql.streaming.statefulOperator.checkCorrectness.enabled": "false"}.items():
    builder = builder.config("spark." + key, value)
spark = builder.getOrCreate()
spark.readStream.schema("k INT, v INT, n BIGINT").json(rows).createOrReplaceTempView("t")
change = "named_struct('o', named_struct('arrived', n), 'r', named_struct('v', v))"
newest = spark.sql(f"SELECT k, flinkddl.stage_latest_1(false, {change}) AS s FROM t GROUP BY k")
query = newest.select("k", "s.n.v").writeStream.outputMode("update").format("memory").queryName("out")
query.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
why = spark.sql("SELECT flinkddl.stages_missing()").first()[0]
print(json.dumps([why, sorted(map(list, spark.table("out").collect()))]))
"""


@pytest.mark.spark
@pytest.mark.slow
def test_aggregates_run_where_a_class_is_missing(tmp_path: Path) -> None:
    jar = tmp_path / "flinkddl-functions.jar"
    with zipfile.ZipFile(build.JAR) as whole:
        build.write_jar({n: whole.read(n) for n in whole.namelist() if "/StageRule" not in n}, jar)
    rows = tmp_path / "rows"
    rows.mkdir()
    (rows / "1.json").write_text("\n".join(json.dumps({"k": n % 2, "v": n, "n": n}) for n in range(9)))
    command = [sys.executable, "-c", PROGRAM, str(jar), str(rows), str(tmp_path / "checkpoint")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    why, out = json.loads(done.stdout.splitlines()[-1])
    assert "is another build: java.lang.NoClassDefFoundError: flinkddl/state/StageRule" in why
    assert out == [[0, 8], [1, 7]]
