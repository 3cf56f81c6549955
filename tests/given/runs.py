"""A run in each state that says something else of what can be done with it."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from campaigns.audiences.audience import Audience, Member
from campaigns.engagement.receipt import BY_NAME, Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.engine import engine, load
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.pacing.load import Load
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.events import writing
from notifications.people.project import Project
from tests.given.builders import (
    make_contact,
    make_device,
    make_people,
    make_run,
    make_scheduled_run,
)

NOON = datetime(2031, 5, 31, 12, tzinfo=UTC)
ENDS = {
    "got": [("accepted", "", "")],
    "one-of-two": [("accepted", "", ""), ("rejected", "unregistered", "")],
    "dead": [("rejected", "unregistered", "")],
    "no-city": [("skipped", "missing_value", "'city' is undefined")],
    "no-name": [("skipped", "missing_value", "'name' is undefined")],
    "perhaps": [("unknown", "unanswered", "")],
}


def scheduled(project: Project) -> Run:
    return make_scheduled_run(project, NOON)


def sending(project: Project) -> Run:
    make_people(project, 2)
    return make_run(project, on_unknown="hold", rate_per_second=50)


def unreported(project: Project) -> Run:
    """Its servers reported that they were busy, and then nothing for a minute."""
    run = sending(project)
    load.reported(project, 1.0)
    Load.objects.update(reported_at=timezone.now() - timedelta(minutes=1))
    return run


def first_part(project: Project) -> Run:
    """Two of three wait for the one who goes first."""
    make_people(project, 3)
    return make_run(project, first_percent=1, first_least=1)


def paused(project: Project) -> Run:
    run = sending(project)
    run.pause(Cause.BY_HAND)
    return run


def doubtful(project: Project) -> Run:
    """Finished; of one of two nobody knows whether the phone rang."""
    run = sending(project)
    for seq, status, reason in ((1, "accepted", ""), (2, "unknown", "unanswered")):
        Delivery.objects.create(
            run_id=run.pk, seq=seq, device_id=1, status=status, reason=reason, attempt=1,
            at=timezone.now(),
        )  # fmt: skip
    closed = Chunk.State.CLOSED
    run.chunks.update(accepted=1, unknown=1, reasons={"unanswered": 1}, state=closed)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return run


def ended_each_way(project: Project) -> Run:
    """Finished: each person is called as it ended for them."""
    for name, ends in ENDS.items():
        person = make_contact(project, external_id=name)
        for _ in ends:
            make_device(person)
    found = make_run(project, name="Spring")
    flat = [(name, end) for name, ends in ENDS.items() for end in ends]
    for row in Recipient.objects.filter(run_id=found.pk).order_by("seq"):
        _name, (status, reason, detail) = flat[row.seq - 1]
        Delivery.objects.create(
            run_id=found.pk, seq=row.seq, device_id=row.device_id, status=status, reason=reason,
            detail=detail, attempt=1, at=timezone.now(),
        )  # fmt: skip
    reasons = {"unregistered": 2, "missing_value": 2, "unanswered": 1}
    found.chunks.update(
        accepted=2, rejected=2, skipped=2, unknown=1, reasons=reasons, state=Chunk.State.CLOSED
    )
    engine.advance(found.pk, now=timezone.now())
    found.refresh_from_db()
    assert found.state == "finished"
    return found


def retiring(project: Project) -> Run:
    run = cancelled(project)
    Device.objects.update(
        retired_at=timezone.now(), retired_reason="unregistered", retired_by=run.reference
    )
    return run


def cancelled(project: Project) -> Run:
    run = sending(project)
    run.cancel()
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return run


def opened_by_some(project: Project) -> Run:
    """Finished; each person is called as their phone told, and only one phone's app cannot tell."""
    told = {"opened": ["received", "opened"], "received": ["received"], "silent": []}
    told |= {"dismissed": ["displayed", "dismissed"], "pressed": ["opened", "action_1"]}
    for name in told:
        make_device(make_contact(project, external_id=name))
    found = make_run(project, name="Spring")
    rows = list(Recipient.objects.filter(run_id=found.pk).order_by("seq"))
    for row in rows:
        Delivery.objects.create(
            run_id=found.pk, seq=row.seq, device_id=row.device_id, status="accepted", attempt=1,
            at=timezone.now(),
        )  # fmt: skip
    found.chunks.update(accepted=len(rows), state=Chunk.State.CLOSED)
    engine.advance(found.pk, now=timezone.now())
    keep(
        Report(found.pk, row.seq, BY_NAME[name], None)
        for row, names in zip(rows, told.values(), strict=True)
        for name in names
    )
    found.refresh_from_db()
    assert found.state == "finished"
    return found


def on_list(audience: Audience) -> set[str]:
    members = Member.objects.filter(audience=audience).select_related("contact")
    return {member.contact.external_id for member in members}


def ended(run: Run, **statuses: tuple[str, str]) -> Run:
    """Everybody accepted, but people with these external ids."""
    names = dict(Contact.objects.values_list("pk", "external_id"))
    for row in Recipient.objects.filter(run_id=run.pk):
        status, reason = statuses.get(names[row.contact_id], ("accepted", ""))
        Delivery.objects.create(
            run_id=run.pk, seq=row.seq, device_id=row.device_id, status=status, reason=reason,
            attempt=1, at=timezone.now(),
        )  # fmt: skip
    rows = Delivery.objects.filter(run_id=run.pk)
    sums = {name: rows.filter(status=name).count() for name in Delivery.Status.values}
    why = {row.reason: 1 for row in rows if row.reason}
    run.chunks.update(state=Chunk.State.CLOSED, reasons=why, **sums)
    for _ in range(3):
        engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert run.finished_at
    return run


def settle(run: Run, **counts: int) -> None:
    """What workers would have written of its one chunk."""
    seqs = iter(range(1, sum(counts.values()) + 1))
    reasons = {"rejected": "unregistered", "skipped": "missing_value", "unknown": "unanswered"}
    for status, count in counts.items():
        for _ in range(count):
            Delivery.objects.create(
                run_id=run.pk, seq=next(seqs), device_id=1, status=status,
                reason=reasons.get(status, ""), attempt=1, at=timezone.now(),
            )  # fmt: skip
    named = {reasons[status]: count for status, count in counts.items() if status in reasons}
    run.chunks.update(**counts, reasons=named)


def bought(run: Run, *prices: Any) -> None:
    """Numbers 1 and 2 opened it, and the first bought."""
    keep(Report(run.pk, seq, Event.OPENED, None) for seq in (1, 2))
    who = Recipient.objects.get(run_id=run.pk, seq=1).contact_id
    ada = Contact.objects.get(pk=who).external_id
    did = [writing.Event(ada, "bought", timezone.now(), {"price": price}) for price in prices]
    writing.write(run.project_id, did)


def some(dice: random.Random, run: Run) -> None:
    for _ in range(dice.randrange(4)):
        keep(
            Report(run.pk, dice.randrange(1, 31), dice.choice(list(Event)), None)
            for _ in range(dice.randrange(1, 15))
        )
