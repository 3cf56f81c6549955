"""Counted links: our own addresses that redirect to a push's link, and identify the push.

    https://push.example.com/o/<reference>.<signature>.<target>

The address contains the target, as base64url without `=`, signed together with the reference. A
look-up by reference would have to render the link again: the person may have another name by now,
or be erased, and the link would differ or be lost. A row for each message would cost as much as
its delivery. This way it is always the rendered link, even while PostgreSQL is down. Only we can
sign, so it leads only where we sent this message. It hides nothing: the push itself has the link.
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
SAFE = "https://"  # it runs no code on the phone, and nobody can read it on the way
MOST = 6_000  # characters: a whole push has only 4,096 bytes
FORM = re.compile(r"([0-9A-Za-z:_-]{1,40})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{11,})")
SKIPPED = re.compile(r"[\t\r\n]")  # browsers skip these anywhere in an address
NOT_IN_A_HEADER = re.compile(r"[^\x21-\x7e]")


@dataclass(frozen=True)
class Link:
    reference: str
    target: str


def link_through_us(reference: str, target: str) -> str:
    """Return our address that redirects to the target. Empty if it cannot be counted: no link, or
    an app's own scheme."""
    if not target.startswith(SAFE) or not leads_through_us():
        return ""
    carried = urlsafe_b64encode(target.encode()).decode().rstrip("=")
    signature = sealing.signature(_text_to_sign(reference, carried), about=ABOUT)
    return f"{settings.PHONES_URL}{PLACE}{reference}.{signature}.{carried}"


def parse(said: str) -> Link | None:
    """Parse and verify what follows `/o/`. None: we did not sign it. Cheap checks come first."""
    parts = FORM.fullmatch(said) if len(said) <= MOST else None
    if parts is None:
        return None
    reference, signature, carried = parts.groups()
    if not sealing.is_signed(_text_to_sign(reference, carried), signature, about=ABOUT):
        return None
    return Link(reference, urlsafe_b64decode(carried + "=" * (-len(carried) % 4)).decode())


def _text_to_sign(reference: str, carried: str) -> str:
    """Return the text that is signed. Neither part contains a dot."""
    return f"{reference}.{carried}"


def as_header(target: str) -> str:
    """Encode the target for a Location header, as a browser would read it. Printable characters
    stay as they are: a backslash ends a host, but as %5C it would be part of the host."""
    return NOT_IN_A_HEADER.sub(lambda found: quote(found[0]), SKIPPED.sub("", target))
