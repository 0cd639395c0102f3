"""Which brokers a source may ask for records at once: those that give remote storage a time of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.tiered import hasty, patient
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.runtime.broker.server import Broker

Settings = list[dict[str, str] | None]
REMOTE, LOCAL = {"remote.storage.enable": "true"}, {"remote.storage.enable": "false", "retention.ms": "1"}


@pytest.mark.parametrize(
    ("version", "settings", "at_once"),
    [
        ((3, 8), [REMOTE], True),
        ((4, 2), [], True),
        ((3, 7), [LOCAL, {}], True),
        ((3, 7), [LOCAL, REMOTE], False),
        ((3, 6), [{}, None], False),
        ((2, 8), [REMOTE], False),
        ((2, 4), [{}], True),
    ],
)
def test_who_may_be_asked_at_once(
    version: tuple[int, ...], settings: list[dict[str, str] | None], at_once: bool
) -> None:
    assert hasty(version, settings) is at_once


@pytest.mark.kafka
def test_a_source_asks_its_brokers(
    broker: Broker, new_topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, gone = new_topic("tiered", 1), "tiered-gone"
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, J.FETCH_WAIT: J.AT_ONCE}
    with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
        assert patient(options, [topic], admin) is not hasty(admin.version(), [admin.topic_settings(topic)])
        assert not patient(options, [topic, gone], admin)
        monkeypatch.setattr("flinkddl.runtime.kafka.tiered.OWN_TIME", (99,))  # as if this broker were an old one
        assert not patient(options, [topic], admin)
        assert patient(options, [topic, gone], admin)  # whose settings are not to be had
        assert not patient(options | {J.FETCH_WAIT: "70"}, [topic, gone], admin)
