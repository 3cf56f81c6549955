"""Automation counts: the results of an automation's events and of the messages it sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils.translation import gettext_lazy

from campaigns.runs.ledger import Delivery
from campaigns.triggers.trigger import Trigger
from notifications.postgres.budget import TooSlow, statement_timeout

COUNTING_SECONDS = 2.0
NEWEST = 1_000  # newest messages whose outcomes are read
NO_DEVICE, CANCELLED, WAITING = "no_device", "cancelled", "waiting"
ENDS = {  # in addition to the statuses of a delivery
    WAITING: gettext_lazy("Waiting"),
    NO_DEVICE: gettext_lazy("The person has no device"),
    CANCELLED: gettext_lazy("Cancelled"),
}

# From the index alone: 1,000,000 triggers in about 0.1 s.
COUNT = """
SELECT automation_id, state, reason, count(*) FROM campaigns_trigger
WHERE automation_id = ANY(%s) GROUP BY automation_id, state, reason
"""
# The runs are named three times, so that PostgreSQL reads only the partitions of these days.
DEVICES = """
SELECT t.trigger, CASE WHEN m.state = 'cancelled' THEN 'cancelled'
        WHEN m.state = 'waiting' THEN 'waiting' WHEN m.first_seq IS NULL THEN 'no_device'
        ELSE COALESCE(x.status, 'waiting') END AS status,
    COALESCE(x.reason, '') AS reason
FROM unnest(%(triggers)s::bigint[], %(runs)s::bigint[], %(numbers)s::bigint[])
    AS t (trigger, run_id, number)
JOIN campaigns_message m ON m.run_id = t.run_id AND m.number = t.number AND m.run_id = ANY(%(days)s)
LEFT JOIN campaigns_recipient r ON r.run_id = m.run_id AND r.run_id = ANY(%(days)s)
    AND r.seq BETWEEN m.first_seq AND m.last_seq
LEFT JOIN campaigns_delivery x ON x.run_id = r.run_id AND x.run_id = ANY(%(days)s) AND x.seq = r.seq
"""
OUTCOMES = f"SELECT status, reason, count(*) FROM ({DEVICES}) d GROUP BY 1, 2"
CAME_TO = f"""
SELECT DISTINCT trigger FROM ({DEVICES}) d
WHERE (%(status)s = '' OR status = %(status)s) AND (%(reason)s = '' OR reason = %(reason)s)
"""


@dataclass(frozen=True)
class Counts:
    """Counts of an automation's events: each is waiting, sent, or not sent for a reason."""

    waiting: int
    sent: int
    not_sent: dict[str, int]  # the most frequent reason first

    @property
    def events(self) -> int:
        return self.waiting + self.sent + sum(self.not_sent.values())


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of an automation's newest messages, counted by device."""

    messages: int
    statuses: dict[str, int]
    reasons: dict[str, int]


NOTHING = Counts(0, 0, {})


def counts_of(automations: Iterable[int]) -> dict[int, Counts] | None:
    """Counts by automation id, without those that have no events. None: counting takes too long."""
    counters: dict[int, Counter[tuple[str, str]]] = {}
    try:
        with statement_timeout(seconds=COUNTING_SECONDS), connection.cursor() as cursor:
            cursor.execute(COUNT, [list(automations)])
            for automation, state, reason, count in cursor.fetchall():
                counters.setdefault(automation, Counter())[state, reason] = count
    except TooSlow:
        return None
    return {automation: _counts_from(counter) for automation, counter in counters.items()}


def _counts_from(counter: Counter[tuple[str, str]]) -> Counts:
    return Counts(
        waiting=counter[Trigger.State.WAITING, ""],
        sent=counter[Trigger.State.SENT, ""],
        not_sent={reason: count for (_, reason), count in counter.most_common() if reason},
    )


def outcomes_of(automation_id: int) -> Outcomes | None:
    """Outcomes of an automation's newest messages, except of days whose messages were removed.

    None: counting takes too long.
    """
    with suppress(TooSlow), statement_timeout(seconds=COUNTING_SECONDS):
        return _load_outcomes(automation_id)
    return None


def _load_outcomes(automation_id: int) -> Outcomes:
    newest = _newest_sent(automation_id)
    with connection.cursor() as cursor:
        cursor.execute(OUTCOMES, newest)
        rows = cursor.fetchall()
    statuses, reasons = Counter[str](), Counter[str]()
    for status, reason, count in rows:
        statuses[status] += count
        reasons[reason] += count if reason else 0
    in_order = [*Delivery.Status.values, WAITING, NO_DEVICE, CANCELLED]
    return Outcomes(
        len(newest["triggers"]),
        {status: statuses[status] for status in in_order},
        {reason: count for reason, count in reasons.most_common() if reason},
    )


def that_came_to(automation_id: int, *, status: str = "", reason: str = "") -> list[int]:
    """The trigger ids of newest messages with this outcome on some device; empty if the query takes
    too long."""
    params = {"status": status, "reason": reason}
    with (
        suppress(TooSlow),
        statement_timeout(seconds=COUNTING_SECONDS),
        connection.cursor() as cursor,
    ):
        cursor.execute(CAME_TO, {**_newest_sent(automation_id), **params})
        return [trigger for (trigger,) in cursor.fetchall()]
    return []


def _newest_sent(automation_id: int) -> dict[str, list[Any]]:
    sent = Trigger.objects.filter(automation=automation_id, state=Trigger.State.SENT, reason="")
    rows = list(sent.order_by("-pk").values_list("pk", "run_id", "number")[:NEWEST])
    triggers, runs, numbers = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
    return {"triggers": triggers, "runs": runs, "numbers": numbers, "days": list(set(runs))}
