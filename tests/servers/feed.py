"""A real feed beside the tests, and apps that listen to it."""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from config.feed.command import command
from config.stack.answers import http
from tests.given.waiting import eventually
from tests.servers.forked import Forked, fork
from tests.servers.ports import free_ports
from tests.servers.workers import database_of_the_tests

STREAM = "/api/v1/me/inbox/stream"
PATIENCE = 30.0  # seconds for what has to come


class Feed:
    def __init__(self, different: Mapping[str, str] | None = None, *, port: int = 0) -> None:
        self.port = port or free_ports(1)[0]
        database = {"DATABASE_URL": database_of_the_tests()}
        self.logs = Path(tempfile.mkdtemp(prefix="carillon-feed-"))
        self.log = self.logs / "feed.log"
        self.environment = {**os.environ, **database, **(different or {})}
        self.process = self._fork("feed.log", *command(port=str(self.port))[2:])
        eventually("the feed answers", http(f"http://127.0.0.1:{self.port}/healthz"))

    def healthy(self) -> tuple[int, str]:
        """What a probe says: exit code and words."""
        probe = self._fork("probe.log", "manage", "healthy", "feed", "--port", str(self.port))
        return probe.wait(), (self.logs / "probe.log").read_text()

    def _fork(self, log: str, *arguments: str) -> Forked:
        return fork(*arguments, environment=self.environment, log=self.logs / log)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def call(self, said: bytes, *, room: int = 0) -> socket.socket:
        """A connection that has said this, and has heard nothing yet; with so much room for it."""
        connection = socket.socket()
        connection.settimeout(PATIENCE)
        if room:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(said)
        return connection

    def listen(self, token: str = "", *, query: str = "", room: int = 0, **headers: str) -> Ear:
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{name}: {value}" for name, value in {**shown, **named}.items()]
        head = "\r\n".join([f"GET {STREAM}{query} HTTP/1.1", "Host: 127.0.0.1", *lines, "", ""])
        return Ear(self.call(head.encode(), room=room))

    def listen_by_ticket(self, ticket: str) -> Ear:
        return self.listen(query=f"?ticket={quote(ticket)}")


@dataclass
class Event:
    kind: str = ""
    position: str = ""
    data: Any = None
    comment: str = ""
    retry: int = 0


@dataclass
class Ear:
    """One open stream, read as a browser reads it."""

    connection: socket.socket
    events: list[Event] = field(default_factory=list)
    position: str = ""
    ended: bool = False

    def __post_init__(self) -> None:
        self._bytes = b""
        self._rest = b""
        head = self._until(b"\r\n\r\n").decode("latin-1")
        self.status = int(head.split()[1])
        lines = [line.partition(": ") for line in head.split("\r\n")[1:]]
        self.headers = {name.lower(): value for name, _, value in lines}

    def refusal(self) -> dict[str, Any]:
        while len(self._bytes) < int(self.headers["content-length"]):
            self._bytes += self.connection.recv(65_536)
        return dict(json.loads(self._bytes))

    def until(self, kind: str, *, seconds: float = PATIENCE) -> Event:
        """The next of its kind; what came before it is in `events`."""
        deadline = time.monotonic() + seconds
        while True:
            event = self.next(deadline - time.monotonic())
            assert event is not None, f"no {kind} within {seconds:.0f} s: {self.events}"
            if event.kind == kind:
                return event

    def items(self, count: int) -> list[int]:
        """The numbers of so many."""
        return [int(self.until("item").data["id"]) for _ in range(count)]

    def until_counts(self, unread: int) -> Event:
        while (event := self.until("counts")).data["unread"] != unread:
            pass
        return event

    def during(self, seconds: float) -> list[Event]:
        """What comes in so long."""
        deadline, found = time.monotonic() + seconds, list[Event]()
        while (event := self.next(deadline - time.monotonic())) is not None:
            found.append(event)
        return found

    def until_closed(self, *, seconds: float = PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while not self.ended:
            assert time.monotonic() < deadline, "it is still open"
            self.next(deadline - time.monotonic())

    def next(self, seconds: float) -> Event | None:
        """None: nothing came, or it is over."""
        deadline = time.monotonic() + seconds
        while b"\n\n" not in self._rest and not self.ended:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self.connection.settimeout(left)
            try:
                self._chunk()
            except TimeoutError:
                return None
            except OSError:
                self.ended = True
        if b"\n\n" not in self._rest:
            return None
        text, _, self._rest = self._rest.partition(b"\n\n")
        event = _event(text.decode())
        self.position = event.position or self.position
        self.events.append(event)
        return event

    def close(self) -> None:
        self.connection.close()

    def _chunk(self) -> None:
        """A whole one, or nothing is taken of it."""
        while True:
            size, mark, rest = self._bytes.partition(b"\r\n")
            length = int(size, 16) if mark else 0
            if mark and len(rest) >= length + 2:
                self._rest += rest[:length]
                self._bytes = rest[length + 2 :]
                self.ended = length == 0
                return
            more = self.connection.recv(65_536)
            if not more:
                self.ended = True
                return
            self._bytes += more

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._bytes:
            more = self.connection.recv(65_536)
            assert more, f"closed after {self._bytes!r}"
            self._bytes += more
        head, _, self._bytes = self._bytes.partition(mark)
        return head


def _event(text: str) -> Event:
    event = Event()
    for line in text.split("\n"):
        name, _, value = line.partition(": ")
        if line.startswith(": "):
            event.comment = line[2:]
        elif name == "event":
            event.kind = value
        elif name == "id":
            event.position = value
        elif name == "data":
            event.data = json.loads(value)
        elif name == "retry":
            event.retry = int(value)
    return event
