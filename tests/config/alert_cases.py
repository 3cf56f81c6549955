"""When each alert of docs/alerts.yml is to fire, and when not: series as `promtool` writes them.

One value a minute: `0x4 3x20` is 0 five times, then 3 twenty-one times, and `_` is no value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

STAYS_SILENT = None
A_KEY_IS_REFUSED = 'carillon_fcm_requests_total{project="shop",lane="bulk",verdict="unauthorised"}'
ANOTHER_IS_MISSING = (
    'carillon_fcm_requests_total{project="shop",lane="bulk",verdict="platform_key"}'
)
ACCEPTED = 'carillon_fcm_requests_total{project="shop",lane="bulk",verdict="accepted"}'
FAILED = 'carillon_fcm_requests_total{project="shop",lane="bulk",verdict="transient"}'
UNSENT = 'carillon_fcm_requests_total{project="shop",lane="bulk",verdict="unsent"}'
TAKEN_OVER = 'carillon_lease_takeovers_total{project="shop"}'
REPAIRED = 'carillon_repairs{kind="taken_over"}'
PAUSED = 'carillon_runs{state="paused"}'
URGENT = 'carillon_oldest_message_seconds{lane="urgent"}'
BULK = 'carillon_oldest_message_seconds{lane="bulk"}'
BEAT = "carillon_tick_age_seconds"
BULK_WORKER = 'carillon_worker_processes{worker="bulk@a",queue="bulk"}'
URGENT_WORKER = 'carillon_worker_processes{worker="urgent@a",queue="urgent"}'
SMALL_WORKER = 'carillon_worker_processes{worker="urgent@a",queue="urgent,control,outgoing"}'
ONE_WORKER = 'carillon_worker_processes{worker="all@a",queue="control,bulk,urgent,outgoing"}'


def histogram(name: str, labels: str, *, slow: str, quick: str) -> dict[str, str]:
    """Of so many that took less than 5 s and less than 10 s, minute by minute."""
    bounds = (("5", quick), ("10", slow), ("+Inf", slow))
    return {f'{name}_bucket{{{labels},le="{bound}"}}': values for bound, values in bounds}


@dataclass(frozen=True)
class Case:
    alert: str
    because: str
    series: Mapping[str, str]
    at: str
    labels: Mapping[str, str] | None  # of the alert that fires


CASES = [
    Case("CarillonStandsStill", "it lasts", {"carillon_stalled_runs": "0x4 1x9"}, "8m", {}),
    Case(
        "CarillonStandsStill",
        "a moment is none",
        {"carillon_stalled_runs": "0x4 1 0x9"},
        "5m",
        STAYS_SILENT,
    ),
    Case("CarillonSilentWorker", "75 s", {"carillon_oldest_lease_seconds": "2x4 75x9"}, "6m", {}),
    Case(
        "CarillonSilentWorker",
        "a lease that is about to be taken over",
        {"carillon_oldest_lease_seconds": "40x9"},
        "6m",
        STAYS_SILENT,
    ),
    Case("CarillonRepairs", "one more", {REPAIRED: "0x4 1x20"}, "8m", {"kind": "taken_over"}),
    Case("CarillonRepairs", "those of this morning", {REPAIRED: "3x60"}, "30m", STAYS_SILENT),
    Case("CarillonRepairs", "a day ended", {REPAIRED: "3x9 0x30"}, "12m", STAYS_SILENT),
    Case("CarillonEchoDiffers", "one", {"carillon_echo_differences": "0x4 1x9"}, "6m", {}),
    Case("CarillonEchoDiffers", "none", {"carillon_echo_differences": "0x9"}, "6m", STAYS_SILENT),
    Case("CarillonBeatSilent", "it stopped", {BEAT: "3x4 63+60x9"}, "6m", {}),
    Case(
        "CarillonBeatSilent", "it never ticked", {BEAT: "Inf Inf Inf Inf Inf Inf Inf Inf"}, "6m", {}
    ),
    Case("CarillonBeatSilent", "it ticks", {BEAT: "5x9"}, "6m", STAYS_SILENT),
    Case("CarillonNeedsAPerson", "for long", {PAUSED: "0x4 1x30"}, "22m", {"state": "paused"}),
    Case("CarillonNeedsAPerson", "resumed", {PAUSED: "0x4 1x9 0x30"}, "22m", STAYS_SILENT),
    Case("CarillonMessagesWait", "a minute", {URGENT: "0x4 60x9"}, "7m", {"lane": "urgent"}),
    Case("CarillonMessagesWait", "a list", {URGENT: "0x20", BULK: "60x20"}, "7m", STAYS_SILENT),
    Case(
        "CarillonMessagesAreSlow",
        "each takes 8 s",
        histogram("carillon_message_seconds", 'lane="urgent"', quick="0x30", slow="0+60x30"),
        "12m",
        {},
    ),
    Case(
        "CarillonMessagesAreSlow",
        "all are quick",
        histogram("carillon_message_seconds", 'lane="urgent"', quick="0+60x30", slow="0+60x30"),
        "12m",
        STAYS_SILENT,
    ),
    Case(
        "CarillonMessagesAreSlow",
        "a list of thousands may take long",
        histogram("carillon_message_seconds", 'lane="bulk"', quick="0x30", slow="0+60x30"),
        "12m",
        STAYS_SILENT,
    ),
    Case(
        "CarillonFcmFails",
        "one in three",
        {ACCEPTED: "0x4 0+60x20", FAILED: "0x4 0+30x20"},
        "14m",
        {"project": "shop"},
    ),
    Case(
        "CarillonFcmFails",
        "while it is out of reach, single messages try",
        {ACCEPTED: "9000x30", FAILED: "0x4 0+1x25"},
        "20m",
        {"project": "shop"},
    ),
    Case(
        "CarillonFcmFails",
        "one in twenty, and what never left says nothing",
        {ACCEPTED: "0+60x20", FAILED: "0+3x20", UNSENT: "0+600x20"},
        "14m",
        STAYS_SILENT,
    ),
    Case(
        "CarillonFcmRefusesUs",
        "the run pauses after its first window",
        {A_KEY_IS_REFUSED: "0x4 100x60", ACCEPTED: "0x65"},
        "6m",
        {"project": "shop"},
    ),
    Case(
        "CarillonFcmRefusesUs",
        "it fires until the pause has its own alert",
        {A_KEY_IS_REFUSED: "0x4 1x60"},
        "18m",
        {"project": "shop"},
    ),
    Case(
        "CarillonFcmRefusesUs",
        "the run goes on without Apple's",
        {ANOTHER_IS_MISSING: "0x4 20x60", ACCEPTED: "0+900x65"},
        "6m",
        {"project": "shop"},
    ),
    Case(
        "CarillonFcmRefusesUs",
        "a refusal of this morning",
        {A_KEY_IS_REFUSED: "100x90", ACCEPTED: "0+60x90"},
        "60m",
        STAYS_SILENT,
    ),
    Case(
        "CarillonFcmIsSlow",
        "each takes 8 s",
        histogram("carillon_fcm_seconds", 'project="shop"', quick="0x30", slow="0+60x30"),
        "20m",
        {},
    ),
    Case(
        "CarillonFcmIsSlow",
        "all are quick",
        histogram("carillon_fcm_seconds", 'project="shop"', quick="0+60x30", slow="0+60x30"),
        "20m",
        STAYS_SILENT,
    ),
    Case(
        "CarillonWorkersDie",
        "the first three ever, at once",
        {TAKEN_OVER: "0x4 3x30"},
        "6m",
        {"project": "shop"},
    ),
    Case(
        "CarillonWorkersDie",
        "one by one",
        {TAKEN_OVER: "7x4 8x4 9x4 10x30"},
        "16m",
        {"project": "shop"},
    ),
    Case("CarillonWorkersDie", "two are no series", {TAKEN_OVER: "7x9 9x30"}, "12m", STAYS_SILENT),
    Case("CarillonWorkersDie", "yesterday's", {TAKEN_OVER: "9x60"}, "30m", STAYS_SILENT),
    Case(
        "CarillonNoSender",
        "nobody sends to single people",
        {BEAT: "5x20", BULK_WORKER: "4x20"},
        "4m",
        {"queue": "urgent"},
    ),
    Case(
        "CarillonNoSender",
        "nobody sends campaigns any more",
        {BEAT: "5x20", BULK_WORKER: "4x4 stale _x15", URGENT_WORKER: "2x20"},
        "8m",
        {"queue": "bulk"},
    ),
    Case(
        "CarillonNoSender",
        "both are there",
        {BEAT: "5x20", BULK_WORKER: "4x20", URGENT_WORKER: "2x20"},
        "8m",
        STAYS_SILENT,
    ),
    Case(
        "CarillonNoSender",
        "a small installation has a worker of several queues",
        {BEAT: "5x20", BULK_WORKER: "1x20", SMALL_WORKER: "3x20"},
        "8m",
        STAYS_SILENT,
    ),
    Case(
        "CarillonNoSender",
        "one worker has all queues",
        {BEAT: "5x20", ONE_WORKER: "3x20"},
        "8m",
        STAYS_SILENT,
    ),
    Case(
        "CarillonNoSender",
        "a restart",
        {BEAT: "5x20", BULK_WORKER: "4x4 stale 4x15", URGENT_WORKER: "2x20"},
        "6m",
        STAYS_SILENT,
    ),
    Case(
        "CarillonNoSender",
        "without numbers nobody knows",
        {BEAT: "5x4 stale _x15"},
        "12m",
        STAYS_SILENT,
    ),
    Case("CarillonGivesNoNumbers", "they ended", {BEAT: "5x4 stale _x15"}, "8m", {}),
    Case("CarillonGivesNoNumbers", "there were none ever", {}, "8m", {}),
    Case("CarillonGivesNoNumbers", "they are there", {BEAT: "5x20"}, "8m", STAYS_SILENT),
    Case("CarillonGivesNoNumbers", "a restart", {BEAT: "5x4 stale 5x15"}, "6m", STAYS_SILENT),
]
