"""A streaming view used from plain PySpark against a real broker: killed, resumed on its checkpoint, recounted."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e import support
from tests.e2e.test_pageviews import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
ROOT = Path(__file__).parents[2]


def test_a_killed_query_over_a_view_goes_on(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> None:
    source, target = new_topic("pageviews", 3), new_topic("counted", 1)
    views = support.pageviews(20000, seed=5)
    support.send(broker.bootstrap, source, views, 3)
    command = [sys.executable, "-m", "tests.e2e.view_query", broker.bootstrap, source, target, str(tmp_path / "state")]
    for kill_at in (6000, len(views)):
        run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            wait_until(lambda kill_at=kill_at: counted(broker.bootstrap, target).total() >= kill_at, run)
        finally:
            run.send_signal(signal.SIGKILL)
            run.wait(60)
        if kill_at < len(views):
            assert counted(broker.bootstrap, target).total() < len(views), "it was through before it could be killed"
    assert counted(broker.bootstrap, target) == Counter(v["user_region"] for v in views)


def counted(servers: str, topic: str) -> Counter[str]:
    """Return the last count of each region."""
    return Counter({r.key.decode(): int(r.value) for r in support.read_topic(servers, topic)})
