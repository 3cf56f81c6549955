"""Room for those whose passwords are looked at: two at once, in each process.

To look at one costs a fifth of a second of a core, on purpose. However many are sent, most threads
of the process stay with those who are in already.
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
def enter() -> Iterator[None]:
    """Raises ValidationError when there is none."""
    if not ROOM.acquire(timeout=ROOM_SECONDS):
        raise ValidationError(BUSY, code="busy")
    try:
        yield
    finally:
        ROOM.release()
