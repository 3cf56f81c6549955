"""The page of alerts: what is wrong now, what was, what is watched, and who is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import site
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from campaigns import control
from campaigns.admin.alert.shown import (
    all_shown,
    may_make_quiet,
    of_run,
    shown,
    unseen_first,
    with_names,
)
from campaigns.alerts.alert import Alert, Kind
from campaigns.alerts.watching import WATCHES
from campaigns.runs.run import Run
from notifications.admin.furniture.chosen import chosen, within
from notifications.admin.furniture.page import actor
from notifications.outgoing.endpoint import Endpoint
from notifications.outgoing.kinds import Kind as Told
from notifications.people.project import Project

PER_PAGE = 50
ONE = "admin/campaigns/alert/one.html"
Do = Callable[..., bool]


def urls() -> list[URLPattern]:
    view = site.admin_view
    return [
        path("alerts/", view(page), name="campaigns_alerts"),
        path("alerts/of-run/<int:run_id>/", view(run_view), name="campaigns_alerts_of_run"),
        path("alerts/<int:alert_id>/", view(one), name="campaigns_alert_one"),
        path("alerts/<int:alert_id>/quiet/", view(quiet), name="campaigns_alert_quiet"),
        path("alerts/<int:alert_id>/remind/", view(remind), name="campaigns_alert_remind"),
    ]


def page(request: HttpRequest) -> HttpResponse:
    project, kind = chosen(request), request.GET.get("kind", "")
    kind = kind if kind in Kind.values else ""
    of_project = with_names(within(request, Alert.objects.all()))
    asked = of_project.filter(kind=kind) if kind else of_project
    before = _number(request.GET.get("before", ""))
    context = {
        **site.each_context(request),
        "title": _("Alerts"),
        "kinds": Kind.choices,
        "kind": kind,
        "first_page": before is None,
        "first_url": f"?{urlencode({'kind': kind})}" if kind else "?",
        "standing": [] if before else all_shown(unseen_first(asked.filter(ended_at=None))),
        **_past(asked.filter(ended_at__isnull=False), before, kind),
        "any": of_project.exists(),
        "watched": [(Kind(each.kind).label, _(each.about)) for each in WATCHES],
        **_told(project),
        "sees_reports": request.user.has_perm("notifications.view_endpoint"),
        "may_make_quiet": may_make_quiet(request),
    }
    return TemplateResponse(request, "admin/campaigns/alert/list.html", context)


def _past(alerts: Any, before: int | None, kind: str) -> dict[str, Any]:
    older = alerts.filter(pk__lt=before) if before else alerts
    found = list(older.order_by("-pk")[: PER_PAGE + 1])
    more = {"kind": kind, "before": found[PER_PAGE - 1].pk} if len(found) > PER_PAGE else {}
    url = f"?{urlencode({name: value for name, value in more.items() if value})}" if more else ""
    return {"past": all_shown(found[:PER_PAGE]), "older_url": url}


def _told(project: Project | None) -> dict[str, Any]:
    """Who hears it, and whether anybody does."""
    endpoints = Endpoint.objects.filter(project=project, kinds__contains=[Told.ALERT_RAISED])
    on = endpoints.filter(disabled_at=None)
    return {"told": [(row.name, row.get_via_display()) for row in on.order_by("name")]}


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def run_view(request: HttpRequest, run_id: int) -> HttpResponse:
    """A part of the run's page; asked for again each minute while the run goes on."""
    run = get_object_or_404(within(request, Run.objects.all()), pk=run_id)
    context = {"run": run, **of_run(request, run)}
    return render(request, "admin/campaigns/alert/of_run.html", context)


def one(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Where a report leads: whoever works in another project is asked first to come here."""
    alert = get_object_or_404(within(request, Alert.objects.all()), pk=alert_id)
    return HttpResponseRedirect(f"{reverse('admin:campaigns_alerts')}#alert-{alert.pk}")


def quiet(request: HttpRequest, alert_id: int) -> HttpResponse:
    return _changed(request, alert_id, control.acknowledge)


def remind(request: HttpRequest, alert_id: int) -> HttpResponse:
    """The undo."""
    return _changed(request, alert_id, control.take_back_acknowledgement)


def _changed(request: HttpRequest, alert_id: int, do: Do) -> HttpResponse:
    """The alert as it is now, in its place. One that somebody else was faster with, or that has
    ended, shows that."""
    if request.method != "POST":
        raise PermissionDenied
    alert = get_object_or_404(within(request, with_names(Alert.objects.all())), pk=alert_id)
    do(alert, by=actor(request))
    context = {"one": shown(alert), "may_make_quiet": may_make_quiet(request), "spoken": True}
    context["on_run"] = "on_run" in request.GET
    return render(request, ONE, context)
