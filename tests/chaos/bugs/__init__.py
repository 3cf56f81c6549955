"""The planted bugs, a file per group of faults. A new file is one more name in the import."""

from __future__ import annotations

from tests.chaos.bugs import doorbells, kills, redis_faults

GROUPS = (kills, doorbells, redis_faults)
