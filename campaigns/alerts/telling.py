"""Telling: what endpoints hear of an alert, put in the outbox beside its change."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from campaigns.alerts.alert import Alert
from notifications.outgoing import outbox
from notifications.outgoing.composing import address
from notifications.outgoing.kinds import Kind
from notifications.outgoing.outbox import Event, written


def raised(alert: Alert, now: datetime) -> int:
    """How many endpoints hear it."""
    return _put(alert, Kind.ALERT_RAISED, now)


def ended(alert: Alert, now: datetime) -> int:
    return _put(alert, Kind.ALERT_ENDED, now)


def _put(alert: Alert, kind: Kind, now: datetime) -> int:
    campaign = alert.run.campaign_id if alert.run else None
    return outbox.put(alert.project_id, [Event(kind, now, as_data(alert))], about=campaign)


def as_data(alert: Alert) -> dict[str, Any]:
    """Codes and numbers; the words for people are made of these, in the language of each."""
    run = alert.run
    named = run and run.campaign_id
    return {
        "alert": alert.pk,
        "kind": alert.kind,
        "run": run and run.pk,
        "campaign": {"id": run.campaign_id, "name": run.campaign.name} if run and named else None,
        "numbers": alert.numbers,
        "reminder": alert.told_at is not None and alert.is_open,
        "raised_at": written(alert.raised_at),
        "acknowledged_at": alert.acknowledged_at and written(alert.acknowledged_at),
        "acknowledged_by": alert.acknowledged_by or None,
        "ended_at": alert.ended_at and written(alert.ended_at),
        "url": address(_page(alert)) or None,
    }


def _page(alert: Alert) -> str:
    """Where it can be seen and made quiet. The workers, which show no pages, do not know where
    these are."""
    if alert.run and alert.run.campaign_id:
        return f"/admin/campaigns/run/{alert.run_id}/change/"
    return f"/admin/alerts/{alert.pk}/"
