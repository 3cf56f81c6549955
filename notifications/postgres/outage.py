"""Outages: errors that PostgreSQL raises through no fault of our code, and the only retry loop.

PostgreSQL is down, full, or a lock is not free (OperationalError, InterfaceError), or it accepts no
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
LOCKED = "55P03"  # another transaction held the lock for longer than lock_timeout
COLLISIONS = ("40001", "40P01")  # serialization failure, deadlock: rolled back in favour of another
MAX_TRIES = 5  # of a transaction that collides
PATIENCE_SECONDS = 60.0  # a failover takes as long; giving up loses the answers in hand
PAUSE_SECONDS = 0.5

T = TypeVar("T")
C = TypeVar("C")


def retry_during_outage(deed: Callable[[], T], *, seconds: float = PATIENCE_SECONDS) -> T:
    """Run an operation, and retry it for so many seconds while PostgreSQL is in trouble.

    It must be a whole transaction, outside any other: each try may have its own connection. With
    `seconds` above 0 it must be safe to run twice, because the answer to a successful commit may be
    lost. A collision is tried five times in any case: nothing of it was committed.
    """
    give_up_at = time.monotonic() + seconds
    collisions = 0
    while True:
        try:
            return deed()
        except DATABASE_TROUBLE as error:
            collisions += is_collision(error)
            if is_collision(error) and collisions < MAX_TRIES:
                time.sleep(random.uniform(0, 0.02) * 2**collisions)
                continue
            if time.monotonic() >= give_up_at:
                raise
            connection.close()
            time.sleep(PAUSE_SECONDS)


def retry_all_methods(cls: type[C]) -> type[C]:
    """Decorate a class: each of its public methods is retried as in `patiently`."""
    for name, deed in list(vars(cls).items()):
        if isfunction(deed) and not name.startswith("_"):
            setattr(cls, name, _with_retries(deed))
    return cls


def _with_retries(deed: Callable[..., T]) -> Callable[..., T]:
    @wraps(deed)
    def done(*args: Any, **more: Any) -> T:
        return retry_during_outage(lambda: deed(*args, **more))

    return done


def try_once(deed: Callable[[], T]) -> T | None:
    """Run an operation once. Returns None while PostgreSQL is in trouble."""
    try:
        return retry_during_outage(deed, seconds=0)
    except DATABASE_TROUBLE:
        connection.close()
        return None


def skip_if_locked(deed: Callable[[], T]) -> T | None:
    """Run an operation. Returns None if another transaction holds a lock that it needs, which is
    normal under load: the caller tries again later."""
    try:
        return retry_during_outage(deed, seconds=0)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != LOCKED:
            raise
        log.info("left for the next time, as others work on it: %s", error)
        return None


def is_collision(error: Error) -> bool:
    """Whether PostgreSQL rolled back the transaction for another: nothing was committed."""
    return getattr(error.__cause__, "sqlstate", None) in COLLISIONS
