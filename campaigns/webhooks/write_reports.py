"""Write reports: puts webhook events into the outbox, in the transaction that makes them true.

`registrations.py` says what calls each function. If no endpoint wants an event, nothing is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from campaigns.runs import sums
from campaigns.runs.final_outcomes import Ended
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.people.consent.record import OptOut
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.webhooks import outbox
from notifications.webhooks.composing import address
from notifications.webhooks.endpoint import is_wanted
from notifications.webhooks.event_types import EventType
from notifications.webhooks.outbox import Event

OF_OUTCOME = {
    "accepted": EventType.MESSAGE_ACCEPTED,
    "rejected": EventType.MESSAGE_REJECTED,
    "skipped": EventType.MESSAGE_SKIPPED,
    "unknown": EventType.MESSAGE_UNKNOWN,
}


# --- Runs -----------------------------------------------------------------------------------------


def report_run(run: Run) -> None:
    """Report that a run has changed its state, or that none of a day's messages leaves."""
    kinds = _event_types(run)
    if kinds and is_wanted(run.project, kinds):
        now, data = timezone.now(), _run_data(run)
        events = [Event(kind, now, data) for kind in kinds]
        outbox.put(run.project_id, events, about=run.campaign_id)


def _event_types(run: Run) -> list[EventType]:
    if run.state == Run.State.PAUSED:
        by_itself = run.cause != Cause.BY_HAND
        return [EventType.RUN_PAUSED, *([EventType.RUN_NEEDS_A_PERSON] if by_itself else [])]
    if run.state == Run.State.FINISHED or (
        run.state == Run.State.CANCELLED and run.finished_at is not None
    ):
        return [EventType.RUN_FINISHED]
    if run.state == Run.State.SENDING and _is_beginning(run):
        return [EventType.RUN_STARTED]
    if run.state == Run.State.OPEN and run.cause:  # none of a day's messages is sent
        return [EventType.RUN_NEEDS_A_PERSON]
    return []


def _is_beginning(run: Run) -> bool:
    """Whether the run begins now: it was not reopened, nor resumed after a pause in the middle. A
    pause before its start, while its people were chosen, does not count."""
    began, paused_at, resumed_at = run.started_at, run.paused_at, run.resumed_at
    if began is None or paused_at is None or resumed_at is None:
        return run.reopened_at is None
    return run.reopened_at is None and not began <= paused_at < resumed_at


def _run_data(run: Run) -> dict[str, Any]:
    """The data of a run's event, the same facts for each state. Codes are the API's; the detail is
    in English, with its code and arguments for other languages."""
    totals = sums.totals_of(run)
    # A day of messages has an end written from the beginning; see day.py.
    finished = None if run.state == Run.State.OPEN else run.finished_at
    began, ended = run.started_at, finished or timezone.now()
    took = (ended - began).total_seconds() if began else 0.0
    rate = sums.average_rate(totals.sent, began, ended) if began else 0.0
    return {
        "run": run.pk,
        "campaign": _campaign_data(run),
        "state": run.state,
        "totals": totals.as_dict(),
        "rate_per_second": round(rate, 1),
        "started_at": began and outbox.written(began),
        "finished_at": finished and outbox.written(finished),
        "duration_seconds": round(took, 1),
        "cause": run.cause or None,
        "detail": run.detail_for_programs,
        "url": address(_page_path(run)) or None,
    }


def _campaign_data(run: Run) -> dict[str, Any] | None:
    return {"id": run.campaign_id, "name": run.campaign.name} if run.campaign_id else None


def _page_path(run: Run) -> str:
    """The path of the run's page. Written out: workers serve no pages and know no URL names."""
    path = f"run/{run.pk}/change" if run.campaign_id else "message"
    return f"/admin/campaigns/{path}/"


# --- Messages -------------------------------------------------------------------------------------


def report_outcomes(run: Run, ended: Sequence[Ended], at: datetime) -> None:
    """Report the outcomes of messages to single people, a window at a time."""
    if run.kind != Run.Kind.MESSAGES or not is_wanted(run.project, OF_OUTCOME.values()):
        return
    events = [
        Event(OF_OUTCOME[str(ending.status)], at, _outcome_data(run, ending)) for ending in ended
    ]
    outbox.put(run.project_id, events)


def _outcome_data(run: Run, ending: Ended) -> dict[str, Any]:
    return {
        "message": f"{run.pk}-{ending.message}",
        "contact": ending.external_id,
        "device": ending.address,
        "platform": ending.platform,
        "status": str(ending.status),
        "reason": str(ending.reason) or None,
        "fcm_message_id": ending.message_id.replace("\x00", "") or None,
        "resent": ending.resent,
    }


# --- Devices and people ---------------------------------------------------------------------------


MAX_AT_ONCE = 1_000  # per outbox row: an import may bring a million


def report_retired_devices(device_ids: list[int]) -> None:
    """Report retired devices, whether by sending, by hand or by the person's own app."""
    rows = Device.objects.filter(pk__in=device_ids).select_related("contact").order_by("pk")
    by_project: dict[int, list[Event]] = {}
    for device in rows:
        by_project.setdefault(device.project_id, []).append(_retired_event(device))
    for project_id, events in by_project.items():
        _put_in_batches(project_id, events)


def _retired_event(device: Device) -> Event:
    data = {
        "device": device.address,
        "platform": device.platform,
        "contact": device.contact.external_id,
        "reason": device.retired_reason,
    }
    return Event(EventType.DEVICE_RETIRED, device.retired_at or timezone.now(), data)


def report_opt_outs(project: Project, nos: list[OptOut]) -> None:
    _put_in_batches(project.pk, [Event(EventType.OPT_OUT, no.at, _opt_out_data(no)) for no in nos])


def _put_in_batches(project_id: int, events: list[Event]) -> None:
    for at in range(0, len(events), MAX_AT_ONCE):
        outbox.put(project_id, events[at : at + MAX_AT_ONCE])


def _opt_out_data(no: OptOut) -> dict[str, Any]:
    """The data of an opt-out; without a category, it is from all marketing."""
    return {"contact": no.external_id, "category": no.category or None, "source": no.source}
