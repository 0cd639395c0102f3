"""A TCP proxy before a broker that notes who speaks: the client id of each connection's first request."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

_JAVA = b"apache-kafka-java"  # what Java clients call themselves in their first request


class Proxy:
    """Passes connections on to ``host:port`` while used as a context; ``java_clients`` are the ids of Java's clients.

    Only what is sent to the bootstrap address passes here: a broker tells its own address to those that ask.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self.java_clients: set[str] = set()
        self._open: list[socket.socket] = []

    def __enter__(self) -> Proxy:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in (self._server, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                broker = socket.create_connection(self._target)
                self._open += [client, broker]
                threading.Thread(target=self._pump, args=(client, broker, True), daemon=True).start()
                threading.Thread(target=self._pump, args=(broker, client, False), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, first: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if first:
                    self._note(data)
                    first = False
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def _note(self, data: bytes) -> None:
        """Read a request: size, api key, api version, correlation id, then the client's id."""
        (length,) = struct.unpack_from(">h", data, 12)
        if _JAVA in data:
            self.java_clients.add(data[14 : 14 + max(length, 0)].decode())
