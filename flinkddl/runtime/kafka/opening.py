"""How clients of kafka-python are opened, and what stays of one that found no way in: why, and nothing else.

The library's constructor starts a thread with sockets of its own, tries for some time, and raises without ending it: a
job that waits for its cluster overnight would keep some thousand of them. Of a login that was refused it says so in its
log alone.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_MANAGER = "kafka.net.manager"  # logs why a connection failed, in the thread of its client


class LoginRefused(Exception):
    """A server does not take the login, in its own words."""


class _Refusals(logging.Handler):
    """Keeps by thread what servers have said of logins."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: dict[int | None, Exception] = {}

    def emit(self, record: logging.LogRecord) -> None:
        from kafka.errors import SaslAuthenticationFailedError

        for given in record.args if isinstance(record.args, tuple) else ():
            if isinstance(given, SaslAuthenticationFailedError):
                self.said[record.thread] = given


_LOCK = threading.Lock()
_OPEN: list[_Refusals] = []


def open_admin(config: Mapping[str, Any], seconds: float) -> Any:
    """Return an open KafkaAdminClient; raise as ``opened``, within ``seconds``."""
    from kafka import KafkaAdminClient

    own = {"bootstrap_timeout_ms": int(seconds * 1000), "request_timeout_ms": 30000}
    return opened(KafkaAdminClient, {**config, **own})


def opened(kind: Any, config: Mapping[str, Any]) -> Any:
    """Return an open admin client or consumer; raise LoginRefused, or what kafka-python raises."""
    from kafka.errors import KafkaError

    client = kind.__new__(kind)  # a constructor that raises gives nobody the client to end
    heard = _listen()
    try:
        client.__init__(**config)
    except KafkaError as error:
        thread = getattr(getattr(client, "_net", None), "_io_thread", None)
        refusal = heard.said.get(thread.ident) if thread is not None else None
        _end(client)
        if refusal is not None:
            raise LoginRefused(str(refusal)) from error
        raise
    finally:
        _forget(heard)
    return client


def _end(client: Any) -> None:
    """End a client that its constructor has left half made: its own ``close`` wants all of it."""
    for part, end in (("_metrics", "close"), ("_client", "close"), ("_net", "stop")):
        with suppress(Exception):
            getattr(getattr(client, part), end)()


def _listen() -> _Refusals:
    logger, handler = logging.getLogger(_MANAGER), _Refusals()
    with _LOCK:
        _OPEN.append(handler)
        logger.setLevel(logging.WARNING)
        logger.propagate = False  # its lines are for nobody else: "kafka" is silent
        logger.addHandler(handler)
    return handler


def _forget(handler: _Refusals) -> None:
    logger = logging.getLogger(_MANAGER)
    with _LOCK:
        _OPEN.remove(handler)
        logger.removeHandler(handler)
        if not _OPEN:
            logger.setLevel(logging.NOTSET)
            logger.propagate = True
