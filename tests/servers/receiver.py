"""Somebody else's server over TLS, on loopback: it takes webhooks and has pages; it may fail."""

from __future__ import annotations

import json
import ssl
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from emulator.folder import Folder
from emulator.speakers import certificates


@dataclass
class Heard:
    """One request that was answered."""

    status: int
    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def name(self) -> str:
        return self.headers["webhook-id"]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.body.splitlines()]


class Receiver:
    def __init__(self, port: int, ca_file: Path) -> None:
        self.ca_file = str(ca_file)
        self.url = f"https://localhost:{port}/hooks?of=us"
        self.status, self.says = 200, b"thank you"
        self.headers: dict[str, str] = {}
        self.slow_seconds = 0.0
        self.drips_seconds = 0.0  # between two bytes of a page
        self.heard: list[Heard] = []
        self.pages: dict[str, int] = {}  # by path; others are not there
        self.knows_heads = True
        self._lock = Lock()

    def take(self, one: Heard) -> None:
        with self._lock:
            self.heard.append(one)

    def answer(self, one: BaseHTTPRequestHandler, status: int, says: bytes) -> None:
        one.send_response(status)
        for name, value in self.headers.items():
            one.send_header(name, value)
        one.send_header("Content-Length", str(len(says)))
        one.end_headers()
        step = 1 if self.drips_seconds else max(1, len(says))
        for first in range(0, len(says), step):
            one.wfile.write(says[first : first + step])
            time.sleep(self.drips_seconds)

    @property
    def taken(self) -> list[Heard]:
        with self._lock:
            return [one for one in self.heard if 200 <= one.status < 300]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for one in self.taken for event in one.events]

    @property
    def by_id(self) -> Counter[str]:
        """How often each event was taken."""
        return Counter(event["id"] for event in self.events)


@contextmanager
def receiving(folder: Path) -> Iterator[Receiver]:
    """Trusted by whoever trusts its `ca_file`."""
    held = Folder(folder)
    held.create()
    certificates.prepare(held, now=datetime.now(UTC))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # as the library calls it
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = receiver.status
            time.sleep(receiver.slow_seconds)
            given = {name.lower(): value for name, value in self.headers.items()}
            receiver.take(Heard(status, self.path, given, body))
            receiver.answer(self, status, receiver.says)

        def do_HEAD(self) -> None:
            self._show(known=receiver.knows_heads)

        def do_GET(self) -> None:
            self._show(known=True)

        def _show(self, *, known: bool) -> None:
            status = receiver.pages.get(self.path, 404) if known else 405
            given = {name.lower(): value for name, value in self.headers.items()}
            receiver.take(Heard(status, f"{self.command} {self.path}", given, b""))
            time.sleep(receiver.slow_seconds)
            receiver.answer(self, status, receiver.says if self.command == "GET" else b"")

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

        def get_request(self) -> tuple[Any, Any]:
            bare, address = super().get_request()
            return context.wrap_socket(
                bare, server_side=True, do_handshake_on_connect=False
            ), address

        def handle_error(self, *_: object) -> None:
            """Who calls may go in the middle."""

    context: ssl.SSLContext = certificates.server_context(held)
    context.set_alpn_protocols(["http/1.1"])
    with Server(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(server.server_address[1], held.authority)
        Thread(target=server.serve_forever, daemon=True).start()
        yield receiver
        server.shutdown()
