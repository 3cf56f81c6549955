"""A proxy as companies have one: opens tunnels (CONNECT), or says why it opens none."""

from __future__ import annotations

import base64
import socket
import threading
from contextlib import suppress

from tests.servers.relay import Relay


class Proxy(Relay):
    """Wherever a tunnel is asked to, it ends at one port of ours: nothing leaves the machine."""

    def __init__(self, port: int, *, login: str = "") -> None:
        self.login = login  # name:password, if it wants one
        self.refusal = ""  # what it answers instead of opening a tunnel
        self.heads: list[str] = []  # all that was said to it in plain words
        super().__init__(port)

    @property
    def asked(self) -> list[str]:
        """Where to, each time."""
        return [head.split()[1] for head in self.heads]

    @property
    def url(self) -> str:
        return self.url_with(self.login)

    def url_with(self, login: str) -> str:
        return f"http://{login}@127.0.0.1:{self.port}" if login else f"http://127.0.0.1:{self.port}"

    def _join(self, client: socket.socket) -> None:
        threading.Thread(target=self._meet, args=(client,), daemon=True).start()

    def _meet(self, client: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            if not (piece := client.recv(1)):  # what follows the head belongs into the tunnel
                return
            head += piece
        self.heads.append(head.decode())
        refusal = self.refusal or self._stranger(head)
        with suppress(OSError):
            client.sendall(f"HTTP/1.1 {refusal or '200 Connection established'}\r\n\r\n".encode())
        if refusal:
            client.close()
        else:
            super()._join(client)

    def _stranger(self, head: bytes) -> str:
        plain = base64.b64encode(self.login.encode())
        knows = not self.login or b"Proxy-Authorization: Basic " + plain in head
        return "" if knows else "407 Proxy Authentication Required"
