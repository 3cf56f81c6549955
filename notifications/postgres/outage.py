"""What PostgreSQL raises when it is in trouble and we are not; and the one place that tries again.

It is away, full, or somebody holds what we need (OperationalError, InterfaceError), or it takes no
writes, as after a failover to a standby (InternalError).
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any, TypeVar

from django.db import Error, InterfaceError, InternalError, OperationalError, connection

log = logging.getLogger(__name__)
DATABASE_TROUBLE = (OperationalError, InterfaceError, InternalError)
LOCKED = "55P03"  # what is asked for stays locked by another for longer than lock_timeout
COLLISIONS = ("40001", "40P01")  # not serializable, a deadlock: undone for another's sake
MOST_TRIES = 5  # of what collides
PATIENCE_SECONDS = 60.0  # a failover takes as long; whoever gives up loses the answers in hand
PAUSE_SECONDS = 0.5

T = TypeVar("T")
C = TypeVar("C")


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
            collisions += is_collision(error)
            if is_collision(error) and collisions < MOST_TRIES:
                time.sleep(random.uniform(0, 0.02) * 2**collisions)
                continue
            if time.monotonic() >= give_up_at:
                raise
            connection.close()
            time.sleep(PAUSE_SECONDS)


def all_patiently(cls: type[C]) -> type[C]:
    """A class whose every method is done patiently; a name with an underscore is left as it is."""
    for name, deed in list(vars(cls).items()):
        if isfunction(deed) and not name.startswith("_"):
            setattr(cls, name, _done_patiently(deed))
    return cls


def _done_patiently(deed: Callable[..., T]) -> Callable[..., T]:
    @wraps(deed)
    def done(*args: Any, **more: Any) -> T:
        return patiently(lambda: deed(*args, **more))

    return done


def at_once(deed: Callable[[], T]) -> T | None:
    """Do it now or not at all: nothing while PostgreSQL is in trouble."""
    try:
        return patiently(deed, seconds=0)
    except DATABASE_TROUBLE:
        connection.close()
        return None


def if_free(deed: Callable[[], T]) -> T | None:
    """Do it; nothing while somebody else holds what it needs: whoever asks comes back. Under load
    that is no trouble."""
    try:
        return patiently(deed, seconds=0)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != LOCKED:
            raise
        log.info("left for the next time, as others work on it: %s", error)
        return None


def is_collision(error: Error) -> bool:
    """It was undone for another's sake: nothing of it was committed."""
    return getattr(error.__cause__, "sqlstate", None) in COLLISIONS
