"""Who would be left out, and why: behind each number of the waterfall."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import site
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from campaigns.planning.campaign import Campaign
from campaigns.planning.launch_check.launch_report import LaunchReport
from campaigns.planning.left_out import left_out
from notifications.postgres.budget import Busy, TooSlow, one_of_few


def page(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Of one reason, with the value that is missing, if that is it."""
    context = {
        **site.each_context(request),
        **_found(campaign, request.GET.get("reason", ""), request.GET.get("variable", "")),
        "title": _("Left out"),
        "opts": Campaign._meta,
        "original": campaign,
    }
    return TemplateResponse(request, "admin/campaigns/campaign/left_out.html", context)


def _found(campaign: Campaign, reason: str, variable: str) -> dict[str, Any]:
    try:
        with one_of_few(campaign.project_id):
            found = left_out.of(LaunchReport(campaign, timezone.now()), reason, variable)
    except (Busy, TooSlow):
        return {"too_slow": True}
    except ValidationError as error:
        return {"wrong": " ".join(error.messages)}
    if found is None:
        raise Http404
    return {"cause": found.cause, "people": found.people, "more": found.more}
