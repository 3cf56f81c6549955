"""A rehearsal as somebody asks for it, and the engine and the workers that do it."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.rehearsals import actions
from campaigns.runs.ledger import Delivery
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device

STEPS = 50


def ask(campaign: Campaign, *, sample: int | None = None, retires: bool = False) -> Rehearsal:
    return actions.start(
        campaign, sample=sample, retires=retires, by="user:alice", now=timezone.now()
    )


def rehearse(campaign: Campaign, **asked: Any) -> Rehearsal:
    """To its end, or to where it waits for a person."""
    rehearsal = ask(campaign, **asked)
    drive(rehearsal.run)
    return Rehearsal.objects.select_related("run__project", "run__campaign").get(pk=rehearsal.pk)


def drive(run: Run) -> None:
    """Each wave as it is released, and each of its chunks: what tasks ring for."""
    for _ in range(STEPS):
        if ring := engine.advance(run.pk, now=timezone.now()):
            for number in ring.chunks:
                sending.send(run.pk, number, ring.epoch)
        run.refresh_from_db()
        if run.finished_at or run.state == Run.State.PAUSED:
            return
    raise AssertionError(f"run {run.pk} is still {run.state}")


def launch(campaign: Campaign) -> Run:
    """For real, to its end."""
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    drive(run)
    return run


def ends_of(rehearsal: Rehearsal) -> list[tuple[str, str]]:
    rows = Delivery.objects.filter(run_id=rehearsal.pk).order_by("seq")
    return list(rows.values_list("status", "reason"))


def owner_of(project: Project, address: str, **values: Any) -> Device:
    return make_device(make_contact(project, **values), address)
