"""A Redis server: the real one where ``redis-server`` is on the path, else a stand-in that speaks RESP.

The stand-in knows what the connector's client sends: AUTH, SELECT, transactions, DEL, HSET, HGETALL, KEYS.
"""

from __future__ import annotations

import shutil
import socket
import socketserver
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

PASSWORD = "s3cret-of-redis"


class RedisServer:
    """Listens on a free port of this machine, behind ``PASSWORD``, while used as a context."""

    def __enter__(self) -> RedisServer:
        self._process = self._server = None
        if program := shutil.which("redis-server"):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            given = {"port": self.port, "bind": "127.0.0.1", "requirepass": PASSWORD, "save": "", "appendonly": "no"}
            words = [word for key, value in given.items() for word in (f"--{key}", str(value))]
            self._process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
            self._await()
        else:
            self._server = _StandIn(("127.0.0.1", 0), _Connection)
            self.port = self._server.server_address[1]
            threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def _await(self) -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("redis-server does not listen")

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def client(self, database: int = 0) -> Any:
        """Return a client of a database."""
        import redis

        return redis.Redis(port=self.port, password=PASSWORD, db=database, decode_responses=True, protocol=2)

    def hashes(self, database: int = 0) -> dict[str, dict[str, str]]:
        """Return all that is there."""
        with self.client(database) as client:
            return {key: client.hgetall(key) for key in sorted(client.keys("*"))}


class _StandIn(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], handler: type[socketserver.BaseRequestHandler]) -> None:
        super().__init__(address, handler)
        self.databases: dict[int, dict[bytes, dict[bytes, bytes]]] = {}
        self.lock = threading.Lock()


class _Failed(Exception):
    pass


class _Connection(socketserver.StreamRequestHandler):
    server: _StandIn

    def handle(self) -> None:
        self._known, self._database = False, 0
        self._queued: list[list[bytes]] | None = None
        while words := self._read():
            try:
                answer = self._take(words)
            except _Failed as failure:
                self.wfile.write(f"-{failure}\r\n".encode())
            else:
                self.wfile.write(_said(answer))

    def _read(self) -> list[bytes]:
        if not (head := self.rfile.readline()):
            return []
        return [self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))]

    def _take(self, words: list[bytes]) -> Any:
        name = words[0].upper().decode()
        if name not in _COMMANDS:
            raise _Failed(f"ERR unknown command '{name}'")
        if name != "AUTH" and not self._known:
            raise _Failed("NOAUTH Authentication required.")
        if self._queued is not None and name != "EXEC":
            self._queued.append(words)
            return "QUEUED"
        with self.server.lock:
            return _COMMANDS[name](self, words[1:])

    @property
    def _hashes(self) -> dict[bytes, dict[bytes, bytes]]:
        return self.server.databases.setdefault(self._database, {})

    def auth(self, words: list[bytes]) -> str:
        if words[-1].decode() != PASSWORD:
            raise _Failed("WRONGPASS invalid username-password pair or user is disabled.")
        self._known = True
        return "OK"

    def select(self, words: list[bytes]) -> str:
        self._database = int(words[0])
        return "OK"

    def multi(self, words: list[bytes]) -> str:
        self._queued = []
        return "OK"

    def exec(self, words: list[bytes]) -> list[Any]:
        queued, self._queued = self._queued or [], None
        return [_COMMANDS[w[0].upper().decode()](self, w[1:]) for w in queued]

    def delete(self, words: list[bytes]) -> int:
        return sum(self._hashes.pop(word, None) is not None for word in words)

    def hset(self, words: list[bytes]) -> int:
        self._hashes.setdefault(words[0], {}).update(zip(words[1::2], words[2::2], strict=True))
        return len(words) // 2

    def hgetall(self, words: list[bytes]) -> list[bytes]:
        return [word for pair in self._hashes.get(words[0], {}).items() for word in pair]

    def keys(self, words: list[bytes]) -> list[bytes]:
        return list(self._hashes)


_COMMANDS: dict[str, Callable[[_Connection, list[bytes]], Any]] = {
    "AUTH": _Connection.auth,
    "SELECT": _Connection.select,
    "MULTI": _Connection.multi,
    "EXEC": _Connection.exec,
    "DEL": _Connection.delete,
    "HSET": _Connection.hset,
    "HGETALL": _Connection.hgetall,
    "KEYS": _Connection.keys,
}


def _said(value: Any) -> bytes:
    match value:
        case str():
            return f"+{value}\r\n".encode()
        case int():
            return f":{value}\r\n".encode()
        case bytes():
            return b"$%d\r\n%s\r\n" % (len(value), value)
        case _:
            return b"*%d\r\n%s" % (len(value), b"".join(map(_said, value)))
