"""Campaigns: what we intend, and the button that does it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.enums import ActionVariant

from campaigns import control, tasks
from campaigns.admin.calendar.calendar import CalendarPages
from campaigns.admin.campaign import steps
from campaigns.admin.campaign.composing import Composing
from campaigns.admin.campaign.ending import StopDialog
from campaigns.admin.campaign.filing import FILING, FilingPages
from campaigns.admin.campaign.form import CampaignForm
from campaigns.admin.campaign.launch import LaunchDialog
from campaigns.planning import recurrence
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.admin.furniture.dialogs import Dialog, ask, done, refused
from notifications.admin.furniture.page import actor, page_url
from notifications.admin.furniture.unfolded import action, display
from notifications.values.moments import in_zone

STATE_COLOURS = {
    "draft": "",
    "scheduled": "info",
    "preparing": "primary",
    "sending": "primary",
    "paused": "warning",
    "finished": "success",
    "cancelled": "",
}
NEXT_STEP = {
    "scheduled": gettext_lazy("Starts by itself"),
    "preparing": gettext_lazy("Watch it"),
    "sending": gettext_lazy("Watch it"),
    "paused": gettext_lazy("Decide: resume or cancel"),
    "finished": gettext_lazy("See the result"),
    "cancelled": gettext_lazy("Duplicate to send again"),
}


@admin.register(Campaign)
class CampaignPage(FilingPages, CalendarPages, Composing):
    form = CampaignForm
    list_display = ["name", "audience", "template", "when", "state", "tag_list", "next_step"]
    list_select_related = ["audience", "template", "project"]
    search_fields = ["name"]
    search_help_text = gettext_lazy("Name")
    fields = ["seen", *(name for names in steps.FIELDS.values() for name in names)]
    actions_detail = ["launch", "stop", "duplicate", *FILING]
    empty_text = gettext_lazy(
        "A campaign says who hears what, when and how fast. Launching it makes a run."
    )

    class Media:
        css = {"all": ["calendar.css", "filing.css"]}

    def get_queryset(self, request: HttpRequest) -> Any:
        latest = Run.objects.filter(campaign=OuterRef("pk")).order_by("-pk")
        return (
            super()
            .get_queryset(request)
            .annotate(
                run_id=Subquery(latest.values("pk")[:1]),
                run_state=Subquery(latest.values("state")[:1]),
                run_at=Subquery(latest.values("scheduled_at")[:1]),
                run_began=Subquery(latest.values("started_at")[:1]),
            )
        )

    # --- The list ------------------------------------------------------------------------------

    @display(description=gettext_lazy("when"))
    def when(self, obj: Any) -> str:
        if obj.schedule_kind == Campaign.Schedule.NOW:
            return in_zone(obj.run_at, obj.timezone) if obj.run_at else _("when launched")
        once = in_zone(obj.at, obj.timezone)
        if obj.schedule_kind == Campaign.Schedule.AT:
            return once
        repeat = Campaign.Repeat(obj.repeat).label
        return _("%(repeat)s from %(first)s") % {"repeat": repeat, "first": once}

    @display(description=gettext_lazy("state"), label=STATE_COLOURS)
    def state(self, obj: Any) -> tuple[str, str]:
        if obj.run_id is None:
            return "draft", _("Not launched")
        return obj.run_state, str(Run.State(obj.run_state).label)

    @display(description=gettext_lazy("next step"))
    def next_step(self, obj: Any) -> SafeString:
        given_back = obj.run_state == Run.State.CANCELLED and obj.run_began is None
        if obj.run_id is None or given_back:
            url, step = page_url(obj), _("Review and launch")
        else:
            url = reverse("admin:campaigns_run_change", args=[obj.run_id])
            step = str(NEXT_STEP[obj.run_state])
        return format_html('<a class="text-link" href="{}">{}</a>', url, step)

    def used_by(self, obj: Campaign) -> list[str]:
        return [_("run %(number)d") % {"number": run.pk} for run in obj.runs.all()[:10]]

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        found: list[Any] = super().get_actions_detail(request, object_id)
        campaign = self.get_object(request, object_id)
        launched = campaign is not None and campaign.current_run() is not None
        last = campaign.series if campaign is not None else None
        repeats = last is not None and recurrence.goes_on(last, timezone.now())
        hidden = ({"launch"} if launched else set()) | (set() if repeats else {"stop"})
        return [item for item in found if item.path not in hidden]

    def has_duplicate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_add_permission(request)  # which takes no row, as an action's rule must

    # --- Actions -------------------------------------------------------------------------------

    @action(
        description=gettext_lazy("Launch"),
        icon="notifications_active",
        variant=ActionVariant.PRIMARY,
        permissions=["change"],
        dialog=ask(gettext_lazy("Launch?"), form=LaunchDialog, button=gettext_lazy("Launch")),
    )
    def launch(self, request: HttpRequest, form: LaunchDialog, object_id: str) -> HttpResponse:
        if not form.possible:
            return refused(request, form, _("It was not launched."))
        try:
            run = control.launch(form.campaign, by=actor(request), now=timezone.now())
        except (Campaign.NotReady, Campaign.AlreadyLaunched) as error:
            return refused(request, form, str(error))
        except Campaign.DoesNotExist:
            return refused(request, form, _("It was deleted meanwhile."))
        tasks.ring(run.pk)
        said = _("Launched “%(campaign)s” as run %(number)d.")
        said %= {"campaign": form.campaign, "number": run.pk}
        return done(request, said, to=page_url(run))

    @action(
        description=gettext_lazy("Stop repeating"),
        icon="event_busy",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Stop repeating?"),
            form=StopDialog,
            button=gettext_lazy("Stop repeating"),
        ),
    )
    def stop(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        try:
            campaign = Campaign.objects.get(pk=object_id)
            control.stop(campaign, by=actor(request))
        except Run.InvalidMove as error:
            return refused(request, form, str(error))
        except Campaign.DoesNotExist:
            return refused(request, form, _("It was deleted meanwhile."))
        said = _("“%(campaign)s” does not repeat any more.") % {"campaign": campaign}
        return done(request, said, to=page_url(campaign))

    @action(
        description=gettext_lazy("Duplicate"),
        icon="content_copy",
        permissions=["duplicate"],
        dialog=ask(
            gettext_lazy("Duplicate this campaign?"),
            text=gettext_lazy("The copy is a draft of its own; nothing is sent."),
            button=gettext_lazy("Duplicate"),
        ),
    )
    def duplicate(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        copy = Campaign.objects.get(pk=object_id).duplicate()
        self.record(request, "created", copy, copied_from=int(object_id))
        said = _("“{name}” is a copy. Change what you like.").format(name=copy)
        return done(request, said, to=page_url(copy))
