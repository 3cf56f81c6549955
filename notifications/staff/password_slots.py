"""Password room: each process checks at most two passwords at once.

Checking one costs a fifth of a second of CPU, on purpose. However many are sent, most threads of
the process stay free for people who are logged in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

ROOM = BoundedSemaphore(2)
ROOM_SECONDS = 0.1
BUSY = gettext_lazy("Too many people are logging in. Try again in a few seconds.")


@contextmanager
def hold_slot() -> Iterator[None]:
    """Hold a place while a password is checked. Raises ValidationError if none is free."""
    if not ROOM.acquire(timeout=ROOM_SECONDS):
        raise ValidationError(BUSY, code="busy")
    try:
        yield
    finally:
        ROOM.release()
