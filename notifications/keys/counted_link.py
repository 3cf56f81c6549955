"""Counted links: an address of ours that leads on to a push's own link, and says of which push.

    https://push.example.com/o/<reference>.<signature>.<target>

The target is carried, as base64url without `=`, and signed together with the reference. Looked up
by the reference, it would have to be rendered again: the person may have another name by now, or be
forgotten, and the link would come out otherwise, or not at all. A row for each message would cost
as much as its delivery. So it is the link that was rendered, whatever has happened since, and also
while PostgreSQL is down. As only we can sign, it leads nowhere that we did not send this message.
It hides nothing: whoever has the push has its link.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from urllib.parse import quote

from django.conf import settings

from notifications.keys import sealing
from notifications.people.project import leads_through_us

PLACE = "/o/"
ABOUT = b"link:"
SAFE = "https://"  # neither runs something on the phone, nor can be read on the way
MOST = 6_000  # characters: a push has 4,096 bytes for all it carries
FORM = re.compile(r"([0-9A-Za-z:_-]{1,40})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{11,})")
SKIPPED = re.compile(r"[\t\r\n]")  # as every browser does, wherever they stand in an address
NOT_IN_A_HEADER = re.compile(r"[^\x21-\x7e]")


@dataclass(frozen=True)
class Link:
    reference: str
    target: str


def counted(reference: str, target: str) -> str:
    """Our address that leads there; empty for what is not counted: an app's own scheme, no link."""
    if not target.startswith(SAFE) or not leads_through_us():
        return ""
    carried = urlsafe_b64encode(target.encode()).decode().rstrip("=")
    shown = sealing.signature(_signed(reference, carried), about=ABOUT)
    return f"{settings.PHONES_URL}{PLACE}{reference}.{shown}.{carried}"


def parse(said: str) -> Link | None:
    """What follows `/o/`. None: it is none of ours. The cheapest question first."""
    parts = FORM.fullmatch(said) if len(said) <= MOST else None
    if parts is None:
        return None
    reference, shown, carried = parts.groups()
    if not sealing.is_signed(_signed(reference, carried), shown, about=ABOUT):
        return None
    return Link(reference, urlsafe_b64decode(carried + "=" * (-len(carried) % 4)).decode())


def _signed(reference: str, carried: str) -> str:
    """Neither has a dot in it."""
    return f"{reference}.{carried}"


def as_header(target: str) -> str:
    """As a browser would go there, in letters that a header can carry. What is printable stays as
    it is: a backslash ends a host, and written as %5C it would be a part of it."""
    return NOT_IN_A_HEADER.sub(lambda found: quote(found[0]), SKIPPED.sub("", target))
