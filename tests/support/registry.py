"""A schema registry of one process: Confluent's protocol over HTTP, as much as readers and writers of Avro use."""

from __future__ import annotations

import base64
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable
    from types import TracebackType

_ID = re.compile(r"/schemas/ids/(\d+)")
_VERSIONS = re.compile(r"/subjects/([^/]+)/versions")


class Registry:
    """Listens on a free port while used as a context. Ids count from 1 in order of first arrival of a schema.

    ``refuses``: what is new is incompatible, as a registry finds by its rules.
    """

    def __init__(self, user: str | None = None, token: str | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.schemas: list[str] = []
        self.registered: list[tuple[str, str]] = []
        self.asked: list[str] = []
        self.refuses = False
        self._expected = None
        if user is not None:
            self._expected = "Basic " + base64.b64encode(user.encode()).decode()
        if token is not None:
            self._expected = f"Bearer {token}"
        self._tls = tls

    def reset(self, schemas: Iterable[str] = ()) -> None:
        """Forget everything and hold these schemas under the ids 1, 2, ..."""
        self.schemas = list(schemas)
        self.registered = []
        self.asked = []

    def __enter__(self) -> Registry:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry._answer(self, None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                registry._answer(self, json.loads(body))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if self._tls is not None:
            self._server.socket = self._tls.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        scheme = "http" if self._tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler, body: Any) -> None:
        self.asked.append(f"{request.command} {request.path}")
        status, answer = self._look(request, body)
        text = json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    def _look(self, request: BaseHTTPRequestHandler, body: Any) -> tuple[int, Any]:
        if self._expected is not None and request.headers.get("Authorization") != self._expected:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        if (found := _ID.match(request.path)) and request.command == "GET":
            id = int(found.group(1))
            if 1 <= id <= len(self.schemas):
                return 200, {"schema": self.schemas[id - 1]}
            return 404, {"error_code": 40403, "message": "Schema not found"}
        if (found := _VERSIONS.match(request.path)) and request.command == "POST":
            schema = body["schema"]
            if self.refuses and schema not in self.schemas:
                return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
            if schema not in self.schemas:
                self.schemas.append(schema)
            self.registered.append((found.group(1), schema))
            return 200, {"id": self.schemas.index(schema) + 1}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}
