"""Outcome: what became of a message on each device, and of all messages of a call to many."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext_lazy

from campaigns.runs import reasons
from campaigns.runs.ledger import Delivery
from campaigns.runs.messages.bulk_messages import of_call
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run

WAITING, SENDING, FINISHED, CANCELLED = STATES = ["waiting", "sending", "finished", "cancelled"]
DEVICE_STATUSES = [WAITING, *Delivery.Status.values]
PEOPLE_STATES = Message.State.values
AN_ID = re.compile(r"(\d{1,18})-(\d{1,18})", re.ASCII)


def find(project_id: int, name: str) -> Message | None:
    """The message with this id. None: it is of another project, it is no id, or its day was
    removed."""
    read = AN_ID.fullmatch(name)
    if read is None:
        return None
    run_id, number = map(int, read.groups())
    if not Run.every.filter(pk=run_id, project=project_id, kind=Run.Kind.MESSAGES).exists():
        return None
    return Message.objects.filter(run_id=run_id, number=number).first()


GOES_ON_BY_ITSELF = gettext_lazy(
    "No message leaves until this is mended. They are tried again every 30 seconds, each until its "
    "time is over; nothing has to be resumed."
)


@dataclass(frozen=True)
class Block:
    """Why no message of a day leaves just now."""

    code: str
    cause: str
    detail: str

    @property
    def words(self) -> str:
        return f"{self.cause} {self.detail}".strip()

    @property
    def next_step(self) -> str:
        return str(GOES_ON_BY_ITSELF)


def blocks(days: Collection[int]) -> dict[int, Block]:
    """The blocks of those of these days whose messages do not leave now, by run."""
    open_days = Run.every.filter(pk__in=days, state=Run.State.OPEN).exclude(cause="")
    return {
        day.pk: Block(day.cause, reasons.cause_in_words(day.cause), day.detail) for day in open_days
    }


def is_late(message: Message, result: Outcome) -> bool:
    """Whether a part of it is due and still waits."""
    return result.state in (WAITING, SENDING) and message.at <= timezone.now()


@dataclass(frozen=True)
class Outcome:
    """The number of people by the state of their message, and of devices by their outcome."""

    people: dict[str, int]
    devices: dict[str, int]
    unfolding: bool = False  # a worker still adds people

    @property
    def state(self) -> str:
        """The state of the whole call. It is waiting until its first message was taken."""
        if self.people[Message.State.TAKEN]:
            left = self.people[Message.State.WAITING] or self.devices[WAITING] or self.unfolding
            return SENDING if left else FINISHED
        return WAITING if self.people[Message.State.WAITING] else CANCELLED

    @property
    def totals(self) -> dict[str, int]:
        return {"planned": sum(self.devices.values()), **self.devices}


# Counts devices by status, for each message or for a whole call.
STATUSES = """
SELECT {of}, COALESCE(x.status, 'waiting'), count(*)
FROM campaigns_message m
JOIN campaigns_recipient r ON r.run_id = m.run_id AND r.seq BETWEEN m.first_seq AND m.last_seq
LEFT JOIN campaigns_delivery x ON x.run_id = r.run_id AND x.seq = r.seq
WHERE m.run_id = %(run)s AND r.run_id = %(run)s AND {which} GROUP BY 1, 2
"""
OF_CALL = STATUSES.format(of="0", which="(m.number = %(number)s OR m.shares = %(number)s)")
OF_EACH = STATUSES.format(of="m.number", which="m.number = ANY(%(numbers)s)")


def of_call_or_one(head: Message) -> Outcome:
    counted = of_call(head).order_by().values_list("state").annotate(Count("number"))
    people = dict.fromkeys(PEOPLE_STATES, 0) | dict(counted)
    devices = _count_by_message(OF_CALL, {"run": head.run_id, "number": head.number}).get(0, {})
    return Outcome(people, _all_statuses(devices), head.list_after is not None)


def of_each(run_id: int, messages: list[Message]) -> dict[int, Outcome]:
    """The outcome of each message by itself, by number, even if it shares its text."""
    devices = _count_by_message(
        OF_EACH, {"run": run_id, "numbers": [message.number for message in messages]}
    )
    nobody = dict.fromkeys(PEOPLE_STATES, 0)
    return {
        message.number: Outcome(
            nobody | {message.state: 1}, _all_statuses(devices.get(message.number, {}))
        )
        for message in messages
    }


def _all_statuses(devices: dict[str, int]) -> dict[str, int]:
    return {status: devices.get(status, 0) for status in DEVICE_STATUSES}


def _count_by_message(sql: str, values: dict[str, Any]) -> dict[int, dict[str, int]]:
    counts: dict[int, dict[str, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        for number, status, count in cursor.fetchall():
            counts.setdefault(number, {})[status] = count
    return counts


# `most` messages have at least `most` devices, so the inner LIMIT is enough.
DEVICES = """
SELECT r.seq, COALESCE(c.external_id, '') AS contact, COALESCE(d.address, '') AS device, r.platform,
    COALESCE(x.status, 'waiting') AS status, COALESCE(x.reason, t.reason, '') AS reason,
    COALESCE(x.detail, '') AS detail, COALESCE(x.message_id, '') AS message_id,
    COALESCE(x.resent, FALSE) AS resent, x.at, CASE WHEN x.seq IS NULL THEN t.not_before END AS due,
    COALESCE(d.contact_id <> r.contact_id, FALSE) AS moved
FROM (
    SELECT first_seq, last_seq FROM campaigns_message
    WHERE run_id = %(run)s AND (number = %(number)s OR shares = %(number)s)
        AND last_seq > %(after)s ORDER BY first_seq LIMIT %(most)s
) m
JOIN campaigns_recipient r ON r.run_id = %(run)s
    AND r.seq BETWEEN greatest(m.first_seq, %(after)s + 1) AND m.last_seq
LEFT JOIN campaigns_delivery x ON x.run_id = r.run_id AND x.seq = r.seq
LEFT JOIN campaigns_retry t ON t.run_id = r.run_id AND t.seq = r.seq
LEFT JOIN notifications_device d ON d.id = COALESCE(x.device_id, r.device_id)
LEFT JOIN notifications_contact c ON c.id = r.contact_id
ORDER BY r.seq LIMIT %(most)s
"""


def devices_of(message: Message, *, after: int, most: int) -> list[dict[str, Any]]:
    """The devices of a message or call in the order of `seq`, from the first one behind `after`."""
    values = {"run": message.run_id, "number": message.number, "after": after, "most": most}
    with connection.cursor() as cursor:
        cursor.execute(DEVICES, values)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
