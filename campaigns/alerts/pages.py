"""The page of alerts, an alert on the pages of runs and on the overview, and the buttons that
acknowledge it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import site
from django.core.exceptions import PermissionDenied
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from campaigns.alerts.conditions import CONDITIONS
from campaigns.alerts.models import Alert, Kind, open_alerts, unacknowledged_alerts
from campaigns.alerts.texts import AlertText, text_of
from campaigns.runs.run import Run
from notifications.admin.ui.current_project import current_project, filter_by_project
from notifications.admin.ui.page import actor
from notifications.people.project import Project
from notifications.staff.actors import who
from notifications.values.moments import in_words, in_zone
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import EventType as EventKind

PER_PAGE = 50
ONE = "admin/campaigns/alerts/one.html"
ON_THE_OVERVIEW = 3


def urls() -> list[URLPattern]:
    view = site.admin_view
    return [
        path("alerts/", view(page), name="campaigns_alerts"),
        path("alerts/of-run/<int:run_id>/", view(run_view), name="campaigns_alerts_of_run"),
        path("alerts/<int:alert_id>/", view(one), name="campaigns_alert_one"),
        path("alerts/<int:alert_id>/quiet/", view(acknowledge), name="campaigns_alert_quiet"),
        path("alerts/<int:alert_id>/remind/", view(remind), name="campaigns_alert_remind"),
    ]


# --- An alert as pages show it --------------------------------------------------------------------


@dataclass(frozen=True)
class ShownAlert:
    """An alert as a page shows it."""

    alert: Alert
    text: AlertText
    state: str  # a CSS class: wrong, quiet, over
    state_label: str
    since: str
    lasted: timedelta
    acknowledged: str  # who acknowledged it, and when; or empty
    link: str

    @property
    def lasted_in_words(self) -> str:
        """In minutes: it is checked once a minute."""
        return in_words(timedelta(minutes=max(1, round(self.lasted / timedelta(minutes=1)))))


def show(alert: Alert) -> ShownAlert:
    state, state_label = _state(alert)
    zone = alert.project.timezone
    acknowledged = _("Seen by %(name)s on %(when)s.") % {
        "name": who(alert.acknowledged_by),
        "when": in_zone(alert.acknowledged_at, zone),
    }
    return ShownAlert(
        alert=alert,
        text=text_of(alert),
        state=state,
        state_label=state_label,
        since=in_zone(alert.raised_at, zone),
        lasted=(alert.ended_at or timezone.now()) - alert.raised_at,
        acknowledged=acknowledged if alert.acknowledged_at else "",
        link=_link(alert),
    )


def _state(alert: Alert) -> tuple[str, str]:
    if not alert.is_open:
        return "over", pgettext("alert", "Over")
    if alert.acknowledged_at:
        return "quiet", pgettext("alert", "Seen")
    return "wrong", pgettext("alert", "Open")


def _link(alert: Alert) -> str:
    """The page where the cause can be removed."""
    if alert.run_id and alert.kind == Kind.PAUSED and not (alert.run and alert.run.campaign_id):
        return reverse("admin:campaigns_messages")
    return reverse("admin:campaigns_run_change", args=[alert.run_id]) if alert.run_id else ""


def with_names(alerts: QuerySet[Alert]) -> QuerySet[Alert]:
    return alerts.select_related("project", "run__campaign")


def show_all(alerts: Iterable[Alert]) -> list[ShownAlert]:
    return [show(alert) for alert in alerts]


def may_acknowledge(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("campaigns.quiet_alert"))


def alerts_of_run(request: HttpRequest, run: Run) -> dict[str, Any]:
    """The template context of a run's open alerts. Past ones are on the page of alerts."""
    alerts = with_names(open_alerts().filter(run=run)).order_by("pk")
    return {"alerts": show_all(alerts), "may_acknowledge": may_acknowledge(request)}


def alerts_of_overview(project: Project | None) -> dict[str, Any]:
    """The template context of a few open alerts. The overview lists paused runs by itself, so here
    they are only counted."""
    alerts = _unacknowledged_first(with_names(open_alerts().filter(project=project)))
    listed = [alert for alert in alerts if alert.kind != Kind.PAUSED]
    return {
        "alerts": show_all(listed[:ON_THE_OVERVIEW]),
        "alert_count": len(alerts),
        "unacknowledged_count": sum(alert.acknowledged_at is None for alert in alerts),
    }


def _unacknowledged_first(alerts: QuerySet[Alert]) -> list[Alert]:
    return list(alerts.order_by(F("acknowledged_at").asc(nulls_first=True), "-pk"))


def count_unacknowledged(project: Project | None) -> int:
    """The number beside the page's name in the navigation."""
    return unacknowledged_alerts().filter(project=project).count()


# --- Views ----------------------------------------------------------------------------------------


def page(request: HttpRequest) -> HttpResponse:
    project, kind = current_project(request), request.GET.get("kind", "")
    kind = kind if kind in Kind.values else ""
    of_project = with_names(filter_by_project(request, Alert.objects.all()))
    selected = of_project.filter(kind=kind) if kind else of_project
    before = _number(request.GET.get("before", ""))
    context = {
        **site.each_context(request),
        "title": _("Alerts"),
        "kinds": Kind.choices,
        "kind": kind,
        "first_page": before is None,
        "first_url": f"?{urlencode({'kind': kind})}" if kind else "?",
        "open": [] if before else show_all(_unacknowledged_first(selected.filter(ended_at=None))),
        **_past(selected.filter(ended_at__isnull=False), before, kind),
        "any": of_project.exists(),
        "conditions": [
            (Kind(condition.kind).label, _(condition.description)) for condition in CONDITIONS
        ],
        "recipients": _recipients(project),
        "sees_reports": request.user.has_perm("notifications.view_endpoint"),
        "may_acknowledge": may_acknowledge(request),
    }
    return TemplateResponse(request, "admin/campaigns/alerts/list.html", context)


def _past(alerts: Any, before: int | None, kind: str) -> dict[str, Any]:
    older = alerts.filter(pk__lt=before) if before else alerts
    rows = list(older.order_by("-pk")[: PER_PAGE + 1])
    next_query = {"kind": kind, "before": rows[PER_PAGE - 1].pk} if len(rows) > PER_PAGE else {}
    url = (
        f"?{urlencode({name: value for name, value in next_query.items() if value})}"
        if next_query
        else ""
    )
    return {"past": show_all(rows[:PER_PAGE]), "older_url": url}


def _recipients(project: Project | None) -> list[tuple[str, str]]:
    """Name and channel of each endpoint that gets alerts."""
    wanting = Endpoint.objects.filter(project=project, kinds__contains=[EventKind.ALERT_RAISED])
    endpoints = wanting.filter(disabled_at=None).order_by("name")
    return [(endpoint.name, endpoint.get_via_display()) for endpoint in endpoints]


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def run_view(request: HttpRequest, run_id: int) -> HttpResponse:
    """A part of the run's page, loaded again each minute while the run goes on."""
    run = get_object_or_404(filter_by_project(request, Run.objects.all()), pk=run_id)
    context = {"run": run, **alerts_of_run(request, run)}
    return render(request, "admin/campaigns/alerts/of_run.html", context)


def one(request: HttpRequest, alert_id: int) -> HttpResponse:
    """The link in an e-mail. A user of another project is asked to switch first."""
    alert = get_object_or_404(filter_by_project(request, Alert.objects.all()), pk=alert_id)
    return HttpResponseRedirect(f"{reverse('admin:campaigns_alerts')}#alert-{alert.pk}")


def acknowledge(request: HttpRequest, alert_id: int) -> HttpResponse:
    return _change(request, alert_id, Alert.acknowledge)


def remind(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Undo the acknowledgement."""
    return _change(request, alert_id, Alert.undo_acknowledgement)


def _change(request: HttpRequest, alert_id: int, change: Callable[..., None]) -> HttpResponse:
    """Answers with the alert as it is now: another user may have been faster, or it has ended."""
    if request.method != "POST":
        raise PermissionDenied
    alert = get_object_or_404(
        filter_by_project(request, with_names(Alert.objects.all())), pk=alert_id
    )
    change(alert, by=actor(request))
    context = {"one": show(alert), "may_acknowledge": may_acknowledge(request), "spoken": True}
    context["on_run"] = "on_run" in request.GET
    return render(request, ONE, context)
