"""Left-out people: a list of who would be left out, for each number of the waterfall."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import site
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from campaigns.audiences.selection import MAX_ID
from campaigns.launch_check import skipped_people
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.planning.campaign import Campaign
from notifications.postgres.budget import Busy, TooSlow, slow_query_slot


def page(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """The page for one reason; for missing values, also for one variable."""
    context = {
        **site.each_context(request),
        **_find_people(campaign, request.GET),
        "title": _("Left out"),
        "opts": Campaign._meta,
        "original": campaign,
    }
    return TemplateResponse(request, "admin/campaigns/campaign/left_out.html", context)


def _find_people(campaign: Campaign, query: QueryDict) -> dict[str, Any]:
    reason, variable = query.get("reason", ""), query.get("variable", "")
    report = LaunchReport(campaign, timezone.now())
    try:
        with slow_query_slot(campaign.project_id):
            people = skipped_people.find_left_out(report, reason, variable, start=_start(query))
    except (Busy, TooSlow):
        return {"too_slow": True}
    except ValidationError as error:
        return {"wrong": " ".join(error.messages)}
    if people is None:
        raise Http404
    older = urlencode({"reason": reason, "variable": variable, "from": people.older or ""})
    return {"found": people, "older": older if people.older else ""}


def _start(query: QueryDict) -> int | None:
    """The first person on the page; None: the newest."""
    named = query.get("from", "")
    if not named:
        return None
    if not (named.isascii() and named.isdigit() and len(named) <= 20) or int(named) > MAX_ID:
        raise Http404
    return int(named)
