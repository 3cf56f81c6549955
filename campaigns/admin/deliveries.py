"""The deliveries of a run, a page at a time by their number; filtered by status and reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from campaigns.ledger import Delivery, Recipient
from campaigns.reasons import Reason
from campaigns.run import Run
from notifications.contact import Contact
from notifications.device import Device

PAGE = 100


@dataclass(frozen=True)
class Row:
    """A delivery with the person and device it names, if they still exist."""

    delivery: Delivery
    person: Contact | None
    device: Device | None


def page(run: Run, query: QueryDict) -> dict[str, Any]:
    status = query.get("status", "")
    reason = query.get("reason", "")
    after = query.get("after", "")
    found = Delivery.objects.filter(run_id=run.pk).order_by("seq")
    if status in Delivery.Status.values:
        found = found.filter(status=status)
    if reason in Reason.values:
        found = found.filter(reason=reason)
    if after.isdecimal() and len(after) < 10:
        found = found.filter(seq__gt=int(after))
    deliveries = list(found[: PAGE + 1])
    return {
        "rows": _with_people(run, deliveries[:PAGE]),
        "status": status,
        "reason": reason,
        "statuses": Delivery.Status.choices,
        "reasons": Reason.choices,
        "first_page": not after,
        "next_after": deliveries[PAGE - 1].seq if len(deliveries) > PAGE else None,
    }


def _with_people(run: Run, deliveries: list[Delivery]) -> list[Row]:
    seqs = [delivery.seq for delivery in deliveries]
    recipients = Recipient.objects.filter(run_id=run.pk, seq__in=seqs)
    contact_of = dict(recipients.values_list("seq", "contact_id"))
    people = Contact.objects.in_bulk(set(contact_of.values()))
    devices = Device.objects.in_bulk({delivery.device_id for delivery in deliveries})
    return [
        Row(one, people.get(contact_of.get(one.seq, 0)), devices.get(one.device_id))
        for one in deliveries
    ]
