"""What became of one message, on each of the person's devices."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.db import connection

from campaigns.runs.ledger import Delivery
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run

WAITING, SENDING, FINISHED, CANCELLED = STATES = ["waiting", "sending", "finished", "cancelled"]
DEVICE_STATUSES = [WAITING, *Delivery.Status.values]
AN_ID = re.compile(r"(\d{1,18})-(\d{1,18})", re.ASCII)


def find(project_id: int, name: str) -> Message | None:
    """None for another project's, for what is no id, and once its day was forgotten."""
    read = AN_ID.fullmatch(name)
    if read is None:
        return None
    run_id, number = map(int, read.groups())
    if not Run.every.filter(pk=run_id, project=project_id, kind=Run.Kind.MESSAGES).exists():
        return None
    return Message.objects.filter(run_id=run_id, number=number).first()


DEVICES = """
SELECT COALESCE(d.address, '') AS device, r.platform, COALESCE(x.status, 'waiting') AS status,
    COALESCE(x.reason, '') AS reason, COALESCE(x.detail, '') AS detail,
    COALESCE(x.message_id, '') AS message_id, COALESCE(x.resent, FALSE) AS resent, x.at
FROM campaigns_recipient r
LEFT JOIN campaigns_delivery x ON x.run_id = r.run_id AND x.seq = r.seq
LEFT JOIN notifications_device d ON d.id = r.device_id AND d.contact_id = r.contact_id
WHERE r.run_id = %(run)s AND r.seq BETWEEN %(first)s AND %(last)s
ORDER BY r.seq
"""


def devices_of(message: Message) -> list[dict[str, Any]]:
    if message.first_seq is None:
        return []
    values = {"run": message.run_id, "first": message.first_seq, "last": message.last_seq}
    with connection.cursor() as cursor:
        cursor.execute(DEVICES, values)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def state_of(message: Message, statuses: Iterable[str] | None = None) -> str:
    if message.state != Message.State.TAKEN:
        return str(message.state)
    if statuses is None:
        statuses = [one["status"] for one in devices_of(message)]
    return SENDING if WAITING in statuses else FINISHED
