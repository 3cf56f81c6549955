"""A small disk for what a run writes: a tablespace on a tmpfs of its own, which a ballast fills.

The WAL stays on the large one, so that PostgreSQL itself stays up: its files full, not its journal.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from config.stack.supervision.account import quarters
from tests.chaos.fault import CannotBePlayed
from tests.chaos.owner import alter, order, reset
from tests.chaos.scene import Scene

MEGABYTES = 64
BLOCK = bytes(1 << 16)


class SmallDisk:
    def __init__(self, place: Path) -> None:
        self._ballast = place / "ballast"

    def fill(self) -> None:
        """To the last byte."""
        with self._ballast.open("ab", buffering=0) as file:
            for block in (BLOCK, b"\0"):
                with suppress(OSError):
                    while True:
                        file.write(block)

    def make_room(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(scene: Scene) -> Iterator[SmallDisk]:
    """While it lasts, windows and the parts of new runs lie there."""
    place = scene.stage.state.path / "small-disk"
    place.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(place)]
    refused = subprocess.run(mount, check=False, capture_output=True, text=True)
    if refused.returncode:
        raise CannotBePlayed(f"no small disk: {refused.stderr.strip()}")
    try:
        yield from _with_tablespace(place, scene)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def _with_tablespace(place: Path, scene: Scene) -> Iterator[SmallDisk]:
    folder = place / "data"
    folder.mkdir()
    quarters(scene.stage.state.path).account.own(folder)
    disk = SmallDisk(place)
    order(
        f"CREATE TABLESPACE small_disk LOCATION '{folder}'",
        "ALTER TABLE campaigns_window SET TABLESPACE small_disk",
    )
    alter("default_tablespace = small_disk")
    try:
        yield disk
    finally:
        disk.make_room()
        reset("default_tablespace")
        order(
            "ALTER TABLE ALL IN TABLESPACE small_disk SET TABLESPACE pg_default",
            "ALTER INDEX ALL IN TABLESPACE small_disk SET TABLESPACE pg_default",
            "DROP TABLESPACE small_disk",
        )
