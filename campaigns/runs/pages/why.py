"""“Why” page: why one person got a run's message, or did not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from campaigns.results.why.course import Step, course, is_cut
from campaigns.results.why.rows import Row
from campaigns.results.why.sentence import sentence
from campaigns.results.why.why import Why, why
from campaigns.results.why.words import consent_in_words, device_in_words, not_known
from campaigns.runs.ledger import Delivery
from campaigns.runs.messages.message import id_of
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.device import Device

LONGEST = 200  # characters of an external id
FEW = 5


@dataclass(frozen=True)
class Shown:
    """One of the person's devices in the run, in words."""

    device: str
    status: str
    code: str
    message: str  # its id, in a run of messages
    steps: list[Step]
    cut: bool


def why_view(request: HttpRequest, run_id: int) -> HttpResponse:
    runs = Run.every.select_related("project", "campaign", "category")
    run = get_object_or_404(runs, pk=run_id)
    external_id = request.GET.get("person", "").replace("\0", "").strip()[:LONGEST]
    context = {
        **site.each_context(request),
        **_answer_for(run, external_id),
        "title": _("Why, or why not"),
        "run": run,
        "asked": external_id,
        "zone": run.project.timezone,
    }
    if run.kind == Run.Kind.CAMPAIGN:
        context |= {"opts": Run._meta, "original": run}
    return TemplateResponse(request, "admin/campaigns/run/why.html", context)


def _answer_for(run: Run, external_id: str) -> dict[str, Any]:
    person = Contact.objects.filter(project=run.project_id, external_id=external_id).first()
    if person is None:
        return {"alike": _alike(run, external_id)} if external_id else {}
    try:
        answer = why(run, person, now=timezone.now())
    except Contact.DoesNotExist:  # erased since they were found
        return {"alike": []}
    return {
        "why": answer,
        "answer": sentence(answer),
        "devices": [_describe_row(row, answer) for row in answer.rows],
        "consent": consent_in_words(answer),
        "now_devices": [(device, device_in_words(device, answer)) for device in answer.now.devices],
        "not_known": not_known(answer),
    }


def _alike(run: Run, prefix: str) -> list[str]:
    """External ids that begin with this, in any case: most typing mistakes are among them."""
    theirs = Contact.objects.filter(project=run.project_id, external_id__istartswith=prefix)
    return list(theirs.order_by("external_id").values_list("external_id", flat=True)[:FEW])


def _describe_row(row: Row, answer: Why) -> Shown:
    status = row.sent.status
    return Shown(
        _device(row),
        status=str(Delivery.Status(status).label) if status else _("Waiting"),
        code=status or "waiting",
        message=id_of(answer.run.pk, row.message) if row.message else "",
        steps=course(row, answer),
        cut=is_cut(row),
    )


def _device(row: Row) -> str:
    if row.device is None:
        platform = str(Device.Platform(row.platform).label) if row.platform else ""
        removed = _("a device removed since")
        return f"{platform} {removed}".strip()
    if row.moved:
        return _("%(device)s, another person's since") % {"device": row.device}
    return str(row.device)
