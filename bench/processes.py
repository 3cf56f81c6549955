"""What the stack's processes cost: CPU and memory, read from /proc, by what each one is."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
KINDS = {
    "bulk@": "workers",
    "urgent@": "workers",
    "control@": "workers",
    "postgres": "postgresql",
    "valkey-server": "valkey",
    "granian": "web",
    "config.feed": "feed",
    "config beat": "beat",
    "config.flower": "flower",
    "bench.growth.answerer": "emulator",  # it has its place
    "emulator": "emulator",
}


@dataclass(frozen=True)
class Holding:
    """What one process holds at this moment."""

    kind: str
    rss_mb: float
    files: int
    sockets: int


def holdings(root: int) -> dict[int, Holding]:
    """By process; one that ends while we look is left out."""
    held = {}
    for pid, kind in _family(root).items():
        try:
            held[pid] = _holding(pid, kind)
        except OSError:
            continue
    return held


def _holding(pid: int, kind: str) -> Holding:
    open_files = list(Path(f"/proc/{pid}/fd").iterdir())
    sockets = sum(str(each.readlink()).startswith("socket:") for each in open_files)
    return Holding(kind, _kb(pid, "VmRSS") / 1024, len(open_files), sockets)


def cpu_seconds(root: int) -> Counter[str]:
    """CPU of a process and all below it so far, by kind; one that ended counts with its parent."""
    used: Counter[str] = Counter()
    for pid, kind in _family(root).items():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        used[kind] += sum(int(ticks) for ticks in fields[11:15]) / TICKS  # type: ignore[assignment]
    return used


def largest_mb(root: int, kind: str) -> float:
    """The highest resident memory any one process of this kind ever had."""
    return max((peak_mb(pid) for pid, found in _family(root).items() if found == kind), default=0)


def peak_mb(pid: int) -> float:
    """Not what `getrusage` says: that begins with the memory of whoever started the process."""
    return _kb(pid, "VmHWM") / 1024


def _family(root: int) -> dict[int, str]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it ended while we looked
    family, found = {root}, -1
    while found != len(family):
        found = len(family)
        family |= {pid for pid, parent in parents.items() if parent in family}
    return {pid: _kind(pid) for pid in family}


def _kind(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return "other"
    return next((kind for word, kind in KINDS.items() if word in command), "other")


def _kb(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0
