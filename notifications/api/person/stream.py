"""The live inbox: a ticket for a browser, and the door of the stream itself."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser
from django.core import signing
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base import query
from notifications.api.base.problems import Problem, refuses
from notifications.api.base.query import takes
from notifications.api.person.authentication import InboxTokenAuthentication, NotTaken
from notifications.api.person.view import PersonsView
from notifications.inbox.stream_position import FORM, Position
from notifications.keys.inbox_secret import InboxSecret
from notifications.keys.inbox_token import TokenOwner
from notifications.requests.origin import FEED, feed_beside

SALT = "carillon.inbox.ticket"
LASTS = timedelta(minutes=1)
LONGEST = 4_096
LONGEST_POSITION = 18 + 40 * 13
NOT_GOOD = "This ticket is not valid, or a minute old. Get another: POST me/inbox/ticket."
ELSEWHERE = (
    "Streams are answered by the process “feed”. Have the proxy pass this address to it, or call "
    "the `url` that POST me/inbox/ticket gives."
)
NO_POSITION = "Send back the `id` of the last event that came, or leave it out."
TICKET = query.text(
    "ticket",
    "In place of the header: from `POST me/inbox/ticket`.",
    r"^[A-Za-z0-9_:.-]+$",
    longest=LONGEST,
)
LAST = query.text(
    "last_event_id",
    "The same as the header `Last-Event-ID`, where none is sent.",
    f"^{FORM.pattern}$",
    longest=LONGEST_POSITION,
)
HEADER = query.text(
    "Last-Event-ID",
    "The `id` of the last event that came: what came since is sent first.",
    f"^{FORM.pattern}$",
    longest=LONGEST_POSITION,
    location=OpenApiParameter.HEADER,
)
MADE = OpenApiExample(
    "A ticket",
    {
        "ticket": "WyIwYTFiMmMzZDRlNWYiLCJhZGEi:1w:hM0",
        "expires_at": "2026-05-31T09:31:00Z",
        "url": "https://push.example.com/api/v1/me/inbox/stream?ticket=WyIwYTFiMmMzZDRlNWYiLCJhZGEi:1w:hM0",
    },
    response_only=True,
)


class TicketMade(serializers.Serializer[Any]):
    """What opens a stream where no header can be sent. Good for a minute, for nothing else."""

    ticket = serializers.CharField()
    expires_at = serializers.DateTimeField()
    url = serializers.URLField(help_text="The stream's address, with the ticket in it.")


class TicketAuthentication(BaseAuthentication):
    """`?ticket=…`, of whoever sends no header."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, TokenOwner] | None:
        ticket = request.query_params.get("ticket")
        if ticket is None or "HTTP_AUTHORIZATION" in request.META:
            return None
        return AnonymousUser(), _owner_of_ticket(ticket)

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="carillon"'


class TicketScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema tells readers to authenticate."""

    target_class = TicketAuthentication
    name = "ticket"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        text = "Where no header can be sent: POST me/inbox/ticket."
        return {"type": "apiKey", "in": "query", "name": "ticket", "description": text}


class PersonsTicket(PersonsView):
    @refuses(HTTPStatus.NOT_FOUND)
    @extend_schema(request=None, responses=TicketMade, examples=[MADE])
    def post(self, request: Request) -> Response:
        """Get a ticket for the live inbox: a browser's `EventSource` sends no header, and an inbox
        token in an address would be kept in logs. It is good for a minute."""
        owner, now = self.owner, timezone.now().replace(microsecond=0)
        self.person()
        claims = [owner.secret, owner.external_id, int(owner.expires_at.timestamp())]
        ticket = signing.dumps(claims, salt=SALT)
        url = f"{_address(request)}?{urlencode({'ticket': ticket})}"
        return Response({"ticket": ticket, "expires_at": now + LASTS, "url": url})


class PersonsStream(PersonsView):
    authentication_classes = [InboxTokenAuthentication, TicketAuthentication]

    @refuses(HTTPStatus.NOT_FOUND, HTTPStatus.MISDIRECTED_REQUEST)
    @takes(TICKET, LAST)
    @extend_schema(parameters=[HEADER], responses={(200, "text/event-stream"): OpenApiTypes.STR})
    def get(self, request: Request) -> Response:
        """What arrives, at the moment it arrives, as server-sent events: `item` (as the list shows
        it), `counts` (`unseen`, `unread`), and `gap`: too much came meanwhile, read the list. Send
        back the last `id` to go on from there. A comment every 20 s says that it is alive."""
        if FEED not in request.META:
            raise Problem(HTTPStatus.MISDIRECTED_REQUEST, ELSEWHERE, kind="elsewhere")
        position = _position(request)
        opening = {
            "contact": self.person().pk,
            "secret": self.owner.secret,
            "expires_at": self.owner.expires_at.isoformat(),
            "position": position,
        }
        return Response(opening)


def _owner_of_ticket(ticket: str) -> TokenOwner:
    """Nothing is kept of tickets: an emptied Redis forgets none."""
    try:
        if len(ticket) > LONGEST:
            raise signing.BadSignature
        name, person, expires = signing.loads(ticket, salt=SALT, max_age=LASTS)
    except signing.BadSignature:
        raise _bad_ticket() from None
    expires_at, now = datetime.fromtimestamp(expires, UTC), timezone.now()
    secret = InboxSecret.called(name, now=now)
    if secret is None or expires_at <= now:
        raise _bad_ticket()
    return TokenOwner(secret.project, person, expires_at, secret.name)


def _bad_ticket() -> NotTaken:
    return NotTaken(HTTPStatus.UNAUTHORIZED, NOT_GOOD, kind="ticket-expired")


def _position(request: Request) -> str:
    """Empty: from now on."""
    header = request.headers.get("Last-Event-ID", "")
    position = header or request.query_params.get("last_event_id", "")
    try:
        Position.read(position or "0", now=time.monotonic())
    except ValueError:
        field = "Last-Event-ID" if header else "last_event_id"
        raise ValidationError({field: NO_POSITION}) from None
    return position


def _address(request: Request) -> str:
    """At the web's own address where a proxy divides them."""
    path, feed = f"{request.path.rpartition('/')[0]}/stream", feed_beside(request)
    return f"{feed}{path}" if feed else request.build_absolute_uri(path)
