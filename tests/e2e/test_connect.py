"""Spark Connect: connect_cases.py and bridge_cases.py in a process of their own, on one server.

PySpark has one kind of session in a process.
"""

from __future__ import annotations

from shutil import which

import pytest

from tests.e2e.support import passed_cases
from tests.support.nightly import nightly

pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
BRIDGE = (
    "ddl_makes_temp_views", "a_batch_view_reads_anew", "do_not_depend", "with_tombstones", "stop_takes_ours",
)  # fmt: skip
"""One of each kind; the nightly run takes all."""


OWN = 12 + (which("javac") is not None)
"""How many cases connect_cases.py has; one needs a JDK."""


@pytest.mark.kafka
@pytest.mark.parametrize("bridge", [BRIDGE, nightly(())])
def test_jobs_over_spark_connect(broker, bridge):
    cases = ["tests/e2e/connect_cases.py", "tests/e2e/bridge_cases.py"]
    chosen = ("connect_cases", *bridge) if bridge else ()
    passed = passed_cases(broker, "remote", cases, chosen)
    assert passed == OWN + len(bridge) if bridge else passed > OWN + len(BRIDGE)
