"""The pages: one rehearsal, live; all of a campaign; and the dialogs of its actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns import tasks
from campaigns.planning.campaign import Campaign
from campaigns.rehearsals import actions
from campaigns.rehearsals.comparison import compare_rehearsal
from campaigns.rehearsals.report import RehearsalReport
from campaigns.rehearsals.texts import build_context
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import MOVES, Run
from notifications.admin.ui.current_project import filter_by_project
from notifications.admin.ui.dialogs import DRAWN, Dialog, FinalDialog, Gone, close_dialog
from notifications.admin.ui.keyset import row_id
from notifications.admin.ui.page import actor
from notifications.people import device
from notifications.staff.team import Role, role_of
from notifications.task_queue import enqueue_on_commit

PAGE = 50
LATEST = 5  # shown in a campaign's review


def urls() -> list[URLPattern]:
    view, place = site.admin_view, "campaigns/rehearsal/"
    one = f"{place}<int:rehearsal_id>/"
    return [
        path(f"{place}of/<int:pk>/", view(list_page), name="rehearsals_of_campaign"),
        path(one, view(rehearsal_page), name="rehearsal_one"),
        path(f"{one}live/", view(live_part), name="rehearsal_live"),
        *(
            path(f"{one}{each.name}/", view(each.view), name=f"rehearsal_{each.name}")
            for each in ACTIONS
        ),
    ]


def rehearsal_url(rehearsal: Rehearsal) -> str:
    return reverse("admin:rehearsal_one", args=[rehearsal.pk])


def latest_rehearsals(campaign: Campaign) -> list[Rehearsal]:
    return list(_rehearsals(campaign)[:LATEST])


def _rehearsals(campaign: Campaign) -> Any:
    found = Rehearsal.objects.filter(run__campaign=campaign.pk)
    return found.select_related("run__campaign", "run__project").order_by("-pk")


def list_page(request: HttpRequest, pk: int) -> HttpResponse:
    """All rehearsals of a campaign, newest first."""
    campaign = get_object_or_404(filter_by_project(request, Campaign.objects.all()), pk=pk)
    after = row_id(request.GET.get("after"))
    rows = _rehearsals(campaign).filter(pk__lt=after) if after else _rehearsals(campaign)
    found = list(rows[: PAGE + 1])
    context = {
        **site.each_context(request),
        "title": _("Rehearsals of “%(name)s”") % {"name": campaign},
        "campaign": campaign,
        "rehearsals": found[:PAGE],
        "older_url": f"?after={found[PAGE - 1].pk}" if len(found) > PAGE else "",
        "first_page": after is None,
        "zone": campaign.project.timezone,
    }
    return TemplateResponse(request, "admin/campaigns/rehearsal/list.html", context)


def rehearsal_page(request: HttpRequest, rehearsal_id: int) -> HttpResponse:
    rehearsal = _find(request, rehearsal_id)
    context = {
        **site.each_context(request),
        "title": _("Rehearsal %(number)d") % {"number": rehearsal.pk},
        **_context(request, rehearsal),
    }
    return TemplateResponse(request, "admin/campaigns/rehearsal/one.html", context)


def live_part(request: HttpRequest, rehearsal_id: int) -> HttpResponse:
    """The part of the page that is loaded again each second until the rehearsal ends."""
    context = _context(request, _find(request, rehearsal_id))
    return render(request, "admin/campaigns/rehearsal/live.html", context)


def _context(request: HttpRequest, rehearsal: Rehearsal) -> dict[str, Any]:
    role = role_of(request.user)
    may_act = role is not None and role.covers(Role.SENDER)
    return {
        **build_context(RehearsalReport(rehearsal, timezone.now())),
        "actions": [each for each in ACTIONS if may_act and each.is_possible(rehearsal)],
        "compared": compare_rehearsal(rehearsal),
    }


def _find(request: HttpRequest, pk: int) -> Rehearsal:
    related = Rehearsal.objects.select_related("run__campaign", "run__project", "run__category")
    found: Rehearsal = get_object_or_404(filter_by_project(request, related), pk=pk)
    return found


# --- Actions --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Action:
    """What a person can do with a rehearsal: confirmed in a dialog, then done."""

    name: str  # in its URL
    does: Callable[..., object]
    is_possible: Callable[[Rehearsal], bool]
    label: Promise
    question: Promise
    text: Promise
    confirmation: Promise
    dialog: type[Dialog] = Dialog

    def view(self, request: HttpRequest, rehearsal_id: int) -> HttpResponse:
        rehearsal = _find(request, rehearsal_id)
        form = self.dialog(request)  # type: ignore[arg-type]
        if request.method != "POST":
            dialog = {"title": self.question, "description": self.text}
            context = {"dialog": dialog, "form_submit_text": self.label, "form": form}
            return render(request, DRAWN, context)
        try:
            self.does(rehearsal, by=actor(request))
        except Run.InvalidMove as error:
            refusal = {"title": _("Not done"), "description": str(error)}
            context = {"form": Gone(request), "dialog": refusal}  # type: ignore[arg-type]
            return render(request, DRAWN, context)
        enqueue_on_commit(tasks.advance, run_id=rehearsal.run_id)
        return close_dialog(request, str(self.confirmation), to=rehearsal_url(rehearsal))


def _has_retired_devices(rehearsal: Rehearsal) -> bool:
    return device.retired_by(rehearsal.run.reference).exists()


ACTIONS = (
    Action(
        name="resume",
        does=actions.resume,
        is_possible=lambda one: one.run.state == Run.State.PAUSED,
        label=gettext_lazy("Resume"),
        question=gettext_lazy("Resume this rehearsal?"),
        text=gettext_lazy(
            "It goes on where it stopped. What it paused for will not pause it again."
        ),
        confirmation=gettext_lazy("The rehearsal goes on."),
    ),
    Action(
        name="cancel",
        does=actions.cancel,
        is_possible=lambda one: one.run.state in MOVES[Run.State.CANCELLED],
        label=gettext_lazy("Cancel the rehearsal"),
        question=gettext_lazy("Cancel this rehearsal?"),
        text=gettext_lazy(
            "FCM is asked no more. What it found so far is kept, and foretells nothing."
        ),
        confirmation=gettext_lazy("The rehearsal is cancelled."),
        dialog=FinalDialog,
    ),
    Action(
        name="restore",
        does=actions.restore_devices,
        is_possible=_has_retired_devices,
        label=gettext_lazy("Take back retired devices"),
        question=gettext_lazy("Take back retired devices?"),
        text=gettext_lazy("The devices that this rehearsal retired receive pushes again."),
        confirmation=gettext_lazy("The devices receive pushes again."),
    ),
)
