"""Which door a request knocks at."""

from __future__ import annotations

import re
import time
from urllib.parse import unquote

from emulator.console import Console
from emulator.exchange import Reaction, Request
from emulator.fcm import Fcm
from emulator.oauth import TokenDesk
from emulator.replies import Reply, google_page

SEND = re.compile(rb"/v1/projects/([^/]+)/messages:send")


class Routes:
    def __init__(self, *, fcm: Fcm, desk: TokenDesk, console: Console) -> None:
        self._fcm = fcm
        self._desk = desk
        self._console = console

    def __call__(self, request: Request) -> Reaction:
        now = time.time()
        path, _, query = request.target.partition(b"?")
        send = SEND.fullmatch(path)
        if send and request.method == b"POST":
            project = unquote(send[1].decode("latin-1"))
            return self._fcm.send(request, project=project, now=now)
        if (request.method, path) == (b"POST", b"/token"):
            return Reaction(self._desk.issue(request.body, now=now).dated(now))
        reply = self._console.answer(request, path, query, now=now) or _not_found(path)
        payload = reply.dated(now)
        if request.method == b"HEAD":
            payload = payload.removesuffix(reply.body)
        return Reaction(payload)


def _not_found(path: bytes) -> Reply:
    shown = path.decode("latin-1")
    return google_page(404, f"The requested URL {shown} was not found on this server.")
