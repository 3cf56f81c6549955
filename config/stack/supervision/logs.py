"""Log files: one per process, so that the console stays calm. They stay small."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

LARGEST = 50 * 1024 * 1024
LOOK_EVERY = 60.0


class LogFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.looked_at = time.monotonic()

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def fresh(self, name: str) -> Path:
        """The path of an empty log; the log of the last start stays beside it."""
        path = self.path(name)
        if path.exists():
            path.replace(path.with_suffix(".log.1"))
        return path

    def tail(self, name: str, lines: int = 15) -> str:
        path = self.path(name)
        text = path.read_text(errors="replace") if path.exists() else ""
        last = "\n".join(f"    {line}" for line in text.splitlines()[-lines:])
        return f"{last}\n    (all of it: {path})"

    def keep_small(self) -> None:
        """Copy and truncate large logs.

        The processes append, so their open files simply start again at 0.
        """
        if time.monotonic() - self.looked_at < LOOK_EVERY:
            return
        self.looked_at = time.monotonic()
        for path in self.folder.glob("*.log"):
            if path.stat().st_size > LARGEST:
                shutil.copyfile(path, path.with_suffix(".log.1"))
                with path.open("r+") as log:
                    log.truncate(0)
