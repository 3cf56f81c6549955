"""A campaign that repeats, its runs sent one after the other without waiting for a day."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_contact, make_device
from tests.given.by_hand import work


def series(project: Project, **values: Any) -> Campaign:
    """A daily one that was launched; its first run waits."""
    soon = timezone.now().replace(second=0, microsecond=0) + timedelta(minutes=1)
    asked = {"schedule_kind": "recurring", "repeat": "daily", "at": soon, "timezone": "UTC"}
    campaign = make_campaign(project, **{"once_each": True, **asked, **values})
    control.launch(campaign, by="user:alice", now=timezone.now())
    return campaign


def start(campaign: Campaign) -> Run:
    """The next of its runs, now; nobody is chosen yet."""
    run = campaign.runs.get(state="scheduled")
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(scheduled_at=now - timedelta(milliseconds=1))
    engine.sweep(now)
    run.refresh_from_db()
    assert run.state == "preparing"
    return run


def advance(run: Run, times: int = 3) -> Run:
    for _ in range(times):
        engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return run


def send(campaign: Campaign) -> Run:
    """The next of its runs, to its end."""
    run = work(advance(start(campaign)))
    assert run.state == "finished"
    return advance(run)


def chosen(run: Run) -> list[int]:
    return sorted(set(Recipient.objects.filter(run_id=run.pk).values_list("contact_id", flat=True)))


def person(project: Project, *addresses: str, **values: Any) -> Contact:
    somebody = make_contact(project, **values)
    for address in addresses or ("",):
        make_device(somebody, address)
    return somebody
