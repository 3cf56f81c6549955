"""Somebody else's mail server, on loopback; it may be slow."""

from __future__ import annotations

import socketserver
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from threading import Thread
from typing import cast


class Mailbox(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Conversation)
        self.port = int(self.server_address[1])
        self.slow_seconds = 0.0  # before each answer to a recipient
        self.mails: list[tuple[list[str], EmailMessage]] = []


class Conversation(socketserver.StreamRequestHandler):
    """As much of SMTP as Python's client speaks."""

    def handle(self) -> None:
        box, to = cast(Mailbox, self.server), list[str]()
        self._say("220 here")
        for line in self.rfile:
            verb = line[:4].upper()
            if verb == b"RCPT":
                time.sleep(box.slow_seconds)
                to.append(line.split(b"<")[1].split(b">")[0].decode())
            elif verb == b"DATA":
                self._say("354 go on")
                box.mails.append((to, self._body()))
            self._say("221 bye" if verb == b"QUIT" else "250 ok")
            if verb == b"QUIT":
                return

    def _body(self) -> EmailMessage:
        lines = iter(self.rfile.readline, b".\r\n")
        whole = b"".join(line.removeprefix(b".") for line in lines)
        return message_from_bytes(whole, policy=policy.default)

    def _say(self, text: str) -> None:
        try:
            self.wfile.write(f"{text}\r\n".encode())
        except OSError:  # whoever waited has hung up
            return


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as box:
        Thread(target=box.serve_forever, daemon=True).start()
        yield box
        box.shutdown()
