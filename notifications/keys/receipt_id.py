"""Receipt ids: what a push carries, and what lets a phone report on this push and on no other.

    <reference>.<signature>

The signature is all that is asked of a phone: a key that lies in an app is everybody's.
"""

from __future__ import annotations

import re

from notifications.keys import sealing

ABOUT = b"receipt:"
FORM = re.compile(r"([0-9A-Za-z:_-]{1,40})\.([A-Za-z0-9_-]{22})")


def receipt_id(reference: str) -> str:
    """Two microseconds: each message has its own."""
    return f"{reference}.{sealing.signature(reference, about=ABOUT)}"


def reference_of(receipt_id: str) -> str | None:
    """None: it is none of ours."""
    parts = FORM.fullmatch(receipt_id)
    if parts is None:
        return None
    reference, shown = parts.groups()
    return reference if sealing.is_signed(reference, shown, about=ABOUT) else None
