"""How often each message id was accepted, in a byte per message.

A sender numbers its messages "run:sequence", so a run of a million costs one megabyte here; as a
dictionary it would cost a hundred.
"""

from __future__ import annotations

# A larger sequence number is kept in the dictionary, where it costs its own size only.
LARGEST_SEQUENCE = 20_000_000
MAX_TIMES = 255


class Tally:
    def __init__(self) -> None:
        self.ids = 0
        self.repeated_ids = 0
        self._runs: dict[str, bytearray] = {}
        self._others: dict[str, int] = {}

    def add(self, message_id: str) -> int:
        """Count one more acceptance of this id; which one it is."""
        times = min(self.times(message_id) + 1, MAX_TIMES)
        self._put(message_id, times)
        self.ids += times == 1
        self.repeated_ids += times == 2
        return times

    def times(self, message_id: str) -> int:
        run, sequence = _split(message_id)
        if sequence is None:
            return self._others.get(message_id, 0)
        seen = self._runs.get(run, b"")
        return seen[sequence] if sequence < len(seen) else 0

    def _put(self, message_id: str, times: int) -> None:
        run, sequence = _split(message_id)
        if sequence is None:
            self._others[message_id] = times
            return
        seen = self._runs.setdefault(run, bytearray())
        if sequence >= len(seen):
            # Half as much again, so that a run counted upwards grows in a few steps.
            seen.extend(bytes(sequence + sequence // 2 + 64 - len(seen)))
        seen[sequence] = times


def _split(message_id: str) -> tuple[str, int | None]:
    run, _, sequence = message_id.rpartition(":")
    # Only the canonical spelling of a number: "7" and "07" are two ids.
    if not run or len(sequence) > 8 or not sequence.isdecimal() or str(int(sequence)) != sequence:
        return run, None
    number = int(sequence)
    return run, number if number <= LARGEST_SEQUENCE else None
