"""The pages of rehearsals: one, live; those of a campaign; and what can be done with one."""

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

from campaigns import control, tasks
from campaigns.admin.rehearsal.words import picture
from campaigns.planning.campaign import Campaign
from campaigns.results.rehearsed.compared import real_run_of
from campaigns.results.rehearsed.told import Told
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import MOVES, Run
from notifications.admin.furniture.chosen import within
from notifications.admin.furniture.dialogs import DRAWN, Dialog, FinalDialog, Gone, done
from notifications.admin.furniture.keyset import row_id
from notifications.admin.furniture.page import actor
from notifications.people import device
from notifications.staff.team import Role, role_of
from notifications.task_queue import enqueue_on_commit

PAGE = 50
LISTED = 5  # in a campaign's review


def urls() -> list[URLPattern]:
    view, place = site.admin_view, "campaigns/rehearsal/"
    one = f"{place}<int:rehearsal_id>/"
    return [
        path(f"{place}of/<int:pk>/", view(of_campaign), name="rehearsals_of_campaign"),
        path(one, view(page), name="rehearsal_one"),
        path(f"{one}live/", view(live), name="rehearsal_live"),
        *(
            path(f"{one}{verb.name}/", view(verb.view), name=f"rehearsal_{verb.name}")
            for verb in VERBS
        ),
    ]


def page_of(rehearsal: Rehearsal) -> str:
    return reverse("admin:rehearsal_one", args=[rehearsal.pk])


def latest_of(campaign: Campaign) -> list[Rehearsal]:
    return list(_of(campaign)[:LISTED])


def _of(campaign: Campaign) -> Any:
    found = Rehearsal.objects.filter(run__campaign=campaign.pk)
    return found.select_related("run__campaign", "run__project").order_by("-pk")


def of_campaign(request: HttpRequest, pk: int) -> HttpResponse:
    """All of them, a page at a time."""
    campaign = get_object_or_404(within(request, Campaign.objects.all()), pk=pk)
    after = row_id(request.GET.get("after"))
    rows = _of(campaign).filter(pk__lt=after) if after else _of(campaign)
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


def page(request: HttpRequest, rehearsal_id: int) -> HttpResponse:
    rehearsal = _found(request, rehearsal_id)
    context = {
        **site.each_context(request),
        "title": _("Rehearsal %(number)d") % {"number": rehearsal.pk},
        **_everything(request, rehearsal),
    }
    return TemplateResponse(request, "admin/campaigns/rehearsal/one.html", context)


def live(request: HttpRequest, rehearsal_id: int) -> HttpResponse:
    """Asked each second until it ends."""
    context = _everything(request, _found(request, rehearsal_id))
    return render(request, "admin/campaigns/rehearsal/live.html", context)


def _everything(request: HttpRequest, rehearsal: Rehearsal) -> dict[str, Any]:
    role = role_of(request.user)
    may = role is not None and role.covers(Role.SENDER)
    told = Told(rehearsal, timezone.now())
    return {
        **picture(told),
        "verbs": [verb for verb in VERBS if may and verb.fits(rehearsal)],
        "compared": real_run_of(rehearsal),
    }


def _found(request: HttpRequest, pk: int) -> Rehearsal:
    related = Rehearsal.objects.select_related("run__campaign", "run__project", "run__category")
    found: Rehearsal = get_object_or_404(within(request, related), pk=pk)
    return found


# --- What can be done with one --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Verb:
    """Asked in a dialog, done, and told."""

    name: str  # of its page
    does: Callable[..., object]
    fits: Callable[[Rehearsal], bool]
    label: Promise
    question: Promise
    text: Promise
    said: Promise
    dialog: type[Dialog] = Dialog

    def view(self, request: HttpRequest, rehearsal_id: int) -> HttpResponse:
        rehearsal = _found(request, rehearsal_id)
        form = self.dialog(request)  # type: ignore[arg-type]
        if request.method != "POST":
            asked = {"title": self.question, "description": self.text}
            context = {"dialog": asked, "form_submit_text": self.label, "form": form}
            return render(request, DRAWN, context)
        try:
            self.does(rehearsal, by=actor(request))
        except Run.InvalidMove as error:
            said = {"title": _("Not done"), "description": str(error)}
            context = {"form": Gone(request), "dialog": said}  # type: ignore[arg-type]
            return render(request, DRAWN, context)
        enqueue_on_commit(tasks.advance, run_id=rehearsal.run_id)
        return done(request, str(self.said), to=page_of(rehearsal))


def _retired(rehearsal: Rehearsal) -> bool:
    return device.retired_by(rehearsal.run.reference).exists()


VERBS = (
    Verb(
        name="resume",
        does=control.resume_rehearsal,
        fits=lambda one: one.run.state == Run.State.PAUSED,
        label=gettext_lazy("Resume"),
        question=gettext_lazy("Resume this rehearsal?"),
        text=gettext_lazy(
            "It goes on where it stopped. What it paused for will not pause it again."
        ),
        said=gettext_lazy("The rehearsal goes on."),
    ),
    Verb(
        name="cancel",
        does=control.cancel_rehearsal,
        fits=lambda one: one.run.state in MOVES[Run.State.CANCELLED],
        label=gettext_lazy("Cancel the rehearsal"),
        question=gettext_lazy("Cancel this rehearsal?"),
        text=gettext_lazy(
            "FCM is asked no more. What it found so far is kept, and foretells nothing."
        ),
        said=gettext_lazy("The rehearsal is cancelled."),
        dialog=FinalDialog,
    ),
    Verb(
        name="restore",
        does=control.restore_after_rehearsal,
        fits=_retired,
        label=gettext_lazy("Take back retired devices"),
        question=gettext_lazy("Take back retired devices?"),
        text=gettext_lazy("The devices that this rehearsal retired receive pushes again."),
        said=gettext_lazy("The devices receive pushes again."),
    ),
)
