"""What PostgreSQL raises when it is in trouble, not we; and the one place that tries again.

It is away, full, or somebody holds what we need (OperationalError, InterfaceError), or it takes no
writes, as after a failover to a standby (InternalError).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import Error, InterfaceError, InternalError, OperationalError, connection

DATABASE_TROUBLE = (OperationalError, InterfaceError, InternalError)
COLLISIONS = ("40001", "40P01")  # not serializable, a deadlock: another's sake, surely undone
MOST_TRIES = 5  # of what collides
PATIENCE_SECONDS = 15.0
PAUSE_SECONDS = 0.5

T = TypeVar("T")


def patiently(deed: Callable[[], T], *, seconds: float = PATIENCE_SECONDS) -> T:
    """Do it, and while PostgreSQL is in trouble do it again, for so many seconds.

    A whole transaction, outside any other: each try may have a connection of its own. With seconds
    to wait it must be right to do it twice, for the answer of a commit that took may be lost.
    What collides is tried five times in any case: nothing of it was committed.
    """
    give_up_at = time.monotonic() + seconds
    collisions = 0
    while True:
        try:
            return deed()
        except DATABASE_TROUBLE as error:
            collisions += _is_collision(error)
            if _is_collision(error) and collisions < MOST_TRIES:
                time.sleep(random.uniform(0, 0.02) * 2**collisions)
                continue
            if time.monotonic() >= give_up_at:
                raise
            connection.close()
            time.sleep(PAUSE_SECONDS)


def _is_collision(error: Error) -> bool:
    return getattr(error.__cause__, "sqlstate", None) in COLLISIONS
