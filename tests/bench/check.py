"""Wall time of ``flinkddl check`` as a user starts it: scripts of 300 lines, eight mistakes, a folder of 1,000 files.

The first script is the samples one after another, the second 23 times a table and its aggregate. Median, least and most
of 15 runs each, in turn, so that a slow spell of the machine meets all of them.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = 305
RUNS = 15

_SINK = """CREATE TABLE s{n} (user_id BIGINT, n BIGINT, m STRING, PRIMARY KEY (user_id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 's{n}',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);
INSERT INTO s{n}
SELECT user_id, COUNT(*), MAX(UPPER(page))
FROM clicks
WHERE page LIKE '/p{n}%'
GROUP BY user_id
HAVING COUNT(*) > {n};
"""
_SOURCE = """CREATE TABLE clicks (
  user_id BIGINT,
  page STRING,
  ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
"""


def samples() -> str:
    """Return the samples' scripts in a row up to some 300 lines, each table's name in one of them only."""
    lines: list[str] = []
    seen: set[str] = set()
    for path in sorted(ROOT.glob("samples/*/job.sql")):
        text = path.read_text(encoding="utf-8")
        names = set(re.findall(r"CREATE (?:TABLE|VIEW) (\w+)", text))
        if not names & seen and len(lines) + text.count("\n") <= LINES:
            seen |= names
            lines += text.splitlines()
    return "\n".join(lines) + "\n"


def aggregates() -> str:
    """Return one source and 23 tables, each with its INSERT."""
    return _SOURCE + "".join(_SINK.format(n=n) for n in range(23))


def _seconds(path: Path, arguments: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run([Path(sys.executable).with_name("flinkddl"), "check", path, *arguments], capture_output=True)
    return time.perf_counter() - begin


def main(records: int = 0) -> None:
    """Measure and print one line a case; ``records`` is not used."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    variables = ["-D", "KAFKA_SERVERS=localhost:9092", "-D", "REGISTRY_URL=http://localhost:8081"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        thousand = folder / "thousand"
        thousand.mkdir()
        jobs = sorted(ROOT.glob("tests/cases/jobs/*.sql"))
        for n in range(1000):
            (thousand / f"{n}.sql").write_text(jobs[n % len(jobs)].read_text(encoding="utf-8"), encoding="utf-8")
        (folder / "samples.sql").write_text(samples(), encoding="utf-8")
        (folder / "aggregates.sql").write_text(aggregates(), encoding="utf-8")
        cases = [folder / "samples.sql", folder / "aggregates.sql", ROOT / "tests/cases/eight_mistakes.sql"]
        times: dict[Path, list[float]] = {path: [] for path in cases}
        for path in cases:
            _seconds(path, variables)  # compiles what is not compiled yet
        for _ in range(RUNS):
            for path in cases:
                times[path].append(_seconds(path, variables))
        for path, found in times.items():
            text = path.read_text(encoding="utf-8")
            what = f"{path.name}: {text.count(chr(10))} lines, {len(re.findall(r'(?m)^INSERT', text))} INSERTs"
            print(f"{what}: median {statistics.median(found):.3f} s ({min(found):.3f} to {max(found):.3f})")
        print(f"folder of 1,000 files, {sum(p.stat().st_size for p in thousand.iterdir()) // 1000} kB: ", end="")
        print(f"{_seconds(thousand, variables):.1f} s")
