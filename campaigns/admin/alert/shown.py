"""An alert as the pages show it, and how many there are to show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from campaigns.alerts import words
from campaigns.alerts.alert import Alert, Kind, open_alerts, unseen
from campaigns.alerts.words import Words
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.actors import who
from notifications.values.moments import in_words, in_zone

ON_THE_OVERVIEW = 3


@dataclass(frozen=True)
class Shown:
    alert: Alert
    words: Words
    state: str  # of its mark: wrong, quiet, over
    stands: str
    since: str
    lasted: timedelta
    seen: str  # by whom and when; empty: by nobody
    link: str

    @property
    def lasted_in_words(self) -> str:
        """It is looked at each minute: seconds would say more than is known."""
        return in_words(timedelta(minutes=max(1, round(self.lasted / timedelta(minutes=1)))))


def shown(alert: Alert) -> Shown:
    state, stands = _state(alert)
    zone = alert.project.timezone
    seen_at = in_zone(alert.acknowledged_at, zone)
    seen = _("Seen by %(name)s on %(when)s.") % {
        "name": who(alert.acknowledged_by),
        "when": seen_at,
    }
    return Shown(
        alert=alert,
        words=words.of_alert(alert),
        state=state,
        stands=stands,
        since=in_zone(alert.raised_at, zone),
        lasted=(alert.ended_at or timezone.now()) - alert.raised_at,
        seen=seen if alert.acknowledged_at else "",
        link=_link(alert),
    )


def _state(alert: Alert) -> tuple[str, str]:
    if not alert.is_open:
        return "over", pgettext("alert", "Over")
    if alert.acknowledged_at:
        return "quiet", pgettext("alert", "Seen")
    return "wrong", pgettext("alert", "Open")


def _link(alert: Alert) -> str:
    """To where it can be put right."""
    if alert.run_id and alert.kind == Kind.PAUSED and not (alert.run and alert.run.campaign_id):
        return reverse("admin:campaigns_messages")
    return reverse("admin:campaigns_run_change", args=[alert.run_id]) if alert.run_id else ""


def with_names(alerts: QuerySet[Alert]) -> QuerySet[Alert]:
    return alerts.select_related("project", "run__campaign")


def all_shown(alerts: Iterable[Alert]) -> list[Shown]:
    return [shown(alert) for alert in alerts]


def may_make_quiet(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("campaigns.quiet_alert"))


def of_run(request: HttpRequest, run: Run) -> dict[str, Any]:
    """Those that stand: what is over is on the page of alerts."""
    alerts = with_names(open_alerts().filter(run=run)).order_by("pk")
    return {"alerts": all_shown(alerts), "may_make_quiet": may_make_quiet(request)}


def of_overview(project: Project | None) -> dict[str, Any]:
    """The first of them. Paused runs stand there by themselves, so they are only counted."""
    alerts = unseen_first(with_names(open_alerts().filter(project=project)))
    others = [alert for alert in alerts if alert.kind != Kind.PAUSED]
    return {
        "alerts": all_shown(others[:ON_THE_OVERVIEW]),
        "alert_count": len(alerts),
        "unseen_count": sum(alert.acknowledged_at is None for alert in alerts),
    }


def unseen_first(alerts: QuerySet[Alert]) -> list[Alert]:
    return list(alerts.order_by(F("acknowledged_at").asc(nulls_first=True), "-pk"))


def waiting(project: Project | None) -> int:
    """That nobody has seen, for the number beside the page's name."""
    return unseen().filter(project=project).count()
