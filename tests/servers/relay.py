"""A relay in front of a server: passes bytes on, or holds, or hangs up, as a bad network does."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Relay:
    def __init__(
        self, port: int, *, host: str = "127.0.0.1", at: tuple[str, int] = ("127.0.0.1", 0)
    ) -> None:
        """To this port, from a free one of ours or `at` another address."""
        self._target = (host, port)
        self._listener = socket.create_server(at)
        self.port = self._listener.getsockname()[1]
        self.mode = "pass"
        self.connections = 0
        self.came = threading.Event()
        self._connected = threading.Event()
        self._connected.set()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def hang_up(self) -> None:
        """Close what is open, and everything that comes."""
        self.mode = "close"
        self._close_all()

    def cut(self) -> None:
        """Nothing goes through any more, either way, and nobody is told: a cable was pulled."""
        self.mode = "hold"
        self._connected.clear()

    def mend(self) -> None:
        """What was on its way arrives late."""
        self.mode = "pass"
        self._connected.set()

    def stop(self) -> None:
        self.mend()
        with suppress(OSError):
            # Whoever waits in accept() keeps a closed listener open for one connection more.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._close_all()

    def _close_all(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.mode == "close":
                client.close()
            elif self.mode == "hold":
                self._open.append(client)
            else:
                self._join(client)
            self.came.set()

    def _join(self, client: socket.socket) -> None:
        server = socket.create_connection(self._target)
        self._open += [client, server]
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self._connected.wait()
                sink.sendall(data)
        self._connected.wait()
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
