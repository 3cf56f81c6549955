"""A run compared with another one: who joined, who left, who was in both."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from campaigns.admin.run.deliveries import number
from campaigns.results import compare
from campaigns.results.compare import Counts, Who
from campaigns.runs.run import Run
from notifications.admin.furniture.keyset import row_id
from notifications.postgres.budget import Busy, TooSlow, one_of_few

PAGE = 100
OFFERED = 50  # runs to choose from


def compare_view(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("project", "campaign"), pk=run_id)
    context = {
        **site.each_context(request),
        **_picture(run, request),
        "title": _("Compare two runs"),
        "opts": Run._meta,
        "original": run,
        "zone": run.project.timezone,
    }
    return TemplateResponse(request, "admin/campaigns/run/compare.html", context)


def _picture(run: Run, request: HttpRequest) -> dict[str, Any]:
    other = _other(run, number(request.GET.get("with", "")))
    offered = list(compare.comparable(run)[:OFFERED])
    if other and other not in offered:
        offered.append(other)
    context = {"run": run, "other": other, "offered": offered}
    if other is None or not (compare.is_comparable(run) and compare.is_comparable(other)):
        return context
    newer, older = (run, other) if run.pk > other.pk else (other, run)
    context |= {"newer": newer, "older": older}
    try:
        with one_of_few(run.project_id):
            return context | _answer(newer, older, other, request)
    except (TooSlow, Busy):
        return context | {"too_slow": True}


def _other(run: Run, pk: int | None) -> Run | None:
    """The requested run, only of the same project."""
    if pk is None:
        return compare.one_before(run)
    return compare.comparable(run).filter(pk=pk).first()


def _who(text: str, counts: Counts) -> Who:
    """The requested group, else the first of the three groups that has anybody."""
    if text in list(Who):
        return Who(text)
    return next((one for one in Who if getattr(counts, one)), Who.JOINED)


def _answer(newer: Run, older: Run, other: Run, request: HttpRequest) -> dict[str, Any]:
    counts = compare.counts(newer, older)
    who = _who(request.GET.get("who", ""), counts)
    after = row_id(request.GET.get("after")) or 0
    found = compare.people(newer, older, who, after=after, limit=PAGE + 1)
    asked = {"with": other.pk, "who": str(who)}
    more = len(found) > PAGE
    return {
        "counts": counts,
        "tabs": _tabs(counts, who, other),
        "people": found[:PAGE],
        "first_page": not after,
        "first_url": f"?{urlencode(asked)}",
        "next_url": f"?{urlencode({**asked, 'after': found[PAGE - 1].contact_id})}" if more else "",
    }


def _tabs(counts: Counts, who: Who, other: Run) -> list[dict[str, Any]]:
    words = {Who.JOINED: _("Joined"), Who.LEFT: _("Left"), Who.BOTH: _("In both")}
    hints = {
        Who.JOINED: _("in the newer run only"),
        Who.LEFT: _("in the older run only"),
        Who.BOTH: _("in the older and the newer run"),
    }
    return [
        {
            "words": words[one],
            "hint": hints[one],
            "count": getattr(counts, one),
            "chosen": one is who,
            "url": f"?{urlencode({'with': other.pk, 'who': str(one)})}",
        }
        for one in Who
    ]
