"""Text check card on the review: start a check, watch it, cancel it, and read its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from campaigns import control, tasks
from campaigns.launch_check import text_check_result
from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.runs.variants.group import MAIN
from campaigns.text_check.model import MAX_DAYS, TextCheck, newest
from campaigns.text_check.start import DAYS, Refused
from notifications.admin.ui.page import Page, actor
from notifications.task_queue import enqueue_on_commit

PAGE = "admin/campaigns/text_check/card.html"


@dataclass(frozen=True)
class Going:
    """Progress of the text checks: of one text, or of those of all variants."""

    checks: list[TextCheck]

    @property
    def waiting(self) -> bool:
        return all(check.state == TextCheck.State.WAITING for check in self.checks)

    @property
    def percent(self) -> int:
        percents = [check.percent if check.under_way else 100 for check in self.checks]
        return round(sum(percents) / len(percents))

    @property
    def devices_read(self) -> int:
        """How many devices were read. A device counts once for each text."""
        return sum(check.devices_read for check in self.checks)


class Card:
    """The card's views. The card refreshes itself while a worker reads."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def urls(self) -> list[URLPattern]:
        card_page = require_http_methods(["GET", "HEAD", "POST"])(self.card_view)
        return self.page.guarded_paths(
            [
                ("<int:object_id>/texts/", card_page, "campaign_text_check"),
                ("<int:object_id>/texts/cancel/", require_POST(self.cancel_view),
                 "campaign_text_check_cancel"),
            ]
        )  # fmt: skip

    def card_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        campaign = self._campaign(request, object_id)
        problem = self._begin(request, campaign) if request.method == "POST" else ""
        return self._render_card(request, campaign, problem)

    def cancel_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        campaign = self._campaign(request, object_id)
        control.cancel_text_check(campaign, by=actor(request), now=timezone.now())
        return self._render_card(request, campaign)

    def _campaign(self, request: HttpRequest, object_id: int) -> Campaign:
        related = Campaign.objects.select_related("audience", "template", "project", "category")
        campaign = related.filter(pk=object_id).first()
        if campaign is None or self.page.get_object(request, str(object_id)) is None:
            raise Http404
        return campaign

    def _begin(self, request: HttpRequest, campaign: Campaign) -> str:
        """Begin the checks. Returns why not; empty if they have begun."""
        typed = request.POST.get("days", "").strip()
        if not (typed.isascii() and typed.isdecimal() and len(typed) < 5):
            return _days_wrong()
        if int(typed) > MAX_DAYS:
            return _days_wrong()
        try:
            checks = control.begin_text_check(
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
        # The task enqueues the next check when this one is over.
        enqueue_on_commit(tasks.check_texts, check_id=checks[0].pk)
        return ""

    def _render_card(
        self, request: HttpRequest, campaign: Campaign, problem: str = ""
    ) -> HttpResponse:
        last, checked = newest(campaign), text_check_result.check_texts(campaign, timezone.now())
        texts = [
            (wording, last.get(wording.number), checked.get(wording.number))
            for wording in campaign_variants.wordings(campaign)
        ]
        going = [check for check in last.values() if check.under_way]
        main = last.get(MAIN)
        context: dict[str, Any] = {
            "campaign": campaign,
            "zone": campaign.project.timezone,
            "texts": texts,
            "any_checked": bool(checked),
            "going": Going(list(last.values())) if going else None,
            "problem": problem,
            "days": request.POST.get("days", main.days if main else DAYS),
            "most_days": MAX_DAYS,
            "tries_links": main is not None and main.tries_links,
            "may_check": self.page.has_change_permission(request),
        }
        return render(request, PAGE, context)


def _days_wrong() -> str:
    return _("Days: write a whole number from 0 to %(most)s.") % {"most": MAX_DAYS}
