"""Memory that the processes of one emulator share. Made before they fork, never locked.

Each process writes its own cells; in a table two may meet in one slot at the same instant, and
then one of them forgets. For an emulator that is cheaper than a lock for every message.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Hashable

PROBES = 16
HASH_BITS = (1 << 64) - 1


class Cells:
    """Numbers of which every process has its own; together they are one."""

    def __init__(self, rows: int, *, processes: int = 1) -> None:
        self._processes = processes
        self._cells = memoryview(mmap.mmap(-1, rows * processes * 8)).cast("q")
        self._mine = 0

    def belong_to(self, process: int) -> None:
        self._mine = process

    def get(self, row: int) -> int:
        return self._cells[row * self._processes + self._mine]

    def put(self, row: int, number: int) -> None:
        self._cells[row * self._processes + self._mine] = number

    def add(self, row: int, number: int = 1) -> None:
        self._cells[row * self._processes + self._mine] += number

    def all(self, row: int) -> list[int]:
        first = row * self._processes
        return self._cells[first : first + self._processes].tolist()

    def total(self, row: int) -> int:
        return sum(self.all(row))


class Table:
    """A hash table of fixed size: key to a few numbers. Full, it forgets whom it pushes out."""

    def __init__(self, slots: int, numbers: str) -> None:
        self._slots = slots
        self._record = struct.Struct(f"=Q{numbers}")
        self._blank = (0,) * len(self._record.unpack(bytes(self._record.size)))
        self._memory = mmap.mmap(-1, slots * self._record.size)
        self._round = 0

    def forget(self) -> None:
        """Every process must be told: from now on the same keys are other ones."""
        self._round += 1

    def find(self, key: Hashable) -> tuple[int, tuple[float, ...] | None]:
        """Where the key's numbers are or would be, and those numbers if it is known."""
        # Forked processes share the secret of hash(), so they agree on it.
        mark = hash((self._round, key)) & HASH_BITS or 1
        size, first = self._record.size, mark % self._slots
        for probe in range(PROBES):
            offset = (first + probe) % self._slots * size
            found, *numbers = self._record.unpack_from(self._memory, offset)
            if found == mark:
                return offset, tuple(numbers)
            if not found:
                return self._claim(offset, mark)
        return self._claim(first * size, mark)

    def write(self, offset: int, *numbers: float) -> None:
        mark = struct.unpack_from("=Q", self._memory, offset)
        self._record.pack_into(self._memory, offset, *mark, *numbers)

    def _claim(self, offset: int, mark: int) -> tuple[int, None]:
        self._record.pack_into(self._memory, offset, mark, *self._blank[1:])
        return offset, None
