"""Topics of which brokers keep old records in another place, and how long a reader gives that place.

Before Kafka 3.8 a broker waits for it no longer than the reader's ``fetch.max.wait.ms`` says, then answers with
nothing, each time anew (KIP-1018, which gave brokers ``remote.fetch.max.wait.ms``): a hasty reader would never get on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flinkddl.runtime.kafka.admin import KafkaAdmin

OWN_TIME = (3, 8)
"""The first brokers that have a time of their own for it."""


def hasty(version: tuple[int, ...], settings: Iterable[Mapping[str, str] | None]) -> bool:
    """Return whether brokers of a version may be asked for records at once; of topics with these settings.

    None are settings that this user may not read.
    """
    return version >= OWN_TIME or all(s is not None and s.get("remote.storage.enable") != "true" for s in settings)


def patient(options: Mapping[str, str], topics: Iterable[str], admin: KafkaAdmin) -> bool:
    """Return whether a source that would read at once has to wait as long as its client does by itself."""
    at_once = options.get(J.FETCH_WAIT) == J.AT_ONCE
    return at_once and not hasty(admin.version(), (_settings(t, admin) for t in topics))  # asked for where they count


def _settings(topic: str, admin: KafkaAdmin) -> dict[str, str] | None:
    return admin.topic_settings(topic, "all") or None
