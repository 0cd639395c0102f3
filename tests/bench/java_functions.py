"""How fast a Java scalar function runs here and in Flink: ``python -m tests.bench.java_functions [--rows 5000000]``.

One core each, batch, the same jar, over numbers that both make by themselves: the largest of CountChar (Nexmark q14's)
over a text of each. What the source alone takes is measured too, by a function of the engine's own in its place.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from typing import Any

from flinkddl.runtime.session.java_jars import ship_java
from flinkddl.runtime.session.sessions import SparkOptions, build_session
from flinkddl.spark.java_functions import java_call
from tests.oracle.test_java_functions import ORACLE
from tests.support.java_udf import java_spec, udf_jar

TEXT = "CAST({} AS STRING) || ' of the persons in Oregon'"
TURNS = 3


def spark(rows: int) -> dict[str, float]:
    """Return seconds with the function and without."""
    session = build_session(SparkOptions(master="local[1]"))
    ship_java(session, [str(udf_jar())])
    call = java_call(java_spec("Scalars$CountChar", ["STRING", "STRING"], "BIGINT NOT NULL"), ["s", "'o'"])
    frame = session.range(0, rows, numPartitions=1).selectExpr(f"{TEXT.format('id')} AS s")
    found = {}
    for name, expression in {"without": "length(s)", "with": call}.items():
        times = []
        for _ in range(TURNS):
            start = time.perf_counter()
            frame.selectExpr(f"max({expression}) AS m").collect()
            times.append(time.perf_counter() - start)
        found[name] = min(times)
    session.stop()
    return found


def flink(rows: int) -> dict[str, float]:
    """Return the same of a real Flink."""
    with subprocess.Popen(
        [ORACLE, "pipe", "batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def ask(sql: str) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"id": 1, "sql": sql, "timeout_ms": 600000}) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert "error" not in answer, answer
            return answer

        ask(f"CREATE TEMPORARY FUNCTION f AS 'com.acme.Scalars$CountChar' USING JAR '{udf_jar()}'")
        ask(
            "CREATE TABLE n (id BIGINT) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence',"
            f" 'fields.id.start' = '0', 'fields.id.end' = '{rows - 1}', 'number-of-rows' = '{rows}',"
            " 'rows-per-second' = '1000000000')"
        )
        found = {}
        for name, expression in {"without": "CHAR_LENGTH(s)", "with": "f(s, 'o')"}.items():
            times = []
            for _ in range(TURNS):
                start = time.perf_counter()
                ask(f"SELECT MAX({expression}) FROM (SELECT {TEXT.format('id')} AS s FROM n)")
                times.append(time.perf_counter() - start)
            found[name] = min(times)
        assert process.stdin is not None
        process.stdin.close()
    return found


def main() -> None:
    """Print both and their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    rows = parser.parse_args().rows
    results = {"spark": spark(rows), "flink": flink(rows)}
    for engine, found in results.items():
        called = (found["with"] - found["without"]) / rows * 1e9
        print(f"{engine}: {rows / found['with']:,.0f} rows a second, {called:.0f} ns more a call than length")
    print(f"Flink's time over ours: {results['flink']['with'] / results['spark']['with']:.2f}")


if __name__ == "__main__":
    main()
