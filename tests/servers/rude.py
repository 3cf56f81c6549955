"""A server in FCM's place that misbehaves byte by byte, once, and is well again after that."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

HANG_UP_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close() becomes a reset
LONGEST = 10  # seconds that anything here waits for the other side


class Talk:
    """One connection, from the server's side."""

    def __init__(self, wire: socket.socket) -> None:
        self.wire = wire
        self.goes_on = False  # as if nothing had been
        self._come = b""

    def hear(self) -> Heard | None:
        """The next request, whole. None: the other side has hung up."""
        while b"\r\n\r\n" not in self._come:
            if not self._more():
                return None
        head, _, self._come = self._come.partition(b"\r\n\r\n")
        words = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:])
        size = int(words["content-length"])
        while len(self._come) < size:
            if not self._more():
                return None
        body, self._come = self._come[:size], self._come[size:]
        return Heard(head, words, json.loads(body)["message"], self)

    def hear_bytes(self, most: int) -> bytes:
        """So many of a request and no more, at the least one."""
        return self.wire.recv(most)

    def say(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.wire.sendall(piece)

    def wait_until_gone(self) -> None:
        with suppress(OSError):
            while self.wire.recv(65_536):
                pass

    def say_no_more(self) -> None:
        """Half of the connection is closed, and the other half is still read."""
        with suppress(OSError):
            self.wire.shutdown(socket.SHUT_WR)
        self.wait_until_gone()

    def reset(self) -> None:
        self.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, HANG_UP_AT_ONCE)
        self.wire.close()

    def _more(self) -> bool:
        try:
            piece = self.wire.recv(65_536)
        except OSError:
            return False
        self._come += piece
        return bool(piece)


class Heard:
    def __init__(
        self, head: bytes, words: dict[str, str], message: dict[str, Any], over: Talk
    ) -> None:
        self.head, self.words, self.message, self.over = head, words, message, over

    @property
    def name(self) -> str:
        """What FCM would call it: so each test sees whose answer it got."""
        return f"projects/shop/messages/{self.message['token'].partition(':')[0]}"

    @property
    def accepted(self) -> bytes:
        return json.dumps({"name": self.name}).encode()


def answer(
    body: bytes = b"", *headers: bytes, status: bytes = b"200 OK", version: bytes = b"1.1"
) -> bytes:
    """A head that says nothing of the body's length, and the body."""
    lines = [b"HTTP/%b %b" % (version, status), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def sized(body: bytes, *headers: bytes, **more: bytes) -> bytes:
    return answer(body, b"Content-Length: %d" % len(body), *headers, **more)


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


Misbehave = Callable[[Talk], object]


class Rude:
    """Each connection has a thread of its own. The first request belongs to `misbehave`."""

    def __init__(
        self,
        tls: ssl.SSLContext | None,
        misbehave: Misbehave | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._tls, self._misbehave = tls, misbehave
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self.port = int(self._listener.getsockname()[1])
        self.heard: list[Heard] = []
        self.connections = 0
        self.trouble: list[BaseException] = []
        self.is_well = threading.Event()  # it has misbehaved, and said all of it
        self.open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def hang_up(self) -> None:
        """On everybody who is connected now."""
        while self.open:
            with suppress(OSError):
                self.open.pop().shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()

    def _serve(self) -> None:
        while True:
            try:
                wire, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._welcome, args=(wire,), daemon=True).start()

    def _welcome(self, wire: socket.socket) -> None:
        wire.settimeout(LONGEST)
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self._tls:
                wire = self._tls.wrap_socket(wire, server_side=True)
            self.open.append(wire)
            self._talk(Talk(wire))
        except OSError:
            pass  # it hung up on us, and may
        except BaseException as error:
            self.trouble.append(error)
        finally:
            with suppress(OSError):
                wire.close()
            self.is_well.set()

    def _talk(self, talk: Talk) -> None:
        misbehave, self._misbehave = self._misbehave, None
        if misbehave:
            misbehave(talk)
        if misbehave and not talk.goes_on:
            return
        self.is_well.set()
        while heard := talk.hear():
            self.heard.append(heard)
            talk.say(sized(heard.accepted))
