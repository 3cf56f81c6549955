"""Receipt ids: what a push carries, and what lets a phone report on this push and on no other.

    <reference>.<signature>

The signature is HMAC-SHA256 of the reference, cut to 16 bytes. It is all that is asked of a phone:
a key that lies in an app is everybody's.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64encode

from notifications.keys import sealing

ABOUT = b"receipt:"
SIZE = 16  # bytes of the signature
FORM = re.compile(r"([0-9A-Za-z:_-]{1,40})\.([A-Za-z0-9_-]{22})")


def receipt_id(reference: str) -> str:
    """Two microseconds: each message has its own."""
    return f"{reference}.{_signature(sealing.signing_keys()[0], reference)}"


def reference_of(receipt_id: str) -> str | None:
    """None: it is none of ours."""
    parts = FORM.fullmatch(receipt_id)
    if parts is None:
        return None
    reference, shown = parts.groups()
    for key in sealing.signing_keys():
        if hmac.compare_digest(_signature(key, reference), shown):
            return reference
    return None


def _signature(key: bytes, reference: str) -> str:
    whole = hmac.digest(key, ABOUT + reference.encode(), "sha256")
    return urlsafe_b64encode(whole[:SIZE])[:-2].decode()
