"""Runs: what happened, and what is happening. Read only, but for its three verbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db import OperationalError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from campaigns import control, reports, tasks
from campaigns.admin import deliveries, live, overview
from campaigns.admin.campaign import STATE_COLOURS
from campaigns.admin.words import sentence
from campaigns.run import Run
from notifications import device
from notifications.admin.dialogs import Dialog, ask, done, refused
from notifications.admin.page import ReadOnlyPage, actor, page_url
from notifications.admin.unfolded import action, display
from notifications.audit import AuditEntry
from notifications.moments import in_zone

# Not "campaigns.change_run": Unfold looks dotted names up in the database in its system check, and
# `migrate` runs the checks before there is one.
MAY = ["steer"]


class CancelDialog(Dialog):
    template = "admin/campaigns/run/cancel.html"
    danger = True

    def context(self) -> dict[str, Any]:
        run = Run.objects.get(pk=self.object_id or 0)
        return {"run": run, "totals": reports.totals_of(run)}


class RestoreDialog(Dialog):
    template = "admin/campaigns/run/restore.html"

    def context(self) -> dict[str, Any]:
        run = Run.objects.get(pk=self.object_id or 0)
        return {"devices": device.retired_by(run.reference).count()}


@admin.register(Run)
class RunPage(ReadOnlyPage):
    list_display = ["name", "stands", "progress", "accepted_of", "not_accepted", "started", "by"]
    list_filter = ["state"]
    list_select_related = ["campaign", "project"]
    search_fields = ["campaign__name"]
    search_help_text = "Name of the campaign"
    sortable_by = ()
    actions_detail = ["pause", "resume", "cancel", "restore"]
    empty_text = "Launching a campaign makes a run; here you watch it."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return super().get_queryset(request).select_related("campaign", "project")

    def get_urls(self) -> list[Any]:
        ours = [
            path("overview/", self.guarded(self.overview_view), name="campaigns_overview"),
            path("<int:run_id>/live/", self.guarded(self.live_view), name="run_live"),
            path(
                "<int:run_id>/deliveries/",
                self.guarded(self.deliveries_view),
                name="run_deliveries",
            ),
        ]
        return [*ours, *super().get_urls()]

    def has_steer_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perm("campaigns.change_run")

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        return []  # the page draws its own, which follow the state without a reload

    # --- The list ------------------------------------------------------------------------------

    @display(description="run")
    def name(self, obj: Run) -> str:
        return f"{obj.pk} · {obj.campaign}"

    @display(description="state", label=STATE_COLOURS)
    def stands(self, obj: Run) -> tuple[str, str]:
        return obj.state, str(Run.State(obj.state).label)

    @display(description="progress")
    def progress(self, obj: Run) -> SafeString:
        settled = (obj.planned or 0) - obj.waiting
        share = live.share(settled, obj.planned or 0)
        return format_html(
            '<span class="c-meter"><progress max="100" value="{0}" aria-label="{0} % done">'
            "</progress><span>{0} %</span></span>",
            share,
        )

    @display(description="accepted")
    def accepted_of(self, obj: Run) -> str:
        return f"{obj.accepted:,} of {obj.planned or 0:,}"

    @display(description="not accepted")
    def not_accepted(self, obj: Run) -> str:
        return f"{obj.rejected + obj.skipped + obj.unknown:,}"

    @display(description="started")
    def started(self, obj: Run) -> str:
        zone = obj.project.timezone
        return (
            in_zone(obj.started_at, zone)
            if obj.started_at
            else f"due {in_zone(obj.scheduled_at, zone)}"
        )

    @display(description="launched by")
    def by(self, obj: Run) -> str:
        return obj.launched_by.partition(":")[2]

    # --- The live page -------------------------------------------------------------------------

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        context |= self._everything(request, context["original"])
        return super().render_change_form(request, context, *args, **kw)

    def live_view(self, request: HttpRequest, run_id: int) -> HttpResponse:
        """Asked every second. What rarely changes is sent along only when it did."""
        run = get_object_or_404(Run.objects.select_related("project", "campaign"), pk=run_id)
        context = live.picture(run, timezone.now())
        had = request.GET.get("seen", "")
        if had.partition("-")[0] != run.state:
            context |= self._everything(request, run) | {"state_changed": True}
        context["spoken"] = had != context["seen"]
        return render(request, "admin/campaigns/run/live.html", context)

    def _everything(self, request: HttpRequest, run: Run) -> dict[str, Any]:
        about = AuditEntry.objects.filter(subject=f"run {run.pk}", project=run.project_id)
        return {
            **live.picture(run, timezone.now()),
            "verbs": live.verbs(run) if self.has_steer_permission(request) else [],
            "entries": about.order_by("pk"),
            "said": sentence(run.rules, project_id=run.project_id),
            "flower_url": live.flower_url(run),
        }

    def deliveries_view(self, request: HttpRequest, run_id: int) -> HttpResponse:
        run = get_object_or_404(Run.objects.select_related("project", "campaign"), pk=run_id)
        context = {
            **self.admin_site.each_context(request),
            **deliveries.page(run, request.GET),
            "title": "Deliveries",
            "opts": self.opts,
            "original": run,
            "run": run,
            "zone": run.project.timezone,
        }
        return TemplateResponse(request, "admin/campaigns/run/deliveries.html", context)

    def overview_view(self, request: HttpRequest) -> HttpResponse:
        return render(request, "admin/overview_live.html", overview.picture(timezone.now()))

    # --- Verbs ---------------------------------------------------------------------------------

    @action(
        description="Pause",
        icon="pause",
        permissions=MAY,
        dialog=ask(
            "Pause this run?",
            text="Nothing new leaves within two seconds. It goes on where it stopped when you "
            "resume it; nobody is sent to twice by pausing.",
            button="Pause",
        ),
    )
    def pause(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        return self._move(request, form, object_id, control.pause, "paused")

    @action(
        description="Resume",
        icon="play_arrow",
        permissions=MAY,
        dialog=ask("Resume this run?", text="Whoever waits is sent to now.", button="Resume"),
    )
    def resume(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        return self._move(request, form, object_id, control.resume, "on its way again")

    @action(
        description="Cancel",
        icon="close",
        permissions=MAY,
        dialog=ask("Cancel this run?", form=CancelDialog, button="Cancel the run"),
    )
    def cancel(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        return self._move(request, form, object_id, control.cancel, "cancelled")

    @action(
        description="Take back retired devices",
        icon="undo",
        permissions=MAY,
        dialog=ask("Take back retired devices?", form=RestoreDialog, button="Take them back"),
    )
    def restore(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        run = Run.objects.select_related("project", "campaign").get(pk=object_id)
        restored = control.restore_devices(run, by=actor(request))
        return done(request, f"{restored:,} devices receive pushes again.", to=page_url(run))

    def _move(
        self,
        request: HttpRequest,
        form: Dialog,
        object_id: str,
        verb: Callable[..., None],
        result: str,
    ) -> HttpResponse:
        run = Run.objects.select_related("project", "campaign").get(pk=object_id)
        try:
            verb(run, by=actor(request))
        except Run.InvalidMove as error:
            return refused(request, form, f"{error} Somebody else, or the run itself, was faster.")
        except OperationalError:  # a snapshot of millions holds the run for longer than we wait
            return refused(request, form, "The run is being prepared. Try again in a moment.")
        tasks.ring(run.pk)
        return done(request, f"Run {run.pk} is {result}.", to=page_url(run))
