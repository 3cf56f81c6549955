"""A clock of our own: what every process of the stage reads, PostgreSQL, Valkey and FCM's stand-in
too. It goes at its usual speed and is set forward by us.

Only the time of day is ours. What Python and the kernel measure intervals by stays as it is, so
that nobody's timeout fires because a day went by.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from tests.servers.clocks import library

FOLDER = "CARILLON_DAY"


def mine() -> Clock | None:
    """The clock that this program is under; None: it is under everybody's."""
    return Clock(Path(os.environ[FOLDER])) if FOLDER in os.environ else None


def start_again(moment: datetime) -> NoReturn:
    """This program once more, under a clock that shows this moment."""
    shown_by = library()
    if shown_by is None:
        raise SystemExit("carillon: a clock of our own needs Linux.")
    folder = Path(tempfile.mkdtemp(prefix="carillon-day-"))
    folder.chmod(0o755)  # PostgreSQL's account has to get through
    clock = Clock(folder)
    clock.begin(moment)
    ours = {
        FOLDER: str(folder),
        "LD_PRELOAD": str(shutil.copy(shown_by, folder)),
        "FAKETIME_TIMESTAMP_FILE": str(clock.file),
        # Nobody's clock may lag: Google refuses the key of who is minutes ahead.
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }
    os.execve(sys.executable, sys.orig_argv, {**os.environ, **ours})


class Clock:
    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "clock"

    def begin(self, moment: datetime) -> None:
        """Before anybody reads it."""
        self._ahead((moment - datetime.now(UTC)).total_seconds())

    def forward(self, moment: datetime) -> None:
        """Everybody's at once. Never back: time does not do that either."""
        by = (moment - datetime.now(UTC)).total_seconds()
        if by > 0:
            self._ahead(float(self.file.read_text()) + by)

    def _ahead(self, seconds: float) -> None:
        """Written aside and renamed: who reads meanwhile sees the old time or the new one."""
        draft = self.folder / "draft"
        draft.write_text(f"{seconds:+.3f}\n")
        draft.chmod(0o644)
        draft.rename(self.file)
