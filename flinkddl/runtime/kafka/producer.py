"""Writing records one by one from the driver: for people and tests, never for jobs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.admin import describe
from flinkddl.runtime.kafka.config import python_client_config

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FLUSH_SECONDS = 30.0


class Producer:
    """An open producer; ``written`` counts what the cluster has taken when it is closed. Raises FD814."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        from kafka import KafkaProducer

        self._producer: Any = KafkaProducer(**python_client_config(properties), acks="all", linger_ms=5)
        self._sent: list[Any] = []
        self.written = 0

    def send(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """Write one record."""
        self._sent.append(self._producer.send(topic, key=key, value=value, headers=list(headers)))
        if len(self._sent) >= 10_000:
            self.flush()

    def flush(self) -> None:
        """Wait until the cluster has taken all that was sent. Raises FD814 where it does not."""
        from kafka.errors import KafkaError

        try:
            self._producer.flush(FLUSH_SECONDS)
            for sent in self._sent:
                sent.get(FLUSH_SECONDS)
                self.written += 1
        except KafkaError as error:
            raise FlinkDdlError.of("FD814", f"a record was not taken: {describe(error)}") from error
        finally:
            self._sent.clear()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(self._producer.close, FLUSH_SECONDS)
            self.flush()
