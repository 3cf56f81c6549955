"""The pages of a run beside its list: live, how it went, one chunk, its recipients."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _

from campaigns.admin.overview import device_health, overview
from campaigns.admin.run import chunk_grid, deliveries, live, person_sent
from campaigns.audiences.words import sentence
from campaigns.planning import repeating
from campaigns.results import recipients
from campaigns.runs.run import Run
from notifications.admin.furniture.chosen import chosen
from notifications.admin.furniture.keyset import row_id
from notifications.admin.furniture.page import ReadOnlyPage
from notifications.people.contact import Contact
from notifications.staff import audit


class RunViews(ReadOnlyPage):
    """Mixed into the run's page, which says who may do what."""

    def get_urls(self) -> list[Any]:
        ours = [
            path("overview/", self.guarded(self.overview_view), name="campaigns_overview"),
            path("overview/health/", self.guarded(self.health_view), name="overview_health"),
            path("<int:run_id>/live/", self.guarded(self.live_view), name="run_live"),
            path("<int:run_id>/course/", self.guarded(self.course_view), name="run_course"),
            path("<int:run_id>/chunk/", self.guarded(self.chunk_view), name="run_chunk"),
            path("sent-to/<int:contact_id>/", self.guarded(self.sent_view), name="person_sent"),
            path("<int:run_id>/recipients.csv", self.guarded(self.csv_view), name="run_csv"),
            path(
                "<int:run_id>/deliveries/",
                self.guarded(self.deliveries_view),
                name="run_deliveries",
            ),
        ]
        return [*ours, *super().get_urls()]

    def has_steer_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perm("campaigns.change_run")

    def has_copy_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perm("campaigns.add_campaign")

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        run = context["original"]
        context |= self._everything(request, run) | live.course(run, timezone.now())
        return super().render_change_form(request, context, *args, **kw)

    def live_view(self, request: HttpRequest, run_id: int) -> HttpResponse:
        """Asked every second. What rarely changes is sent along only when it did."""
        run = get_object_or_404(Run.objects.select_related("project", "campaign"), pk=run_id)
        had = request.GET.get("seen", "")
        if had.partition("-")[0] == live.stage(run):
            context = live.picture(run, timezone.now())
        else:
            context = self._everything(request, run) | live.course(run, timezone.now())
            context["state_changed"] = True
        context["spoken"] = had != context["seen"]
        return render(request, "admin/campaigns/run/live.html", context)

    def _everything(self, request: HttpRequest, run: Run) -> dict[str, Any]:
        about = audit.entries_of(run).filter(project=run.project_id)
        return {
            **live.picture(run, timezone.now()),
            "verbs": live.buttons(run, self._verbs(request, run)),
            "entries": about.order_by("pk"),
            "said": sentence(run.rules, project_id=run.project_id),
            "repeats": repeating.of_run(run),
            "flower_url": live.flower_url(run),
        }

    def _verbs(self, request: HttpRequest, run: Run) -> list[str]:
        steers = live.verbs(run) if self.has_steer_permission(request) else []
        return [*steers, *(["duplicate"] if self.has_copy_permission(request) else [])]

    def course_view(self, request: HttpRequest, run_id: int) -> HttpResponse:
        run = get_object_or_404(Run.objects.select_related("project"), pk=run_id)
        context = {**live.course(run, timezone.now()), "out_of_band": True}
        return render(request, "admin/campaigns/run/course.html", context)

    def chunk_view(self, request: HttpRequest, run_id: int) -> HttpResponse:
        run = get_object_or_404(Run.objects.select_related("project"), pk=run_id)
        number = deliveries.number(request.GET.get("chunk", "")) or 0
        context = {**chunk_grid.one(run, number), "flower": settings.FLOWER_URL}
        return render(request, "admin/campaigns/run/chunk.html", context)

    def csv_view(self, request: HttpRequest, run_id: int) -> Any:
        """What the recipients' page shows, as a file; the filters are the same."""
        run = get_object_or_404(Run, pk=run_id)
        name = f"run-{run.pk}-recipients.csv"
        return StreamingHttpResponse(
            recipients.csv_lines(run, deliveries.filters_of(request.GET)),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    def sent_view(self, request: HttpRequest, contact_id: int) -> HttpResponse:
        """A part of the person's page, which cannot know of runs itself."""
        contact = get_object_or_404(Contact.objects.select_related("project"), pk=contact_id)
        context = person_sent.picture(contact, before=row_id(request.GET.get("before")))
        return render(request, "admin/notifications/contact/sent.html", context)

    def deliveries_view(self, request: HttpRequest, run_id: int) -> HttpResponse:
        run = get_object_or_404(Run.objects.select_related("project", "campaign"), pk=run_id)
        context = {
            **self.admin_site.each_context(request),
            **deliveries.page(run, request.GET),
            "title": _("Recipients"),
            "opts": self.opts,
            "original": run,
            "run": run,
            "zone": run.project.timezone,
        }
        return TemplateResponse(request, "admin/campaigns/run/deliveries.html", context)

    def overview_view(self, request: HttpRequest) -> HttpResponse:
        picture = overview.picture(chosen(request), timezone.now())
        return render(request, "admin/overview_live.html", picture)

    def health_view(self, request: HttpRequest) -> HttpResponse:
        """Beside the overview, which must not wait for it."""
        project = chosen(request)
        found = device_health.health(project.pk if project else None, timezone.now())
        return render(request, "admin/overview_health.html", found)
