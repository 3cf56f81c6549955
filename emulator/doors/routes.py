"""Which door a request knocks at."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from urllib.parse import unquote, urlencode

from emulator.doors.fcm import Fcm
from emulator.doors.oauth import TokenDesk
from emulator.faults.faults import FIGURES, TOKEN, Faults
from emulator.google.catalogue import INTERNAL
from emulator.google.envelopes import Refused
from emulator.http.exchange import Reaction, Request
from emulator.http.replies import Reply, google_page, json_reply

TOKEN_PATHS = (b"/token", b"/oauth2/v4/token")  # today's, and that of older libraries
SEND = re.compile(rb"/v1/projects/([^/]+)/messages:send")
DELIVERY_DATA = re.compile(rb"/v1beta1/projects/([^/]+)/androidApps/([^/]+)/deliveryData")

# A foreign name that leads here would make a foreign page and the console one site to a browser.
OWN_NAME = re.compile(rb"(?:(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?)?")
FOREIGN = json_reply(
    {"error": "this is for pages and programs of this machine, and you come from another site"},
    status=403,
)

# Method, target and body of a request that is not FCM's, to the reply; None if there is no door.
Elsewhere = Callable[[bytes, bytes, bytes], Awaitable[Reply | None]]


class Routes:
    def __init__(self, *, fcm: Fcm, desk: TokenDesk, faults: Faults, elsewhere: Elsewhere) -> None:
        self._fcm = fcm
        self._desk = desk
        self._faults = faults
        self._elsewhere = elsewhere

    def __call__(self, request: Request) -> Reaction | Awaitable[Reaction]:
        now = time.time()
        path, _, _ = request.target.partition(b"?")
        send = SEND.fullmatch(path)
        if send and request.method == b"POST":
            project = unquote(send[1].decode("latin-1"))
            return self._fcm.send(request, project=project, now=now)
        figures = DELIVERY_DATA.fullmatch(path)
        if figures and request.method == b"GET":
            project, app = (unquote(part.decode("latin-1")) for part in figures.groups())
            return self._figures(request, project, app, now=now)
        if request.method == b"POST" and path in TOKEN_PATHS:
            return self._token(request, now=now)
        return self._ask_elsewhere(request, path)

    def _token(self, request: Request, *, now: float) -> Reaction:
        scripted = self._faults.meet(TOKEN, "", None, now=now) if self._faults.scripted else None
        if scripted is None:
            return Reaction(self._desk.issue(request.body, now=now).dated(now))
        reply = (scripted.answer or INTERNAL).reply
        if scripted.accepts and not scripted.answer:
            reply = self._desk.issue(request.body, now=now)
        else:
            self._desk.refuse()
        return self._fcm.react(scripted, reply.dated(now))

    async def _figures(self, request: Request, project: str, app: str, *, now: float) -> Reaction:
        """FCM's Data API, to those whose token may read it."""
        scripted = self._faults.meet(FIGURES, "", None, now=now) if self._faults.scripted else None
        if scripted is not None:
            return self._fcm.react(scripted, (scripted.answer or INTERNAL).reply.dated(now))
        try:
            self._desk.admit(request.authorization, project=project, now=now, to_read=True)
        except Refused as refused:
            return Reaction(refused.answer.reply.dated(now))
        added = urlencode({"project": project, "app": app}).encode()
        query = b"&".join(filter(None, (request.target.partition(b"?")[2], added)))
        reply = await self._elsewhere(b"GET", b"/admin/figures?" + query, b"")
        return Reaction((reply or INTERNAL.reply).dated(now))

    async def _ask_elsewhere(self, request: Request, path: bytes) -> Reaction:
        reply: Reply | None = FOREIGN
        if not _is_of_the_console(path) or _comes_from_here(request):
            reply = await self._elsewhere(request.method, request.target, request.body)
        reply = reply or _not_found(path)
        payload = reply.dated(time.time())
        if request.method == b"HEAD":
            payload = payload.removesuffix(reply.body)
        return Reaction(payload)


def _is_of_the_console(path: bytes) -> bool:
    return path == b"/" or path.startswith(b"/admin/")


def _comes_from_here(request: Request) -> bool:
    """A browser lets any page send requests to this machine, but it says whose page it was."""
    if not OWN_NAME.fullmatch(request.host):
        return False
    return request.origin in (b"", b"https://" + request.host)


def _not_found(path: bytes) -> Reply:
    shown = path.decode("latin-1")
    return google_page(404, f"The requested URL {shown} was not found on this server.")
