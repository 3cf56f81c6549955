"""The planted bugs, a file per group of faults. A new file is one more name in the import."""

from __future__ import annotations

from tests.chaos.bugs import (
    alerts,
    caps,
    clocks,
    consent,
    doorbells,
    fcm_faults,
    first_part,
    freezing,
    importing,
    kills,
    local_time,
    messages,
    operators,
    outgoing,
    postgres_faults,
    quiet_hours,
    receipts,
    redis_faults,
    refusals,
    rehearsals,
    slow_callers,
    text_checks,
    variants,
)

GROUPS = (
    *(kills, doorbells, clocks, redis_faults, postgres_faults),
    *(
        fcm_faults,
        refusals,
        operators,
        freezing,
        slow_callers,
        consent,
        importing,
        messages,
        receipts,
        outgoing,
        alerts,
        text_checks,
        rehearsals,
        first_part,
        variants,
        quiet_hours,
        caps,
        local_time,
    ),
)
