"""Twenty queries, kill -9, resume: a small soak in the nightly run; every query of it is planned in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from tests.soak.__main__ import soak
from tests.soak.queries import QUERIES, script

if TYPE_CHECKING:
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.kafka.admin import KafkaAdmin


def test_every_query_is_planned() -> None:
    out = compile_script(SourceText("<soak>", script("b:9092", len(QUERIES), "out", 100)))
    assert not out.has_errors, out.diagnostics
    job = next(a.job for a in out.actions if isinstance(a, Start))
    assert len(job.writes) == len(QUERIES) == 20
    assert {w.mode for w in job.writes} == {"update"}


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_killed_and_resumed(broker: Broker, admin: KafkaAdmin, tmp_path: Path) -> None:
    assert "equal to the uninterrupted run" in soak(broker.bootstrap, admin, 20, 20_000, tmp_path)
