"""Receipt ids: each push carries one, with which a phone can report on this push and no other.

    <reference>.<signature>

The signature is the phone's only credential: an API key inside an app would be public.
"""

from __future__ import annotations

import re

from notifications.keys import sealing

ABOUT = b"receipt:"
FORM = re.compile(r"([0-9A-Za-z:_-]{1,40})\.([A-Za-z0-9_-]{22})")


def receipt_id(reference: str) -> str:
    """Make the receipt id of a message. This takes two microseconds: each message has its own."""
    return f"{reference}.{sealing.signature(reference, about=ABOUT)}"


def reference_of(receipt_id: str) -> str | None:
    """Return the reference in a receipt id. None: we did not sign it."""
    parts = FORM.fullmatch(receipt_id)
    if parts is None:
        return None
    reference, signature = parts.groups()
    return reference if sealing.is_signed(reference, signature, about=ABOUT) else None
