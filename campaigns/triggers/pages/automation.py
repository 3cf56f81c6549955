"""Automations: the list, the form and the actions. An automation answers events with messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST
from unfold.enums import ActionVariant

from campaigns import control
from campaigns.triggers import automation_counts
from campaigns.triggers.automation import Automation
from campaigns.triggers.automation_texts import sentence
from campaigns.triggers.pages import events, review
from campaigns.triggers.pages.dialogs import (
    ArchiveDialog,
    AutomationDialog,
    PauseDialog,
    TurnOnDialog,
)
from campaigns.triggers.pages.form import AutomationForm
from notifications.admin.ui.current_project import current_project, named
from notifications.admin.ui.dialogs import ask, close_dialog, refused
from notifications.admin.ui.keyset import PlainChangeList
from notifications.admin.ui.page import Page, actor, page_url
from notifications.admin.ui.unfolded import action, display
from notifications.people.events import reading

State = Automation.State
COLOURS = {State.DRAFT: "", State.ON: "success", State.PAUSED: "warning", State.ARCHIVED: ""}
# Actions that make no sense in a state.
OUT_OF_PLACE = {
    State.DRAFT: {"pause"},
    State.ON: {"turn_on"},
    State.PAUSED: {"pause"},
    State.ARCHIVED: {"turn_on", "pause", "archive"},
}


class AutomationList(PlainChangeList):
    """A list that counts events once for the whole page."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        counted = automation_counts.counts_of([row.pk for row in rows])
        for row in rows:
            row.counts = None if counted is None else counted.get(row.pk, automation_counts.NOTHING)
        self.result_list = rows


@admin.register(Automation)
class AutomationPage(Page):
    form = AutomationForm
    list_display = ["name", "summary", "state_label", "events", "sent"]
    list_filter = ["state"]
    list_select_related = ["template", "project"]
    search_fields = ["name", "event_name"]
    search_help_text = gettext_lazy("Name or event")
    actions_detail = ["turn_on", "pause", "archive"]
    fieldsets = [
        (None, {"fields": ["project", "name"]}),
        (gettext_lazy("Who: whoever does this"), {"fields": ["event_name", "where"]}),
        (gettext_lazy("What they are sent"), {"fields": ["template", "category"]}),
        (
            gettext_lazy("When"),
            {"fields": ["delay_seconds", "once_in_seconds", "unless_name", "unless_where"]},
        ),
    ]
    empty_text = gettext_lazy(
        "An automation answers what somebody does: when your app reports an event, that person is "
        "sent a message, at once or some time later."
    )

    def get_urls(self) -> list[Any]:
        reviewed = self.guarded(require_POST(self.review_view))
        listed = self.guarded(self.events_view)
        return [
            path("review/", reviewed, name="automation_review"),
            path("<int:object_id>/events/", listed, name="automation_events"),
            *super().get_urls(),
        ]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[AutomationList]:
        return AutomationList

    # --- The list ------------------------------------------------------------------------------

    @display(description=gettext_lazy("what it does"))
    def summary(self, obj: Automation) -> str:
        return sentence(obj)

    @display(description=gettext_lazy("state"), label=COLOURS)
    def state_label(self, obj: Automation) -> tuple[str, str]:
        return obj.state, str(obj.get_state_display())

    @display(description=gettext_lazy("events"))
    def events(self, obj: Any) -> str:
        return _linked(obj, obj.counts.events) if obj.counts else _("too many to count")

    @display(description=gettext_lazy("messages sent"))
    def sent(self, obj: Any) -> str:
        if not obj.counts:
            return _("too many to count")
        return _linked(obj, obj.counts.sent, "?state=sent")

    # --- The form ------------------------------------------------------------------------------

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Pause an automation before changing it: editors may not be allowed to send."""
        may = super().has_change_permission(request, obj)
        return may and (not isinstance(obj, Automation) or obj.may_change)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        may = super().has_delete_permission(request, obj)
        return may and (not isinstance(obj, Automation) or obj.state == State.DRAFT)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        automation, project = context.get("original"), current_project(request)
        context["event_names"] = reading.names(project.pk) if project else []
        if automation is not None:
            context |= review.numbers(automation)
            context["only_shown"] = not self.has_change_permission(request, automation)
            if context["only_shown"]:
                context |= review.of_automation(automation)
        return super().render_change_form(request, context, *args, **kw)

    def review_view(self, request: HttpRequest) -> HttpResponse:
        """The review of the form's current values, saved or not."""
        project = named(request)
        context = review.of_form(request.POST, project) if project else {}
        return render(request, "admin/campaigns/automation/review.html", context)

    def events_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """A list of the events behind the counts."""
        automation = self.get_object(request, str(object_id))
        if automation is None:
            raise Http404
        context = {
            **self.admin_site.each_context(request),
            **events.page_of(automation, request.GET),
            "title": _("Events"),
            "opts": Automation._meta,
            "original": automation,
            "zone": automation.project.timezone,
        }
        return TemplateResponse(request, "admin/campaigns/automation/events.html", context)

    # --- Actions -------------------------------------------------------------------------------

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        actions: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        row = self.get_object(request, object_id)
        hidden = OUT_OF_PLACE[State(row.state)] if row else set()
        return [item for item in actions if item.method.__name__ not in hidden]

    def has_steering_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return super().has_change_permission(request)

    @action(
        description=gettext_lazy("Turn on"),
        icon="play_arrow",
        variant=ActionVariant.PRIMARY,
        permissions=["steering"],
        dialog=ask(gettext_lazy("Turn on?"), form=TurnOnDialog, button=gettext_lazy("Turn on")),
    )
    def turn_on(self, request: HttpRequest, form: TurnOnDialog, object_id: str) -> HttpResponse:
        text = _("“%(name)s” is on: its events are answered from now on.")
        return _change_state(request, form, control.turn_on, text)

    @action(
        description=gettext_lazy("Pause"),
        icon="pause",
        permissions=["steering"],
        dialog=ask(
            gettext_lazy("Pause?"),
            form=PauseDialog,
            text=gettext_lazy(
                "Nothing is sent while it is paused. What comes in or comes due meanwhile is not "
                "sent later either. What waits for a time after the pause is sent."
            ),
            button=gettext_lazy("Pause"),
        ),
    )
    def pause(self, request: HttpRequest, form: PauseDialog, object_id: str) -> HttpResponse:
        return _change_state(request, form, control.pause_automation, _("“%(name)s” is paused."))

    @action(
        description=gettext_lazy("Archive"),
        icon="inventory_2",
        permissions=["steering"],
        dialog=ask(
            gettext_lazy("Archive?"),
            form=ArchiveDialog,
            text=gettext_lazy(
                "It ends for good: it answers no event any more, and nothing that waits is sent. "
                "Its counts stay. It cannot be undone."
            ),
            button=gettext_lazy("Archive"),
        ),
    )
    def archive(self, request: HttpRequest, form: ArchiveDialog, object_id: str) -> HttpResponse:
        return _change_state(
            request, form, control.archive_automation, _("“%(name)s” is archived.")
        )


def _linked(automation: Automation, count: int, query: str = "") -> str:
    """The count as a link to the list of what is counted."""
    url = reverse("admin:automation_events", args=[automation.pk])
    return format_html('<a class="c-link" href="{}{}">{}</a>', url, query, f"{count:,}")


def _change_state(
    request: HttpRequest, form: AutomationDialog, move: Callable[..., None], text: str
) -> HttpResponse:
    try:
        move(form.automation, by=actor(request))
    except (Automation.InvalidMove, Automation.NotReady) as error:
        return refused(request, form, str(error))
    except Automation.DoesNotExist:
        return refused(request, form, _("It has been deleted in the meantime."))
    return close_dialog(request, text % {"name": form.automation}, to=page_url(form.automation))
