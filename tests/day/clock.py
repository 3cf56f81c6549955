"""The clock of the day: what every process of the stage reads, PostgreSQL, Valkey and FCM's
stand-in too. It goes at its usual speed and is set forward by us.
"""

from __future__ import annotations

import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from tests.servers.clock import COMPILER, FILE, Clock


def mine() -> Clock | None:
    """The clock that this program is under; None: it is under everybody's."""
    return Clock(Path(os.environ[FILE]).parent) if FILE in os.environ else None


def start_again(moment: datetime) -> NoReturn:
    """This program once more, under a clock that shows this moment."""
    if COMPILER is None:
        raise SystemExit("carillon: a clock of our own needs Linux and a C compiler (cc).")
    clock = Clock(Path(tempfile.mkdtemp(prefix="carillon-day-")))
    clock.build(moment - datetime.now(UTC))
    os.execve(sys.executable, sys.orig_argv, {**os.environ, **clock.environment})


def forward(clock: Clock, moment: datetime) -> None:
    """Never back: time does not do that either."""
    by = moment - datetime.now(UTC)
    if by.total_seconds() > 0:
        clock.set_ahead(clock.ahead() + by)
