"""Messages of runs to one person, and why: a part of their page, loaded separately."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences.bounds import AS_KEPT
from campaigns.audiences.words import sentence
from campaigns.engagement.receipt import Event, furthest
from campaigns.results.reason_steps import STEPS, detail_in_words
from campaigns.results.sent import Sent, sent_to
from campaigns.runs.best_hour import best_of
from campaigns.runs.ledger import Delivery, Retry
from campaigns.runs.reasons import Reason, in_words
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.run import Run
from notifications.admin.ui.keyset import row_id
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.values.moments import CLOCK_AND_SECOND, DAY, DAY_AND_SECOND, in_zone, local

RUNS = 10  # looked through at once, newest first


# Other pages link to this one for it.
ON_THEIR_PAGE = {
    Reason.UNSUBSCRIBED.value: gettext_lazy(
        "Nothing: they declined. This page shows when, and what."
    )
}


@dataclass(frozen=True)
class Line:
    """One device of the person in one run, in words."""

    sent: Sent
    device: str
    revision: int | None  # if the run's text was changed under way
    at: str
    status: str
    reported: str  # the last step that the phone reported
    code: str
    reason: str
    detail: str
    step: str


@dataclass(frozen=True)
class Told:
    """One run, and its outcome for this person. Without lines it did not choose them, unless
    `unknown` says why nobody can tell."""

    run: Run
    who: str
    lines: list[Line]
    unknown: str


def sent_view(request: HttpRequest, contact_id: int) -> HttpResponse:
    """A part of the person's page, which must not depend on runs."""
    contact = get_object_or_404(Contact.objects.select_related("project"), pk=contact_id)
    context = _page_context(contact, before=row_id(request.GET.get("before")))
    return render(request, "admin/notifications/contact/sent.html", context)


def _page_context(contact: Contact, *, before: int | None) -> dict[str, Any]:
    runs = Run.objects.filter(project=contact.project_id, planned__isnull=False)
    runs = runs.select_related("campaign", "project").order_by("-pk")
    looked_at = list((runs if before is None else runs.filter(pk__lt=before))[: RUNS + 1])
    runs_shown = looked_at[:RUNS]
    rows = sent_to(contact.pk, [run.pk for run in runs_shown if run.forgotten_at is None])
    devices = Device.objects.in_bulk({row.device_id for row in rows})
    steps = furthest((row.run_id, row.seq) for row in rows)
    due = _due(rows)
    results = [
        Told(
            run,
            sentence(run.rules, project_id=run.project_id, bounds=AS_KEPT),
            [_line(row, run, devices, steps, due) for row in rows if row.run_id == run.pk],
            _explain_unknown(run),
        )
        for run in runs_shown
    ]
    return {
        "contact": contact,
        "zone": contact.project.timezone,
        "chosen": [result for result in results if result.lines],
        "passed_over": [result for result in results if not result.lines and not result.unknown],
        "unknown": [result for result in results if not result.lines and result.unknown],
        "looked_at": len(runs_shown),
        "older": runs_shown[-1].pk if len(looked_at) > RUNS else None,
        "first": before is None,
        "best": best_of(contact.pk) if before is None else None,
    }


def _explain_unknown(run: Run) -> str:
    """Why nobody can tell whether the run is for a person who is not among its recipients."""
    if run.forgotten_at is not None:
        at = in_zone(run.forgotten_at, run.project.timezone)
        return _("Nobody can tell any more: its recipients were removed on %(at)s.") % {"at": at}
    if run.freezing:
        return _("Its people are still being chosen: this person is not among those chosen so far.")
    if run.unfrozen is not None:
        return _(
            "It was stopped before all its people were chosen: this person is not among those "
            "chosen by then."
        )
    return ""


def _due(rows: list[Sent]) -> dict[tuple[int, int], datetime]:
    """When waiting rows are due, for those that wait for more than their turn."""
    waiting = [(row.run_id, row.seq) for row in rows if not row.status]
    filters = {"run__in": {run for run, _seq in waiting}, "seq__in": {seq for _run, seq in waiting}}
    retries = Retry.objects.filter(**filters).values_list("run_id", "seq", "not_before")
    return {(run, seq): at for run, seq, at in retries if (run, seq) in waiting}


def _line(
    sent: Sent,
    run: Run,
    devices: dict[int, Device],
    steps: dict[tuple[int, int], Event],
    due: dict[tuple[int, int], datetime],
) -> Line:
    """A row in words. `devices`: by id. `steps` and `due`: by the numbers of run and row."""
    row = (sent.run_id, sent.seq)
    device, step = devices.get(sent.device_id), steps.get(row)
    waits = _("Waiting until %(when)s") % {"when": _clock(due[row], run)} if row in due else ""
    return Line(
        sent,
        device=str(device) if device else _("a device removed since"),
        revision=sent.revision if run.revision > FIRST else None,
        at=_clock(sent.at, run) if sent.at else "",
        status=str(Delivery.Status(sent.status).label) if sent.status else waits or _("Waiting"),
        reported=str(step.label) if step else "",
        code=sent.status or "waiting",
        reason=in_words(sent.reason),
        detail=detail_in_words(sent.reason, sent.detail),
        step=str(ON_THEIR_PAGE.get(sent.reason) or STEPS.get(sent.reason, "")),
    )


def _clock(moment: datetime, run: Run) -> str:
    """The time; with its day only if that is not the day the run started, shown above."""
    zone = run.project.timezone
    same = run.started_at and local(moment, zone, DAY) == local(run.started_at, zone, DAY)
    return local(moment, zone, CLOCK_AND_SECOND if same else DAY_AND_SECOND)
