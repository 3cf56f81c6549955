"""A text check on the review: asked for, watched, cancelled, and read."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from campaigns import control, tasks
from campaigns.planning.campaign import Campaign
from campaigns.planning.launch_check import texts_checked
from campaigns.planning.text_check.asking import DAYS, Refused
from campaigns.planning.text_check.text_check import MOST_DAYS, newest
from notifications.admin.furniture.page import Page, actor

PAGE = "admin/campaigns/text_check/card.html"


class Card:
    """It asks for itself again while a worker reads."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def urls(self) -> list[URLPattern]:
        shown = require_http_methods(["GET", "HEAD", "POST"])(self.card_view)
        return self.page.guarded_paths(
            [
                ("<int:object_id>/texts/", shown, "campaign_text_check"),
                ("<int:object_id>/texts/cancel/", require_POST(self.cancel_view),
                 "campaign_text_check_cancel"),
            ]
        )  # fmt: skip

    def card_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        campaign = self._campaign(request, object_id)
        problem = self._begin(request, campaign) if request.method == "POST" else ""
        return self._drawn(request, campaign, problem)

    def cancel_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        campaign = self._campaign(request, object_id)
        control.cancel_text_check(campaign, by=actor(request), now=timezone.now())
        return self._drawn(request, campaign)

    def _campaign(self, request: HttpRequest, object_id: int) -> Campaign:
        related = Campaign.objects.select_related("audience", "template", "project", "category")
        campaign = related.filter(pk=object_id).first()
        if campaign is None or self.page.get_object(request, str(object_id)) is None:
            raise Http404
        return campaign

    def _begin(self, request: HttpRequest, campaign: Campaign) -> str:
        """Why it is not begun; empty: it is."""
        typed = request.POST.get("days", "").strip()
        if not (typed.isascii() and typed.isdecimal() and len(typed) < 5):
            return _days_wrong()
        if int(typed) > MOST_DAYS:
            return _days_wrong()
        try:
            check = control.begin_text_check(
                campaign,
                tries_links=request.POST.get("links") == "on",
                days=int(typed),
                by=actor(request),
                now=timezone.now(),
            )
        except Refused as error:
            return str(error)
        except Campaign.DoesNotExist as error:
            raise Http404 from error
        tasks.ring_text_check(check.pk)
        return ""

    def _drawn(self, request: HttpRequest, campaign: Campaign, problem: str = "") -> HttpResponse:
        now, last = timezone.now(), newest(campaign)
        context: dict[str, Any] = {
            "campaign": campaign,
            "zone": campaign.project.timezone,
            "last": last,
            "texts": texts_checked.of(campaign, now),
            "problem": problem,
            "days": request.POST.get("days", last.days if last else DAYS),
            "most_days": MOST_DAYS,
            "tries_links": last is not None and last.tries_links,
            "may_check": self.page.has_change_permission(request),
        }
        return render(request, PAGE, context)


def _days_wrong() -> str:
    return _("Days: write a whole number from 0 to %(most)s.") % {"most": MOST_DAYS}
