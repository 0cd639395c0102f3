"""What a ``check`` does before it has answered: how many functions it calls and how many modules it loads.

These are the same on every machine and at every hour; seconds are not, and ``python -m tests.bench check`` measures
them. On 2026-11-29 this script took 2.0 to 2.4 times the CPU time of Python with sqlglot and jsonschema alone, of which
a check is made: 0.24 s on a quick machine, 0.39 s on a slow one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "samples" / "clicks_per_hour" / "job.sql"
MOST_CALLS = 170_000  # 154,372 on 2026-11-29, of which loading sqlglot and jsonschema are most
MOST_MODULES = 225  # of ours; 211 on 2026-11-29
NEVER = {"pyspark", "kafka", "fastavro", "pandas", "numpy", "grpc", "rich", "gssapi"}
COUNTED = """
import sys
calls = 0
def count(frame, event, argument):
    global calls
    calls += event == "call"
sys.setprofile(count)
from flinkddl.cli.main import main
code = main(["check", sys.argv[1]])
sys.setprofile(None)
loaded = [name.partition(".")[0] for name in sys.modules]
print(code, calls, loaded.count("flinkddl"), *sorted({*loaded}))
"""


def test_check_of_a_usual_script_does_little() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "KAFKA_SERVERS": "127.0.0.1:9092"}
    command = [sys.executable, "-c", COUNTED, str(SCRIPT)]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    code, calls, modules, *loaded = done.stdout.splitlines()[-1].split()
    assert code == "0"
    assert NEVER.intersection(loaded) == set()
    assert 100_000 < int(calls) < MOST_CALLS
    assert 100 < int(modules) < MOST_MODULES
