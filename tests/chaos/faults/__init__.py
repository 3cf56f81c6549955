"""The faults, a file per group. A new file is one more name in the import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.chaos.fault import ALL, Fault
from tests.chaos.faults import (
    alerts,
    best_hour,
    caps,
    clocks,
    consent,
    crowds,
    doorbells,
    fcm_faults,
    first_part,
    freezing,
    importing,
    inbox,
    kills,
    leaving,
    load,
    local_time,
    locks,
    messages,
    once_each,
    operators,
    outgoing,
    postgres_faults,
    quiet_hours,
    receipts,
    redis_faults,
    refusals,
    rehearsals,
    restoring,
    series_by_the_clock,
    several_hosts,
    slow_callers,
    strangers,
    text_checks,
    variants,
    versions,
    wires,
)

GROUPS = (
    *(kills, leaving, doorbells, clocks, restoring, redis_faults),
    *(postgres_faults, locks, several_hosts, fcm_faults, refusals, wires, operators),
    *(versions, slow_callers, strangers, crowds, freezing, consent, importing, inbox),
    *(messages, receipts),
    *(outgoing, alerts, text_checks, rehearsals, first_part, variants, quiet_hours),
    *(caps, local_time, load, best_hour, once_each, series_by_the_clock),
)


def chosen(*, only: Sequence[str] = (), quick: bool = False) -> list[Fault]:
    """These, or the quick ones, or all, in the order of their numbers.

    The quick ones are played beside other tests, where seconds say nothing: only the rows count.
    """
    unknown = sorted(set(only) - set(ALL))
    if unknown:
        raise SystemExit(f"There is no {', '.join(unknown)}. There are {', '.join(sorted(ALL))}.")
    picked = [ALL[id] for id in only] if only else sorted(ALL.values(), key=_number)
    if quick:
        return [replace(each, within=None) for each in picked if each.quick]
    return picked


def _number(each: Fault) -> int:
    return int("".join(filter(str.isdigit, each.id)))
