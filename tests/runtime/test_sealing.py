"""Settings that hold secrets: sealed by the application's key, not by what a session is told later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.runtime.session import sessions
from flinkddl.runtime.session.sessions import KEY, build_session, job_session, sealing_key

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_second_session_of_an_application_seals_with_its_key(spark: SparkSession) -> None:
    key = sealing_key(spark)
    assert key is not None
    assert len(key) == 64
    again = build_session()  # the builder gives the session that runs, and sets all of its own settings on it
    assert again.conf.get(KEY) != key
    assert sealing_key(again) == key
    job = job_session(
        again, {"spark.flinkddl.secret.url.0": "http://me:pass@host", "spark.sql.shuffle.partitions": "3"}
    )
    assert job.conf.get("spark.flinkddl.secret.url.0").startswith("sealed:")
    assert job.conf.get("spark.sql.shuffle.partitions") == "3"


def test_only_secrets_ask_for_the_key_and_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[SparkSession] = []
    monkeypatch.setattr(sessions, "sealing_key", lambda known: asked.append(known) or sealing_key(known))
    job_session(spark, {"spark.sql.shuffle.partitions": "3"})
    assert asked == []
    secrets = {f"spark.flinkddl.secret.url.{n}": f"http://me:pass@host{n}" for n in range(3)}
    job = job_session(spark, secrets)
    assert asked == [spark]
    assert len({job.conf.get(key) for key in secrets}) == 3
    assert all(job.conf.get(key).startswith("sealed:") for key in secrets)
