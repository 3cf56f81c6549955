"""Another clock for processes of our own: the time of day, as far ahead as we say.

Only the time of day is ours. What Python and the kernel measure intervals by stays as it is, so
that nobody's timeout fires because a day went by.

Not libfaketime's: where two threads ask it at once, it shows one of them the usual time now and
then, which Google's token endpoint does not forgive.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import timedelta
from mmap import mmap
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
COMPILER = shutil.which("cc") if sys.platform == "linux" else None
FILE = "CARILLON_CLOCK"
BYTES = 8  # of a number of nanoseconds


class Clock:
    """In a folder of its own, as PostgreSQL's account has to read it, too."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._library, self._file = folder, folder / "clock.so", folder / "clock"

    def build(self, ahead: timedelta = timedelta()) -> None:
        """Before anybody is under it. Only where there is a COMPILER."""
        assert COMPILER, "a clock of our own needs Linux and a C compiler"
        self.folder.mkdir(exist_ok=True)
        into = ["-shared", "-fPIC", "-O2", "-o", str(self._library)]
        subprocess.run([COMPILER, *into, str(SOURCE), "-ldl"], check=True)
        self._file.write_bytes(bytes(BYTES))
        for path, mode in (self.folder, 0o755), (self._library, 0o755), (self._file, 0o644):
            path.chmod(mode)
        self.set_ahead(ahead)

    @property
    def environment(self) -> dict[str, str]:
        """Of who is to be under it."""
        return {"LD_PRELOAD": str(self._library), FILE: str(self._file)}

    def ahead(self) -> timedelta:
        nanoseconds = int.from_bytes(self._file.read_bytes(), sys.byteorder, signed=True)
        return timedelta(microseconds=nanoseconds // 1_000)

    def set_ahead(self, by: timedelta) -> None:
        """Everybody's at once: a single store."""
        with self._file.open("r+b") as file, mmap(file.fileno(), BYTES) as page:
            cell = memoryview(page).cast("q")
            cell[0] = by // timedelta(microseconds=1) * 1_000
            cell.release()
