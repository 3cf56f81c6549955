"""Campaigns: the list, the form in four steps, and actions such as Launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, Subquery
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.enums import ActionVariant

from campaigns import control, tasks
from campaigns.planning.campaign import Campaign
from campaigns.planning.pages import composing, filing, steps
from campaigns.planning.pages import variant_fields as variants
from campaigns.planning.pages.calendar.calendar import Calendar
from campaigns.planning.pages.filters import ArchiveFilter, RunStateFilter, TagFilter
from campaigns.planning.pages.form import CampaignForm
from campaigns.planning.pages.launch import LaunchDialog
from campaigns.planning.pages.panels import Panels
from campaigns.planning.pages.series_dialogs import PauseDialog, ResumeDialog, StopDialog
from campaigns.rehearsals import actions as rehearsal_actions
from campaigns.rehearsals.dialog import RehearseDialog
from campaigns.rehearsals.pages import latest_rehearsals, rehearsal_url
from campaigns.runs import series, sums
from campaigns.runs.pages.states import STATE_COLOURS
from campaigns.runs.run import Run
from campaigns.text_check.pages import Card
from campaigns.texts.template import Template
from notifications.admin.ui.copying import copied, copying
from notifications.admin.ui.dialogs import Dialog, ask, close_dialog, refused
from notifications.admin.ui.page import Page, actor, keep_as_stored, page_url
from notifications.admin.ui.unfolded import action, display
from notifications.task_queue import enqueue_on_commit
from notifications.values.moments import DAY_AND_CLOCK, in_zone, local
from notifications.values.shares import share

NEXT_STEP = composing.RUN_STEPS | {  # and for runs that need no action
    Run.State.SCHEDULED: gettext_lazy("Starts by itself"),
    Run.State.CANCELLED: gettext_lazy("Duplicate to send again"),
}


@admin.register(Campaign)
class CampaignPage(Page):
    form = CampaignForm
    list_display = [
        "name",
        "audience",
        "template",
        "when",
        "state",
        "accepted",
        "tag_list",
        "next_step",
    ]
    list_select_related = ["audience", "template", "project"]
    list_filter = [RunStateFilter, "schedule_kind", TagFilter, ArchiveFilter]
    list_before_template = "admin/campaigns/campaign/views.html"
    list_disable_select_all = True  # only visible rows: nobody chooses “all 3,000” on purpose
    search_fields = ["name"]
    search_help_text = gettext_lazy("Name")
    fields = ["seen", *(name for names in steps.FIELDS.values() for name in names)]
    actions = ("tag_many", "archive_many", "bring_back_many")  # type: ignore[assignment]
    actions_detail = [
        "launch", "rehearse", "pause_series", "resume_series", "stop", "duplicate", "tag",
        "archive", "bring_back",
    ]  # fmt: skip
    empty_text = gettext_lazy(
        "A campaign sets who gets what, when and how fast. Launching it creates a run."
    )

    class Media:
        css = {"all": ["calendar.css", "filing.css"]}

    def get_urls(self) -> list[Any]:
        ours = [*Calendar(self).urls(), *Panels(self).urls(), *Card(self).urls()]
        return [*ours, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> Any:
        # Unfinished runs first: the series may have been stopped since.
        runs = Run.objects.filter(campaign=OuterRef("pk")).alias(over=Q(finished_at__isnull=False))
        latest = runs.order_by("over", "-pk")
        return (
            super()
            .get_queryset(request)
            .annotate(
                run_id=Subquery(latest.values("pk")[:1]),
                run_state=Subquery(latest.values("state")[:1]),
                run_at=Subquery(latest.values("scheduled_at")[:1]),
                run_began=Subquery(latest.values("started_at")[:1]),
                run_planned=Subquery(latest.values("planned")[:1]),
                run_accepted=Subquery(latest.values("accepted")[:1]),
                run_skipped=Subquery(latest.values("skipped")[:1]),
            )
        )

    # --- The list ------------------------------------------------------------------------------

    @display(description=gettext_lazy("when"))
    def when(self, obj: Any) -> str:
        if obj.schedule_kind == Campaign.Schedule.NOW:
            return in_zone(obj.run_at, obj.zone) if obj.run_at else _("when launched")
        if obj.schedule_kind == Campaign.Schedule.AT:
            return render_to_string("admin/campaigns/campaign/once.html", {"campaign": obj}).strip()
        begin = obj.first or obj.at
        first = in_zone(begin, obj.timezone)
        if obj.local_time:
            first = local(begin, obj.timezone, DAY_AND_CLOCK)
        return _("%(repeat)s from %(first)s") % {"repeat": obj.how_often, "first": first}

    @display(description=gettext_lazy("state"), label=STATE_COLOURS)
    def state(self, obj: Any) -> tuple[str, str]:
        if obj.run_id is None:
            return "draft", _("Not launched")
        if _rests(obj):
            return Run.State.PAUSED, _("Series paused")
        return obj.run_state, str(Run.State(obj.run_state).label)

    @display(description=gettext_lazy("accepted"))
    def accepted(self, obj: Any) -> str:
        """How much of the campaign's latest run was accepted."""
        if not obj.run_planned or obj.run_began is None:
            return "–"
        sendable = sums.of_how_many(obj.run_state, obj.run_planned, obj.run_skipped)
        if obj.run_state == Run.State.CANCELLED:
            numbers = {"accepted": f"{obj.run_accepted:,}", "planned": f"{sendable:,}"}
            return _("%(accepted)s of %(planned)s") % numbers
        return _("%(share)s %%") % {"share": share(obj.run_accepted, sendable)}

    @display(description=gettext_lazy("next step"))
    def next_step(self, obj: Any) -> SafeString:
        given_back = obj.run_state == Run.State.CANCELLED and obj.run_began is None
        if obj.run_id is None or given_back:
            url, step = page_url(obj), _("Review and launch")
        elif _rests(obj):
            url, step = page_url(obj), _("Go on repeating")
        else:
            url = reverse("admin:campaigns_run_change", args=[obj.run_id])
            step = str(NEXT_STEP[obj.run_state])
        return format_html('<a class="text-link" href="{}">{}</a>', url, step)

    @display(description=gettext_lazy("tags"))
    def tag_list(self, obj: Campaign) -> SafeString | str:
        return format_html_join(" ", '<span class="c-tag">{}</span>', ((tag,) for tag in obj.tags))

    def used_by(self, obj: Campaign) -> list[str]:
        going = Run.rehearsals.filter(campaign=obj, finished_at=None)
        return [
            *(_("run %(number)d") % {"number": run.pk} for run in obj.runs.all()[:10]),
            *(_("rehearsal %(number)d") % {"number": run.pk} for run in going),
        ]

    # --- The form ------------------------------------------------------------------------------

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        keep_as_stored(context)
        form, campaign = context["adminform"].form, context.get("original")
        context["may_test"] = self.opens(request, "test")
        context |= composing.around(request, form, campaign)
        context["rehearsals"] = latest_rehearsals(campaign) if campaign else []
        return super().render_change_form(request, context, *args, **kw)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        was_for = None if not change else Template.objects.filter(campaigns=obj.pk).first()
        form.save_what_was_made(request, self.admin_site)
        super().save_model(request, obj, form, change)
        variants.save(form, obj)
        if was_for is not None and was_for.pk != obj.template_id:
            was_for.delete_if_empty()
        composing.say_if_twice(request, obj, form)

    def response_add(self, request: HttpRequest, obj: Any, *_args: Any, **_kw: Any) -> Any:
        return composing.onward(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> Any:
        return composing.onward(request, obj)

    # --- Actions -------------------------------------------------------------------------------

    # Unfold and Django look actions up as attributes of the page.
    tag, archive, bring_back = filing.tag, filing.archive, filing.bring_back
    tag_many, archive_many = filing.tag_many, filing.archive_many
    bring_back_many = filing.bring_back_many

    def get_actions(self, request: HttpRequest) -> Any:
        """The list's actions without Django's “delete selected”."""
        actions = super().get_actions(request)
        return {name: actions[name] for name in self.actions or () if name in actions}

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        actions: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        hidden = _out_of_place(self.get_object(request, object_id))
        return [item for item in actions if item.method.__name__ not in hidden]

    def has_filing_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_change_permission(request)

    def has_duplicate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_add_permission(request)  # no row, as an action's check requires

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
            return refused(request, form, _("It has been deleted in the meantime."))
        enqueue_on_commit(tasks.advance, run_id=run.pk)
        text = _("Launched “%(campaign)s” as run %(number)d.")
        if run.state == Run.State.SCHEDULED:
            text = _("“%(campaign)s” is scheduled as run %(number)d: %(when)s.")
            if run.hour is not None:
                text = _(
                    "“%(campaign)s” is scheduled as run %(number)d. It begins when it is that time "
                    "in the first zone of all: %(when)s."
                )
                if run.local_time and run.local_time.best_hour:
                    text = _(
                        "“%(campaign)s” is scheduled as run %(number)d. It begins when the day "
                        "begins in the first zone of all: %(when)s."
                    )
        when = in_zone(run.scheduled_at, run.project.timezone)
        text %= {"campaign": form.campaign, "number": run.pk, "when": when}
        return close_dialog(request, text, to=page_url(run))

    @action(
        description=gettext_lazy("Rehearse"),
        icon="fact_check",
        permissions=["view"],
        dialog=ask(gettext_lazy("Rehearse?"), form=RehearseDialog, button=gettext_lazy("Rehearse")),
    )
    def rehearse(self, request: HttpRequest, form: RehearseDialog, object_id: str) -> HttpResponse:
        try:
            rehearsal = rehearsal_actions.start(
                form.campaign,
                sample=form.sample,
                retires=form.cleaned_data["retires"],
                by=actor(request),
                now=timezone.now(),
            )
        except (Campaign.NotReady, rehearsal_actions.AlreadyRunning) as error:
            return refused(request, form, str(error))
        except Campaign.DoesNotExist:
            return refused(request, form, _("It has been deleted in the meantime."))
        enqueue_on_commit(tasks.advance, run_id=rehearsal.run_id)
        text = _("Rehearsal %(number)d of “%(campaign)s” has begun. No phone gets anything.")
        text %= {"number": rehearsal.pk, "campaign": form.campaign}
        return close_dialog(request, text, to=rehearsal_url(rehearsal))

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
    def stop(self, request: HttpRequest, form: StopDialog, object_id: str) -> HttpResponse:
        return _change_series(request, form, control.stop, _("“%(campaign)s” no longer repeats."))

    @action(
        description=gettext_lazy("Pause repeating"),
        icon="pause_circle",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Pause repeating?"),
            form=PauseDialog,
            button=gettext_lazy("Pause repeating"),
        ),
    )
    def pause_series(self, request: HttpRequest, form: PauseDialog, object_id: str) -> HttpResponse:
        text = _("“%(campaign)s” is paused: what comes due is left out until you let it go on.")
        return _change_series(request, form, control.pause_series, text)

    @action(
        description=gettext_lazy("Go on repeating"),
        icon="event_repeat",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Go on repeating?"),
            form=ResumeDialog,
            button=gettext_lazy("Go on repeating"),
        ),
    )
    def resume_series(
        self, request: HttpRequest, form: ResumeDialog, object_id: str
    ) -> HttpResponse:
        text = _("“%(campaign)s” goes on repeating.")
        return _change_series(request, form, control.resume_series, text)

    @copying(
        gettext_lazy("Duplicate this campaign?"),
        gettext_lazy("The copy is a separate draft; nothing is sent."),
    )
    def duplicate(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        copy = Campaign.objects.get(pk=object_id).duplicate()
        return copied(self, request, copy, object_id)


def _change_series(
    request: HttpRequest, form: StopDialog, change: Callable[..., object], text: str
) -> HttpResponse:
    try:
        campaign = form.campaign
        change(campaign, by=actor(request))
    except Run.InvalidMove as error:
        return refused(request, form, str(error))
    except Campaign.DoesNotExist:
        return refused(request, form, _("It has been deleted in the meantime."))
    return close_dialog(request, text % {"campaign": campaign}, to=page_url(campaign))


def _rests(row: Any) -> bool:
    """Whether the series is paused while its next run waits: that run would be left out."""
    return row.series_paused_at is not None and row.run_state == Run.State.SCHEDULED


def _out_of_place(campaign: Campaign | None) -> set[str]:
    """Names of the actions that make no sense in the campaign's current state."""
    if campaign is None:
        return {"pause_series", "resume_series", "stop", "bring_back"}
    last = campaign.series
    repeats = last is not None and series.goes_on(last, timezone.now())
    return {
        "bring_back" if campaign.archived_at is None else "archive",
        *(["launch"] if campaign.current_run() is not None else []),
        *([] if repeats else ["stop", "pause_series", "resume_series"]),
        "resume_series" if campaign.series_paused_at is None else "pause_series",
    }
